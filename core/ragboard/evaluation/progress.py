"""How far evaluations are: a small status file that other processes read, and what a store's folder says of each."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, TypeAdapter

from ragboard.errors import NotFoundError, StoreError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.identity import Choice, read_header
from ragboard.evaluation.journal import is_being_written
from ragboard.evaluation.runner import Tally
from ragboard.store import Store

__all__ = [
    "HEARTBEAT_SECONDS",
    "LiveEvaluation",
    "LiveState",
    "Progress",
    "StatusFile",
    "cancel_evaluation",
    "live_evaluation",
    "live_evaluations",
    "read_progress",
    "stop_file",
    "write_progress",
]

START_SECONDS = 60.0
"""A process that has not said a word after so long never will."""

LEAST_SECONDS = 2.0
"""A rate needs to be taken over at least so long."""

LiveState: TypeAlias = Literal["starting", "running", "stopping", "finished", "stopped", "failed", "interrupted"]

HEARTBEAT_SECONDS = 0.25
PROBLEMS = 5

RECENT_SECONDS = 30.0
"""The time over which a rate is taken."""


Count = Annotated[int, Field(ge=0, le=2**62)]
Seconds = Annotated[float, Field(ge=0, le=1e11)]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A moment of an evaluation. Times are seconds since the epoch by the clock as it stood when it started."""

    state: Literal["starting", "running", "finished", "stopped", "failed"]
    """starting: its process was started, and has not said a word yet."""
    pid: Count
    done: Count
    total: Count
    asked: Count = 0
    replayed: Count = 0
    cached: Count = 0
    failed: Count = 0
    calls: Count = 0
    """Calls to models since this command started, and their tokens."""
    tokens: Count = 0
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = 0.0
    """US dollars; None where it is not known."""
    problems: Mapping[str, Count] = field(default_factory=dict[str, int])
    """The commonest kinds of failure, and how often each came."""
    started: Seconds
    updated: Seconds
    monotonic: Seconds = 0.0
    """When it started by the machine's monotonic clock, which nobody sets."""
    since: Seconds = 0.0
    """Some moment of the last half minute, and how many samples were done by then: what a rate is taken from."""
    done_then: Count = 0
    message: str = ""


_PROGRESS = TypeAdapter(Progress)


class StatusFile:
    """Keeps a status file true while an evaluation runs, and says in it how that ended."""

    def __init__(self, path: Path, total: int, watch: Callable[[Progress], None], budget: Budget) -> None:
        self._path = path
        self._watch = watch
        self._budget = budget
        monotonic, now = time.monotonic(), time.time()
        self._zero = now - monotonic
        self._recent = deque([(now, 0)])
        self._now = Progress(
            state="running",
            pid=os.getpid(),
            done=0,
            total=total,
            started=now,
            updated=now,
            monotonic=monotonic,
            since=now,
        )

    @property
    def done(self) -> int:
        """Samples done."""
        return self._now.done

    def __enter__(self) -> Self:
        self._write()
        stop_file(self._path).unlink(missing_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._budget.stopped:
            self._now = replace(self._now, state="stopped", message=self._budget.stopped)
        elif error is None:
            self._now = replace(self._now, state="finished")
        elif isinstance(error, KeyboardInterrupt):
            self._now = replace(self._now, state="stopped", message="stopped; run the same command to resume")
        else:
            self._now = replace(self._now, state="failed", message=str(error))
        self._now = replace(self._now, updated=self._moment())
        with suppress(StoreError) if error else nullcontext():
            self._write()

    def step(self, tally: Tally) -> None:
        """One sample more is done."""
        self._now = replace(self._now, done=self._now.done + 1)
        self.beat(tally)

    def beat(self, tally: Tally) -> None:
        """Say how far it is, where that was not said just now."""
        if self._moment() - self._now.updated >= HEARTBEAT_SECONDS or self._now.done >= self._now.total:
            self.tell(tally)

    def tell(self, tally: Tally) -> None:
        """Say how far it is, and see whether somebody says stop."""
        budget = self._budget
        since, done_then = self._window(self._moment())
        self._now = replace(
            self._now,
            asked=tally.asked,
            replayed=tally.replayed,
            cached=tally.cached,
            failed=tally.failed,
            problems=dict(tally.problems.most_common(PROBLEMS)),
            calls=budget.calls,
            tokens=budget.tokens,
            cost=budget.cost,
            updated=self._moment(),
            since=since,
            done_then=done_then,
        )
        self._watch(self._now)
        self._write()
        if not budget.stopped and stop_file(self._path).exists():
            budget.stopped = "stopped by the user; run the same command to resume"

    def _moment(self) -> float:
        """Now, whatever happened to the clock since the start."""
        return self._zero + time.monotonic()

    def _window(self, now: float) -> tuple[float, int]:
        """When the last half minute began, about, and how many samples were done then."""
        while len(self._recent) > 1 and self._recent[0][0] < now - RECENT_SECONDS:
            self._recent.popleft()
        self._recent.append((now, self._now.done))
        return self._recent[0]

    def _write(self) -> None:
        write_progress(self._path, self._now)


def write_progress(path: Path, progress: Progress) -> None:
    """Put the status file in place as a whole. Raises StoreError where it cannot be written."""
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(json.dumps(asdict(progress)), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"{draft}: cannot write the progress: {error.strerror or error}") from error


def stop_file(status: Path) -> Path:
    """The file beside a status file that tells an evaluation to stop, with what is under way kept."""
    return status.with_suffix(".stop")


def read_progress(path: Path) -> Progress | None:
    """The last word of an evaluation's status file; None where there is none yet, or none that can be read."""
    try:
        return _PROGRESS.validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


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
    return LiveEvaluation(
        evaluation_id=header.evaluation_id,
        run_id=header.run_id,
        judge=header.judge,
        state=_state(progress, journal, time.monotonic() if now is None else now),
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
