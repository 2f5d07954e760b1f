"""Judges: the questions one can ask, and who answers them."""

from __future__ import annotations

from pathlib import Path

from ragboard.errors import SettingError
from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.panel import Panel
from ragboard.judges.replay import RecordingJudge, ReplayJudge
from ragboard.judges.tasks import Judge

__all__ = ["EmbeddedJudge", "Judge", "Panel", "RecordingJudge", "ReplayJudge", "judge_named", "panel_named"]


def judge_named(name: str) -> Judge:
    """The judge of that name. Raises SettingError naming what there is."""
    kind, _, rest = name.partition(":")
    if name == "embedded":
        return EmbeddedJudge()
    if kind == "replay" and rest:
        return ReplayJudge.from_file(Path(rest))
    raise SettingError(f"no judge is called {name!r}; there are embedded and replay:FILE")


def panel_named(judge: str) -> Panel:
    """A panel in which that judge fills every role."""
    return Panel(judge=judge_named(judge))
