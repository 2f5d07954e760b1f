"""Citations of an answer, and how far the cited passages support its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragboard.store.queries.query import STATEMENT_KEYS, Connection, StatementKey, key_values
from ragboard.tasks import Support

__all__ = ["SampleCitation", "cited_names", "sample_citations"]


class SampleCitation(NamedTuple):
    """A citation of an answer, with the statements of its sentence."""

    start: int | None
    """Where the citation mark begins in the answer; None if the citation is from a column of the file."""
    end: int | None
    """Where the citation mark ends; None like `start`."""
    name: str
    """The number or id as the answer writes it."""
    rank: int | None
    """The rank of the cited passage; None: no retrieved passage has this number or id."""
    support: Support | None
    """How far the passage supports the sentence; None: the sentence has no statement."""
    statements: tuple[int, ...]
    """The numbers of the statements of its sentence, from 0."""


def sample_citations(connection: Connection, evaluation_id: str | None, position: int) -> tuple[SampleCitation, ...]:
    """Return the citations of an answer in text order; empty if they were not judged."""
    rows = connection.execute(
        "SELECT DISTINCT c.mark_start, c.mark_end, c.name, c.rank, c.support,"
        " coalesce((SELECT list(statement ORDER BY statement) FROM (SELECT DISTINCT statement FROM cited_statements s"
        " WHERE s.evaluation_id = c.evaluation_id AND s.position = c.position AND s.sentence = c.sentence)), [])"
        " FROM citations c WHERE c.evaluation_id = ? AND c.position = ?"
        " ORDER BY c.mark_start, c.rank, c.name",
        [evaluation_id, position],
    ).fetchall()
    return tuple(
        SampleCitation(start, end, name, rank, support, tuple(statements))
        for start, end, name, rank, support, statements in rows
    )


def cited_names(connection: Connection, statements: Sequence[StatementKey]) -> dict[StatementKey, tuple[str, ...]]:
    """Return, for each statement, the numbers or ids that its sentence cites, as the answer writes them and in order.

    Statements whose sentence cites nothing are left out.
    """
    if not statements:
        return {}
    rows = connection.execute(
        f"{STATEMENT_KEYS}"
        " SELECT evaluation_id, position, statement, name FROM keys JOIN cited_statements s"
        " USING (evaluation_id, position, statement) JOIN citations c USING (evaluation_id, position, sentence)"
        " GROUP BY ALL ORDER BY min(c.mark_start), min(c.rank), name",
        key_values(statements),
    ).fetchall()
    found: dict[StatementKey, tuple[str, ...]] = {}
    for evaluation, position, statement, name in rows:
        key = (evaluation, position, statement)
        found[key] = (*found.get(key, ()), name)
    return found
