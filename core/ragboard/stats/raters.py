"""Intervals of how well raters agree, where what they rated comes in groups."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from ragboard.stats.agreement import Scale, Weights, alpha_of, category_distances, coincidences, kappa_of
from ragboard.stats.bootstrap import Rows, clustered_interval
from ragboard.stats.intervals import Interval, NoInterval

__all__ = ["alpha_interval", "kappa_interval"]

L = TypeVar("L", bound=Hashable)


def kappa_interval(
    first: Sequence[L],
    second: Sequence[L],
    groups: Sequence[Hashable],
    *,
    weights: Weights | None = None,
    order: Sequence[L] | None = None,
    **drawing: Any,
) -> Interval | NoInterval:
    """`cohen_kappa` with the interval of `clustered_interval`, which `drawing` is for. Raises as `cohen_kappa`."""
    if weights and order is None:
        raise ValueError("weights need the order of the categories")
    categories = list(dict.fromkeys([*first, *second])) if order is None else list(order)
    if any(rating != rating for rating in categories):
        raise ValueError("a rating is NaN: leave out what was not rated")
    place = {category: index for index, category in enumerate(categories)}
    if not first or len(first) != len(second) or any(rating not in place for rating in [*first, *second]):
        raise ValueError("kappa needs as many ratings of one as of the other, each of them one of the categories")
    size = len(categories)
    cells = np.array([place[one] * size + place[other] for one, other in zip(first, second, strict=True)])
    far = category_distances(size, weights)

    def kappa(rows: Rows) -> float:
        seen = np.bincount(cells[rows], minlength=size * size).reshape(size, size).astype(float)
        return kappa_of(seen, far)

    return clustered_interval(kappa, groups, **drawing)


def alpha_interval(
    units: Sequence[Sequence[float | None]], groups: Sequence[Hashable], *, scale: Scale = "nominal", **drawing: Any
) -> Interval | NoInterval:
    """`krippendorff_alpha` with the interval of `clustered_interval`: units of one group are drawn together.

    Raises as `krippendorff_alpha`.
    """
    values, together = coincidences(units)
    return clustered_interval(lambda rows: alpha_of(values, together[rows].sum(axis=0), scale), groups, **drawing)
