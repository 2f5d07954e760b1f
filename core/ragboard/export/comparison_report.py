"""Write the HTML report of a comparison: the result, other differences, and the questions that got worse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ragboard.analysis import (
    Comparison,
    PairQuery,
    PairReport,
    UnscoredPolicy,
    choose_evaluations,
    compare_runs,
    metric_descriptions,
    pair_report,
    pair_rows,
    pair_runs,
    text_of_side,
)
from ragboard.analysis.runs import judge_identity
from ragboard.export.html import MAX_CHARACTERS, render
from ragboard.stats import Interval
from ragboard.store import RunRef, Store

__all__ = ["PAIRS", "comparison_report"]

PAIRS = 20
"""Default number of pairs that are shown in full."""


def comparison_report(
    store: Store,
    a: RunRef,
    b: RunRef,
    *,
    pairs: int = PAIRS,
    metric: str = "",
    unscored: UnscoredPolicy = "excluded",
) -> str:
    """Return a report of B compared with A as HTML, with this many `pairs` in full, largest losses in `metric` first.

    The default of `metric` is the first metric that got worse, or the first metric if none did. `unscored` says how
    samples without a score count in the differences. The file has no scripts and needs no other files. Raises
    NotFoundError if a run was deleted, or if the runs do not share the metric.
    """
    a, b = choose_evaluations(store, a, b)
    pairing = pair_runs(store, a, b)
    compared = compare_runs(store, a, b, pairing, unscored=unscored)
    sorted_by = metric or _default_metric(compared)
    rows = pair_rows(store, a, b, pairing, PairQuery(metric=sorted_by, limit=pairs)).rows if sorted_by else ()
    reports = [pair_report(store, a, b, pairing, row.sample_a) for row in rows]
    return render(
        "comparison.html",
        f"{compared.b.name} vs {compared.a.name} · ragboard",
        compared=compared,
        max_magnitude=max(_magnitudes(compared), default=0.0) or 1.0,
        known=metric_descriptions(store),
        by=sorted_by,
        pairs=[(row, pair, _answer_pieces(pair)) for row, pair in zip(rows, reports, strict=True)],
        identities={"A": judge_identity(store, a), "B": judge_identity(store, b)},
    )


def _default_metric(compared: Comparison) -> str:
    """Return the first metric that got worse, or the first metric with a scored pair; empty if there is none."""
    paired = [metric for metric in compared.metrics if metric.pairs]
    return next((metric.metric for metric in paired if metric.change == "worse"), paired[0].metric if paired else "")


def _magnitudes(compared: Comparison) -> Iterator[float]:
    """Yield the absolute values of the differences and of the bounds of their intervals."""
    for pairs in (metric.pairs for metric in compared.metrics if metric.pairs):
        yield abs(pairs.difference)
        if isinstance(pairs.interval, Interval):
            yield from (abs(pairs.interval.low), abs(pairs.interval.high))


def _answer_pieces(pair: PairReport) -> dict[str, list[tuple[str, str]]]:
    """Return the shortened answers of A and B as (HTML tag, text) pieces, with `mark` for text that only one has."""
    tags = {"same": "span", "gone": "mark", "new": "mark"}
    answers: dict[str, list[tuple[str, str]]] = {}
    sides: tuple[Literal["A", "B"], ...] = ("A", "B")
    for side in sides:
        characters_left, answers[side] = MAX_CHARACTERS, []
        for change in text_of_side(pair.answers, side):
            if characters_left > 0:
                answers[side].append((tags[change.kind], change.text[:characters_left]))
                characters_left -= len(change.text)
    return answers
