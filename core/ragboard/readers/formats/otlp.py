"""OpenTelemetry: traces in OTLP (JSON, JSON lines, protobuf) and the output of the console exporter.

The attributes of a span follow a convention: OpenInference (Phoenix, Arize), OpenTelemetry's GenAI, Langfuse's or
MLflow's.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats import langfuse, mlflow
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile
from ragboard.readers.formats.feedback import Feedback
from ragboard.readers.formats.otlp_protobuf import PARENT_IS_REMOTE, read_requests
from ragboard.readers.formats.raw_span import RawSpan
from ragboard.readers.formats.shapes import as_object, as_objects
from ragboard.readers.formats.spans import (
    Span,
    clean_value,
    decode_value,
    field_uses,
    nanoseconds,
    objects_of_flat_keys,
    text_of,
    trace_file,
)
from ragboard.readers.scores import read_score
from ragboard.records import JsonValue, Score

__all__ = ["EVALUATION", "FILE_FORMATS", "is_read", "json_spans", "otlp_span", "read_raw", "span_of"]

MAX_CHECKED_ROWS = 20
"""Number of rows that are checked to recognise a file."""


def read_openinference(raw: RawSpan) -> dict[str, Any]:
    """Return the fields of a `Span` from the attributes of OpenInference."""
    attributes = raw.attributes
    kind = text_of(attributes.get("openinference.span.kind")).lower()
    input_value, output_value = (
        decode_value(value) if "json" in text_of(attributes.get(f"{side}.mime_type")) else value
        for side in ("input", "output")
        for value in [attributes.get(f"{side}.value")]
    )
    documents: Sequence[JsonValue] | None = None
    if kind == "reranker":
        documents = objects_of_flat_keys(attributes, "reranker.output_documents") or None
    elif kind == "retriever":
        decoded_output = decode_value(output_value)
        documents = _with_ids(objects_of_flat_keys(attributes, "retrieval.documents"), decoded_output) or (
            decoded_output if isinstance(decoded_output, list) else None
        )
        if documents is None and output_value in (None, "") and not attributes.get("retrieval.documents"):
            documents = []  # the convention writes no attribute if nothing was found
    return {
        "kind": kind,
        "input": (kind == "llm" and _chat(attributes, "llm.input_messages")) or input_value,
        "output": (kind == "llm" and _chat(attributes, "llm.output_messages")) or output_value,
        "documents": documents,
        "session": text_of(attributes.get("session.id")),
        "model": text_of(attributes.get("llm.model_name")),
        "settings": _settings(as_object(decode_value(attributes.get("llm.invocation_parameters")))),
        "tokens": _tokens(attributes, "llm.token_count.prompt", "llm.token_count.completion"),
        "cost": _cost(attributes, "llm.cost.total") or _cost(attributes, "llm.cost.prompt", "llm.cost.completion"),
    }


def _with_ids(documents: Sequence[Mapping[str, JsonValue]], output: JsonValue) -> list[JsonValue]:
    """Return the documents. If none has an id, take the ids from the output, where LangChain's retrievers have them."""
    written = as_objects(output.get("documents") if isinstance(output, Mapping) else output)
    if len(written) != len(documents) or any("document.id" in document for document in documents):
        return list(documents)
    return [
        {**document, "document.id": item.get("id")} if item.get("id") else document
        for document, item in zip(documents, written, strict=True)
    ]


def _chat(attributes: Mapping[str, JsonValue], prefix: str) -> list[JsonValue]:
    """Return the messages that have text. OpenInference writes them as flat keys, and a message may have parts."""
    messages: list[JsonValue] = []
    for message in objects_of_flat_keys(attributes, prefix):
        parts = [
            text_of(part.get("message_content.text")) for part in objects_of_flat_keys(message, "message.contents")
        ]
        text = text_of(message.get("message.content")) or "\n".join(filter(None, parts))
        if text:
            messages.append({"role": text_of(message.get("message.role")) or "user", "content": text})
    return messages


def _settings(parameters: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the parameters that are numbers, texts or booleans; tools and messages are not settings."""
    return {key: value for key, value in parameters.items() if isinstance(value, (int, float, str))}


def _tokens(attributes: Mapping[str, JsonValue], *names: str) -> tuple[int, int]:
    """Return the numbers of prompt and completion tokens; 0 if missing. The values may be texts, as in a CSV."""
    prompt, completion = (read_score(attributes.get(name)) for name in names)
    return (
        int(prompt.value) if isinstance(prompt, Score) else 0,
        int(completion.value) if isinstance(completion, Score) else 0,
    )


def _cost(attributes: Mapping[str, JsonValue], *names: str) -> float:
    """Return the sum of costs in US dollars; 0 if missing."""
    scores = (read_score(attributes.get(name)) for name in names)
    return sum(score.value for score in scores if isinstance(score, Score))


def read_genai(raw: RawSpan) -> dict[str, Any]:
    """Return the fields of a `Span` from the attributes of OpenTelemetry's GenAI convention."""
    attributes_by_name = dict(raw.attributes)
    for name, attributes in raw.events:  # versions before 1.37 had texts in events; later versions may
        if name.startswith("gen_ai.content.") or name == OPERATION_DETAILS:
            attributes_by_name |= attributes
    for name, messages in _event_messages(raw.events).items():
        attributes_by_name.setdefault(name, messages)
    query = attributes_by_name.get("gen_ai.retrieval.query.text")
    documents = decode_value(attributes_by_name.get("gen_ai.retrieval.documents"))
    return {
        "kind": text_of(attributes_by_name.get("gen_ai.operation.name")),
        "input": query
        if query is not None
        else _messages(attributes_by_name, "gen_ai.input.messages", "gen_ai.prompt"),
        "output": _messages(attributes_by_name, "gen_ai.output.messages", "gen_ai.completion"),
        "documents": documents if isinstance(documents, list) else None,
        "session": text_of(attributes_by_name.get("gen_ai.conversation.id")),
        "model": text_of(attributes_by_name.get("gen_ai.request.model"))
        or text_of(attributes_by_name.get("gen_ai.response.model")),
        "settings": {
            name: attributes_by_name[key]
            for name in ("temperature", "top_p", "top_k", "max_tokens", "seed")
            if isinstance(attributes_by_name.get(key := f"gen_ai.request.{name}"), (int, float))
        },
        "tokens": _tokens(attributes_by_name, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    }


EVALUATION = "gen_ai.evaluation.result"
OPERATION_DETAILS = "gen_ai.client.inference.operation.details"
MESSAGE_EVENT = re.compile(r"gen_ai\.(?:(?P<role>system|user|assistant|tool)\.message|choice)")


def _event_messages(events: Sequence[tuple[str, Mapping[str, JsonValue]]]) -> dict[str, JsonValue]:
    """Return the messages in events (versions 1.28 to 1.36), under the attribute names of later versions."""
    messages: dict[str, list[JsonValue]] = {}
    for name, attributes in events:
        match = MESSAGE_EVENT.fullmatch(name)
        if not match:
            continue
        body = as_object(decode_value(attributes.get("gen_ai.event.content"))) or attributes
        body = as_object(decode_value(body.get("message"))) or body
        side, role = ("input", match["role"]) if match["role"] else ("output", "assistant")
        if text := text_of(body.get("content")):
            messages.setdefault(f"gen_ai.{side}.messages", []).append({"role": role, "content": text})
    return dict(messages)


def _messages(attributes: Mapping[str, JsonValue], name: str, old: str) -> JsonValue:
    return (
        decode_value(attributes.get(name))
        or decode_value(attributes.get(old))
        or [*objects_of_flat_keys(attributes, old)]
        or None
    )


def _evaluation(attributes: Mapping[str, JsonValue]) -> Feedback:
    return Feedback(
        name=text_of(attributes.get("gen_ai.evaluation.name")) or "evaluation",
        value=attributes.get("gen_ai.evaluation.score.value"),
        label=attributes.get("gen_ai.evaluation.score.label"),
        reason=attributes.get("gen_ai.evaluation.explanation"),
        error=attributes.get("error.type"),
    )


CONVENTIONS: Mapping[str, tuple[str, Callable[[RawSpan], dict[str, Any]]]] = {
    "langfuse.observation.type": ("Langfuse", lambda raw: langfuse.read_attributes(raw.attributes)),
    "openinference.span.kind": ("OpenInference", read_openinference),
    "gen_ai.operation.name": ("OpenTelemetry", read_genai),
    "mlflow.spanType": ("MLflow", lambda raw: mlflow.read_attributes(raw.attributes)),
}
"""The name and the reader of each convention, by the attribute that all its spans have."""

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
    "llm.cost": "metadata",
    "llm.input_messages": "left out: prompts (read only if no other span has an input)",
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
"""How attributes, or all attributes that begin with a name, are used; see `field_uses`."""


READ_PROMPTS = "llm.input_messages"
"""The attributes of a prompt, which are read if no other span has an input."""


@lru_cache(maxsize=10_000)
def is_read(name: str) -> bool:
    """Return whether the attribute of this name is read."""
    name = re.sub(r"\.\d+(?=\.|$)", ".N", name)
    key = max((key for key in USES if name == key or name.startswith(f"{key}.")), key=len, default="")
    return bool(key) and (key == READ_PROMPTS or not USES[key].startswith("left out"))


def read_raw(file: ParsedFile, raw: Sequence[RawSpan], tool: str = "") -> ToolFile:
    """Return the samples of spans. Raises RunFileError if no span follows a convention.

    Spans without a convention only connect the other spans of their trace.
    """
    spans = [span_of(raw_span) for raw_span in raw]
    tools = [name for raw_span in raw if (name := _convention(raw_span)[0])]
    names = (
        *(name for raw_span in raw for name in raw_span.attributes),
        *(f"resource.{name}" for raw_span in raw for name in raw_span.resource),
        *(name for raw_span in raw for name, _ in raw_span.events),
    )
    if not tools:
        problem = f"has {len(raw)} spans of OpenTelemetry, none with" if raw else "has no spans of OpenTelemetry with"
        raise RunFileError(
            file.path,
            f"{problem} attributes of OpenInference, GenAI, Langfuse or MLflow; record the traces with one of them",
        )
    version = next((raw_span.version for raw_span in raw if raw_span.scope == langfuse.SCOPE), "")
    return trace_file(file, tool or tools[0], spans, fields=field_uses(names, USES), version=version)


def span_of(raw: RawSpan) -> Span:
    """Return a span, with the fields that its convention has. Without a convention, these fields are empty."""
    _, read = _convention(raw)
    return Span(
        trace=raw.trace,
        id=raw.id,
        parent=raw.parent,
        start=raw.start,
        end=raw.end,
        error=raw.error,
        run=_project(raw.resource),
        line=raw.line,
        location=raw.location,
        feedback=[_evaluation(attributes) for name, attributes in raw.events if name == EVALUATION],
        **read(raw),
    )


def _convention(raw: RawSpan) -> tuple[str, Callable[[RawSpan], dict[str, Any]]]:
    """Return the name and the reader of a span's convention; an empty name if it has none."""
    key = next((key for key in CONVENTIONS if key in raw.attributes), None)
    return CONVENTIONS[key] if key else ("", lambda _: {})


def _project(resource: Mapping[str, JsonValue]) -> str:
    service = text_of(resource.get("service.name"))
    return text_of(resource.get("openinference.project.name")) or ("" if service.startswith("unknown_") else service)


def _get(value: Mapping[str, JsonValue], name: str) -> JsonValue:
    """Return a field by its name in camel case or snake case."""
    cell = value.get(name)
    return cell if cell is not None else value.get(re.sub(r"(?=[A-Z])", "_", name).lower())


def json_spans(request: JsonValue, line: int, prefix: str = "") -> Iterator[RawSpan]:
    """Yield the spans of an export request. An evaluation in a log record becomes a child span."""
    for resource_index, group in enumerate(as_objects(_get(as_object(request), "resourceSpans"))):
        resource = _attributes(as_object(group.get("resource")))
        for scope_index, scope_group in enumerate(as_objects(_get(group, "scopeSpans"))):
            scope = as_object(scope_group.get("scope"))
            scope_name_and_version = (text_of(scope.get("name")), text_of(scope.get("version")))
            for number, span in enumerate(as_objects(scope_group.get("spans"))):
                location = f"{prefix}resourceSpans[{resource_index}].scopeSpans[{scope_index}].spans[{number}]"
                yield otlp_span(span, line, location, resource, *scope_name_and_version)
    for group in as_objects(_get(as_object(request), "resourceLogs")):
        for scope_group in as_objects(_get(group, "scopeLogs")):
            for record in as_objects(_get(scope_group, "logRecords")):
                if _get(record, "eventName") == EVALUATION:
                    yield RawSpan(
                        trace=_id(_get(record, "traceId")),
                        id="",
                        parent=_id(_get(record, "spanId")),
                        start=nanoseconds(_get(record, "timeUnixNano")),
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
    """Read a span of OTLP JSON, in camel case or in snake case."""
    status = as_object(span.get("status"))
    failed = status.get("code") in (2, "STATUS_CODE_ERROR")
    flags = span.get("flags")
    return RawSpan(
        trace=_id(_get(span, "traceId")),
        id=_id(_get(span, "spanId")),
        parent=_id(_get(span, "parentSpanId")),
        start=nanoseconds(_get(span, "startTimeUnixNano")),
        end=nanoseconds(_get(span, "endTimeUnixNano")),
        error=(text_of(status.get("message")) or "failed") if failed else "",
        attributes=_attributes(span),
        events=[(text_of(event.get("name")), _attributes(event)) for event in as_objects(span.get("events"))],
        resource=resource,
        scope=scope,
        version=version,
        remote_parent=type(flags) is int and bool(flags & PARENT_IS_REMOTE),
        line=line,
        location=location,
    )


def _attributes(holder: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the attributes by name, from OTLP's list of pairs or from the console exporter's object."""
    attributes = holder.get("attributes")
    if isinstance(attributes, Mapping):
        return dict(attributes)
    return {text_of(pair.get("key")): _value(as_object(pair.get("value"))) for pair in as_objects(attributes)}


def _value(union: Mapping[str, JsonValue]) -> JsonValue:
    """Return the value in an object such as `{"stringValue": "a"}`."""
    if (text := _get(union, "stringValue")) is not None:
        return text
    if (number := _get(union, "intValue")) is not None:
        text = str(number)
        return int(text) if re.fullmatch(r"-?\d{1,20}", text) else number
    for name in ("doubleValue", "boolValue", "bytesValue"):
        if (scalar := _get(union, name)) is not None:
            return scalar
    if array := _get(union, "arrayValue"):
        return [_value(item) for item in as_objects(as_object(array).get("values"))]
    if pairs := _get(union, "kvlistValue"):
        return {
            text_of(item.get("key")): _value(as_object(item.get("value")))
            for item in as_objects(as_object(pairs).get("values"))
        }
    return None


def _id(value: JsonValue) -> str:
    """Return an id in hexadecimal. Some exporters write it in base64."""
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
    values = file.rows[:MAX_CHECKED_ROWS] if isinstance(file.value, list) else [file.value]
    return bool(values) and any(map(_is_request, values))


def _is_langfuse(file: ParsedFile) -> bool:
    if file.kind == "protobuf" or not _is_otlp(file):
        return False
    requests = file.rows[:MAX_CHECKED_ROWS] if isinstance(file.value, list) else [file.value]
    return any(
        as_object(scope_group.get("scope")).get("name") == langfuse.SCOPE
        for request in requests
        for group in as_objects(_get(as_object(request), "resourceSpans"))
        for scope_group in as_objects(_get(group, "scopeSpans"))
    )


def _read_otlp(file: ParsedFile) -> ToolFile:
    if file.kind == "protobuf":
        return read_raw(file, [*read_requests(file.path)])
    value = clean_value(file)
    if not isinstance(value, list):
        return read_raw(file, [*json_spans(value, 1)])
    prefixes = ["" if file.kind == "JSONL" else f"[{index}]." for index in range(len(value))]
    lines = [file.line(index) for index in range(len(value))]
    return read_raw(
        file, [span for request in zip(value, lines, prefixes, strict=True) for span in json_spans(*request)]
    )


def _is_console(file: ParsedFile) -> bool:
    rows = file.rows if isinstance(file.value, list) else [file.value] if isinstance(file.value, dict) else []
    return bool(rows) and all(
        isinstance(row.get("context"), dict)
        and {"trace_id", "span_id"} <= row["context"].keys()
        and isinstance(row.get("attributes"), dict)
        and str(row.get("kind")).startswith("SpanKind.")
        for row in rows[:MAX_CHECKED_ROWS]
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
