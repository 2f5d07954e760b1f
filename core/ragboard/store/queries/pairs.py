"""Pairs of samples with the same question in two runs A and B, and their values of a metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ragboard.records import Direction
from ragboard.stats.checks import FloatArray
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.rollups import Rollup, select
from ragboard.store.queries.scores import Positions, metric_scores
from ragboard.store.queries.values import column_query
from ragboard.store.run_refs import RunRef

__all__ = [
    "ANSWERED",
    "QUESTION_DIGESTS",
    "ComparedPair",
    "Missing",
    "PairGains",
    "PairQuery",
    "PairedRuns",
    "UnpairedRow",
    "Which",
    "answered_pairs",
    "ask_the_same",
    "compared_pairs",
    "pair_gains",
    "paired_runs",
    "pairs_query",
    "unpaired_rows",
]

Which = Literal["all", "worse", "better", "same", "unscored"]

ANSWERED = "(answer >= '!' OR ltrim(coalesce(answer, '')) <> '')"
"""SQL condition on the table `samples` for an answer that is not empty: it has a character other than a space.

Most answers begin with a character that sorts after the space, and comparing texts is much faster than trimming them.
"""
TOLERANCE = 1e-9
"""Values that differ by less than this count as equal."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairedRuns:
    """Positions of the paired and unpaired samples of two runs."""

    a: Positions
    """Positions of the paired samples in A, ascending."""
    b: Positions
    """Positions of their counterparts in B, in the same order."""
    only_a: Positions
    """Positions of the samples of A without a counterpart."""
    only_b: Positions
    ambiguous_a: Positions
    """Positions of the samples of A with several possible counterparts, because their question is repeated."""
    ambiguous_b: Positions
    by_question: int
    """Number of pairs that have the same question and history, but different ids."""


@dataclass(frozen=True, kw_only=True)
class PairQuery:
    """A page of pairs, filtered and ordered by the difference of a metric."""

    metric: str
    which: Which = "all"
    limit: int = 25
    offset: int = 0


class ComparedPair(NamedTuple):
    """One question in two runs, with values of one metric."""

    sample_a: str
    sample_b: str
    question: str
    value_a: float | None
    value_b: float | None
    difference: float | None
    """Value in B minus value in A; None if a value is missing."""
    a: int
    """Position in run A, from 0."""
    b: int


@dataclass(frozen=True, kw_only=True, eq=False)
class PairGains:
    """The values of a metric in both runs, and the gain (how much better B is), with one entry per pair.

    NaN if a value is missing. A neutral metric has no better value: its gain is minus the absolute difference.
    """

    paired: PairedRuns
    first: FloatArray
    """Values in A."""
    second: FloatArray
    """Values in B."""
    gains: FloatArray

    @property
    def counts(self) -> dict[Which, int]:
        """The number of pairs for each value of `Which`."""
        return {which: int(np.count_nonzero(self._matches(which))) for which in _WHICH}

    def order(self, which: Which) -> Positions:
        """Return the indices of the pairs that match, in the order of `compared_pairs`."""
        matches = self._matches(which)
        keys = -self.gains if which == "better" else self.gains
        order = np.argsort(keys, kind="stable")  # NaN last; pairs are in the order of their positions in A
        return order[matches[order]]

    def _matches(self, which: Which) -> NDArray[np.bool_]:
        match which:
            case "all":
                return np.ones(self.gains.size, dtype=np.bool_)
            case "worse":
                return self.gains < -TOLERANCE
            case "better":
                return self.gains > TOLERANCE
            case "same":
                return np.abs(self.gains) <= TOLERANCE
            case "unscored":
                return np.isnan(self.gains)


Missing = Literal[
    "missing", "spelling", "id", "taken", "repeated", "history", "no history in other", "history only in other"
]
"""Why a sample has no counterpart in the other run.

- missing: the other run does not have the question.
- spelling: it has the question with different case or white space.
- id: it has a different question with this id.
- taken: its sample with this question is paired with another sample.
- repeated: the question occurs several times.
- history: the histories differ.
- no history in other, history only in other: only one run has a history for this question.
"""


class UnpairedRow(NamedTuple):
    """A sample without a counterpart."""

    side: Literal["A", "B"]
    sample_id: str
    question: str
    why: Missing
    repeats: int
    """Number of unpaired samples of this run with the same question, if it is repeated; else 1."""
    other_repeats: int
    """The same for the other run."""


def paired_runs(connection: Connection, a: str, b: str) -> PairedRuns:
    """Pair samples with the same id and question, then samples whose question and history occur once in each run."""
    same = _same_positions(connection, a, b)
    if same is not None:
        none = np.empty(0, dtype=np.int64)
        return PairedRuns(a=same, b=same, only_a=none, only_b=none, ambiguous_a=none, ambiguous_b=none, by_question=0)
    found = connection.execute(
        "SELECT coalesce(a, b) AS first, coalesce(b, a) AS second, a IS NOT NULL AS in_a,"
        " paired_by IN ('id', 'question') AS paired, paired_by = 'question' AS by_question,"
        " paired_by = 'ambiguous' AS ambiguous FROM paired_questions($a, $b) ORDER BY first",
        {"a": a, "b": b},
    ).fetchnumpy()
    in_a, paired, ambiguous = (np.asarray(found[name], dtype=np.bool_) for name in ("in_a", "paired", "ambiguous"))
    alone = ~paired & ~ambiguous
    return PairedRuns(
        a=_selected_positions(found, "first", paired),
        b=_selected_positions(found, "second", paired),
        only_a=_selected_positions(found, "first", alone & in_a),
        only_b=_selected_positions(found, "first", alone & ~in_a),
        ambiguous_a=_selected_positions(found, "first", ambiguous & in_a),
        ambiguous_b=_selected_positions(found, "first", ambiguous & ~in_a),
        by_question=int(np.sum(found["by_question"])),
    )


def answered_pairs(connection: Connection, a: str, b: str) -> int:
    """Count the pairs of two runs in which neither answer is empty."""
    pairs = "(SELECT a, b FROM paired_questions($a, $b) WHERE paired_by IN ('id', 'question'))"
    if _same_positions(connection, a, b) is not None:
        pairs = "(SELECT position AS a, position AS b FROM samples WHERE run_id = $a)"
    found = connection.execute(
        f"SELECT count(*) FROM {pairs} WHERE a IN (SELECT position FROM samples WHERE run_id = $a AND {ANSWERED})"
        f" AND b IN (SELECT position FROM samples WHERE run_id = $b AND {ANSWERED})",
        {"a": a, "b": b},
    ).fetchall()
    return int(found[0][0])


def _same_positions(connection: Connection, a: str, b: str) -> Positions | None:
    """Return all positions of two runs with equal ids, questions and histories at each position.

    None if they are not equal, or if a run has repeated or deleted samples. The digest of large runs is stored, so this
    is much faster than to find the pairs.
    """
    rows = QUESTION_DIGESTS.rows(connection, (a, b))
    if rows[a] != rows[b] or not rows[a]:
        return None
    first, last, samples, distinct, *_ = rows[a][0]
    return np.arange(first, last + 1) if samples == distinct == last + 1 - first else None


def ask_the_same(connection: Connection, runs: Sequence[str]) -> bool:
    """Return whether runs have the same questions at the same positions, each question once."""
    first, *others = QUESTION_DIGESTS.rows(connection, runs).values()
    return all(other == first for other in others) and all(
        samples == questions for _, _, samples, _, questions, *_ in first
    )


QUESTION_DIGESTS = Rollup(
    name="question digest 2",
    owner="run",
    query=select(
        "SELECT run_id, min(position), max(position), count(*), count(DISTINCT digest),"
        " count(DISTINCT question),"
        " bit_xor(hash(position, digest)), sum(hash(digest, position))"
        " FROM (SELECT run_id, position, hash(sample_id, question, history::VARCHAR) AS digest,"
        " hash(question, history::VARCHAR) AS question FROM samples"
        " WHERE run_id IN (SELECT unnest($owners))) GROUP BY run_id"
    ),
)


def _selected_positions(found: dict[str, Any], column: str, selected: NDArray[np.bool_]) -> Positions:
    return np.asarray(found[column], dtype=np.int64)[selected]


def unpaired_rows(connection: Connection, a: str, b: str, paired: PairedRuns) -> list[UnpairedRow]:
    """Return the samples without a counterpart, those of A first, with the reasons."""
    sides = [
        (side, position, ambiguous)
        for side, alone, unsure in (("A", paired.only_a, paired.ambiguous_a), ("B", paired.only_b, paired.ambiguous_b))
        for ambiguous, positions in ((False, alone), (True, unsure))
        for position in positions.tolist()
    ]
    if not sides:
        return []
    given = dict(zip(("sides", "positions", "ambiguous"), map(list, zip(*sides, strict=True)), strict=True))
    return [UnpairedRow(*row) for row in connection.execute(_UNPAIRED, {"a": a, "b": b, **given}).fetchall()]


_UNPAIRED = """\
WITH unpaired AS (SELECT unnest($sides) AS side, unnest($positions) AS position, unnest($ambiguous) AS ambiguous),
asked AS (
  SELECT 'A' AS side, position, sample_id, question, history::VARCHAR AS history FROM samples WHERE run_id = $a
  UNION ALL
  SELECT 'B', position, sample_id, question, history::VARCHAR FROM samples WHERE run_id = $b
),
alone AS (
  SELECT u.*, s.* EXCLUDE (side, position), lower(regexp_replace(trim(question), '\\s+', ' ', 'g')) AS words
  FROM unpaired u JOIN asked s USING (side, position)
),
times AS (SELECT side, question, history, count(*) AS n FROM alone WHERE ambiguous GROUP BY ALL),
questions AS (SELECT side, question, bool_or(history <> '[]') AS has_history FROM asked GROUP BY ALL),
spellings AS (SELECT DISTINCT side, lower(regexp_replace(trim(question), '\\s+', ' ', 'g')) AS words FROM asked)
SELECT m.side, m.sample_id, m.question,
       CASE WHEN m.ambiguous THEN 'repeated'
            WHEN EXISTS (FROM asked o WHERE o.side <> m.side AND (o.question, o.history) = (m.question, m.history))
            THEN 'taken'
            WHEN q.question IS NULL THEN CASE
                WHEN w.words IS NOT NULL THEN 'spelling'
                WHEN EXISTS (FROM asked o WHERE o.side <> m.side AND o.sample_id = m.sample_id) THEN 'id'
                ELSE 'missing' END
            WHEN m.history <> '[]' AND NOT q.has_history THEN 'no history in other'
            WHEN m.history = '[]' THEN 'history only in other'
            ELSE 'history' END,
       coalesce(t.n, 1), coalesce(o.n, 1)
FROM alone m
LEFT JOIN questions q ON q.side <> m.side AND q.question = m.question
LEFT JOIN spellings w ON w.side <> m.side AND w.words = m.words
LEFT JOIN times t ON t.side = m.side AND (t.question, t.history) = (m.question, m.history)
LEFT JOIN times o ON o.side <> m.side AND (o.question, o.history) = (m.question, m.history)
ORDER BY m.side, m.position"""


_GAIN: dict[Direction, str] = {
    "higher": "y.value - x.value",
    "lower": "x.value - y.value",
    "neutral": "-abs(y.value - x.value)",
}
_WHICH: dict[Which, str] = {
    "all": "",
    "worse": f"\nWHERE gain < -{TOLERANCE}",
    "better": f"\nWHERE gain > {TOLERANCE}",
    "same": f"\nWHERE abs(gain) <= {TOLERANCE}",
    "unscored": "\nWHERE gain IS NULL",
}


def _pairs(a: RunRef, b: RunRef, metric: str, direction: Direction) -> Query:
    """Return the query for all pairs, with both values and the gain (how much better B is).

    A neutral metric has no better value: its gain is minus the absolute difference.
    """
    values_a, values_b = column_query(a, metric, "a"), column_query(b, metric, "b")
    return Query(
        sql=f"SELECT p.a, p.b, x.value AS value_a, y.value AS value_b, {_GAIN[direction]} AS gain\n"
        f"FROM paired p\nLEFT JOIN ({values_a.sql}) x ON x.position = p.a\n"
        f"LEFT JOIN ({values_b.sql}) y ON y.position = p.b",
        given={**values_a.given, **values_b.given},
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


def pair_gains(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns, metric: str, direction: Direction
) -> PairGains:
    """Read the values of a metric, and return the gain of each pair.

    The result is the same as that of `pairs_query`, but joins of large tables would need more time and memory.
    """
    first, _ = metric_scores(connection, a, metric).at(paired.a)
    second, _ = metric_scores(connection, b, metric).at(paired.b)
    difference = second - first
    gains = {"higher": difference, "lower": first - second, "neutral": -np.abs(difference)}[direction]
    return PairGains(paired=paired, first=first, second=second, gains=gains)


def compared_pairs(
    connection: Connection, a: RunRef, b: RunRef, gains: PairGains, query: PairQuery
) -> list[ComparedPair]:
    """Return a page of pairs, ordered by gain: largest loss first, or largest gain first if `which` is "better"."""
    rows = gains.order(query.which)[query.offset : query.offset + query.limit]
    page = pa.table(
        {
            "number": np.arange(rows.size),
            "a": gains.paired.a[rows],
            "b": gains.paired.b[rows],
            "value_a": pa.array(gains.first[rows], from_pandas=True),  # NaN becomes null
            "value_b": pa.array(gains.second[rows], from_pandas=True),
        }
    )
    connection.register("page", page)
    found = connection.execute(
        "SELECT s.sample_id, t.sample_id, s.question, value_a, value_b, value_b - value_a, p.a, p.b FROM page p"
        " JOIN samples s ON s.run_id = $run_a AND s.position = p.a"
        " JOIN samples t ON t.run_id = $run_b AND t.position = p.b ORDER BY p.number",
        {"run_a": a.run_id, "run_b": b.run_id},
    ).fetchall()
    return [ComparedPair(*row) for row in found]


def pairs_query(a: RunRef, b: RunRef, query: PairQuery, direction: Direction) -> Query:
    """Return a query for a page of pairs that runs without `create_pairs`, for users to copy."""
    paired = Query(
        sql="SELECT a, b FROM paired_questions($run_a, $run_b) WHERE paired_by IN ('id', 'question')",
        given={"run_a": a.run_id, "run_b": b.run_id},
    )
    return _page(a, b, query).after(paired=paired, pairs=_pairs(a, b, query.metric, direction))
