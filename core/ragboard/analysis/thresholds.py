"""Thresholds: what a person wants a metric to reach, or not to exceed where lower is better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.metrics import described, metric_descriptions, metric_range
from ragboard.errors import SettingError
from ragboard.records import MetricDescription
from ragboard.stats import Interval, NoInterval
from ragboard.store import Store
from ragboard.store.queries.metrics import metric_thresholds
from ragboard.store.queries.query import Connection

__all__ = ["STANDINGS", "Share", "Standing", "Threshold", "read_thresholds", "set_threshold", "thresholds"]

Standing = Literal["met", "missed", "undecided"]
"""met, missed: the whole interval of the mean lies on that side of the threshold; undecided: it holds both sides."""

STANDINGS: dict[Standing, str] = {"met": "✓ met", "missed": "✗ missed", "undecided": "≈ inconclusive"}
"""A sign and a word for each."""


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A limit of a metric; the limit itself is on the good side."""

    metric: str
    value: float
    fail: Literal["below", "above"]
    """The bad side: below where higher is better, above where lower is."""

    def __str__(self) -> str:
        """`at least 0.8`."""
        return f"at {'least' if self.fail == 'below' else 'most'} {self.value:g}"


@dataclass(frozen=True, kw_only=True)
class Share:
    """How many samples are on the good side of a threshold."""

    threshold: Threshold
    good: int
    n: int
    """Samples that count: the scored, and the unscored where these count as something."""
    interval: Interval | NoInterval
    """Of the share of the good, in [0, 1]."""


def thresholds(store: Store) -> Mapping[str, Threshold]:
    """The thresholds that were set, by metric."""
    with store.database.read() as connection:
        return read_thresholds(connection, described(connection))


def read_thresholds(connection: Connection, metrics: Mapping[str, MetricDescription]) -> dict[str, Threshold]:
    """The same over a connection; those of metrics that nobody knows now are left out."""
    kept = metric_thresholds(connection)
    return {spec: _threshold(metrics[spec], value) for spec, value in kept.items() if spec in metrics}


def set_threshold(
    store: Store, spec: str, value: float | None, known: Mapping[str, MetricDescription] | None = None
) -> Threshold | None:
    """Set a metric's threshold, or with None take it away. `known` are the metrics, else those that the store knows.

    Raises SettingError for a metric that is not known or better neither way, and for a value outside its range.
    """
    metrics = metric_descriptions(store) if known is None else known
    if spec not in metrics:
        raise SettingError(f"no metric {spec!r}: give its full name; `ragboard metrics` lists them")
    if value is None:
        store.set_threshold(spec, None)
        return None
    threshold = _threshold(_checked(metrics[spec], value), value)
    store.set_threshold(spec, value)
    return threshold


def _checked(metric: MetricDescription, value: float) -> MetricDescription:
    if metric.direction == "neutral":
        raise SettingError(f"{metric.spec} has no better direction, so it takes no threshold")
    low = -math.inf if metric.low is None else metric.low
    high = math.inf if metric.high is None else metric.high
    if not (math.isfinite(value) and low <= value <= high):
        raise SettingError(f"{value:g} is out of range for {metric.spec}: {metric_range(metric)}")
    return metric


def _threshold(metric: MetricDescription, value: float) -> Threshold:
    return Threshold(metric=metric.spec, value=value, fail="above" if metric.direction == "lower" else "below")
