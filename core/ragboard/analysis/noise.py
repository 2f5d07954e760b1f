"""How far two evaluations of one run by the same judge differ: what a difference between runs is to be seen against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragboard.analysis.comparability import judged_alike
from ragboard.analysis.metrics import described, in_order
from ragboard.records import JsonValue, MetricDescription
from ragboard.stats import PairedDifference, ci_text, paired_difference
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import sample_clusters
from ragboard.store.queries.evaluations import ScoredEvaluation, scored_evaluations
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import scored_twice

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
        """`two evaluations of bm25-k3 by m differ by +0.01 (95% CI -0.02 to +0.04) in Faithfulness (seed 1, 2)`."""
        interval = ci_text(self.found.interval, "+.3f")
        return (
            f"two evaluations of {self.run} by {self.judge} differ by {self.found.difference:+.3f} ({interval}) in"
            f" {self.label}, n = {self.found.n:,} ({self.differs})"
        )


def judge_noise(store: Store, run: RunRef) -> tuple[JudgeNoise, ...]:
    """Each metric that is shown of a run, against the newest other evaluation by the same judge that has it.

    None where the judge evaluated the run once. The same judge in the same way is one evaluation, not two: another
    seed, other parameters or prompts or another version make a second.
    """
    with store.database.read() as connection:
        by_metric = scored_evaluations(connection, run.run_id)
        known = described(connection)
        found = [_noise(connection, run, spec, known.get(spec), by_metric[spec]) for spec in in_order(by_metric)]
    return tuple(noise for noise in found if noise)


def _noise(
    connection: Connection,
    run: RunRef,
    spec: str,
    metric: MetricDescription | None,
    there: Sequence[ScoredEvaluation],
) -> JudgeNoise | None:
    shown = next((one for one in there if one.evaluation_id == run.evaluation_of(spec)), None)
    if shown is None:
        return None
    other = next((one for one in there if one.judge == shown.judge and not judged_alike(one, shown)), None)
    if other is None:
        return None
    pairs = _difference(connection, run.run_id, shown.evaluation_id, other.evaluation_id, spec, _bounds(metric))
    if pairs is None:
        return None
    return JudgeNoise(
        run=run.name,
        metric=spec,
        label=metric.label if metric else spec,
        judge=other.judge,
        other=other.evaluation_id,
        differs=_differs(shown, other),
        found=pairs,
    )


def _bounds(metric: MetricDescription | None) -> tuple[float, float] | None:
    """Those of a difference of two values of the metric."""
    if metric is None or metric.low is None or metric.high is None:
        return None
    return metric.low - metric.high, metric.high - metric.low


def _differs(shown: ScoredEvaluation, other: ScoredEvaluation) -> str:
    """The parameters that two evaluations do not share; else the tasks judged in another way, all or some."""
    parameters = list(_unlike(shown.parameters, other.parameters))
    if parameters:
        return "; ".join(parameters)
    both = shown.identity.keys() & other.identity.keys()
    tasks = sorted(task for task in both if shown.identity[task] != other.identity[task])
    some = f" for {', '.join(tasks)}" if len(tasks) < len(both) else ""
    return f"version, prompts or settings{some}"


def _unlike(ours: Mapping[str, JsonValue], theirs: Mapping[str, JsonValue]) -> Iterator[str]:
    for key in dict.fromkeys((*ours, *theirs)):
        if ours.get(key) != theirs.get(key):
            said = ["not set" if given.get(key) is None else str(given[key]) for given in (ours, theirs)]
            yield f"{key} {said[0]}, {said[1]}"


def _difference(
    connection: Connection,
    run_id: str,
    shown: str,
    other: str,
    spec: str,
    bounds: tuple[float, float] | None,
) -> PairedDifference | None:
    """Over the samples that both evaluations scored."""
    places, first, second = scored_twice(connection, shown, other, spec)
    clusters = sample_clusters(connection, run_id)
    together = clusters.of[places].tolist() if clusters else None
    return paired_difference(first, second, bounds=bounds, clusters=together) if first.size else None
