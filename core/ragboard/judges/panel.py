"""The judges of an evaluation, by role."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from ragboard.errors import JudgeError
from ragboard.judges.base import Judge
from ragboard.tasks import TASKS, Role, Task

__all__ = ["NOBODY", "Panel"]

NOBODY = "none"
"""The judge's name in an evaluation that asked no judge: its metrics need none, or the file had all verdicts."""

ROLES: tuple[Role, ...] = get_args(Role)
ROLE_OPTIONS: Mapping[Role, str] = {
    "extract": "--extract embedded",
    "verify": "--verify embedded",
    "ask": "a chat model, --judge openai:MODEL",
    "embed": "--embed embedded, or an embedding model, --embed openai:MODEL",
}
"""The options that give a judge for each role."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The judges by role.

    `judge` has all roles that are not in `roles`; `rest` does what the judge of a role cannot.
    """

    judge: Judge
    roles: Mapping[Role, Judge] | None = None
    rest: Judge | None = None

    def for_task(self, kind: type[Task]) -> Judge:
        """Return the judge for tasks of this type. Raises JudgeError if the judge of that role cannot answer them."""
        judge = self.answering(kind)
        if judge is None:
            missing = self._in_role(kind)
            option = ROLE_OPTIONS["ask" if missing.heuristic and kind.role != "embed" else kind.role]
            raise JudgeError(f"{missing.name} does not answer {kind.__name__} tasks (role '{kind.role}'); use {option}")
        return judge

    def answering(self, kind: type[Task]) -> Judge | None:
        """Return the judge for tasks of this type, or None if the judge of that role cannot answer them."""
        found = (self._in_role(kind), self.rest)
        return next((judge for judge in found if judge and kind in judge.answers), None)

    def _in_role(self, kind: type[Task]) -> Judge:
        return (self.roles or {}).get(kind.role, self.judge)

    def identity(self, kinds: Iterable[type[Task]] = TASKS) -> dict[str, str]:
        """Return the judge's identity for each of these types of task, by name, without those that no judge answers."""
        wanted = sorted(kinds, key=lambda kind: kind.__name__)
        return {kind.__name__: judge.identity(kind) for kind in wanted if (judge := self.answering(kind))}

    def answering_any(self, tasks: Collection[str]) -> tuple[Judge, ...]:
        """Return the judges that answer the types of task with these names, without repetition."""
        found = (self.answering(kind) for kind in TASKS if kind.__name__ in tasks)
        asked = {id(judge) for judge in found}
        return tuple(judge for judge in self.members if id(judge) in asked)

    @property
    def name(self) -> str:
        """The names of the judges: `embedded`, or `a + b` if roles have different judges."""
        return " + ".join(dict.fromkeys(judge.name for judge in self.members))

    @property
    def heuristic(self) -> bool:
        """Whether any of the judges is rule-based."""
        return any(judge.heuristic for judge in self.members)

    def rule_based(self, tasks: Collection[str]) -> bool:
        """Return whether a rule-based judge decides the results of the types of task with these names.

        If rules only split texts into statements, or only compare texts, and a model judges, the model decides.
        """
        asked = [(kind, self.answering(kind)) for kind in TASKS if kind.__name__ in tasks]
        deciding = [judge for kind, judge in asked if judge and kind.judges] or [judge for _, judge in asked if judge]
        return any(judge.heuristic for judge in deciding)

    @property
    def members(self) -> tuple[Judge, ...]:
        """All judges, `judge` first."""
        return (self.judge, *(self.roles or {}).values(), *((self.rest,) if self.rest else ()))

    @property
    def note(self) -> str:
        """What `rest` does, in words; empty if there is none."""
        if self.rest is None:
            return ""
        kind = " judge, which is rule-based," if self.rest.heuristic else " judge"
        return f"{self.judge.name} verifies statements; the {self.rest.name}{kind} answers everything else"
