"""Two runs as a report: the result, what else differs, and the questions that got worse."""

from __future__ import annotations

from collections.abc import Iterator

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
)
from ragboard.analysis.runs import judge_identity
from ragboard.export.html import LONGEST, render
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
    """Run B against run A as one HTML file: `samples` pairs in full, the largest losses in `metric` first.

    Without a metric in the first that got worse, else the first; `unscored` says how samples without a score count in
    the differences. As of `run_report`, the file loads nothing. Raises NotFoundError where a run is gone or the runs
    do not share the metric.
    """
    a, b = comparable_refs(store, a, b)
    pairing = pair_runs(store, a, b)
    compared = compare_runs(store, a, b, pairing, unscored=unscored)
    by = metric or _most_telling(compared)
    rows = pair_rows(store, a, b, pairing, PairQuery(metric=by, limit=samples)).rows if by else ()
    pairs = [pair_report(store, a, b, pairing, row.sample_a) for row in rows]
    return render(
        "comparison.html",
        f"{compared.b.name} against {compared.a.name} · ragboard",
        compared=compared,
        reach=max(_ends(compared), default=0.0) or 1.0,
        known=metric_descriptions(store),
        by=by,
        pairs=[(row, pair, _words(pair)) for row, pair in zip(rows, pairs, strict=True)],
        identities={"A": judge_identity(store, a), "B": judge_identity(store, b)},
    )


def _most_telling(compared: Comparison) -> str:
    """The first metric that got worse, else the first that any pair is scored in; empty where there is none."""
    paired = [one for one in compared.metrics if one.pairs]
    return next((one.metric for one in paired if one.change == "worse"), paired[0].metric if paired else "")


def _ends(compared: Comparison) -> Iterator[float]:
    """How far from 0 the differences and their intervals go."""
    for found in (one.pairs for one in compared.metrics if one.pairs):
        yield abs(found.difference)
        if isinstance(found.interval, Interval):
            yield from (abs(found.interval.low), abs(found.interval.high))


def _words(pair: PairReport) -> dict[str, list[tuple[str, str]]]:
    """Both answers cut, by their side: HTML tag and text of each stretch, `del` only in A, `ins` only in B."""
    tags = {"same": "span", "gone": "del", "new": "ins"}
    answers: dict[str, list[tuple[str, str]]] = {}
    for side, other in (("A", "new"), ("B", "gone")):
        room, answers[side] = LONGEST, []
        for change in pair.answers:
            if change.kind != other and room > 0:
                answers[side].append((tags[change.kind], change.text[:room]))
                room -= len(change.text)
    return answers
