"""Langfuse: observations (the steps of a trace) and experiments. `otlp.py` reads the spans of its SDK.

The API lists observations under `data`, in camel case. The blob export writes one observation a line, in snake case. In
both, input and output are texts with JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.feedback import Feedback, collect_feedback
from ragboard.readers.formats.shapes import as_object, as_objects
from ragboard.readers.formats.spans import (
    ANSWERS,
    QUESTIONS,
    Span,
    clean_value,
    decode_value,
    earlier_turns,
    field_uses,
    nanoseconds,
    passages_of,
    pick,
    text_of,
    trace_file,
)
from ragboard.records import JsonValue, RecordedSample

__all__ = ["ATTRIBUTES", "FILE_FORMATS", "SCOPE", "read_attributes"]

SCOPE = "langfuse-sdk"
"""The scope name of spans that Langfuse's SDK records."""

ATTRIBUTES = {
    "langfuse.observation.type": "",
    "langfuse.observation.input": "question",
    "langfuse.observation.output": "answer",
    "langfuse.observation.model.name": "configuration",
    "langfuse.observation.model.parameters": "configuration",
    "langfuse.observation.usage_details": "metadata",
    "langfuse.trace.tags": "metadata",
    "langfuse.trace.input": "question",
    "langfuse.trace.output": "answer",
    "langfuse.experiment.item.expected_output": "reference",
    "langfuse.internal": "",
}
"""How each attribute of a span is used; empty if it is only used to read other attributes."""

USES = {
    "input": "question",
    "output": "answer",
    "sessionId": "history",
    "model": "configuration",
    "providedModelName": "configuration",
    "modelParameters": "configuration",
    "usageDetails": "metadata",
    "tags": "metadata",
    "startTime": "time, metadata",
    "endTime": "metadata",
    **dict.fromkeys(("id", "traceId", "parentObservationId", "isRootObservation", "type", "name", "traceName"), ""),
    "userId": "left out: names a person",
}
"""How each key of an observation is used; empty if it is only used to read other keys."""


def read_attributes(attributes: Mapping[str, JsonValue]) -> dict[str, Any]:
    """Return the fields of a `Span` from the attributes of Langfuse's SDK."""
    input_value, output_value = (
        decode_value(attributes.get(f"langfuse.observation.{side}", attributes.get(f"langfuse.trace.{side}")))
        for side in ("input", "output")
    )
    return _span_fields(
        kind=text_of(attributes.get("langfuse.observation.type")),
        input_value=input_value,
        output_value=output_value,
        session=attributes.get("session.id"),
        model=attributes.get("langfuse.observation.model.name"),
        settings=decode_value(attributes.get("langfuse.observation.model.parameters")),
        usage=decode_value(attributes.get("langfuse.observation.usage_details")),
        tags=attributes.get("langfuse.trace.tags"),
    ) | {"reference": decode_value(attributes.get("langfuse.experiment.item.expected_output"))}


def _span_fields(
    *,
    kind: str,
    input_value: JsonValue,
    output_value: JsonValue,
    session: JsonValue,
    model: JsonValue,
    settings: JsonValue,
    usage: JsonValue,
    tags: JsonValue,
) -> dict[str, Any]:
    counts = [value if type(value := as_object(usage).get(name)) is int else 0 for name in ("input", "output")]
    return {
        "kind": kind,
        "input": input_value,
        "output": output_value,
        "documents": passages_of(output_value) if kind.lower() == "retriever" else None,
        "session": text_of(session),
        "model": text_of(model),
        "settings": dict(as_object(settings)),
        "tokens": (counts[0], counts[1]),
        "metadata": {"tags": tags} if tags else {},
    }


def _camel(row: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a row with its keys in camel case, as in the API."""
    return {re.sub(r"_([a-z])", lambda match: match[1].upper(), key): value for key, value in row.items()}


def _rows(value: object) -> list[Mapping[str, Any]]:
    """Return the rows of an API response, or of a list."""
    return as_objects(value["data"] if isinstance(value, dict) and "data" in value else value)


def _is_observations(file: ParsedFile) -> bool:
    keys = frozenset[str]().union(*map(_camel, _rows(file.value)[:20]))
    return {"traceId", "type", "input", "output"} <= keys and bool(keys & {"parentObservationId", "isRootObservation"})


def _read_observations(file: ParsedFile) -> ToolFile:
    spans: list[Span] = []
    rows = [_camel(row) for row in _rows(clean_value(file))]
    for index, row in enumerate(rows):
        failed = row.get("level") == "ERROR"
        spans.append(
            Span(
                trace=text_of(row.get("traceId")),
                id=text_of(row.get("id")),
                parent=text_of(row.get("parentObservationId")),
                start=nanoseconds(row.get("startTime")),
                end=nanoseconds(row.get("endTime")),
                error=(text_of(row.get("statusMessage")) or "failed") if failed else "",
                line=file.line(index) if file.rows else 1,
                location=f"data[{index}]" if isinstance(file.value, dict) else "",
                **_span_fields(
                    kind=text_of(row.get("type")),
                    input_value=decode_value(row.get("input")),
                    output_value=decode_value(row.get("output")),
                    session=row.get("sessionId"),
                    model=row.get("model") or row.get("providedModelName"),
                    settings=decode_value(row.get("modelParameters")),
                    usage=decode_value(row.get("usageDetails")),
                    tags=row.get("tags"),
                ),
            )
        )
    names = [name for row in rows for name, value in row.items() if value not in (None, "", {}, [])]
    return trace_file(file, "Langfuse", spans, fields=field_uses(names, USES))


def _is_scores(file: ParsedFile) -> bool:
    keys = frozenset[str]().union(*map(_camel, _rows(file.value)[:20]))
    return {"traceId", "name", "value", "dataType", "source"} <= keys


def _refuse_scores(file: ParsedFile) -> ToolFile:
    raise RunFileError(
        file.path,
        "has scores of Langfuse without the answers; import the observations of the same traces",
    )


def _is_experiment(file: ParsedFile) -> bool:
    rows = [_camel(row) for row in _rows(file.value)[:20]]
    return bool(rows) and all(
        "output" in row
        and (
            ({"item", "evaluations"} <= row.keys() and isinstance(row["item"], Mapping))
            or ("experimentItemId" in row and "expectedOutput" in row)
        )
        for row in rows
    )


def _read_experiment(file: ParsedFile) -> ToolFile:
    samples: list[ToolSample] = []
    for index, row in enumerate(map(_camel, _rows(clean_value(file)))):
        item = _camel(as_object(row.get("item"))) or row
        output = decode_value(row.get("output"))
        results = collect_feedback(
            [_feedback(score) for score in as_objects(row.get("evaluations", row.get("scores")))]
        )
        metadata = {"trace_id": row.get("traceId"), "human_feedback": [*results.human_feedback] or None}
        cells = {
            "id": item.get("id") if "item" in row else row.get("experimentItemId"),
            "question": pick(decode_value(item.get("input")), QUESTIONS),
            "history": earlier_turns(decode_value(item.get("input"))),
            "answer": pick(output, ANSWERS),
            "contexts": passages_of(output) if isinstance(output, Mapping) else None,
            "reference": pick(decode_value(item.get("expectedOutput")), ANSWERS),
            "metadata": {key: value for key, value in metadata.items() if value is not None},
        }
        samples.append(
            ToolSample(
                cells=cells,
                line=file.line(index) if file.rows else 1,
                run=text_of(row.get("experimentName")),
                scores=results.scores,
                recorded=RecordedSample(judgements=results.judgements),
            )
        )
    names = {sample.run for sample in samples}
    fields = {
        "item.input": "question",
        "output": "answer",
        "item.expected_output": "reference",
        "evaluations": "score",
        "trace_id": "metadata",
    }
    return ToolFile(tool="Langfuse", samples=samples, fields=fields, name=names.pop() if len(names) == 1 else "")


def _feedback(score: Mapping[str, JsonValue]) -> Feedback:
    """Return the feedback in a score of the API or in an evaluation of an experiment."""
    label = score.get("stringValue") or score.get("string_value")
    return Feedback(
        name=text_of(score.get("name")) or "score",
        value=label if score.get("dataType", score.get("data_type")) == "CATEGORICAL" else score.get("value"),
        reason=score.get("comment"),
        person=score.get("source") == "ANNOTATION",
    )


FILE_FORMATS: Sequence[FileFormat] = (
    FileFormat(name="Langfuse experiment", recognises=_is_experiment, read=_read_experiment),
    FileFormat(name="Langfuse observations", recognises=_is_observations, read=_read_observations),
    FileFormat(name="Langfuse scores", recognises=_is_scores, read=_refuse_scores),
)
