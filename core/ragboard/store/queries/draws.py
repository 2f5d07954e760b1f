"""Repeated replies of a judge: an evaluation with several draws asks every task several times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragboard.records import Label
from ragboard.store.queries.query import STATEMENT_KEYS, Connection, StatementKey, key_values
from ragboard.store.queries.scores import Positions

__all__ = ["ComparedReplies", "DrawnScores", "compared_replies", "draw_counts", "drawn_scores", "flips", "label_draws"]

FLIPS = (
    "SELECT position, count(*) FILTER (labels > 1) AS flips, count(*) AS replies FROM ("
    "SELECT position, count(DISTINCT label) AS labels FROM verdict_draws WHERE evaluation_id = $evaluation"
    " GROUP BY position, kind, item HAVING count(*) > 1) GROUP BY position"
)
"""SQL that counts, for each sample, the judgements with several draws (`replies`) and those that differ (`flips`)."""


class DrawnScores(NamedTuple):
    """The scores of one metric; each array has one entry per sample and draw."""

    positions: Positions
    draws: NDArray[np.int64]
    """The number of the draw, from 0."""
    values: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedReplies:
    """How often the draws of a judgement are equal. Each array has one entry per sample."""

    kind: str
    """`verdicts`, `judgements`, `assignments` or `sentences`."""
    positions: Positions
    items: NDArray[np.float64]
    """Number of judgements with several draws."""
    agreement: NDArray[np.float64]
    """Share of pairs of draws with equal replies, summed over the judgements of the sample."""
    flips: NDArray[np.float64]
    """Number of judgements whose draws differ."""


def draw_counts(connection: Connection, evaluation_id: str) -> dict[str, int]:
    """Return the number of draws by metric, without metrics that have a single draw."""
    return dict(
        connection.execute(
            "SELECT metric, max(draw) + 1 AS draws FROM score_draws WHERE evaluation_id = ?"
            " GROUP BY metric HAVING draws > 1 ORDER BY metric",
            [evaluation_id],
        ).fetchall()
    )


def drawn_scores(connection: Connection, evaluation_id: str, metric: str) -> DrawnScores:
    """Return the scores of a metric in all draws, ordered by sample and draw."""
    found = connection.execute(
        "SELECT position, draw, value FROM score_draws WHERE evaluation_id = ? AND metric = ? ORDER BY position, draw",
        [evaluation_id, metric],
    ).fetchnumpy()
    return DrawnScores(
        np.asarray(found["position"], dtype=np.int64),
        np.asarray(found["draw"], dtype=np.int64),
        np.asarray(found["value"], dtype=np.float64),
    )


def compared_replies(connection: Connection, evaluation_id: str) -> list[ComparedReplies]:
    """Compare the replies of all draws, by kind of reply."""
    found = connection.execute(
        "WITH tallies AS (SELECT kind, position, item, label, count(*) AS n FROM verdict_draws"
        " WHERE evaluation_id = ? GROUP BY ALL),"
        " items AS (SELECT kind, position, sum(n) AS n, sum(n * (n - 1)) AS equal FROM tallies"
        " GROUP BY kind, position, item HAVING sum(n) > 1)"
        " SELECT kind, position, count(*)::DOUBLE AS items, sum(equal / (n * (n - 1)))::DOUBLE AS agreement,"
        " (count(*) FILTER (equal < n * (n - 1)))::DOUBLE AS flips FROM items GROUP BY kind, position"
        " ORDER BY kind, position",
        [evaluation_id],
    ).fetchnumpy()
    kinds = np.asarray(found["kind"], dtype=np.str_)
    return [
        ComparedReplies(
            kind=str(kind),
            positions=np.asarray(found["position"][kinds == kind], dtype=np.int64),
            **{name: np.asarray(found[name][kinds == kind]) for name in ("items", "agreement", "flips")},
        )
        for kind in np.unique(kinds)
    ]


def flips(connection: Connection, evaluation_id: str | None, positions: list[int]) -> dict[int, tuple[int, int]]:
    """Return {position: (number of judgements whose draws differ, number of judgements with several draws)}."""
    rows = connection.execute(
        f"SELECT position, flips, replies FROM ({FLIPS}) WHERE position IN (SELECT unnest($positions::INTEGER[]))",
        {"evaluation": evaluation_id, "positions": positions},
    ).fetchall()
    return {position: (differ, replies) for position, differ, replies in rows}


def label_draws(connection: Connection, statements: Sequence[StatementKey]) -> dict[StatementKey, dict[Label, int]]:
    """Return {statement of an answer: {joint verdict: number of draws}}, without statements that were judged once."""
    if not statements:
        return {}
    rows = connection.execute(
        f"{STATEMENT_KEYS}"
        " SELECT evaluation_id, position, statement, label, count(*) AS n"
        " FROM keys JOIN verdict_draws d USING (evaluation_id, position)"
        " WHERE d.kind = 'verdicts' AND d.item = concat('response ', statement, ' joint')"
        " GROUP BY ALL ORDER BY n DESC, label",
        key_values(statements),
    ).fetchall()
    found: dict[StatementKey, dict[Label, int]] = {}
    for evaluation, position, statement, label, count in rows:
        found.setdefault((evaluation, position, statement), {})[label] = count
    return {key: labels for key, labels in found.items() if sum(labels.values()) > 1}
