"""Which answers refuse, and whether their questions can be answered."""

from __future__ import annotations

from typing import Any, NamedTuple

from ragboard.answerability import READ_COLUMNS
from ragboard.records import Answerability
from ragboard.store.queries.query import Connection
from ragboard.store.queries.values import mentions, metadata_columns

__all__ = ["RefusalRow", "answerability_columns", "judged_refusals", "refusal_rows"]


class RefusalRow(NamedTuple):
    """An evaluated sample."""

    position: int
    sample_id: str
    question: str
    refuses: bool
    states: bool
    """Whether the answer has statements. A refusal with statements is a partial refusal."""
    selected: bool | None
    """Whether the judge found a sentence in the passages that helps to answer; None if it was not asked."""
    columns: list[str | None]
    """The values, as JSON, of the metadata columns `READ_COLUMNS`; None for a missing column."""
    label: Answerability | None
    """The human label of the question; None if nobody labelled it."""


_COLUMNS = ", ".join(f"json_extract(s.metadata, '$.{name}')::VARCHAR" for name in READ_COLUMNS)
_IN_FILE = f"({mentions(READ_COLUMNS)} AND coalesce({_COLUMNS}) IS NOT NULL)"
"""SQL condition: the run file says whether the question can be answered."""
_LABELS = "LEFT JOIN current_question_labels l ON l.question = s.question AND l.history::VARCHAR = s.history::VARCHAR"


def answerability_columns(connection: Connection, run_id: str) -> list[tuple[Any, ...]]:
    """Return (position, human label of the question, values of `READ_COLUMNS` as JSON ...) of samples that have any."""
    if not _may_be_stated(connection, run_id):
        return []
    return connection.execute(
        f"SELECT s.position, l.answerability, {_COLUMNS} FROM samples s {_LABELS} WHERE s.run_id = ?"
        f" AND (l.answerability IS NOT NULL OR {_IN_FILE}) ORDER BY s.position",
        [run_id],
    ).fetchall()


def _may_be_stated(connection: Connection, run_id: str) -> bool:
    """Return whether people or the run file may say which questions can be answered.

    Large runs have a list of their columns, so this is much faster than reading their samples.
    """
    columns = {column.key for column in metadata_columns(connection, run_id)}
    labels = connection.execute("SELECT 1 FROM current_question_labels LIMIT 1").fetchall()
    return bool(labels) or not columns.isdisjoint(READ_COLUMNS)


def judged_refusals(connection: Connection, evaluation_id: str | None) -> int:
    """Return the number of answers that were judged as refusals or not."""
    ((count,),) = connection.execute(
        "SELECT count(*) FROM sides WHERE evaluation_id = ? AND side = 'response' AND refuses IS NOT NULL",
        [evaluation_id],
    ).fetchall()
    return int(count)


def refusal_rows(connection: Connection, run_id: str, evaluation_id: str | None) -> list[RefusalRow]:
    """Return the samples whose answers were judged as refusals or not, by position.

    Samples are left out if neither people, nor the run file, nor the judge says whether their question can be answered.
    """
    judged = "SELECT 1 FROM sentences WHERE evaluation_id = ? LIMIT 1"
    if not _may_be_stated(connection, run_id) and not connection.execute(judged, [evaluation_id]).fetchall():
        return []
    rows = connection.execute(
        f"SELECT s.position, s.sample_id, s.question, d.refuses, t.position IS NOT NULL, c.selected, [{_COLUMNS}],"
        " l.answerability"
        " FROM samples s JOIN (SELECT position, refuses FROM sides WHERE evaluation_id = $evaluation"
        " AND side = 'response' AND refuses IS NOT NULL) d USING (position)"
        " LEFT JOIN (SELECT DISTINCT position FROM statements WHERE evaluation_id = $evaluation"
        " AND side = 'response') t USING (position)"
        " LEFT JOIN (SELECT position, bool_or(chosen) AS selected FROM sentences WHERE evaluation_id = $evaluation"
        " GROUP BY position) c USING (position)"
        f" {_LABELS} WHERE s.run_id = $run AND (l.answerability IS NOT NULL OR c.selected IS NOT NULL OR {_IN_FILE})"
        " ORDER BY s.position",
        {"run": run_id, "evaluation": evaluation_id},
    ).fetchall()
    return [RefusalRow(*row) for row in rows]
