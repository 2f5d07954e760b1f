"""Estimate and rank systems by a judge's scores, bias-corrected with labels.

Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476, section 3.3; Angelopoulos et al. 2023, Science 382, and
2023, arXiv 2311.01453 (PPI++).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.stats import (
    Interval,
    MeanEstimate,
    MeanEstimates,
    NoInterval,
    Ranked,
    correlation_interval,
    difference_of_estimates,
    estimate_means,
    estimate_text,
    group_difference,
    kendall,
    mean_interval,
    moments,
    rank_systems,
    wilson_interval,
)
from ragboard.stats.checks import FloatArray

__all__ = [
    "CAUTION",
    "KnownOrder",
    "NumberedScores",
    "System",
    "SystemDifference",
    "SystemEstimate",
    "SystemsReport",
    "compare_with_order",
    "estimate_system",
    "pooled_report",
    "systems_report",
]

THRESHOLD = 0.5
"""For the judge's accuracy, a score or label of at least this value counts as yes."""
MIN_SHARED = 0.5
"""A difference is paired if both systems have labels on the same questions for at least this share of the labels of the
system with fewer labels."""

CAUTION = (
    "the labels of all runs correct each run. This assumes that the judge's mean error is the same in all runs, which"
    " these labels cannot check and which is unlikely if the runs differ in quality. Differences and ranks are the"
    " judge's"
)
_NO_LABELS_ONLY = "the labels are from several runs; without the judge, they say nothing about a single run"
_UNSCORED = "no sample of this run has a score"
_NO_PPI_PLUS_PLUS = "a weight below 1 would pull each run towards the mean label of all runs"

Key: TypeAlias = Any
"""Identifies an item, a text or a number; items of two systems with the same key have the same question."""


@dataclass(frozen=True, eq=False)
class NumberedScores(Mapping[int, float]):
    """The judge's scores of many items by their numbers, as arrays."""

    numbers: NDArray[np.uint64]
    """The number of each item."""
    scores: FloatArray
    """The score of each item, in the same order."""

    def __getitem__(self, number: int) -> float:
        return self.split([number])[0][number]

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers.tolist())

    def __len__(self) -> int:
        return len(self.scores)

    def split(self, numbers: Collection[int]) -> tuple[dict[int, float], FloatArray]:
        """Return the scores of the items with these numbers, by number, and the scores of all others, in order."""
        chosen = np.isin(self.numbers, np.fromiter(numbers, dtype=np.uint64))
        return dict(zip(self.numbers[chosen].tolist(), self.scores[chosen].tolist(), strict=True)), self.scores[~chosen]

    def __sub__(self, other: NumberedScores) -> NumberedScores:
        """Return the differences from other scores over the items that both have, in order."""
        _, ours, theirs = np.intersect1d(self.numbers, other.numbers, assume_unique=True, return_indices=True)
        order = np.argsort(ours)
        ours, theirs = ours[order], theirs[order]
        return NumberedScores(self.numbers[ours], self.scores[ours] - other.scores[theirs])


@dataclass(frozen=True, kw_only=True)
class System:
    """The judge's scores and the labels of one system, by item."""

    name: str
    scores: Mapping[Key, float]
    """The judge's score of every item, within `bounds`."""
    labels: Mapping[Key, float]
    """Labels of a random sample of the items, on the same scale."""
    bounds: tuple[float, float] = (0.0, 1.0)
    """Minimum and maximum of scores and labels."""
    unusable_reason: str = ""
    """Why the labels cannot be used for an estimate; empty if they can."""
    notes: tuple[str, ...] = ()

    def judged(self) -> FloatArray:
        """Return the judge's scores of all items."""
        if isinstance(self.scores, NumberedScores):
            return self.scores.scores
        return np.array(list(self.scores.values()), dtype=float)

    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return three arrays: labels, the judge's scores of the same items, and the judge's scores of all others."""
        scores: Mapping[Key, float] = self.scores
        rest: Sequence[float] | FloatArray
        if isinstance(scores, NumberedScores):
            scores, rest = scores.split(self.labels)
        else:
            rest = [score for key, score in scores.items() if key not in self.labels]
        both = [key for key in self.labels if key in scores]
        labels, judged = [self.labels[key] for key in both], [scores[key] for key in both]
        return np.array(labels, dtype=float), np.array(judged, dtype=float), np.array(rest, dtype=float)

    def means(self, level: float) -> MeanEstimates | None:
        """Return the four estimates of the mean; None if there are no usable labels."""
        if not self.labels or self.unusable_reason:
            return None
        return estimate_means(*self.arrays(), bounds=self.bounds, level=level)

    def __sub__(self, other: System) -> System:
        """Return the differences from another system item by item, over the items that both have."""
        if isinstance(self.scores, NumberedScores) and isinstance(other.scores, NumberedScores):
            scores: Mapping[Key, float] = self.scores - other.scores
        else:
            scores = {key: score - other.scores[key] for key, score in self.scores.items() if key in other.scores}
        return System(
            name=f"{self.name} - {other.name}",
            scores=scores,
            labels={key: label - other.labels[key] for key, label in self.labels.items() if key in other.labels},
            bounds=(other.bounds[0] - self.bounds[1], self.bounds[1] - other.bounds[0]),
        )


@dataclass(frozen=True, kw_only=True)
class SystemEstimate:
    """Four estimates of one system's mean."""

    name: str
    items: int
    """Number of scored items."""
    labels: int
    """Number of labelled items with a score."""
    means: MeanEstimates | None
    """None if there are no usable labels."""
    unusable_reason: str
    """Why the labels cannot be used; empty if they can."""
    agreement: Interval | NoInterval
    """Pearson's correlation of the judge's scores with the labels, over the items that have both."""
    accuracy: Interval | NoInterval
    """Share of labelled items on which judge and label are both at least 0.5 or both below, with Wilson's interval."""
    notes: tuple[str, ...]

    @property
    def best(self) -> MeanEstimate | NoInterval | None:
        """The first available estimate: PPI++, PPI, or labels only. If there is none, why there is no PPI estimate."""
        return _best_estimate(self.means)


def _best_estimate(means: MeanEstimates | None) -> MeanEstimate | NoInterval | None:
    if means is None:
        return None
    candidates = (means.tuned, means.ppi, means.classical)
    return next((candidate for candidate in candidates if isinstance(candidate, MeanEstimate)), means.ppi)


@dataclass(frozen=True, kw_only=True)
class SystemDifference:
    """The difference of two systems, `b` minus `a`."""

    a: str
    b: str
    paired: bool
    """Whether the difference is computed question by question. If not, the systems count as independent."""
    labels: int
    """Number of labels that the difference is computed from."""
    interval: Interval | NoInterval


@dataclass(frozen=True, kw_only=True)
class SystemsReport:
    """The estimates, differences and ranks of several systems."""

    systems: tuple[SystemEstimate, ...]
    differences: tuple[SystemDifference, ...]
    ranking: tuple[Ranked, ...]
    """The systems that have an estimate, best first, each with its possible ranks."""
    tau: float | None
    """Kendall's tau-b of `ranking` with the order by the judge's mean scores; None if fewer than 2 systems differ."""
    level: float
    """Confidence level of the intervals."""
    caution: str = ""
    """Assumptions that the labels cannot verify; empty if there are none."""


@dataclass(frozen=True, kw_only=True)
class KnownOrder:
    """A known order of the systems, and its agreement with the estimates and the judge, in [-1, 1]."""

    names: tuple[str, ...]
    """The systems with an estimate, best first."""
    tau: float | None
    """Kendall's tau-b of the estimates with the known order; None if fewer than 2 systems differ."""
    judge: float | None
    """Kendall's tau-b of the judge's mean scores with the known order; None if fewer than 2 systems differ, or if a
    system has too few scores."""


def estimate_system(system: System, *, level: float = 0.95) -> SystemEstimate:
    """Estimate one system's mean from the judge alone, from labels alone, by PPI and by PPI++."""
    labels, judged, _ = system.arrays()
    agreement: Interval | NoInterval
    accuracy: Interval | NoInterval = NoInterval(reason="there are no labels to compare the judge with", n=0)
    warning = ""
    if labels.size:
        accuracy = wilson_interval(float(np.mean((judged >= THRESHOLD) == (labels >= THRESHOLD))), labels.size)
    if np.unique(judged).size < 2 or np.unique(labels).size < 2:
        agreement = NoInterval(reason="all scores, or all labels, are the same", n=labels.size)
        if np.unique(judged).size == 1 and np.unique(labels).size > 1:
            warning = f"the judge is no better than chance: it gives {judged[0]:g} to every labelled sample"
    else:
        agreement = correlation_interval(judged, labels, kind="pearson")
        if isinstance(agreement, Interval) and agreement.low <= 0:
            correlation = estimate_text(agreement.estimate, agreement, ".2f")
            warning = (
                f"the judge is not significantly better than chance: correlation of scores and labels {correlation}"
            )
    return SystemEstimate(
        name=system.name,
        items=len(system.scores),
        labels=labels.size,
        means=system.means(level),
        unusable_reason=system.unusable_reason,
        agreement=agreement,
        accuracy=accuracy,
        notes=(*system.notes, *filter(None, [warning])),
    )


def systems_report(systems: Sequence[System], *, level: float = 0.95) -> SystemsReport:
    """Estimate all systems, their differences (b minus a), and their ranks."""
    estimates = tuple(estimate_system(system, level=level) for system in systems)
    return _ranked_report(estimates, systems, _difference, level=level)


def _ranked_report(
    estimates: tuple[SystemEstimate, ...],
    systems: Sequence[System],
    difference: Callable[[System, System, float], SystemDifference],
    *,
    level: float,
    caution: str = "",
) -> SystemsReport:
    """Return a report of these estimates, with the differences and ranks of the systems that have an estimate."""
    estimate_by_name = _estimates((estimate.name, estimate.best) for estimate in estimates)
    by_name = {system.name: system for system in systems if system.name in estimate_by_name}
    judged = [float(np.mean(by_name[name].judged())) for name in estimate_by_name]
    return SystemsReport(
        systems=estimates,
        differences=tuple(difference(by_name[a], by_name[b], level) for a, b in combinations(by_name, 2)),
        ranking=rank_systems(
            estimate_by_name,
            lambda a, b, confidence: difference(by_name[a], by_name[b], confidence).interval,
            level=level,
        ),
        tau=_kendall(judged, list(estimate_by_name.values())),
        level=level,
        caution=caution,
    )


def _difference(a: System, b: System, level: float) -> SystemDifference:
    """Compute b minus a: paired if enough labels are on shared questions (`MIN_SHARED`), else unpaired.

    With few shared questions, the unpaired difference is more precise. The choice does not look at the label values.
    """
    difference = b - a
    paired = _best_estimate(difference.means(level))
    shared = len(difference.labels) >= MIN_SHARED * min(len(a.labels), len(b.labels))
    if isinstance(paired, MeanEstimate) and shared:
        return SystemDifference(a=a.name, b=b.name, paired=True, labels=paired.labels, interval=paired.clipped)
    mean_a, mean_b = (_best_estimate(system.means(level)) for system in (a, b))
    if not isinstance(mean_a, MeanEstimate) or not isinstance(mean_b, MeanEstimate):
        missing = NoInterval(reason="one of the two has no estimate", n=0)
        return SystemDifference(a=a.name, b=b.name, paired=False, labels=0, interval=missing)
    interval = difference_of_estimates(mean_a, mean_b, bounds=difference.bounds)
    return SystemDifference(a=a.name, b=b.name, paired=False, labels=mean_a.labels + mean_b.labels, interval=interval)


def compare_with_order(report: SystemsReport, order: Sequence[str]) -> KnownOrder:
    """Compare the estimates with a known order, best first. Raises ValueError if it names a system twice."""
    if len(set(order)) < len(order):
        raise ValueError(f"an order names each system once, got {', '.join(order)}")
    estimates = _estimates([(estimate.name, estimate.best) for estimate in report.systems])
    judge = _estimates([(estimate.name, estimate.means.judge_only) for estimate in report.systems if estimate.means])
    names = [name for name in order if name in estimates]
    order_scores = [-float(rank) for rank, _ in enumerate(names)]
    return KnownOrder(
        names=tuple(names),
        tau=_kendall(order_scores, [estimates[name] for name in names]),
        judge=_kendall(order_scores, [judge[name] for name in names]) if judge.keys() >= set(names) else None,
    )


def _estimates(named: Iterable[tuple[str, MeanEstimate | NoInterval | None]]) -> dict[str, float]:
    """Return the estimates by name; systems without an estimate are left out."""
    return {name: estimate.interval.estimate for name, estimate in named if isinstance(estimate, MeanEstimate)}


def _kendall(x: Sequence[float], y: Sequence[float]) -> float | None:
    return kendall(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else None


def pooled_report(systems: Sequence[System], *, level: float = 0.95) -> SystemsReport:
    """Correct each system by the judge's mean error on the labels of all systems, as ARES does.

    All systems get the same correction, so their order is the judge's. The correction is PPI, not PPI++, whose weight
    would pull every system towards the mean label of all systems. The interval treats the judge's mean and the
    correction as independent although they share items. For a judge that says yes or no, this makes the interval wider.
    """
    pool = [system.arrays()[:2] for system in systems if system.labels and not system.unusable_reason]
    if not pool:
        uncorrected = tuple(estimate_system(system, level=level) for system in systems)
        return SystemsReport(systems=uncorrected, differences=(), ranking=(), tau=None, level=level)
    labels, judged = (np.concatenate(side) for side in zip(*pool, strict=True))
    estimates = tuple(_pooled_estimate(system, labels, judged, level) for system in systems)
    return _ranked_report(estimates, systems, _pooled_difference, level=level, caution=CAUTION)


def _pooled_estimate(system: System, labels: FloatArray, judged: FloatArray, level: float) -> SystemEstimate:
    if not system.scores:
        return estimate_system(replace(system, unusable_reason=_UNSCORED), level=level)
    unusable = (
        (f"its own labels do not count: {system.unusable_reason}",) if system.labels and system.unusable_reason else ()
    )
    scores = system.judged()
    estimated = estimate_means(labels, judged, scores, bounds=system.bounds, design="separate", level=level)
    means = replace(
        estimated,
        classical=NoInterval(reason=_NO_LABELS_ONLY, n=labels.size),
        tuned=NoInterval(reason=_NO_PPI_PLUS_PLUS, n=labels.size),
    )
    own_estimate = estimate_system(system, level=level)
    return replace(own_estimate, means=means, unusable_reason="", notes=(*own_estimate.notes, *unusable))


def _pooled_difference(a: System, b: System, level: float) -> SystemDifference:
    """Return the difference of the judge's mean scores. Both systems have the same correction, so it cancels out."""
    difference = b - a
    values = difference.judged()
    if values.size:
        interval = mean_interval(moments(values), bounds=difference.bounds, level=level)
        return SystemDifference(a=a.name, b=b.name, paired=True, labels=0, interval=interval)
    sides = [system.judged() for system in (b, a)]
    interval = group_difference(*sides, bounds=a.bounds, level=level).interval
    return SystemDifference(a=a.name, b=b.name, paired=False, labels=0, interval=interval)
