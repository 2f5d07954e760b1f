"""Pairwise accuracy: how often the preferred candidate has the higher score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ragboard.stats.bootstrap import clustered_interval
from ragboard.stats.checks import finite_array
from ragboard.stats.intervals import Interval, NoInterval, wilson_interval
from ragboard.stats.paired import SignTest, sign_test

__all__ = ["Pair", "PairwiseAccuracy", "Ties", "mcnemar_test", "outcomes", "pairwise_accuracy"]

Ties = Literal["random", "half", "loss", "exclude"]
"""How a pair with equal scores counts: as a win or a loss at random, as half a win, as a loss, or not at all."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The scores of two candidates, of which annotators prefer one. None is a missing score."""

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
    """Number of pairs with equal scores, even if `policy` excludes them."""
    losses: int
    unscored: int
    """Number of pairs with a missing score; they do not count."""
    policy: Ties
    """How ties count."""
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
    """Return the accuracy with Wilson's interval and a bootstrap interval; `ties` says how equal scores count.

    `groups` maps the id of each pair to its cluster, such as its question. If pairs share a cluster, only the bootstrap
    interval is valid. Raises ValueError for an id that occurs twice.
    """
    counted = {name: value for name, value in outcomes(pairs, ties=ties, seed=seed).items() if value is not None}
    scored = [(pair.preferred, pair.other) for pair in pairs if pair.preferred is not None and pair.other is not None]
    values = np.array(list(counted.values()))
    no_interval = NoInterval(reason="no pair counts", n=0)
    accuracy = float(values.mean()) if values.size else None
    clusters = [groups[name] for name in counted] if groups is not None else range(len(counted))
    return PairwiseAccuracy(
        accuracy=accuracy,
        wilson=no_interval if accuracy is None else wilson_interval(accuracy, values.size, level=level),
        bootstrap=clustered_interval(lambda rows: float(values[rows].mean()), clusters, level=level, seed=seed)
        if values.size
        else no_interval,
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
    """Return {id: outcome}: 1 for a win, 0 for a loss, None if the pair does not count.

    Equal scores give 0 or 1 at random, 0.5, 0 or None, depending on `ties`. The random outcome depends on the seed and
    the pair's id, not on the order of the pairs. Raises ValueError for an id that occurs twice.
    """
    finite_array([score for pair in pairs for score in (pair.preferred, pair.other) if score is not None], "scores")
    by_pair = {pair.id: _outcome(pair, ties, seed) for pair in pairs}
    if len(by_pair) < len(pairs):
        raise ValueError("two pairs have the same id")
    return by_pair


def mcnemar_test(
    first: Mapping[str, float | None],
    second: Mapping[str, float | None],
    *,
    groups: Mapping[str, Hashable] | None = None,
) -> SignTest:
    """Compare the outcomes of two scorers by McNemar's exact test, on the pairs that count for both.

    `first` and `second` map ids of pairs to outcomes (see `outcomes`). A win is a pair in which the second scorer has
    the higher outcome. `groups` maps the id of each pair to its cluster, if pairs are clustered. p is then computed
    over clusters; a cluster is a win if the second scorer has the higher sum of outcomes.
    """
    gains = {
        name: after - before
        for name, before in first.items()
        if before is not None and (after := second.get(name)) is not None
    }
    finite_array(list(gains.values()), "gains")
    test = _sign_test(gains.values())
    if groups is None:
        return test
    by_group: defaultdict[Hashable, float] = defaultdict(float)
    for name, gain in gains.items():
        by_group[groups[name]] += gain
    return replace(test, p=_sign_test(by_group.values()).p, method="exact sign test of clusters")


def _sign_test(gains: Iterable[float]) -> SignTest:
    all_gains = list(gains)
    return sign_test(sum(gain > 0 for gain in all_gains), sum(gain < 0 for gain in all_gains))


def _outcome(pair: Pair, ties: Ties, seed: int) -> float | None:
    if pair.preferred is None or pair.other is None:
        return None
    if pair.preferred != pair.other:
        return float(pair.preferred > pair.other)
    return {"random": _coin(pair.id, seed), "half": 0.5, "loss": 0.0, "exclude": None}[ties]


def _coin(name: str, seed: int) -> float:
    return float(np.random.default_rng([seed, *name.encode("utf-8")]).integers(2))
