"""Distribution functions: normal, Student's t, beta and symmetric binomial."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

__all__ = [
    "beta_cdf",
    "beta_quantile",
    "fair_coin_cdf",
    "normal_cdf",
    "normal_quantile",
    "t_cdf",
    "t_quantile",
    "two_sided_t_p",
]


def normal_quantile(p: float) -> float:
    """Return the quantile of the standard normal distribution at p in (0, 1)."""
    return NormalDist().inv_cdf(p)


def normal_cdf(x: float) -> float:
    """Return P(Z <= x) for a standard normal variable."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def fair_coin_cdf(count: int, n: int) -> float:
    """Return P(X <= count), where X is the number of heads in n >= 0 tosses of a fair coin."""
    from scipy import special

    return 1.0 if count >= n else float(special.bdtr(count, n, 0.5))


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return P(X <= x) for a beta(a, b) variable; a, b > 0."""
    from scipy import special

    return float(special.betainc(a, b, x))


@lru_cache(maxsize=4096)
def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the quantile of beta(a, b) at p in (0, 1); a, b > 0."""
    from scipy import special

    return float(special.betaincinv(a, b, p))


def t_cdf(x: float, df: float) -> float:
    """Return P(T <= x) for Student's t with df > 0 degrees of freedom."""
    from scipy import special

    return float(special.stdtr(df, x))


def two_sided_t_p(t: float, df: float) -> float:
    """Return P(|T| >= |t|) for Student's t with df > 0; very small probabilities are not rounded to 0."""
    return 2 * t_cdf(-abs(t), df)


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return the quantile of Student's t with df > 0 at p in (0, 1)."""
    from scipy import special

    return float(special.stdtrit(df, p))
