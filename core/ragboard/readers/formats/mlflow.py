"""MLflow: a trace, a list of traces, and the tables of `search_traces` and `genai.evaluate`.

Attributes of a span are texts with JSON. The assessments of a trace are feedback of judges and persons, or
expectations, which have the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile
from ragboard.readers.formats.feedback import Feedback
from ragboard.readers.formats.shapes import as_object, as_objects
from ragboard.readers.formats.spans import (
    Span,
    clean_value,
    decode_value,
    nanoseconds,
    passages_of,
    text_of,
    trace_file,
)
from ragboard.records import JsonValue

__all__ = ["ATTRIBUTES", "FILE_FORMATS", "read_attributes"]

ATTRIBUTES = {
    "mlflow.spanType": "",
    "mlflow.spanInputs": "question",
    "mlflow.spanOutputs": "answer",
    "mlflow.llm.model": "configuration",
    "mlflow.chat.tokenUsage": "metadata",
    "mlflow.traceRequestId": "",
    "mlflow.spanFunctionName": "",
    "mlflow.spanLogLevel": "",
}
"""How each attribute of a span is used; empty if it is only used to read other attributes."""

FIELDS = {
    "spans.mlflow.spanInputs": "question",
    "spans.mlflow.spanOutputs": "answer",
    "spans.mlflow.spanOutputs of retrievers": "contexts",
    "spans.mlflow.llm.model": "configuration",
    "assessments.feedback": "score",
    "assessments.rationale": "judgement",
    "assessments.expectation": "reference",
    "human feedback": "metadata",
    "trace_metadata.mlflow.trace.session": "history",
    "tags": "metadata",
    "trace_metadata": "left out: may name persons and machines",
    "source of human feedback, tags.mlflow": "left out: may name persons and machines",
}
"""How each part of a trace is used, for the import report."""

REPEATED_COLUMNS = "request, response, trace, NAME/value, NAME/rationale"


def read_attributes(attributes: Mapping[str, JsonValue]) -> dict[str, Any]:
    """Return the fields of a `Span` from MLflow's attributes."""
    kind = text_of(decode_value(attributes.get("mlflow.spanType")))
    inputs, outputs = (
        decode_value(attributes.get("mlflow.spanInputs")),
        decode_value(attributes.get("mlflow.spanOutputs")),
    )
    usage = as_object(decode_value(attributes.get("mlflow.chat.tokenUsage"))) or as_object(
        as_object(outputs).get("usage")
    )
    counts = [
        next((value for name in names if type(value := usage.get(name)) is int), 0)
        for names in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    ]
    return {
        "kind": kind,
        "input": inputs,
        "output": outputs,
        "documents": passages_of(outputs) if kind.lower() == "retriever" else None,
        "model": text_of(decode_value(attributes.get("mlflow.llm.model"))),
        "tokens": (counts[0], counts[1]),
    }


def _is_trace(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("info"), Mapping)
        and "trace_id" in value["info"]
        and isinstance(value.get("data"), Mapping)
        and "spans" in value["data"]
    )


def _is_spans(value: object) -> bool:
    spans = as_objects(value.get("spans") if isinstance(value, Mapping) else None)
    return bool(spans) and all("mlflow.spanType" in as_object(span.get("attributes")) for span in spans[:20])


def _is_traces(file: ParsedFile) -> bool:
    values = file.rows[:20] if isinstance(file.value, list) else [file.value]
    return bool(values) and (all(map(_is_trace, values)) or all(map(_is_spans, values)))


def _is_table(file: ParsedFile) -> bool:
    return {"trace_id", "request", "response", "spans", "assessments"} <= file.columns and bool(file.rows)


def _read_traces(file: ParsedFile) -> ToolFile:
    value = clean_value(file)
    traces = as_objects(value) if isinstance(value, list) else [as_object(value)]
    return _tool_file(
        file,
        [
            (as_object(trace.get("info")), as_objects(as_object(trace.get("data", trace)).get("spans")))
            for trace in traces
        ],
    )


def _read_table(file: ParsedFile) -> ToolFile:
    """Read a table of traces. A row has the spans and the fields of `info`; the column `trace` repeats both as JSON."""
    traces: list[tuple[Mapping[str, JsonValue], list[Mapping[str, JsonValue]]]] = []
    for row in as_objects(clean_value(file)):
        info: Mapping[str, JsonValue] = {
            key: decode_value(row.get(key), python=True)
            for key in ("trace_id", "spans", "assessments", "trace_metadata", "tags")
        }
        spans = as_objects(info.get("spans"))
        if not spans:
            trace = as_object(decode_value(row.get("trace")))
            info, spans = as_object(trace.get("info")) or info, as_objects(as_object(trace.get("data")).get("spans"))
        traces.append((info, spans))
    return replace(
        _tool_file(file, traces), fields=FIELDS | {REPEATED_COLUMNS: "left out: repeated in the spans and assessments"}
    )


def _tool_file(
    file: ParsedFile, traces: Sequence[tuple[Mapping[str, JsonValue], list[Mapping[str, JsonValue]]]]
) -> ToolFile:
    spans = [
        span
        for index, (info, steps) in enumerate(traces)
        for span in _spans(info, steps, file.line(index), f"[{index}]" if len(traces) > 1 else "")
    ]
    judges = {
        text_of(as_object(assessment.get("source")).get("source_id"))
        for info, _ in traces
        for assessment in as_objects(info.get("assessments"))
        if as_object(assessment.get("source")).get("source_type") == "LLM_JUDGE"
    }
    return trace_file(file, "MLflow", spans, fields=FIELDS, judge=", ".join(sorted(filter(None, judges))))


def _spans(
    info: Mapping[str, JsonValue], steps: Sequence[Mapping[str, JsonValue]], line: int, location: str
) -> list[Span]:
    """Return the spans of a trace. The first root span has the feedback, reference and metadata of the trace."""
    assessments = [
        assessment for assessment in as_objects(info.get("assessments")) if assessment.get("valid") is not False
    ]
    expected = {
        text_of(assessment.get("assessment_name")): _expected(as_object(assessment["expectation"]))
        for assessment in assessments
        if "expectation" in assessment
    }
    facts = expected.pop("expected_facts", None)
    reference = expected.pop("expected_response", None)
    if reference is None and isinstance(facts, list):
        reference = "\n".join(text_of(fact) for fact in facts)
    tags = {key: value for key, value in as_object(info.get("tags")).items() if not key.startswith("mlflow.")}
    root = next((index for index, step in enumerate(steps) if not step.get("parent_span_id")), 0)
    spans: list[Span] = []
    for number, step in enumerate(steps):
        trace_fields: dict[str, Any] = {
            "feedback": [_feedback(assessment) for assessment in assessments if "feedback" in assessment],
            "reference": reference,
            "session": text_of(as_object(info.get("trace_metadata")).get("mlflow.trace.session")),
            "metadata": {**tags, **({"expectations": expected} if expected else {})},
        }
        status = as_object(step.get("status"))
        failed = status.get("code") in ("STATUS_CODE_ERROR", "ERROR", 2)
        spans.append(
            Span(
                trace=text_of(info.get("trace_id")) or text_of(step.get("trace_id")),
                id=text_of(step.get("span_id")),
                parent=text_of(step.get("parent_span_id")),
                start=nanoseconds(step.get("start_time_unix_nano")),
                end=nanoseconds(step.get("end_time_unix_nano")),
                error=(text_of(status.get("message")) or "failed") if failed else "",
                line=line,
                location=location,
                **read_attributes(as_object(step.get("attributes"))),
                **(trace_fields if number == root else {}),
            )
        )
    return spans


def _expected(expectation: Mapping[str, JsonValue]) -> JsonValue:
    serialized = as_object(expectation.get("serialized_value"))
    return decode_value(serialized.get("value")) if serialized else expectation.get("value")


def _feedback(assessment: Mapping[str, JsonValue]) -> Feedback:
    feedback = as_object(assessment.get("feedback"))
    error = as_object(feedback.get("error"))
    return Feedback(
        name=text_of(assessment.get("assessment_name")) or "assessment",
        value=feedback.get("value"),
        reason=assessment.get("rationale"),
        error=error.get("error_message") or error.get("error_code"),
        person=as_object(assessment.get("source")).get("source_type") == "HUMAN",
    )


FILE_FORMATS = (
    FileFormat(name="MLflow traces as a table", recognises=_is_table, read=_read_table),
    FileFormat(name="MLflow traces", recognises=_is_traces, read=_read_traces),
)
