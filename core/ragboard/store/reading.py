"""Read runs, samples and evaluations from the database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import duckdb

from ragboard.errors import NotFoundError
from ragboard.records import Evaluation, Nugget, Passage, Sample, Turn
from ragboard.store.queries.references import with_dataset_references
from ragboard.store.run_refs import RunRef

__all__ = [
    "column",
    "evaluation_named",
    "find_sample",
    "metrics_of",
    "page_end",
    "read_evaluations",
    "read_samples",
    "read_samples_at",
    "run_id_and_name",
    "run_shown",
]

MAX_LISTED_IDS = 5
"""Maximum number of sample ids in a message."""


def find_sample(connection: duckdb.DuckDBPyConnection, run: RunRef, sample_id: str) -> tuple[int, Sample]:
    """Return a sample of a run and its position. Raises NotFoundError if the run has no such sample."""
    row = connection.execute(
        "SELECT position FROM samples WHERE run_id = ? AND sample_id = ?", [run.run_id, sample_id]
    ).fetchone()
    if row is None:
        raise NotFoundError(f"run {run.name!r} has no sample {sample_id!r}; it has {_some_ids(connection, run)}")
    samples = read_samples(connection, run.run_id, row[0], row[0] + 1)
    ((position, sample),) = with_dataset_references(connection, run.run_id, samples)
    return position, sample


def _some_ids(connection: duckdb.DuckDBPyConnection, run: RunRef) -> str:
    """Return the first sample ids of a run, for a message."""
    rows = connection.execute(
        "SELECT sample_id FROM samples WHERE run_id = ? ORDER BY position LIMIT ?", [run.run_id, MAX_LISTED_IDS + 1]
    ).fetchall()
    return ", ".join(f"{row[0]:.40}" for row in rows[:MAX_LISTED_IDS]) + (", ..." if len(rows) > MAX_LISTED_IDS else "")


def page_end(connection: duckdb.DuckDBPyConnection, run_id: str, start: int, size: int) -> int | None:
    """Return the position after a page of `size` samples that begins at `start`; None if there are no more samples."""
    row = connection.execute(
        "SELECT max(position) + 1 FROM"
        " (SELECT position FROM samples WHERE run_id = ? AND position >= ? ORDER BY position LIMIT ?)",
        [run_id, start, size],
    ).fetchone()
    return row[0] if row else None


def read_samples(connection: duckdb.DuckDBPyConnection, run_id: str, start: int, stop: int) -> list[tuple[int, Sample]]:
    """Return (position, sample) for positions from `start` to `stop - 1`.

    References are those in the run file. `with_dataset_references` adds those of other runs.
    """
    return _read_samples(connection, "run_id = ? AND position >= ? AND position < ?", [run_id, start, stop])


def read_samples_at(
    connection: duckdb.DuckDBPyConnection, run_id: str, positions: Sequence[int]
) -> list[tuple[int, Sample]]:
    """Return (position, sample) for these positions, ascending, with the references of the dataset.

    Positions without a sample are left out.
    """
    samples = _read_samples(
        connection, "run_id = ? AND position IN (SELECT unnest(?::INTEGER[]))", [run_id, list(positions)]
    )
    return with_dataset_references(connection, run_id, samples)


def _read_samples(
    connection: duckdb.DuckDBPyConnection, where: str, parameters: Sequence[Any]
) -> list[tuple[int, Sample]]:
    rows = connection.execute(
        f"WITH page AS (SELECT *, history::VARCHAR AS turns FROM samples WHERE {where}),"
        " answerable AS (SELECT question, history::VARCHAR AS turns, arg_max_null(answerability, number) AS label"
        " FROM question_labels GROUP BY ALL),"
        " nuggets AS (SELECT question, history::VARCHAR AS turns, arg_max(nuggets, number) AS list"
        " FROM nugget_lists GROUP BY ALL)"
        " SELECT position, sample_id, question, answer, reference, has_contexts, reference_contexts, history,"
        " answerable.label, nuggets.list, metadata, time FROM page"
        " LEFT JOIN answerable USING (question, turns) LEFT JOIN nuggets USING (question, turns) ORDER BY position",
        parameters,
    ).fetchall()
    passages = connection.execute(
        f"SELECT position, rank, passage_id, text, score FROM passages WHERE {where} ORDER BY position, rank",
        parameters,
    ).fetchall()
    by_sample: dict[int, list[Passage]] = {}
    for position, rank, passage_id, text, score in passages:
        by_sample.setdefault(position, []).append(Passage(id=passage_id, text=text, rank=rank, score=score))
    return [(row[0], _sample(row, by_sample.get(row[0], []))) for row in rows]


def _sample(row: tuple[Any, ...], passages: list[Passage]) -> Sample:
    _, sample_id, question, answer, reference, has_contexts, reference_contexts, history, label, nuggets, *rest = row
    metadata, time = rest
    return Sample(
        id=sample_id,
        question=question,
        answer=answer,
        contexts=tuple(passages) if has_contexts else None,
        reference=reference,
        reference_contexts=None if reference_contexts is None else tuple(json.loads(reference_contexts)),
        history=tuple(Turn(**turn) for turn in json.loads(history)),
        nuggets=None if nuggets is None else tuple(Nugget(**nugget) for nugget in json.loads(nuggets)),
        answerability=label,
        time=time,
        metadata=json.loads(metadata),
    )


def column(connection: duckdb.DuckDBPyConnection, sql: str, parameters: list[Any]) -> list[str]:
    """Return the first column of the result of a query."""
    return [row[0] for row in connection.execute(sql, parameters).fetchall()]


def run_id_and_name(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str, str] | None:
    """Return (id, name) of the run with this name, else of the run with this id; None if there is neither."""
    run: tuple[str, str] | None = connection.execute(
        "SELECT run_id, name FROM runs WHERE name = ? OR run_id = ? ORDER BY name = ? DESC",
        [name, name, name],
    ).fetchone()
    return run


def run_shown(connection: duckdb.DuckDBPyConnection, run_id: str, name: str) -> RunRef:
    """Return the run with the evaluations that pages show, which is what a run's name without `@EVALUATION` means."""
    main = column(connection, "SELECT evaluation_id FROM shown_evaluations WHERE run_id = ?", [run_id])
    rows = connection.execute(
        "SELECT metric, evaluation_id FROM shown_metrics WHERE run_id = ? AND evaluation_id <> ? ORDER BY metric",
        [run_id, main[0] if main else ""],
    ).fetchall()
    return RunRef(
        run_id=run_id,
        name=name,
        evaluation_id=main[0] if main else None,
        other_evaluations=tuple((metric, evaluation) for metric, evaluation in rows),
        chosen=False,
    )


def evaluation_named(connection: duckdb.DuckDBPyConnection, run_id: str, name: str) -> str:
    """Return the id of a run's evaluation. `name` is the beginning of its id, or the name of its judge.

    Raises NotFoundError if no evaluation or several evaluations match.
    """
    evaluations = read_evaluations(connection, "run_id = ?", run_id)
    matching = [one.id for one in evaluations if name and (one.id.startswith(name) or one.judge == name)]
    if len(matching) != 1:
        problem = "more than one evaluation" if matching else "no evaluation"
        names = ", ".join(f"{one.id} ({one.judge})" for one in evaluations) or "no evaluations"
        raise NotFoundError(f"{problem} of this run is called {name!r}; the run has {names}")
    return matching[0]


def read_evaluations(connection: duckdb.DuckDBPyConnection, where: str, *parameters: str) -> tuple[Evaluation, ...]:
    """Return the evaluations that meet an SQL condition, newest first."""
    rows = connection.execute(
        "SELECT evaluation_id, run_id, judge, heuristic, identity, metrics, imported FROM evaluations"
        f" WHERE {where} ORDER BY finished DESC, evaluation_id",
        parameters,
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
    """Return the metrics of an evaluation; empty if the database does not have it yet."""
    row = connection.execute("SELECT metrics FROM evaluations WHERE evaluation_id = ?", [evaluation_id]).fetchone()
    return tuple(row[0]) if row else ()
