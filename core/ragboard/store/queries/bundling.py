"""Judgements that a judge gave twice: in a call with others, and in a call like that of the metric's original tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragboard.metrics.citations import GRADED_CITATION
from ragboard.metrics.nuggets import NUGGETS_PER_CALL
from ragboard.metrics.umbrela import SEPARATE_PASSAGE_GRADE
from ragboard.records import PASSAGE_GRADE
from ragboard.store.queries.query import Connection
from ragboard.store.run_refs import RunRef

__all__ = ["JudgedBothWays", "judged_both_ways"]


class JudgedBothWays(NamedTuple):
    """A nugget, passage or citation that one evaluation judged in a call with others and in a separate call."""

    kind: str
    """`nuggets`, `grades` (of passages) or `support` (of sentences by cited passages)."""
    position: int
    together: str
    """The reply in the call with others."""
    alone: str
    """The reply in the call like that of the metric's original tool (`compat`)."""
    call: str
    """An id of the call that gave `alone`."""


def judged_both_ways(connection: Connection, run: RunRef) -> Sequence[JudgedBothWays]:
    """Return what the evaluations of a run judged both ways, ordered by kind and position."""
    given = {
        "evaluations": list(run.evaluations),
        "at_once": NUGGETS_PER_CALL,
        "grade": PASSAGE_GRADE,
        "graded_alone": SEPARATE_PASSAGE_GRADE,
        "start": GRADED_CITATION.partition("{")[0] + "[",
        "end": "]" + GRADED_CITATION.partition("}")[2],
    }
    rows = connection.execute(
        """\
SELECT 'nuggets', t.position, t.label, a.label, (a.number // $at_once)::VARCHAR
FROM assignments t JOIN assignments a USING (evaluation_id, position, number)
WHERE NOT t.compat AND a.compat AND t.nugget = a.nugget AND a.label <> 'failed'
  AND t.evaluation_id IN (SELECT unnest($evaluations))
UNION ALL
SELECT 'grades', t.position, t.says, a.says, p.text
FROM judgements t JOIN judgements a USING (evaluation_id, position, number)
JOIN evaluations e USING (evaluation_id)
JOIN passages p ON p.run_id = e.run_id AND p.position = t.position AND p.rank = t.number
WHERE t.about = $grade AND a.about = $graded_alone AND t.evaluation_id IN (SELECT unnest($evaluations))
UNION ALL
SELECT DISTINCT 'support', t.position, t.support, a.says, t.sentence || ' ' || t.name
FROM citations t JOIN judgements a ON a.evaluation_id = t.evaluation_id AND a.position = t.position
  AND a.number = t.sentence + 1 AND a.about = $start || t.name || $end
WHERE t.support IS NOT NULL AND t.rank IS NOT NULL AND t.evaluation_id IN (SELECT unnest($evaluations))
ORDER BY ALL""",
        given,
    ).fetchall()
    return [JudgedBothWays(*row) for row in rows]
