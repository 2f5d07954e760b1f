"""Compare bundled calls, which ask a judge for several judgements at once, with the calls of `compat=True`.

By default, the metrics of nuggets, graded passages and citations ask for all judgements of a sample in one call. With
`compat=True`, they make the same calls as the original implementation. The run must have been evaluated both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.metrics import Metric, find_metric
from ragboard.records import MetricDescription
from ragboard.stats import Interval, NoInterval, cohen_kappa, estimate_text, mean_interval, moments
from ragboard.store import RunRef, Store
from ragboard.store.queries.bundling import JudgedBothWays, judged_both_ways
from ragboard.store.queries.clusters import SampleClusters, sample_clusters
from ragboard.store.queries.scores import Scored, metric_names, metric_scores

__all__ = ["BundledReplies", "BundledScores", "Bundling", "compare_bundling"]

KINDS = {"nuggets": "verdicts on nuggets", "grades": "grades of passages", "support": "support of citations"}
"""The kinds of judgement in words, in the order of pages."""

SAME_SCORE = 1e-9
"""Scores that differ by less than this count as equal."""


@dataclass(frozen=True, kw_only=True)
class BundledReplies:
    """How often the judge gives the same reply in a bundled call and with `compat=True`."""

    kind: str
    """What the judge decides: `verdicts on nuggets`."""
    items: int
    """Number of nuggets, passages or citations that were judged both ways."""
    equal: int
    """Number of items with the same reply."""
    agreement: float
    """Share of items with the same reply, in [0, 1]."""
    interval: Interval | NoInterval
    """The 95% CI of `agreement`, over samples or clusters of samples."""
    kappa: float | None
    """Cohen's kappa, without weights; 0 is chance level. None if all replies are the same."""
    calls_together: int
    """Number of bundled calls. 0 for support of citations, which uses verdicts that other metrics ask for."""
    calls_alone: int
    """Number of calls with `compat=True`."""

    def __str__(self) -> str:
        """`grades of passages: 225 of 240 are the same, 0.94 (0.91 to 0.97); ...`."""
        kappa = "undefined" if self.kappa is None else f"{self.kappa:.2f}"
        return (
            f"{self.kind}: {self.equal:,} of {self.items:,} are the same,"
            f" {estimate_text(self.agreement, self.interval, '.2f')}; Cohen's kappa {kappa};"
            f" {self.calls_together:,} bundled calls, {self.calls_alone:,} calls with compat=True"
        )


@dataclass(frozen=True, kw_only=True)
class BundledScores:
    """The scores of one metric with and without `compat=True`, over the samples that have both scores."""

    metric: str
    compat: str
    """The full name of the metric with `compat=True`."""
    label: str
    """The name of the metric on pages."""
    samples: int
    mean: float
    compat_mean: float
    equal: int
    """Number of samples with the same score."""
    interval: Interval | NoInterval
    """95% CI of `difference`, over samples or clusters of samples."""

    @property
    def difference(self) -> float:
        """The mean with `compat=True` minus the mean without."""
        return self.compat_mean - self.mean

    def __str__(self) -> str:
        """`Nuggets: mean 0.76, with compat=True 0.74; difference -0.02 (-0.05 to 0.01); ...`."""
        return (
            f"{self.label}: mean {self.mean:.2f}, with compat=True {self.compat_mean:.2f}; difference"
            f" {estimate_text(self.difference, self.interval, '.2f')}; {self.equal:,} of {self.samples:,} scores are"
            " the same"
        )


@dataclass(frozen=True, kw_only=True)
class Bundling:
    """The replies and scores of one run, each with bundled calls and with `compat=True`."""

    replies: tuple[BundledReplies, ...]
    scores: tuple[BundledScores, ...]


def compare_bundling(store: Store, run: RunRef) -> Bundling | None:
    """Compare a run's bundled calls with those of `compat=True`; None if no metric was scored both ways."""
    with store.database.read() as connection:
        names = metric_names(connection, run)
        pairs = [(plain, spec) for spec in in_order(names) if (plain := _default_form(spec)) in names]
        if not pairs:
            return None
        clusters = sample_clusters(connection, run.run_id)
        rows = judged_both_ways(connection, run)
        descriptions = read_descriptions(connection)
        scores = {spec: metric_scores(connection, run, spec) for pair in pairs for spec in pair}
    compared = [_compare_scores(pair, descriptions, scores, clusters) for pair in pairs]
    by_kind = {kind: [row for row in rows if row.kind == kind] for kind in KINDS}
    return Bundling(
        replies=tuple(_compare_replies(kind, judged, clusters) for kind, judged in by_kind.items() if judged),
        scores=tuple(comparison for comparison in compared if comparison),
    )


def _default_form(spec: str) -> str:
    """Return the full name of the metric without `compat=True`; empty if the metric is not set to `compat=True`."""
    metric: Any = find_metric(spec)
    if metric is None or not getattr(metric, "compat", False):
        return ""
    # `at_most` needs compat=True
    defaults = {field.name: field.default for field in fields(metric) if field.name == "at_most"}
    default_form: Metric = replace(metric, compat=False, **defaults)
    return default_form.spec


def _groups(positions: Sequence[int], clusters: SampleClusters | None) -> list[int]:
    return list(positions) if clusters is None else clusters.ids[list(positions)].tolist()


def _compare_replies(kind: str, rows: Sequence[JudgedBothWays], clusters: SampleClusters | None) -> BundledReplies:
    equal = np.array([row.together == row.alone for row in rows], dtype=np.float64)
    groups = _groups([row.position for row in rows], clusters)
    return BundledReplies(
        kind=KINDS[kind],
        items=len(rows),
        equal=int(equal.sum()),
        agreement=float(equal.mean()),
        interval=mean_interval(moments(equal, groups), bounds=(0.0, 1.0)),
        kappa=_kappa([row.together for row in rows], [row.alone for row in rows]),
        calls_together=0 if kind == "support" else len({row.position for row in rows}),
        calls_alone=len({(row.position, row.call) for row in rows}),
    )


def _kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    try:
        return cohen_kappa(first, second)
    except ValueError:
        return None


def _compare_scores(
    pair: tuple[str, str],
    descriptions: Mapping[str, MetricDescription],
    scores: Mapping[str, Scored],
    clusters: SampleClusters | None,
) -> BundledScores | None:
    default, compat = (
        {position: value for position, value in zip(*scores[spec], strict=True) if not np.isnan(value)} for spec in pair
    )
    both = sorted(default.keys() & compat.keys())
    if not both:
        return None
    first, second = (np.array([values[position] for position in both]) for values in (default, compat))
    metric = find_metric(pair[0])
    span = metric.bounds[1] - metric.bounds[0] if metric else None
    return BundledScores(
        metric=pair[0],
        compat=pair[1],
        label=descriptions[pair[0]].label if pair[0] in descriptions else pair[0],
        samples=len(both),
        mean=float(first.mean()),
        compat_mean=float(second.mean()),
        equal=int(np.sum(np.abs(second - first) < SAME_SCORE)),
        interval=mean_interval(
            moments(second - first, _groups(both, clusters)), bounds=None if span is None else (-span, span)
        ),
    )
