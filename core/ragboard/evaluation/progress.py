"""How far an evaluation is: told to whoever watches, and to a small file that other processes read."""

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
from typing import Literal, Self

from ragboard.errors import StoreError
from ragboard.evaluation.asker import Tally
from ragboard.evaluation.budget import Budget

__all__ = ["HEARTBEAT_SECONDS", "Progress", "StatusFile", "read_progress", "stop_file", "write_progress"]

HEARTBEAT_SECONDS = 0.25
PROBLEMS = 5

RECENT_SECONDS = 30.0
"""The time over which a rate is taken."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A moment of an evaluation. Times are seconds since the epoch."""

    state: Literal["starting", "running", "finished", "stopped", "failed"]
    """starting: its process was started, and has not said a word yet."""
    pid: int
    done: int
    total: int
    asked: int = 0
    replayed: int = 0
    cached: int = 0
    failed: int = 0
    calls: int = 0
    """Calls to models since this command started, and their tokens."""
    tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None where it is not known."""
    problems: Mapping[str, int] = field(default_factory=dict[str, int])
    """The commonest kinds of failure, and how often each came."""
    started: float
    updated: float
    since: float = 0.0
    """Some moment of the last half minute, and how many samples were done by then: what a rate is taken from."""
    done_then: int = 0
    message: str = ""


class StatusFile:
    """Keeps a status file true while an evaluation runs, and says in it how that ended."""

    def __init__(self, path: Path, total: int, watch: Callable[[Progress], None], budget: Budget) -> None:
        self._path = path
        self._watch = watch
        self._budget = budget
        now = time.time()
        self._recent = deque([(now, 0)])
        self._now = Progress(state="running", pid=os.getpid(), done=0, total=total, started=now, updated=now, since=now)

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
            self._now = replace(self._now, state="stopped", message="stopped; the same command goes on from here")
        else:
            self._now = replace(self._now, state="failed", message=str(error))
        self._now = replace(self._now, updated=time.time())
        with suppress(StoreError) if error else nullcontext():
            self._write()

    def step(self, tally: Tally) -> None:
        """One sample more is done."""
        self._now = replace(self._now, done=self._now.done + 1)
        self.beat(tally)

    def beat(self, tally: Tally) -> None:
        """Say how far it is, where that was not said just now."""
        if time.time() - self._now.updated >= HEARTBEAT_SECONDS or self._now.done >= self._now.total:
            self.tell(tally)

    def tell(self, tally: Tally) -> None:
        """Say how far it is, and see whether somebody says stop."""
        budget = self._budget
        since, done_then = self._window(time.time())
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
            updated=time.time(),
            since=since,
            done_then=done_then,
        )
        self._watch(self._now)
        self._write()
        if not budget.stopped and stop_file(self._path).exists():
            budget.stopped = "stopped by a person; the same command goes on from here"

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
        raise StoreError(f"{draft}: cannot say how far it is: {error.strerror or error}") from error


def stop_file(status: Path) -> Path:
    """The file beside a status file that tells an evaluation to stop, with what is under way kept."""
    return status.with_suffix(".stop")


def read_progress(path: Path) -> Progress | None:
    """The last word of an evaluation's status file; None where there is none yet."""
    try:
        return Progress(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
