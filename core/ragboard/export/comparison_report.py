"""The HTML report of a comparison: the result, other differences, and the questions that got worse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ragboard.analysis import (
    Comparison,
    PairQuery,
    PairReport,
    UnscoredPolicy,
    comparable_refs,
    compare_runs,
    metric_descriptions,
    pair_report,
    pair_rows,
    pair_runs,
    side_of,
)
from ragboard.analysis.runs import judge_identity
from ragboard.export.html import MAX_CHARACTERS, render
from ragboard.stats import Interval
from ragboard.store import RunRef, Store

__all__ = ["PAIRS", "comparison_report"]

PAIRS = 20


def comparison_report(
    store: Store,
    a: RunRef,
    b: RunRef,
    *,
    samples: int = PAIRS,
    metric: str = "",
    unscored: UnscoredPolicy = "excluded",
) -> str:
    """Report B compared with A as an HTML file, with `samples` pairs in full, largest losses in `metric` first.

    By default, `metric` is the first that got worse, or else the first. `unscored` says how samples without a score
    count in the differences. The file is self-contained, as that of `run_report`. Raises NotFoundError if a run was
    deleted or the runs do not share the metric.
    """
    a, b = comparable_refs(store, a, b)
    pairing = pair_runs(store, a, b)
    compared = compare_runs(store, a, b, pairing, unscored=unscored)
    by = metric or _default_metric(compared)
    rows = pair_rows(store, a, b, pairing, PairQuery(metric=by, limit=samples)).rows if by else ()
    pairs = [pair_report(store, a, b, pairing, row.sample_a) for row in rows]
    return render(
        "comparison.html",
        f"{compared.b.name} vs {compared.a.name} · ragboard",
        compared=compared,
        reach=max(_magnitudes(compared), default=0.0) or 1.0,
        known=metric_descriptions(store),
        by=by,
        pairs=[(row, pair, _words(pair)) for row, pair in zip(rows, pairs, strict=True)],
        identities={"A": judge_identity(store, a), "B": judge_identity(store, b)},
    )


def _default_metric(compared: Comparison) -> str:
    """Return the first metric that got worse, else the first with a scored pair; empty without any."""
    paired = [one for one in compared.metrics if one.pairs]
    return next((one.metric for one in paired if one.change == "worse"), paired[0].metric if paired else "")


def _magnitudes(compared: Comparison) -> Iterator[float]:
    """Yield the absolute values of the differences and of the bounds of their intervals."""
    for found in (metric.pairs for metric in compared.metrics if metric.pairs):
        yield abs(found.difference)
        if isinstance(found.interval, Interval):
            yield from (abs(found.interval.low), abs(found.interval.high))


def _words(pair: PairReport) -> dict[str, list[tuple[str, str]]]:
    """Return the shortened answers by side: HTML tag and text of each stretch, `mark` if only this side has it."""
    tags = {"same": "span", "gone": "mark", "new": "mark"}
    answers: dict[str, list[tuple[str, str]]] = {}
    sides: tuple[Literal["A", "B"], ...] = ("A", "B")
    for side in sides:
        room, answers[side] = MAX_CHARACTERS, []
        for change in side_of(pair.answers, side):
            if room > 0:
                answers[side].append((tags[change.kind], change.text[:room]))
                room -= len(change.text)
    return answers
