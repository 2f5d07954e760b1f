"""The statements of an answer with what a judge says of them, and what people say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import duckdb

from ragboard.analysis.nouns import JudgedStatement
from ragboard.records import Evidence, Label, Span, Statement, Verdict
from ragboard.store.queries.labels import human_verdicts

__all__ = ["judged_statements", "verdict_read"]

_AT = " WHERE evaluation_id = $evaluation AND position = $position"


def judged_statements(
    connection: duckdb.DuckDBPyConnection, evaluation_id: str | None, position: int
) -> tuple[tuple[JudgedStatement, ...], bool | None]:
    """The statements of a sample's answer, and whether it refuses; None where that was never asked."""
    at = {"evaluation": evaluation_id, "position": position}
    people = human_verdicts(connection, evaluation_id, position)
    said = _statements(connection, at)
    whole = tuple(replace(one, people=people[n]) if n in people else one for n, one in enumerate(said))
    return whole, _refuses(connection, at)


def _statements(connection: duckdb.DuckDBPyConnection, at: Mapping[str, object]) -> tuple[JudgedStatement, ...]:
    rows = connection.execute(
        "SELECT s.statement, s.text, s.span_start, s.span_end, s.span_how, s.origin, v.label, v.reason, v.score,"
        " v.evidence FROM statements s LEFT JOIN verdicts v"
        " ON v.evaluation_id = s.evaluation_id AND v.position = s.position AND v.side = s.side"
        " AND v.statement = s.statement AND v.target = 'joint'"
        " WHERE s.evaluation_id = $evaluation AND s.position = $position AND s.side = 'response'"
        " ORDER BY s.statement",
        dict(at),
    ).fetchall()
    single = _single_verdicts(connection, at)
    return tuple(
        JudgedStatement(
            statement=Statement(
                side="response", text=text, span=None if start is None else Span(start=start, end=end, how=how)
            ),
            verdict=None if label is None else verdict_read(label, reason, score, evidence),
            single=single.get(number, {}),
            origin=origin,
        )
        for number, text, start, end, how, origin, label, reason, score, evidence in rows
    )


def _single_verdicts(connection: duckdb.DuckDBPyConnection, at: Mapping[str, object]) -> dict[int, dict[int, Verdict]]:
    """For each statement of the answer the verdict of each passage by itself, by rank."""
    rows = connection.execute(
        "SELECT statement, split_part(target, ':', 2)::INTEGER AS rank, label, reason, score, evidence FROM verdicts"
        + _AT
        + " AND side = 'response' AND target LIKE 'passage:%' ORDER BY statement, rank",
        dict(at),
    ).fetchall()
    found: dict[int, dict[int, Verdict]] = {}
    for number, rank, *said in rows:
        found.setdefault(number, {})[rank] = verdict_read(*said)
    return found


def verdict_read(label: Label, reason: str, score: float | None, evidence: str) -> Verdict:
    """A verdict from its columns in the store."""
    marks = tuple(Evidence(**mark) for mark in json.loads(evidence))
    return Verdict(label=label, reason=reason, score=score, evidence=marks)


def _refuses(connection: duckdb.DuckDBPyConnection, at: Mapping[str, object]) -> bool | None:
    row = connection.execute("SELECT refuses FROM sides" + _AT + " AND side = 'response'", dict(at)).fetchone()
    return None if row is None else bool(row[0])
