"""From samples in memory to a run: our own, mappings, a data frame, a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.columns import match_columns
from ragboard.readers.objects import foreign, plain
from ragboard.readers.report import ReadResult
from ragboard.readers.runs import runs_of
from ragboard.readers.tables import table_of
from ragboard.records import JsonValue, Run, Sample

__all__ = ["read_samples"]

WHERE = Path("samples")
"""What errors name in place of a file."""


def read_samples(
    samples: Iterable[Any],
    *,
    name: str,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
) -> ReadResult:
    """A run of samples, or of rows with the columns that a run file may have, and how it was read.

    Rows are mappings (a Hugging Face dataset is a sequence of them) or a pandas data frame; documents, nodes and
    messages of LangChain, LlamaIndex and Haystack are read by their text. An id that is taken gets a number, as in a
    file. Raises RunFileError, `samples:3: field: got, expected`, for a row that cannot be read.
    """
    rows = list(_rows(samples))
    table = table_of(WHERE, rows)
    if not table.columns and not rows:
        raise RunFileError(WHERE, "there are none, expected samples or rows with a question")
    _refuse_objects(rows, match_columns(WHERE, table.columns, mapping or {}))
    base = Run(name=name, samples=(), config=config or {}, dataset=dataset, source="memory")
    return runs_of(WHERE, table, base, mapping=mapping or {})


def _refuse_objects(rows: Sequence[Any], matched: Mapping[str, str]) -> None:
    """Raises RunFileError for an object in a field that is read: all there is of it is how Python prints it."""
    for number, row in enumerate(rows, 1):
        for field, column in matched.items() if isinstance(row, Mapping) else ():
            found = None if field == "metadata" else foreign(row.get(column), text=field != "id")
            if found is not None:
                raise RunFileError(
                    WHERE,
                    f"got an object of the type {type(found).__name__}, expected text, or an object with a text"
                    " (page_content, content, text or get_content()); pass its text",
                    line=number,
                    field=field,
                )


def _rows(samples: Iterable[Any]) -> Iterable[Any]:
    if hasattr(samples, "to_dict") and hasattr(samples, "columns"):
        return _rows_of_frame(samples)
    return (_row_of(row) if isinstance(row, Sample) else plain(row) if _is_row(row) else row for row in samples)


def _is_row(row: Any) -> bool:
    return isinstance(row, Mapping) or hasattr(row, "tolist")


def _rows_of_frame(frame: Any) -> Iterable[Any]:
    """The rows with the levels of the index that have a name, as a column of theirs."""
    levels = [name for name in frame.index.names if name is not None and name not in frame.columns]
    flat = frame.reset_index(level=levels) if levels else frame
    twice = flat.columns[flat.columns.duplicated()]
    if len(twice):
        raise RunFileError(WHERE, f"two columns are called {twice[0]!r}, expected each name once")
    try:
        rows = flat.to_dict("records")
    except (ValueError, OverflowError, NotImplementedError) as error:  # dates that Python has not
        reason = " ".join(str(error).split())[:200]
        raise RunFileError(WHERE, f"the data frame has a value that cannot be read ({reason})") from error
    return ({column: _filled(cell) for column, cell in row.items()} for row in rows)


def _filled(cell: Any) -> Any:
    """A cell of a frame, which has NaN where there is none."""
    return None if isinstance(cell, float) and math.isnan(cell) else plain(cell)


def _row_of(sample: Sample) -> dict[str, Any]:
    """A sample as a row, so that it is held to what a file is held to; passages in the order of their ranks."""
    passages = None if sample.contexts is None else sorted(sample.contexts, key=lambda passage: passage.rank)
    return {
        "id": sample.id,
        "question": sample.question,
        "answer": sample.answer,
        "contexts": None if passages is None else [asdict(passage) for passage in passages],
        "reference": sample.reference,
        "reference_contexts": None if sample.reference_contexts is None else list(sample.reference_contexts),
        "history": [asdict(turn) for turn in sample.history],
        "metadata": dict(sample.metadata),
    }
