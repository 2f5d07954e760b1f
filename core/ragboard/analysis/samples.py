"""Samples of a run: a page of them, the statements to look at first, one with all that was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragboard.analysis.metrics import described, in_order
from ragboard.analysis.overruled import recounted
from ragboard.analysis.runs import RunSummary
from ragboard.analysis.thresholds import read_thresholds
from ragboard.metrics.needs import Sentence
from ragboard.records import JsonValue, Label, Outcome, Sample, Verdict
from ragboard.store import RunRef, Store, find_sample
from ragboard.store.queries.evaluations import JudgedBy, judged_by
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.runs import run_config
from ragboard.store.queries.samples import (
    GeneratedQuestion,
    Judgement,
    SampleQuery,
    generated_questions,
    judgements,
    listed_samples,
    sample_frame,
    sample_sentences,
    sample_texts,
    samples_query,
)
from ragboard.store.queries.scores import sample_outcomes
from ragboard.store.queries.statements import JudgedStatement, answer_statements, worst_statements

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "SamplePage",
    "SampleReport",
    "SampleRow",
    "UnsupportedStatement",
    "sample_report",
    "sample_rows",
    "sample_table",
    "samples_sql",
    "unsupported_statements",
]


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """One line of a run's sample table."""

    position: int
    sample_id: str
    question: str
    scores: Mapping[str, Outcome]
    file_scores: Mapping[str, Outcome]
    """Another tool's scores, from the run file."""
    labels: Mapping[Label, int]
    refuses: bool


@dataclass(frozen=True, kw_only=True)
class SamplePage:
    """Samples that a query found, and how many there are in all."""

    rows: tuple[SampleRow, ...]
    total: int


@dataclass(frozen=True, kw_only=True)
class UnsupportedStatement:
    """A statement that the passages do not support, and where it stands."""

    run: str
    sample_id: str
    question: str
    number: int
    """Its place among the answer's statements, from 1."""
    text: str
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class SampleReport:
    """All that is known of one sample in one evaluation."""

    run: RunRef
    judged: JudgedBy | None
    config: Mapping[str, JsonValue]
    """Of the run."""
    position: int
    sample: Sample
    scores: Mapping[str, Outcome]
    file_scores: Mapping[str, Outcome]
    """Another tool's scores, from the run file."""
    statements: tuple[JudgedStatement, ...]
    recounted: Mapping[str, Outcome]
    """The metrics that follow from people's verdicts, counted with them; empty where none was overruled."""
    refuses: bool | None
    questions: tuple[GeneratedQuestion, ...]
    chosen_sentences: tuple[Sentence, ...]
    """Sentences of the passages that help to answer the question, by place."""
    sentences: int
    """Sentences in all passages; 0 where that was never asked."""
    judgements: tuple[Judgement, ...]
    """What judges said beside verdicts on statements: useful passages, aspects, ratings, draws, entities."""
    previous: str | None
    """Sample ids before and after this one in the run."""
    following: str | None


def sample_rows(store: Store, run: RunRef, query: SampleQuery) -> SamplePage:
    """A page of a run's samples, filtered and sorted in the database, each with its scores."""
    with store.database.read() as connection:
        found = listed_samples(connection, _page(connection, run, query))
        positions = [row.position for row in found]
        scores = sample_outcomes(connection, run, positions)
        theirs = sample_outcomes(connection, run, positions, of_file=True)
    rows: list[SampleRow] = []
    for row in found:
        labels: dict[Label, int] = {
            "supported": row.supported,
            "unsupported": row.unsupported,
            "contradicted": row.contradicted,
        }
        listed = SampleRow(
            position=row.position,
            sample_id=row.sample_id,
            question=row.question,
            scores=_ordered(scores.get(row.position, {})),
            file_scores=_ordered(theirs.get(row.position, {})),
            labels={label: count for label, count in labels.items() if count},
            refuses=row.refuses,
        )
        rows.append(listed)
    return SamplePage(rows=tuple(rows), total=found[0].total if found else 0)


def samples_sql(store: Store, run: RunRef, query: SampleQuery) -> str:
    """The SQL behind a page of samples."""
    with store.database.read() as connection:
        return str(_page(connection, run, query))


def sample_table(store: Store, run: RunRef, query: SampleQuery) -> pd.DataFrame:
    """Every sample that a query means, whatever its limit, a row for each metric, for export.

    Columns: sample_id, question, answer, reference, metric, value (empty where unscored), counted, reason, detail.
    Scores that the run file brought are among them.
    """
    with store.database.read() as connection:
        return sample_frame(connection, run, query, _limit(connection, query))


def _page(connection: Connection, run: RunRef, query: SampleQuery) -> Query:
    return samples_query(run, query, _limit(connection, query))


def _limit(connection: Connection, query: SampleQuery) -> tuple[Literal["below", "above"], float] | None:
    """The bad side and the threshold of the column that a query speaks of."""
    if query.only != "beyond":
        return None
    limit = read_thresholds(connection, described(connection)).get(query.column)
    return (limit.fail, limit.value) if limit else None


def _ordered(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    return {metric: outcomes[metric] for metric in in_order(outcomes)}


def unsupported_statements(store: Store, runs: Sequence[RunSummary], *, limit: int) -> tuple[UnsupportedStatement, ...]:
    """Statements to look at first: contradicted before unsupported, least supported first, one a question."""
    names = {run.judged.evaluation_id: run.name for run in runs if run.judged}
    with store.database.read() as connection:
        worst = worst_statements(connection, list(names), limit)
    return tuple(
        UnsupportedStatement(
            run=names[one.evaluation_id],
            sample_id=one.sample_id,
            question=one.question,
            number=one.number,
            text=one.text,
            verdict=Verdict(label=one.label, reason=one.reason, score=one.score),
        )
        for one in worst
    )


def sample_report(store: Store, run: RunRef, sample_id: str) -> SampleReport:
    """One sample with all that its evaluation found. Raises NotFoundError where the run has no such sample."""
    with store.database.read() as connection:
        position, sample = find_sample(connection, run, sample_id)
        scores = _ordered(sample_outcomes(connection, run, [position]).get(position, {}))
        theirs = _ordered(sample_outcomes(connection, run, [position], of_file=True).get(position, {}))
        statements, refuses = answer_statements(connection, run.evaluation_id, position)
        sentences = sample_sentences(connection, run.evaluation_of("ragas.context_relevance"), position)
        near = sample_texts(connection, run.run_id, [position - 1, position + 1])
        own = tuple(spec for spec in scores if run.evaluation_of(spec) == run.evaluation_id)
        return SampleReport(
            run=run,
            judged=judged_by(connection, [run.evaluation_id]).get(run.evaluation_id or ""),
            config=run_config(connection, run.run_id),
            position=position,
            sample=sample,
            scores=scores,
            file_scores=theirs,
            statements=statements,
            recounted=recounted(sample, statements, refuses=refuses, specs=own),
            refuses=refuses,
            questions=generated_questions(connection, run.evaluation_of("ragas.answer_relevance"), position),
            chosen_sentences=tuple(
                Sentence(rank=one.rank, start=one.start, end=one.end) for one in sentences if one.chosen
            ),
            sentences=len(sentences),
            judgements=judgements(connection, run.evaluations, position),
            previous=near[position - 1].sample_id if position - 1 in near else None,
            following=near[position + 1].sample_id if position + 1 in near else None,
        )
