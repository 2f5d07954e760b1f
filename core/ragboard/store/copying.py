"""Copy a run with its evaluations from one store to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from ragboard.store.nouns import RESULT_TABLES, RunRef

__all__ = ["copied_rows", "insert_rows"]

_RUN_TABLES = ("runs", "samples", "passages")
_EVALUATION_TABLES = ("evaluations", "metrics", *RESULT_TABLES)


def copied_rows(connection: duckdb.DuckDBPyConnection, run: RunRef) -> dict[str, Any]:
    """Return the rows of a run, and of the evaluations that `run` refers to or its file holds: Arrow tables by name."""
    chosen = (
        "evaluation_id IN (SELECT unnest($evaluations))"
        " OR evaluation_id IN (SELECT evaluation_id FROM evaluations WHERE run_id = $run AND imported)"
    )
    given = {"run": run.run_id, "evaluations": list(run.evaluations)}
    with connection.cursor() as reader:
        of_run = {
            table: reader.sql(f"FROM {table} WHERE run_id = $run", params={"run": run.run_id}).to_arrow_table()
            for table in _RUN_TABLES
        }
        of_evaluations = {
            table: reader.sql(f"FROM {table} WHERE {chosen}", params=given).to_arrow_table()
            for table in _EVALUATION_TABLES
        }
    return of_run | of_evaluations


def insert_rows(connection: duckdb.DuckDBPyConnection, rows: Mapping[str, Any], name: str) -> None:
    """Insert the rows of `copied_rows` and name the run; a run or evaluation that is there already stays as it is."""
    there = {
        "run_id": "SELECT run_id FROM runs",
        "evaluation_id": "SELECT evaluation_id FROM evaluations",
    }
    known = {key: [row[0] for row in connection.execute(sql).fetchall()] for key, sql in there.items()}
    for table, content in rows.items():
        key = "run_id" if table in _RUN_TABLES else "evaluation_id"
        connection.register("copied", content)
        given = "* REPLACE ($name AS name)" if table == "runs" else "*"
        connection.execute(
            f"INSERT INTO {table} BY NAME SELECT {given} FROM copied WHERE {key} NOT IN (SELECT unnest($known))",
            {"known": known[key]} | ({"name": name} if table == "runs" else {}),
        )
        connection.unregister("copied")
