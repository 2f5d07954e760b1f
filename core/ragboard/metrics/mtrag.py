"""Scores as in MTRAG: a refusal is right if the question cannot be answered, and wrong if it can."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ragboard.answerability import ANSWERABILITY_COLUMNS, answerability_of
from ragboard.metrics.base import (
    Ask,
    Category,
    Column,
    Direction,
    Metric,
    Need,
    NeedResults,
    Row,
    judgement_row,
    no_answer,
    no_column,
    yes_no_rows,
)
from ragboard.metrics.ragas import no_statements
from ragboard.metrics.refusal import refuses_in_full
from ragboard.metrics.statements import ExtractedStatements, JointVerdicts, JudgedStatements, Statements
from ragboard.records import Answerability, Outcome, Sample, Score, Unscored
from ragboard.tasks import Critique, ExtractStatements, RateTurn, Rating, Task

__all__ = ["Behaviour", "Faithfulness", "NeedUnlessDecided", "RatingByAnswerability", "TurnBehaviour", "TurnRating"]

ASKS_BACK = "Is the main purpose of the answer to ask the user for details that the question leaves open?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Behaviour:
    """What an answer should do, and what it does."""

    answerability: Answerability | None
    """None if the run file does not say."""
    refuses: float | None
    """1 if it refuses and states nothing, 0.5 if it refuses in part, else 0; None if the question is underspecified."""
    asks_back: bool | None = None
    """Whether it asks the user what is meant; None unless the question is underspecified."""
    reason: str = ""

    @property
    def decided_score(self) -> tuple[float, str] | None:
        """The score and a reason if the behaviour alone decides; None if the content of the answer counts."""
        if self.answerability == "underspecified":
            words = "asks what is meant" if self.asks_back else "does not ask what is meant"
            return float(self.asks_back or False), f"the question is underspecified and the answer {words}"
        if self.answerability in ("unanswerable", "conversational"):
            words = "refuses" if self.refuses == 1 else "refuses only in part" if self.refuses else "does not refuse"
            return float(self.refuses == 1), f"the question is {self.answerability} and the answer {words}"
        if self.refuses == 1:
            prefix = f"the question is {self.answerability} and " if self.answerability else ""
            return 0.0, f"{prefix}the answer refuses"
        return None


@dataclass(frozen=True)
class TurnBehaviour(Need[Behaviour]):
    """Whether the question can be answered, and whether the answer refuses or asks back.

    People's labels say whether the question can be answered, else the run file. Skipped if neither does, unless
    `compat` is set.
    """

    compat: bool = False

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractStatements, Critique)

    async def resolve(self, sample: Sample, ask: Ask) -> Behaviour | Unscored:
        try:
            answerability = sample.answerability or answerability_of(sample.metadata, compat=self.compat)
        except ValueError as error:
            return Unscored(reason="failed", detail=f"{error}; fix the run file")
        if answerability is None and not self.compat:
            columns = ", ".join(ANSWERABILITY_COLUMNS)
            detail = f"nobody labelled the question, and the run file has none of the columns {columns} for this sample"
            return Unscored(reason="skipped", detail=detail)
        if missing := no_answer(sample):
            return missing
        if answerability == "underspecified":
            return await self._asks_back(sample, ask)
        extracted = await Statements().resolve(sample, ask)
        if isinstance(extracted, Unscored):
            return extracted
        in_full = refuses_in_full(extracted)
        if isinstance(in_full, Unscored):
            return in_full
        return Behaviour(answerability=answerability, refuses=1.0 if in_full else 0.5 if extracted.refuses else 0.0)

    async def _asks_back(self, sample: Sample, ask: Ask) -> Behaviour | Unscored:
        task = Critique(
            question=sample.question,
            answer=sample.answer or "",
            contexts=(),
            definition=ASKS_BACK,
            history=sample.history,
        )
        reply = await ask(task)
        if isinstance(reply, Unscored):
            return reply
        return Behaviour(answerability="underspecified", refuses=None, asks_back=reply.yes, reason=reply.reason)

    def rows(self, behaviour: Behaviour, /) -> Iterable[Row]:
        return () if behaviour.asks_back is None else yes_no_rows(ASKS_BACK, [(behaviour.asks_back, behaviour.reason)])


@dataclass(frozen=True)
class TurnRating(Need[Rating]):
    """A rating of the answer as the next message of its conversation, from 1 to 10."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (RateTurn,)

    async def resolve(self, sample: Sample, ask: Ask) -> Rating | Unscored:
        for column in ("contexts", "reference"):
            if getattr(sample, column) is None:
                return no_column(column)
        if missing := no_answer(sample):
            return missing
        task = RateTurn(
            question=sample.question,
            contexts=tuple(passage.text for passage in sample.contexts or ()),
            reference=sample.reference or "",
            answer=sample.answer or "",
            history=sample.history,
        )
        return await ask(task)

    def rows(self, rating: Rating, /) -> Iterable[Row]:
        yield judgement_row("rating of the turn", 1, str(rating.value), float(rating.value), rating.reason)


@dataclass(frozen=True)
class NeedUnlessDecided(Need[Any]):
    """The result of another need, unless the behaviour alone decides the score.

    If the behaviour decides, nothing more is asked: the result is the statements, or None if these were not needed.
    """

    need: Need[Any]
    compat: bool = False

    def tasks(self) -> tuple[type[Task], ...]:
        return (*TurnBehaviour(self.compat).tasks(), *self.need.tasks())

    def inner(self) -> tuple[Need[Any], ...]:
        return (self.need,)

    async def resolve(self, sample: Sample, ask: Ask) -> Any:
        behaviour = await TurnBehaviour(self.compat).resolve(sample, ask)
        if isinstance(behaviour, Unscored):
            return behaviour
        if behaviour.refuses is None:
            return None
        return await (Statements() if behaviour.decided_score else self.need).resolve(sample, ask)

    def rows(self, result: Any, /) -> Iterable[Row]:
        return () if result is None or isinstance(result, ExtractedStatements) else self.need.rows(result)


@dataclass(frozen=True)
class AnswerabilityMetric(Metric):
    """Base class of metrics in which the behaviour decides if it is right or wrong to refuse or to ask back.

    Otherwise the answer is scored by `answer_score`.
    """

    source: ClassVar[str] = "mtrag"
    paper: ClassVar[str] = (
        "Katsis et al. 2025 (MTRAG), arXiv 2501.03468; IBM/mt-rag-benchmark, judge_wrapper.py (commit cc5b1d4)"
    )
    source_label: ClassVar[str] = "MTRAG"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"

    compat: bool = False

    answer_need: ClassVar[Need[Any]]
    """The need that `answer_score` is computed from."""

    def needs(self) -> tuple[Need[Any], ...]:
        return (TurnBehaviour(self.compat), NeedUnlessDecided(self.answer_need, self.compat))

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        behaviour, judged = map(results.of, self.needs())
        if behaviour.decided_score:
            value, reason = behaviour.decided_score
            return Score(value=value, counted=reason)
        return self.answer_score(sample, judged)

    @abstractmethod
    def answer_score(self, sample: Sample, judged: Any) -> Outcome:
        """Compute the score of an answer to a question that should be answered."""


@dataclass(frozen=True)
class Faithfulness(AnswerabilityMetric):
    """Faithfulness where the question should be answered; elsewhere, whether the answer refuses or asks back.

    1 for refusing an unanswerable question or for asking what an underspecified one means, 0 for anything else there,
    and 0 for refusing a question that has an answer. People's labels of questions say which these are, else the run
    file (`answerability`, `answerable` or `is_impossible`). `compat`: a question of which neither says it counts as
    answerable.
    """

    name: ClassVar[str] = "faithfulness"
    title: ClassVar[str] = "Faithfulness (by answerability)"
    formula: ClassVar[str] = "supported / all statements, or 1 or 0 where the behaviour decides"
    category: ClassVar[Category] = "grounding"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    calls: ClassVar[str] = (
        "1 to extract statements, 1 to verify them all unless refusing decides; shared with ragas.faithfulness."
        " For an underspecified question only 1, whether the answer asks what is meant"
    )
    answer_need: ClassVar[Need[Any]] = JointVerdicts()

    def answer_score(self, sample: Sample, judged: JudgedStatements) -> Outcome:
        if not judged.verdicts:
            return no_statements(sample, refuses=judged.refuses)
        supported, total = sum(verdict.label == "supported" for verdict in judged.verdicts), len(judged.verdicts)
        return Score(value=supported / total, counted=f"{supported} of {total} statements")


@dataclass(frozen=True)
class RatingByAnswerability(AnswerabilityMetric):
    """A judge's rating where the question should be answered; elsewhere, whether the answer refuses or asks back.

    The judge rates from 1 to 10 how faithful, appropriate and complete the answer is, in one step; the score is a tenth
    of it. Which questions should be answered: as in `mtrag.faithfulness`.
    """

    name: ClassVar[str] = "rating"
    title: ClassVar[str] = "Rating (by answerability)"
    formula: ClassVar[str] = "rating / 10, or 1 or 0 where the behaviour decides"
    category: ClassVar[Category] = "quality"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    calls: ClassVar[str] = (
        "1 to extract statements, 1 to rate unless refusing decides."
        " For an underspecified question only 1, whether the answer asks what is meant"
    )
    answer_need: ClassVar[Need[Any]] = TurnRating()

    def answer_score(self, sample: Sample, judged: Rating) -> Outcome:
        return Score(value=judged.value / 10, counted=f"rated {judged.value} of 10")
