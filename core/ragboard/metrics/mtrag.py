"""Metrics of MTRAG: refusing is right if the question cannot be answered, and wrong if it can."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import harmonic_mean
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
from ragboard.metrics.overlap import RougeL, common_subsequence, squad_words
from ragboard.metrics.ragas import no_statements
from ragboard.metrics.refusal import refuses_in_full
from ragboard.metrics.statements import ExtractedStatements, JointVerdicts, JudgedStatements, Statements
from ragboard.records import Answerability, Outcome, Sample, Score, Unscored
from ragboard.tasks import BertScore, BertScores, Critique, ExtractStatements, RateTurn, Rating, Task

__all__ = [
    "AnswerBertScores",
    "Behaviour",
    "Faithfulness",
    "NeedUnlessDecided",
    "Overlap",
    "RatingByAnswerability",
    "TurnBehaviour",
    "TurnRating",
]

ASKS_BACK = "Is the main purpose of the answer to ask the user for details that the question leaves open?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Behaviour:
    """Whether the question can be answered, and whether the answer refuses or asks back."""

    answerability: Answerability | None
    """None if neither the labels nor the run file say it."""
    refuses: float | None
    """1 if the answer refuses and states nothing, 0.5 if it refuses in part, else 0. None for an underspecified
    question, where it is not needed."""
    asks_back: bool | None = None
    """Whether the answer asks the user what is meant. None unless the question is underspecified."""
    reason: str = ""

    @property
    def decided_score(self) -> tuple[float, str] | None:
        """(score, reason) if the behaviour alone decides the score; None if the content of the answer counts."""
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

    Whether the question can be answered is taken from human labels or, without labels, from the run file. If neither
    has it, the sample is skipped, unless `compat` is set.
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
            detail = f"the question has no label, and the run file has no column {columns} for this sample"
            return Unscored(reason="skipped", detail=detail)
        if missing := no_answer(sample):
            return missing
        if answerability == "underspecified":
            return await self._judge_asking_back(sample, ask)
        extracted = await ask.resolve(Statements())
        if isinstance(extracted, Unscored):
            return extracted
        in_full = refuses_in_full(extracted)
        if isinstance(in_full, Unscored):
            return in_full
        return Behaviour(answerability=answerability, refuses=1.0 if in_full else 0.5 if extracted.refuses else 0.0)

    async def _judge_asking_back(self, sample: Sample, ask: Ask) -> Behaviour | Unscored:
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
class AnswerBertScores(Need[BertScores]):
    """BERTScore of the answer against the reference (first) and against each passage."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (BertScore,)

    async def resolve(self, sample: Sample, ask: Ask) -> BertScores | Unscored:
        for column in ("contexts", "reference"):
            if getattr(sample, column) is None:
                return no_column(column)
        if missing := no_answer(sample):
            return missing
        passages = (passage.text for passage in sample.contexts or ())
        return await ask(BertScore(text=sample.answer or "", others=(sample.reference or "", *passages)))

    def rows(self, scores: BertScores, /) -> Iterable[Row]:
        yield _value_row("BERTScore recall of the reference", 1, scores.recall[0])
        for rank, precision in enumerate(scores.precision[1:], 1):
            yield _value_row("BERTScore precision against each passage", rank, precision)


def _value_row(about: str, number: int, value: float | None) -> Row:
    return judgement_row(about, number, "no token" if value is None else f"{value:.3f}", value)


@dataclass(frozen=True)
class NeedUnlessDecided(Need[Any]):
    """The result of another need, unless the behaviour alone decides the score.

    If the behaviour decides, no further tasks are sent. The result is then the statements, or None if these were not
    extracted.
    """

    need: Need[Any]
    compat: bool = False

    def tasks(self) -> tuple[type[Task], ...]:
        return (*TurnBehaviour(self.compat).tasks(), *self.need.tasks())

    def inner(self) -> tuple[Need[Any], ...]:
        return (self.need,)

    async def resolve(self, sample: Sample, ask: Ask) -> Any:
        behaviour = await ask.resolve(TurnBehaviour(self.compat))
        if isinstance(behaviour, Unscored):
            return behaviour
        if behaviour.refuses is None:
            return None
        return await ask.resolve(Statements() if behaviour.decided_score else self.need)

    def rows(self, result: Any, /) -> Iterable[Row]:
        return () if result is None or isinstance(result, ExtractedStatements) else self.need.rows(result)


@dataclass(frozen=True)
class AnswerabilityMetric(Metric):
    """Base class of metrics that first consider whether it is right or wrong to refuse or to ask back.

    If that decides, the score is 1 or 0. Otherwise `answer_score` scores the answer.
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
        behaviour, judged = map(results.value, self.needs())
        if behaviour.decided_score:
            value, reason = behaviour.decided_score
            return Score(value=value, counted=reason)
        return self.answer_score(sample, judged)

    @abstractmethod
    def answer_score(self, sample: Sample, judged: Any) -> Outcome:
        """Compute the score of an answer to a question that should be answered."""


@dataclass(frozen=True)
class Faithfulness(AnswerabilityMetric):
    """Faithfulness if the question should be answered; otherwise, whether the answer refuses or asks back.

    For an unanswerable question, the score is 1 if the answer refuses, else 0. For an underspecified question, it is 1
    if the answer asks what is meant, else 0. Refusing an answerable question scores 0. Whether a question can be
    answered is read from human labels or, without labels, from the run file (`answerability`, `answerable` or
    `is_impossible`). A question without this information is skipped; with `compat`, it counts as answerable.
    """

    name: ClassVar[str] = "faithfulness"
    title: ClassVar[str] = "Faithfulness (by answerability)"
    formula: ClassVar[str] = "supported / all statements, or 1 or 0 where the behaviour decides"
    category: ClassVar[Category] = "grounding"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    calls: ClassVar[str] = (
        "1 to extract statements, 1 to verify them all unless a refusal decides; shared with ragas.faithfulness."
        " For an underspecified question only 1, to judge whether the answer asks what is meant"
    )
    answer_need: ClassVar[Need[Any]] = JointVerdicts()

    def answer_score(self, sample: Sample, judged: JudgedStatements) -> Outcome:
        if not judged.verdicts:
            return no_statements(sample, refuses=judged.refuses)
        supported, total = sum(verdict.label == "supported" for verdict in judged.verdicts), len(judged.verdicts)
        return Score(value=supported / total, counted=f"{supported} of {total} statements")


@dataclass(frozen=True)
class RatingByAnswerability(AnswerabilityMetric):
    """A judge's rating if the question should be answered; otherwise, whether the answer refuses or asks back.

    The judge rates from 1 to 10, in one step, how faithful, appropriate and complete the answer is. The score is the
    rating divided by 10. Whether a question should be answered is decided as in `mtrag.faithfulness`.
    """

    name: ClassVar[str] = "rating"
    title: ClassVar[str] = "Rating (by answerability)"
    formula: ClassVar[str] = "rating / 10, or 1 or 0 where the behaviour decides"
    category: ClassVar[Category] = "quality"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    calls: ClassVar[str] = (
        "1 to extract statements, 1 to rate unless a refusal decides."
        " For an underspecified question only 1, to judge whether the answer asks what is meant"
    )
    answer_need: ClassVar[Need[Any]] = TurnRating()

    def answer_score(self, sample: Sample, judged: Rating) -> Outcome:
        return Score(value=judged.value / 10, counted=f"rated {judged.value} of 10")


@dataclass(frozen=True)
class Overlap(AnswerabilityMetric):
    """Overlap with reference and passages if the question should be answered; otherwise, whether the answer refuses.

    The harmonic mean of BERTScore recall of the reference, ROUGE-L, and the best BERTScore precision against a passage.
    Whether a question should be answered is decided as in `mtrag.faithfulness`. With `compat`, details are as in
    MTRAG's code: the score is 0 without passages, ROUGE-L uses only words of a-z and 0-9, and a missing BERTScore
    recall is replaced by the share of the reference's words in the answer.
    """

    name: ClassVar[str] = "overlap"
    title: ClassVar[str] = "Overlap (by answerability)"
    formula: ClassVar[str] = (
        "3 / (1/a + 1/b + 1/c) of a = (BERTScore recall + 1) / 2, b = ROUGE-L, c = (best BERTScore precision + 1) / 2,"
        " or 1 or 0 where the behaviour decides"
    )
    category: ClassVar[Category] = "correctness"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts", "reference")
    calls: ClassVar[str] = (
        "1 to extract statements; a local model computes BERTScore."
        " For an underspecified question only 1, to judge whether the answer asks what is meant"
    )
    answer_need: ClassVar[Need[Any]] = AnswerBertScores()

    def answer_score(self, sample: Sample, judged: BertScores) -> Outcome:
        answer, reference = sample.answer or "", sample.reference or ""
        recall, *_ = judged.recall
        _, *by_passage = judged.precision
        precisions = [precision or 0.0 for precision in by_passage if precision is not None or self.compat]
        if self.compat:
            rouge = _ascii_rouge_l(answer, reference)
            if not precisions:
                return Score(value=0.0, counted="no passage was retrieved")
        else:
            outcome = RougeL().score(sample, NeedResults({}))
            if isinstance(outcome, Unscored):
                return outcome
            rouge = outcome.value
            if not precisions:
                detail = "the passages are empty" if by_passage else "no passage was retrieved"
                return Unscored(reason="undefined", detail=detail)
            if recall is None:
                return Unscored(reason="undefined", detail="the answer or the reference has no token")
        best = max(precisions)
        found = _token_recall(answer, reference) if recall is None else (recall + 1) / 2
        parts = [max(part, 0.0) for part in (found, rouge, (best + 1) / 2)]
        first = f"token recall {found:.2f}" if recall is None else f"BERTScore recall {recall:.2f}"
        counted = f"{first}, ROUGE-L {rouge:.2f}, best BERTScore precision {best:.2f}"
        return Score(value=min(harmonic_mean(parts), 1.0), counted=counted)


def _ascii_rouge_l(answer: str, reference: str) -> float:
    """Return ROUGE-L over words of a-z and 0-9, as the rouge-score library computes it; 0 for an empty text."""
    first, second = (re.findall("[a-z0-9]+", text.lower()) for text in (answer, reference))
    return 2 * common_subsequence(first, second) / (len(first) + len(second)) if first and second else 0.0


def _token_recall(answer: str, reference: str) -> float:
    """Return the share of the reference's words that are in the answer, without punctuation and articles."""
    in_answer, in_reference = Counter(squad_words(answer)), Counter(squad_words(reference))
    common = (in_answer & in_reference).total()
    return common / in_reference.total() if common else 0.0
