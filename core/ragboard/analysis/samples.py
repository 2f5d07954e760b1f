"""List the samples of a run, export them, find the worst statements, and report on one sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.analysis.overruled_verdicts import recompute_outcomes
from ragboard.analysis.thresholds import read_thresholds
from ragboard.analysis.verdict_style import verdict_words
from ragboard.metrics.needs import Sentence
from ragboard.records import PASSAGE_GRADE, JsonValue, Label, Outcome, Sample, Verdict
from ragboard.store import RunRef, Store, find_sample
from ragboard.store.queries.citations import SampleCitation, sample_citations
from ragboard.store.queries.draws import flips
from ragboard.store.queries.evaluations import JudgedBy, judged_by
from ragboard.store.queries.nuggets import SampleNugget, history_json, sample_nuggets
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.rewritten import RewrittenQuestion, rewritten_question
from ragboard.store.queries.runs import run_config
from ragboard.store.queries.samples import (
    GeneratedQuestion,
    Judgement,
    SampleQuery,
    generated_questions,
    judgements,
    listed_samples,
    neighbours,
    sample_frame,
    sample_sentences,
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

REWRITTEN_COLUMNS = ("rewritten_question", "standalone_question", "rewritten_query", "standalone_query")
"""Columns of a run file that may contain a rewritten question, which needs no earlier turns."""

RUN_FILE = "run file"
"""The author of a rewritten question from the run file."""


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """One line of a run's sample table."""

    position: int
    sample_id: str
    question: str
    scores: Mapping[str, Outcome]
    file_scores: Mapping[str, Outcome]
    """Scores of another tool, from the run file."""
    labels: Mapping[Label, int]
    """Number of statements of the answer, by the verdict against all passages together."""
    refuses: bool
    """Whether the answer declines to answer, at least in part."""
    flips: tuple[int, int] | None = None
    """(judgements whose draws differ, judgements with several draws); None if every judgement has one draw."""

    @property
    def flips_in_words(self) -> str:
        """For example `2 of 9 judgements differ between draws`; empty if every judgement has one draw."""
        return f"{self.flips[0]} of {self.flips[1]} judgements differ between draws" if self.flips else ""


@dataclass(frozen=True, kw_only=True)
class SamplePage:
    """The samples of a query, up to its limit; `total` counts them without the limit."""

    rows: tuple[SampleRow, ...]
    total: int


@dataclass(frozen=True, kw_only=True)
class UnsupportedStatement:
    """An unsupported or contradicted statement, and its sample."""

    run: str
    sample_id: str
    question: str
    number: int
    """The number of the statement in its answer, from 1."""
    text: str
    verdict: Verdict
    words: str
    """The verdict in words: `contradicted`, or `likely unsupported` from a rule-based judge."""


@dataclass(frozen=True, kw_only=True)
class SampleReport:
    """One sample with all results of an evaluation."""

    run: RunRef
    judged: JudgedBy | None
    config: Mapping[str, JsonValue]
    """The configuration of the run."""
    position: int
    sample: Sample
    scores: Mapping[str, Outcome]
    file_scores: Mapping[str, Outcome]
    """Scores of another tool, from the run file."""
    statements: tuple[JudgedStatement, ...]
    recomputed: Mapping[str, Outcome]
    """Metrics recomputed with annotators' labels in place of the verdicts they overrule; empty if there are none."""
    refuses: bool | None
    questions: tuple[GeneratedQuestion, ...]
    chosen_sentences: tuple[Sentence, ...]
    """The sentences of the passages that help to answer the question, in order."""
    sentences: int
    """Number of sentences in all passages; 0 if they were not judged."""
    citations: tuple[SampleCitation, ...]
    """The citations of the answer; empty if they were not judged."""
    nuggets: tuple[SampleNugget, ...]
    """The nuggets of the question, with how well the answer covers each; empty if they were not judged."""
    rewritten: RewrittenQuestion | None
    """The question, rewritten to need no earlier turns, from the run file or a judge; None if it was not rewritten."""
    judgements: tuple[Judgement, ...]
    """Judgements that are not verdicts, such as useful passages, aspects, ratings and entities."""
    previous: str | None
    """Id of the previous sample of the run, or None."""
    following: str | None
    """Id of the next sample of the run, or None."""

    @property
    def passage_grades(self) -> Mapping[int, float]:
        """{rank: relevance of the passage, 0 to 3}; empty if passages were not graded."""
        graded = [
            judgement
            for judgement in self.judgements
            if judgement.about.startswith(PASSAGE_GRADE) and judgement.value is not None
        ]
        # `about` is shorter for grades from one call for all passages; they are preferred to grades from separate calls
        preferred = min((judgement.about for judgement in graded), key=len, default="")
        return {
            judgement.number: judgement.value
            for judgement in graded
            if judgement.about == preferred and judgement.value is not None
        }


def sample_rows(store: Store, run: RunRef, query: SampleQuery) -> SamplePage:
    """Return a page of a run's samples, filtered and sorted in the database, with their scores."""
    with store.database.read() as connection:
        page = listed_samples(connection, _page_query(connection, run, query))
        positions = [row.position for row in page]
        scores, file_scores = sample_outcomes(connection, run, positions)
        flipped = flips(connection, run.evaluation_id, positions)
    rows: list[SampleRow] = []
    for row in page:
        labels: dict[Label, int] = {
            "supported": row.supported,
            "unsupported": row.unsupported,
            "contradicted": row.contradicted,
        }
        listed = SampleRow(
            position=row.position,
            sample_id=row.sample_id,
            question=row.question,
            scores=_in_metric_order(scores.get(row.position, {})),
            file_scores=_in_metric_order(file_scores.get(row.position, {})),
            labels={label: count for label, count in labels.items() if count},
            refuses=row.refuses,
            flips=flipped.get(row.position),
        )
        rows.append(listed)
    return SamplePage(rows=tuple(rows), total=page[0].total if page else 0)


def samples_sql(store: Store, run: RunRef, query: SampleQuery) -> str:
    """Return the SQL query that selects a page of samples."""
    with store.database.read() as connection:
        return str(_page_query(connection, run, query))


def sample_table(store: Store, run: RunRef, query: SampleQuery) -> pd.DataFrame:
    """Return all samples of a query, without its limit, for export: one row per sample and metric.

    Columns: sample_id, question, answer, reference, metric, value (empty if unscored), counted, reason, detail. Scores
    from the run file are included.
    """
    with store.database.read() as connection:
        return sample_frame(connection, run, query, _threshold(connection, query))


def _page_query(connection: Connection, run: RunRef, query: SampleQuery) -> Query:
    return samples_query(run, query, _threshold(connection, query))


def _threshold(connection: Connection, query: SampleQuery) -> tuple[Literal["below", "above"], float] | None:
    """Return (failing side, threshold) of the query's column; None if the query does not filter by threshold."""
    if query.only != "beyond":
        return None
    threshold = read_thresholds(connection, read_descriptions(connection)).get(query.column)
    return (threshold.fail, threshold.value) if threshold else None


def _in_metric_order(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    return {metric: outcomes[metric] for metric in in_order(outcomes)}


def unsupported_statements(store: Store, runs: Sequence[RunRef], *, limit: int) -> tuple[UnsupportedStatement, ...]:
    """List the worst statements of these runs, one per question, in the order of `hallucinations`."""
    names = {run.evaluation_id: run.name for run in runs if run.evaluation_id}
    with store.database.read() as connection:
        worst = worst_statements(connection, list(names), limit)
        judged = judged_by(connection, list(names))
    statements: list[UnsupportedStatement] = []
    for row in worst:
        run, rule_based = names[row.evaluation_id], judged[row.evaluation_id].heuristic
        verdict = Verdict(label=row.label, reason=row.reason, score=row.score)
        statements.append(
            UnsupportedStatement(
                run=run,
                sample_id=row.sample_id,
                question=row.question,
                number=row.number,
                text=row.text,
                verdict=verdict,
                words=verdict_words(verdict, rule_based=rule_based),
            )
        )
    return tuple(statements)


def _rewritten(connection: Connection, sample: Sample) -> RewrittenQuestion | None:
    """Return the rewritten question from the run file, else from a judge, else None."""
    values = (sample.metadata.get(column) for column in REWRITTEN_COLUMNS)
    text = next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")
    if text:
        return RewrittenQuestion(text=text, author=RUN_FILE)
    return rewritten_question(connection, sample.question, history_json(sample.history)) if sample.history else None


def sample_report(store: Store, run: RunRef, sample_id: str) -> SampleReport:
    """Load one sample with all its results. Raises NotFoundError if the run has no such sample."""
    with store.database.read() as connection:
        position, sample = find_sample(connection, run, sample_id)
        own, of_file = sample_outcomes(connection, run, [position])
        scores, file_scores = (_in_metric_order(outcomes.get(position, {})) for outcomes in (own, of_file))
        statements, refuses = answer_statements(connection, run.evaluation_id, position)
        sentences = sample_sentences(connection, run.evaluation_of("ragas.context_relevance"), position)
        previous, following = neighbours(connection, run.run_id, position)
        specs = tuple(spec for spec in scores if run.evaluation_of(spec) == run.evaluation_id)
        return SampleReport(
            run=run,
            judged=judged_by(connection, [run.evaluation_id]).get(run.evaluation_id or ""),
            config=run_config(connection, run.run_id),
            position=position,
            sample=sample,
            scores=scores,
            file_scores=file_scores,
            statements=statements,
            recomputed=recompute_outcomes(sample, statements, refuses=refuses, specs=specs),
            refuses=refuses,
            questions=generated_questions(connection, run.evaluation_of("ragas.answer_relevance"), position),
            chosen_sentences=tuple(
                Sentence(rank=sentence.rank, start=sentence.start, end=sentence.end)
                for sentence in sentences
                if sentence.chosen
            ),
            sentences=len(sentences),
            citations=sample_citations(connection, run.evaluation_id, position),
            nuggets=tuple(sample_nuggets(connection, run.evaluations, position)),
            rewritten=_rewritten(connection, sample),
            judgements=judgements(connection, run.evaluations, position),
            previous=previous,
            following=following,
        )
