"""Evaluations as the store's folder tells of them: what is under way, how fast, and what was left lying."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ragboard.errors import NotFoundError
from ragboard.evaluation.header import Choice, Header, read_header
from ragboard.evaluation.journal import is_being_written
from ragboard.evaluation.progress import Progress, read_progress, stop_file
from ragboard.store import Store

__all__ = ["LiveEvaluation", "LiveState", "cancel_evaluation", "live_evaluation", "live_evaluations"]

START_SECONDS = 60.0
"""A process that has not said a word after so long never will."""

LEAST_SECONDS = 2.0
"""A rate needs to be taken over at least so long."""

LiveState: TypeAlias = Literal["starting", "running", "stopping", "finished", "stopped", "failed", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class LiveEvaluation:
    """An evaluation as its files tell, whichever process runs or ran it."""

    evaluation_id: str
    run_id: str
    judge: str
    state: LiveState
    """stopping: it was told to stop, and waits for what is under way; interrupted: its process is gone."""
    progress: Progress
    choice: Choice | None
    """With which it can be taken up again; None where its judges were given in Python."""

    @property
    def under_way(self) -> bool:
        """Whether a process works on it."""
        return self.state in ("starting", "running", "stopping")

    @property
    def rate(self) -> float | None:
        """Samples a minute, lately; None as long as that cannot be told."""
        seconds = self.progress.updated - self.progress.since
        if self.state != "running" or seconds < LEAST_SECONDS:
            return None
        return 60 * (self.progress.done - self.progress.done_then) / seconds

    @property
    def seconds_left(self) -> float | None:
        """An estimate: what is left at the rate of the last half minute; None where there is no rate."""
        left = self.progress.total - self.progress.done
        return 60 * left / self.rate if self.rate else None


def live_evaluations(store: Store, now: float | None = None) -> tuple[LiveEvaluation, ...]:
    """Every evaluation that ever began in the store, the latest first. `now` is by the machine's monotonic clock."""
    folder = store.journal_path("any").parent
    found = (_live(status, now) for status in folder.glob("*.status.json"))
    return tuple(sorted(filter(None, found), key=lambda live: -live.progress.started))


def live_evaluation(store: Store, evaluation_id: str, now: float | None = None) -> LiveEvaluation | None:
    """One of them; None where it never began, and for what can be no id."""
    try:
        journal = store.journal_path(evaluation_id)
    except NotFoundError:
        return None
    return _live(journal.with_suffix(".status.json"), now)


def cancel_evaluation(store: Store, evaluation_id: str) -> None:
    """Tell an evaluation that runs to stop: nothing more is asked, what is under way is kept."""
    store.require_writable()
    stop_file(store.journal_path(evaluation_id).with_suffix(".status.json")).touch()


def _live(status: Path, now: float | None) -> LiveEvaluation | None:
    progress = read_progress(status)
    journal = status.with_name(status.name.removesuffix(".status.json") + ".jsonl")
    header = read_header(journal.with_suffix(".json"))
    if progress is None or header is None:
        return None
    return _of(header, progress, _state(progress, journal, time.monotonic() if now is None else now))


def _of(header: Header, progress: Progress, state: LiveState) -> LiveEvaluation:
    return LiveEvaluation(
        evaluation_id=header.evaluation_id,
        run_id=header.run_id,
        judge=header.judge,
        state=state,
        progress=progress,
        choice=header.choice,
    )


def _state(progress: Progress, journal: Path, now: float) -> LiveState:
    if progress.state == "starting":
        return "starting" if 0 <= now - progress.monotonic < START_SECONDS else "interrupted"
    if progress.state != "running":
        return progress.state
    if not is_being_written(journal):
        return "interrupted"
    return "stopping" if stop_file(journal.with_suffix(".status.json")).exists() else "running"
