"""Citation metrics from ALCE, from TREC RAG and by ragboard: whether the passages that a sentence cites support it.

By default, they use the verdicts on the answer's statements against each passage, as other metrics do. A
sentence without statements needs no citation and is left out. With `compat=True`, the judge's tasks and the counts are
those of ALCE or TREC RAG.
"""

from __future__ import annotations

import asyncio
import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
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
    no_column,
)
from ragboard.metrics.ragas import no_statements
from ragboard.metrics.ragchecker import f_score, share_score
from ragboard.metrics.statements import SeparateVerdicts, Statements, VerdictTable
from ragboard.records import Outcome, Sample, Score, Statement, Unscored
from ragboard.tasks import ExtractStatements, GradeSupport, Support, Task, Verify
from ragboard.text.citations import By, Citation, CitationError, CitedSentence, cited_sentences
from ragboard.text.sentences import normal, sentence_spans, words_in

__all__ = [
    "GRADED_CITATION",
    "AlceF1",
    "AlcePrecision",
    "AlceRecall",
    "CitationSupport",
    "CitedSentences",
    "EntailedSentence",
    "EntailedSentences",
    "GradedSentence",
    "JudgedCitation",
    "SentenceSupport",
    "SupportGrades",
    "SupportPrecision",
    "SupportRecall",
    "UncitedStatements",
    "UnsupportedCitations",
]

ANSWER_AGAINST_PASSAGES = SeparateVerdicts("response", "passages")

WEIGHTS: dict[Support, float] = {"full": 1.0, "partial": 0.5, "none": 0.0}
"""The weights of TREC RAG."""
HARD_WEIGHTS: dict[Support, float] = {"full": 1.0, "partial": 0.0, "none": 0.0}

SHARED_WORDS = 0.5
"""Minimum share of a statement's words that its sentence must have, if the statement has no span."""

NO_CITATION = Unscored(reason="undefined", detail="the answer cites nothing")
NO_SENTENCE = Unscored(reason="undefined", detail="the answer has no sentence")
NOTHING_GRADED = Unscored(reason="undefined", detail="no citation was graded")


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedCitation:
    """A citation, and how far the cited passage supports its sentence."""

    citation: Citation
    rank: int | None
    """Rank of the cited passage; None if it was not retrieved. For a document with several passages, the rank of the
    passage that supports most statements."""
    support: Support
    needed: bool
    """False if this citation does not support the sentence, but the other citations do."""

    @property
    def target(self) -> object:
        """The ranks of the cited passages; if there are none, the cited name."""
        return self.citation.ranks or self.citation.name


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceSupport:
    """A sentence that has statements, and how far the cited passages support it."""

    number: int
    """The index of the sentence in the answer."""
    sentence: CitedSentence
    statements: tuple[int, ...]
    """The indices of its statements in the table of verdicts."""
    supported: tuple[bool, ...]
    """Whether the cited passages together support each of these statements."""
    citations: tuple[JudgedCitation, ...]

    @property
    def distinct(self) -> tuple[JudgedCitation, ...]:
        """The citations, without repeated citations of the same target."""
        by_target: dict[object, JudgedCitation] = {}
        for citation in self.citations:
            by_target.setdefault(citation.target, citation)
        return tuple(by_target.values())

    @property
    def together(self) -> Support:
        """How far the cited passages together support the sentence: `full`, `partial` or `none`."""
        return "full" if all(self.supported) else "partial" if any(self.supported) else "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class CitationSupport:
    """The sentences of an answer that have statements, with the support of their citations."""

    sentences: tuple[SentenceSupport, ...]
    left_out: tuple[tuple[int, CitedSentence], ...] = ()
    """(index, sentence) of the sentences without statements; their citations are not judged."""
    unplaced: int
    """Number of statements that belong to no sentence. They are not counted."""
    refuses: bool | None
    """Whether the answer refuses; None if the statements are from the run file, which does not say so."""


@dataclass(frozen=True)
class CitedSentences(Need[CitationSupport]):
    """The sentences of the answer, and whether the passages that each sentence cites support its statements."""

    by: By = "auto"
    """What a number in a citation is: the rank or the id of a passage."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (ExtractStatements, Verify)

    async def resolve(self, sample: Sample, ask: Ask) -> CitationSupport | Unscored:
        """Use the verdicts against each passage, and verify again the statements that may need several passages."""
        sentences = _cited_sentences(sample, self.by)
        if isinstance(sentences, Unscored):
            return sentences
        table = await ask.resolve(ANSWER_AGAINST_PASSAGES)
        if isinstance(table, Unscored):
            return table
        assigned = assign_sentences(table.statements, sentences)
        statements_of: dict[int, list[int]] = {}
        for statement, number in enumerate(assigned):
            if number is not None:
                statements_of.setdefault(number, []).append(statement)
        supports = await asyncio.gather(
            *(
                _sentence_support(number, sentences[number], statements_of[number], table, sample, ask)
                for number in sorted(statements_of)
            )
        )
        judged: list[SentenceSupport] = []
        for support in supports:
            if isinstance(support, Unscored):
                return support
            judged.append(support)
        return CitationSupport(
            sentences=tuple(judged),
            left_out=tuple(
                (number, sentence) for number, sentence in enumerate(sentences) if number not in statements_of
            ),
            unplaced=assigned.count(None),
            refuses=table.refuses,
        )

    def rows(self, result: CitationSupport, /) -> Iterable[Row]:
        """Return a row per citation, and a row per statement that says whether the cited passages support it."""
        for judged in result.sentences:
            for cited in judged.citations:
                yield _citation_row(judged.number, judged.sentence, cited.citation, cited.rank, cited.support)
            for statement, supported in zip(judged.statements, judged.supported, strict=True):
                yield "cited_statements", (statement, judged.number, supported if judged.citations else None)
        for number, sentence in result.left_out:
            for citation in sentence.citations:
                yield _citation_row(number, sentence, citation, min(citation.ranks, default=None), None)


def _citation_row(
    number: int, sentence: CitedSentence, citation: Citation, rank: int | None, support: Support | None
) -> Row:
    spans = (sentence.start, sentence.end, citation.start, citation.end)
    return "citations", (number, *spans, citation.name, rank, support)


def _cited_sentences(sample: Sample, by: By) -> tuple[CitedSentence, ...] | Unscored:
    """Return the sentences of the answer with their citations, or an Unscored if the citations are unclear."""
    if sample.answer is None or sample.contexts is None:
        return no_column("contexts" if sample.answer is not None else "answer")
    try:
        return cited_sentences(sample.answer, sample.contexts, sample.metadata.get("citations"), by)
    except CitationError as error:
        return Unscored(reason="skipped", detail=str(error))


def assign_sentences(statements: Sequence[Statement], sentences: Sequence[CitedSentence]) -> list[int | None]:
    """Return the index of each statement's sentence; None if it belongs to no sentence.

    A statement belongs to the sentence that overlaps most with its span. Without a span, it belongs to the sentence
    with most of its words, which must be at least half of them.
    """
    sentence_words: list[frozenset[str]] = []
    if any(statement.span is None for statement in statements):
        sentence_words = [_words(sentence.text) for sentence in sentences]
    assigned: list[int | None] = []
    for statement in statements:
        span = statement.span
        if span:
            overlaps = [min(span.end, sentence.end) - max(span.start, sentence.start) for sentence in sentences]
            required = 1.0
        else:
            statement_words = _words(statement.text)
            overlaps = [len(statement_words & words) for words in sentence_words]
            required = max(SHARED_WORDS * len(statement_words), 1.0)
        best = max(range(len(overlaps)), key=overlaps.__getitem__, default=None)
        assigned.append(best if best is not None and overlaps[best] >= required else None)
    return assigned


def _words(text: str) -> frozenset[str]:
    return frozenset(map(normal, words_in(text, 0, len(text))))


async def _sentence_support(
    number: int, sentence: CitedSentence, statements: Sequence[int], table: VerdictTable, sample: Sample, ask: Ask
) -> SentenceSupport | Unscored:
    """Return the support of one sentence.

    A statement that no single cited passage supports is verified again against all cited passages together.
    """
    by_rank = {
        target.rank: frozenset(
            statement for statement in statements if table.rows[statement][column].label == "supported"
        )
        for column, target in enumerate(table.targets)
    }

    def supported_by(ranks: Iterable[int]) -> frozenset[int]:
        """Return the statements that at least one of these passages alone supports."""
        return frozenset[int]().union(*(by_rank[rank] for rank in ranks))

    cited_ranks = sorted({rank for citation in sentence.citations for rank in citation.ranks})
    remaining = [statement for statement in statements if statement not in supported_by(cited_ranks)]
    jointly: dict[int, frozenset[int]] = {}
    if remaining and len(cited_ranks) > 1:
        result = await _supported_together(remaining, table, cited_ranks, sample, ask)
        if isinstance(result, Unscored):
            return result
        jointly = result
    citations: list[JudgedCitation] = []
    for citation in sentence.citations:
        alone = supported_by(citation.ranks)
        contributes_to = {statement for statement, used in jointly.items() if not used.isdisjoint(citation.ranks)}
        other_ranks = {rank for other in sentence.citations if other.ranks != citation.ranks for rank in other.ranks}
        without_it = supported_by(other_ranks) | (jointly.keys() - contributes_to)
        citations.append(
            JudgedCitation(
                citation=citation,
                rank=max(citation.ranks, key=lambda rank: (len(by_rank[rank]), -rank), default=None),
                support="full" if alone.issuperset(statements) else "partial" if alone or contributes_to else "none",
                needed=alone.issuperset(statements) or not without_it.issuperset(statements),
            )
        )
    supported = supported_by(cited_ranks) | jointly.keys()
    return SentenceSupport(
        number=number,
        sentence=sentence,
        statements=tuple(statements),
        supported=tuple(statement in supported for statement in statements),
        citations=tuple(citations),
    )


async def _supported_together(
    statements: Sequence[int], table: VerdictTable, ranks: Sequence[int], sample: Sample, ask: Ask
) -> dict[int, frozenset[int]] | Unscored:
    """Verify statements against several passages together.

    Return the ranks of the passages that the judge quotes for each supported statement; all ranks if it quotes none.
    """
    texts = {passage.rank: passage.text for passage in sample.contexts or ()}
    task = Verify(
        question=sample.question,
        statements=tuple(table.statements[number].text for number in statements),
        passages=tuple(texts[rank] for rank in ranks),
        joint=True,
        single=False,
        history=sample.history,
    )
    reply = await ask(task)
    if isinstance(reply, Unscored):
        return reply
    return {
        number: frozenset(ranks[evidence.rank - 1] for evidence in verdict.evidence if evidence.stance == "for")
        or frozenset(ranks)
        for number, verdict in zip(statements, reply.joint, strict=True)
        if verdict.label == "supported"
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class EntailedSentence:
    """What ALCE counts for one sentence."""

    recalled: bool
    """Whether the cited passages together entail the sentence."""
    citations: int
    """Number of citations that count."""
    precise: int
    """Number of precise citations. A citation is precise if it alone entails the sentence, or if the others do not."""


ALCE_MARK = re.compile(r" ?\[(\d+)")
"""Matches the only citation marks that ALCE reads: the first number in square brackets."""


@dataclass(frozen=True)
class EntailedSentences(Need[tuple[EntailedSentence, ...]]):
    """Whether the cited passages entail each sentence of the answer's first line. Asked and counted as in ALCE."""

    at_most: int = 3
    """Maximum number of citations per sentence that count."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (Verify,)

    async def resolve(self, sample: Sample, ask: Ask) -> tuple[EntailedSentence, ...] | Unscored:
        if sample.answer is None or sample.contexts is None:
            return no_column("contexts" if sample.answer is not None else "answer")
        line = sample.answer.strip().partition("\n")[0]
        results = await asyncio.gather(
            *(self._sentence(line[start:end], sample, ask) for start, end in sentence_spans(line))
        )
        sentences: list[EntailedSentence] = []
        for result in results:
            if isinstance(result, Unscored):
                return result
            sentences.append(result)
        return tuple(sentences)

    async def _sentence(self, sentence: str, sample: Sample, ask: Ask) -> EntailedSentence | Unscored:
        """Ask whether the cited passages together entail the sentence. If so, ask whether each passage alone does.

        If a passage alone does not, ask whether the other passages do without it.
        """
        texts = tuple(passage.text for passage in sample.contexts or ())
        indices = [int(number) - 1 for number in ALCE_MARK.findall(sentence)]
        if not indices or not texts or max(indices) >= len(texts):
            return EntailedSentence(recalled=False, citations=0, precise=0)
        cited = [texts[index] for index in indices[: self.at_most]]
        statement = ALCE_MARK.sub("", sentence).replace(" |", "").replace("]", "")

        async def entails(*passages: str) -> bool | Unscored:
            task = Verify(
                question=sample.question, statements=(statement,), passages=passages, joint=True, single=False
            )
            reply = await ask(task)
            return reply if isinstance(reply, Unscored) else reply.joint[0].label == "supported"

        recalled = await entails(*cited)
        if isinstance(recalled, Unscored):
            return recalled
        if not recalled or len(cited) == 1:
            return EntailedSentence(recalled=recalled, citations=len(cited), precise=int(recalled))
        precise = 0
        for index, passage in enumerate(cited):
            alone = await entails(passage)
            not_needed = alone if alone is not False else await entails(*cited[:index], *cited[index + 1 :])
            if isinstance(not_needed, Unscored):
                return not_needed
            precise += alone is True or not not_needed
        return EntailedSentence(recalled=True, citations=len(cited), precise=precise)


GRADED_CITATION = "support by {}, asked alone"
"""The `about` of a stored judgement with the grade of one citation. Its number is the sentence's number, from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GradedSentence:
    """A sentence's citations with their grades. Only the first citation is included unless `citations` is `all`."""

    names: tuple[str, ...]
    """The cited names."""
    grades: tuple[Support | None, ...]
    """The grade of each citation; None if the judge gave no usable reply."""


@dataclass(frozen=True)
class SupportGrades(Need[tuple[GradedSentence, ...]]):
    """How much of its sentence each cited passage supports. Each citation is graded in its own call, as in TREC RAG."""

    citations: Literal["first", "all"] = "first"
    by: By = "auto"

    def tasks(self) -> tuple[type[Task], ...]:
        return (GradeSupport,)

    async def resolve(self, sample: Sample, ask: Ask) -> tuple[GradedSentence, ...] | Unscored:
        sentences = _cited_sentences(sample, self.by)
        if isinstance(sentences, Unscored):
            return sentences
        texts = {passage.rank: passage.text for passage in sample.contexts or ()}
        graded: list[GradedSentence] = []
        for sentence in sentences:
            cited = sentence.citations[: 1 if self.citations == "first" else None]
            tasks = [
                GradeSupport(sentence=sentence.text, passage="\n".join(texts[rank] for rank in citation.ranks))
                for citation in cited
            ]
            replies = await asyncio.gather(*map(ask, tasks))
            skipped = next(
                (reply for reply in replies if isinstance(reply, Unscored) and reply.reason == "skipped"), None
            )
            if skipped:
                return skipped
            grades: tuple[Support | None, ...] = tuple(
                None if isinstance(reply, Unscored) else reply.support for reply in replies
            )
            graded.append(GradedSentence(names=tuple(citation.name for citation in cited), grades=grades))
        return tuple(graded)

    def rows(self, result: tuple[GradedSentence, ...], /) -> Iterable[Row]:
        for number, sentence in enumerate(result, 1):
            for name, grade in zip(sentence.names, sentence.grades, strict=True):
                if grade is not None:
                    yield judgement_row(GRADED_CITATION.format(f"[{name}]"), number, grade, WEIGHTS[grade])


@dataclass(frozen=True)
class CitationMetric(Metric):
    """Base class of the metrics that are computed from the sentences of `CitedSentences`."""

    category: ClassVar[Category] = "citations"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"

    by: By = "auto"

    def needs(self) -> tuple[Need[Any], ...]:
        return (ANSWER_AGAINST_PASSAGES, CitedSentences(self.by))

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        support = results.value(CitedSentences(self.by))
        return _nothing_to_count(sample, support) or self.score_sentences(support.sentences)

    @abstractmethod
    def score_sentences(self, sentences: Sequence[SentenceSupport]) -> Outcome:
        """Compute the score of an answer that has a sentence with statements."""


def _nothing_to_count(sample: Sample, support: CitationSupport) -> Unscored | None:
    """Return an Unscored with the reason if no sentence has a statement, else None."""
    if support.sentences:
        return None
    if support.unplaced:
        return Unscored(reason="undefined", detail="no statement was found in a sentence of the answer")
    return no_statements(sample, refuses=support.refuses)


VERDICT_CALLS = (
    "1 to extract statements, 1 to verify them against each passage, 1 for each sentence that cites several passages"
    " but has a statement that none of them supports alone"
)
ALCE_CALLS = (
    f"{VERDICT_CALLS}; with compat, for each sentence with m citations 1, and, if they support it, up to 2m more"
)


@dataclass(frozen=True)
class AlceMetric(CitationMetric):
    """Base class of ALCE's metrics."""

    source: ClassVar[str] = "alce"
    paper: ClassVar[str] = "Gao et al. 2023, arXiv 2305.14627, section 3.3"
    source_label: ClassVar[str] = "ALCE"
    calls: ClassVar[str] = ALCE_CALLS

    compat: bool = False
    at_most: int = 3

    def __post_init__(self) -> None:
        """Raise ValueError for an invalid setting, or one that does not apply."""
        if self.at_most < 1:
            raise ValueError(f"at_most, the number of citations, must be at least 1, got {self.at_most}")
        if self.at_most != type(self).at_most and not self.compat:
            raise ValueError("at_most needs compat=True")
        if self.by != type(self).by and self.compat:
            raise ValueError("by does not apply with compat=True, which reads numbers as ranks")

    def needs(self) -> tuple[Need[Any], ...]:
        return (EntailedSentences(self.at_most),) if self.compat else super().needs()

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        if not self.compat:
            return super().score(sample, results)
        sentences = results.value(EntailedSentences(self.at_most))
        return self.score_entailed(sentences) if sentences else NO_SENTENCE

    @abstractmethod
    def score_entailed(self, sentences: Sequence[EntailedSentence]) -> Outcome:
        """Compute the score with `compat`; there is at least one sentence."""


@dataclass(frozen=True)
class AlceRecall(AlceMetric):
    """The share of the answer's sentences that are supported by the passages they cite, taken together.

    A sentence without citations counts as not supported. Sentences without statements are left out.
    """

    name: ClassVar[str] = "citation_recall"
    title: ClassVar[str] = "Citation recall"
    formula: ClassVar[str] = "sentences that their cited passages fully support / all sentences with statements"

    def score_sentences(self, sentences: Sequence[SentenceSupport]) -> Outcome:
        """Fully supported sentences / all sentences."""
        return share_score([_is_recalled(sentence) for sentence in sentences], "sentences")

    def score_entailed(self, sentences: Sequence[EntailedSentence]) -> Outcome:
        """Entailed sentences / all sentences."""
        return share_score([sentence.recalled for sentence in sentences], "sentences")


@dataclass(frozen=True)
class AlcePrecision(AlceMetric):
    """The share of the answer's citations that are needed to support their sentence.

    A citation is wrong if the passages that the sentence cites do not together support the sentence. It is also wrong
    if the other citations are enough and this citation alone is not. Undefined for an answer without citations.
    """

    name: ClassVar[str] = "citation_precision"
    title: ClassVar[str] = "Citation precision"
    formula: ClassVar[str] = (
        "needed citations of fully supported sentences / all citations of sentences with statements"
    )

    def score_sentences(self, sentences: Sequence[SentenceSupport]) -> Outcome:
        """Needed citations of supported sentences / all citations."""
        right = [
            _is_recalled(sentence) and cited.needed and cited.rank is not None
            for sentence in sentences
            for cited in sentence.distinct
        ]
        return share_score(right, "citations") if right else NO_CITATION

    def score_entailed(self, sentences: Sequence[EntailedSentence]) -> Outcome:
        """Precise citations / all citations; 0 if there are no citations."""
        total, precise = (
            sum(sentence.citations for sentence in sentences),
            sum(sentence.precise for sentence in sentences),
        )
        if not total:
            return Score(value=0.0, counted="0 by convention: no citation counts")
        return Score(value=precise / total, counted=f"{precise} of {total} citations")


@dataclass(frozen=True)
class AlceF1(AlceMetric):
    """The harmonic mean of ALCE's citation recall and precision; 0 if both are 0.

    ALCE reports only recall and precision, not their mean.
    """

    name: ClassVar[str] = "citation_f1"
    title: ClassVar[str] = "Citation F1"
    formula: ClassVar[str] = "2 PR / (P + R) of citation precision and citation recall"

    def score_sentences(self, sentences: Sequence[SentenceSupport]) -> Outcome:
        """Return the harmonic mean of precision and recall; undefined if there are no citations."""
        return f_score(AlcePrecision().score_sentences(sentences), AlceRecall().score_sentences(sentences))

    def score_entailed(self, sentences: Sequence[EntailedSentence]) -> Outcome:
        """Return the harmonic mean of precision and recall."""
        return f_score(AlcePrecision().score_entailed(sentences), AlceRecall().score_entailed(sentences))


def _is_recalled(sentence: SentenceSupport) -> bool:
    return bool(sentence.citations) and sentence.together == "full"


@dataclass(frozen=True)
class SupportMetric(CitationMetric):
    """Base class of TREC RAG's two support metrics."""

    source: ClassVar[str] = "trec"
    paper: ClassVar[str] = "Thakur et al. 2025, arXiv 2504.15205, section 3"
    source_label: ClassVar[str] = "TREC RAG"
    calls: ClassVar[str] = f"{VERDICT_CALLS}; with compat, 1 for each citation that counts"

    citations: Literal["first", "all"] = "first"
    hard: bool = False
    compat: bool = False

    def needs(self) -> tuple[Need[Any], ...]:
        return (SupportGrades(self.citations, self.by),) if self.compat else super().needs()

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        if not self.compat:
            return super().score(sample, results)
        graded = results.value(SupportGrades(self.citations, self.by))
        outcome = self.mean([sentence.grades for sentence in graded])
        if isinstance(outcome, Unscored):
            return Score(value=0.0, counted=f"0 by convention: {outcome.detail}")
        return outcome

    def score_sentences(self, sentences: Sequence[SentenceSupport]) -> Outcome:
        """Return the mean over sentences."""
        most = 1 if self.citations == "first" else None
        return self.mean([tuple(cited.support for cited in sentence.distinct[:most]) for sentence in sentences])

    @abstractmethod
    def mean(self, grades: Sequence[Sequence[Support | None]]) -> Outcome:
        """Compute the mean weight of the sentences. `grades` has the grades of each sentence's citations."""

    def weight(self, grades: Sequence[Support | None]) -> float | None:
        """Return the mean weight of the judged citations of a sentence; None if no citation was judged."""
        weights = HARD_WEIGHTS if self.hard else WEIGHTS
        judged = [weights[grade] for grade in grades if grade is not None]
        return sum(judged) / len(judged) if judged else None


@dataclass(frozen=True)
class SupportPrecision(SupportMetric):
    """How far the passages that the answer cites support the sentences that cite them, on average.

    A sentence counts 1 if its first cited passage fully supports it, 0.5 for partial support, 0 for none. Sentences
    without citations are left out. `citations=all` uses the mean over a sentence's citations; `hard=True` counts only
    full support. Undefined for an answer without citations.
    """

    name: ClassVar[str] = "support_precision"
    title: ClassVar[str] = "Citation support (precision)"
    formula: ClassVar[str] = "sum of weights of sentences / sentences with a citation; full 1, partial 0.5, none 0"

    def mean(self, grades: Sequence[Sequence[Support | None]]) -> Outcome:
        """Return the mean over sentences with a judged citation."""
        weights = [weight for sentence_grades in grades if (weight := self.weight(sentence_grades)) is not None]
        if not weights:
            return NOTHING_GRADED if any(grades) else NO_CITATION
        return Score(value=sum(weights) / len(weights), counted=f"{sum(weights):g} of {len(weights)} cited sentences")


@dataclass(frozen=True)
class SupportRecall(SupportMetric):
    """How far the sentences of the answer are supported by the passages that they cite, on average.

    It is computed like `trec.support_precision`, but a sentence without citations counts 0.
    """

    name: ClassVar[str] = "support_recall"
    title: ClassVar[str] = "Citation support (recall)"
    formula: ClassVar[str] = "sum of weights of sentences / all sentences with statements; full 1, partial 0.5, none 0"

    def mean(self, grades: Sequence[Sequence[Support | None]]) -> Outcome:
        """Return the mean over sentences, without sentences that have citations but no grade."""
        weights = [self.weight(sentence_grades) if sentence_grades else 0.0 for sentence_grades in grades]
        judged = [weight for weight in weights if weight is not None]
        if not judged:
            return NOTHING_GRADED if grades else NO_SENTENCE
        return Score(value=sum(judged) / len(judged), counted=f"{sum(judged):g} of {len(judged)} sentences")


@dataclass(frozen=True)
class UncitedStatements(Metric):
    """The share of the answer's statements that are in sentences without citations.

    It does not check whether the cited passages support the other statements. Undefined for an answer without
    statements.
    """

    source: ClassVar[str] = "ragboard"
    name: ClassVar[str] = "uncited_statements"
    title: ClassVar[str] = "Uncited statements"
    formula: ClassVar[str] = "statements in sentences without a citation / all statements"
    paper: ClassVar[str] = "ragboard"
    source_label: ClassVar[str] = "ragboard"
    category: ClassVar[Category] = "citations"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "lower"
    calls: ClassVar[str] = "1 to extract statements"

    by: By = "auto"

    def needs(self) -> tuple[Need[Any], ...]:
        return (Statements(),)

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        extracted = results.value(Statements())
        sentences = _cited_sentences(sample, self.by)
        if isinstance(sentences, Unscored):
            return sentences
        numbers = [number for number in assign_sentences(extracted.statements, sentences) if number is not None]
        if not numbers:
            unplaced = CitationSupport(sentences=(), unplaced=len(extracted.statements), refuses=extracted.refuses)
            return _nothing_to_count(sample, unplaced) or NO_CITATION
        return share_score([not sentences[number].citations for number in numbers], "statements")


@dataclass(frozen=True)
class UnsupportedCitations(CitationMetric):
    """The share of the answer's citations whose passage supports no statement of the sentence.

    A citation that names no retrieved passage counts as unsupported. Undefined for an answer without citations.
    """

    source: ClassVar[str] = "ragboard"
    name: ClassVar[str] = "unsupported_citations"
    title: ClassVar[str] = "Unsupported citations"
    formula: ClassVar[str] = "citations that support no statement of their sentence / all citations"
    paper: ClassVar[str] = "ragboard"
    source_label: ClassVar[str] = "ragboard"
    direction: ClassVar[Direction] = "lower"
    calls: ClassVar[str] = VERDICT_CALLS

    def score_sentences(self, sentences: Sequence[SentenceSupport]) -> Outcome:
        """Citations without support / all citations."""
        wrong = [cited.support == "none" for sentence in sentences for cited in sentence.distinct]
        return share_score(wrong, "citations") if wrong else NO_CITATION
