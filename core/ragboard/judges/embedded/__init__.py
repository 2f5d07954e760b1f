"""A judge that works by words alone: no key, no network, no download."""

from __future__ import annotations

from ragboard.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
