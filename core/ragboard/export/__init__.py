"""Export of runs as tables or in RAGChecker's output format."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ragboard.analysis import UnscoredPolicy
from ragboard.errors import SettingError
from ragboard.export.ragchecker import ragchecker_bytes
from ragboard.export.tables import (
    TABLE_FORMATS,
    TABLES,
    comparison_frame,
    metrics_frame,
    pairs_frame,
    runs_frame,
    table,
    table_bytes,
)
from ragboard.outputs import check_output, write_output
from ragboard.store import RunRef, Store

__all__ = [
    "FORMATS",
    "TABLES",
    "TABLE_FORMATS",
    "comparison_frame",
    "export",
    "metrics_frame",
    "pairs_frame",
    "ragchecker_bytes",
    "runs_frame",
    "table",
    "table_bytes",
    "write_table",
]

FORMATS = (*TABLE_FORMATS, "ragchecker")


def export(
    store: Store,
    runs: Sequence[RunRef],
    *,
    what: str,
    kind: str | None,
    out: Path | None,
    unscored: UnscoredPolicy = "excluded",
    force: bool = False,
) -> None:
    """Write a table to a file or standard output; without `kind`, in the format of the file extension, or as CSV.

    `what` is one of `TABLES`; `unscored` says how samples without a score count in its means. RAGChecker's format
    contains samples and statements of one run. Raises SettingError if the table cannot be written, for the wrong number
    of runs, and for an existing file, unless `force`.
    """
    if out:
        check_output(out, force=force)
    if kind != "ragchecker":
        write_table(table(store, what, runs, unscored=unscored), kind=kind, out=out, force=force)
    elif len(runs) == 1:
        _write(ragchecker_bytes(store, runs[0]), out, force=force)
    else:
        raise SettingError(f"the format ragchecker takes one run, not {len(runs)}")


def write_table(frame: pd.DataFrame, *, kind: str | None, out: Path | None, force: bool = False) -> None:
    """Write a table to a file or standard output; without `kind`, in the format of the file extension, or as CSV.

    Raises SettingError if it cannot be written, and for an existing file, unless `force`.
    """
    extension = out.suffix.removeprefix(".") if out else "csv"
    _write(table_bytes(frame, kind or (extension if extension in TABLE_FORMATS else "csv")), out, force=force)


def _write(data: bytes, out: Path | None, *, force: bool) -> None:
    if out is None:
        sys.stdout.buffer.write(data)
    else:
        write_output(out, data, force=force)
