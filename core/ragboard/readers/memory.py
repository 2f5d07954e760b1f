"""From samples in memory to a run: our own, mappings, a data frame, a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats import match_columns
from ragboard.readers.rows import read_rows
from ragboard.readers.scores import file_scores, scores_in
from ragboard.readers.tables import table_of
from ragboard.records import JsonValue, Run, Sample

__all__ = ["run_of"]

WHERE = Path("samples")
"""What errors name in place of a file."""


def run_of(
    samples: Iterable[Any],
    *,
    name: str,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Run:
    """A run of samples, or of rows with the columns that a run file may have.

    Rows are mappings (a Hugging Face dataset is a sequence of them) or a pandas data frame. An id that is taken
    gets a number, as in a file. Raises RunFileError, `samples:3: field: got, expected`, for a row that cannot be read.
    """
    run = Run(name=name, samples=(), config=config or {}, dataset=dataset, source="memory")
    table = table_of(_rows(samples))
    if not table.columns:
        raise RunFileError(WHERE, "there are none, expected samples or rows with a question")
    matched = match_columns(WHERE, table.columns, mapping or {})
    if "question" not in matched:
        raise RunFileError(WHERE, f"no column was taken for the question; there are {', '.join(table.columns)}")
    scores = scores_in(table, matched)
    reading = read_rows(WHERE, table, matched, scores=scores, run_column=None, skip_bad=False)
    theirs = file_scores(table, scores, reading.scores.get(None, ()))
    return replace(run, samples=tuple(reading.samples[None]), scores=theirs)


def _rows(samples: Iterable[Any]) -> Iterable[Any]:
    if hasattr(samples, "to_dict") and hasattr(samples, "columns"):
        frame: Any = samples
        return (_plain(row) for row in frame.to_dict("records"))
    return (_row_of(row) if isinstance(row, Sample) else _plain(row) for row in samples)


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


def _plain(value: Any) -> Any:
    """The value without what numpy and pandas put in place of Python's own."""
    if isinstance(value, Mapping):
        return {key: _plain(cell) for key, cell in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(cell) for cell in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if type(value).__name__ in ("NAType", "NaTType") else value
