"""Base classes of metrics and of their needs: what a metric must know of a sample before it can score it.

A metric names its needs. The evaluation resolves each need once by asking judges, and the metric computes its score
from the findings. If a need cannot be resolved, it is an `Unscored` with a reason, and so is the metric's outcome.
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
"""How far a score can be outside its range by rounding."""

AnswerTask: TypeAlias = Callable[[Task], Awaitable[Reply | Failure]]
"""Asks the judge one task for one sample."""

Row: TypeAlias = tuple[str, tuple[Any, ...]]
"""The name of a table of the store, and a row of it without the columns of the sample."""


@dataclass
class Ask:
    """Asks judges about one sample; each task once, even if several needs lead to it."""

    sample: Sample
    answer: AnswerTask
    known: Callable[[Task], bool] = lambda _: False
    """Whether a task was answered before; needs ask it again in the same form."""
    wanted: Collection[Need[Any]] = ()
    """All needs to resolve, which lets a need ask for itself and for another in one task."""
    _asked: dict[Task, asyncio.Future[Reply | Failure]] = field(
        default_factory=dict[Task, "asyncio.Future[Reply | Failure]"]
    )

    async def __call__(self, task: Task[R]) -> R | Unscored:
        """Return the reply to the task, or why there is none."""
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
        """Claims and verdicts in the run file, or why these cannot be used."""
        try:
            return read_file_verdicts(self.sample)
        except UnusableError as error:
            return Unscored(reason="failed", detail=f"{error.column} of the run file: {error}")


class Need(ABC, Generic[T]):
    """Something that a metric must know of a sample; `T` is the type of the finding. A frozen dataclass."""

    @abstractmethod
    def tasks(self) -> tuple[type[Task], ...]:
        """Return the types of task that it can ask."""

    @abstractmethod
    async def resolve(self, sample: Sample, ask: Ask) -> T | Unscored:
        """Ask the judges, and return the finding or why there is none."""

    def rows(self, found: T) -> Iterable[Row]:
        """Return the rows of the store that keep a finding; none by default."""
        del found
        return ()


@dataclass(frozen=True)
class Findings:
    """The finding of each need, or why it was not resolved."""

    found: Mapping[Need[Any], object]

    def of(self, need: Need[T]) -> T:
        """Return the finding of a need. Call it only if `missing` returns None."""
        return cast("T", self.found[need])

    def missing(self, need: Need[Any]) -> Unscored | None:
        """Return why the need was not resolved, or None if it was."""
        found = self.found[need]
        return found if isinstance(found, Unscored) else None


def tasks_for(needs: Iterable[Need[Any]]) -> frozenset[type[Task]]:
    """Return the types of task that resolving these needs can ask."""
    return frozenset(task for need in needs for task in need.tasks())


async def resolve(
    sample: Sample,
    needs: Iterable[Need[Any]],
    answer: AnswerTask,
    known: Callable[[Task], bool] = lambda _: False,
) -> Findings:
    """Resolve every need for one sample; a need that cannot be resolved becomes an Unscored with the reason.

    `known` says whether a task was answered before; such a task is asked again in the same form.
    """
    wanted = tuple(dict.fromkeys(needs))
    ask = Ask(sample, answer, known, wanted)
    found = await asyncio.gather(*(need.resolve(sample, ask) for need in wanted))
    return Findings(dict(zip(wanted, found, strict=True)))


def judgement(about: str, number: int, says: str, value: float | None = None, reason: str = "") -> Row:
    """Return the row of one judgement: what was asked, its number, the answer, a value, and the reason."""
    return "judgements", (about, number, says, value, reason)


def yes_or_no(about: str, said: Iterable[tuple[bool, str]]) -> Iterable[Row]:
    """Return a row for each (yes, reason), numbered from 1."""
    for number, (yes, reason) in enumerate(said, 1):
        yield judgement(about, number, "yes" if yes else "no", reason=reason)


def no_column(column: str) -> Unscored:
    """Return the Unscored of a sample without this column."""
    return Unscored(reason="skipped", detail=f"the run file has no {column} for this sample")


def no_answer(sample: Sample) -> Unscored | None:
    """Return why there is no answer to judge, or None if there is one."""
    if sample.answer is None:
        return no_column("answer")
    return None if sample.answer.strip() else Unscored(reason="undefined", detail="the answer is empty")


def no_passages(sample: Sample) -> Unscored | None:
    """Return why there are no passages to judge, or None if there are some."""
    if sample.contexts is None:
        return no_column("contexts")
    return None if sample.contexts else Unscored(reason="undefined", detail="no passage was retrieved")


@dataclass(frozen=True)
class Metric(ABC):
    """A metric. Its fields are its settings; its docstring is its description for users.

    Its identity is source, name and the settings that differ from their defaults. The source is included because the
    same name means different things in different tools.
    """

    source: ClassVar[str]
    """The tool or paper that defines it: `ragas`."""
    name: ClassVar[str]
    """Its name within the source: `answer_relevance`."""
    title: ClassVar[str]
    """Its name on pages: `Faithfulness`."""
    formula: ClassVar[str]
    """How it is computed, in one line."""
    paper: ClassVar[str]
    """The source of the definition: paper and section."""
    requires: ClassVar[tuple[Column, ...]]
    """Columns a sample must have, besides the question."""
    range: ClassVar[tuple[float, float]]
    """The least and the greatest possible score."""
    direction: ClassVar[Direction]
    """Which values are better; neutral if that depends on the use."""
    calls: ClassVar[str]
    """The calls to judges per sample, in words."""

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
        """Return what the metric must know of a sample; an empty tuple if it asks no judge."""

    @abstractmethod
    def score(self, sample: Sample, findings: Findings) -> Outcome:
        """Compute the score. Called only if all required columns are present and all needs are resolved."""


def outcome(metric: Metric, sample: Sample, findings: Findings) -> Outcome:
    """Return the metric's score of a sample, or why there is none.

    Raises SettingError if the metric returns a number outside its range.
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
