"""What a metric is, and what it needs to know of a sample before it can count.

A metric names its needs; the evaluation resolves their union, once, by asking judges; the metric then counts without
asking anybody. A need that cannot be resolved is an `Unscored` with its reason, and so is the metric's outcome.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast

from ragboard.errors import SettingError
from ragboard.readers.formats.ragchecker import FileVerdicts, UnusableError, read_file_verdicts
from ragboard.records import Direction, Outcome, Sample, Score, Unscored
from ragboard.tasks import Failure, NotAsked, Reply, Task

__all__ = [
    "AnswerTask",
    "Ask",
    "Column",
    "Direction",
    "Findings",
    "Metric",
    "Need",
    "Row",
    "judgement",
    "no_answer",
    "no_column",
    "no_passages",
    "outcome",
    "resolve",
    "tasks_for",
    "yes_or_no",
]

T = TypeVar("T")
R = TypeVar("R", bound=Reply)

Column = Literal["answer", "contexts", "reference", "reference_contexts"]

ROUNDING = 1e-9
"""How far a sum of floats may lie beside its bounds."""

AnswerTask: TypeAlias = Callable[[Task], Awaitable[Reply | Failure]]
"""Asks one task of one sample."""

Row: TypeAlias = tuple[str, tuple[Any, ...]]
"""A table of the store, and a row of it but for the sample."""


@dataclass
class Ask:
    """Asks judges on behalf of one sample: each task once, however many needs lead to it."""

    sample: Sample
    answer: AnswerTask
    known: Callable[[Task], bool] = lambda _: False
    """Whether a task was answered before: an answer that is there decides how the rest is asked."""
    wanted: Collection[Need[Any]] = ()
    """All needs that are to be resolved, so that they can be asked together."""
    _asked: dict[Task, asyncio.Future[Reply | Failure]] = field(
        default_factory=dict[Task, "asyncio.Future[Reply | Failure]"]
    )

    async def __call__(self, task: Task[R]) -> R | Unscored:
        """The reply, or why there is none."""
        if task not in self._asked:
            self._asked[task] = asyncio.ensure_future(self.answer(task))
        reply = await self._asked[task]
        if isinstance(reply, Failure):
            return Unscored(reason="skipped" if isinstance(reply, NotAsked) else "failed", detail=reply.detail)
        if not isinstance(reply, task.reply):
            raise TypeError(f"the judge answered {type(task).__name__} with {type(reply).__name__}")
        return cast("R", reply)

    @cached_property
    def file_verdicts(self) -> FileVerdicts | Unscored:
        """The claims and verdicts that the run file brought, or why these cannot be used."""
        try:
            return read_file_verdicts(self.sample)
        except UnusableError as error:
            return Unscored(reason="failed", detail=f"{error.column} of the run file: {error}")


class Need(ABC, Generic[T]):
    """Something to find out about a sample by asking judges; `T` is what is found. A frozen dataclass."""

    @abstractmethod
    def tasks(self) -> tuple[type[Task], ...]:
        """The types of task that resolving it can lead to."""

    @abstractmethod
    async def resolve(self, sample: Sample, ask: Ask) -> T | Unscored:
        """The finding, or why there is none."""

    def rows(self, found: T) -> Iterable[Row]:
        """What the store keeps of a finding."""
        del found
        return ()


@dataclass(frozen=True)
class Findings:
    """What was found for each need, or why nothing was."""

    found: Mapping[Need[Any], object]

    def of(self, need: Need[T]) -> T:
        """The finding; only to be asked for once `missing` said None."""
        return cast("T", self.found[need])

    def missing(self, need: Need[Any]) -> Unscored | None:
        """Why the need was not resolved, or None where it was."""
        found = self.found[need]
        return found if isinstance(found, Unscored) else None


def tasks_for(needs: Iterable[Need[Any]]) -> frozenset[type[Task]]:
    """The types of task that resolving these needs can lead to."""
    return frozenset(task for need in needs for task in need.tasks())


async def resolve(
    sample: Sample,
    needs: Iterable[Need[Any]],
    answer: AnswerTask,
    known: Callable[[Task], bool] = lambda _: False,
) -> Findings:
    """Resolve every need of one sample; one that cannot be resolved is an Unscored that says why.

    `known` says whether a task was answered before: an answer that is there decides how the rest is asked.
    """
    wanted = tuple(dict.fromkeys(needs))
    ask = Ask(sample, answer, known, wanted)
    found = await asyncio.gather(*(need.resolve(sample, ask) for need in wanted))
    return Findings(dict(zip(wanted, found, strict=True)))


def judgement(about: str, number: int, says: str, value: float | None = None, reason: str = "") -> Row:
    """A judge's word as a row: what was asked, which one, what it says, why."""
    return "judgements", (about, number, says, value, reason)


def yes_or_no(about: str, said: Iterable[tuple[bool, str]]) -> Iterable[Row]:
    """Verdicts with their reasons as rows."""
    for number, (yes, reason) in enumerate(said, 1):
        yield judgement(about, number, "yes" if yes else "no", reason=reason)


def no_column(column: str) -> Unscored:
    """For a sample that lacks what is asked about."""
    return Unscored(reason="skipped", detail=f"the run file has no {column} for this sample")


def no_answer(sample: Sample) -> Unscored | None:
    """Why nothing can be asked of the answer, or None."""
    if sample.answer is None:
        return no_column("answer")
    return None if sample.answer.strip() else Unscored(reason="undefined", detail="the answer is empty")


def no_passages(sample: Sample) -> Unscored | None:
    """Why nothing can be asked of the passages, or None."""
    if sample.contexts is None:
        return no_column("contexts")
    return None if sample.contexts else Unscored(reason="undefined", detail="no passage was retrieved")


@dataclass(frozen=True)
class Metric(ABC):
    """A way to count. Its fields are its settings; its docstring is what people read about it.

    Its identity is source, name and the settings that differ from their defaults, for the same word
    means different things in different systems.
    """

    source: ClassVar[str]
    """Whose definition: `ragas`."""
    name: ClassVar[str]
    title: ClassVar[str]
    """How pages call it: `Faithfulness`."""
    formula: ClassVar[str]
    paper: ClassVar[str]
    """Where the definition stands: paper, section."""
    requires: ClassVar[tuple[Column, ...]]
    """Columns a sample must have, besides the question."""
    range: ClassVar[tuple[float, float]]
    direction: ClassVar[Direction]
    """Which way is better; neutral where that depends on what one wants."""
    calls: ClassVar[str]
    """What it asks a judge, in words."""

    @property
    def spec(self) -> str:
        """The identity as one string: `ragas.answer_relevance`, `ragas.answer_relevance(n=5)`."""
        settings = ",".join(self._changed())
        return f"{self.source}.{self.name}" + (f"({settings})" if settings else "")

    @property
    def label(self) -> str:
        """The title with the settings that differ from their defaults: `Recall (k=5)`."""
        settings = ", ".join(self._changed())
        return f"{self.title} ({settings})" if settings else self.title

    def _changed(self) -> list[str]:
        return [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]

    @abstractmethod
    def needs(self) -> tuple[Need[Any], ...]:
        """What must be known of a sample first."""

    @abstractmethod
    def score(self, sample: Sample, findings: Findings) -> Outcome:
        """Count. Called only when every required column is there and every need was met."""


def outcome(metric: Metric, sample: Sample, findings: Findings) -> Outcome:
    """The metric's score of a sample, or why there is none.

    Raises SettingError where the metric's own code gives a number outside its range.
    """
    for column in metric.requires:
        if getattr(sample, column) is None:
            return no_column(column)
    for need in metric.needs():
        missing = findings.missing(need)
        if missing is not None:
            return missing
    return _in_range(metric, sample, metric.score(sample, findings))


def _in_range(metric: Metric, sample: Sample, found: Outcome) -> Outcome:
    low, high = metric.range
    if isinstance(found, Score) and not low - ROUNDING <= found.value <= high + ROUNDING:
        raise SettingError(f"{metric.spec} gives {found.value} for sample {sample.id!r}; its range is {low} to {high}")
    return found
