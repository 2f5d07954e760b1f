"""Evaluations: which are shown, who judged, what they asked and what they took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ragboard.records import JsonValue, Spend
from ragboard.store.queries.query import Connection

__all__ = [
    "JudgedBy",
    "RankedEvaluation",
    "ScoredEvaluation",
    "elsewhere_by_run",
    "evaluated_metrics",
    "file_evaluations",
    "judge_names",
    "judged_by",
    "judges_of_task",
    "ranked_evaluations",
    "scored_evaluations",
    "spends",
]


@dataclass(frozen=True, kw_only=True)
class JudgedBy:
    """The evaluation that numbers come from."""

    evaluation_id: str
    judge: str
    heuristic: bool
    finished: datetime
    """UTC."""
    covered: int
    """Samples of the run that it has results of."""
    samples: int
    """Samples of the run now; more may have been logged since."""

    @property
    def in_words(self) -> str:
        """`embedded (rule-based)`."""
        return f"{self.judge}{' (rule-based)' if self.heuristic else ''}"

    @property
    def part(self) -> str:
        """`50 of 2,000 samples evaluated`; empty where all were."""
        if self.covered >= self.samples:
            return ""
        return f"{self.covered:,} of {self.samples:,} samples evaluated"


class RankedEvaluation(NamedTuple):
    """An evaluation of our own and its place among those of its run, from 1: the first is shown."""

    run_id: str
    run: str
    place: int
    judged: JudgedBy


@dataclass(frozen=True, kw_only=True)
class ScoredEvaluation:
    """An evaluation that has a metric."""

    evaluation_id: str
    judge: str
    tasks: frozenset[str] | None
    """What the metric can ask; None where an older version evaluated it and the metric has settings of its own."""
    identity: Mapping[str, JsonValue]
    parameters: Mapping[str, JsonValue]
    """Those given to its judges; empty where its judges were not named."""
    complete: bool
    finished: datetime
    has_statements: bool
    reads_history: bool
    """False where models judged turns of a conversation without being shown it, as before this version."""


_JUDGED = ("evaluation_id", "judge", "heuristic", "finished", "covered", "samples")


def judged_by(connection: Connection, evaluations: Sequence[str | None]) -> dict[str, JudgedBy]:
    """Of each of these evaluations who judged what part of its run."""
    rows = connection.execute(
        f"SELECT {', '.join(_JUDGED)} FROM evaluations JOIN runs USING (run_id)"
        " WHERE evaluation_id IN (SELECT unnest(?))",
        [evaluations],
    ).fetchall()
    return {row[0]: JudgedBy(**dict(zip(_JUDGED, row, strict=True))) for row in rows}


def ranked_evaluations(connection: Connection) -> tuple[RankedEvaluation, ...]:
    """Every evaluation of our own, the newest run first and in it the one that is shown."""
    rows = connection.execute(
        "SELECT e.run_id, run, place, evaluation_id, judge, heuristic, finished, covered, e.samples"
        " FROM ranked_evaluations e JOIN runs USING (run_id) ORDER BY imported DESC, place"
    ).fetchall()
    return tuple(
        RankedEvaluation(run_id, run, place, JudgedBy(**dict(zip(_JUDGED, judged, strict=True))))
        for run_id, run, place, *judged in rows
    )


def scored_evaluations(connection: Connection, run_id: str) -> dict[str, list[ScoredEvaluation]]:
    """For each metric of a run the evaluations of our own that have it, newest first."""
    rows = connection.execute(
        "WITH scored AS (SELECT *, unnest(metrics) AS metric FROM evaluations WHERE run_id = $run AND NOT imported)"
        " SELECT s.metric, s.evaluation_id, s.judge, m.tasks, s.identity, s.judging, s.covered >= r.samples,"
        " s.finished, coalesce(s.has_statements, false), s.reads_history"
        " FROM scored s JOIN runs r USING (run_id)"
        " LEFT JOIN metrics m ON m.evaluation_id = s.evaluation_id AND m.metric = s.metric ORDER BY s.finished DESC",
        {"run": run_id},
    ).fetchall()
    found: dict[str, list[ScoredEvaluation]] = {}
    for metric, evaluation, judge, tasks, identity, judging, complete, finished, has_statements, reads in rows:
        one = ScoredEvaluation(
            evaluation_id=evaluation,
            judge=judge,
            tasks=None if tasks is None else frozenset(tasks),
            identity=json.loads(identity),
            parameters=json.loads(judging)["parameters"] if judging else {},
            complete=complete,
            finished=finished,
            has_statements=has_statements,
            reads_history=reads,
        )
        found.setdefault(metric, []).append(one)
    return found


def elsewhere_by_run(connection: Connection) -> dict[str, dict[str, str]]:
    """For each run the shown metrics that are not from the evaluation of its statements, and theirs."""
    rows = connection.execute(
        "SELECT run_id, metric, evaluation_id FROM shown_metrics"
        " WHERE evaluation_id NOT IN (SELECT evaluation_id FROM shown_evaluations)"
    ).fetchall()
    found: dict[str, dict[str, str]] = {}
    for run_id, metric, evaluation in rows:
        found.setdefault(run_id, {})[metric] = evaluation
    return found


def file_evaluations(connection: Connection, runs: Sequence[str]) -> dict[str, str]:
    """For each of these runs whose file brought scores the evaluation that holds them."""
    return dict(
        connection.execute(
            "SELECT run_id, evaluation_id FROM evaluations WHERE imported AND run_id IN (SELECT unnest(?))", [runs]
        ).fetchall()
    )


def evaluated_metrics(connection: Connection, evaluations: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Each metric of these evaluations: evaluation, metric."""
    return tuple(
        connection.execute(
            "SELECT evaluation_id, unnest(metrics) FROM evaluations WHERE list_contains(?, evaluation_id)",
            [list(evaluations)],
        ).fetchall()
    )


def judge_names(connection: Connection) -> tuple[str, ...]:
    """The judges of our own evaluations, by name."""
    rows = connection.execute("SELECT DISTINCT judge FROM evaluations WHERE NOT imported ORDER BY 1").fetchall()
    return tuple(row[0] for row in rows)


def judges_of_task(connection: Connection, task: str, evaluations: Sequence[str | None]) -> tuple[str | None, ...]:
    """Who answered the tasks of a type in each of these evaluations; None where it asked none."""
    rows = connection.execute(
        "SELECT json_extract_string(identity, $task) FROM evaluations WHERE evaluation_id IN (SELECT unnest($these))",
        {"task": f"$.{task}", "these": list(evaluations)},
    ).fetchall()
    return tuple(row[0] for row in rows)


def spends(connection: Connection, evaluations: Sequence[str]) -> dict[str, list[Spend]]:
    """What each of these evaluations took, a model each; those that asked none are left out."""
    cursor = connection.execute(
        "SELECT evaluation_id, model, embedding, calls, uncounted, prompt_tokens, cached_tokens, completion_tokens,"
        " cost, planned_calls, planned_tokens, prompt_price, cached_price, completion_price FROM spending"
        " WHERE evaluation_id IN (SELECT unnest(?)) ORDER BY evaluation_id, embedding, model",
        [evaluations],
    )
    names = [column[0] for column in cursor.description or ()][1:]
    found: dict[str, list[Spend]] = {}
    for evaluation, *values in cursor.fetchall():
        found.setdefault(evaluation, []).append(Spend(**dict(zip(names, values, strict=True))))
    return found
