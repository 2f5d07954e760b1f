"""A judge that replays recorded replies, and a judge that records them.

A recording is a JSON Lines file. A line is `{"task": "Verify", "asked": {...}, "reply": {...}}`; for a failure, it has
`"failure": "why"` instead of `reply`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from ragboard.errors import RunFileError
from ragboard.judges.base import Judge, MeteredJudge, ModelJudge, RequestEstimate
from ragboard.tasks import TASKS, Failure, NotSent, OnCall, Reply, Task, decode_reply, encode, ignore_call, task_key

__all__ = ["RecordingJudge", "ReplayJudge"]


@dataclass(frozen=True)
class ReplayJudge:
    """Answers each task with its recorded reply; returns a Failure for a task that is not in the recording."""

    recorded: Mapping[str, Reply | Failure]
    """Replies by the key of their task, `task_key(task, "")`."""
    version: str
    """A digest of the recording, which is part of the judge's identity."""
    name: str = "replay"
    heuristic: bool = False
    answers: frozenset[type[Task]] = field(default_factory=lambda: frozenset(TASKS))

    @classmethod
    def from_file(cls, path: Path) -> ReplayJudge:
        """Read a recording. Raises RunFileError for an invalid line."""
        try:
            if path.exists() and not path.is_file():
                raise RunFileError(path, "is not a regular file; expected a recording of replies")
            content = path.read_bytes()
        except OSError as error:
            raise RunFileError(path, f"{error.strerror or error}, expected a recording of replies") from error
        recorded = dict(
            _read_entry(path, number, line)
            for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), 1)
            if line.strip()
        )
        return cls(recorded, blake2b(content, digest_size=8).hexdigest(), name=f"replay:{path.name}")

    def identity(self, task: type[Task]) -> str:
        """Return an identity with the recording's digest and the task type."""
        return f"replay/{self.version}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return the recorded replies, in order."""
        return [
            self.recorded.get(task_key(task, ""), Failure(detail=f"no recorded reply to this {type(task).__name__}"))
            for task in tasks
        ]


@dataclass(frozen=True)
class RecordingJudge:
    """Passes tasks to another judge and records its replies."""

    inner: Judge
    path: Path
    """The file to which replies are appended."""

    def __new__(cls, inner: Judge, path: Path) -> Self:  # noqa: ARG004 - __init__ takes both
        """Create a judge that is a `ModelJudge` if the inner judge is one."""
        kind: type[Any] = _RecordingModelJudge if isinstance(inner, ModelJudge) else cls
        recorder: Self = super().__new__(kind)
        return recorder

    @property
    def name(self) -> str:
        """The name of the inner judge."""
        return self.inner.name

    @property
    def heuristic(self) -> bool:
        """Whether the inner judge is rule-based."""
        return self.inner.heuristic

    @property
    def answers(self) -> frozenset[type[Task]]:
        """The types of task that the inner judge answers."""
        return self.inner.answers

    def identity(self, task: type[Task]) -> str:
        """Return the identity of the inner judge."""
        return self.inner.identity(task)

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return the inner judge's replies, and append them to the recording, except `NotSent`."""
        replies = await self.inner.answer(tasks, on_call)
        with self.path.open("ab") as file:
            for task, reply in zip(tasks, replies, strict=True):
                if not isinstance(reply, NotSent):
                    file.write(_entry_line(task, reply))
        return replies


class _RecordingModelJudge(RecordingJudge):
    """A recording judge around a `ModelJudge`."""

    @property
    def _model_judge(self) -> ModelJudge:
        assert isinstance(self.inner, ModelJudge)  # noqa: S101 - see RecordingJudge.__new__
        return self.inner

    @property
    def model(self) -> str:
        """The model of the inner judge."""
        return self._model_judge.model

    @property
    def is_metered(self) -> bool:
        """Whether the inner judge asks its meter before every request."""
        return isinstance(self.inner, MeteredJudge) and self.inner.is_metered

    def request(self, task: Task) -> RequestEstimate | None:
        """Return what the inner judge would send."""
        return self._model_judge.request(task)


def _entry_line(task: Task, reply: Reply | Failure) -> bytes:
    entry: dict[str, object] = {"task": type(task).__name__, "asked": json.loads(encode(task))}
    if isinstance(reply, Failure):
        entry["failure"] = reply.detail
    else:
        entry["reply"] = json.loads(encode(reply))
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


def _read_entry(path: Path, number: int, line: str) -> tuple[str, Reply | Failure]:
    from pydantic import TypeAdapter, ValidationError

    from ragboard.tasks import TASKS_BY_NAME

    try:
        entry = json.loads(line)
        task: Task = TypeAdapter(TASKS_BY_NAME[entry["task"]]).validate_python(entry["asked"])
        reply = Failure(detail=entry["failure"]) if "failure" in entry else decode_reply(entry["task"], entry["reply"])
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        detail = " ".join(str(error).split())[:200]
        raise RunFileError(path, f"not a recorded reply ({detail})", line=number) from error
    return task_key(task, ""), reply
