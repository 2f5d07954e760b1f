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

ROLE_NAMES: Mapping[Role, str] = {
    "other": "a chat model",
    "embed": "an embedder",
    "extract": "a judge that splits texts into statements",
    "verify": "a judge that verifies statements",
}
"""The kind of judge for each role, for messages."""

ROLE_OPTIONS: Mapping[Role, str] = {
    "other": "--judge openai:MODEL",
    "embed": "--embed embedded or --embed openai:MODEL",
    "extract": "--extract embedded",
    "verify": "--verify embedded",
}
"""The command-line options that set a judge for each role."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The judges of an evaluation, by role."""

    judge: Judge
    """The judge for every role that is not in `roles`."""
    roles: Mapping[Role, Judge] | None = None
    fallback: Judge | None = None
    """Answers the tasks that the judge of their role cannot answer."""

    def for_task(self, kind: type[Task]) -> Judge:
        """Return the judge for tasks of this type. Raises JudgeError if no judge of the panel answers them."""
        judge = self.find_judge(kind)
        if judge is None:
            name = self.judge_in_role(kind.role).name
            raise JudgeError(f"{name} does not answer {kind.__name__} tasks; use {self.suggest_judge(kind)}")
        return judge

    def find_judge(self, kind: type[Task]) -> Judge | None:
        """Return the judge for tasks of this type, or None if no judge of the panel answers them."""
        candidates = (self.judge_in_role(kind.role), self.fallback)
        return next((judge for judge in candidates if judge and kind in judge.answers), None)

    def suggest_judge(self, kind: type[Task]) -> str:
        """Return the judge to use for tasks of this type, with its option: `a chat model: --judge openai:MODEL`."""
        if kind.suggested_judge:
            return kind.suggested_judge
        role = "other" if self.judge_in_role(kind.role).heuristic and kind.role != "embed" else kind.role
        return f"{ROLE_NAMES[role]}: {ROLE_OPTIONS[role]}"

    def judge_in_role(self, role: Role) -> Judge:
        """Return the judge for a role. It may not answer all tasks of the role."""
        return (self.roles or {}).get(role, self.judge)

    def identity(self, kinds: Iterable[type[Task]] = TASKS) -> dict[str, str]:
        """Return the identity of the judge for each task type, by the type's name.

        Types that no judge answers are left out.
        """
        ordered = sorted(kinds, key=lambda kind: kind.__name__)
        return {kind.__name__: judge.identity(kind) for kind in ordered if (judge := self.find_judge(kind))}

    def judges_answering(self, tasks: Collection[str]) -> tuple[Judge, ...]:
        """Return the judges for the task types with these names, without repetition."""
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

    def is_rule_based(self, tasks: Collection[str]) -> bool:
        """Return whether a rule-based judge answers any of the task types with these names.

        Only judgements count, such as verdicts and ratings. If there are none, the other tasks count, such as splitting
        and comparing texts.
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
    def fallback_note(self) -> str:
        """A sentence for the user that says what `fallback` answers; empty if there is no fallback."""
        if self.fallback is None:
            return ""
        kind = " judge, which is rule-based," if self.fallback.heuristic else " judge"
        return f"{self.judge.name} verifies statements; the {self.fallback.name}{kind} answers everything else"
