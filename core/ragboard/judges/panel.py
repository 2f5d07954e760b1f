"""Who fills which role in an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from ragboard.errors import JudgeError
from ragboard.judges.codec import REPLIES
from ragboard.judges.tasks import Judge, Role, Task

__all__ = ["Panel"]

ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One judge for each role; `judge` fills those that nobody else does."""

    judge: Judge
    roles: Mapping[Role, Judge] | None = None

    def for_task(self, kind: type[Task]) -> Judge:
        """Who answers tasks of this type. Raises JudgeError where the one in that role cannot."""
        judge = (self.roles or {}).get(kind.role, self.judge)
        if kind not in judge.answers:
            raise JudgeError(
                f"{judge.name} does not answer {kind.__name__}; name another judge for the role '{kind.role}'"
            )
        return judge

    def identity(self) -> dict[str, str]:
        """For each task type somebody answers, all that could change the answer besides the task."""
        found: dict[str, str] = {}
        for kind in REPLIES:
            judge = (self.roles or {}).get(kind.role, self.judge)
            if kind in judge.answers:
                found[kind.__name__] = judge.identity(kind)
        return found

    @property
    def name(self) -> str:
        """The judges as a person would name them: `embedded`, or `a + b` where roles differ."""
        return " + ".join(dict.fromkeys(judge.name for judge in self._members()))

    @property
    def heuristic(self) -> bool:
        """Whether any of them works by rules of thumb."""
        return any(judge.heuristic for judge in self._members())

    def _members(self) -> tuple[Judge, ...]:
        return (self.judge, *(self.roles or {}).values())
