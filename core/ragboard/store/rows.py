"""Convert samples and scores to rows of the database."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import md5
from typing import Any, Literal

import duckdb
import pyarrow as pa

from ragboard.records import Outcome, Sample, Score

__all__ = ["answer_key", "append_rows", "as_json", "passage_rows", "sample_row", "score_row"]


def as_json(value: Any) -> str:
    """Return JSON text; equal values give equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def score_row(position: int, metric: str, outcome: Outcome) -> tuple[Any, ...]:
    """Return a row of `scores` without its evaluation: position, metric, value, counted, reason, detail."""
    if isinstance(outcome, Score):
        return (position, metric, outcome.value, outcome.counted, None, None)
    return (position, metric, None, None, outcome.reason, outcome.detail)


def answer_key(sample: Sample) -> str:
    """Return the key of an answer that labels refer to, the same in every run.

    The order of the passages does not matter.
    """
    history = json.dumps([asdict(turn) for turn in sample.history], ensure_ascii=False, sort_keys=True)
    passages = sorted(_digest(passage.text) for passage in sample.contexts or ())
    return _digest("".join((_digest(sample.question), _digest(history), _digest(sample.answer or ""), *passages)))


def _digest(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def append_rows(
    connection: duckdb.DuckDBPyConnection,
    table: Literal["samples", "passages", "scores", "agreement_items", "agreement_scores"],
    rows: list[tuple[Any, ...]],
) -> None:
    """Append rows to a table, one column at a time."""
    if not rows:
        return
    schema = _SCHEMAS[table]
    arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), schema.types, strict=True)]
    connection.register("incoming", pa.Table.from_arrays(arrays, schema=schema))
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
    connection.unregister("incoming")


def sample_row(run_id: str, position: int, sample: Sample) -> tuple[Any, ...]:
    """Return the row of `samples` of a sample."""
    return (
        run_id,
        position,
        sample.id,
        sample.question,
        sample.answer,
        sample.reference,
        sample.contexts is not None,
        None if sample.reference_contexts is None else as_json(sample.reference_contexts),
        as_json([asdict(turn) for turn in sample.history]),
        json.dumps(sample.metadata, ensure_ascii=False),
        answer_key(sample),
    )


def passage_rows(run_id: str, position: int, sample: Sample) -> list[tuple[Any, ...]]:
    """Return the rows of `passages` of a sample."""
    return [
        (run_id, position, passage.rank, passage.id, passage.text, passage.score) for passage in sample.contexts or ()
    ]


_TEXT = pa.string()
_SCHEMAS = {
    "samples": pa.schema(
        [
            ("run_id", _TEXT),
            ("position", pa.int32()),
            ("sample_id", _TEXT),
            ("question", _TEXT),
            ("answer", _TEXT),
            ("reference", _TEXT),
            ("has_contexts", pa.bool_()),
            ("reference_contexts", _TEXT),
            ("history", _TEXT),
            ("metadata", _TEXT),
            ("answer_key", _TEXT),
        ]
    ),
    "passages": pa.schema(
        [
            ("run_id", _TEXT),
            ("position", pa.int32()),
            ("rank", pa.int32()),
            ("passage_id", _TEXT),
            ("text", _TEXT),
            ("score", pa.float64()),
        ]
    ),
    "scores": pa.schema(
        [
            ("evaluation_id", _TEXT),
            ("position", pa.int32()),
            ("metric", _TEXT),
            ("value", pa.float64()),
            ("counted", _TEXT),
            ("reason", _TEXT),
            ("detail", _TEXT),
        ]
    ),
    "agreement_items": pa.schema(
        [
            ("agreement_id", _TEXT),
            ("position", pa.int32()),
            ("item_id", _TEXT),
            ("cluster", _TEXT),
            ("said", _TEXT),
            ("sides", _TEXT),
        ]
    ),
    "agreement_scores": pa.schema(
        [
            ("agreement_id", _TEXT),
            ("position", pa.int32()),
            ("dimension", _TEXT),
            ("contender", _TEXT),
            ("side", pa.int32()),
            ("value", pa.float64()),
            ("counted", _TEXT),
            ("reason", _TEXT),
            ("detail", _TEXT),
        ]
    ),
}
