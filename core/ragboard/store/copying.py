"""Copy a run with its evaluations from one store to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from ragboard.store.run_refs import RESULT_TABLES, RunRef

__all__ = ["copied_rows", "insert_rows"]

_RUN_TABLES = ("runs", "samples", "passages")
_EVALUATION_TABLES = ("evaluations", "metrics", "sampling_rates", "score_hours", *RESULT_TABLES)
_QUESTION_TABLES = {"nugget_lists": "current_nuggets", "question_labels": "current_question_labels"}
"""Tables with every version of a question's nuggets or label, and the views of their current versions."""


def copied_rows(connection: duckdb.DuckDBPyConnection, run: RunRef) -> dict[str, Any]:
    """Return the rows of a run, its evaluations and the labels of its questions: {table: rows as an Arrow table}.

    The evaluations are those that `run` refers to, and the one with the scores of the run file.
    """
    chosen = (
        "evaluation_id IN (SELECT unnest($evaluations))"
        " OR evaluation_id IN (SELECT evaluation_id FROM evaluations WHERE run_id = $run AND imported)"
    )
    values = {"run": run.run_id, "evaluations": list(run.evaluations)}
    run_rows = {
        table: connection.sql(f"FROM {table} WHERE run_id = $run", params={"run": run.run_id}).to_arrow_table()
        for table in _RUN_TABLES
    }
    evaluation_rows = {
        table: connection.sql(f"FROM {table} WHERE {chosen}", params=values).to_arrow_table()
        for table in _EVALUATION_TABLES
    }
    question_rows = {
        table: connection.sql(
            f"SELECT n.* EXCLUDE (number) FROM {current} n"
            " SEMI JOIN (SELECT question, history::VARCHAR AS history FROM samples WHERE run_id = $run) s"
            " ON s.question = n.question AND s.history = n.history::VARCHAR",
            params={"run": run.run_id},
        ).to_arrow_table()
        for table, current in _QUESTION_TABLES.items()
    }
    return run_rows | evaluation_rows | question_rows


def insert_rows(connection: duckdb.DuckDBPyConnection, rows: Mapping[str, Any], name: str) -> None:
    """Insert the rows of `copied_rows`, with this name for the run. Existing runs and evaluations are not changed."""
    id_queries = {
        "run_id": "SELECT run_id FROM runs",
        "evaluation_id": "SELECT evaluation_id FROM evaluations",
    }
    known = {key: [row[0] for row in connection.execute(sql).fetchall()] for key, sql in id_queries.items()}
    for table, content in rows.items():
        if table in _QUESTION_TABLES:
            _insert_question_rows(connection, table, content)
            continue
        key = "run_id" if table in _RUN_TABLES else "evaluation_id"
        connection.register("copied", content)
        columns = "* REPLACE ($name AS name)" if table == "runs" else "*"
        connection.execute(
            f"INSERT INTO {table} BY NAME SELECT {columns} FROM copied WHERE {key} NOT IN (SELECT unnest($known))",
            {"known": known[key]} | ({"name": name} if table == "runs" else {}),
        )
        connection.unregister("copied")


def _insert_question_rows(connection: duckdb.DuckDBPyConnection, table: str, content: Any) -> None:
    """Insert the nuggets or labels of questions that have none in this store."""
    connection.register("copied", content)
    connection.execute(
        f"INSERT INTO {table} BY NAME SELECT * FROM copied c ANTI JOIN {table} l"
        " ON l.question = c.question AND l.history::VARCHAR = c.history::VARCHAR"
    )
    connection.unregister("copied")
