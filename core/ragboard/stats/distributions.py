"""The normal, Student's t, the beta and the symmetric binomial distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

__all__ = ["beta_quantile", "coin_tail", "normal_cdf", "normal_quantile", "t_cdf", "t_quantile"]


def normal_quantile(p: float) -> float:
    """The value below which a standard normal variable falls with probability p in (0, 1)."""
    return NormalDist().inv_cdf(p)


def normal_cdf(x: float) -> float:
    """P(Z <= x) for a standard normal variable."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def coin_tail(count: int, n: int) -> float:
    """P(X <= count) for the number of heads X in n >= 0 tosses of a fair coin."""
    return 1.0 if count >= n else _incomplete_beta(n - count, count + 1, 0.5)


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which a beta(a, b) variable falls with probability p in (0, 1); a, b > 0."""
    return _bisect(lambda x: _incomplete_beta(a, b, x) < p, 0.0, 1.0)


def t_cdf(x: float, df: float) -> float:
    """P(T <= x) for Student's t with df > 0 degrees of freedom.

    By the incomplete beta function: Abramowitz and Stegun 26.7.1.
    """
    square = x * x
    if square < df:
        near = 0.5 * _incomplete_beta(0.5, df / 2, square / (df + square))
        return 0.5 + math.copysign(near, x)
    tail = 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + square))
    return 1 - tail if x > 0 else tail


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The value below which Student's t falls with probability p in (0, 1); df > 0."""
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -t_quantile(1 - p, df)
    high = 1.0
    while t_cdf(high, df) < p:
        high *= 2
    return _bisect(lambda x: t_cdf(x, df) < p, 0.0, high)


def _bisect(below: Callable[[float], bool], low: float, high: float) -> float:
    """The place between low and high where `below` turns from true to false."""
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) for x in [0, 1]."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _continued_fraction(a, b, x) / a


def _continued_fraction(a: float, b: float, x: float) -> float:
    """The fraction of Abramowitz and Stegun 26.5.8, by the modified Lentz method."""
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1 / _away_from_zero(1 + step * d, tiny)
            c = _away_from_zero(1 + step / c, tiny)
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
