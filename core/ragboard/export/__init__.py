"""Export of runs as tables, in RAGChecker's output format, or as scores for the tool that a run came from."""

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

OF_ONE_RUN: Mapping[str, Callable[[Store, RunRef], bytes]] = MappingProxyType(
    {
        "ragchecker": ragchecker_bytes,
        "ragas": ragas_bytes,
        "deepeval": deepeval_bytes,
        **{kind: partial(feedback_bytes, kind=kind) for kind in FEEDBACK_FORMATS},
    }
)
"""Formats of other tools, which take one run."""

FORMATS = (*TABLE_FORMATS, *OF_ONE_RUN)


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

    `what` is one of `TABLES`; `unscored` says how samples without a score count in its means. The formats of other
    tools (`OF_ONE_RUN`) contain one run, and need no `what`. Raises SettingError if the table cannot be written, for
    the wrong number of runs, and for an existing file, unless `force`.
    """
    if out:
        check_output(out, force=force)
    if kind is None or kind not in OF_ONE_RUN:
        write_table(table(store, what, runs, unscored=unscored), kind=kind, out=out, force=force)
    elif len(runs) == 1:
        _write(OF_ONE_RUN[kind](store, runs[0]), out, force=force)
    else:
        raise SettingError(f"the format {kind} takes one run, not {len(runs)}")


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
