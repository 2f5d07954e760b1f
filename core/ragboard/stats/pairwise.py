"""Pairwise accuracy: how often the preferred candidate has the higher score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ragboard.stats.bootstrap import clustered_interval
from ragboard.stats.checks import numbers
from ragboard.stats.intervals import Interval, NoInterval, wilson_interval
from ragboard.stats.paired import SignTest, sign_test

__all__ = ["Pair", "PairwiseAccuracy", "Ties", "compare_contenders", "outcomes", "pairwise_accuracy"]

Ties = Literal["random", "half", "loss", "exclude"]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The scores of two candidates, one of them preferred by annotators; None is a missing score."""

    id: str
    preferred: float | None
    other: float | None


@dataclass(frozen=True, kw_only=True)
class PairwiseAccuracy:
    """The share of pairs in which the preferred candidate has the higher score."""

    accuracy: float | None
    """Accuracy; None if no pair counts."""
    wilson: Interval | NoInterval
    bootstrap: Interval | NoInterval
    """Bootstrap interval over pairs, or over groups of pairs."""
    n: int
    """Number of pairs that count."""
    wins: int
    ties: int
    """Number of pairs with equal scores, whatever the policy."""
    losses: int
    unscored: int
    """Number of pairs with a missing score; they never count."""
    policy: Ties
    seed: int
    level: float


def pairwise_accuracy(
    pairs: Sequence[Pair],
    *,
    ties: Ties = "random",
    seed: int = 0,
    groups: Mapping[str, Hashable] | None = None,
    level: float = 0.95,
) -> PairwiseAccuracy:
    """Return the accuracy with Wilson's and a bootstrap interval; `ties` says how equal scores count.

    `groups` gives the group of each pair by id, for pairs that depend on each other (the same question, for example);
    the bootstrap interval is then the valid one. Raises ValueError for an id that occurs twice.
    """
    won = {name: value for name, value in outcomes(pairs, ties=ties, seed=seed).items() if value is not None}
    scored = [(pair.preferred, pair.other) for pair in pairs if pair.preferred is not None and pair.other is not None]
    values = np.array(list(won.values()))
    nothing = NoInterval(reason="no pair counts", n=0)
    accuracy = float(values.mean()) if values.size else None
    clusters = [groups[name] for name in won] if groups is not None else range(len(won))
    return PairwiseAccuracy(
        accuracy=accuracy,
        wilson=nothing if accuracy is None else wilson_interval(accuracy, values.size, level=level),
        bootstrap=clustered_interval(lambda rows: float(values[rows].mean()), clusters, level=level, seed=seed)
        if values.size
        else nothing,
        n=values.size,
        wins=sum(preferred > other for preferred, other in scored),
        ties=sum(preferred == other for preferred, other in scored),
        losses=sum(preferred < other for preferred, other in scored),
        unscored=len(pairs) - len(scored),
        policy=ties,
        seed=seed,
        level=level,
    )


def outcomes(pairs: Sequence[Pair], *, ties: Ties = "random", seed: int = 0) -> dict[str, float | None]:
    """Return the outcome of each pair by id: 1 for a win, 0 for a loss, between for a tie; None if it does not count.

    Random ties depend only on the seed and the pair's id, not on the order of the pairs. Raises ValueError
    for an id that occurs twice.
    """
    numbers([score for pair in pairs for score in (pair.preferred, pair.other) if score is not None], "scores")
    found = {pair.id: _outcome(pair, ties, seed) for pair in pairs}
    if len(found) < len(pairs):
        raise ValueError("two pairs have the same id")
    return found


def compare_contenders(
    first: Mapping[str, float | None],
    second: Mapping[str, float | None],
    *,
    groups: Mapping[str, Hashable] | None = None,
) -> SignTest:
    """Return McNemar's exact test on the pairs that count for both; a win is a pair that only the second got right.

    Half a win counts as better than a loss and worse than a win. `groups` gives the group of each pair by id, for pairs
    that depend on each other; p is then over groups, and a group is won if the second has more wins in it.
    """
    gains = {
        name: after - before
        for name, before in first.items()
        if before is not None and (after := second.get(name)) is not None
    }
    numbers(list(gains.values()), "gains")
    found = _signs(gains.values())
    if groups is None:
        return found
    by_group: defaultdict[Hashable, float] = defaultdict(float)
    for name, gain in gains.items():
        by_group[groups[name]] += gain
    return replace(found, p=_signs(by_group.values()).p, method="exact sign test of clusters")


def _signs(gains: Iterable[float]) -> SignTest:
    known = list(gains)
    return sign_test(sum(gain > 0 for gain in known), sum(gain < 0 for gain in known))


def _outcome(pair: Pair, ties: Ties, seed: int) -> float | None:
    if pair.preferred is None or pair.other is None:
        return None
    if pair.preferred != pair.other:
        return float(pair.preferred > pair.other)
    return {"random": _coin(pair.id, seed), "half": 0.5, "loss": 0.0, "exclude": None}[ties]


def _coin(name: str, seed: int) -> float:
    return float(np.random.default_rng([seed, *name.encode("utf-8")]).integers(2))
