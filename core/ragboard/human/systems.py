"""Systems estimated and ranked by a judge's scores, bias-corrected with people's labels.

Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476, section 3.3; Angelopoulos et al. 2023, Science 382, and
2023, arXiv 2311.01453 (PPI++).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ragboard.stats import (
    Interval,
    NoInterval,
    PoweredMean,
    PoweredMeans,
    Ranked,
    correlation_interval,
    estimate_text,
    group_difference,
    kendall,
    mean_interval,
    moments,
    powered_difference,
    powered_means,
    rank_systems,
    wilson_interval,
)

__all__ = [
    "CAUTION",
    "KnownOrder",
    "System",
    "SystemDifference",
    "SystemEstimate",
    "SystemsReport",
    "against_order",
    "estimate_system",
    "pooled_report",
    "systems_report",
]

CUT = 0.5
"""From here on a score or an outcome counts as a yes in the judge's accuracy."""
SHARED = 0.5
"""Two systems are paired if at least this share of the labels of one is on questions labelled in the other too."""

CAUTION = (
    "the labels of all runs correct each of them: that is right only where the judge's mean error is the same in all,"
    " which nothing here shows and runs that are not equally good rarely have; differences and ranks are those of the"
    " judge"
)
_OTHERS = "the labels are of several runs, and without the judge say nothing of one of them"
_UNSCORED = "no sample of this run has a score"
_DRAWN = "a weight below 1 would draw each run towards the mean label of all"

Key = str
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class System:
    """What a judge and people said of one system's items, by item: the same key in two systems is the same question."""

    name: str
    scores: Mapping[Key, float]
    """The judge's, of every item."""
    labels: Mapping[Key, float]
    """People's, of a random part of them."""
    bounds: tuple[float, float] = (0.0, 1.0)
    refusal: str = ""
    """Why these labels must not be used for an estimate; empty if they may."""
    notes: tuple[str, ...] = ()

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Labels, the judge's scores of the same items, and those of the others."""
        both = [key for key in self.labels if key in self.scores]
        rest = [score for key, score in self.scores.items() if key not in self.labels]
        labels, judged = [self.labels[key] for key in both], [self.scores[key] for key in both]
        return np.array(labels, dtype=float), np.array(judged, dtype=float), np.array(rest, dtype=float)

    def means(self, level: float) -> PoweredMeans | None:
        """None without labels, or if they must not be used."""
        if not self.labels or self.refusal:
            return None
        return powered_means(*self.arrays(), bounds=self.bounds, level=level)

    def __sub__(self, other: System) -> System:
        """The difference to another system, on each item that both have."""
        return System(
            name=f"{self.name} less {other.name}",
            scores={key: score - other.scores[key] for key, score in self.scores.items() if key in other.scores},
            labels={key: label - other.labels[key] for key, label in self.labels.items() if key in other.labels},
            bounds=(other.bounds[0] - self.bounds[1], self.bounds[1] - other.bounds[0]),
        )


@dataclass(frozen=True, kw_only=True)
class SystemEstimate:
    """One system's mean, estimated in four ways."""

    name: str
    items: int
    labels: int
    means: PoweredMeans | None
    """None without labels, or if they must not be used."""
    refusal: str
    agreement: Interval | NoInterval
    """Pearson's correlation of the judge's scores with the labels, over the items that have both."""
    accuracy: Interval | NoInterval
    """Share of the labelled items on which judge and people say the same yes or no, from 0.5 on a yes (Wilson)."""
    notes: tuple[str, ...]

    @property
    def best(self) -> PoweredMean | NoInterval | None:
        """PPI++ if there is one, else PPI, else the labels alone, else why there is no PPI."""
        return _best(self.means)


def _best(means: PoweredMeans | None) -> PoweredMean | NoInterval | None:
    if means is None:
        return None
    ways = (means.tuned, means.ppi, means.classical)
    return next((one for one in ways if isinstance(one, PoweredMean)), means.ppi)


@dataclass(frozen=True, kw_only=True)
class SystemDifference:
    """`b` minus `a`."""

    a: str
    b: str
    paired: bool
    """Over the same questions, most of them labelled in both; else as if the systems had nothing to do with each
    other."""
    labels: int
    interval: Interval | NoInterval


@dataclass(frozen=True, kw_only=True)
class SystemsReport:
    """Several systems side by side."""

    systems: tuple[SystemEstimate, ...]
    differences: tuple[SystemDifference, ...]
    ranking: tuple[Ranked, ...]
    """Of the systems that have an estimate, best first, with the ranks that the differences leave open."""
    tau: float | None
    """Kendall's tau-b of this order with the judge's own; None with fewer than 2 systems, or without any order."""
    level: float
    caution: str = ""
    """What all of it assumes and nothing here shows; empty if nothing."""


@dataclass(frozen=True, kw_only=True)
class KnownOrder:
    """The order of the systems as it is known from elsewhere, and how near the estimates and the judge come to it."""

    names: tuple[str, ...]
    """Best first; those of the systems that have an estimate."""
    tau: float | None
    """Kendall's tau-b of the estimates with it; None with fewer than 2 systems, or without any order."""
    judge: float | None
    """The same of the judge's means; None too if one of them has too few scores."""


def estimate_system(system: System, *, level: float = 0.95) -> SystemEstimate:
    """One system's mean by labels alone, judge alone, PPI and PPI++."""
    labels, judged, _ = system.arrays()
    agreement: Interval | NoInterval
    accuracy: Interval | NoInterval = NoInterval(reason="there are no labels to hold the judge against", n=0)
    coin = ""
    if labels.size:
        accuracy = wilson_interval(float(np.mean((judged >= CUT) == (labels >= CUT))), labels.size)
    if np.unique(judged).size < 2 or np.unique(labels).size < 2:
        agreement = NoInterval(reason="judge or people say one and the same throughout", n=labels.size)
        if np.unique(judged).size == 1 and np.unique(labels).size > 1:
            coin = f"the judge is no better than a coin: it says {judged[0]:g} of every labelled sample"
    else:
        agreement = correlation_interval(judged, labels, kind="pearson")
        if isinstance(agreement, Interval) and agreement.low <= 0:
            found = estimate_text(agreement.estimate, agreement, ".2f")
            coin = f"the judge is not shown to be better than a coin: its scores correlate with the labels by {found}"
    return SystemEstimate(
        name=system.name,
        items=len(system.scores),
        labels=labels.size,
        means=system.means(level),
        refusal=system.refusal,
        agreement=agreement,
        accuracy=accuracy,
        notes=(*system.notes, *filter(None, [coin])),
    )


def systems_report(systems: Sequence[System], *, level: float = 0.95) -> SystemsReport:
    """Estimates of all systems, the difference of each two, and their order."""
    estimates = tuple(estimate_system(system, level=level) for system in systems)
    return _ordered(estimates, systems, _difference, level=level)


def _ordered(
    estimates: tuple[SystemEstimate, ...],
    systems: Sequence[System],
    difference: Callable[[System, System, float], SystemDifference],
    *,
    level: float,
    caution: str = "",
) -> SystemsReport:
    """The report of these estimates, with the difference of each two that have one, and their order."""
    known = _estimates((one.name, one.best) for one in estimates)
    by_name = {system.name: system for system in systems if system.name in known}
    judged = [float(np.mean(list(by_name[name].scores.values()))) for name in known]
    return SystemsReport(
        systems=estimates,
        differences=tuple(difference(by_name[a], by_name[b], level) for a, b in combinations(by_name, 2)),
        ranking=rank_systems(known, lambda a, b, sure: difference(by_name[a], by_name[b], sure).interval, level=level),
        tau=_kendall(judged, list(known.values())),
        level=level,
        caution=caution,
    )


def _difference(a: System, b: System, level: float) -> SystemDifference:
    """Over the questions that both have, if most labels are on questions labelled in both; else as if unrelated.

    Fewer pairs say less than all the labels do; which way it is hangs on their number, never on what they say.
    """
    apart = b - a
    paired = _best(apart.means(level))
    shared = len(apart.labels) >= SHARED * min(len(a.labels), len(b.labels))
    if isinstance(paired, PoweredMean) and shared:
        return SystemDifference(a=a.name, b=b.name, paired=True, labels=paired.labels, interval=paired.clipped)
    ours, theirs = (_best(system.means(level)) for system in (a, b))
    if not isinstance(ours, PoweredMean) or not isinstance(theirs, PoweredMean):
        none = NoInterval(reason="one of the two has no estimate", n=0)
        return SystemDifference(a=a.name, b=b.name, paired=False, labels=0, interval=none)
    found = powered_difference(ours, theirs, bounds=apart.bounds)
    return SystemDifference(a=a.name, b=b.name, paired=False, labels=ours.labels + theirs.labels, interval=found)


def against_order(report: SystemsReport, order: Sequence[str]) -> KnownOrder:
    """How near the estimates come to an order that is known, best first. Raises ValueError for a name twice."""
    if len(set(order)) < len(order):
        raise ValueError(f"an order names each system once, got {', '.join(order)}")
    ours = _estimates([(one.name, one.best) for one in report.systems])
    judge = _estimates([(one.name, one.means.judge_only) for one in report.systems if one.means])
    names = [name for name in order if name in ours]
    places = [-float(place) for place, _ in enumerate(names)]
    return KnownOrder(
        names=tuple(names),
        tau=_kendall(places, [ours[name] for name in names]),
        judge=_kendall(places, [judge[name] for name in names]) if judge.keys() >= set(names) else None,
    )


def _estimates(found: Iterable[tuple[str, PoweredMean | NoInterval | None]]) -> dict[str, float]:
    """The estimates of those that have one."""
    return {name: one.interval.estimate for name, one in found if isinstance(one, PoweredMean)}


def _kendall(x: Sequence[float], y: Sequence[float]) -> float | None:
    return kendall(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else None


def pooled_report(systems: Sequence[System], *, level: float = 0.95) -> SystemsReport:
    """Each system corrected by the judge's errors on the usable labels of all: what ARES does with one labelled set.

    Only the full correction (weight 1, PPI) makes sense here: any smaller one draws every system towards the mean of
    the labels, which is that of no system. And one correction for all moves none past another. The judge's mean over
    all of a system's items and the correction count as independent, though some items are in both: for a judge that
    says yes or no this errs to the wide side.
    """
    pool = [one.arrays()[:2] for one in systems if one.labels and not one.refusal]
    if not pool:
        alone = tuple(estimate_system(system, level=level) for system in systems)
        return SystemsReport(systems=alone, differences=(), ranking=(), tau=None, level=level)
    labels, judged = (np.concatenate(side) for side in zip(*pool, strict=True))
    estimates = tuple(_pooled(system, labels, judged, level) for system in systems)
    return _ordered(estimates, systems, _pooled_difference, level=level, caution=CAUTION)


def _pooled(system: System, labels: Floats, judged: Floats, level: float) -> SystemEstimate:
    if not system.scores:
        return estimate_system(replace(system, refusal=_UNSCORED), level=level)
    unusable = (f"its own labels do not count: {system.refusal}",) if system.labels and system.refusal else ()
    scores = list(system.scores.values())
    found = powered_means(labels, judged, scores, bounds=system.bounds, design="separate", level=level)
    alone, drawn = (NoInterval(reason=reason, n=labels.size) for reason in (_OTHERS, _DRAWN))
    own = estimate_system(system, level=level)
    means = replace(found, classical=alone, tuned=drawn)
    return replace(own, means=means, refusal="", notes=(*own.notes, *unusable))


def _pooled_difference(a: System, b: System, level: float) -> SystemDifference:
    """Of the judge's scores: the correction is the same on both sides."""
    apart = b - a
    values = list(apart.scores.values())
    if values:
        found = mean_interval(moments(values), bounds=apart.bounds, level=level)
        return SystemDifference(a=a.name, b=b.name, paired=True, labels=0, interval=found)
    sides = [list(one.scores.values()) for one in (b, a)]
    found = group_difference(*sides, bounds=a.bounds, level=level).interval
    return SystemDifference(a=a.name, b=b.name, paired=False, labels=0, interval=found)
