"""The difference of one metric between two runs, under a choice of how the unscored count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragboard.analysis.columns import Flags, Floats, MetricColumn
from ragboard.analysis.moments import Clusters
from ragboard.analysis.unscored import UnscoredPolicy, fill_of, range_of
from ragboard.records import MetricDescription
from ragboard.stats import PairedDifference, outer_difference, paired_difference

__all__ = ["Difference", "difference_of"]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """B less A, and how the unscored counted in it."""

    pairs: PairedDifference | None
    """None where no pair counts."""
    bounds: tuple[float, float] | None = None
    """The difference at the least and the greatest that the unscored allow; None but under `bounds`."""
    note: str = ""


def difference_of(
    column: MetricColumn, metric: MetricDescription | None, policy: UnscoredPolicy, clusters: Clusters | None = None
) -> Difference:
    """The difference over the pairs scored on both sides, and with what stands for the unscored of the others.

    `clusters` says which pairs depend on each other.
    """
    ends = range_of(metric)
    limits = None if ends is None else (ends[0] - ends[1], ends[1] - ends[0])

    def paired(first: Floats, second: Floats, counted: Flags) -> PairedDifference | None:
        together = clusters.of[counted].tolist() if clusters else None
        return paired_difference(first, second, bounds=limits, clusters=together) if first.size else None

    seen = paired(column.a[column.both], column.b[column.both], column.both)
    missing = int(np.sum(column.judged & ~column.both))
    fill = fill_of(metric, policy)
    if fill is None or not missing:
        return Difference(pairs=seen)
    if isinstance(fill, str):
        return Difference(pairs=seen, note=f"{missing:,} pairs left out: {fill}")
    least, most = fill
    low = paired(_with(column, "a", most), _with(column, "b", least), column.judged)
    high = paired(_with(column, "a", least), _with(column, "b", most), column.judged)
    if policy == "zero":
        return Difference(pairs=low, note=f"unscored as {least:g} in {missing:,} pairs")
    note = f"unscored could be anything in {missing:,} pairs"
    if seen is None or low is None or high is None:
        return Difference(pairs=None, note=note)
    return Difference(pairs=outer_difference(seen, low, high), bounds=(low.difference, high.difference), note=note)


def _with(column: MetricColumn, side: str, fill: float) -> Floats:
    """The values of a side over all pairs that were judged, with `fill` for the unscored."""
    values = column.a if side == "a" else column.b
    return np.nan_to_num(values[column.judged], nan=fill)
