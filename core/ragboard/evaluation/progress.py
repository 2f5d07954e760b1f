"""The progress of evaluations: status files, which other processes read, and the states of evaluations."""

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
"""A process that has written no status after this many seconds counts as interrupted."""

MIN_WINDOW_SECONDS = 2.0
"""Minimum length of the window over which a rate is measured; for a shorter window, there is no rate."""

LiveState: TypeAlias = Literal["starting", "running", "stopping", "finished", "stopped", "failed", "interrupted"]

HEARTBEAT_SECONDS = 0.25
"""Minimum seconds between two updates of the status file."""
MAX_PROBLEMS = 5
"""Maximum number of kinds of failure in the status file."""

WINDOW_SECONDS = 30.0
"""Length of the window over which a rate is measured, in seconds."""

Count = Annotated[int, Field(ge=0, le=2**62)]
Seconds = Annotated[float, Field(ge=0, le=1e11)]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of an evaluation.

    Times are seconds since the epoch, except `monotonic`. Changes of the system clock after the start do not affect
    them.
    """

    state: Literal["starting", "running", "finished", "stopped", "failed"]
    """`starting` means that the process was started but has not written its status yet."""
    pid: Count
    done: Count
    """Number of samples that are done."""
    total: Count
    """Number of samples to evaluate."""
    asked: Count = 0
    """Number of tasks that judges answered."""
    replayed: Count = 0
    """Number of tasks that were answered from the journal."""
    cached: Count = 0
    """Number of tasks that were answered from the cache."""
    failed: Count = 0
    """Number of failed tasks."""
    calls: Count = 0
    """Number of calls to models since this process started."""
    tokens: Count = 0
    """Number of tokens of these calls."""
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = 0.0
    """US dollars; None if unknown."""
    at_server: Count = 0
    """Number of requests in batches that wait at the server."""
    problems: Mapping[str, Count] = field(default_factory=dict[str, int])
    """The most frequent kinds of failure, with their counts."""
    started: Seconds
    updated: Seconds
    monotonic: Seconds = 0.0
    """The start time by the machine's monotonic clock."""
    since: Seconds = 0.0
    """The start of the window over which the rate is measured."""
    done_then: Count = 0
    """Number of samples that were done at `since`."""
    message: str = ""
    """Why the evaluation stopped or failed; else empty."""


_PROGRESS = TypeAdapter(Progress)


class StatusFile:
    """Context manager that updates the status file of an evaluation. At the end, it writes how the evaluation ended."""

    def __init__(self, path: Path, total: int, watch: Callable[[Progress], None], budget: Budget) -> None:
        self._path = path
        self._watch = watch
        self._budget = budget
        monotonic, now = time.monotonic(), time.time()
        self._clock_offset = now - monotonic
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
        """Number of samples that are done."""
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
        """Count all samples as done, because their results are already stored."""
        self._progress = replace(self._progress, done=self._progress.total)
        self.update(tally)

    def step(self, tally: Tally) -> None:
        """Count a sample as done."""
        self._progress = replace(self._progress, done=self._progress.done + 1)
        self.beat(tally)

    def set_done(self, done: int, tally: Tally) -> None:
        """Set the number of samples that are done."""
        self._progress = replace(self._progress, done=done)
        self.beat(tally)

    def beat(self, tally: Tally) -> None:
        """Update the file if the last update was `HEARTBEAT_SECONDS` ago or all samples are done."""
        if self._now() - self._progress.updated >= HEARTBEAT_SECONDS or self._progress.done >= self._progress.total:
            self.update(tally)

    def update(self, tally: Tally) -> None:
        """Update the file, and stop the evaluation if the user has requested it."""
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
        return self._clock_offset + time.monotonic()

    def _window(self, now: float) -> tuple[float, int]:
        """Return the start of the window, about `WINDOW_SECONDS` ago, and the number of samples that were done then."""
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
    """Return the path of the file that, if it exists, tells an evaluation to stop. It is next to the status file."""
    return status.with_suffix(".stop")


def read_progress(path: Path) -> Progress | None:
    """Read an evaluation's status file; None if it is missing or malformed."""
    try:
        return _PROGRESS.validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, kw_only=True)
class LiveEvaluation:
    """The state of an evaluation that was started, read from its files. Another process may run it."""

    evaluation_id: str
    run_id: str
    judge: str
    state: LiveState
    """`stopping`: it was told to stop, and waits for open requests. `interrupted`: its process is gone."""
    progress: Progress
    choice: Choice | None
    """The metrics, judges and limits to resume it with; None if its judges were built in Python."""

    @property
    def under_way(self) -> bool:
        """Whether a process is running it."""
        return self.state in ("starting", "running", "stopping")

    @property
    def rate(self) -> float | None:
        """Samples per minute over the last `WINDOW_SECONDS`; None if it is not running or has only just started."""
        seconds = self.progress.updated - self.progress.since
        if self.state != "running" or seconds < MIN_WINDOW_SECONDS:
            return None
        return 60 * (self.progress.done - self.progress.done_then) / seconds

    @property
    def seconds_left(self) -> float | None:
        """The estimated seconds left at the current rate; None if there is no rate."""
        remaining = self.progress.total - self.progress.done
        return 60 * remaining / self.rate if self.rate else None


def live_evaluations(store: Store, now: float | None = None) -> tuple[LiveEvaluation, ...]:
    """Return all evaluations that were ever started in the store, newest first.

    `now`: the current time of the machine's monotonic clock, for tests.
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
    """Tell an evaluation to stop. It then sends no further requests, but records the replies to open requests."""
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
    """Return the state, and the progress that it follows from."""
    if progress.state == "starting":
        return progress, "starting" if 0 <= now - progress.monotonic < START_SECONDS else "interrupted"
    if progress.state == "running" and is_being_written(journal):
        return progress, "stopping" if stop_file(status).exists() else "running"
    if progress.state == "running":
        # The process is gone. It may have written its final status after the status was read above.
        progress = read_progress(status) or progress
    return progress, "interrupted" if progress.state == "running" else progress.state
