"""Export runs as tables, in RAGChecker's output format, or as scores to upload to the tool that the run came from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from ragboard.analysis import UnscoredPolicy
from ragboard.errors import SettingError
from ragboard.export.feedback import FEEDBACK_FORMATS, deepeval_bytes, feedback_bytes, ragas_bytes
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

TOOL_FORMATS: Mapping[str, Callable[[Store, RunRef], bytes]] = MappingProxyType(
    {
        "ragchecker": ragchecker_bytes,
        "ragas": ragas_bytes,
        "deepeval": deepeval_bytes,
        **{kind: partial(feedback_bytes, kind=kind) for kind in FEEDBACK_FORMATS},
    }
)
"""The formats of other tools, each with the function that writes it. Such a file contains one run."""

FORMATS = (*TABLE_FORMATS, *TOOL_FORMATS)


def export(
    store: Store,
    runs: Sequence[RunRef],
    *,
    table_name: str,
    kind: str | None,
    out: Path | None,
    unscored: UnscoredPolicy = "excluded",
    force: bool = False,
) -> None:
    """Write a table, or one run in the format of another tool, to a file or standard output.

    `kind` is one of `FORMATS`; by default the file extension decides, or CSV is written. `table_name` is one of
    `TABLES` and is ignored for formats of other tools. `unscored` says how samples without a score count in the table's
    means. Raises SettingError for the wrong number of runs, and if the file exists (without `force`) or cannot be
    written.
    """
    if out:
        check_output(out, force=force)
    if kind is None or kind not in TOOL_FORMATS:
        write_table(table(store, table_name, runs, unscored=unscored), kind=kind, out=out, force=force)
    elif len(runs) == 1:
        _write(TOOL_FORMATS[kind](store, runs[0]), out, force=force)
    else:
        raise SettingError(f"a file in the format {kind} contains one run, got {len(runs)} runs")


def write_table(frame: pd.DataFrame, *, kind: str | None, out: Path | None, force: bool = False) -> None:
    """Write a table to a file or standard output.

    `kind` is one of `TABLE_FORMATS`; by default the file extension decides, or CSV is written. Raises SettingError if
    the file exists (without `force`) or cannot be written.
    """
    extension = out.suffix.removeprefix(".") if out else "csv"
    _write(table_bytes(frame, kind or (extension if extension in TABLE_FORMATS else "csv")), out, force=force)


def _write(data: bytes, out: Path | None, *, force: bool) -> None:
    if out is None:
        sys.stdout.buffer.write(data)
    else:
        write_output(out, data, force=force)
