"""A judge's mean put right by labels: the estimate and its variance from moments.

With label y and judge's score f of the n labelled items, and f of the M that have no label, the estimate is

    mean(y) - weight * share * (mean(f, labelled) - mean(f, rest))

where share is M / (n + M) if the labelled items are a random part of those that were judged (`subset`), so that
the judge's mean is taken over all of them, and 1 if they are a set of their own (`separate`). Weight 1 is
prediction-powered inference (Angelopoulos et al. 2023, Science 382), the weight with the least variance is PPI++
(Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453), weight 0 is the classical mean of the labels. The two parts
of the variance, of y - weight * share * f over the labelled and of weight * share * f over the rest,
come from different items and add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragboard.stats.distributions import t_quantile
from ragboard.stats.intervals import Floats

__all__ = ["Design", "Parts", "Solved", "binary_parts", "half_width", "parts_of", "solve"]

Design = Literal["subset", "separate"]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The moments that an estimate needs; numbers, or arrays of one shape for many estimates at once.

    Variances have n - 1. `*_rest` is of the judge's scores of the items without label.
    """

    n: int
    m: int
    label: Floats
    judged: Floats
    rest: Floats
    label_variance: Floats
    judged_variance: Floats
    covariance: Floats
    rest_variance: Floats


@dataclass(frozen=True, kw_only=True)
class Solved:
    """Estimates, their standard errors, degrees of freedom (Welch, rounded down) and weights; shaped as the parts."""

    estimate: Floats
    error: Floats
    df: Floats
    weight: Floats


def solve(parts: Parts, *, design: Design, weight: float | None) -> Solved:
    """The estimate with the weight given, or with the weight between 0 and 1 that has the least variance.

    The latter was found in the same labels, which makes their variance look too small: it is counted as that of
    a regression with its slope unknown, by (n - 1) / (n - 2) and 1 + 1 / n. Where that leaves no gain, the
    weight is 0.
    """
    share = parts.m / (parts.n + parts.m) if design == "subset" else 1.0
    if weight is not None:
        return _solved(parts, np.full_like(parts.label, weight * share), share, 1.0)
    n = parts.n
    tuned = _solved(parts, _best(parts, share), share, (n - 1) / (n - 2) * (1 + 1 / n))
    plain = _solved(parts, np.zeros_like(parts.label), share, 1.0)
    gains = tuned.error < plain.error
    return Solved(
        estimate=np.where(gains, tuned.estimate, plain.estimate),
        error=np.where(gains, tuned.error, plain.error),
        df=np.where(gains, tuned.df, plain.df),
        weight=np.where(gains, tuned.weight, plain.weight),
    )


def _best(parts: Parts, share: float) -> Floats:
    """The weight times the share that has the least variance."""
    spread = parts.judged_variance / parts.n + parts.rest_variance / parts.m
    slope = parts.covariance / parts.n / np.where(spread > 0, spread, 1.0)
    return np.clip(np.where(spread > 0, slope, 0.0), 0.0, share)


def _solved(parts: Parts, used: Floats, share: float, penalty: float) -> Solved:
    labelled = parts.label_variance - 2 * used * parts.covariance + used**2 * parts.judged_variance
    ours = penalty * np.maximum(labelled, 0.0) / parts.n
    theirs = used**2 * parts.rest_variance / parts.m
    total = ours + theirs
    welch = ours**2 / (parts.n - 1) + theirs**2 / (parts.m - 1)
    return Solved(
        estimate=parts.label - used * (parts.judged - parts.rest),
        error=np.sqrt(total),
        df=np.floor(np.where(welch > 0, total**2 / np.where(welch > 0, welch, 1.0), parts.n - 1.0) + 1e-9),
        weight=used / share,
    )


def half_width(solved: Solved, level: float) -> Floats:
    """From each estimate to the bounds of its interval, by Student's t."""
    different, places = np.unique(solved.df, return_inverse=True)
    quantiles = np.array([t_quantile((1 + level) / 2, float(df)) for df in different])
    return quantiles[places].reshape(np.shape(solved.error)) * solved.error


def parts_of(labels: Floats, judged: Floats, rest: Floats) -> Parts:
    """The moments of at least 2 labelled and 2 other items."""
    return Parts(
        n=labels.size,
        m=rest.size,
        label=labels.mean(),
        judged=judged.mean(),
        rest=rest.mean(),
        label_variance=labels.var(ddof=1),
        judged_variance=judged.var(ddof=1),
        covariance=np.cov(labels, judged)[0, 1],
        rest_variance=rest.var(ddof=1),
    )


def binary_parts(*, both: Floats, judge_alone: Floats, person_alone: Floats, n: int, rest: Floats, m: int) -> Parts:
    """The moments of yes and no: how many of n have both yeses, only one, and how many of m the judge's yes."""
    label, judged, others = (both + person_alone) / n, (both + judge_alone) / n, rest / m
    unbiased = n / (n - 1)
    return Parts(
        n=n,
        m=m,
        label=label,
        judged=judged,
        rest=others,
        label_variance=unbiased * label * (1 - label),
        judged_variance=unbiased * judged * (1 - judged),
        covariance=unbiased * (both / n - label * judged),
        rest_variance=m / (m - 1) * others * (1 - others),
    )
