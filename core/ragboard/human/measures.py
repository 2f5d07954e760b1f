"""A correlation, a kappa, an area: each with its interval, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ragboard.stats import CORRELATIONS, Interval, NoInterval, correlation_interval

__all__ = ["DRAWS", "Correlations", "Measure", "correlations", "measure"]

DRAWS = 1000
"""Of each interval, of which a report has many."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number and how far it can be trusted."""

    value: float | None
    """None where it is not defined; the interval then says why."""
    interval: Interval | NoInterval


@dataclass(frozen=True, kw_only=True)
class Correlations:
    """How two lists of numbers go together, from -1 to 1."""

    n: int
    pearson: Measure
    spearman: Measure
    kendall: Measure
    """Tau-b."""


def measure(value: Callable[[], float], interval: Callable[[], Interval | NoInterval]) -> Measure:
    """Both, or why they are not defined: what they raise as ValueError."""
    try:
        return Measure(value=value(), interval=interval())
    except ValueError as error:
        return Measure(value=None, interval=NoInterval(reason=str(error), n=0))


def correlations(x: Sequence[float], y: Sequence[float], groups: Sequence[Hashable], seed: int) -> Correlations:
    """All three with intervals that draw whole groups of rows."""
    found = {kind: _correlation(kind, x, y, groups, seed) for kind in CORRELATIONS}
    return Correlations(n=len(x), **found)


def _correlation(kind: str, x: Sequence[float], y: Sequence[float], groups: Sequence[Hashable], seed: int) -> Measure:
    return measure(
        lambda: CORRELATIONS[kind](x, y),
        lambda: correlation_interval(x, y, kind=kind, groups=groups, seed=seed, draws=DRAWS),
    )
