"""Tables of a run as CSV, JSON or Parquet."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from ragboard.errors import SettingError
from ragboard.store import RunRef, Store

__all__ = ["FORMATS", "TABLES", "export_bytes", "export_table", "table"]

FORMATS = ("csv", "json", "jsonl", "parquet")

_SQL = {
    "samples": (
        "SELECT s.sample_id, s.question, s.answer, s.reference, c.metric, c.value, c.counted, c.reason, c.detail"
        " FROM samples s LEFT JOIN scores c ON c.position = s.position AND c.evaluation_id = $evaluation"
        " WHERE s.run_id = $run ORDER BY s.position, c.metric"
    ),
    "statements": (
        "SELECT s.sample_id, s.question, t.side, t.statement + 1 AS number, t.text AS statement, t.span_start,"
        " t.span_end, v.target, v.label, v.reason, v.score"
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
    """One row a sample and metric (`samples`), or one a statement and target (`statements`)."""
    with store.database.read() as connection:
        return connection.execute(_SQL[what], {"run": run.run_id, "evaluation": run.evaluation_id}).df()


def export_bytes(frame: pd.DataFrame, kind: str) -> bytes:
    """The table in one of `FORMATS`; CSV cells that a spreadsheet would run are prefixed with `'`."""
    if kind == "parquet":
        from io import BytesIO

        buffer = BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if kind == "csv":
        texts = frame.select_dtypes(include=["object", "string"]).columns
        safe = frame.assign(**{name: frame[name].map(_defused, na_action="ignore") for name in texts})
        return safe.to_csv(index=False, lineterminator="\n").encode()
    return frame.to_json(None, orient="records", lines=kind == "jsonl", force_ascii=False, indent=None).encode()


def export_table(store: Store, run: RunRef, *, what: str, kind: str | None, out: Path | None) -> None:
    """Write a table to a file or to standard output. Raises SettingError where it cannot be written."""
    ending = out.suffix.removeprefix(".") if out else "csv"
    chosen = kind or (ending if ending in FORMATS else "csv")
    data = export_bytes(table(store, run, what), chosen)
    if out is None:
        sys.stdout.buffer.write(data)
        return
    try:
        out.write_bytes(data)
    except OSError as error:
        raise SettingError(f"{out}: cannot write: {error.strerror or error}") from error


def _defused(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
