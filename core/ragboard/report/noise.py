"""How far two evaluations of one run by the same judge differ: what a difference between runs is to be seen against."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from ragboard.records import JsonValue, MetricDescription
from ragboard.report.metrics import described, in_order
from ragboard.report.moments import clusters_of
from ragboard.stats import Interval, PairedDifference, paired_difference
from ragboard.store import RunRef, Store

__all__ = ["JudgeNoise", "judge_noise"]


@dataclass(frozen=True, kw_only=True)
class JudgeNoise:
    """One metric of one run, by two evaluations of the same judge: the difference is the other less the shown."""

    run: str
    metric: str
    label: str
    """How pages call it."""
    judge: str
    other: str
    """The evaluation that the shown one is held against; always of the same run."""
    differs: str
    """What the two do not share: `seed 1, 2`."""
    found: PairedDifference

    def __str__(self) -> str:
        """`two evaluations of bm25-k3 by gpt-4o-mini differ by +0.01 [-0.02, +0.04] in Faithfulness (seed 1, 2)`."""
        bounds = self.found.interval
        interval = f"[{bounds.low:+.3f}, {bounds.high:+.3f}]" if isinstance(bounds, Interval) else "(no interval)"
        return (
            f"two evaluations of {self.run} by {self.judge} differ by {self.found.difference:+.3f} {interval} in"
            f" {self.label}, n = {self.found.n:,} ({self.differs})"
        )


@dataclass(frozen=True, kw_only=True)
class _Other:
    """Another evaluation of the run by the same judge."""

    id: str
    judge: str
    metrics: tuple[str, ...]
    differs: str


def judge_noise(store: Store, run: RunRef) -> tuple[JudgeNoise, ...]:
    """Each metric of the shown evaluation, against the newest other evaluation by the same judge that has it.

    None where the judge evaluated the run once. The same judge in the same way is one evaluation, not two: another
    seed, other parameters or prompts or another version make a second.
    """
    with store.database.read() as connection:
        metrics, others = _evaluations(connection, run)
        known = described(connection)
        found = [_noise(connection, run, spec, known.get(spec), others) for spec in in_order(metrics)]
    return tuple(noise for noise in found if noise)


def _noise(
    connection: duckdb.DuckDBPyConnection,
    run: RunRef,
    spec: str,
    metric: MetricDescription | None,
    others: Sequence[_Other],
) -> JudgeNoise | None:
    other = next((one for one in others if spec in one.metrics), None)
    pairs = _difference(connection, run, other.id, spec, _bounds(metric)) if other else None
    if other is None or pairs is None:
        return None
    return JudgeNoise(
        run=run.name,
        metric=spec,
        label=metric.label if metric else spec,
        judge=other.judge,
        other=other.id,
        differs=other.differs,
        found=pairs,
    )


def _bounds(metric: MetricDescription | None) -> tuple[float, float] | None:
    """Those of a difference of two values of the metric."""
    if metric is None or metric.low is None or metric.high is None:
        return None
    return metric.low - metric.high, metric.high - metric.low


def _evaluations(connection: duckdb.DuckDBPyConnection, run: RunRef) -> tuple[tuple[str, ...], list[_Other]]:
    """The metrics of the shown evaluation, and the others by its judge, the newest first."""
    rows = connection.execute(
        "SELECT evaluation_id, judge, metrics, identity, judging FROM evaluations WHERE run_id = ? AND NOT imported"
        " ORDER BY finished DESC",
        [run.run_id],
    ).fetchall()
    shown = next((row for row in rows if row[0] == run.evaluation_id), None)
    if shown is None:
        return (), []
    others = [
        _Other(id=row[0], judge=row[1], metrics=tuple(row[2]), differs=_differs(shown, row))
        for row in rows
        if row[1] == shown[1] and row is not shown
    ]
    return tuple(shown[2]), others


def _differs(shown: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    """The parameters that two evaluations do not share; else the tasks judged in another way, all or some."""
    ours, theirs = (json.loads(row[4])["parameters"] if row[4] else {} for row in (shown, other))
    parameters = list(_unlike(ours, theirs))
    if parameters:
        return "; ".join(parameters)
    one, two = json.loads(shown[3]), json.loads(other[3])
    tasks = sorted(task for task in one.keys() & two.keys() if one[task] != two[task])
    some = f" for {', '.join(tasks)}" if len(tasks) < len(one.keys() & two.keys()) else ""
    return f"version, prompts or settings{some}"


def _unlike(ours: dict[str, JsonValue], theirs: dict[str, JsonValue]) -> Iterator[str]:
    for key in dict.fromkeys((*ours, *theirs)):
        if ours.get(key) != theirs.get(key):
            said = ["not set" if given.get(key) is None else str(given[key]) for given in (ours, theirs)]
            yield f"{key} {said[0]}, {said[1]}"


def _difference(
    connection: duckdb.DuckDBPyConnection, run: RunRef, other: str, spec: str, bounds: tuple[float, float] | None
) -> PairedDifference | None:
    """Over the samples that both evaluations scored."""
    got = connection.execute(
        "SELECT a.value AS shown, b.value AS other, position FROM scores a JOIN scores b USING (position, metric)"
        " WHERE a.evaluation_id = $shown AND b.evaluation_id = $other AND metric = $metric"
        " AND a.value IS NOT NULL AND b.value IS NOT NULL",
        {"shown": run.evaluation_id, "other": other, "metric": spec},
    ).fetchnumpy()
    shown, others = (np.asarray(got[side], dtype=np.float64) for side in ("shown", "other"))
    clusters = clusters_of(connection, run.run_id)
    together = clusters.of[np.asarray(got["position"], dtype=np.int64)].tolist() if clusters else None
    return paired_difference(shown, others, bounds=bounds, clusters=together) if shown.size else None
