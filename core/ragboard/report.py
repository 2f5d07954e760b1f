"""What the command line and the pages show: frozen objects read from the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import duckdb

from ragboard.errors import NotFoundError
from ragboard.metrics import METRICS
from ragboard.metrics.needs import Sentence
from ragboard.records import (
    Evidence,
    JsonValue,
    Label,
    Outcome,
    Sample,
    Score,
    Side,
    Span,
    Statement,
    Unscored,
    Verdict,
)
from ragboard.stats import Interval, Moments, NoInterval, mean_interval
from ragboard.store import RunRef, Store, read_samples

__all__ = [
    "GeneratedQuestion",
    "JudgedBy",
    "JudgedStatement",
    "LooseStatement",
    "MetricSummary",
    "Only",
    "Order",
    "RunSummary",
    "SamplePage",
    "SampleQuery",
    "SampleReport",
    "SampleRow",
    "leaderboard",
    "loose_statements",
    "run_summary",
    "sample_report",
    "sample_rows",
]


Order = Literal["file", "lowest", "highest", "worst"]
Only = Literal["all", "loose", "refusing", "unscored"]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedStatement:
    """A statement and what the passages say of it; None where nobody judged it."""

    statement: Statement
    verdict: Verdict | None


@dataclass(frozen=True, kw_only=True)
class JudgedBy:
    """The evaluation that numbers come from."""

    evaluation_id: str
    judge: str
    heuristic: bool
    finished: datetime
    """UTC."""


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """One metric over one run: the mean of the scored samples, never without how many those were."""

    metric: str
    scored: int
    total: int
    mean: float | None
    """None where no sample was scored."""
    interval: Interval | NoInterval
    unscored: Mapping[str, int]
    """How many samples have no score, by reason."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One line of the leaderboard."""

    run_id: str
    name: str
    config: Mapping[str, JsonValue]
    dataset: str
    dataset_key: str
    source: str
    tags: tuple[str, ...]
    samples: int
    imported: datetime
    judged: JudgedBy | None
    """The evaluation shown; None where the run was never evaluated."""
    metrics: Mapping[str, MetricSummary]
    labels: Mapping[Label, int]
    """Statements of the answers by verdict on the passages together."""
    refusals: int | None
    """Answers that decline, wholly or in part; None where that was never asked."""


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """One line of a run's sample table."""

    position: int
    sample_id: str
    question: str
    scores: Mapping[str, Outcome]
    labels: Mapping[Label, int]
    refuses: bool


@dataclass(frozen=True, kw_only=True)
class SampleQuery:
    """Which samples of a run, in which order."""

    metric: str = ""
    """The metric that `order`, `between` and `only="unscored"` speak of."""
    order: Order = "file"
    """worst: most statements that are not supported first."""
    only: Only = "all"
    """loose: with a statement that is not supported."""
    between: tuple[float, float] | None = None
    search: str = ""
    """Words that all stand in the question or the answer."""
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class SamplePage:
    """Samples that a query found, and how many there are in all."""

    rows: tuple[SampleRow, ...]
    total: int


@dataclass(frozen=True, kw_only=True)
class LooseStatement:
    """A statement that the passages do not support, and where it stands."""

    run: str
    sample_id: str
    question: str
    number: int
    """Its place among the answer's statements, from 1."""
    text: str
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class GeneratedQuestion:
    """A question that the answer would answer, and its cosine to the one asked."""

    question: str
    similarity: float


@dataclass(frozen=True, kw_only=True)
class SampleReport:
    """All that is known of one sample in one evaluation."""

    run: RunRef
    judged: JudgedBy | None
    position: int
    sample: Sample
    scores: Mapping[str, Outcome]
    statements: tuple[JudgedStatement, ...]
    refuses: bool | None
    questions: tuple[GeneratedQuestion, ...]
    chosen_sentences: tuple[Sentence, ...]
    """Sentences of the passages that help to answer the question, by place."""
    sentences: int
    """Sentences in all passages; 0 where that was never asked."""
    previous: str | None
    """Sample ids before and after this one in the run."""
    following: str | None


Rows = list[tuple[Any, ...]]


def leaderboard(store: Store) -> tuple[RunSummary, ...]:
    """Every run with its newest evaluation, newest run first."""
    with store.database.read() as connection:
        rows = connection.execute(_RUNS + " ORDER BY r.imported DESC, r.name").fetchall()
        return _summaries(connection, rows)


def run_summary(store: Store, run: RunRef) -> RunSummary:
    """One run, by the evaluation that the reference means. Raises NotFoundError where it is gone."""
    with store.database.read() as connection:
        rows = connection.execute(
            _RUNS_BY + " WHERE r.run_id = $run", {"run": run.run_id, "evaluation": run.evaluation_id}
        ).fetchall()
        found = _summaries(connection, rows)
    if not found:
        raise NotFoundError(f"run {run.name!r} is no longer in the store")
    return found[0]


_RUN_COLUMNS = (
    "SELECT r.run_id, r.name, r.config, r.dataset, r.dataset_key, r.source, r.tags, r.samples, r.imported,"
    " e.evaluation_id, e.judge, e.heuristic, e.finished FROM runs r LEFT JOIN "
)
_RUNS = (
    _RUN_COLUMNS + "(SELECT * FROM evaluations QUALIFY row_number() OVER"
    " (PARTITION BY run_id ORDER BY finished DESC) = 1) e ON e.run_id = r.run_id"
)
_RUNS_BY = _RUN_COLUMNS + "evaluations e ON e.run_id = r.run_id AND e.evaluation_id = $evaluation"


def _summaries(connection: duckdb.DuckDBPyConnection, rows: Rows) -> tuple[RunSummary, ...]:
    evaluations = [row[9] for row in rows if row[9]]
    metrics = _metric_summaries(connection, evaluations, {row[9]: row[7] for row in rows})
    labels = _labels(connection, evaluations)
    refusals = dict(
        connection.execute(
            "SELECT evaluation_id, count(*) FILTER (refuses) FROM sides WHERE side = 'response'"
            " AND evaluation_id IN (SELECT unnest(?)) GROUP BY 1",
            [evaluations],
        ).fetchall()
    )
    return tuple(
        RunSummary(
            run_id=row[0],
            name=row[1],
            config=json.loads(row[2]),
            dataset=row[3],
            dataset_key=row[4],
            source=row[5],
            tags=tuple(row[6]),
            samples=row[7],
            imported=row[8],
            judged=_judged(row[9:13]),
            metrics=metrics.get(row[9], {}),
            labels=labels.get(row[9], {}),
            refusals=refusals.get(row[9]),
        )
        for row in rows
    )


def _judged(row: tuple[Any, ...]) -> JudgedBy | None:
    evaluation_id, judge, heuristic, finished = row
    if evaluation_id is None:
        return None
    return JudgedBy(evaluation_id=evaluation_id, judge=judge, heuristic=heuristic, finished=finished)


def _metric_summaries(
    connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str], totals: Mapping[str, int]
) -> dict[str, dict[str, MetricSummary]]:
    moments = connection.execute(
        "WITH s AS (SELECT * FROM scores WHERE evaluation_id IN (SELECT unnest(?))),"
        " common AS (SELECT evaluation_id, metric, max(times) AS times FROM (SELECT evaluation_id, metric,"
        " value, count(*) AS times FROM s WHERE value IS NOT NULL GROUP BY ALL) GROUP BY ALL)"
        " SELECT evaluation_id, metric, count(value), avg(value), coalesce(stddev_samp(value), 0),"
        " count(value) - coalesce(any_value(times), 0)"
        " FROM s LEFT JOIN common USING (evaluation_id, metric) GROUP BY 1, 2 ORDER BY 1, 2",
        [evaluations],
    ).fetchall()
    reasons = connection.execute(
        "SELECT evaluation_id, metric, reason, count(*) FROM scores WHERE reason IS NOT NULL"
        " AND evaluation_id IN (SELECT unnest(?)) GROUP BY ALL",
        [evaluations],
    ).fetchall()
    unscored: dict[tuple[str, str], dict[str, int]] = {}
    for evaluation, metric, reason, count in reasons:
        unscored.setdefault((evaluation, metric), {})[reason] = count
    found: dict[str, dict[str, MetricSummary]] = {}
    for evaluation, metric, scored, mean, deviation, varying in moments:
        found.setdefault(evaluation, {})[metric] = MetricSummary(
            metric=metric,
            scored=scored,
            total=totals[evaluation],
            mean=mean,
            interval=_interval(metric, scored, mean, deviation, varying),
            unscored=unscored.get((evaluation, metric), {}),
        )
    return {evaluation: _in_order(by_metric) for evaluation, by_metric in found.items()}


def _in_order(by_metric: dict[str, MetricSummary]) -> dict[str, MetricSummary]:
    known = [metric for metric in METRICS if metric in by_metric]
    return {metric: by_metric[metric] for metric in (*known, *(m for m in by_metric if m not in METRICS))}


def _interval(metric: str, scored: int, mean: float | None, deviation: float, varying: int) -> Interval | NoInterval:
    if mean is None:
        return NoInterval(reason="no sample was scored", n=0)
    bounds = METRICS[metric].range if metric in METRICS else (0.0, 1.0)
    return mean_interval(Moments(n=scored, mean=mean, deviation=deviation, varying=varying), bounds=bounds)


def _labels(connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str]) -> dict[str, dict[Label, int]]:
    rows = connection.execute(
        "SELECT evaluation_id, label, count(*) FROM verdicts WHERE side = 'response' AND target = 'joint'"
        " AND evaluation_id IN (SELECT unnest(?)) GROUP BY ALL",
        [evaluations],
    ).fetchall()
    found: dict[str, dict[Label, int]] = {}
    for evaluation, label, count in rows:
        found.setdefault(evaluation, {})[label] = count
    return found


def sample_rows(store: Store, run: RunRef, query: SampleQuery) -> SamplePage:
    """A page of a run's samples, filtered and sorted in the database, each with its scores."""
    where, given = _sample_filter(run, query)
    with store.database.read() as connection:
        found = connection.execute(
            f"SELECT s.position, s.sample_id, s.question, count(*) OVER () {where}"
            f" ORDER BY {_ORDER[query.order]}, s.position LIMIT $limit OFFSET $offset",
            given | {"limit": query.limit, "offset": query.offset},
        ).fetchall()
        at = {"evaluation": run.evaluation_id, "positions": [row[0] for row in found]}
        scores = _by_position(connection, _SCORES + _THERE, at)
        labels = _by_position(
            connection,
            "SELECT position, label, count(*) FROM verdicts WHERE evaluation_id = $evaluation AND side ="
            " 'response' AND target = 'joint'" + _THERE + " GROUP BY ALL",
            at,
        )
        refusing = _by_position(
            connection,
            "SELECT position FROM sides WHERE evaluation_id = $evaluation AND side = 'response' AND refuses" + _THERE,
            at,
        )
    rows = tuple(
        SampleRow(
            position=position,
            sample_id=sample_id,
            question=question,
            scores=_outcomes(scores.get(position, [])),
            labels={label: count for _, label, count in labels.get(position, [])},
            refuses=position in refusing,
        )
        for position, sample_id, question, _ in found
    )
    return SamplePage(rows=rows, total=found[0][3] if found else 0)


_THERE = " AND position IN (SELECT unnest($positions))"
_ORDER: dict[Order, str] = {
    "file": "1",
    "lowest": "m.value ASC NULLS LAST",
    "highest": "m.value DESC NULLS LAST",
    "worst": "coalesce(v.loose, 0) DESC, m.value ASC NULLS LAST",
}
_ONLY: dict[Only, str] = {
    "all": "",
    "loose": " AND v.loose > 0",
    "refusing": " AND d.refuses",
    "unscored": " AND m.reason IS NOT NULL",
}


def _sample_filter(run: RunRef, query: SampleQuery) -> tuple[str, dict[str, object]]:
    """The FROM and WHERE that a query means, and the values bound in it."""
    sql = (
        "FROM samples s"
        " LEFT JOIN (SELECT position, count(*) FILTER (label <> 'supported') AS loose FROM verdicts WHERE"
        " evaluation_id = $evaluation AND side = 'response' AND target = 'joint' GROUP BY 1) v USING (position)"
        " LEFT JOIN (SELECT position, refuses FROM sides WHERE evaluation_id = $evaluation AND side = 'response')"
        " d USING (position)"
        " LEFT JOIN (SELECT position, value, reason FROM scores WHERE evaluation_id = $evaluation AND"
        " metric = $metric) m USING (position)"
        " WHERE s.run_id = $run" + _ONLY[query.only]
    )
    given: dict[str, object] = {"run": run.run_id, "evaluation": run.evaluation_id, "metric": query.metric}
    if query.between:
        sql += " AND m.value BETWEEN $low AND $high"
        given |= {"low": query.between[0], "high": query.between[1]}
    for place, word in enumerate(query.search.split()[:8]):
        sql += (
            f" AND (contains(lower(s.question), lower($word{place})) OR contains(lower(s.answer),"
            f" lower($word{place})) OR s.sample_id = $word{place})"
        )
        given[f"word{place}"] = word
    return sql, given


_SCORES = "SELECT position, metric, value, counted, reason, detail FROM scores WHERE evaluation_id = $evaluation"


def _by_position(connection: duckdb.DuckDBPyConnection, sql: str, given: Mapping[str, object]) -> dict[int, Rows]:
    found: dict[int, Rows] = {}
    used = {key: value for key, value in given.items() if f"${key}" in sql}
    for row in connection.execute(sql, used).fetchall():
        found.setdefault(row[0], []).append(row)
    return found


def _outcomes(rows: Rows) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {row[1]: _outcome(*row[2:]) for row in rows}
    return {
        metric: found[metric]
        for metric in (*(m for m in METRICS if m in found), *(m for m in found if m not in METRICS))
    }


def _outcome(value: float | None, counted: str | None, reason: Any, detail: str | None) -> Outcome:
    if value is None:
        return Unscored(reason=reason, detail=detail or "")
    return Score(value=value, counted=counted or "")


def loose_statements(store: Store, runs: Sequence[RunSummary], *, limit: int) -> tuple[LooseStatement, ...]:
    """Statements to look at first: contradicted before unsupported, least supported first, one a question."""
    names = {run.judged.evaluation_id: run for run in runs if run.judged}
    with store.database.read() as connection:
        rows = connection.execute(
            "WITH loose AS (SELECT evaluation_id, position, statement, label, reason, score FROM verdicts"
            " WHERE side = 'response' AND target = 'joint' AND label <> 'supported'"
            " AND evaluation_id IN (SELECT unnest($evaluations))"
            " ORDER BY label = 'contradicted' DESC, score NULLS LAST, position LIMIT $many)"
            " SELECT l.evaluation_id, s.sample_id, s.question, l.statement + 1, t.text, l.label, l.reason, l.score"
            " FROM loose l JOIN evaluations e USING (evaluation_id)"
            " JOIN samples s ON s.run_id = e.run_id AND s.position = l.position"
            " JOIN statements t ON t.evaluation_id = l.evaluation_id AND t.position = l.position"
            " AND t.side = 'response' AND t.statement = l.statement"
            " QUALIFY row_number() OVER (PARTITION BY s.question ORDER BY l.label, l.score, l.statement) = 1"
            " ORDER BY l.label = 'contradicted' DESC, l.score NULLS LAST, l.position LIMIT $limit",
            {"evaluations": list(names), "many": limit * 20, "limit": limit},
        ).fetchall()
    return tuple(
        LooseStatement(
            run=names[evaluation].name,
            sample_id=sample_id,
            question=question,
            number=number,
            text=text,
            verdict=Verdict(label=label, reason=reason, score=score),
        )
        for evaluation, sample_id, question, number, text, label, reason, score in rows
    )


def sample_report(store: Store, run: RunRef, sample_id: str) -> SampleReport:
    """One sample with all that its evaluation found. Raises NotFoundError where the run has no such sample."""
    with store.database.read() as connection:
        row = connection.execute(
            "SELECT position FROM samples WHERE run_id = ? AND sample_id = ?", [run.run_id, sample_id]
        ).fetchone()
        if row is None:
            raise NotFoundError(f"run {run.name!r} has no sample {sample_id!r}")
        ((position, sample),) = read_samples(connection, run.run_id, row[0], row[0] + 1)
        at = {"evaluation": run.evaluation_id, "position": position}
        judged = connection.execute(
            "SELECT evaluation_id, judge, heuristic, finished FROM evaluations WHERE evaluation_id = ?",
            [run.evaluation_id],
        ).fetchone()
        sentences = connection.execute(
            "SELECT rank, start, stop, chosen FROM sentences" + _AT + " ORDER BY rank, start", at
        ).fetchall()
        return SampleReport(
            run=run,
            judged=_judged(judged) if judged else None,
            position=position,
            sample=sample,
            scores=_outcomes(connection.execute(_SCORES + " AND position = $position", at).fetchall()),
            statements=_statements(connection, at),
            refuses=_refuses(connection, at),
            questions=_questions(connection, at),
            chosen_sentences=tuple(
                Sentence(rank=rank, start=start, end=stop) for rank, start, stop, chosen in sentences if chosen
            ),
            sentences=len(sentences),
            previous=_neighbour(connection, run.run_id, position - 1),
            following=_neighbour(connection, run.run_id, position + 1),
        )


_AT = " WHERE evaluation_id = $evaluation AND position = $position"


def _statements(connection: duckdb.DuckDBPyConnection, at: Mapping[str, object]) -> tuple[JudgedStatement, ...]:
    rows = connection.execute(
        "SELECT s.side, s.text, s.span_start, s.span_end, s.span_how, v.label, v.reason, v.score, v.evidence"
        " FROM statements s LEFT JOIN verdicts v ON v.evaluation_id = s.evaluation_id AND v.position = s.position"
        " AND v.side = s.side AND v.statement = s.statement AND v.target = 'joint'"
        " WHERE s.evaluation_id = $evaluation AND s.position = $position AND s.side = 'response'"
        " ORDER BY s.statement",
        dict(at),
    ).fetchall()
    return tuple(_judged_statement(*row) for row in rows)


def _judged_statement(
    side: Side,
    text: str,
    start: int | None,
    end: int | None,
    how: Any,
    label: Label | None,
    reason: str | None,
    score: float | None,
    evidence: str | None,
) -> JudgedStatement:
    span = None if start is None or end is None else Span(start=start, end=end, how=how)
    marks = tuple(Evidence(**mark) for mark in json.loads(evidence or "[]"))
    verdict = None if label is None else Verdict(label=label, reason=reason or "", score=score, evidence=marks)
    return JudgedStatement(statement=Statement(side=side, text=text, span=span), verdict=verdict)


def _refuses(connection: duckdb.DuckDBPyConnection, at: Mapping[str, object]) -> bool | None:
    row = connection.execute("SELECT refuses FROM sides" + _AT + " AND side = 'response'", dict(at)).fetchone()
    return None if row is None else bool(row[0])


def _questions(connection: duckdb.DuckDBPyConnection, at: Mapping[str, object]) -> tuple[GeneratedQuestion, ...]:
    rows = connection.execute(
        "SELECT question, similarity FROM questions" + _AT + " ORDER BY number", dict(at)
    ).fetchall()
    return tuple(GeneratedQuestion(question=question, similarity=near) for question, near in rows)


def _neighbour(connection: duckdb.DuckDBPyConnection, run_id: str, position: int) -> str | None:
    row = connection.execute(
        "SELECT sample_id FROM samples WHERE run_id = ? AND position = ?", [run_id, position]
    ).fetchone()
    return row[0] if row else None
