"""Evaluations: their judges, tasks and cost, and which ones pages show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ragboard.records import JsonValue, ModelUsage
from ragboard.store.queries.query import Connection

__all__ = [
    "JudgedBy",
    "RankedEvaluation",
    "ScoredEvaluation",
    "evaluated_metrics",
    "file_evaluations",
    "judge_names",
    "judged_by",
    "judges_of_task",
    "other_evaluations_by_run",
    "ranked_evaluations",
    "scored_evaluations",
    "usage_by_evaluation",
]


@dataclass(frozen=True, kw_only=True)
class JudgedBy:
    """The judge of an evaluation, and how many samples the evaluation covers."""

    evaluation_id: str
    judge: str
    heuristic: bool
    finished: datetime
    """UTC."""
    covered: int
    """Number of samples with results."""
    samples: int
    """Number of samples that the run has now, including samples logged after the evaluation."""

    @property
    def in_words(self) -> str:
        """`embedded (rule-based)`."""
        return f"{self.judge}{' (rule-based)' if self.heuristic else ''}"

    @property
    def part(self) -> str:
        """`50 of 2,000 samples evaluated`; empty if all samples were."""
        if self.covered >= self.samples:
            return ""
        return f"{self.covered:,} of {self.samples:,} samples evaluated"


class RankedEvaluation(NamedTuple):
    """An evaluation and its rank among the evaluations of its run. Pages show the evaluation with rank 1."""

    run_id: str
    run: str
    rank: int
    judged: JudgedBy


@dataclass(frozen=True, kw_only=True)
class ScoredEvaluation:
    """An evaluation that computed a given metric."""

    evaluation_id: str
    judge: str
    tasks: frozenset[str] | None
    """The task types that the metric can send; None (unknown) for some evaluations of older versions of ragboard."""
    identity: Mapping[str, JsonValue]
    """The judge of each task type."""
    parameters: Mapping[str, JsonValue]
    """The parameters of its chat models, such as the temperature; empty if the judges were built in Python."""
    complete: bool
    """Whether it covers all samples of the run."""
    finished: datetime
    has_statements: bool
    reads_history: bool
    """Whether models saw the earlier turns of a conversation. False for evaluations of older versions of ragboard."""


_JUDGED = ("evaluation_id", "judge", "heuristic", "finished", "covered", "samples")


def judged_by(connection: Connection, evaluations: Sequence[str | None]) -> dict[str, JudgedBy]:
    """Return the judge and coverage of evaluations, by id."""
    rows = connection.execute(
        f"SELECT {', '.join(_JUDGED)} FROM evaluations JOIN runs USING (run_id)"
        " WHERE evaluation_id IN (SELECT unnest(?))",
        [evaluations],
    ).fetchall()
    return {row[0]: JudgedBy(**dict(zip(_JUDGED, row, strict=True))) for row in rows}


def ranked_evaluations(connection: Connection) -> tuple[RankedEvaluation, ...]:
    """Return all evaluations except scores in run files: newest run first and, within a run, by rank."""
    rows = connection.execute(
        "SELECT e.run_id, run, place, evaluation_id, judge, heuristic, finished, covered, e.samples"
        " FROM ranked_evaluations e JOIN runs USING (run_id) ORDER BY runs.imported DESC, place"
    ).fetchall()
    return tuple(
        RankedEvaluation(run_id, run, place, JudgedBy(**dict(zip(_JUDGED, judged, strict=True))))
        for run_id, run, place, *judged in rows
    )


def scored_evaluations(connection: Connection, run_id: str) -> dict[str, list[ScoredEvaluation]]:
    """Return the evaluations of a run by metric, newest first, except the scores in its run file."""
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


def other_evaluations_by_run(connection: Connection) -> dict[str, dict[str, str]]:
    """Return {run: {metric: evaluation}} for metrics whose scores on pages are not from the evaluation with rank 1."""
    rows = connection.execute(
        "SELECT run_id, metric, evaluation_id FROM shown_metrics"
        " WHERE evaluation_id NOT IN (SELECT evaluation_id FROM shown_evaluations)"
    ).fetchall()
    found: dict[str, dict[str, str]] = {}
    for run_id, metric, evaluation in rows:
        found.setdefault(run_id, {})[metric] = evaluation
    return found


def file_evaluations(connection: Connection, runs: Sequence[str]) -> dict[str, str]:
    """Return {run: evaluation with the scores of its run file}, without runs whose file has no scores."""
    return dict(
        connection.execute(
            "SELECT run_id, evaluation_id FROM evaluations WHERE imported AND run_id IN (SELECT unnest(?))", [runs]
        ).fetchall()
    )


def evaluated_metrics(connection: Connection, evaluations: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return (evaluation, metric) for each metric of these evaluations."""
    return tuple(
        connection.execute(
            "SELECT evaluation_id, unnest(metrics) FROM evaluations WHERE list_contains(?, evaluation_id)",
            [list(evaluations)],
        ).fetchall()
    )


def judge_names(connection: Connection) -> tuple[str, ...]:
    """Return the names of the judges of all evaluations, without the tools that wrote scores in run files."""
    rows = connection.execute("SELECT DISTINCT judge FROM evaluations WHERE NOT imported ORDER BY 1").fetchall()
    return tuple(row[0] for row in rows)


def judges_of_task(connection: Connection, task: str, evaluations: Sequence[str | None]) -> tuple[str | None, ...]:
    """Return the judge of a task type in each of these evaluations; None if the evaluation has no such task."""
    rows = connection.execute(
        "SELECT json_extract_string(identity, $task) FROM evaluations WHERE evaluation_id IN (SELECT unnest($these))",
        {"task": f"$.{task}", "these": list(evaluations)},
    ).fetchall()
    return tuple(row[0] for row in rows)


def usage_by_evaluation(connection: Connection, evaluations: Sequence[str]) -> dict[str, list[ModelUsage]]:
    """Return calls, tokens and cost per model, by evaluation, without evaluations that called no model."""
    cursor = connection.execute(
        "SELECT evaluation_id, model, embedding, calls, uncounted, prompt_tokens, cached_tokens, completion_tokens,"
        " cost, planned_calls, planned_tokens, prompt_price, cached_price, completion_price FROM spending"
        " WHERE evaluation_id IN (SELECT unnest(?)) ORDER BY evaluation_id, embedding, model",
        [evaluations],
    )
    names = [column[0] for column in cursor.description or ()][1:]
    found: dict[str, list[ModelUsage]] = {}
    for evaluation, *values in cursor.fetchall():
        found.setdefault(evaluation, []).append(ModelUsage(**dict(zip(names, values, strict=True))))
    return found
