"""Values of a column of a run: a metric, or a metadata column (`metadata.NAME`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ragboard.stats.checks import MAX_SQUARABLE
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.rollups import Rollup, select
from ragboard.store.queries.scores import AnyMoments, Scored, moments_by, read_scored, shown_scores
from ragboard.store.run_refs import RunRef

__all__ = [
    "META",
    "METADATA_COLUMNS",
    "TURN",
    "Categories",
    "Extent",
    "GroupSize",
    "MetadataColumn",
    "PlottedSample",
    "bin_counts",
    "categories",
    "category_of",
    "column_query",
    "extent",
    "grades_by_dimension",
    "group_moments",
    "group_sizes",
    "has_conversations",
    "known_values",
    "mentions",
    "metadata_columns",
    "plotted_samples",
    "quantiles",
    "runs_with_objects",
    "unscored_reasons",
    "value_moments",
]

META = "metadata."
"""The prefix of metadata columns."""

GRADES = ("grades", "human", "human_mean")
"""Metadata columns that may have human grades by dimension. The first one that a sample has counts."""

TURN = "turn"
"""Name of a computed column to group by: the number of the question in its conversation, from 1."""


class Categories(NamedTuple):
    """The values of a metadata column or `TURN`, which divide the samples into groups."""

    names: tuple[str, ...]
    """The distinct values as text, ascending."""
    numbers: NDArray[np.int64]
    """The index of each sample's value in `names`, by position; -1 for a sample without a value."""


class Extent(NamedTuple):
    """How many samples have a value, and the minimum and maximum value."""

    scored: int
    """Number of samples with a value."""
    total: int
    """Number of all samples."""
    least: float | None
    most: float | None


class MetadataColumn(NamedTuple):
    """A metadata column, and counts of its kinds of values."""

    key: str
    not_numbers: int
    """Number of values that are not numbers."""
    nested: int
    """Number of values that are lists or objects."""
    distinct: int
    """Approximate number of different values."""
    samples: int
    """Number of samples with a value."""


class PlottedSample(NamedTuple):
    """A sample with its values of two columns."""

    sample_id: str
    question: str
    """The first 200 characters of the question."""
    x: float
    y: float
    both: int
    """Number of samples of the run with both values."""


class GroupSize(NamedTuple):
    """A value of a metadata column, and the number of samples that have it."""

    value: str
    total: int


def column_query(run: RunRef, column: str, name: str = "v", fill: float | None = None) -> Query:
    """Return a query for (position, value) of each sample. The value is null if the sample has none.

    - `name`: suffix of the query's parameters. Queries with different suffixes can be combined.
    - `fill`: the value of unscored samples. Not used for metadata.

    A number in metadata whose square would overflow counts as missing.
    """
    if column.startswith(META):
        return Query(
            sql=f"SELECT position, CASE WHEN abs(number) <= {MAX_SQUARABLE:g} THEN number END AS value FROM"
            f" (SELECT position, TRY_CAST(json_extract_string(metadata, $at_{name}) AS DOUBLE) AS number FROM samples"
            f" WHERE run_id = $run_{name})",
            given={f"run_{name}": run.run_id, f"at_{name}": _pointer(column)},
        )
    value = "value" if fill is None else f"coalesce(value, $fill_{name}) AS value"
    given = {
        f"run_{name}": run.run_id,
        f"evaluation_{name}": run.evaluation_of(column),
        f"metric_{name}": column,
    }
    return Query(
        sql=f"SELECT m.position, c.value FROM samples m LEFT JOIN (SELECT position, {value} FROM scores"
        f" WHERE metric = $metric_{name} AND (evaluation_id = $evaluation_{name} OR evaluation_id IN"
        f" (SELECT evaluation_id FROM evaluations WHERE run_id = $run_{name} AND imported))) c USING (position)"
        f" WHERE m.run_id = $run_{name}",
        given=given if fill is None else given | {f"fill_{name}": fill},
    )


def _pointer(column: str) -> str:
    """Return the JSON pointer of a metadata column."""
    return "/" + column.removeprefix(META).replace("~", "~0").replace("/", "~1")


def category_of(column: str) -> Query:
    """Return an SQL expression for the value of a metadata column or `TURN`, as text, in a query with `samples s`."""
    if column != TURN:
        return Query(sql="json_extract_string(s.metadata, $by)", given={"by": _pointer(column)})
    roles = "json_extract_string(s.history, '$[*].role')"
    return Query(sql=f"(1 + len(list_filter({roles}, lambda role: role = 'user')))::VARCHAR", given={})


def has_conversations(connection: Connection, run_id: str) -> bool:
    """Return whether a sample of the run has earlier turns."""
    found = connection.execute(
        "SELECT 1 FROM samples WHERE run_id = ? AND history::VARCHAR <> '[]' LIMIT 1", [run_id]
    ).fetchone()
    return found is not None


def extent(connection: Connection, values: Query) -> Extent:
    """Return the number of values, and their minimum and maximum."""
    row = connection.execute(
        f"WITH v AS ({values.sql}) SELECT count(value), count(*), min(value), max(value) FROM v", dict(values.given)
    ).fetchone()
    return Extent(*row) if row else Extent(0, 0, None, None)


def value_moments(
    connection: Connection, values: Query, *, fail: Literal["below", "above"] | None = None, threshold: float = 0.0
) -> AnyMoments | None:
    """Return the moments of a column, or of its pass rate (1 for values that pass, 0 for others); None without values.

    - `values`: a query of `column_query` with the default `name`.
    - `fail`: the side of `threshold` on which values fail. Without it, the moments are of the values.
    """
    value = "value" if fail is None else f"(value {'>=' if fail == 'below' else '<='} $threshold)::DOUBLE AS value"
    given = dict(values.given) if fail is None else {**values.given, "threshold": threshold}
    of_run = Query(sql=f"SELECT 'all' AS part, $run_v AS run_id, position, {value} FROM ({values.sql})", given=given)
    return moments_by(connection, of_run, "part").get("all")


def known_values(connection: Connection, values: Query) -> Scored:
    """Return the values of a column, without samples that have none."""
    return read_scored(connection.execute(f"SELECT * FROM ({values.sql}) WHERE value IS NOT NULL", dict(values.given)))


def mentions(names: Iterable[str]) -> str:
    """Return an SQL condition on samples: the metadata may have one of these columns.

    It is much faster than parsing the metadata, and true for every sample that has one of them.
    """
    tests = (f"""contains(metadata::VARCHAR, '"{name}"')""" for name in names)
    return f"({' OR '.join(tests)})"


def grades_by_dimension(connection: Connection, run_id: str) -> dict[str, Scored]:
    """Return {dimension: mean human grade of each sample} from the metadata of a run."""
    if {column.key for column in metadata_columns(connection, run_id)}.isdisjoint(GRADES):
        return {}
    columns = ", ".join(f"json_extract(metadata, '/{name}')" for name in GRADES)
    rows = connection.execute(
        f"SELECT position, coalesce({columns}) FROM samples WHERE run_id = ? AND {mentions(GRADES)}"
        f" AND coalesce({columns}) IS NOT NULL ORDER BY position",
        [run_id],
    ).fetchall()
    found: dict[str, dict[int, float]] = {}
    for position, text in rows:
        given = json.loads(text)
        for name, value in given.items() if isinstance(given, dict) else ():
            numbers = [one for one in (value if isinstance(value, list) else [value]) if _is_number(one)]
            if numbers:
                found.setdefault(name, {})[position] = sum(numbers) / len(numbers)
    return {
        name: Scored(np.array(list(by_position), dtype=np.int64), np.array(list(by_position.values())))
        for name, by_position in found.items()
    }


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_SQUARABLE


def bin_counts(connection: Connection, values: Query, low: float, width: float, bins: int) -> dict[int, int]:
    """Return {bin: number of values} for bins of equal width from `low`. Values outside are in the outer bins."""
    return dict(
        connection.execute(
            f"WITH v AS ({values.sql}) SELECT least(greatest(floor((value - $low) / $width), 0), $last)::INTEGER,"
            " count(*) FROM v WHERE value IS NOT NULL GROUP BY 1",
            {**values.given, "low": low, "width": width, "last": bins - 1},
        ).fetchall()
    )


def quantiles(connection: Connection, values: Query, steps: Sequence[float]) -> tuple[float, ...]:
    """Return the quantiles at the probabilities `steps`; empty if there are no values."""
    row = connection.execute(
        f"WITH v AS ({values.sql}) SELECT quantile_cont(value, $steps) FROM v WHERE value IS NOT NULL",
        {**values.given, "steps": list(steps)},
    ).fetchone()
    return tuple(row[0]) if row and row[0] else ()


def unscored_reasons(connection: Connection, run: RunRef, metric: str) -> dict[str, int]:
    """Return {reason: number of unscored samples} for a metric, most frequent first."""
    shown = shown_scores(run)
    return dict(
        connection.execute(
            f"SELECT reason, count(*) FROM scores WHERE {shown.sql} AND metric = $metric AND reason IS NOT NULL"
            " GROUP BY 1 ORDER BY 2 DESC",
            {**shown.given, "metric": metric},
        ).fetchall()
    )


def plotted_samples(connection: Connection, run: RunRef, x: str, y: str, max_rows: int) -> list[PlottedSample]:
    """Return the samples with values in both columns, or a fixed random subset if there are more than `max_rows`."""
    xs, ys = column_query(run, x, "x"), column_query(run, y, "y")
    rows = connection.execute(
        f"SELECT s.sample_id, s.question[:200], a.value, b.value, count(*) OVER () FROM samples s"
        f" JOIN ({xs.sql}) a USING (position) JOIN ({ys.sql}) b USING (position)"
        " WHERE s.run_id = $run_x AND a.value IS NOT NULL AND b.value IS NOT NULL"
        " ORDER BY hash(s.position) LIMIT $max_rows",
        {**xs.given, **ys.given, "max_rows": max_rows},
    ).fetchall()
    return [PlottedSample(*row) for row in rows]


def metadata_columns(connection: Connection, run_id: str) -> list[MetadataColumn]:
    """Return the metadata columns, by name."""
    return [MetadataColumn(*row) for row in METADATA_COLUMNS.rows(connection, [run_id])[run_id]]


METADATA_COLUMNS = Rollup(
    name="metadata columns 1",
    owner="run",
    query=select(
        "WITH pairs AS (SELECT run_id, unnest(json_keys(metadata)) AS key, metadata FROM samples"
        " WHERE run_id IN (SELECT unnest($owners))),"
        " cells AS (SELECT run_id, key, json_extract(metadata, '/' || replace(replace(key, '~', '~0'), '/', '~1')) AS v"
        " FROM pairs)"
        " SELECT run_id, key, count(*) FILTER (json_type(v) NOT IN ('UBIGINT', 'BIGINT', 'DOUBLE', 'NULL')),"
        " count(*) FILTER (json_type(v) IN ('ARRAY', 'OBJECT')), approx_count_distinct(v::VARCHAR),"
        " count(*) FROM cells GROUP BY run_id, key ORDER BY key"
    ),
)


def categories(connection: Connection, run_id: str, column: str) -> Categories:
    """Return the value of each sample in `column`, a metadata column with few values or `TURN`."""
    category = category_of(column)
    values = f"SELECT position, {category.sql} AS value FROM samples s WHERE run_id = $run"
    given = {"run": run_id, **category.given}
    found = connection.execute(f"SELECT DISTINCT value FROM ({values}) WHERE value IS NOT NULL ORDER BY 1", given)
    names = tuple(name for (name,) in found.fetchall())
    rows = connection.execute(
        f"SELECT position, coalesce(list_position($names, value), 0) - 1 AS number FROM ({values})",
        {"names": list(names), **given},
    ).fetchnumpy()
    positions = np.asarray(rows["position"], dtype=np.int64)
    numbers = np.full(1 + int(positions.max(initial=-1)), -1, dtype=np.int64)
    numbers[positions] = rows["number"]
    return Categories(names, numbers)


def group_sizes(connection: Connection, run: RunRef, column: str, max_rows: int) -> list[GroupSize]:
    """Return the number of samples with each value of a metadata column (most frequent first) or `TURN` (in order)."""
    category = category_of(column)
    order = "key::INTEGER" if column == TURN else "count(*) DESC, key"
    rows = connection.execute(
        f"SELECT {category.sql} AS key, count(*) FROM samples s WHERE run_id = $run"
        f" AND key IS NOT NULL GROUP BY key ORDER BY {order} LIMIT $max_rows",
        {"run": run.run_id, **category.given, "max_rows": max_rows},
    ).fetchall()
    return [GroupSize(*row) for row in rows]


def group_moments(connection: Connection, values: Query, column: str) -> dict[str, AnyMoments]:
    """Return the moments of values for each value of `column` (a metadata column or `TURN`).

    `values` is a query of `column_query` with the default `name`.
    """
    category = category_of(column)
    keyed = Query(
        sql=f"SELECT {category.sql} AS key, s.run_id, s.position, v.value FROM samples s"
        f" LEFT JOIN ({values.sql}) v USING (position) WHERE s.run_id = $run_v AND key IS NOT NULL",
        given={**values.given, **category.given},
    )
    return moments_by(connection, keyed, "key")


def runs_with_objects(connection: Connection, columns: Sequence[str], samples: int) -> list[str]:
    """Return the runs of which one of the first samples has an object in one of these metadata columns."""
    rows = connection.execute(
        "SELECT DISTINCT run_id FROM samples, (SELECT unnest($columns) AS name)"
        " WHERE position < $samples AND json_type(metadata, '$.' || name) = 'OBJECT'",
        {"samples": samples, "columns": list(columns)},
    ).fetchall()
    return [run_id for (run_id,) in rows]
