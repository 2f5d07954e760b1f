"""Questions to a passage and answers to them, by rules: what the embedded judge writes."""

from __future__ import annotations

from ragboard.judges.embedded.writing.writer import questions_to, write_answer

__all__ = ["questions_to", "write_answer"]
