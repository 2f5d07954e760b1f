"""Judge noise: how much two evaluations of one run by the same judge differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragboard.analysis.comparability import same_judge_setups
from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.records import JsonValue, MetricDescription
from ragboard.stats import PairedDifference, ci_text, paired_difference
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import sample_clusters
from ragboard.store.queries.evaluations import ScoredEvaluation, scored_evaluations
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import doubly_scored

__all__ = ["JudgeNoise", "judge_noise"]


@dataclass(frozen=True, kw_only=True)
class JudgeNoise:
    """The difference of one metric between two evaluations of a run by the same judge.

    The first evaluation is the one that pages show, the other is the newest one with other settings.
    """

    run: str
    metric: str
    label: str
    """The name of the metric on pages."""
    judge: str
    other_evaluation_id: str
    """The evaluation that the shown one is compared with."""
    differs: str
    """The settings that differ, with the values of both evaluations: `seed 1, 2`."""
    paired: PairedDifference
    """Other minus shown, over the samples that both scored."""

    def __str__(self) -> str:
        """`two evaluations of bm25-k3 by m differ by +0.010 (95% CI -0.020 to +0.040) in Recall, ...`."""
        interval = ci_text(self.paired.interval, "+.3f")
        return (
            f"two evaluations of {self.run} by {self.judge} differ by {self.paired.difference:+.3f} ({interval}) in"
            f" {self.label}, n = {self.paired.n:,} ({self.differs})"
        )


def judge_noise(store: Store, run: RunRef) -> tuple[JudgeNoise, ...]:
    """Compare the evaluation that pages show for each metric with the newest other one by the same judge.

    Metrics that the judge evaluated once are left out. A second evaluation needs another seed, other parameters, other
    prompts or another version; with the same settings, ragboard continues the first one.
    """
    with store.database.read() as connection:
        by_metric = scored_evaluations(connection, run.run_id)
        descriptions = read_descriptions(connection)
        noises = [
            _measure_noise(connection, run, spec, descriptions.get(spec), by_metric[spec])
            for spec in in_order(by_metric)
        ]
    return tuple(noise for noise in noises if noise)


def _measure_noise(
    connection: Connection,
    run: RunRef,
    spec: str,
    metric: MetricDescription | None,
    evaluations: Sequence[ScoredEvaluation],
) -> JudgeNoise | None:
    shown = next(
        (evaluation for evaluation in evaluations if evaluation.evaluation_id == run.evaluation_of(spec)), None
    )
    if shown is None:
        return None
    by_same_judge = (evaluation for evaluation in evaluations if evaluation.judge == shown.judge)
    other = next((evaluation for evaluation in by_same_judge if not same_judge_setups(evaluation, shown)), None)
    if other is None:
        return None
    bounds = _difference_bounds(metric)
    pairs = _compare_scores(connection, run.run_id, shown.evaluation_id, other.evaluation_id, spec, bounds)
    if pairs is None:
        return None
    return JudgeNoise(
        run=run.name,
        metric=spec,
        label=metric.label if metric else spec,
        judge=other.judge,
        other_evaluation_id=other.evaluation_id,
        differs=_differences_in_words(shown, other),
        paired=pairs,
    )


def _difference_bounds(metric: MetricDescription | None) -> tuple[float, float] | None:
    """Return the smallest and the largest possible difference of two values; None if the metric's range is unknown."""
    if metric is None or metric.low is None or metric.high is None:
        return None
    return metric.low - metric.high, metric.high - metric.low


def _differences_in_words(shown: ScoredEvaluation, other: ScoredEvaluation) -> str:
    """Say which parameters differ between two evaluations or, if none does, what else."""
    parameters = list(_parameter_changes(shown.parameters, other.parameters))
    if parameters:
        return "; ".join(parameters)
    both = shown.identity.keys() & other.identity.keys()
    tasks = sorted(task for task in both if shown.identity[task] != other.identity[task])
    some = f" for {', '.join(tasks)}" if len(tasks) < len(both) else ""
    return f"version, prompts or settings{some}"


def _parameter_changes(shown: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> Iterator[str]:
    for key in dict.fromkeys((*shown, *other)):
        if shown.get(key) != other.get(key):
            values = [
                "not set" if parameters.get(key) is None else str(parameters[key]) for parameters in (shown, other)
            ]
            yield f"{key} {values[0]}, {values[1]}"


def _compare_scores(
    connection: Connection,
    run_id: str,
    shown: str,
    other: str,
    spec: str,
    bounds: tuple[float, float] | None,
) -> PairedDifference | None:
    """Return the difference over the samples that both evaluations scored; None if there are none."""
    positions, first, second = doubly_scored(connection, shown, other, spec)
    clusters = sample_clusters(connection, run_id)
    cluster_ids = clusters.ids[positions].tolist() if clusters else None
    return paired_difference(first, second, bounds=bounds, clusters=cluster_ids) if first.size else None
