"""What people found of whole samples: the numbers that estimates from labels begin with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import duckdb

from ragboard.human.draws import countable, newest_draw
from ragboard.human.label_types import Design, Draw, LabelledSample, LabelledSamples
from ragboard.judges.tasks import Quality
from ragboard.store import RunRef, Store

__all__ = ["GRADES", "labelled_samples"]

GRADES = (1, 5)
"""The worst grade and the best."""

Rows = Sequence[tuple[Any, ...]]


def labelled_samples(
    store: Store,
    run: RunRef,
    queue: Literal["random", "imported"] = "random",
    *,
    kind: Literal["verdict", "grade"] = "verdict",
    dimension: Quality = "faithfulness",
) -> LabelledSamples:
    """The samples of a run that people have labelled in full, in draw order, each with its human outcome.

    Of `verdict`s the outcome is the share of the statements that people say are supported, of a sample of
    which every statement has a label (the statements are those of the evaluation that `run` means); of
    `grade`s in a `dimension` their mean, mapped onto 0 to 1. Only labels of that queue count: those given
    while browsing saw the judge's verdict, and those of the disagreement queue are no random sample.
    `random` reads the draw of this run (and, of verdicts, of this evaluation); without one there are no rows.
    """
    with store.database.read() as connection:
        draw = newest_draw(connection, run, kind) if queue == "random" else None
        population = draw.population if draw else len(countable(connection, run, kind))
        rows = _verdicts(connection, run, queue) if kind == "verdict" else _grades(connection, run, queue, dimension)
    if queue == "random":
        return _drawn(rows, draw, population)
    designs = {design for *_, found in rows for design in found}
    return LabelledSamples(
        rows=tuple(_row(row, 0) for row in rows),
        design=_declared(designs),
        draw=None,
        population=population,
        passed_over=0,
    )


def _drawn(rows: Rows, draw: Draw | None, population: int) -> LabelledSamples:
    complete = {row[0]: row for row in rows}
    order = draw.positions if draw else ()
    found = tuple(_row(complete[at], place) for place, at in enumerate(order, 1) if at in complete)
    return LabelledSamples(
        rows=found,
        design="random",
        draw=draw,
        population=population,
        passed_over=found[-1].place - len(found) if found else 0,
    )


def _declared(designs: Iterable[str]) -> Design:
    match sorted(set(designs)):
        case ["random"]:
            return "random"
        case ["not random"]:
            return "not random"
        case _:
            return "unknown"


def _row(row: tuple[Any, ...], place: int) -> LabelledSample:
    position, sample_id, outcome, annotators, _ = row
    return LabelledSample(
        sample_id=sample_id, position=position, place=place, outcome=outcome, annotators=tuple(annotators)
    )


def _verdicts(connection: duckdb.DuckDBPyConnection, run: RunRef, queue: str) -> Rows:
    """Position, sample id, outcome, annotators and designs of each sample whose statements all have a label."""
    return connection.execute(
        "WITH said AS (SELECT position, statement, avg((label = 'supported')::INTEGER) AS share,"
        " list(annotator) AS annotators, list(design) AS designs FROM human_verdicts"
        " WHERE evaluation_id = $evaluation AND queue = $queue GROUP BY ALL),"
        " whole AS (SELECT position, avg(share) AS outcome, list_sort(list_distinct(flatten(list(annotators)))) AS who,"
        " list_distinct(flatten(list(designs))) AS designs, count(*) AS labelled FROM said GROUP BY position)"
        " SELECT w.position, s.sample_id, w.outcome, w.who, w.designs FROM whole w"
        " JOIN samples s ON s.run_id = $run AND s.position = w.position"
        " WHERE w.labelled = (SELECT count(*) FROM statements t WHERE t.evaluation_id = $evaluation"
        " AND t.position = w.position AND t.side = 'response') ORDER BY w.position",
        {"run": run.run_id, "evaluation": run.evaluation_id, "queue": queue},
    ).fetchall()


def _grades(connection: duckdb.DuckDBPyConnection, run: RunRef, queue: str, dimension: str) -> Rows:
    low, high = GRADES
    return connection.execute(
        "SELECT s.position, s.sample_id, avg((l.value::DOUBLE - $low) / ($high - $low)),"
        " list_sort(list_distinct(list(l.annotator))), list_distinct(list(l.design)) FROM current_labels l"
        " JOIN samples s ON s.answer_key = l.answer_key WHERE s.run_id = $run AND l.kind = 'grade'"
        " AND l.dimension = $dimension AND l.queue = $queue GROUP BY ALL ORDER BY s.position",
        {"run": run.run_id, "queue": queue, "dimension": dimension, "low": low, "high": high},
    ).fetchall()
