"""The ragas score: one number of the means of ragas's metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ragboard.analysis.nouns import MetricSummary
from ragboard.metrics import metric_of
from ragboard.metrics.critique import AspectCritique
from ragboard.records import Outcome, Score, Unscored

__all__ = ["ragas_score"]

FEWEST = 2
"""The library gives no score of a single metric."""


def ragas_score(metrics: Mapping[str, MetricSummary]) -> Outcome:
    """The harmonic mean of the means of a run's ragas metrics, in [0, 1], higher is better.

    `k / sum(1 / mean)` over the metrics of source `ragas` where higher is better, aspect critiques left out
    (ragas library 0.0.x). A metric counts once: of several settings the default. 0 where one of them is 0; undefined
    with fewer than two, where one has no mean or one below 0, or where none of several settings is the default;
    which is then named.
    """
    settings: defaultdict[str, list[str]] = defaultdict(list)
    for spec in metrics:
        if name := _counted_as(spec):
            settings[name].append(spec)
    unclear = [spec for name, specs in settings.items() if len(specs) > 1 and name not in specs for spec in specs]
    if unclear:
        return Unscored(reason="undefined", detail=f"several settings and not the default: {', '.join(unclear)}")
    chosen = (name if name in specs else specs[0] for name, specs in settings.items())
    means = {spec: metrics[spec].mean for spec in chosen}
    if len(means) < FEWEST:
        return Unscored(reason="undefined", detail=f"it takes {FEWEST} of ragas's metrics, {len(means)} were evaluated")
    without = [spec for spec, mean in means.items() if mean is None or mean < 0]
    if without:
        return Unscored(reason="undefined", detail=f"no mean, or one below 0: {', '.join(without)}")
    known = [mean for mean in means.values() if mean is not None]
    value = len(known) / sum(1 / mean for mean in known) if all(known) else 0.0
    return Score(value=value, counted=f"harmonic mean of {', '.join(means)}")


def _counted_as(spec: str) -> str:
    """The metric without its settings; empty where it does not count."""
    metric = metric_of(spec)
    if metric is None or metric.source != "ragas" or isinstance(metric, AspectCritique) or metric.direction != "higher":
        return ""
    return f"{metric.source}.{metric.name}"
