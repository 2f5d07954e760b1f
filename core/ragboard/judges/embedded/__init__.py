"""The embedded judge: rules over words, without a key, a network or a download."""

from __future__ import annotations

from ragboard.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
