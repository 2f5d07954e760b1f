"""Rank systems, and say how uncertain each rank is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragboard.stats.checks import FloatArray, finite_array
from ragboard.stats.intervals import Interval, NoInterval
from ragboard.stats.ppi import PpiEstimates, PpiMoments, binary_ppi_moments, half_width, ppi_estimates

__all__ = ["MethodResult", "Ranked", "RankingSimulation", "rank_systems", "simulate_ranking"]

MOCK_RATES = tuple(0.7 + 0.025 * step for step in range(9))
"""Success rates of the nine mock systems of ARES (Saad-Falcon et al. 2023): 70% to 90% in steps of 2.5 points."""


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """The rank of a system, with its uncertainty."""

    name: str
    estimate: float
    rank: int
    """Rank by estimate, 1 is the highest; equal estimates share the better rank."""
    best: int
    """The best rank that the differences from the other systems allow."""
    worst: int
    """The worst rank that the differences from the other systems allow."""
    level: float
    """Confidence level at which all systems have their true ranks between `best` and `worst`."""


@dataclass(frozen=True, kw_only=True)
class MethodResult:
    """How well one method ranks systems, over many simulated repetitions."""

    name: str
    tau: float
    """Mean Kendall's tau-b of estimated and true order. A repetition in which all estimates are tied counts as 0."""
    tau_error: float
    """Monte Carlo standard error of the mean."""
    tau_low: float
    """2.5% quantile of tau over repetitions."""
    tau_high: float
    """97.5% quantile of tau over repetitions."""
    coverage: float
    """Share of the intervals of all systems and repetitions that contain the true rate."""


@dataclass(frozen=True, kw_only=True)
class RankingSimulation:
    """A simulation of systems with known success rates, ranked by several methods."""

    methods: tuple[MethodResult, ...]
    """Results of the judge alone, labels alone, PPI and PPI++."""
    rates: tuple[float, ...]
    """True success rate of each system."""
    sensitivity: tuple[float, ...]
    """The judge's sensitivity for each system."""
    specificity: tuple[float, ...]
    """The judge's specificity for each system."""
    labels: int
    """Number of labelled items of each system."""
    items: int
    """Number of judged items of each system."""
    repeats: int
    """Number of simulated repetitions."""
    seed: int
    level: float


def rank_systems(
    estimates: Mapping[str, float],
    difference: Callable[[str, str, float], Interval | NoInterval],
    *,
    level: float = 0.95,
) -> tuple[Ranked, ...]:
    """Rank systems by estimate, highest first, with the best and the worst rank that each may have.

    `difference(a, b, level)` returns the interval of b minus a. It is called for every pair of systems, at a level
    adjusted for the number of pairs (Bonferroni). The best rank of a system is 1 + the number of systems that are
    significantly above it (Mogstad et al. 2024). A difference without an interval counts as not significant. Raises
    ValueError for NaN.
    """
    finite_array(list(estimates.values()), "estimates")
    names = sorted(estimates, key=lambda name: -estimates[name])
    pairs = [(a, b) for index, a in enumerate(names) for b in names[index + 1 :]]
    adjusted_level = 1 - (1 - level) / max(1, len(pairs))
    above = dict.fromkeys(names, 0)
    below = dict.fromkeys(names, 0)
    for a, b in pairs:
        interval = difference(a, b, adjusted_level)
        if isinstance(interval, NoInterval) or interval.low <= 0 <= interval.high:
            continue
        higher, lower = (a, b) if interval.high < 0 else (b, a)
        above[lower] += 1
        below[higher] += 1
    return tuple(
        Ranked(
            name=name,
            estimate=estimates[name],
            rank=1 + sum(other > estimates[name] for other in estimates.values()),
            best=1 + above[name],
            worst=len(names) - below[name],
            level=level,
        )
        for name in names
    )


def simulate_ranking(
    *,
    rates: Sequence[float] = MOCK_RATES,
    sensitivity: float | Sequence[float] = 0.9,
    specificity: float | Sequence[float] = 0.9,
    labels: int = 300,
    items: int = 4421,
    repeats: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> RankingSimulation:
    """Simulate systems with known success rates, and compare how well each method ranks them.

    For each system, the judge scores `items` items, of which a random subset of `labels` items has labels.
    `sensitivity` is the probability that the judge accepts a success, `specificity` that it rejects a failure, each as
    one number for all systems or one per system. Raises ValueError if their numbers differ from the number of `rates`,
    and for fewer than 3 labels or fewer than 2 items without a label.
    """
    if not 3 <= labels <= items - 2:
        raise ValueError(f"needs at least 3 labels and 2 items without one, got {labels} labels and {items} items")
    truth = np.asarray(rates, dtype=float)
    sensitivities, specificities = _broadcast_rates(sensitivity, truth.size), _broadcast_rates(specificity, truth.size)
    moments = _draw_moments(truth, sensitivities, specificities, labels, items, repeats, seed)
    methods = {
        "judge alone": _judge_alone(moments),
        "labels alone": ppi_estimates(moments, design="subset", weight=0.0),
        "PPI": ppi_estimates(moments, design="subset", weight=1.0),
        "PPI++": ppi_estimates(moments, design="subset", weight=None),
    }
    return RankingSimulation(
        methods=tuple(_method_result(name, estimates, truth, level) for name, estimates in methods.items()),
        rates=tuple(truth.tolist()),
        sensitivity=tuple(sensitivities.tolist()),
        specificity=tuple(specificities.tolist()),
        labels=labels,
        items=items,
        repeats=repeats,
        seed=seed,
        level=level,
    )


def _broadcast_rates(value: float | Sequence[float], count: int) -> FloatArray:
    values = np.broadcast_to(np.asarray(value, dtype=float), (count,))
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("sensitivity and specificity must be between 0 and 1")
    return values


def _draw_moments(
    truth: FloatArray, sensitivity: FloatArray, specificity: FloatArray, n: int, items: int, repeats: int, seed: int
) -> PpiMoments:
    """Draw labels and verdicts; the arrays of the result have the shape repetitions x systems."""
    rng = np.random.default_rng(seed)
    both = truth * sensitivity
    only_judge = (1 - truth) * (1 - specificity)
    only_person = truth * (1 - sensitivity)
    neither = np.maximum(1 - both - only_judge - only_person, 0)
    shares = np.stack([both, only_judge, only_person, neither], axis=-1)
    cells = rng.multinomial(n, shares, (repeats, truth.size)).astype(float)
    rest = rng.binomial(items - n, both + only_judge, (repeats, truth.size)).astype(float)
    return binary_ppi_moments(
        both=cells[..., 0], only_judge=cells[..., 1], only_person=cells[..., 2], n=n, rest=rest, m=items - n
    )


def _judge_alone(moments: PpiMoments) -> PpiEstimates:
    size = moments.n + moments.m
    estimate = (moments.n * moments.judged + moments.m * moments.rest) / size
    error = np.sqrt(estimate * (1 - estimate) / (size - 1))
    return PpiEstimates(
        estimate=estimate, error=error, df=np.full_like(estimate, size - 1), weight=np.ones_like(estimate)
    )


def _method_result(name: str, estimates: PpiEstimates, truth: FloatArray, level: float) -> MethodResult:
    taus = _taus(estimates.estimate, truth)
    covered = np.abs(estimates.estimate - truth) <= half_width(estimates, level) + 1e-12
    return MethodResult(
        name=name,
        tau=float(taus.mean()),
        tau_error=float(taus.std(ddof=1)) / math.sqrt(taus.size) if taus.size > 1 else math.inf,
        tau_low=float(np.quantile(taus, 0.025)),
        tau_high=float(np.quantile(taus, 0.975)),
        coverage=float(covered.mean()),
    )


def _taus(estimates: FloatArray, truth: FloatArray) -> FloatArray:
    """Return Kendall's tau-b between each row of estimates and the truth."""
    first, second = np.triu_indices(truth.size, k=1)
    estimated = np.sign(np.round(estimates[:, first] - estimates[:, second], 12))
    true = np.sign(np.round(truth[first] - truth[second], 12))
    untied = np.sqrt((estimated != 0).sum(axis=1) * float((true != 0).sum()))
    return (estimated @ true) / np.where(untied > 0, untied, 1.0)
