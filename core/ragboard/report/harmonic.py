"""The ragas score: one number of the means of ragas's metrics."""

from __future__ import annotations

from collections.abc import Mapping

from ragboard.metrics import metric_of
from ragboard.metrics.critique import AspectCritique
from ragboard.records import Outcome, Score, Unscored
from ragboard.report.nouns import MetricSummary

__all__ = ["ragas_score"]

FEWEST = 2
"""The library gives no score of a single metric."""


def ragas_score(metrics: Mapping[str, MetricSummary]) -> Outcome:
    """The harmonic mean of the means of a run's ragas metrics, in [0, 1], higher is better.

    `k / sum(1 / mean)` over the metrics of source `ragas` where higher is better, aspect critiques left out
    (ragas library 0.0.x). 0 where one of them is 0; undefined with fewer than two, or where one has no mean
    or one below 0, which is then named.
    """
    means = {spec: summary.mean for spec, summary in metrics.items() if _counts(spec)}
    if len(means) < FEWEST:
        return Unscored(reason="undefined", detail=f"it takes {FEWEST} of ragas's metrics, {len(means)} were evaluated")
    without = [spec for spec, mean in means.items() if mean is None or mean < 0]
    if without:
        return Unscored(reason="undefined", detail=f"no mean, or one below 0: {', '.join(without)}")
    known = [mean for mean in means.values() if mean is not None]
    value = len(known) / sum(1 / mean for mean in known) if all(known) else 0.0
    return Score(value=value, counted=f"harmonic mean of {', '.join(means)}")


def _counts(spec: str) -> bool:
    metric = metric_of(spec)
    if metric is None or metric.source != "ragas" or isinstance(metric, AspectCritique):
        return False
    return metric.direction == "higher"
