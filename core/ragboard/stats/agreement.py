"""How well scores and labels agree with what people said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import TypeVar

__all__ = ["auroc", "confusion"]

L = TypeVar("L", bound=Hashable)


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The share of (positive, negative) pairs in which the positive has the higher score; a tie counts half.

    The area under the ROC curve, by ranks (Mann and Whitney 1947): from 0 to 1, 0.5 is a coin. Raises
    ValueError where there is no pair, or where the lengths differ.
    """
    pairs = sorted(zip(scores, positive, strict=True))
    positives = sum(positive)
    negatives = len(pairs) - positives
    if not positives or not negatives:
        raise ValueError(f"needs at least one of each, got {positives} positive and {negatives} negative")
    below, wins = 0, 0.0
    for _, tied in groupby(pairs, key=lambda pair: pair[0]):
        group = [is_positive for _, is_positive in tied]
        ups = sum(group)
        downs = len(group) - ups
        wins += ups * (below + downs / 2)
        below += downs
    return wins / (positives * negatives)


def confusion(said: Sequence[L], truth: Sequence[L]) -> dict[tuple[L, L], int]:
    """How often each (truth, said) occurs. Raises ValueError where the lengths differ."""
    return dict(Counter(zip(truth, said, strict=True)))
