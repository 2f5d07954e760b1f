"""Tables of a run as CSV, JSON or Parquet."""

from __future__ import annotations

from io import BytesIO

import pandas as pd

from ragboard.store import RunRef, Store

__all__ = ["TABLES", "TABLE_FORMATS", "table", "table_bytes"]

TABLE_FORMATS = ("csv", "json", "jsonl", "parquet")

_SQL = {
    "samples": (
        "SELECT s.sample_id, s.question, s.answer, s.reference, c.metric, c.value, c.counted, c.reason, c.detail"
        " FROM samples s LEFT JOIN scores c ON c.position = s.position AND (c.evaluation_id ="
        " $evaluation OR c.evaluation_id IN (SELECT evaluation_id FROM evaluations WHERE run_id = $run AND imported))"
        " WHERE s.run_id = $run ORDER BY s.position, c.metric"
    ),
    "statements": (
        "SELECT s.sample_id, s.question, t.side, t.statement + 1 AS number, t.text AS statement, t.span_start,"
        " t.span_end, t.origin, v.target, v.label, v.reason, v.score"
        " FROM statements t JOIN samples s ON s.run_id = $run AND s.position = t.position"
        " LEFT JOIN verdicts v ON v.evaluation_id = t.evaluation_id AND v.position = t.position"
        " AND v.side = t.side AND v.statement = t.statement"
        " WHERE t.evaluation_id = $evaluation ORDER BY t.position, t.side, t.statement, v.target"
    ),
}
TABLES = tuple(_SQL)

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins so for a formula."""


def table(store: Store, run: RunRef, what: str) -> pd.DataFrame:
    """One row a sample and metric (`samples`), the file's own among them, or one a statement and target."""
    with store.database.read() as connection:
        return connection.execute(_SQL[what], {"run": run.run_id, "evaluation": run.evaluation_id}).df()


def table_bytes(frame: pd.DataFrame, kind: str) -> bytes:
    """The table in one of `TABLE_FORMATS`; CSV cells that a spreadsheet would run are prefixed with `'`."""
    if kind == "parquet":
        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if kind == "csv":
        texts = frame.select_dtypes(include=["object", "string"]).columns
        safe = frame.assign(**{name: frame[name].map(_defused, na_action="ignore") for name in texts})
        return safe.to_csv(index=False, lineterminator="\n").encode()
    return frame.to_json(
        None, orient="records", lines=kind == "jsonl", date_format="iso", force_ascii=False, indent=None
    ).encode()


def _defused(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
