"""Which sample of one stored run answers the same question as which of another, found in the database.

The rules are those of `ragboard.pairing`; a test holds the two to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragboard.store import RunRef, Store

__all__ = ["PairedRuns", "Places", "pair_runs"]

Places = NDArray[np.int64]


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


def pair_runs(store: Store, a: RunRef, b: RunRef) -> PairedRuns:
    """Pair by id where both ask the same, else by question and history where each is there once; reads no passages."""
    with store.database.read() as connection:
        found = connection.execute(_PAIRED, {"a": a.run_id, "b": b.run_id}).fetchnumpy()
    kind = found["kind"]
    paired = kind <= _BY_QUESTION
    return PairedRuns(
        a=_places(found, "first", paired),
        b=_places(found, "second", paired),
        only_a=_places(found, "first", kind == _ONLY_A),
        only_b=_places(found, "first", kind == _ONLY_B),
        ambiguous_a=_places(found, "first", kind == _AMBIGUOUS_A),
        ambiguous_b=_places(found, "first", kind == _AMBIGUOUS_B),
        by_question=int(np.sum(kind == _BY_QUESTION)),
    )


def _places(found: dict[str, Any], column: str, there: NDArray[np.bool_]) -> Places:
    return np.asarray(found[column], dtype=np.int64)[there]


_BY_ID, _BY_QUESTION, _ONLY_A, _ONLY_B, _AMBIGUOUS_A, _AMBIGUOUS_B = range(6)

_PAIRED = f"""
WITH asked AS MATERIALIZED (
    SELECT sample_id, question, history::VARCHAR AS history, position AS a, NULL::INTEGER AS b
    FROM samples WHERE run_id = $a
    UNION ALL
    SELECT sample_id, question, history::VARCHAR, NULL, position FROM samples WHERE run_id = $b
),
by_id AS MATERIALIZED (
    SELECT max(a) AS a, max(b) AS b FROM asked
    GROUP BY sample_id, question, history HAVING count(a) = 1 AND count(b) = 1
),
rest AS (
    SELECT a, b, count(a) OVER same AS in_a, count(b) OVER same AS in_b, max(b) OVER same AS partner FROM asked
    WHERE a NOT IN (SELECT a FROM by_id) OR b NOT IN (SELECT b FROM by_id)
    WINDOW same AS (PARTITION BY question, history)
)
SELECT {_BY_ID} AS kind, a AS first, b AS second FROM by_id
UNION ALL
SELECT CASE WHEN in_a = 1 AND in_b = 1 THEN {_BY_QUESTION}
    WHEN a IS NOT NULL THEN CASE WHEN in_b = 0 THEN {_ONLY_A} ELSE {_AMBIGUOUS_A} END
    WHEN in_a = 0 THEN {_ONLY_B} ELSE {_AMBIGUOUS_B} END,
    coalesce(a, b), coalesce(partner, a)
FROM rest WHERE a IS NOT NULL OR in_a <> 1 OR in_b <> 1
ORDER BY first
"""
