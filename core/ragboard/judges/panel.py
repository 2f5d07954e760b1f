"""Who fills which role in an evaluation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from ragboard.errors import JudgeError
from ragboard.judges.base import Judge
from ragboard.tasks import TASKS, Role, Task

__all__ = ["NOBODY", "Panel"]

NOBODY = "none"
"""The judge of an evaluation in which nothing had to be asked: its metrics ask no judge, or the file had it all."""

ROLES: tuple[Role, ...] = get_args(Role)
OPTIONS: Mapping[Role, str] = {
    "extract": "--extract embedded",
    "verify": "--verify embedded",
    "ask": "a chat model, --judge openai:MODEL",
    "embed": "--embed embedded, or an embedding model, --embed openai:MODEL",
}
"""What fills each role."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One judge for each role; `judge` fills those that nobody else does."""

    judge: Judge
    roles: Mapping[Role, Judge] | None = None

    def for_task(self, kind: type[Task]) -> Judge:
        """Who answers tasks of this type. Raises JudgeError where the one in that role cannot."""
        judge = self.answering(kind)
        if judge is None:
            name = self._in_role(kind).name
            raise JudgeError(
                f"{name} does not answer {kind.__name__} tasks (role '{kind.role}'); use {OPTIONS[kind.role]}"
            )
        return judge

    def answering(self, kind: type[Task]) -> Judge | None:
        """Who answers tasks of this type, or None where the one in that role cannot."""
        judge = self._in_role(kind)
        return judge if kind in judge.answers else None

    def _in_role(self, kind: type[Task]) -> Judge:
        return (self.roles or {}).get(kind.role, self.judge)

    def identity(self, kinds: Iterable[type[Task]] = TASKS) -> dict[str, str]:
        """For each of these task types that somebody answers, all that could change the answer besides the task."""
        wanted = sorted(kinds, key=lambda kind: kind.__name__)
        return {kind.__name__: judge.identity(kind) for kind in wanted if (judge := self.answering(kind))}

    def answering_any(self, tasks: Collection[str]) -> tuple[Judge, ...]:
        """The judges that answer task types of these names, each once, in the order of their roles."""
        found = (self.answering(kind) for kind in TASKS if kind.__name__ in tasks)
        asked = {id(judge) for judge in found}
        return tuple(judge for judge in self.members if id(judge) in asked)

    @property
    def name(self) -> str:
        """The judges as a person would name them: `embedded`, or `a + b` where roles differ."""
        return " + ".join(dict.fromkeys(judge.name for judge in self.members))

    @property
    def heuristic(self) -> bool:
        """Whether any of them works by rules of thumb."""
        return any(judge.heuristic for judge in self.members)

    @property
    def members(self) -> tuple[Judge, ...]:
        """All judges in it."""
        return (self.judge, *(self.roles or {}).values())
