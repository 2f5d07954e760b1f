"""Thresholds of metrics: the minimum for a mean, or the maximum if lower is better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.metrics import metric_descriptions, metric_range, read_descriptions
from ragboard.errors import SettingError
from ragboard.records import MetricDescription
from ragboard.stats import Interval, NoInterval
from ragboard.store import Store
from ragboard.store.queries.metrics import metric_thresholds
from ragboard.store.queries.query import Connection

__all__ = [
    "STATUS_LABELS",
    "ShareMeetingThreshold",
    "Threshold",
    "ThresholdStatus",
    "read_thresholds",
    "set_threshold",
    "thresholds",
]

ThresholdStatus = Literal["met", "missed", "inconclusive"]
"""`met` or `missed` if the whole 95% CI of the mean meets or misses the threshold, else `inconclusive`."""

STATUS_LABELS: dict[ThresholdStatus, str] = {"met": "✓ met", "missed": "✗ missed", "inconclusive": "≈ inconclusive"}
"""The text of each status, with an icon."""


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A threshold for a metric. A value equal to the threshold meets it."""

    metric: str
    value: float
    fail: Literal["below", "above"]
    """The side on which a mean misses the threshold: `below` if higher is better."""

    def __str__(self) -> str:
        """`at least 0.8`."""
        return f"at {'least' if self.fail == 'below' else 'most'} {self.value:g}"


@dataclass(frozen=True, kw_only=True)
class ShareMeetingThreshold:
    """How many samples meet a threshold."""

    threshold: Threshold
    good: int
    """Number of samples that meet the threshold."""
    n: int
    """Number of scored samples or, if unscored samples count, of all evaluated samples."""
    interval: Interval | NoInterval
    """The 95% CI of the share of samples that meet the threshold, in [0, 1]."""


def thresholds(store: Store) -> Mapping[str, Threshold]:
    """Return the thresholds that are set, by metric."""
    with store.database.read() as connection:
        return read_thresholds(connection, read_descriptions(connection))


def read_thresholds(connection: Connection, metrics: Mapping[str, MetricDescription]) -> dict[str, Threshold]:
    """Return the thresholds that are set for these metrics, by metric."""
    values = metric_thresholds(connection)
    return {spec: _threshold(metrics[spec], value) for spec, value in values.items() if spec in metrics}


def set_threshold(
    store: Store, spec: str, value: float | None, known: Mapping[str, MetricDescription] | None = None
) -> Threshold | None:
    """Set a metric's threshold and return it. With the value None, remove it and return None.

    `known` are the descriptions of metrics, by default of installed metrics and those in the store. Raises SettingError
    for an unknown metric, a metric without a better direction, and a value outside the metric's range.
    """
    metrics = metric_descriptions(store) if known is None else known
    if spec not in metrics:
        raise SettingError(f"no metric {spec!r}: give its full name; `ragboard metrics` lists them")
    if value is None:
        store.set_threshold(spec, None)
        return None
    _check(metrics[spec], value)
    threshold = _threshold(metrics[spec], value)
    store.set_threshold(spec, value)
    return threshold


def _check(metric: MetricDescription, value: float) -> None:
    if metric.direction == "neutral":
        raise SettingError(f"{metric.spec} has no better direction, so it cannot have a threshold")
    low = -math.inf if metric.low is None else metric.low
    high = math.inf if metric.high is None else metric.high
    if not (math.isfinite(value) and low <= value <= high):
        raise SettingError(f"{value:g} is out of range for {metric.spec}: {metric_range(metric)}")


def _threshold(metric: MetricDescription, value: float) -> Threshold:
    return Threshold(metric=metric.spec, value=value, fail="above" if metric.direction == "lower" else "below")
