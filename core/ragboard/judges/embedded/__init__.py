"""The embedded judge: rules over words that need no key, network or download."""

from __future__ import annotations

from ragboard.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
