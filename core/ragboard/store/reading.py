"""Find and read runs, samples and evaluations over a connection."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from ragboard.errors import NotFoundError
from ragboard.records import Evaluation, Passage, Sample, Turn
from ragboard.store.nouns import RunRef

__all__ = [
    "column",
    "evaluation_named",
    "find_run",
    "find_sample",
    "metrics_of",
    "read_evaluations",
    "read_samples",
    "run_shown",
]

NAMED = 5
"""The most samples that a message names."""


def find_sample(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str) -> tuple[int, Sample]:
    """Return a sample of a run and its position. Raises NotFoundError if the run has no such sample."""
    row = connection.execute(
        "SELECT position FROM samples WHERE run_id = ? AND sample_id = ?", [run.run_id, sample_id]
    ).fetchone()
    if row is None:
        raise NotFoundError(f"run {run.name!r} has no sample {sample_id!r}; it has {_some_ids(connection, run)}")
    ((position, sample),) = read_samples(connection, run.run_id, row[0], row[0] + 1)
    return position, sample


def _some_ids(connection: duckdb.DuckDBPyConnection, run: RunRef) -> str:
    """Return the first few ids of a run, for a message."""
    rows = connection.execute(
        "SELECT sample_id FROM samples WHERE run_id = ? ORDER BY position LIMIT ?", [run.run_id, NAMED + 1]
    ).fetchall()
    return ", ".join(f"{row[0]:.40}" for row in rows[:NAMED]) + (", ..." if len(rows) > NAMED else "")


def read_samples(connection: duckdb.DuckDBPyConnection, run_id: str, start: int, stop: int) -> list[tuple[int, Sample]]:
    """Return the samples at the positions from `start` up to `stop`, with their positions."""
    given = [run_id, start, stop]
    rows = connection.execute(
        "SELECT position, sample_id, question, answer, reference, has_contexts, reference_contexts, history,"
        " metadata FROM samples WHERE run_id = ? AND position >= ? AND position < ? ORDER BY position",
        given,
    ).fetchall()
    passages = connection.execute(
        "SELECT position, rank, passage_id, text, score FROM passages"
        " WHERE run_id = ? AND position >= ? AND position < ? ORDER BY position, rank",
        given,
    ).fetchall()
    by_sample: dict[int, list[Passage]] = {}
    for position, rank, passage_id, text, score in passages:
        by_sample.setdefault(position, []).append(Passage(id=passage_id, text=text, rank=rank, score=score))
    return [(row[0], _sample(row, by_sample.get(row[0], []))) for row in rows]


def _sample(row: tuple[Any, ...], passages: list[Passage]) -> Sample:
    _, sample_id, question, answer, reference, has_contexts, reference_contexts, history, metadata = row
    return Sample(
        id=sample_id,
        question=question,
        answer=answer,
        contexts=tuple(passages) if has_contexts else None,
        reference=reference,
        reference_contexts=None if reference_contexts is None else tuple(json.loads(reference_contexts)),
        history=tuple(Turn(**turn) for turn in json.loads(history)),
        metadata=json.loads(metadata),
    )


def column(connection: duckdb.DuckDBPyConnection, sql: str, given: list[Any]) -> list[str]:
    """Return the first column of the result of a query."""
    return [row[0] for row in connection.execute(sql, given).fetchall()]


def find_run(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str, str] | None:
    """Return id and name of the run with this name, else with this id; None if there is none."""
    found: tuple[str, str] | None = connection.execute(
        "SELECT run_id, name FROM runs WHERE name = ? OR run_id = ? ORDER BY name = ? DESC",
        [name, name, name],
    ).fetchone()
    return found


def run_shown(connection: duckdb.DuckDBPyConnection, run_id: str, name: str) -> RunRef:
    """Return a reference to a run by its name alone: statements and scores of the evaluations that pages show."""
    main = column(connection, "SELECT evaluation_id FROM shown_evaluations WHERE run_id = ?", [run_id])
    rows = connection.execute(
        "SELECT metric, evaluation_id FROM shown_metrics WHERE run_id = ? AND evaluation_id <> ? ORDER BY metric",
        [run_id, main[0] if main else ""],
    ).fetchall()
    return RunRef(
        run_id=run_id,
        name=name,
        evaluation_id=main[0] if main else None,
        elsewhere=tuple((metric, evaluation) for metric, evaluation in rows),
        chosen=False,
    )


def evaluation_named(connection: duckdb.DuckDBPyConnection, run_id: str, wanted: str) -> str:
    """Return the evaluation of a run whose id begins with this. Raises NotFoundError that names the possible ones."""
    there = column(
        connection, "SELECT evaluation_id FROM evaluations WHERE run_id = ? ORDER BY finished DESC", [run_id]
    )
    found = [evaluation for evaluation in there if wanted and evaluation.startswith(wanted)]
    if len(found) != 1:
        raise NotFoundError(f"no evaluation of this run is called {wanted!r}; it has {', '.join(there) or 'none'}")
    return found[0]


def read_evaluations(connection: duckdb.DuckDBPyConnection, where: str, *given: str) -> tuple[Evaluation, ...]:
    """Return the evaluations that meet a condition, newest first."""
    rows = connection.execute(
        "SELECT evaluation_id, run_id, judge, heuristic, identity, metrics, imported FROM evaluations"
        f" WHERE {where} ORDER BY finished DESC, evaluation_id",
        given,
    ).fetchall()
    return tuple(
        Evaluation(
            id=row[0],
            run_id=row[1],
            judge=row[2],
            heuristic=row[3],
            identity=json.loads(row[4]),
            metrics=tuple(row[5]),
            imported=bool(row[6]),
        )
        for row in rows
    )


def metrics_of(connection: duckdb.DuckDBPyConnection, evaluation_id: str) -> tuple[str, ...]:
    """Return the metrics of an evaluation; empty for a new one."""
    row = connection.execute("SELECT metrics FROM evaluations WHERE evaluation_id = ?", [evaluation_id]).fetchone()
    return tuple(row[0]) if row else ()
