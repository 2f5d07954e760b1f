"""Read samples in memory as a run: objects of ragboard, dictionaries, a data frame, a dataset."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath
from typing import Any, cast
from uuid import UUID

from ragboard.errors import RunFileError
from ragboard.readers.cells import PASSAGE_TEXTS
from ragboard.readers.columns import FIELDS, match_columns
from ragboard.readers.formats.base import ParsedFile
from ragboard.readers.paths import with_paths
from ragboard.readers.report import ReadResult
from ragboard.readers.runs import runs_from_table
from ragboard.readers.tables import table_of, tool_table
from ragboard.records import JsonValue, Run, Sample

__all__ = ["from_deepeval", "from_ragas", "from_trulens", "read_samples"]


WHERE = Path("samples")
"""The name in errors, instead of a file name."""


def read_samples(
    samples: Any,
    *,
    name: str,
    config: Mapping[str, JsonValue] | None = None,
    dataset: str | None = None,
    mapping: Mapping[str, str | None] | None = None,
) -> ReadResult:
    """Read samples in memory as one run.

    `samples` can be a list of Samples, or of mappings or pydantic models with the columns of a run file; a dict of
    columns; a data frame (pandas, polars); an Arrow table; a Hugging Face or ragas dataset; or DeepEval test cases.
    Fields can be documents, nodes and messages of LangChain, LlamaIndex and Haystack: their text is read. Repeated ids
    get a number. Raises TypeError for anything else, and RunFileError (`samples:3: field: got, expected`) for a row
    that cannot be read.
    """
    rows = list(_rows(samples))
    table = table_of(WHERE, rows)
    if not table.columns and not rows:
        raise RunFileError(WHERE, "is empty, expected samples or rows with a question")
    table = with_paths(WHERE, table, mapping or {})
    _check_objects(rows, match_columns(WHERE, table.columns, mapping or {}))
    base = Run(name=name, samples=(), config=config or {}, dataset=dataset, source="memory")
    return runs_from_table(WHERE, table, base, mapping=mapping or {})


def from_ragas(result: Any, *, name: str = "ragas", config: Mapping[str, JsonValue] | None = None) -> Run:
    """Return the run of a ragas `EvaluationResult`, with its scores, statements, verdicts and reasons.

    Reads `result.ragas_traces` (ragas 0.2.2 or later). Raises TypeError if the result has no traces.
    """
    traces = getattr(result, "ragas_traces", None)
    if not isinstance(traces, Mapping) or not traces:
        raise TypeError(f"got {type(result).__name__}, expected the result of ragas.evaluate() with its ragas_traces")
    return _run_of_tool([run.model_dump() for run in traces.values()], "ragas result", name, config)


def from_deepeval(result: Any, *, name: str = "deepeval", config: Mapping[str, JsonValue] | None = None) -> Run:
    """Return the run of a DeepEval `EvaluationResult`, with its scores, statements, verdicts and reasons.

    Raises TypeError for anything else.
    """
    if not hasattr(result, "test_results"):
        raise TypeError(f"got {type(result).__name__}, expected the result of deepeval.evaluate()")
    content = result.model_dump(mode="json") if hasattr(result, "model_dump") else asdict(result)
    return _run_of_tool(content, "deepeval result", name, config)


def from_trulens(session: Any, *, name: str = "trulens", config: Mapping[str, JsonValue] | None = None) -> Run:
    """Return the run of a TruLens session: its records with their feedback, statements and reasons.

    Raises TypeError for anything else.
    """
    if not callable(getattr(session, "get_records_and_feedback", None)):
        raise TypeError(f"got {type(session).__name__}, expected a TruSession")
    records, _ = session.get_records_and_feedback()
    return _run_of_tool(
        json.loads(records.to_json(orient="records", double_precision=15)), "trulens session", name, config
    )


def _run_of_tool(value: Any, where: str, name: str, config: Mapping[str, JsonValue] | None) -> Run:
    table = tool_table(
        ParsedFile(path=Path(where), kind="memory", value=json.loads(json.dumps(value, default=_as_text)))
    )
    if table is None:
        raise RunFileError(Path(where), "does not have the structure of the tool's files; save a file and import that")
    base = Run(name=name, samples=(), config=config or {}, source="memory")
    runs = runs_from_table(Path(where), table, base, mapping={}).runs
    if len(runs) != 1:
        raise RunFileError(
            Path(where), f"contains {len(runs)} runs ({', '.join(run.name for run in runs)}), expected one"
        )
    return runs[0]


def _as_text(value: object) -> object:
    return value.value if isinstance(value, Enum) else str(value)


def _check_objects(rows: Sequence[Any], matched: Mapping[str, str]) -> None:
    """Raise RunFileError if a field of a sample is an object without a text."""
    for number, row in enumerate(rows, 1):
        for field, column in matched.items() if isinstance(row, Mapping) else ():
            unreadable = None if field == "metadata" else unreadable_object(row.get(column), text=field != "id")
            if unreadable is not None:
                raise RunFileError(
                    WHERE,
                    f"got an object of type {type(unreadable).__name__}, expected text, or an object with a text"
                    " (page_content, content, text or get_content())",
                    line=number,
                    field=field,
                )


def _rows(samples: Any) -> Iterable[Any]:
    if hasattr(samples, "to_dict") and hasattr(samples, "iloc"):  # pandas
        return _rows_of_frame(samples)
    if isinstance(samples, Mapping):
        return _rows_of_columns(samples)
    for method in ("to_pylist", "to_dicts", "to_list"):  # Arrow, polars, ragas
        if callable(getattr(samples, method, None)):
            return map(plain, getattr(samples, method)())
    cases = getattr(samples, "test_cases", None)  # DeepEval
    rows = cases if isinstance(cases, list) else samples
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise TypeError(
            f"got {type(samples).__name__}, expected the path of a run file, a Run, or samples: a list of"
            " ragboard.Sample or of dicts with a question, a data frame, an Arrow table, a dict of columns, a dataset"
            " of Hugging Face, ragas or DeepEval"
        )
    return map(_row, cast("Iterable[Any]", rows))


def _row(row: Any) -> Any:
    """Return a sample, model or dataclass as a mapping of columns; any other row unchanged."""
    if isinstance(row, Sample):
        return _row_of_sample(row)
    if isinstance(row, Mapping) or hasattr(row, "tolist"):
        return plain(row)
    if callable(getattr(row, "model_dump", None)):
        return plain({key: cell for key, cell in row.model_dump().items() if cell is not None})
    if is_dataclass(row) and not isinstance(row, type):
        names = [field.name for field in fields(row) if not field.name.startswith("_")]
        if any(name in FIELDS["question"] for name in names):
            return plain({name: getattr(row, name) for name in names})
    return row


def _rows_of_columns(columns: Mapping[Any, Any]) -> Iterable[dict[str, Any]]:
    """Return the rows of a dict of columns.

    Raises TypeError for splits of a dataset, and for columns of different lengths.
    """
    splits = [str(name) for name, value in columns.items() if hasattr(value, "column_names")]
    if splits:
        raise TypeError(f"got {type(columns).__name__} with the splits {', '.join(splits)}; pass one of them")
    lists = {str(name): list(value) for name, value in columns.items() if _is_column(value)}
    if len(lists) < len(columns) or len({len(values) for values in lists.values()}) > 1:
        raise TypeError(
            "got a dict, expected a dict of columns (lists of the same length); for a single sample, pass [sample]"
        )
    return (plain(dict(zip(lists, row, strict=True))) for row in zip(*lists.values(), strict=True))


def _is_column(value: object) -> bool:
    return isinstance(value, (list, tuple)) or hasattr(value, "tolist")


def _rows_of_frame(frame: Any) -> Iterable[Any]:
    """Return the rows of a pandas data frame. Each named level of the index becomes a column."""
    levels = [name for name in frame.index.names if name is not None and name not in frame.columns]
    flat = frame.reset_index(level=levels) if levels else frame
    repeated = flat.columns[flat.columns.duplicated()]
    if len(repeated):
        raise RunFileError(WHERE, f"two columns are called {repeated[0]!r}, expected unique names")
    try:
        rows = flat.to_dict("records")
    except (ValueError, OverflowError, NotImplementedError) as error:  # dates that Python cannot represent
        reason = " ".join(str(error).split())[:200]
        raise RunFileError(WHERE, f"the data frame has a value that cannot be read ({reason})") from error
    return ({column: _plain_cell(cell) for column, cell in row.items()} for row in rows)


def _plain_cell(cell: Any) -> Any:
    """Return a cell of a data frame as plain data; None for NaN."""
    return None if isinstance(cell, float) and math.isnan(cell) else plain(cell)


NOT_IN_FILES = ("reference_note", "time")
"""Fields of a sample that are not columns of a file."""


def _row_of_sample(sample: Sample) -> dict[str, Any]:
    """Return a sample as a row of a file, with its passages in the order of their ranks."""
    row = {field.name: getattr(sample, field.name) for field in fields(Sample) if field.name not in NOT_IN_FILES}
    for name, items in (("contexts", sample.contexts), ("history", sample.history)):
        row[name] = None if items is None else [asdict(item) for item in items]
    if row["contexts"]:
        row["contexts"].sort(key=lambda passage: passage["rank"])
    if sample.nuggets is not None:
        row["nuggets"] = [asdict(nugget) for nugget in sample.nuggets]
    if sample.reference_contexts is not None:
        row["reference_contexts"] = list(sample.reference_contexts)
    return row


SCALARS = (str, int, float, bytes, datetime.date, datetime.time, datetime.timedelta, Decimal, PurePath, UUID)
"""Types whose values can be stored as JSON or as text without loss."""


def plain(value: Any) -> Any:
    """Return the value with mappings, lists and scalars instead of objects. Objects of unknown types are unchanged."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, SCALARS):
        return value
    if isinstance(value, Mapping):
        return {key: plain(cell) for key, cell in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(cell) for cell in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return _object(value)


def unreadable_object(value: object, *, text: bool = True) -> object | None:
    """Return the first object in a value that is not plain data; None if there is none.

    With `text`, the value should be text, so a path (`pathlib.Path`) is also returned.
    """
    if text and isinstance(value, PurePath):
        return value
    if value is None or isinstance(value, SCALARS):
        return None
    if isinstance(value, Mapping):
        unreadable = (unreadable_object(cell, text=text and key in PASSAGE_TEXTS) for key, cell in value.items())
    elif isinstance(value, list):
        unreadable = (unreadable_object(cell, text=text) for cell in value)
    else:
        return value
    return next((item for item in unreadable if item is not None), None)


def _object(value: Any) -> Any:
    """Return a passage, scored node, message or response of a framework as plain data; any other object unchanged."""
    node = _attribute(value, "node")
    if node is not None:
        inner = _object(node)
        return {**inner, "score": _attribute(value, "score")} if isinstance(inner, dict) else value
    role = _attribute(value, "role") or _attribute(value, "type")
    role = role.value if isinstance(role, Enum) else role
    content = _attribute(value, "content") or _attribute(value, "text")
    if isinstance(role, str) and isinstance(content, (str, list)) and _attribute(value, "page_content") is None:
        return {"role": role, "content": plain(content)}
    for answer, passages_name in (("response", "source_nodes"), ("data", "documents")):  # LlamaIndex, Haystack
        if isinstance(_attribute(value, answer), str) and hasattr(value, passages_name):
            return getattr(value, answer)
    text = _text_of(value)
    if text is None:
        return value
    passage = {
        "id": next((key for name in ("id", "node_id", "id_") if (key := _attribute(value, name)) is not None), None),
        "text": text,
        "score": _attribute(value, "score"),
        "metadata": _attribute(value, "metadata") or _attribute(value, "meta"),
    }
    return {key: plain(cell) for key, cell in passage.items() if cell is not None}


def _text_of(value: Any) -> str | None:
    for name in ("page_content", "content", "text"):
        text = _attribute(value, name)
        if isinstance(text, str):
            return text
    getter = _attribute(value, "get_content")
    if isinstance(value, type) or not callable(getter):
        return None
    text = getter()
    return text if isinstance(text, str) else None


def _attribute(value: Any, name: str) -> Any:
    """Return an attribute; None if there is none, or if a property of another package raises an error."""
    try:
        return getattr(value, name, None)
    except (ValueError, TypeError, NotImplementedError):
        return None
