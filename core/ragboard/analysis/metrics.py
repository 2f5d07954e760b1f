"""What the metrics are that a store has scores of, whether this process has their code or not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragboard.metrics import METRICS, Metric, describe
from ragboard.records import MetricDescription
from ragboard.store import Store
from ragboard.store.queries.metrics import stored_descriptions
from ragboard.store.queries.query import Connection

__all__ = [
    "BETTER",
    "described",
    "in_order",
    "metric_descriptions",
    "metric_groups",
    "metric_range",
    "metric_settings",
]

BETTER = {"higher": "higher is better", "lower": "lower is better", "neutral": "no better direction"}
"""What a direction means."""


def metric_descriptions(store: Store, known: Mapping[str, Metric] = METRICS) -> Mapping[str, MetricDescription]:
    """By identity: the known metrics, then those that only the store's evaluations know."""
    with store.database.read() as connection:
        return described(connection, known)


def described(connection: Connection, known: Mapping[str, Metric] = METRICS) -> dict[str, MetricDescription]:
    """The same, over a connection; of a metric described differently over time, as it was last."""
    ours = {spec: describe(metric) for spec, metric in known.items()}
    return ours | {spec: one for spec, one in stored_descriptions(connection).items() if spec not in ours}


def in_order(specs: Iterable[str]) -> tuple[str, ...]:
    """Metrics as `METRICS` lists them, then the others by name."""
    there = set(specs)
    return (*(spec for spec in METRICS if spec in there), *sorted(there - METRICS.keys()))


def metric_groups(metrics: Iterable[MetricDescription], search: str = "") -> dict[str, tuple[MetricDescription, ...]]:
    """By source, one of each name, those in which every word of the search stands."""
    words = search.casefold().split()
    first: dict[tuple[str, str], MetricDescription] = {}
    for metric in metrics:
        first.setdefault((metric.source, metric.name), metric)
    groups: dict[str, tuple[MetricDescription, ...]] = {}
    for metric in first.values():
        text = " ".join((metric.spec, metric.label, metric.text, metric.formula, metric.paper)).casefold()
        if all(word in text for word in words):
            groups[metric.source] = (*groups.get(metric.source, ()), metric)
    return groups


def metric_range(metric: MetricDescription) -> str:
    """Its bounds in words: `0 to 1`, `0 to no bound`."""
    low, high = ("no bound" if bound is None else f"{bound:g}" for bound in (metric.low, metric.high))
    return f"{low} to {high}"


def metric_settings(metric: MetricDescription) -> str:
    """Its settings in words: `k = not set (a whole number)`; empty where it has none."""
    return "; ".join(f"{setting.name} = {setting.default} ({setting.allowed})" for setting in metric.settings)
