"""Lists of the runs and of the tables in the store."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ragboard.records import JsonValue
from ragboard.store.queries.query import Connection
from ragboard.store.run_refs import RunRef

__all__ = [
    "ListedRun",
    "RunRow",
    "RunStates",
    "StoreColumn",
    "StoreTable",
    "all_runs",
    "count_contents",
    "described_tables",
    "listed_runs",
    "run_config",
    "run_row",
    "run_states",
]


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A run in a list to choose from."""

    run_id: str
    name: str
    dataset_key: str
    imported: datetime
    tags: tuple[str, ...]
    evaluations: int
    """Number of evaluations, without scores in the run file."""

    @property
    def evaluated(self) -> bool:
        """Whether the run has an evaluation (other than scores in the run file)."""
        return self.evaluations > 0


class RunRow(NamedTuple):
    """A run, with the evaluation whose statements pages show."""

    run_id: str
    name: str
    config: str
    dataset: str
    dataset_key: str
    source: str
    tags: Sequence[str]
    samples: int
    imported: datetime
    notes: str
    evaluation_id: str | None


@dataclass(frozen=True, kw_only=True)
class StoreColumn:
    """A column of a table."""

    name: str
    type: str
    """The type in DuckDB."""
    comment: str
    """The description; empty if there is none."""


@dataclass(frozen=True, kw_only=True)
class StoreTable:
    """A table or a view of the store."""

    name: str
    view: bool
    comment: str
    columns: tuple[StoreColumn, ...]


_ROW = (
    "SELECT r.run_id, r.name, r.config, r.dataset, r.dataset_key, r.source, r.tags, r.samples, r.imported, r.notes,"
    " e.evaluation_id FROM runs r LEFT JOIN"
)


def all_runs(connection: Connection, run_ids: Collection[str] | None = None) -> list[RunRow]:
    """Return every run, or those with these ids, with the evaluation that pages show, newest first."""
    rows = connection.execute(
        f"{_ROW} shown_evaluations e USING (run_id) WHERE $ids IS NULL OR list_contains($ids, r.run_id)"
        " ORDER BY r.imported DESC, r.name",
        {"ids": None if run_ids is None else list(run_ids)},
    ).fetchall()
    return [RunRow(*row) for row in rows]


def run_row(connection: Connection, run: RunRef) -> list[RunRow]:
    """Return the run and evaluation of `run` as a list with one item; empty if the run was deleted."""
    rows = connection.execute(
        f"{_ROW} evaluations e ON e.run_id = r.run_id AND e.evaluation_id = $evaluation WHERE r.run_id = $run",
        {"run": run.run_id, "evaluation": run.evaluation_id},
    ).fetchall()
    return [RunRow(*row) for row in rows]


_SHARED = ", ".join(
    (
        "(SELECT count(*) FROM migrations)",
        "(SELECT string_agg(t::VARCHAR, ' ' ORDER BY metric) FROM thresholds t)",
        "(SELECT bit_xor(hash(metric, description)) FROM (SELECT DISTINCT metric, description FROM metrics))",
    )
)
"""SQL values that change when something changes that belongs to no single run, such as thresholds."""
_LABELS = ", ".join(
    (
        "(SELECT concat_ws(' ', count(*), max(number)) FROM labels)",
        "(SELECT concat_ws(' ', count(*), max(number)) FROM question_labels)",
        "(SELECT concat_ws(' ', count(*), max(number)) FROM nugget_lists)",
        "(SELECT concat_ws(' ', count(*), max(written)) FROM rewritten_questions)",
        "(SELECT concat_ws(' ', count(*), max(drawn)) FROM draws)",
        "(SELECT concat_ws(' ', count(*), max(made)) FROM agreements)",
    )
)
"""SQL values that change when people label something, or when something changes that belongs to a question."""
_OF_RUN = ", ".join(
    (
        "r::VARCHAR",
        "(SELECT string_agg(e::VARCHAR, ' ' ORDER BY evaluation_id) FROM evaluations e WHERE e.run_id = r.run_id)",
        "(SELECT string_agg(w::VARCHAR, ' ' ORDER BY evaluation_id, first_position) FROM sampling_rates w"
        " WHERE w.run_id = r.run_id)",
    )
)
"""SQL values that change when a run, its samples or its results change: each write of results sets the time of their
evaluation, and samples that are added or deleted change the numbers of the run."""


@dataclass(frozen=True, kw_only=True)
class RunStates:
    """Texts that change when something changes that a page shows."""

    by_run: Mapping[str, str]
    """For each run, by id: changes with the run, its results and thresholds."""
    by_dataset: Mapping[str, str]
    """For each dataset, by name: changes with any of its runs."""
    dataset_of: Mapping[str, str]
    """For each run, by id: the name of its dataset."""
    labels: str
    """Changes with human labels of answers and questions, with nuggets, rewritten questions, draws and agreements."""


def run_states(connection: Connection) -> RunStates:
    """Return the states of all runs. It reads small tables only."""
    rows = connection.execute(
        f"WITH shared AS (SELECT concat_ws(chr(31), {_SHARED}) AS state)"
        f" SELECT r.run_id, r.dataset, md5(concat_ws(chr(31), shared.state, {_OF_RUN})) FROM runs r, shared"
        " ORDER BY r.run_id"
    ).fetchall()
    ((labels,),) = connection.execute(f"SELECT concat_ws(chr(31), {_LABELS})").fetchall()
    of_dataset: dict[str, str] = {}
    for _, dataset, state in rows:
        of_dataset[dataset] = f"{of_dataset.get(dataset, '')} {state}"
    return RunStates(
        by_run={run_id: state for run_id, _, state in rows},
        by_dataset=of_dataset,
        dataset_of={run_id: dataset for run_id, dataset, _ in rows},
        labels=labels,
    )


def listed_runs(connection: Connection) -> tuple[ListedRun, ...]:
    """Return every run, newest first."""
    rows = connection.execute(
        "SELECT run_id, name, dataset_key, imported, tags,"
        " (SELECT count(*) FROM evaluations e WHERE e.run_id = r.run_id AND NOT e.imported)"
        " FROM runs r ORDER BY imported DESC, name"
    ).fetchall()
    return tuple(
        ListedRun(
            run_id=run_id, name=name, dataset_key=key, imported=imported, tags=tuple(tags), evaluations=evaluations
        )
        for run_id, name, key, imported, tags, evaluations in rows
    )


def count_contents(connection: Connection, run: RunRef | None) -> tuple[int, int, int]:
    """Return the number of runs, samples and evaluated samples, for one run or for all runs.

    A sample counts as evaluated if the evaluation that `run` refers to, or else the one that pages show, covers it.
    """
    counted = connection.execute(
        "SELECT count(*), coalesce(sum(r.samples), 0), coalesce(sum(e.covered), 0) FROM runs r"
        " LEFT JOIN shown_evaluations s USING (run_id)"
        " LEFT JOIN evaluations e ON e.evaluation_id = coalesce($evaluation, s.evaluation_id)"
        " WHERE $run IS NULL OR r.run_id = $run",
        {"run": run and run.run_id, "evaluation": run and run.evaluation_id},
    ).fetchall()
    runs, samples, evaluated = (int(count) for count in counted[0])
    return runs, samples, evaluated


def run_config(connection: Connection, run_id: str) -> Mapping[str, JsonValue]:
    """Return the configuration of a run."""
    row = connection.execute("SELECT config FROM runs WHERE run_id = ?", [run_id]).fetchone()
    return json.loads(row[0]) if row else {}


def described_tables(connection: Connection) -> tuple[StoreTable, ...]:
    """Return every view and table with its columns, views first."""
    tables = connection.execute(
        "SELECT view_name, true, comment FROM duckdb_views() WHERE NOT internal"
        " UNION ALL SELECT table_name, false, comment FROM duckdb_tables() WHERE NOT internal ORDER BY 2 DESC, 1"
    ).fetchall()
    columns: dict[str, list[StoreColumn]] = {}
    for table, name, kind, comment in connection.execute(
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal"
        " ORDER BY table_name, column_index"
    ).fetchall():
        columns.setdefault(table, []).append(StoreColumn(name=name, type=kind, comment=comment or ""))
    return tuple(
        StoreTable(name=name, view=view, comment=comment or "", columns=tuple(columns.get(name, ())))
        for name, view, comment in tables
    )
