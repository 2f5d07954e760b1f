"""Samples of a run: a page of them, the statements to look at first, one with all that was found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb

from ragboard.analysis.metrics import described, in_order
from ragboard.analysis.nouns import (
    GeneratedQuestion,
    Judgement,
    LooseStatement,
    Only,
    Order,
    RunSummary,
    SamplePage,
    SampleQuery,
    SampleReport,
    SampleRow,
)
from ragboard.analysis.overruled import recounted
from ragboard.analysis.runs import judged_by
from ragboard.analysis.statements import judged_statements
from ragboard.analysis.thresholds import Threshold, thresholds_read
from ragboard.analysis.values import OF_FILE, column_values, own_scores, shown_scores
from ragboard.metrics.needs import Sentence
from ragboard.records import Outcome, Score, Unscored, Verdict
from ragboard.store import RunRef, Store, find_sample

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["loose_statements", "outcome_of", "sample_report", "sample_rows", "sample_table"]

Rows = list[tuple[Any, ...]]


def sample_rows(store: Store, run: RunRef, query: SampleQuery) -> SamplePage:
    """A page of a run's samples, filtered and sorted in the database, each with its scores."""
    with store.database.read() as connection:
        limit = thresholds_read(connection, described(connection)).get(query.column)
        where, given = _sample_filter(run, query, limit)
        found = connection.execute(
            f"SELECT s.position, s.sample_id, s.question, count(*) OVER () {where}"
            f" ORDER BY {_ORDER[query.order]}, s.position LIMIT $limit OFFSET $offset",
            given | {"limit": query.limit, "offset": query.offset},
        ).fetchall()
        at = {"evaluation": run.evaluation_id, "positions": [row[0] for row in found]}
        own, meant = own_scores(run)
        scores = _by_position(connection, _SCORES + own + _THERE, at | meant)
        theirs = _by_position(connection, _FILE_SCORES + _THERE, at | {"run": run.run_id})
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
            file_scores=_outcomes(theirs.get(position, [])),
            labels={label: count for _, label, count in labels.get(position, [])},
            refuses=position in refusing,
        )
        for position, sample_id, question, _ in found
    )
    return SamplePage(rows=rows, total=found[0][3] if found else 0)


def sample_table(store: Store, run: RunRef, query: SampleQuery) -> pd.DataFrame:
    """Every sample that a query means, whatever its limit, a row for each metric, for export.

    Columns: sample_id, question, answer, reference, metric, value (empty where unscored), counted, reason, detail.
    Scores that the run file brought are among them.
    """
    with store.database.read() as connection:
        limit = thresholds_read(connection, described(connection)).get(query.column)
        where, given = _sample_filter(run, query, limit)
        shown, meant = shown_scores(run)
        return connection.execute(
            f"WITH found AS (SELECT s.position, row_number() OVER (ORDER BY {_ORDER[query.order]}, s.position) AS place"
            f" {where}) SELECT s.sample_id, s.question, s.answer, s.reference, c.metric, c.value, c.counted, c.reason,"
            " c.detail FROM found JOIN samples s ON s.run_id = $run AND s.position = found.position"
            f" LEFT JOIN (FROM scores WHERE {shown}) c ON c.position = s.position ORDER BY place, c.metric",
            given | meant,
        ).df()


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
    "unscored": " AND m.value IS NULL",
    "beyond": "",
}


def _sample_filter(run: RunRef, query: SampleQuery, limit: Threshold | None) -> tuple[str, dict[str, Any]]:
    """The FROM and WHERE that a query means, and the values bound in it."""
    values, given = column_values(run, query.column, "m")
    given["evaluation"] = run.evaluation_id
    sql = (
        "FROM samples s"
        " LEFT JOIN (SELECT position, count(*) FILTER (label <> 'supported') AS loose FROM verdicts WHERE"
        " evaluation_id = $evaluation AND side = 'response' AND target = 'joint' GROUP BY 1) v USING (position)"
        " LEFT JOIN (SELECT position, refuses FROM sides WHERE evaluation_id = $evaluation AND side = 'response')"
        " d USING (position)"
        f" LEFT JOIN ({values}) m USING (position)"
        " WHERE s.run_id = $run" + _ONLY[query.only]
    )
    if query.only == "beyond":
        sql += " AND false" if limit is None else f" AND m.value {'<' if limit.fail == 'below' else '>'} $limit_value"
        given |= {"limit_value": limit.value} if limit else {}
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


_SCORES = "SELECT position, metric, value, counted, reason, detail FROM scores WHERE "
_FILE_SCORES = f"{_SCORES}{OF_FILE} AND evaluation_id IS DISTINCT FROM $evaluation"


def _by_position(connection: duckdb.DuckDBPyConnection, sql: str, given: Mapping[str, object]) -> dict[int, Rows]:
    found: dict[int, Rows] = {}
    used = {key: value for key, value in given.items() if f"${key}" in sql}
    for row in connection.execute(sql, used).fetchall():
        found.setdefault(row[0], []).append(row)
    return found


def _outcomes(rows: Rows) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {row[1]: outcome_of(*row[2:]) for row in rows}
    return {metric: found[metric] for metric in in_order(found)}


def outcome_of(value: float | None, counted: str | None, reason: Any, detail: str | None) -> Outcome:
    """The outcome in a row of the table of scores."""
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
        position, sample = find_sample(connection, run, sample_id)
        at = {"evaluation": run.evaluation_id, "position": position}
        config = connection.execute("SELECT config FROM runs WHERE run_id = ?", [run.run_id]).fetchone()
        judged = connection.execute(
            "SELECT evaluation_id, judge, heuristic, finished, covered, samples FROM evaluations"
            " JOIN runs USING (run_id) WHERE evaluation_id = ?",
            [run.evaluation_id],
        ).fetchone()
        sentences = connection.execute(
            "SELECT rank, start, stop, chosen FROM sentences" + _AT + " ORDER BY rank, start",
            at | {"evaluation": run.evaluation_of("ragas.context_relevance")},
        ).fetchall()
        own, meant = own_scores(run)
        scores = _outcomes(
            connection.execute(_SCORES + own + " AND position = $position", meant | {"position": position}).fetchall()
        )
        statements, refuses = judged_statements(connection, run.evaluation_id, position)
        return SampleReport(
            run=run,
            judged=judged_by(judged) if judged else None,
            config=json.loads(config[0]) if config else {},
            position=position,
            sample=sample,
            scores=scores,
            file_scores=_outcomes(
                connection.execute(_FILE_SCORES + " AND position = $position", at | {"run": run.run_id}).fetchall()
            ),
            statements=statements,
            recounted=recounted(
                sample,
                statements,
                refuses=refuses,
                specs=tuple(spec for spec in scores if run.evaluation_of(spec) == run.evaluation_id),
            ),
            refuses=refuses,
            questions=_questions(connection, at | {"evaluation": run.evaluation_of("ragas.answer_relevance")}),
            chosen_sentences=tuple(
                Sentence(rank=rank, start=start, end=stop) for rank, start, stop, chosen in sentences if chosen
            ),
            sentences=len(sentences),
            judgements=_judgements(connection, run, position),
            previous=_neighbour(connection, run.run_id, position - 1),
            following=_neighbour(connection, run.run_id, position + 1),
        )


_AT = " WHERE evaluation_id = $evaluation AND position = $position"


def _judgements(connection: duckdb.DuckDBPyConnection, run: RunRef, position: int) -> tuple[Judgement, ...]:
    """What judges said of a sample; where several evaluations asked the same, the first of the run's."""
    rows = connection.execute(
        "WITH said AS (SELECT *, list_position($evaluations, evaluation_id) AS place FROM judgements"
        " WHERE position = $position AND list_contains($evaluations, evaluation_id)"
        " QUALIFY place = min(place) OVER (PARTITION BY about))"
        " SELECT about, number, count(*) OVER (PARTITION BY about), says, value, reason FROM said"
        " ORDER BY about, number",
        {"evaluations": list(run.evaluations), "position": position},
    ).fetchall()
    return tuple(
        Judgement(about=about, number=number, of=of, says=says, value=value, reason=reason)
        for about, number, of, says, value, reason in rows
    )


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
