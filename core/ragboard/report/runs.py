"""The leaderboard and one run's summary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from ragboard.errors import NotFoundError
from ragboard.metrics.partition import ORIGINS, Origin
from ragboard.records import Label
from ragboard.report.means import metric_summaries
from ragboard.report.nouns import JudgedBy, ListedRun, RunSummary
from ragboard.report.spending import spending_read
from ragboard.report.unscored import UnscoredPolicy
from ragboard.store import RunRef, Store

__all__ = ["judged_by", "leaderboard", "list_runs", "run_summary", "runs_matching"]

Rows = list[tuple[Any, ...]]


def leaderboard(store: Store, *, unscored: UnscoredPolicy = "excluded") -> tuple[RunSummary, ...]:
    """Every run with its newest evaluation of our own, one of all samples before one of a part; newest run first.

    `unscored` says how samples without a score count in the means.
    """
    with store.database.read() as connection:
        rows = connection.execute(_RUNS + " ORDER BY r.imported DESC, r.name").fetchall()
        return _summaries(connection, rows, unscored)


def list_runs(store: Store) -> tuple[ListedRun, ...]:
    """Every run, in the leaderboard's order; reads no scores."""
    with store.database.read() as connection:
        rows = connection.execute(
            "SELECT run_id, name, dataset_key, imported, EXISTS (SELECT 1 FROM evaluations e WHERE e.run_id = r.run_id"
            " AND NOT e.imported) FROM runs r ORDER BY imported DESC, name"
        ).fetchall()
    return tuple(
        ListedRun(run_id=run_id, name=name, dataset_key=key, imported=imported, evaluated=evaluated)
        for run_id, name, key, imported, evaluated in rows
    )


def run_summary(store: Store, run: RunRef, *, unscored: UnscoredPolicy = "excluded") -> RunSummary:
    """One run, by the evaluation that the reference means. Raises NotFoundError where it is gone."""
    with store.database.read() as connection:
        rows = connection.execute(
            _RUNS_BY + " WHERE r.run_id = $run", {"run": run.run_id, "evaluation": run.evaluation_id}
        ).fetchall()
        found = _summaries(connection, rows, unscored)
    if not found:
        raise NotFoundError(f"run {run.name!r} is no longer in the store")
    return found[0]


def runs_matching(runs: Iterable[RunSummary], search: str) -> tuple[RunSummary, ...]:
    """The runs in whose name, tags or dataset every word of the search stands."""
    words = search.casefold().split()
    return tuple(
        run for run in runs if all(word in " ".join((run.name, *run.tags, run.dataset)).casefold() for word in words)
    )


_RUN_COLUMNS = (
    "SELECT r.run_id, r.name, r.config, r.dataset, r.dataset_key, r.source, r.tags, r.samples, r.imported,"
    " e.evaluation_id, e.judge, e.heuristic, e.finished, e.covered, r.samples, r.notes FROM runs r LEFT JOIN "
)
_RUNS = (
    _RUN_COLUMNS + "(SELECT v.* FROM evaluations v JOIN runs USING (run_id) WHERE NOT v.imported QUALIFY row_number()"
    " OVER (PARTITION BY run_id ORDER BY covered >= samples DESC, finished DESC) = 1) e ON e.run_id = r.run_id"
)
_RUNS_BY = _RUN_COLUMNS + "evaluations e ON e.run_id = r.run_id AND e.evaluation_id = $evaluation"


def _summaries(connection: duckdb.DuckDBPyConnection, rows: Rows, unscored: UnscoredPolicy) -> tuple[RunSummary, ...]:
    evaluations = [row[9] for row in rows if row[9]]
    samples = {row[0]: row[7] for row in rows}
    files = _file_evaluations(connection, list(samples), evaluations)
    totals = {row[9]: row[13] for row in rows} | {files[run]: samples[run] for run in files}
    metrics = metric_summaries(connection, [*evaluations, *files.values()], totals, unscored)
    labels = _labels(connection, evaluations)
    origins = _origins(connection, evaluations)
    spending = spending_read(connection, evaluations)
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
            judged=judged_by(row[9:15]),
            metrics=metrics.get(row[9], {}),
            file_scores=metrics.get(files.get(row[0], ""), {}),
            labels=labels.get(row[9], {}),
            origins=origins.get(row[9], {}),
            refusals=refusals.get(row[9]),
            spending=spending.get(row[9]),
            notes=row[15],
        )
        for row in rows
    )


def _file_evaluations(
    connection: duckdb.DuckDBPyConnection, runs: Sequence[str], shown: Sequence[str]
) -> dict[str, str]:
    """For each run whose file brought scores their evaluation, unless that is the one shown."""
    rows = connection.execute(
        "SELECT run_id, evaluation_id FROM evaluations WHERE imported AND run_id IN (SELECT unnest(?))"
        " AND NOT list_contains(?::VARCHAR[], evaluation_id)",
        [runs, shown],
    ).fetchall()
    return dict(rows)


def judged_by(row: tuple[Any, ...]) -> JudgedBy | None:
    """The evaluation of a row of its id, judge, heuristic, time, coverage and the run's samples; None without one."""
    evaluation_id, judge, heuristic, finished, covered, samples = row
    if evaluation_id is None:
        return None
    return JudgedBy(
        evaluation_id=evaluation_id,
        judge=judge,
        heuristic=heuristic,
        finished=finished,
        covered=covered,
        samples=samples,
    )


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


def _origins(connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str]) -> dict[str, dict[Origin, int]]:
    """All six counts of each evaluation that has any."""
    rows = connection.execute(
        "SELECT evaluation_id, origin, count(*) FROM statements WHERE origin IS NOT NULL"
        " AND evaluation_id IN (SELECT unnest(?)) GROUP BY ALL",
        [evaluations],
    ).fetchall()
    found: dict[str, dict[Origin, int]] = {}
    for evaluation, origin, count in rows:
        found.setdefault(evaluation, dict.fromkeys(ORIGINS, 0))[origin] = count
    return found
