"""Base classes of metrics and needs. A need is an input of a metric: statements, verdicts, ratings.

A metric lists its needs. The evaluation resolves each need once per sample, by sending tasks to judges. The metric
computes its score from the results. If a need cannot be resolved, its result is an `Unscored` with the reason. The
scores that depend on it are then `Unscored` too.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast

from ragboard.errors import SettingError
from ragboard.readers.formats.ragchecker import FileVerdicts, UnusableError, read_file_verdicts
from ragboard.records import Direction, MorePassages, Outcome, Sample, Score, Unscored
from ragboard.tasks import DRAW_STEP, Failure, NotSent, Reply, Task

__all__ = [
    "CATEGORIES",
    "Ask",
    "Category",
    "Column",
    "Direction",
    "Metric",
    "Need",
    "NeedResults",
    "Row",
    "SendTask",
    "compute_outcome",
    "judgement_row",
    "no_answer",
    "no_column",
    "no_passages",
    "resolve",
    "resolve_draws",
    "tasks_for",
    "yes_no_rows",
]

T = TypeVar("T")
R = TypeVar("R", bound=Reply)

Column = Literal["answer", "contexts", "reference", "reference_contexts", "nuggets"]

Category = Literal["grounding", "citations", "relevance", "focus", "coverage", "correctness", "use", "quality", "other"]

CATEGORIES: Mapping[Category, str] = {
    "grounding": "Is the answer grounded in the passages?",
    "citations": "Do its citations hold up?",
    "relevance": "Does it answer the question?",
    "focus": "Was retrieval focused?",
    "coverage": "Did retrieval find what is needed?",
    "correctness": "Is it correct and complete, against the reference?",
    "use": "How does it use what was retrieved?",
    "quality": "Is it sound, clear and safe, as a chat model sees it?",
    "other": "Your own metrics",
}
"""The heading of each category, in the order of the pages."""

ROUNDING = 1e-9
"""Maximum distance of a score from its range that counts as a rounding error."""

SendTask: TypeAlias = Callable[[Task], Awaitable[Reply | Failure]]
"""Sends a task to the judge, and returns the judge's reply."""

Row: TypeAlias = tuple[str, tuple[Any, ...]]
"""The name of a table in the store, and a row for this table without the columns that identify the sample."""


@dataclass
class Ask:
    """Sends the tasks of one sample to judges. A task that several needs use is sent once."""

    sample: Sample
    send: SendTask
    known: Callable[[Task], bool] = lambda _: False
    """Returns whether there is a stored reply to a task."""
    needs: Collection[Need[Any]] = ()
    """All needs that are resolved for the sample. A need can look here for needs that can share its task."""
    draw: int = 0
    """The number of the draw, from 0. Each draw gets independent replies."""
    redraws: Callable[[Task], bool] = lambda _: True
    """Returns whether later draws send a task again. If not, they use the reply of the first draw."""
    _replies: dict[Task, asyncio.Future[Reply | Failure]] = field(
        default_factory=dict[Task, "asyncio.Future[Reply | Failure]"]
    )
    _results: dict[Need[Any], asyncio.Future[Any]] = field(default_factory=dict["Need[Any]", "asyncio.Future[Any]"])

    async def __call__(self, task: Task[R]) -> R | Unscored:
        """Return the reply to the task, or an Unscored with the reason if there is no reply."""
        task = self._for_this_draw(task)
        answer = self._replies.get(task)
        reply = await (self._send(task) if answer is None else answer)
        if isinstance(reply, Failure):
            return Unscored(reason="skipped" if isinstance(reply, NotSent) else "failed", detail=reply.detail)
        if not isinstance(reply, task.reply):
            raise TypeError(f"the judge answered {type(task).__name__} with {type(reply).__name__}")
        return cast("R", reply)

    async def _send(self, task: Task) -> Reply | Failure:
        """Send the task, and keep its reply for other needs.

        This runs in the asyncio task of the first need, because another one would take more CPU time.
        """
        future = self._replies[task] = asyncio.get_running_loop().create_future()
        reply: Reply | Failure = await _share(self.send(task), future)
        await asyncio.sleep(0)  # requests that waited for this one, as with a cost limit, precede the need's next task
        return reply

    async def resolve(self, need: Need[T]) -> T | Unscored:
        """Return the result of a need, which is resolved once per sample and draw, however many needs use it."""
        if need in self._results:
            return cast("T | Unscored", await self._results[need])
        future = self._results[need] = asyncio.get_running_loop().create_future()
        return await _share(need.resolve(self.sample, self), future)

    def knows(self, task: Task) -> bool:
        """Return whether a reply to the task is stored. A need that can send different tasks prefers such a task."""
        return self.known(self._for_this_draw(task))

    def _for_this_draw(self, task: Task[R]) -> Task[R]:
        """Return the task to send in this draw. It differs from the first draw's task only in `draw`."""
        if not self.draw or not self.redraws(task):
            return task
        return cast("Task[R]", replace(cast("Any", task), draw=task.draw + self.draw * DRAW_STEP))

    @cached_property
    def file_verdicts(self) -> FileVerdicts | Unscored:
        """The claims and verdicts in the run file, or an Unscored with the reason why they cannot be used."""
        try:
            return read_file_verdicts(self.sample)
        except UnusableError as error:
            return Unscored(reason="failed", detail=f"{error.column} of the run file: {error}")


async def _share(work: Awaitable[T], future: asyncio.Future[T]) -> T:
    """Return the result of `work`, and pass it, or its exception, to the needs that wait for `future`."""
    try:
        result = await work
    except BaseException as error:
        if not future.done():  # a need that is cancelled while it waits for this one cancels the future
            future.set_exception(error)
            future.exception()  # otherwise asyncio logs an exception for which no other need waits
        raise
    if not future.done():
        future.set_result(result)
    return result


class Need(ABC, Generic[T]):
    """An input of metrics that judges provide for a sample. `T` is the type of its result.

    Subclasses are frozen dataclasses.
    """

    @abstractmethod
    def tasks(self) -> tuple[type[Task], ...]:
        """Return the task types that the need can send."""

    @abstractmethod
    async def resolve(self, sample: Sample, ask: Ask) -> T | Unscored:
        """Send the tasks. Return the result, or an Unscored with the reason if there is no result."""

    def inner(self) -> tuple[Need[Any], ...]:
        """Return the needs that this need may resolve. Other needs can share tasks with them."""
        return ()

    def rows(self, result: T, /) -> Iterable[Row]:
        """Return the rows to store for a result. By default, nothing is stored."""
        del result
        return ()


@dataclass(frozen=True)
class NeedResults:
    """The result of each need, or an Unscored with the reason why it was not resolved."""

    by_need: Mapping[Need[Any], object]

    def value(self, need: Need[T]) -> T:
        """Return the result of a need. Call this only if `missing` returns None."""
        return cast("T", self.by_need[need])

    def missing(self, need: Need[Any]) -> Unscored | None:
        """Return the reason why the need was not resolved; None if it was resolved."""
        result = self.by_need[need]
        return result if isinstance(result, Unscored) else None


def tasks_for(needs: Iterable[Need[Any]]) -> frozenset[type[Task]]:
    """Return the task types that these needs can send."""
    return frozenset(task for need in needs for task in need.tasks())


async def resolve(
    sample: Sample,
    needs: Iterable[Need[Any]],
    send: SendTask,
    known: Callable[[Task], bool] = lambda _: False,
) -> NeedResults:
    """Resolve every need for one sample. The result of a need that cannot be resolved is an Unscored with the reason.

    `known` returns whether there is a stored reply to a task. A need that can send different tasks prefers such a task.
    """
    (results,) = await resolve_draws(sample, [needs], send, known)
    return results


async def resolve_draws(
    sample: Sample,
    draws: Sequence[Iterable[Need[Any]]],
    send: SendTask,
    known: Callable[[Task], bool] = lambda _: False,
    redraws: Callable[[Task], bool] = lambda _: True,
) -> tuple[NeedResults, ...]:
    """Resolve the needs of several independent draws for one sample, concurrently. Return the results of each draw.

    `draws` has the needs of each draw. The results of the first draw equal those of `resolve`. Later draws send a task
    again if `redraws` returns True for it. Otherwise, they use the reply of the first draw.
    """
    replies: dict[Task, asyncio.Future[Reply | Failure]] = {}

    async def resolve_draw(draw: int, needs: Iterable[Need[Any]]) -> NeedResults:
        unique = tuple(dict.fromkeys(needs))
        inner = [inner_need for need in unique for inner_need in need.inner()]
        ask = Ask(sample, send, known, (*unique, *inner), draw, redraws, replies)
        results = await asyncio.gather(*map(ask.resolve, unique))
        return NeedResults(dict(zip(unique, results, strict=True)))

    if len(draws) == 1:  # the usual case needs no asyncio task
        return (await resolve_draw(0, draws[0]),)
    return tuple(await asyncio.gather(*(resolve_draw(draw, needs) for draw, needs in enumerate(draws))))


def judgement_row(about: str, number: int, reply: str, value: float | None = None, reason: str = "") -> Row:
    """Return the row of one judgement.

    `about` says what is judged, `number` is the number of the judged text, `value` is the reply as a number.
    """
    return "judgements", (about, number, reply, value, reason)


def yes_no_rows(about: str, verdicts: Iterable[tuple[bool, str]]) -> Iterable[Row]:
    """Return a row for each (yes, reason), numbered from 1."""
    for number, (yes, reason) in enumerate(verdicts, 1):
        yield judgement_row(about, number, "yes" if yes else "no", reason=reason)


def no_column(column: str) -> Unscored:
    """Return the Unscored for a sample without this column."""
    if column == "nuggets":
        detail = "this question has no nuggets; write them with ragboard nuggets write RUN, or on the page Datasets"
        return Unscored(reason="skipped", detail=detail)
    return Unscored(reason="skipped", detail=f"the run file has no {column} for this sample")


def no_answer(sample: Sample) -> Unscored | None:
    """Return an Unscored if the sample has no answer or an empty one, else None."""
    if sample.answer is None:
        return no_column("answer")
    return None if sample.answer.strip() else Unscored(reason="undefined", detail="the answer is empty")


def no_passages(sample: Sample) -> Unscored | None:
    """Return an Unscored if the sample has no passages, else None."""
    if sample.contexts is None:
        return no_column("contexts")
    return None if sample.contexts else Unscored(reason="undefined", detail="no passage was retrieved")


@dataclass(frozen=True)
class Metric(ABC):
    """A metric. The fields are its settings; the docstring is its description for users.

    The full name is `source.name(settings)`, with the settings that differ from their defaults. It includes the source
    because different tools use the same name for different metrics.
    """

    source: ClassVar[str]
    """The first part of the full name: the tool or paper that defines the metric, such as `ragas`."""
    name: ClassVar[str]
    """The name within the source: `answer_relevance`."""
    title: ClassVar[str]
    """The name on pages: `Faithfulness`."""
    formula: ClassVar[str]
    """The formula, in one line."""
    paper: ClassVar[str]
    """The citation of the definition: paper and section, or a tool and its version."""
    requires: ClassVar[tuple[Column, ...]]
    """The columns that a sample must have in addition to the question."""
    range: ClassVar[tuple[float, float]]
    """Minimum and maximum score."""
    direction: ClassVar[Direction]
    """Whether higher or lower values are better; neutral if that depends on the use."""
    calls: ClassVar[str]
    """A description of the calls to judges per sample."""
    more_passages: ClassVar[MorePassages] = ""
    """Whether the score usually rises or falls if more passages are retrieved; empty if it does not depend on their
    number. A metric with a setting `k` states this for `k=None`."""
    category: ClassVar[Category] = "other"
    """The group on pages, a key of `CATEGORIES`."""
    source_label: ClassVar[str] = ""
    """A short form of `paper` for lists: `RAGAS paper`. If empty, lists show `paper`."""
    needs_gold: ClassVar[bool] = False
    """Whether the metric compares the retrieved passages with gold passages, which the run file has as texts or ids."""

    @cached_property
    def spec(self) -> str:
        """The full name: `ragas.answer_relevance`, `ragas.answer_relevance(n=5)`."""
        settings = ",".join(self._changed())
        return f"{self.source}.{self.name}" + (f"({settings})" if settings else "")

    @property
    def label(self) -> str:
        """The title with the settings that differ from their defaults: `Recall (k=5)`."""
        settings = ", ".join(self._changed())
        return f"{self.title} ({settings})" if settings else self.title

    @property
    def credit(self) -> str:
        """The `source_label`; a metric can override it for some settings."""
        return self.source_label

    @property
    def bounds(self) -> tuple[float, float]:
        """The `range`; a metric can override it for some settings."""
        return self.range

    @property
    def summary(self) -> str:
        """A description of the metric with these settings. If empty, lists show the docstring's first paragraph."""
        return ""

    @property
    def formula_with_settings(self) -> str:
        """The formula of the metric with these settings."""
        return self.formula

    def _changed(self) -> list[str]:
        return [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]

    @abstractmethod
    def needs(self) -> tuple[Need[Any], ...]:
        """Return the needs that the score is computed from; empty if no judge is needed."""

    @abstractmethod
    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        """Compute the score. It is called only if all required columns are present and all needs are resolved."""


def compute_outcome(metric: Metric, sample: Sample, results: NeedResults) -> Outcome:
    """Return the metric's score for a sample, or an Unscored with the reason if there is no score.

    Raises SettingError if the metric returns a number outside its range.
    """
    for column in metric.requires:
        if getattr(sample, column) is None:
            if column == "reference" and sample.reference_note:
                return Unscored(reason="skipped", detail=sample.reference_note)
            return no_column(column)
    for need in metric.needs():
        missing = results.missing(need)
        if missing is not None:
            return missing
    outcome = metric.score(sample, results)
    _check_range(metric, sample, outcome)
    if isinstance(outcome, Score) and "reference" in metric.requires and sample.reference_note:
        return replace(outcome, counted="; ".join(filter(None, (outcome.counted, sample.reference_note))))
    return outcome


def _check_range(metric: Metric, sample: Sample, outcome: Outcome) -> None:
    low, high = metric.bounds
    if isinstance(outcome, Score) and not low - ROUNDING <= outcome.value <= high + ROUNDING:
        raise SettingError(
            f"{metric.spec} returned {outcome.value} for sample {sample.id!r}; its range is {low} to {high}"
        )
