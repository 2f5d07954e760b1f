"""Quantities of samples that the diagnosis compares, and example queries for users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.rollups import Rollup, Row
from ragboard.store.queries.samples import position_end
from ragboard.store.queries.scores import AnyMoments, moments_of, moments_query
from ragboard.store.run_refs import RunRef

__all__ = ["EXAMPLES", "QUANTITY_MOMENTS", "SUMMARIZED", "quantity_moments", "sample_values"]


_HALF = (
    "SELECT position, (max(rank) + 1) // 2 AS half FROM passages WHERE run_id = $run GROUP BY 1 HAVING max(rank) > 1"
)
_SUPPORTED = (
    "SELECT DISTINCT position, split_part(target, ':', 2)::INTEGER AS rank FROM verdicts WHERE"
    " evaluation_id = $evaluation AND starts_with(target, 'passage:') AND label = 'supported' AND side = "
)
_JOINT = "FROM answer_verdicts WHERE evaluation_id = $evaluation AND together GROUP BY 1"

QUANTITY_SQL = {
    "refuses": (
        "SELECT position, refuses::DOUBLE AS value FROM sides WHERE evaluation_id = $evaluation AND side = 'response'"
    ),
    "statements": f"SELECT position, count(*)::DOUBLE AS value {_JOINT}",
    "contradicted": f"SELECT position, avg((verdict = 'contradicted')::INTEGER) AS value {_JOINT}",
    "late evidence": (
        "WITH said AS (SELECT position, list_min(list_transform(list_filter("
        """from_json(evidence, '[{"rank": "INTEGER", "stance": "VARCHAR"}]'), lambda e: e.stance = 'for'),"""
        " lambda e: e.rank)) AS first FROM verdicts WHERE evaluation_id = $evaluation AND side = 'response'"
        " AND target = 'joint' AND label = 'supported')"
        f" SELECT position, avg((first > half)::INTEGER) AS value FROM said JOIN ({_HALF}) USING (position)"
        " WHERE first IS NOT NULL GROUP BY 1"
    ),
    "early minus late use": (
        f"WITH relevant AS ({_SUPPORTED} 'reference'), used AS ({_SUPPORTED} 'response'),"
        " seen AS (SELECT r.position, r.rank <= h.half AS early, (u.rank IS NOT NULL)::INTEGER AS used FROM relevant r"
        f" JOIN ({_HALF}) h USING (position) LEFT JOIN used u ON u.position = r.position AND u.rank = r.rank)"
        " SELECT position, avg(used) FILTER (early) - avg(used) FILTER (NOT early) AS value FROM seen GROUP BY 1"
        " HAVING bool_or(early) AND NOT bool_and(early)"
    ),
}
"""SQL with the columns position and value, by the name of the quantity. `analysis.QUANTITIES` explains them."""

_METRIC = (
    "SELECT position, value FROM scores WHERE evaluation_id = $evaluation AND metric = $metric AND value IS NOT NULL"
)


def sample_values(connection: Connection, run: RunRef, evaluation_id: str | None, name: str) -> NDArray[np.float64]:
    """Return the values of a metric or of a quantity in `QUANTITY_SQL`, by position; NaN for a sample without one."""
    sql = QUANTITY_SQL.get(name, _METRIC)
    given = {"run": run.run_id, "evaluation": evaluation_id, "metric": name}
    got = connection.execute(sql, {key: value for key, value in given.items() if f"${key}" in sql}).fetchnumpy()
    values = np.full(position_end(connection, run.run_id), np.nan)
    values[np.asarray(got["position"], dtype=np.int64)] = np.asarray(got["value"], dtype=np.float64)
    return values


SUMMARIZED = ("contradicted", "late evidence", "early minus late use")
"""Quantities in `QUANTITY_SQL` whose values take seconds to compute for a large run. Pages use only their moments."""


def quantity_moments(connection: Connection, evaluation_id: str) -> dict[str, AnyMoments]:
    """Return the moments of the quantities in `SUMMARIZED`, by name, without quantities that no sample has."""
    rows = QUANTITY_MOMENTS.rows(connection, [evaluation_id])[evaluation_id]
    return {name: moments_of(*moments) for *moments, name in rows}


def _moment_rows(connection: Connection, evaluations: Sequence[str]) -> Iterator[Row]:
    runs = dict(
        connection.execute(
            "SELECT evaluation_id, run_id FROM evaluations WHERE evaluation_id IN (SELECT unnest(?))", [evaluations]
        ).fetchall()
    )
    for evaluation in evaluations:
        for name in SUMMARIZED:
            sql = f"SELECT '{name}' AS name, $run AS run_id, position, value FROM ({QUANTITY_SQL[name]})"
            values = Query(sql=sql, given={"run": runs[evaluation], "evaluation": evaluation})
            for row in moments_query(values, ["name"]).on(connection).fetchall():
                yield evaluation, *row


QUANTITY_MOMENTS = Rollup(name="quantity moments 1", owner="evaluation", query=_moment_rows)

EXAMPLES = {
    "Which statements are contradicted, and why?": """\
SELECT run, question, statement, reason
FROM statement_verdicts
WHERE shown AND verdict = 'contradicted'
ORDER BY run, position, number""",
    "Which passages are behind the most unsupported statements?": """\
SELECT min(p.passage_id) AS passage_id, count(DISTINCT (v.evaluation_id, v.position, v.number)) AS statements,
       p.text[:200] AS passage
FROM statement_verdicts v
JOIN passages p USING (run_id, position)
WHERE v.shown AND v.verdict <> 'supported'
GROUP BY p.text
ORDER BY statements DESC, passage_id
LIMIT 20""",
    "Do longer answers have more unsupported statements?": """\
SELECT v.run, length(s.answer) // 200 * 200 AS characters_from,
       count(DISTINCT v.sample_id) AS answers, count(*) AS statements,
       avg((v.verdict <> 'supported')::INTEGER) AS share_unsupported
FROM statement_verdicts v
JOIN samples s USING (run_id, position)
WHERE v.shown AND v.verdict IS NOT NULL
GROUP BY ALL
ORDER BY ALL""",
    "Which samples have no score, and why?": """\
SELECT run, metric, reason, count(*) AS samples, any_value(detail) AS for_example
FROM sample_scores
WHERE shown AND value IS NULL
GROUP BY ALL
ORDER BY samples DESC, run, metric""",
    "Which questions does every run get wrong?": """\
SELECT question, count(DISTINCT run_id) AS runs, max(value) AS best
FROM sample_scores
WHERE shown AND metric LIKE '%.faithfulness'
GROUP BY question
HAVING max(value) < 0.5
ORDER BY best, question""",
    "What did evaluations cost?": """\
SELECT r.name AS run, e.judge, s.model, s.calls, s.prompt_tokens + s.completion_tokens AS tokens, s.cost
FROM spending s
JOIN evaluations e USING (evaluation_id)
JOIN runs r USING (run_id)
ORDER BY s.cost DESC NULLS LAST, run""",
}
"""Example queries, by the question that they answer."""
