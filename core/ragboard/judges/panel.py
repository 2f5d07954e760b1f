"""The judges of an evaluation, by role."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ragboard.errors import JudgeError
from ragboard.judges.base import Judge
from ragboard.tasks import TASKS, Role, Task

__all__ = ["NO_JUDGE", "Panel"]

NO_JUDGE = "none"
"""The judge's name in an evaluation without a judge: the metrics need no judge, or the run file has all verdicts."""

ROLE_OPTIONS: Mapping[Role, str] = {
    "extract": "--extract embedded",
    "verify": "--verify embedded",
    "ask": "a chat model, --judge openai:MODEL",
    "embed": "--embed embedded, or an embedding model, --embed openai:MODEL",
}
"""The command-line option that sets a judge for each role."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The judges by role.

    `judge` has all roles that are not in `roles`. `fallback` answers the tasks that the judge of their role cannot.
    """

    judge: Judge
    roles: Mapping[Role, Judge] | None = None
    fallback: Judge | None = None

    def for_task(self, kind: type[Task]) -> Judge:
        """Return the judge for tasks of this type. Raises JudgeError if no judge of the panel answers them."""
        judge = self.find_judge(kind)
        if judge is None:
            missing = self._in_role(kind)
            option = (
                kind.judge_needed or ROLE_OPTIONS["ask" if missing.heuristic and kind.role != "embed" else kind.role]
            )
            raise JudgeError(f"{missing.name} does not answer {kind.__name__} tasks; use {option}")
        return judge

    def find_judge(self, kind: type[Task]) -> Judge | None:
        """Return the judge for tasks of this type, or None if no judge of the panel answers them."""
        candidates = (self._in_role(kind), self.fallback)
        return next((judge for judge in candidates if judge and kind in judge.answers), None)

    def _in_role(self, kind: type[Task]) -> Judge:
        return (self.roles or {}).get(kind.role, self.judge)

    def identity(self, kinds: Iterable[type[Task]] = TASKS) -> dict[str, str]:
        """Return the judge's identity by name of the task type; types that no judge answers are left out."""
        ordered = sorted(kinds, key=lambda kind: kind.__name__)
        return {kind.__name__: judge.identity(kind) for kind in ordered if (judge := self.find_judge(kind))}

    def judges_answering(self, tasks: Collection[str]) -> tuple[Judge, ...]:
        """Return the judges that answer the task types with these names, each judge once."""
        judges = (self.find_judge(kind) for kind in TASKS if kind.__name__ in tasks)
        answering = {id(judge) for judge in judges}
        return tuple(judge for judge in self.members if id(judge) in answering)

    @property
    def name(self) -> str:
        """The names of the judges: `embedded`, or `a + b` if roles have different judges."""
        return " + ".join(dict.fromkeys(judge.name for judge in self.members))

    @property
    def heuristic(self) -> bool:
        """Whether any of the judges is rule-based."""
        return any(judge.heuristic for judge in self.members)

    def rule_based(self, tasks: Collection[str]) -> bool:
        """Return whether a rule-based judge decides the results of the task types with these names.

        The judge that gives verdicts or ratings decides, not one that only splits texts into statements or compares
        texts.
        """
        answered = [
            (kind, judge) for kind in TASKS if kind.__name__ in tasks and (judge := self.find_judge(kind)) is not None
        ]
        judgements = [(kind, judge) for kind, judge in answered if kind.is_judgement]
        return any(judge.heuristic for _, judge in judgements or answered)

    @property
    def members(self) -> tuple[Judge, ...]:
        """All judges, `judge` first."""
        return (self.judge, *(self.roles or {}).values(), *((self.fallback,) if self.fallback else ()))

    @property
    def note(self) -> str:
        """What `fallback` does, in words; empty if there is none."""
        if self.fallback is None:
            return ""
        kind = " judge, which is rule-based," if self.fallback.heuristic else " judge"
        return f"{self.judge.name} verifies statements; the {self.fallback.name}{kind} answers everything else"
