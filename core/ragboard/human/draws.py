"""Random queues: which samples are to be labelled, in which order, drawn so that it can be shown later."""

from __future__ import annotations

import json
import random
from hashlib import blake2b

import duckdb

from ragboard.errors import SettingError
from ragboard.human.label_types import Draw, LabelKind
from ragboard.pairing import pair_samples
from ragboard.store import AskedSample, RunRef, Store

__all__ = ["countable", "draw_of", "draw_samples", "newest_draw", "partners"]


def draw_samples(
    store: Store, run: RunRef, *, size: int, seed: int = 0, kind: LabelKind = "verdict", against: RunRef | None = None
) -> Draw:
    """Draw samples of a run to be labelled, or more of them; the draw is kept, and drawing it again changes nothing.

    Preferences need the run that this one is held `against`. Raises SettingError where there is nothing to
    draw from, and for another seed than an earlier draw of the same kind: choosing between draws is no
    random sample.
    """
    if size < 1:
        raise SettingError(f"a draw has at least 1 sample, got {size}")
    with store.database.write() as connection:
        earlier = newest_draw(connection, run, kind, against)
        if earlier and earlier.seed != seed:
            raise SettingError(
                f"{run.name} was drawn from with seed {earlier.seed} already; draw more with the same seed"
            )
        population = countable(connection, run, kind, against)
        if not population:
            raise SettingError(f"run {run.name!r} has no sample to label so; evaluate it first")
        if earlier and size <= len(earlier.positions):
            return earlier
        order = random.Random(seed).sample(population, len(population))  # noqa: S311 - a sample, not a secret
        return _kept(connection, run, kind, against, seed, len(population), order[:size])


def draw_of(store: Store, run: RunRef, kind: LabelKind = "verdict", against: RunRef | None = None) -> Draw | None:
    """The draw of that kind, or None where nobody drew yet."""
    with store.database.read() as connection:
        return newest_draw(connection, run, kind, against)


def newest_draw(
    connection: duckdb.DuckDBPyConnection, run: RunRef, kind: LabelKind, against: RunRef | None = None
) -> Draw | None:
    """The same over a connection: the largest, which begins with all others of the same samples."""
    row = connection.execute(
        "SELECT draw_id, seed, population, positions, drawn FROM draws WHERE kind = ? AND run_id = ?"
        " AND evaluation_id = ? AND other_run_id = ? ORDER BY len(positions) DESC LIMIT 1",
        [kind, *_of(run, kind, against)],
    ).fetchone()
    if row is None:
        return None
    run_id, evaluation_id, other_run_id = _of(run, kind, against)
    draw_id, seed, population, positions, drawn = row
    return Draw(
        id=draw_id,
        kind=kind,
        run_id=run_id,
        evaluation_id=evaluation_id,
        other_run_id=other_run_id,
        seed=seed,
        population=population,
        positions=tuple(positions),
        drawn=drawn,
    )


def countable(
    connection: duckdb.DuckDBPyConnection, run: RunRef, kind: LabelKind, against: RunRef | None = None
) -> list[int]:
    """The places of the samples that can be labelled so: with a statement, an answer, a partner that has one."""
    if kind == "verdict":
        sql = "SELECT DISTINCT position FROM statements WHERE evaluation_id = ? AND side = 'response' ORDER BY 1"
        return _column(connection, sql, run.evaluation_id)
    if kind == "preference" and against is not None:
        return list(partners(connection, run, against))
    sql = "SELECT position FROM samples WHERE run_id = ? AND trim(coalesce(answer, '')) <> '' ORDER BY 1"
    return _column(connection, sql, run.run_id)


def partners(connection: duckdb.DuckDBPyConnection, run: RunRef, against: RunRef) -> dict[int, str]:
    """By position the sample of the other run that answers the same question; pairs with an empty answer are left out.

    Samples are paired as everywhere: a question that is there several times has a partner only by its id.
    """
    ours, theirs = (
        connection.execute(
            "SELECT sample_id, question, history::VARCHAR, trim(coalesce(answer, '')) <> '' FROM samples"
            " WHERE run_id = ? ORDER BY position",
            [one.run_id],
        ).fetchall()
        for one in (run, against)
    )
    paired = pair_samples(*([AskedSample._make(row[:3]) for row in rows] for rows in (ours, theirs)))
    return {a: theirs[b][0] for a, b in paired.pairs if ours[a][3] and theirs[b][3]}


def _kept(
    connection: duckdb.DuckDBPyConnection,
    run: RunRef,
    kind: LabelKind,
    against: RunRef | None,
    seed: int,
    population: int,
    positions: list[int],
) -> Draw:
    of = _of(run, kind, against)
    draw_id = blake2b(json.dumps([kind, *of, seed, population, len(positions)]).encode(), digest_size=6).hexdigest()
    connection.execute(
        "INSERT OR IGNORE INTO draws VALUES (?, ?, ?, ?, ?, ?, ?, ?, now() AT TIME ZONE 'UTC')",
        [draw_id, kind, *of, seed, population, positions],
    )
    found = newest_draw(connection, run, kind, against)
    if found is None:
        raise AssertionError("a draw that was just kept is there")
    return found


def _of(run: RunRef, kind: LabelKind, against: RunRef | None) -> tuple[str, str, str]:
    """Run, evaluation and other run that a draw of that kind is of."""
    evaluation = (run.evaluation_id or "") if kind == "verdict" else ""
    return run.run_id, evaluation, against.run_id if against else ""


def _column(connection: duckdb.DuckDBPyConnection, sql: str, *given: str | None) -> list[int]:
    return [row[0] for row in connection.execute(sql, list(given)).fetchall()]
