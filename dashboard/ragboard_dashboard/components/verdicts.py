"""How a verdict looks and reads, under the name that components know it by."""

from __future__ import annotations

from ragboard.report.looks import ALONE, NOT_JUDGED, VERDICTS, VerdictLook, look_of, said_by, statement_look

__all__ = ["ALONE", "NOT_JUDGED", "VERDICTS", "VerdictLook", "look_of", "said_by", "statement_look"]
