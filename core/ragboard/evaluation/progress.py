"""The progress of evaluations: a status file that other processes read, and the state derived from it."""

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
    "live_evaluation",
    "live_evaluations",
    "read_progress",
    "stop_evaluation",
    "stop_file",
    "write_progress",
]

START_SECONDS = 60.0
"""A process that has written no status after this many seconds counts as failed to start."""

MIN_WINDOW_SECONDS = 2.0
"""A rate over a shorter window is not shown."""

LiveState: TypeAlias = Literal["starting", "running", "stopping", "finished", "stopped", "failed", "interrupted"]

HEARTBEAT_SECONDS = 0.25
"""Minimum seconds between two updates of the status file."""
MAX_PROBLEMS = 5
"""Maximum number of kinds of failure in the status file."""

WINDOW_SECONDS = 30.0
"""Seconds over which a rate is measured."""

Count = Annotated[int, Field(ge=0, le=2**62)]
Seconds = Annotated[float, Field(ge=0, le=1e11)]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of an evaluation. Times are seconds since the epoch, unaffected by changes of the clock."""

    state: Literal["starting", "running", "finished", "stopped", "failed"]
    """starting: its process was started and has not written its status yet."""
    pid: Count
    done: Count
    """Number of samples that are done."""
    total: Count
    asked: Count = 0
    """Tasks answered by a judge; the next three count those from the journal, from the cache, and failed ones."""
    replayed: Count = 0
    cached: Count = 0
    failed: Count = 0
    calls: Count = 0
    """Calls to models since this command started, and their tokens."""
    tokens: Count = 0
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = 0.0
    """US dollars; None if unknown."""
    at_server: Count = 0
    """Requests in batches that wait at the server."""
    problems: Mapping[str, Count] = field(default_factory=dict[str, int])
    """The most frequent kinds of failure, with their counts."""
    started: Seconds
    updated: Seconds
    monotonic: Seconds = 0.0
    """The start by the machine's monotonic clock."""
    since: Seconds = 0.0
    """Start of the period over which the rate is measured."""
    done_then: Count = 0
    """Samples that were done at `since`."""
    message: str = ""


_PROGRESS = TypeAdapter(Progress)


class StatusFile:
    """Updates the status file of a running evaluation, and writes there how it ended."""

    def __init__(self, path: Path, total: int, watch: Callable[[Progress], None], budget: Budget) -> None:
        self._path = path
        self._watch = watch
        self._budget = budget
        monotonic, now = time.monotonic(), time.time()
        self._zero = now - monotonic
        self._recent = deque([(now, 0)])
        self._progress = Progress(
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
        return self._progress.done

    def __enter__(self) -> Self:
        self._write()
        stop_file(self._path).unlink(missing_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._budget.stopped:
            self._progress = replace(self._progress, state="stopped", message=self._budget.stopped)
        elif error is None:
            self._progress = replace(self._progress, state="finished")
        elif isinstance(error, KeyboardInterrupt):
            self._progress = replace(self._progress, state="stopped", message="stopped; run the same command to resume")
        else:
            self._progress = replace(self._progress, state="failed", message=str(error))
        self._progress = replace(self._progress, updated=self._now())
        with suppress(StoreError) if error else nullcontext():
            self._write()

    def skip(self, tally: Tally) -> None:
        """Count all samples as done, because their results are stored."""
        self._progress = replace(self._progress, done=self._progress.total)
        self.update(tally)

    def step(self, tally: Tally) -> None:
        """Count a sample as done."""
        self._progress = replace(self._progress, done=self._progress.done + 1)
        self.beat(tally)

    def set_done(self, done: int, tally: Tally) -> None:
        """Set the number of samples done, where others count them."""
        self._progress = replace(self._progress, done=done)
        self.beat(tally)

    def beat(self, tally: Tally) -> None:
        """Update the file, unless that was done less than `HEARTBEAT_SECONDS` ago; always after the last sample."""
        if self._now() - self._progress.updated >= HEARTBEAT_SECONDS or self._progress.done >= self._progress.total:
            self.update(tally)

    def update(self, tally: Tally) -> None:
        """Update the file, and stop the evaluation if the user asked for it."""
        budget = self._budget
        since, done_then = self._window(self._now())
        self._progress = replace(
            self._progress,
            asked=tally.asked,
            replayed=tally.replayed,
            cached=tally.cached,
            failed=tally.failed,
            problems=dict(tally.problems.most_common(MAX_PROBLEMS)),
            calls=budget.calls,
            tokens=budget.tokens,
            cost=budget.cost,
            at_server=budget.at_server,
            updated=self._now(),
            since=since,
            done_then=done_then,
        )
        self._watch(self._progress)
        self._write()
        if stop_file(self._path).exists():
            budget.stop_by_user()

    def _now(self) -> float:
        """Return the current time, unaffected by changes of the clock since the start."""
        return self._zero + time.monotonic()

    def _window(self, now: float) -> tuple[float, int]:
        """Return the start of the last `WINDOW_SECONDS`, roughly, and the samples that were done then."""
        while len(self._recent) > 1 and self._recent[0][0] < now - WINDOW_SECONDS:
            self._recent.popleft()
        self._recent.append((now, self._progress.done))
        return self._recent[0]

    def _write(self) -> None:
        write_progress(self._path, self._progress)


def write_progress(path: Path, progress: Progress) -> None:
    """Write the status file atomically. Raises StoreError if it cannot be written."""
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(json.dumps(asdict(progress)), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"{draft}: cannot write the progress: {error.strerror or error}") from error


def stop_file(status: Path) -> Path:
    """Return the path of the file that tells an evaluation to stop, beside its status file."""
    return status.with_suffix(".stop")


def read_progress(path: Path) -> Progress | None:
    """Read an evaluation's status file; None if there is none or it is malformed."""
    try:
        return _PROGRESS.validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, kw_only=True)
class LiveEvaluation:
    """The state of a running or ended evaluation, read from its files; any process may run it."""

    evaluation_id: str
    run_id: str
    judge: str
    state: LiveState
    """stopping: it was told to stop and waits for open requests; interrupted: its process is gone."""
    progress: Progress
    choice: Choice | None
    """The choice to resume it with; None if its judges were built in Python."""

    @property
    def under_way(self) -> bool:
        """Whether a process is working on it."""
        return self.state in ("starting", "running", "stopping")

    @property
    def rate(self) -> float | None:
        """Samples per minute over the last `WINDOW_SECONDS`; None if it is not running or started just now."""
        seconds = self.progress.updated - self.progress.since
        if self.state != "running" or seconds < MIN_WINDOW_SECONDS:
            return None
        return 60 * (self.progress.done - self.progress.done_then) / seconds

    @property
    def seconds_left(self) -> float | None:
        """The estimated seconds left at the current rate; None without a rate."""
        remaining = self.progress.total - self.progress.done
        return 60 * remaining / self.rate if self.rate else None


def live_evaluations(store: Store, now: float | None = None) -> tuple[LiveEvaluation, ...]:
    """Return all evaluations that were ever started in the store, newest first.

    `now`: the machine's monotonic clock.
    """
    folder = store.journal_path("any").parent
    states = (_live(status, now) for status in folder.glob("*.status.json"))
    return tuple(sorted(filter(None, states), key=lambda live: -live.progress.started))


def live_evaluation(store: Store, evaluation_id: str, now: float | None = None) -> LiveEvaluation | None:
    """Return the state of one evaluation; None if it was never started or the id is invalid."""
    try:
        journal = store.journal_path(evaluation_id)
    except NotFoundError:
        return None
    return _live(journal.with_suffix(".status.json"), now)


def stop_evaluation(store: Store, evaluation_id: str) -> None:
    """Tell a running evaluation to stop: it sends no further requests and keeps the replies to open ones."""
    store.require_writable()
    stop_file(store.journal_path(evaluation_id).with_suffix(".status.json")).touch()


def _live(status: Path, now: float | None) -> LiveEvaluation | None:
    progress = read_progress(status)
    journal = status.with_name(status.name.removesuffix(".status.json") + ".jsonl")
    header = read_header(journal.with_suffix(".json"))
    if progress is None or header is None:
        return None
    progress, state = _state(progress, status, journal, time.monotonic() if now is None else now)
    return LiveEvaluation(
        evaluation_id=header.evaluation_id,
        run_id=header.run_id,
        judge=header.judge,
        state=state,
        progress=progress,
        choice=header.choice,
    )


def _state(progress: Progress, status: Path, journal: Path, now: float) -> tuple[Progress, LiveState]:
    """Return the state, and the progress from which it follows."""
    if progress.state == "starting":
        return progress, "starting" if 0 <= now - progress.monotonic < START_SECONDS else "interrupted"
    if progress.state == "running" and is_being_written(journal):
        return progress, "stopping" if stop_file(status).exists() else "running"
    if progress.state == "running":
        # The process is gone. A process that ends normally writes its final status before it releases the journal; that
        # may have happened since the status was read.
        progress = read_progress(status) or progress
    return progress, "interrupted" if progress.state == "running" else progress.state
