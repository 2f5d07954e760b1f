"""The embedded judge: it is rule-based and needs no key, network or download."""

from __future__ import annotations

from ragboard.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
