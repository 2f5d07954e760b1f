"""The leaderboard and one run's summary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb

from ragboard.analysis.means import metric_summaries
from ragboard.analysis.metrics import in_order
from ragboard.analysis.moments import clustered_runs
from ragboard.analysis.nouns import (
    JudgedBy,
    ListedEvaluation,
    ListedRun,
    MetricSummary,
    RunSummary,
    Spending,
)
from ragboard.analysis.spending import spending_of, spending_read
from ragboard.analysis.unscored import UnscoredPolicy
from ragboard.errors import NotFoundError
from ragboard.metrics.partition import ORIGINS, Origin
from ragboard.records import Label
from ragboard.store import RunRef, Store, read_evaluations

__all__ = [
    "evaluations_by_run",
    "judged_by",
    "leaderboard",
    "list_runs",
    "run_evaluations",
    "run_summary",
    "runs_matching",
]

Rows = list[tuple[Any, ...]]


def leaderboard(store: Store, *, unscored: UnscoredPolicy = "excluded") -> tuple[RunSummary, ...]:
    """Every run with each metric from its newest evaluation of our own, one of all samples first; newest run first.

    `unscored` says how samples without a score count in the means.
    """
    with store.database.read() as connection:
        rows = connection.execute(_RUNS + " ORDER BY r.imported DESC, r.name").fetchall()
        return _summaries(connection, rows, _elsewhere(connection), unscored)


def list_runs(store: Store) -> tuple[ListedRun, ...]:
    """Every run, in the leaderboard's order; reads no scores."""
    with store.database.read() as connection:
        rows = connection.execute(
            "SELECT run_id, name, dataset_key, imported, (SELECT count(*) FROM evaluations e WHERE e.run_id = r.run_id"
            " AND NOT e.imported) FROM runs r ORDER BY imported DESC, name"
        ).fetchall()
    return tuple(
        ListedRun(run_id=run_id, name=name, dataset_key=key, imported=imported, evaluations=evaluations)
        for run_id, name, key, imported, evaluations in rows
    )


def run_summary(store: Store, run: RunRef, *, unscored: UnscoredPolicy = "excluded") -> RunSummary:
    """One run, by the evaluations that the reference means. Raises NotFoundError where it is gone."""
    with store.database.read() as connection:
        rows = connection.execute(
            _RUNS_BY + " WHERE r.run_id = $run", {"run": run.run_id, "evaluation": run.evaluation_id}
        ).fetchall()
        found = _summaries(connection, rows, {run.run_id: dict(run.elsewhere)}, unscored)
    if not found:
        raise NotFoundError(f"run {run.name!r} is no longer in the store")
    return found[0]


def run_evaluations(store: Store, run_id: str) -> tuple[ListedEvaluation, ...]:
    """The evaluations of our own of a run, newest first."""
    with store.database.read() as connection:
        evaluations = read_evaluations(connection, "run_id = ? AND NOT imported", run_id)
        judged = _judged(connection, [one.id for one in evaluations])
    return tuple(ListedEvaluation(judged=judged[one.id], metrics=one.metrics) for one in evaluations)


def evaluations_by_run(store: Store) -> Mapping[str, tuple[ListedEvaluation, ...]]:
    """The same of every run that has any, by the run's id."""
    with store.database.read() as connection:
        evaluations = read_evaluations(connection, "NOT imported")
        judged = _judged(connection, [one.id for one in evaluations])
    found: dict[str, tuple[ListedEvaluation, ...]] = {}
    for one in evaluations:
        listed = ListedEvaluation(judged=judged[one.id], metrics=one.metrics)
        found[one.run_id] = (*found.get(one.run_id, ()), listed)
    return found


def runs_matching(runs: Iterable[RunSummary], search: str) -> tuple[RunSummary, ...]:
    """The runs in whose name, tags or dataset every word of the search stands."""
    words = search.casefold().split()
    return tuple(
        run for run in runs if all(word in " ".join((run.name, *run.tags, run.dataset)).casefold() for word in words)
    )


_RUN_COLUMNS = (
    "SELECT r.run_id, r.name, r.config, r.dataset, r.dataset_key, r.source, r.tags, r.samples, r.imported,"
    " e.evaluation_id, r.notes FROM runs r LEFT JOIN "
)
_RUNS = _RUN_COLUMNS + "shown_evaluations e ON e.run_id = r.run_id"
_RUNS_BY = _RUN_COLUMNS + "evaluations e ON e.run_id = r.run_id AND e.evaluation_id = $evaluation"


def _elsewhere(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """For each run the metrics that are not taken from the evaluation of its statements, and theirs."""
    rows = connection.execute(
        "SELECT run_id, metric, evaluation_id FROM shown_metrics"
        " WHERE evaluation_id NOT IN (SELECT evaluation_id FROM shown_evaluations)"
    ).fetchall()
    found: dict[str, dict[str, str]] = {}
    for run_id, metric, evaluation in rows:
        found.setdefault(run_id, {})[metric] = evaluation
    return found


def _summaries(
    connection: duckdb.DuckDBPyConnection,
    rows: Rows,
    elsewhere: Mapping[str, Mapping[str, str]],
    unscored: UnscoredPolicy,
) -> tuple[RunSummary, ...]:
    """`elsewhere` has for each run the metrics of other evaluations than its row's, and which these are."""
    others = {row[0]: elsewhere.get(row[0], {}) for row in rows}
    evaluations = [row[9] for row in rows if row[9]]
    every = list(dict.fromkeys((*evaluations, *(one for moved in others.values() for one in moved.values()))))
    samples = {row[0]: row[7] for row in rows}
    files = _file_evaluations(connection, list(samples), every)
    judged = _judged(connection, [*every, *files.values()])
    totals = {one: by.covered for one, by in judged.items()}
    metrics = metric_summaries(connection, list(judged), totals, unscored)
    clustered = _clustered(
        connection,
        [(row[0], one) for row in rows for one in (row[9], *others[row[0]].values(), files.get(row[0])) if one],
        judged,
    )
    labels = _labels(connection, evaluations)
    origins = _origins(connection, evaluations)
    spending = spending_read(connection, every)
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
            judged=judged.get(row[9]),
            metrics=_shown_metrics(row[9], others[row[0]], metrics, judged),
            file_scores=metrics.get(files.get(row[0], ""), {}),
            labels=labels.get(row[9], {}),
            origins=origins.get(row[9], {}),
            refusals=refusals.get(row[9]),
            spending=_spending(spending, dict.fromkeys((row[9], *others[row[0]].values()))),
            notes=row[10],
            clustered=clustered.get(row[0], ""),
        )
        for row in rows
    )


def _clustered(
    connection: duckdb.DuckDBPyConnection, shown: Sequence[tuple[str, str]], judged: Mapping[str, JudgedBy]
) -> dict[str, str]:
    """For each run with an evaluation to show by what the intervals are clustered; not for independent samples."""
    whole = {run_id for run_id, one in shown if one not in judged or not judged[one].part}
    return clustered_runs(connection, list(whole), [(run_id, one) for run_id, one in shown if run_id not in whole])


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


def _judged(connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str]) -> dict[str, JudgedBy]:
    rows = connection.execute(
        "SELECT evaluation_id, judge, heuristic, finished, covered, samples FROM evaluations JOIN runs USING (run_id)"
        " WHERE evaluation_id IN (SELECT unnest(?))",
        [evaluations],
    ).fetchall()
    return {row[0]: by for row in rows if (by := judged_by(row))}


def _shown_metrics(
    main: str | None,
    elsewhere: Mapping[str, str],
    metrics: Mapping[str, Mapping[str, MetricSummary]],
    judged: Mapping[str, JudgedBy],
) -> dict[str, MetricSummary]:
    """The metrics of a run in order, each with the evaluation that it is from."""
    own = {spec: main for spec in metrics.get(main or "", {}) if spec not in elsewhere}
    shown = own | {spec: one for spec, one in elsewhere.items() if spec in metrics.get(one, {})}
    return {spec: replace(metrics[one][spec], judged=judged[one]) for spec in in_order(shown) if (one := shown[spec])}


def _spending(spending: Mapping[str, Spending], evaluations: Iterable[str]) -> Spending | None:
    """What the evaluations of a run took together; None where no model was asked."""
    found = [spending[one] for one in evaluations if one in spending]
    return (
        found[0] if len(found) == 1 else spending_of(spend for one in found for spend in one.models) if found else None
    )


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
