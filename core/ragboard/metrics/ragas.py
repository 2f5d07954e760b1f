"""The three metrics of the RAGAS paper (Es et al. 2023, arXiv 2309.15217), section 3."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

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
)
from ragboard.metrics.sentences import SelectedSentences, no_sentences
from ragboard.metrics.statements import JointVerdicts, Statements
from ragboard.records import MorePassages, Outcome, Sample, Score, Unscored
from ragboard.tasks import AnswerRating, GenerateQuestions, RateAnswer, Similarity, Task

__all__ = [
    "AnswerRelevance",
    "ContextRelevance",
    "DirectRating",
    "Faithfulness",
    "GeneratedQuestions",
    "QuestionSimilarities",
]

PAPER = "Es et al. 2023, arXiv 2309.15217, section 3"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionSimilarities:
    """Questions generated from the answer, and the cosine of each to the user's question, in the same order."""

    questions: tuple[str, ...]
    similarities: tuple[float, ...]


@dataclass(frozen=True)
class GeneratedQuestions(Need[QuestionSimilarities]):
    """`n` questions generated from the answer, each compared with the user's question."""

    n: int = 3

    def tasks(self) -> tuple[type[Task], ...]:
        return (GenerateQuestions, Similarity)

    async def resolve(self, sample: Sample, ask: Ask) -> QuestionSimilarities | Unscored:
        if sample.answer is None:
            return no_column("answer")
        if not sample.answer.strip():
            return QuestionSimilarities(questions=(), similarities=())
        reply = await ask(GenerateQuestions(answer=sample.answer, n=self.n, history=sample.history))
        if isinstance(reply, Unscored):
            return reply
        if not reply.questions:
            return QuestionSimilarities(questions=(), similarities=())
        cosines = await ask(Similarity(text=sample.question, others=reply.questions))
        if isinstance(cosines, Unscored):
            return cosines
        return QuestionSimilarities(questions=reply.questions, similarities=cosines.values)

    def rows(self, result: QuestionSimilarities, /) -> Iterable[Row]:
        for number, (text, cosine) in enumerate(zip(result.questions, result.similarities, strict=True)):
            yield "questions", (number, text, cosine)


@dataclass(frozen=True)
class DirectRating(Need[AnswerRating]):
    """How well the answer answers the question, rated in one step. Unscored for an empty answer."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (RateAnswer,)

    async def resolve(self, sample: Sample, ask: Ask) -> AnswerRating | Unscored:
        if missing := no_answer(sample):
            return missing
        return await ask(RateAnswer(question=sample.question, answer=sample.answer or "", history=sample.history))

    def rows(self, result: AnswerRating, /) -> Iterable[Row]:
        yield judgement_row("rating of the answer", 1, f"{result.score:g}", result.score, result.reason)


@dataclass(frozen=True)
class Faithfulness(Metric):
    """The share of the answer's statements that the passages together support.

    An answer without statements has no score: the reason is `refusal` if it only refuses, else `undefined`. If nothing
    was retrieved, every statement is unsupported.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "faithfulness"
    title: ClassVar[str] = "Faithfulness"
    formula: ClassVar[str] = "|V| / |S|: supported statements / all statements of the answer"
    paper: ClassVar[str] = PAPER
    category: ClassVar[Category] = "grounding"
    source_label: ClassVar[str] = "RAGAS paper"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to extract statements, 1 to verify them all"

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the joint verdicts on the statements of the answer."""
        return (JointVerdicts(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        judged = results.value(JointVerdicts())
        if not judged.verdicts:
            return no_statements(sample, refuses=judged.refuses)
        supported = sum(verdict.label == "supported" for verdict in judged.verdicts)
        total = len(judged.verdicts)
        return Score(value=supported / total, counted=f"{supported} of {total} statements")


@dataclass(frozen=True)
class AnswerRelevance(Metric):
    """How similar the question is to questions that are generated from the answer.

    The mean cosine between the question and `n` questions generated from the answer alone. It does not check whether
    the answer is true. Undefined if no question can be generated. With `compat`, the score is then 0, and so is the
    score of an answer that only refuses, as in the ragas library. `method=direct` is a different metric with the same
    name: a judge rates in one step, in [0, 1], how well the answer answers the question.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "answer_relevance"
    title: ClassVar[str] = "Answer relevance"
    formula: ClassVar[str] = "(1/n) sum of cos(e(q), e(q_i)) over n questions generated from the answer"
    paper: ClassVar[str] = PAPER
    category: ClassVar[Category] = "relevance"
    source_label: ClassVar[str] = "RAGAS paper"
    requires: ClassVar[tuple[Column, ...]] = ("answer",)
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to generate the questions, embeddings of n + 1 questions; with method=direct, 1 to rate"

    n: int = 3
    method: Literal["questions", "direct"] = "questions"
    compat: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for fewer than one question, and for settings that do not apply to the direct method."""
        if self.n < 1:
            raise ValueError(f"n, the number of questions, must be at least 1, got {self.n}")
        if self.method == "direct" and (self.n != type(self).n or self.compat):
            raise ValueError("n and compat do not apply with method=direct")

    @property
    def label(self) -> str:
        """`Answer relevance (rated)` with `method=direct`, else the title with its settings."""
        return f"{self.title} (rated)" if self.method == "direct" else super().label

    @property
    def credit(self) -> str:
        """`ragboard` with `method=direct`, which is not in the paper."""
        return "ragboard" if self.method == "direct" else self.source_label

    @property
    def formula_with_settings(self) -> str:
        """The cosine formula; with `method=direct`, the judge's rating."""
        return "the judge's rating of the answer, from 0 to 1" if self.method == "direct" else self.formula

    @property
    def bounds(self) -> tuple[float, float]:
        """0 to 1 with `method=direct`, which is not a cosine."""
        return (0.0, 1.0) if self.method == "direct" else self.range

    @property
    def summary(self) -> str:
        return (
            "How well the answer answers the question, rated by a judge in one step." if self.method == "direct" else ""
        )

    def needs(self) -> tuple[Need[Any], ...]:
        """Return the generated questions with their similarities, or the rating."""
        if self.method == "direct":
            return (DirectRating(),)
        return (GeneratedQuestions(self.n), *((Statements(),) if self.compat else ()))

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        if self.method == "direct":
            return Score(value=results.value(DirectRating()).score, counted="rated directly by the judge")
        if self.compat:
            extracted = results.value(Statements())
            if extracted.refuses and not extracted.statements:
                return Score(value=0.0, counted="0 by convention: the answer only refuses")
        return self._mean_similarity(sample, results)

    def _mean_similarity(self, sample: Sample, results: NeedResults) -> Outcome:
        similarities = results.value(GeneratedQuestions(self.n)).similarities
        if not similarities:
            detail = _why_no_questions(sample)
            convention = Score(value=0.0, counted=f"0 by convention: {detail}")
            return convention if self.compat else Unscored(reason="undefined", detail=detail)
        count = len(similarities)
        counted = f"{count} question{'s' if count > 1 else ''}"
        return Score(value=sum(similarities) / count, counted=counted)


@dataclass(frozen=True)
class ContextRelevance(Metric):
    """The share of the passages' sentences that help to answer the question.

    0 if no sentence is selected; undefined if the passages contain no sentences.
    """

    source: ClassVar[str] = "ragas"
    name: ClassVar[str] = "context_relevance"
    title: ClassVar[str] = "Context relevance"
    formula: ClassVar[str] = "selected sentences / all sentences of the passages"
    paper: ClassVar[str] = PAPER
    category: ClassVar[Category] = "focus"
    source_label: ClassVar[str] = "RAGAS paper"
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "1 to select the sentences"
    more_passages: ClassVar[MorePassages] = "falls"

    def needs(self) -> tuple[Need[Any], ...]:
        return (SelectedSentences(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        selection = results.value(SelectedSentences())
        total = len(selection.sentences)
        if not total:
            return no_sentences(sample)
        return Score(value=len(selection.chosen) / total, counted=f"{len(selection.chosen)} of {total} sentences")


def no_statements(sample: Sample, *, refuses: bool | None) -> Unscored:
    """Return the Unscored for an answer without statements. `refuses` is None if the claims are from the run file."""
    if refuses is None:
        return Unscored(reason="undefined", detail="the run file lists no claim of the answer")
    if refuses:
        return Unscored(reason="refusal", detail="the answer only refuses")
    empty = not (sample.answer or "").strip()
    detail = "the answer is empty" if empty else "the judge found no statement in the answer"
    return Unscored(reason="undefined", detail=detail)


def _why_no_questions(sample: Sample) -> str:
    empty = not (sample.answer or "").strip()
    return "the answer is empty" if empty else "the judge generated no question from the answer"
