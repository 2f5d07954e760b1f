"""Systems estimated and ordered by a judge's scores put right by people's labels.

Saad-Falcon et al. 2024 (ARES), arXiv 2311.09476, section 3.3; Angelopoulos et al. 2023, Science 382, and
2023, arXiv 2311.01453 (PPI++).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    kendall,
    powered_difference,
    powered_means,
    rank_systems,
)

__all__ = ["System", "SystemDifference", "SystemEstimate", "SystemsReport", "estimate_system", "systems_report"]

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
    """Why these labels must not be used for an estimate; empty where they may."""
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class SystemEstimate:
    """One system's mean, estimated in four ways."""

    name: str
    items: int
    labels: int
    means: PoweredMeans | None
    """None where there are no labels, or they must not be used."""
    refusal: str
    agreement: Interval | NoInterval
    """Pearson's correlation of the judge's scores with the labels, over the items that have both."""
    same: float | None
    """Share of labelled items on which judge and people say the same number; None without labels."""
    notes: tuple[str, ...]

    @property
    def best(self) -> PoweredMean | NoInterval | None:
        """PPI++ where there is one, else the labels alone."""
        if self.means is None:
            return None
        return self.means.tuned if isinstance(self.means.tuned, PoweredMean) else self.means.classical


@dataclass(frozen=True, kw_only=True)
class SystemDifference:
    """`b` less `a`."""

    a: str
    b: str
    paired: bool
    """Over the same questions, labelled in both; else as if the systems had nothing to do with each other."""
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


def estimate_system(system: System, *, level: float = 0.95) -> SystemEstimate:
    """One system's mean by labels alone, judge alone, PPI and PPI++."""
    labels, judged, rest = _arrays(system)
    means = None
    if system.labels and not system.refusal:
        means = powered_means(labels, judged, rest, bounds=system.bounds, level=level)
    agreement = _agreement(judged, labels)
    return SystemEstimate(
        name=system.name,
        items=len(system.scores),
        labels=labels.size,
        means=means,
        refusal=system.refusal,
        agreement=agreement,
        same=float(np.mean(np.isclose(labels, judged))) if labels.size else None,
        notes=(*system.notes, *_coin(agreement)),
    )


def systems_report(systems: Sequence[System], *, level: float = 0.95) -> SystemsReport:
    """Estimates of all systems, the difference of each two, and their order."""
    estimates = [estimate_system(system, level=level) for system in systems]
    known = {one.name: one.best.interval.estimate for one in estimates if isinstance(one.best, PoweredMean)}
    by_name = {system.name: system for system in systems}
    differences = [
        _difference(by_name[a], by_name[b], level)
        for a, b in combinations([name for name in by_name if name in known], 2)
    ]
    ranking = rank_systems(known, lambda a, b, sure: _difference(by_name[a], by_name[b], sure).interval, level=level)
    return SystemsReport(
        systems=tuple(estimates),
        differences=tuple(differences),
        ranking=ranking,
        tau=_tau(known, by_name),
        level=level,
    )


def _arrays(system: System) -> tuple[Floats, Floats, Floats]:
    """Labels, the judge's scores of the same items, and those of the others."""
    both = [key for key in system.labels if key in system.scores]
    rest = [score for key, score in system.scores.items() if key not in system.labels]
    labels = np.array([system.labels[key] for key in both], dtype=float)
    return labels, np.array([system.scores[key] for key in both], dtype=float), np.array(rest, dtype=float)


def _difference(a: System, b: System, level: float) -> SystemDifference:
    """Over the questions that both have, where enough of them are labelled in both; else as of strangers."""
    apart = System(
        name=f"{b.name} less {a.name}",
        scores={key: score - a.scores[key] for key, score in b.scores.items() if key in a.scores},
        labels={key: label - a.labels[key] for key, label in b.labels.items() if key in a.labels},
        bounds=(a.bounds[0] - b.bounds[1], b.bounds[1] - a.bounds[0]),
    )
    paired = estimate_system(apart, level=level).best
    if isinstance(paired, PoweredMean):
        return SystemDifference(a=a.name, b=b.name, paired=True, labels=paired.labels, interval=paired.clipped)
    ours, theirs = (estimate_system(system, level=level).best for system in (a, b))
    if not isinstance(ours, PoweredMean) or not isinstance(theirs, PoweredMean):
        none = NoInterval(reason="one of the two has no estimate", n=0)
        return SystemDifference(a=a.name, b=b.name, paired=False, labels=0, interval=none)
    found = powered_difference(ours, theirs, bounds=apart.bounds)
    return SystemDifference(a=a.name, b=b.name, paired=False, labels=ours.labels + theirs.labels, interval=found)


def _tau(known: Mapping[str, float], systems: Mapping[str, System]) -> float | None:
    if len(known) < 2:
        return None
    judge = [float(np.mean(list(systems[name].scores.values()))) for name in known]
    ours = list(known.values())
    return kendall(judge, ours) if len(set(judge)) > 1 and len(set(ours)) > 1 else None


def _agreement(judged: Floats, labels: Floats) -> Interval | NoInterval:
    if np.unique(judged).size < 2 or np.unique(labels).size < 2:
        return NoInterval(reason="judge or people say one and the same throughout", n=labels.size)
    return correlation_interval(judged, labels, kind="pearson")


def _coin(agreement: Interval | NoInterval) -> tuple[str, ...]:
    if isinstance(agreement, Interval) and agreement.low <= 0:
        found = f"{agreement.estimate:.2f} [{agreement.low:.2f}, {agreement.high:.2f}]"
        return (f"the judge is not shown to be better than a coin: its scores correlate with the labels by {found}",)
    return ()
