"""Convert samples and scores to rows of the database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import md5
from itertools import count
from typing import Any, Literal, TypeAlias

import duckdb
import pyarrow as pa

from ragboard.records import Outcome, RecordedSample, Sample, Score

__all__ = [
    "answer_key",
    "append_rows",
    "arrow_table",
    "as_json",
    "passage_rows",
    "recorded_rows",
    "sample_row",
    "score_row",
]

RecordedTable: TypeAlias = Literal["statements", "verdicts", "judgements"]


def as_json(value: Any) -> str:
    """Return a value as JSON with sorted keys. Equal values have equal texts."""
    return _SORTED.encode(value)


_SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
_UNSORTED = json.JSONEncoder(ensure_ascii=False)


def score_row(position: int, metric: str, outcome: Outcome) -> tuple[Any, ...]:
    """Return (position, metric, value, counted, reason, detail) for the table `scores`."""
    if isinstance(outcome, Score):
        return (position, metric, outcome.value, outcome.counted, None, None)
    return (position, metric, None, None, outcome.reason, outcome.detail)


def answer_key(sample: Sample) -> str:
    """Return the key of an answer in the tables of labels: a digest of question, history, answer and passages.

    Equal answers in different runs have the same key. The order of the passages does not count.
    """
    passages = sorted([_digest(passage.text) for passage in sample.contexts or ()])
    history = _digest(_history_json(sample)) if sample.history else _NO_HISTORY
    return _digest("".join((_digest(sample.question), history, _digest(sample.answer or ""), *passages)))


def _history_json(sample: Sample) -> str:
    return as_json([asdict(turn) for turn in sample.history]) if sample.history else "[]"


def _digest(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


_NO_HISTORY = _digest("[]")


def append_rows(
    connection: duckdb.DuckDBPyConnection,
    table: Literal["samples", "passages", "scores", "agreement_items", "agreement_scores"] | RecordedTable,
    rows: list[tuple[Any, ...]],
) -> None:
    """Append rows to a table. Each row has the columns of the table's schema, in order."""
    if not rows:
        return
    connection.register("incoming", arrow_table(table, rows))
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
    connection.unregister("incoming")


def arrow_table(table: str, rows: Sequence[tuple[Any, ...]]) -> Any:
    """Return rows as an Arrow table. Each row has the columns of the table's schema, in order."""
    schema = _SCHEMAS[table]
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def sample_row(run_id: str, position: int, sample: Sample) -> tuple[Any, ...]:
    """Return a sample as a row of the table `samples`."""
    return (
        run_id,
        position,
        sample.id,
        sample.question,
        sample.answer,
        sample.reference,
        sample.contexts is not None,
        None if sample.reference_contexts is None else as_json(sample.reference_contexts),
        _history_json(sample),
        _UNSORTED.encode(sample.metadata) if sample.metadata else "{}",
        answer_key(sample),
        sample.time,
    )


def passage_rows(run_id: str, position: int, sample: Sample) -> list[tuple[Any, ...]]:
    """Return the passages of a sample as rows of the table `passages`."""
    return [
        (run_id, position, passage.rank, passage.id, passage.text, passage.score) for passage in sample.contexts or ()
    ]


def recorded_rows(table: RecordedTable, recorded: RecordedSample) -> Iterator[tuple[Any, ...]]:
    """Yield the results in a tool's file for a sample as rows of `table`, without evaluation and position."""
    if table == "judgements":
        yield from (
            (judgement.about, judgement.number, judgement.says, judgement.value, judgement.reason)
            for judgement in recorded.judgements
        )
        return
    numbers = {"response": count(), "reference": count()}
    for statement, verdict in recorded.statements:
        key = (statement.side, next(numbers[statement.side]))
        if table == "statements":
            span = statement.span
            yield (*key, statement.text, *((span.start, span.end, span.how) if span else (None, None, None)))
        elif verdict:
            yield (*key, "joint", verdict.label, verdict.reason, verdict.score, "[]")


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
            ("time", pa.timestamp("us")),
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
    "statements": pa.schema(
        [
            ("evaluation_id", _TEXT),
            ("position", pa.int32()),
            ("side", _TEXT),
            ("statement", pa.int32()),
            ("text", _TEXT),
            ("span_start", pa.int32()),
            ("span_end", pa.int32()),
            ("span_how", _TEXT),
        ]
    ),
    "verdicts": pa.schema(
        [
            ("evaluation_id", _TEXT),
            ("position", pa.int32()),
            ("side", _TEXT),
            ("statement", pa.int32()),
            ("target", _TEXT),
            ("label", _TEXT),
            ("reason", _TEXT),
            ("score", pa.float64()),
            ("evidence", _TEXT),
        ]
    ),
    "judgements": pa.schema(
        [
            ("evaluation_id", _TEXT),
            ("position", pa.int32()),
            ("about", _TEXT),
            ("number", pa.int32()),
            ("says", _TEXT),
            ("value", pa.float64()),
            ("reason", _TEXT),
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
