"""Two runs: which samples ask the same, and their pairs by one metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ragboard.records import Direction
from ragboard.store.nouns import RunRef
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.scores import Places
from ragboard.store.queries.values import column_values

__all__ = [
    "ComparedPair",
    "PairQuery",
    "PairedRuns",
    "Which",
    "compared_pairs",
    "pair_counts",
    "pair_order",
    "paired_runs",
    "pairs_query",
    "put_pairs",
    "shared_ids",
]

Which = Literal["all", "worse", "better", "same", "unscored"]

SAME = 1e-9
"""Values nearer than this are the same."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairedRuns:
    """Positions of the samples of two runs; each sample is in exactly one place."""

    a: Places
    """Positions in the first run, ascending, of those with a partner."""
    b: Places
    """The positions of the partners in the second run, in the same order."""
    only_a: Places
    """Positions in the first run without a partner in the second."""
    only_b: Places
    ambiguous_a: Places
    """Positions in the first run whose question is there several times, so that no partner is certain."""
    ambiguous_b: Places
    by_question: int
    """How many of the pairs have different ids, and were found by question and history."""


@dataclass(frozen=True, kw_only=True)
class PairQuery:
    """Which pairs, by how one metric changed in them."""

    metric: str
    which: Which = "all"
    limit: int = 25
    offset: int = 0


class ComparedPair(NamedTuple):
    """One question in both runs, by one metric."""

    sample_a: str
    sample_b: str
    question: str
    value_a: float | None
    value_b: float | None
    difference: float | None
    """B - A."""
    a: int
    """Position in A."""
    b: int


def paired_runs(connection: Connection, a: str, b: str) -> PairedRuns:
    """Pair by id where both ask the same, else by question and history where each is there once; reads no passages."""
    found = connection.execute(
        "SELECT coalesce(a, b) AS first, coalesce(b, a) AS second, a IS NOT NULL AS in_a,"
        " paired_by IN ('id', 'question') AS paired, paired_by = 'question' AS by_question,"
        " paired_by = 'ambiguous' AS ambiguous FROM paired_questions($a, $b) ORDER BY first",
        {"a": a, "b": b},
    ).fetchnumpy()
    in_a, paired, ambiguous = (np.asarray(found[name], dtype=np.bool_) for name in ("in_a", "paired", "ambiguous"))
    alone = ~paired & ~ambiguous
    return PairedRuns(
        a=_places(found, "first", paired),
        b=_places(found, "second", paired),
        only_a=_places(found, "first", alone & in_a),
        only_b=_places(found, "first", alone & ~in_a),
        ambiguous_a=_places(found, "first", ambiguous & in_a),
        ambiguous_b=_places(found, "first", ambiguous & ~in_a),
        by_question=int(np.sum(found["by_question"])),
    )


def _places(found: dict[str, Any], column: str, there: NDArray[np.bool_]) -> Places:
    return np.asarray(found[column], dtype=np.int64)[there]


def shared_ids(connection: Connection, a: tuple[str, Places], b: tuple[str, Places]) -> int:
    """How many ids are in both of two sets of samples, each a run and positions in it."""
    row = connection.execute(
        "SELECT count(*) FROM samples a JOIN samples b USING (sample_id) WHERE a.run_id = $run_a AND b.run_id = $run_b"
        " AND a.position IN (SELECT unnest($places_a)) AND b.position IN (SELECT unnest($places_b))",
        {"run_a": a[0], "run_b": b[0], "places_a": a[1].tolist(), "places_b": b[1].tolist()},
    ).fetchone()
    return row[0] if row else 0


_GAIN: dict[Direction, str] = {
    "higher": "y.value - x.value",
    "lower": "x.value - y.value",
    "neutral": "-abs(y.value - x.value)",
}
_WHICH: dict[Which, str] = {
    "all": "",
    "worse": f"\nWHERE gain < -{SAME}",
    "better": f"\nWHERE gain > {SAME}",
    "same": f"\nWHERE abs(gain) <= {SAME}",
    "unscored": "\nWHERE gain IS NULL",
}


def _pairs(a: RunRef, b: RunRef, metric: str, direction: Direction) -> Query:
    """Every pair with both values and the gain: of a metric that is better neither way how little it changed."""
    ours, theirs = column_values(a, metric, "a"), column_values(b, metric, "b")
    return Query(
        sql=f"SELECT p.a, p.b, x.value AS value_a, y.value AS value_b, {_GAIN[direction]} AS gain\n"
        f"FROM paired p\nLEFT JOIN ({ours.sql}) x ON x.position = p.a\n"
        f"LEFT JOIN ({theirs.sql}) y ON y.position = p.b",
        given={**ours.given, **theirs.given},
    )


def _page(a: RunRef, b: RunRef, query: PairQuery) -> Query:
    order = "gain DESC" if query.which == "better" else "gain"
    return Query(
        sql=f"""\
SELECT s.sample_id AS sample_a, t.sample_id AS sample_b, s.question, value_a, value_b,
       value_b - value_a AS difference, p.a, p.b
FROM (
  FROM pairs{_WHICH[query.which]}
  ORDER BY {order} NULLS LAST, a
  LIMIT $limit OFFSET $offset
) p
JOIN samples s ON s.run_id = $run_a AND s.position = p.a
JOIN samples t ON t.run_id = $run_b AND t.position = p.b
ORDER BY {order} NULLS LAST, p.a""",
        given={"run_a": a.run_id, "run_b": b.run_id, "limit": query.limit, "offset": query.offset},
    )


def put_pairs(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns, metric: str, direction: Direction
) -> None:
    """Make `pairs`, which the questions below read: every pair with its values."""
    connection.register("paired", pa.table({"a": paired.a, "b": paired.b}))
    pairs = _pairs(a, b, metric, direction)
    connection.execute(f"CREATE TEMP TABLE pairs AS {pairs.sql}", dict(pairs.given))


def pair_counts(connection: Connection) -> dict[Which, int]:
    """How many pairs there are of each kind."""
    row = connection.execute(
        "SELECT count(*), count(*) FILTER (gain < -$same), count(*) FILTER (gain > $same),"
        " count(*) FILTER (abs(gain) <= $same), count(*) FILTER (gain IS NULL) FROM pairs",
        {"same": SAME},
    ).fetchone()
    return dict(zip(_WHICH, row or (0,) * len(_WHICH), strict=True))


def compared_pairs(connection: Connection, a: RunRef, b: RunRef, query: PairQuery) -> list[ComparedPair]:
    """A page of pairs: the greatest losses first, then what is the same, gains, and the unscored last."""
    return [ComparedPair(*row) for row in _page(a, b, query).on(connection).fetchall()]


def pair_order(connection: Connection, query: PairQuery) -> list[int]:
    """The positions in A of all pairs that a query means, whatever its limit, in its order."""
    order = "gain DESC" if query.which == "better" else "gain"
    rows = connection.execute(f"SELECT a FROM pairs{_WHICH[query.which]} ORDER BY {order} NULLS LAST, a").fetchall()
    return [row[0] for row in rows]


def pairs_query(a: RunRef, b: RunRef, query: PairQuery, direction: Direction) -> Query:
    """A page of pairs in one question, with all that `put_pairs` makes before."""
    paired = Query(
        sql="SELECT a, b FROM paired_questions($run_a, $run_b) WHERE paired_by IN ('id', 'question')",
        given={"run_a": a.run_id, "run_b": b.run_id},
    )
    return _page(a, b, query).after(paired=paired, pairs=_pairs(a, b, query.metric, direction))
