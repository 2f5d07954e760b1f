"""Citations in answers, and whether the cited passages support the sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragboard.store.queries.query import STATEMENT_KEYS, Connection, StatementKey, key_values
from ragboard.tasks import Support

__all__ = ["SampleCitation", "cited_names", "sample_citations"]


class SampleCitation(NamedTuple):
    """A citation in an answer, with the statements of its sentence."""

    start: int | None
    """Position of the citation mark in the answer; None if the citation is from a column of the file."""
    end: int | None
    """Position after the citation mark; None if `start` is None."""
    name: str
    """The cited number or id, as in the answer."""
    rank: int | None
    """The rank of the cited passage; None if no retrieved passage has this number or id."""
    support: Support | None
    """Whether the passage supports the sentence; None if the sentence has no statement."""
    statements: tuple[int, ...]
    """The numbers, from 0, of the statements in the sentence."""


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
    """Return {statement: the numbers or ids that its sentence cites}, without statements that have no citation."""
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
