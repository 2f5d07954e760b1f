"""On which evaluations two runs are compared, and which metrics were judged differently in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import duckdb

from ragboard.analysis.metrics import in_order
from ragboard.judges.panel import NOBODY
from ragboard.records import JsonValue
from ragboard.store import RunRef, Store

__all__ = [
    "DIFFERENT_JUDGES",
    "JudgePair",
    "ScoredEvaluation",
    "comparable_refs",
    "different_judges",
    "scored_evaluations",
    "split_alike",
]

SPLITTING = "ExtractStatements"
"""The task type that splits answers into statements, and says whether they refuse."""

DIFFERENT_JUDGES: Final = "different judges"
"""What is said in place of a verdict where A and B were judged differently."""


@dataclass(frozen=True, kw_only=True)
class JudgePair:
    """Who judged a metric in A and in B, where that was not the same judge setup."""

    a: str
    b: str

    def __str__(self) -> str:
        """`gpt-4o in A, embedded in B`, or what differs of one judge."""
        if self.a == self.b:
            return f"{self.a} in both, with other prompts, settings or versions"
        return f"{self.a} in A, {self.b} in B"


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

    @property
    def splits(self) -> bool:
        """Whether the metric is counted from statements of the answers, and there are some."""
        return self.has_statements and SPLITTING in (self.identity if self.tasks is None else self.tasks)

    def judged_as(self, other: ScoredEvaluation) -> bool:
        """Whether all that the metric asks was answered by the same judge in the same way."""
        tasks = self.tasks if self.tasks is not None else other.tasks
        if tasks == frozenset():
            return True
        if self.reads_history != other.reads_history or (self.judge == NOBODY) != (other.judge == NOBODY):
            return False
        if tasks is None:
            return self.identity == other.identity
        return all(self.identity.get(task) == other.identity.get(task) for task in tasks)


def comparable_refs(store: Store, a: RunRef, b: RunRef) -> tuple[RunRef, RunRef]:
    """The same runs, for each metric by the newest judge setup that both have.

    Where somebody named the evaluation of a run it stays. A metric that both have, but by no common judge setup, is
    taken from the newest evaluation of each.
    """
    if a.chosen and b.chosen:
        return a, b
    with store.database.read() as connection:
        ours, theirs = (_of(connection, run) for run in (a, b))
    found: dict[str, tuple[ScoredEvaluation, ScoredEvaluation]] = {}
    for spec in in_order(ours.keys() & theirs.keys()):
        alike = [(one, other) for one in ours[spec] for other in theirs[spec] if one.judged_as(other)]
        if alike:
            found[spec] = max(alike, key=_newness)
    split = next((pair for pair in found.values() if all(one.splits for one in pair)), None)
    first = {spec: pair[0].evaluation_id for spec, pair in found.items()}
    second = {spec: pair[1].evaluation_id for spec, pair in found.items()}
    return (
        _taken(a, {spec: a.evaluation_of(spec) for spec in ours} | first, split[0] if split else None),
        _taken(b, {spec: b.evaluation_of(spec) for spec in theirs} | second, split[1] if split else None),
    )


def different_judges(
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, specs: Sequence[str]
) -> dict[str, JudgePair]:
    """The metrics among these whose judge setups differ between the evaluations that the references mean."""
    ours, theirs = (_of(connection, run) for run in (a, b))
    found: dict[str, JudgePair] = {}
    for spec in specs:
        one, other = _meant(a, spec, ours), _meant(b, spec, theirs)
        if one and other and not one.judged_as(other):
            found[spec] = JudgePair(a=one.judge, b=other.judge)
    return found


def split_alike(connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef) -> bool:
    """Whether the statements of both runs, and what is known of their refusals, come from the same judge setup."""
    rows = connection.execute(
        "SELECT evaluation_id, json_extract_string(identity, $task) FROM evaluations WHERE evaluation_id IN ($a, $b)",
        {"task": f"$.{SPLITTING}", "a": a.evaluation_id, "b": b.evaluation_id},
    ).fetchall()
    return len({who for _, who in rows}) == 1


def _newness(pair: tuple[ScoredEvaluation, ScoredEvaluation]) -> tuple[bool, datetime]:
    """Complete evaluations before partial ones, then by when both runs had it."""
    return all(one.complete for one in pair), min(one.finished for one in pair)


def _taken(run: RunRef, metrics: Mapping[str, str | None], split: ScoredEvaluation | None) -> RunRef:
    """The run with its metrics taken from these evaluations, and its statements from the one that split them alike."""
    if run.chosen:
        return run
    main = split.evaluation_id if split else run.evaluation_id
    elsewhere = tuple(sorted((spec, one) for spec, one in metrics.items() if one and one != main))
    return replace(run, evaluation_id=main, elsewhere=elsewhere)


def _meant(run: RunRef, spec: str, by_metric: Mapping[str, Sequence[ScoredEvaluation]]) -> ScoredEvaluation | None:
    meant = run.evaluation_of(spec)
    return next((one for one in by_metric.get(spec, ()) if one.evaluation_id == meant), None)


def _of(connection: duckdb.DuckDBPyConnection, run: RunRef) -> dict[str, list[ScoredEvaluation]]:
    """For each metric the evaluations that it may be taken from."""
    found = scored_evaluations(connection, run.run_id)
    if not run.chosen:
        return found
    meant = {spec: [one for one in there if one.evaluation_id == run.evaluation_id] for spec, there in found.items()}
    return {spec: there for spec, there in meant.items() if there}


def scored_evaluations(connection: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, list[ScoredEvaluation]]:
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
