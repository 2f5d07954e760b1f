"""How far an evaluation is: told to whoever watches, and to a small file that other processes read."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from ragboard.evaluation.asker import Tally

__all__ = ["Progress", "StatusFile", "read_progress"]

HEARTBEAT_SECONDS = 0.25


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A moment of an evaluation. Times are seconds since the epoch."""

    state: Literal["running", "finished", "stopped", "failed"]
    pid: int
    done: int
    total: int
    asked: int = 0
    replayed: int = 0
    failed: int = 0
    started: float
    updated: float
    message: str = ""


class StatusFile:
    """Keeps a status file true while an evaluation runs, and says in it how that ended."""

    def __init__(self, path: Path, total: int, watch: Callable[[Progress], None]) -> None:
        self._path = path
        self._watch = watch
        now = time.time()
        self._now = Progress(state="running", pid=os.getpid(), done=0, total=total, started=now, updated=now)

    @property
    def done(self) -> int:
        """Samples done."""
        return self._now.done

    def __enter__(self) -> Self:
        self._write()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._now = replace(self._now, state="finished")
        elif isinstance(error, KeyboardInterrupt):
            self._now = replace(self._now, state="stopped", message="stopped; the same command goes on from here")
        else:
            self._now = replace(self._now, state="failed", message=str(error))
        self._now = replace(self._now, updated=time.time())
        self._write()

    def step(self, tally: Tally) -> None:
        """One sample more is done."""
        self._now = replace(
            self._now,
            done=self._now.done + 1,
            asked=tally.asked,
            replayed=tally.replayed,
            failed=tally.failed,
        )
        self._watch(self._now)
        if time.time() - self._now.updated > HEARTBEAT_SECONDS:
            self._now = replace(self._now, updated=time.time())
            self._write()

    def _write(self) -> None:
        draft = self._path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self._now)), encoding="utf-8")
        draft.replace(self._path)


def read_progress(path: Path) -> Progress | None:
    """The last word of an evaluation's status file; None where there is none yet."""
    try:
        return Progress(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
