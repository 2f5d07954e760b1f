"""Phoenix: spans, experiments, evaluations, and the tables of its helper functions.

The dataframe of spans has a row for each span and a column for each attribute. REST responses have the spans under
`data`. An experiment has a row for each answer, with its annotations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, Format, ParsedFile, PassageRows, ToolFile, ToolSample
from ragboard.readers.formats.feedback import Feedback, collect_feedback
from ragboard.readers.formats.otlp import otlp_span, read_raw
from ragboard.readers.formats.raw_span import RawSpan
from ragboard.readers.formats.shapes import as_object, as_objects, drop_missing
from ragboard.readers.formats.spans import (
    ANSWERS,
    PASSAGES,
    QUESTIONS,
    clean_value,
    decode_value,
    earlier_turns,
    nanoseconds,
    passages_of,
    pick,
    text_of,
)
from ragboard.records import Direction, JsonValue, Outcome, RecordedSample, Unscored

__all__ = ["FILE_FORMATS", "FORMATS"]

_SPANS = ("context.span_id", "document_position")
_TRACES = ("context.trace_id", "document_score", "input")
_ROWS = frozenset({"document", "document_position", "document_score"})
"""Columns of tables that have a row for each passage."""

FORMATS = (
    *(
        Format(
            name="Phoenix retrieved documents",
            columns=frozenset({*_SPANS, text}),
            fields={"contexts": text},
            passage_rows=PassageRows(
                sample=("context.span_id",), text=text, score="document_score", order="document_position"
            ),
        )
        for text in ("document", "reference")
    ),
    *(
        Format(
            name="Phoenix retrieved documents",
            columns=frozenset({*_TRACES, text}),
            fields={"contexts": text},
            passage_rows=PassageRows(sample=("context.trace_id",), text=text, score="document_score"),
        )
        for text in ("document", "reference")
    ),
)

JOINED = "the file has the passages of a sample as one text, which is read as one passage"


def _is_dataframe(file: ParsedFile) -> bool:
    return {"context.span_id", "context.trace_id", "parent_id", "span_kind"} <= file.columns and bool(file.rows)


def _read_dataframe(file: ParsedFile) -> ToolFile:
    spans: list[RawSpan] = []
    for index, row in enumerate(as_objects(clean_value(file))):
        attributes: dict[str, JsonValue] = {}
        for name, value in row.items():
            if name.startswith("attributes.") and value is not None:
                attributes |= _flat(name.removeprefix("attributes."), decode_value(value, python=True))
        attributes.setdefault("openinference.span.kind", row.get("span_kind"))
        spans.append(
            RawSpan(
                trace=text_of(row.get("context.trace_id")),
                id=text_of(row.get("context.span_id")),
                parent=text_of(row.get("parent_id")),
                start=nanoseconds(row.get("start_time")),
                end=nanoseconds(row.get("end_time")),
                error=_error(row),
                attributes=attributes,
                line=file.line(index),
            )
        )
    return read_raw(file, spans, tool="Phoenix")


def _flat(name: str, value: JsonValue) -> dict[str, JsonValue]:
    """Return a list of objects as flat keys (`NAME.0.KEY`), as in OpenTelemetry spans; any other value under `name`."""
    if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
        return {name: value}
    return {f"{name}.{index}.{key}": cell for index, item in enumerate(as_objects(value)) for key, cell in item.items()}


def _error(row: Mapping[str, JsonValue]) -> str:
    return (text_of(row.get("status_message")) or "failed") if row.get("status_code") == "ERROR" else ""


def _data(value: object) -> list[Mapping[str, JsonValue]]:
    """Return the spans of an API response, or of the list that the client returns."""
    return as_objects(value.get("data") if isinstance(value, dict) else value)


def _is_rest(file: ParsedFile) -> bool:
    spans = _data(file.value)[:20]
    return (
        bool(spans)
        and all("attributes" in span for span in spans)
        and all(
            "trace_id" in as_object(span.get("context")) or {"trace_id", "span_id"} <= span.keys() for span in spans
        )
    )


def _read_rest(file: ParsedFile) -> ToolFile:
    spans: list[RawSpan] = []
    for number, span in enumerate(_data(clean_value(file))):
        line, location = (file.line(number), f"[{number}]") if file.rows else (1, f"data[{number}]")
        if "context" not in span:
            spans.append(otlp_span(span, line, location, {}))
            continue
        context = as_object(span.get("context"))
        spans.append(
            RawSpan(
                trace=text_of(context.get("trace_id")),
                id=text_of(context.get("span_id")),
                parent=text_of(span.get("parent_id")),
                start=nanoseconds(span.get("start_time")),
                end=nanoseconds(span.get("end_time")),
                error=_error(span),
                attributes={
                    "openinference.span.kind": span.get("span_kind"),
                    **as_object(span.get("attributes")),
                },
                line=line,
                location=location,
            )
        )
    return read_raw(file, spans, tool="Phoenix")


def _is_annotations(file: ParsedFile) -> bool:
    return {"span_id", "annotation_name", "annotator_kind"} <= file.columns


def _refuse_annotations(file: ParsedFile) -> ToolFile:
    raise RunFileError(
        file.path,
        "has annotations of Phoenix without their spans; import an experiment, which has both"
        " (/v1/experiments/ID/json), or the spans (get_spans_dataframe)",
    )


EXPERIMENT = {
    "input": "question",
    "output": "answer",
    "output.context": "contexts",
    "reference_output": "reference",
    "example_id": "id",
    "annotations": "score",
    "annotations.explanation": "judgement",
    **dict.fromkeys(("latency_ms", "prompt_token_count", "completion_token_count", "error", "trace_id"), "metadata"),
}
ANNOTATION = re.compile(r"annotation_(?P<name>.+)_(?P<key>label|score|explanation|annotator_kind|error)")


def _is_experiment(file: ParsedFile) -> bool:
    return {"example_id", "repetition_number", "input", "output", "reference_output"} <= file.columns


def _read_experiment(file: ParsedFile) -> ToolFile:
    """Read an experiment in JSON, or in CSV with JSON in its cells and several columns for each annotation."""
    samples: list[ToolSample] = []
    for index, row in enumerate(as_objects(clean_value(file))):
        annotations = as_objects(row.get("annotations")) or _annotations(row)
        feedback = collect_feedback([_feedback(annotation) for annotation in annotations])
        inputs, output, reference = (decode_value(row.get(name)) for name in ("input", "output", "reference_output"))
        gold = passages_of(reference) if isinstance(reference, Mapping) else None
        cells: dict[str, JsonValue] = {
            "id": row.get("example_id"),
            "question": pick(inputs, QUESTIONS),
            "history": earlier_turns(inputs),
            "answer": pick(output, ANSWERS),
            "contexts": passages_of(output) if isinstance(output, Mapping) else None,
            "reference": pick({k: v for k, v in reference.items() if k not in PASSAGES}, ANSWERS) or None
            if isinstance(reference, Mapping)
            else reference,
            "reference_contexts": gold,
            "metadata": drop_missing(
                {name: row.get(name) for name, use in EXPERIMENT.items() if use == "metadata"}
                | {"human_feedback": [*feedback.human_feedback] or None}
            ),
        }
        samples.append(
            ToolSample(
                cells=drop_missing(cells),
                line=file.line(index),
                location=f"[{index}]" if file.kind == "JSON" else "",
                scores=feedback.scores,
                recorded=RecordedSample(judgements=feedback.judgements),
            )
        )
    present = {name for row in file.rows for name, value in row.items() if value is not None}
    fields = {path: use for path, use in EXPERIMENT.items() if use != "metadata" or path in present}
    return ToolFile(tool="Phoenix", samples=samples, fields=fields)


def _annotations(row: Mapping[str, JsonValue]) -> list[dict[str, JsonValue]]:
    by_name: dict[str, dict[str, JsonValue]] = {}
    for column, cell in row.items():
        if (match := ANNOTATION.fullmatch(column)) and cell is not None:
            by_name.setdefault(match["name"], {"name": match["name"]})[match["key"]] = cell
    return [*by_name.values()]


def _feedback(annotation: Mapping[str, JsonValue]) -> Feedback:
    return Feedback(
        name=text_of(annotation.get("name")) or "annotation",
        value=annotation.get("score"),
        label=annotation.get("label"),
        reason=annotation.get("explanation"),
        error=annotation.get("error"),
        person=annotation.get("annotator_kind") == "HUMAN",
    )


def _evaluators(columns: frozenset[str]) -> list[str]:
    """Return the names of the evaluators that have a column of scores."""
    ends = [column.removesuffix("_execution_details") for column in columns if column.endswith("_execution_details")]
    return sorted(name for name in ends if f"{name}_score" in columns)


def _is_evals(file: ParsedFile) -> bool:
    return bool(_evaluators(file.columns))


def _read_evals(file: ParsedFile) -> ToolFile:
    names = _evaluators(file.columns)
    columns = list(dict.fromkeys(column for row in file.rows for column in row))
    field_of = {
        field: next((name for name in usual_names if name in columns), "")
        for field, usual_names in (("question", QUESTIONS), ("answer", ANSWERS), ("contexts", PASSAGES))
    }
    if not field_of["question"]:
        raise RunFileError(
            file.path, f"has evaluations of Phoenix without questions, expected a column {', '.join(QUESTIONS)}"
        )
    field_of["reference"] = next((name for name in ("reference", "expected", "ground_truth") if name in columns), "")
    fields = {column: field for field, column in field_of.items() if column}
    for name in names:
        fields |= {f"{name}_score": "score", f"{name}_execution_details": "left out: times and exceptions"}
    fields |= {column: "metadata" for column in columns if column not in fields}
    samples: list[ToolSample] = []
    directions: dict[str, Direction] = {}
    judges: dict[str, None] = {}
    joined = False
    for index, row in enumerate(as_objects(clean_value(file))):
        feedback: list[Feedback] = []
        failed: dict[str, Outcome] = {}
        for name in names:
            result = as_object(decode_value(row.get(f"{name}_score"), python=True))
            details = as_object(decode_value(row.get(f"{name}_execution_details"), python=True))
            metric = text_of(result.get("name")) or name
            if result.get("direction") in ("minimize", "neutral"):
                directions[metric] = "lower" if result["direction"] == "minimize" else "neutral"
            if judge := text_of(as_object(result.get("metadata")).get("model")):
                judges[judge] = None
            if result:
                feedback.append(
                    Feedback(
                        name=metric,
                        value=result.get("score"),
                        label=result.get("label"),
                        reason=result.get("explanation"),
                        person=result.get("kind") == "human",
                    )
                )
            elif details:
                errors = details.get("exceptions")
                exceptions = errors if isinstance(errors, Sequence) and not isinstance(errors, str) else []
                failed[metric] = Unscored(reason="failed", detail="; ".join(map(text_of, exceptions)) or "no score")
        results = collect_feedback(feedback)
        cells = {field: row.get(column) for field, column in field_of.items() if column}
        cells["metadata"] = {
            column: row[column] for column, use in fields.items() if use == "metadata" and row.get(column) is not None
        }
        passages = decode_value(cells.get("contexts"), python=True)
        if isinstance(passages, str):
            joined, passages = True, [passages]
        samples.append(
            ToolSample(
                cells=drop_missing({**cells, "contexts": passages}),
                line=file.line(index),
                scores={**failed, **results.scores},
                recorded=RecordedSample(judgements=results.judgements),
            )
        )
    return ToolFile(
        tool="Phoenix",
        samples=samples,
        judge=", ".join(judges),
        fields=fields,
        directions=directions,
        notes=(JOINED,) if joined else (),
    )


JOINED_FIELDS = {
    "context.span_id": "id",
    "input": "question",
    "output": "answer",
}


def _is_joined(file: ParsedFile) -> bool:
    texts = {"context", "reference"} & file.columns
    return {"context.span_id", "input", "output"} <= file.columns and bool(texts) and not _ROWS & file.columns


def _read_joined(file: ParsedFile) -> ToolFile:
    """Read a table of `get_input_output_context` or `get_qa_with_reference`, which calls the passages `reference`."""
    texts = "context" if "context" in file.columns else "reference"
    rest = sorted(file.columns - {*JOINED_FIELDS, texts})
    samples: list[ToolSample] = []
    for index, row in enumerate(as_objects(clean_value(file))):
        text = row.get(texts)
        metadata = {name: row.get(name) for name in rest}
        cells = {
            "id": row.get("context.span_id"),
            "question": row.get("input"),
            "answer": row.get("output"),
            "contexts": [text] if isinstance(text, str) and text.strip() else None,
            "metadata": drop_missing(metadata),
        }
        samples.append(ToolSample(cells=drop_missing(cells), line=file.line(index)))
    notes = [JOINED, "the file lacks traces without retrieval; to include them, export the spans (get_spans_dataframe)"]
    if texts == "reference":
        notes.append("`reference` is read as the passages; to read it as the reference, use --map reference=reference")
    return ToolFile(
        tool="Phoenix",
        samples=samples,
        fields={**JOINED_FIELDS, texts: "contexts", **dict.fromkeys(rest, "metadata")},
        notes=notes,
    )


FILE_FORMATS = (
    FileFormat(name="Phoenix spans", recognises=_is_dataframe, read=_read_dataframe),
    FileFormat(name="Phoenix spans from its API", recognises=_is_rest, read=_read_rest),
    FileFormat(name="Phoenix experiment", recognises=_is_experiment, read=_read_experiment),
    FileFormat(name="Phoenix evaluations", recognises=_is_evals, read=_read_evals),
    FileFormat(name="Phoenix inputs, outputs and contexts", recognises=_is_joined, read=_read_joined),
    FileFormat(name="Phoenix annotations", recognises=_is_annotations, read=_refuse_annotations),
)
