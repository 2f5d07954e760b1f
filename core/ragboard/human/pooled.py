"""Systems put right by one set of labels, those of all of them together: what ARES does with a single labelled set.

Only the full correction (weight 1, PPI) makes sense here: any smaller one draws every system towards the mean of the
labels, which is that of no system. And one correction for all moves none past another. The judge's mean over all of a
system's items and the correction count as independent, though some items are in both: for a judge that says yes or
no this errs to the wide side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ragboard.human.systems import (
    Floats,
    System,
    SystemDifference,
    SystemEstimate,
    SystemsReport,
    arrays_of,
    difference_of,
    estimate_system,
    judge_order,
    means_found,
)
from ragboard.stats import (
    NoInterval,
    group_difference,
    mean_interval,
    moments,
    powered_means,
    rank_systems,
)

__all__ = ["CAUTION", "pooled_report"]

CAUTION = (
    "the labels of all runs correct each of them: that is right only where the judge's mean error is the same in all,"
    " which nothing here shows and runs that are not equally good rarely have; differences and ranks are those of the"
    " judge"
)
_OTHERS = "the labels are of several runs, and without the judge say nothing of one of them"
_UNSCORED = "no sample of this run has a score"
_DRAWN = "a weight below 1 would draw each run towards the mean label of all"


def pooled_report(systems: Sequence[System], *, level: float = 0.95) -> SystemsReport:
    """Each system's judge put right by the errors it makes on the labels, that may be used, of all of them."""
    pool = [arrays_of(one)[:2] for one in systems if _usable(one)]
    if not pool:
        alone = tuple(estimate_system(system, level=level) for system in systems)
        return SystemsReport(systems=alone, differences=(), ranking=(), tau=None, level=level)
    labels, judged = (np.concatenate(side) for side in zip(*pool, strict=True))
    estimates = tuple(_pooled(system, labels, judged, level) for system in systems)
    known = means_found((one.name, one.best) for one in estimates)
    by_name = {system.name: system for system in systems if system.name in known}
    return SystemsReport(
        systems=estimates,
        differences=tuple(_difference(by_name[a], by_name[b], level) for a, b in combinations(by_name, 2)),
        ranking=rank_systems(known, lambda a, b, sure: _difference(by_name[a], by_name[b], sure).interval, level=level),
        tau=judge_order(known, by_name),
        level=level,
        caution=CAUTION,
    )


def _usable(system: System) -> bool:
    return bool(system.labels) and not system.refusal


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


def _difference(a: System, b: System, level: float) -> SystemDifference:
    """Of the judge's scores: the correction is the same on both sides."""
    apart = difference_of(a, b)
    values = list(apart.scores.values())
    if values:
        found = mean_interval(moments(values), bounds=apart.bounds, level=level)
        return SystemDifference(a=a.name, b=b.name, paired=True, labels=0, interval=found)
    sides = [list(one.scores.values()) for one in (b, a)]
    found = group_difference(*sides, bounds=a.bounds, level=level).interval
    return SystemDifference(a=a.name, b=b.name, paired=False, labels=0, interval=found)
