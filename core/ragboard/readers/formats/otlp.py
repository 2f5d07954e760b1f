"""Traces of OpenTelemetry: OTLP as JSON, as lines of JSON and as protobuf, and what the console exporter prints.

The attributes of a span follow a convention: OpenInference (Phoenix, Arize), GenAI (OpenTelemetry's own), or those of
the SDKs of Langfuse and MLflow.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats import langfuse, mlflow
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile
from ragboard.readers.formats.feedback import Feedback
from ragboard.readers.formats.otlp_protobuf import read_requests
from ragboard.readers.formats.shapes import as_object, as_objects
from ragboard.readers.formats.spans import (
    Span,
    clean_value,
    decoded,
    field_uses,
    nanoseconds,
    objects_of_flat_keys,
    text_of,
    trace_file,
)
from ragboard.readers.scores import read_score
from ragboard.records import JsonValue, Score

__all__ = ["FILE_FORMATS", "RawSpan", "otlp_span", "read_raw"]

LOOKED_AT = 20
"""Lines of a file that are looked at to recognise it."""


@dataclass(frozen=True, kw_only=True)
class RawSpan:
    """A span as OpenTelemetry has it, its attributes by name."""

    trace: str
    id: str
    parent: str
    start: int
    end: int
    error: str
    attributes: Mapping[str, JsonValue]
    events: Sequence[tuple[str, Mapping[str, JsonValue]]] = ()
    """Names and attributes."""
    resource: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    scope: str = ""
    version: str = ""
    line: int = 1
    location: str = ""


def openinference(raw: RawSpan) -> dict[str, Any]:
    """Return what the attributes of OpenInference say of a step."""
    of = raw.attributes
    kind = text_of(of.get("openinference.span.kind")).lower()
    given, said = (
        decoded(value) if "json" in text_of(of.get(f"{side}.mime_type")) else value
        for side in ("input", "output")
        for value in [of.get(f"{side}.value")]
    )
    documents: Sequence[JsonValue] | None = None
    if kind == "reranker":
        documents = objects_of_flat_keys(of, "reranker.output_documents") or None
    elif kind == "retriever":
        listing = decoded(said)
        documents = objects_of_flat_keys(of, "retrieval.documents") or (listing if isinstance(listing, list) else None)
        if documents is None and said in (None, "") and not of.get("retrieval.documents"):
            documents = []  # the convention writes nothing where nothing was found
    return {
        "kind": kind,
        "input": (kind == "llm" and _chat(of, "llm.input_messages")) or given,
        "output": (kind == "llm" and _chat(of, "llm.output_messages")) or said,
        "documents": documents,
        "session": text_of(of.get("session.id")),
        "model": text_of(of.get("llm.model_name")),
        "settings": _settings(as_object(decoded(of.get("llm.invocation_parameters")))),
        "tokens": _tokens(of, "llm.token_count.prompt", "llm.token_count.completion"),
    }


def _chat(of: Mapping[str, JsonValue], prefix: str) -> list[JsonValue]:
    """Return the messages with a text that OpenInference writes as flat keys; a message may have several parts."""
    messages: list[JsonValue] = []
    for one in objects_of_flat_keys(of, prefix):
        parts = [text_of(part.get("message_content.text")) for part in objects_of_flat_keys(one, "message.contents")]
        text = text_of(one.get("message.content")) or "\n".join(filter(None, parts))
        if text:
            messages.append({"role": text_of(one.get("message.role")) or "user", "content": text})
    return messages


def _settings(given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Settings that are a number, a text or yes or no; not tools and messages."""
    return {key: value for key, value in given.items() if isinstance(value, (int, float, str))}


def _tokens(of: Mapping[str, JsonValue], *names: str) -> tuple[int, int]:
    """Numbers of tokens; a CSV has them as text."""
    prompt, completion = (read_score(of.get(name)) for name in names)
    return (
        int(prompt.value) if isinstance(prompt, Score) else 0,
        int(completion.value) if isinstance(completion, Score) else 0,
    )


def genai(raw: RawSpan) -> dict[str, Any]:
    """Return what the attributes of OpenTelemetry's GenAI convention say of a step."""
    of = dict(raw.attributes)
    for name, attributes in raw.events:  # before version 1.37, texts were events
        of |= {key: value for key, value in attributes.items() if name.startswith("gen_ai.content.")}
    query = of.get("gen_ai.retrieval.query.text")
    documents = decoded(of.get("gen_ai.retrieval.documents"))
    return {
        "kind": text_of(of.get("gen_ai.operation.name")),
        "input": query if query is not None else _messages(of, "gen_ai.input.messages", "gen_ai.prompt"),
        "output": _messages(of, "gen_ai.output.messages", "gen_ai.completion"),
        "documents": documents if isinstance(documents, list) else None,
        "session": text_of(of.get("gen_ai.conversation.id")),
        "model": text_of(of.get("gen_ai.request.model")) or text_of(of.get("gen_ai.response.model")),
        "settings": {
            name: of[key]
            for name in ("temperature", "top_p", "top_k", "max_tokens", "seed")
            if isinstance(of.get(key := f"gen_ai.request.{name}"), (int, float))
        },
        "tokens": _tokens(of, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    }


EVALUATION = "gen_ai.evaluation.result"


def _messages(of: Mapping[str, JsonValue], name: str, old: str) -> JsonValue:
    return decoded(of.get(name)) or decoded(of.get(old)) or [*objects_of_flat_keys(of, old)] or None


def _evaluation(attributes: Mapping[str, JsonValue]) -> Feedback:
    return Feedback(
        name=text_of(attributes.get("gen_ai.evaluation.name")) or "evaluation",
        value=attributes.get("gen_ai.evaluation.score.value"),
        label=attributes.get("gen_ai.evaluation.score.label"),
        reason=attributes.get("gen_ai.evaluation.explanation"),
        error=attributes.get("error.type"),
    )


CONVENTIONS: Mapping[str, tuple[str, Callable[[RawSpan], dict[str, Any]]]] = {
    "langfuse.observation.type": ("Langfuse", lambda raw: langfuse.attributes_of(raw.attributes)),
    "openinference.span.kind": ("OpenInference", openinference),
    "gen_ai.operation.name": ("OpenTelemetry", genai),
    "mlflow.spanType": ("MLflow", lambda raw: mlflow.attributes_of(raw.attributes)),
}
"""By the attribute that each of its spans has: the name of the convention, and what reads it."""

USES = {
    "openinference.span.kind": "",
    "input.value": "question",
    "output.value": "answer",
    "input.mime_type": "",
    "output.mime_type": "",
    "retrieval.documents": "contexts",
    "reranker.output_documents": "contexts",
    "retrieval.documents.N.document.metadata": "left out: a passage has a text, an id and a score",
    "session.id": "history",
    "llm.model_name": "configuration",
    "llm.invocation_parameters": "configuration",
    "llm.token_count.prompt": "metadata",
    "llm.token_count.completion": "metadata",
    "llm.input_messages": "left out: prompts, unless no other span has an input",
    "llm.output_messages": "answer",
    "gen_ai.operation.name": "",
    "gen_ai.input.messages": "question",
    "gen_ai.output.messages": "answer",
    "gen_ai.retrieval.query.text": "",
    "gen_ai.retrieval.documents": "contexts",
    "gen_ai.conversation.id": "history",
    "gen_ai.request": "configuration",
    "gen_ai.response.model": "",
    "gen_ai.usage": "metadata",
    "gen_ai.prompt": "question",
    "gen_ai.completion": "answer",
    EVALUATION: "score",
    "resource.openinference.project.name": "run",
    "resource.service.name": "run",
    "resource": "left out: may name persons and machines",
    "user.id": "left out: names a person",
    **langfuse.ATTRIBUTES,
    **mlflow.ATTRIBUTES,
}


def read_raw(file: ParsedFile, raw: Sequence[RawSpan], tool: str = "") -> ToolFile:
    """Return the samples of spans that each follow one of the conventions.

    A span of none keeps its place in the trace.
    """
    spans: list[Span] = []
    tools: list[str] = []
    for one in raw:
        convention = next((key for key in CONVENTIONS if key in one.attributes), None)
        name, read = CONVENTIONS[convention] if convention else ("", lambda _: {})
        tools += [name] if name else []
        spans.append(
            Span(
                trace=one.trace,
                id=one.id,
                parent=one.parent,
                start=one.start,
                end=one.end,
                error=one.error,
                run=_project(one.resource),
                line=one.line,
                location=one.location,
                feedback=[_evaluation(attributes) for name, attributes in one.events if name == EVALUATION],
                **read(one),
            )
        )
    names = (
        *(name for one in raw for name in one.attributes),
        *(f"resource.{name}" for one in raw for name in one.resource),
        *(name for one in raw for name, _ in one.events),
    )
    if not tools:
        found = f"holds {len(raw)} spans of OpenTelemetry, none with" if raw else "holds no spans of OpenTelemetry with"
        raise RunFileError(
            file.path,
            f"{found} attributes of OpenInference, GenAI, Langfuse or MLflow; record the traces with one of them",
        )
    version = next((one.version for one in raw if one.scope == langfuse.SCOPE), "")
    return trace_file(file, tool or tools[0], spans, fields=field_uses(names, USES), version=version)


def _project(resource: Mapping[str, JsonValue]) -> str:
    service = text_of(resource.get("service.name"))
    return text_of(resource.get("openinference.project.name")) or ("" if service.startswith("unknown_") else service)


def _either(value: Mapping[str, JsonValue], name: str) -> JsonValue:
    """Return a field under its name in camel case or in snake case."""
    found = value.get(name)
    return found if found is not None else value.get(re.sub(r"(?=[A-Z])", "_", name).lower())


def _otlp_spans(request: JsonValue, line: int, prefix: str = "") -> Iterator[RawSpan]:
    """Yield the spans of an export request; evaluations that are log records are spans within those they are about."""
    for at, group in enumerate(as_objects(_either(as_object(request), "resourceSpans"))):
        resource = _attributes(as_object(group.get("resource")))
        for inner, within in enumerate(as_objects(_either(group, "scopeSpans"))):
            scope = as_object(within.get("scope"))
            named = (text_of(scope.get("name")), text_of(scope.get("version")))
            for number, span in enumerate(as_objects(within.get("spans"))):
                location = f"{prefix}resourceSpans[{at}].scopeSpans[{inner}].spans[{number}]"
                yield otlp_span(span, line, location, resource, *named)
    for group in as_objects(_either(as_object(request), "resourceLogs")):
        for within in as_objects(_either(group, "scopeLogs")):
            for record in as_objects(_either(within, "logRecords")):
                if _either(record, "eventName") == EVALUATION:
                    yield RawSpan(
                        trace=_id(_either(record, "traceId")),
                        id="",
                        parent=_id(_either(record, "spanId")),
                        start=nanoseconds(_either(record, "timeUnixNano")),
                        end=0,
                        error="",
                        attributes={"gen_ai.operation.name": "evaluation"},
                        events=[(EVALUATION, _attributes(record))],
                        line=line,
                    )


def otlp_span(
    span: Mapping[str, JsonValue],
    line: int,
    location: str,
    resource: Mapping[str, JsonValue],
    scope: str = "",
    version: str = "",
) -> RawSpan:
    """Return a span as OTLP has it, in camel case or in snake case."""
    status = as_object(span.get("status"))
    failed = status.get("code") in (2, "STATUS_CODE_ERROR")
    return RawSpan(
        trace=_id(_either(span, "traceId")),
        id=_id(_either(span, "spanId")),
        parent=_id(_either(span, "parentSpanId")),
        start=nanoseconds(_either(span, "startTimeUnixNano")),
        end=nanoseconds(_either(span, "endTimeUnixNano")),
        error=(text_of(status.get("message")) or "failed") if failed else "",
        attributes=_attributes(span),
        events=[(text_of(event.get("name")), _attributes(event)) for event in as_objects(span.get("events"))],
        resource=resource,
        scope=scope,
        version=version,
        line=line,
        location=location,
    )


def _attributes(holder: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Attributes by name: a list of keys with values as OTLP has it, or an object as the console exporter prints."""
    given = holder.get("attributes")
    if isinstance(given, Mapping):
        return dict(given)
    return {text_of(one.get("key")): _value(as_object(one.get("value"))) for one in as_objects(given)}


def _value(union: Mapping[str, JsonValue]) -> JsonValue:
    """Return the value of which OTLP says the type."""
    if (text := _either(union, "stringValue")) is not None:
        return text
    if (number := _either(union, "intValue")) is not None:
        text = str(number)
        return int(text) if re.fullmatch(r"-?\d{1,20}", text) else number
    for name in ("doubleValue", "boolValue", "bytesValue"):
        if (found := _either(union, name)) is not None:
            return found
    if array := _either(union, "arrayValue"):
        return [_value(one) for one in as_objects(as_object(array).get("values"))]
    if pairs := _either(union, "kvlistValue"):
        return {
            text_of(one.get("key")): _value(as_object(one.get("value")))
            for one in as_objects(as_object(pairs).get("values"))
        }
    return None


def _id(value: JsonValue) -> str:
    """Return an id in hexadecimal, of one in hexadecimal or in base64 as protobuf's own JSON has it."""
    text = text_of(value).removeprefix("0x")
    if re.fullmatch(r"(?:[0-9a-fA-F]{16}){1,2}", text) or not text:
        return text.lower()
    try:
        return base64.b64decode(text, validate=True).hex()
    except (binascii.Error, ValueError):
        return text


def _is_request(value: object) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(value.get(key), list) for key in ("resourceSpans", "resource_spans", "resourceLogs")
    )


def _is_otlp(file: ParsedFile) -> bool:
    if file.kind == "protobuf":
        return True
    values = file.rows[:LOOKED_AT] if isinstance(file.value, list) else [file.value]
    return bool(values) and any(map(_is_request, values))


def _is_langfuse(file: ParsedFile) -> bool:
    if file.kind == "protobuf" or not _is_otlp(file):
        return False
    requests = file.rows[:LOOKED_AT] if isinstance(file.value, list) else [file.value]
    return any(
        as_object(within.get("scope")).get("name") == langfuse.SCOPE
        for request in requests
        for group in as_objects(_either(as_object(request), "resourceSpans"))
        for within in as_objects(_either(group, "scopeSpans"))
    )


def _read_otlp(file: ParsedFile) -> ToolFile:
    if file.kind == "protobuf":
        return read_raw(file, [*_otlp_spans(read_requests(file.path), 1)])
    value = clean_value(file)
    if not isinstance(value, list):
        return read_raw(file, [*_otlp_spans(value, 1)])
    prefixes = ["" if file.kind == "JSONL" else f"[{index}]." for index in range(len(value))]
    lines = [file.line(index) for index in range(len(value))]
    return read_raw(file, [span for given in zip(value, lines, prefixes, strict=True) for span in _otlp_spans(*given)])


def _is_console(file: ParsedFile) -> bool:
    rows = file.rows if isinstance(file.value, list) else [file.value] if isinstance(file.value, dict) else []
    return bool(rows) and all(
        isinstance(row.get("context"), dict)
        and {"trace_id", "span_id"} <= row["context"].keys()
        and isinstance(row.get("attributes"), dict)
        and str(row.get("kind")).startswith("SpanKind.")
        for row in rows[:LOOKED_AT]
    )


def _read_console(file: ParsedFile) -> ToolFile:
    value = clean_value(file)
    raw: list[RawSpan] = []
    for index, row in enumerate(as_objects(value if isinstance(value, list) else [value])):
        context, status = as_object(row.get("context")), as_object(row.get("status"))
        failed = status.get("status_code") == "ERROR"
        raw.append(
            RawSpan(
                trace=_id(context.get("trace_id")),
                id=_id(context.get("span_id")),
                parent=_id(row.get("parent_id")),
                start=nanoseconds(row.get("start_time")),
                end=nanoseconds(row.get("end_time")),
                error=(text_of(status.get("description")) or "failed") if failed else "",
                attributes=_attributes(row),
                events=[(text_of(event.get("name")), _attributes(event)) for event in as_objects(row.get("events"))],
                resource=_attributes(as_object(row.get("resource"))),
                line=file.line(index),
                location=f"[{index}]" if file.kind == "JSON" else "",
            )
        )
    return read_raw(file, raw)


FILE_FORMATS = (
    FileFormat(name="Langfuse SDK traces", recognises=_is_langfuse, read=_read_otlp),
    FileFormat(name="OpenTelemetry traces", recognises=_is_otlp, read=_read_otlp),
    FileFormat(name="OpenTelemetry console spans", recognises=_is_console, read=_read_console),
)
