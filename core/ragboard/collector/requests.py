"""Decode export requests of OTLP/HTTP, and encode responses."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from functools import lru_cache
from typing import Any

import orjson

from ragboard.readers.cells import BadCellError, clean
from ragboard.readers.formats.otlp import EVALUATION, is_read, json_spans
from ragboard.readers.formats.otlp_protobuf import parse_request, spans_of_request
from ragboard.readers.formats.raw_span import RawSpan

__all__ = [
    "JSON",
    "PROTOBUF",
    "BadRequestError",
    "Decoded",
    "attribute_filter",
    "decode_request",
    "encode_error",
    "encode_success",
    "unzip",
]

JSON, PROTOBUF = "application/json", "application/x-protobuf"
MAX_SPANS = 20_000
"""Maximum number of spans in a request."""
RESOURCE_ATTRIBUTES = frozenset(
    {
        "service.name",
        "service.version",
        "deployment.environment",
        "deployment.environment.name",
        "openinference.project.name",
    }
)
"""The attributes of a resource from which the name of a run is made."""
MESSAGE_EVENTS = "gen_ai."
"""The prefix of the names of events with messages."""
EVENT_ATTRIBUTES = frozenset({"gen_ai.event.content", "content", "message"})
"""Attributes with messages that only events have."""


class BadRequestError(ValueError):
    """A malformed request. Sending it again would fail again. The message is one line."""


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """The valid spans of a request, and why others were rejected."""

    spans: Sequence[RawSpan]
    rejected: int = 0
    problem: str = ""
    """Why the first span was rejected, on one line; empty if none was rejected."""


def unzip(body: bytes, limit: int) -> bytes:
    """Return the content of a gzip body. Raises BadRequestError if it is malformed, OverflowError above `limit`."""
    content = bytearray()
    while body:
        decompressor = zlib.decompressobj(wbits=31)
        try:
            content += decompressor.decompress(body, limit + 1 - len(content))
        except zlib.error as error:
            raise BadRequestError("Content-Encoding is gzip, but the body is not valid gzip") from error
        if len(content) > limit or decompressor.unconsumed_tail:
            raise OverflowError
        if not decompressor.eof:
            raise BadRequestError("the gzip body is truncated")
        body = decompressor.unused_data
    return bytes(content)


def attribute_filter(drop: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tells from the name of an attribute whether it is kept.

    Only attributes from which samples are read are kept, and none with a name that matches a pattern such as `user.*`.
    """
    dropped = re.compile("|".join(map(translate, drop)) or r"(?!)")

    @lru_cache(maxsize=10_000)
    def kept(name: str) -> bool:
        return not dropped.match(name) and (is_read(name) or name in RESOURCE_ATTRIBUTES or name in EVENT_ATTRIBUTES)

    return kept


def decode_request(body: bytes, kind: str, kept: Callable[[str], bool]) -> Decoded:
    """Return the spans of a request, with only the attributes whose names `kept` accepts. `kind` is JSON or PROTOBUF.

    Raises BadRequestError if the request is malformed or has too many spans.
    """
    spans: list[RawSpan] = []
    problems: list[str] = []
    try:
        for span in _protobuf(body) if kind == PROTOBUF else _json(body):
            problem = _problem(span)
            if problem:
                problems.append(f"{span.location}: {problem}")
            else:
                spans.append(_filtered(span, kept))
            if len(spans) + len(problems) > MAX_SPANS:
                raise BadRequestError(f"more than {MAX_SPANS:,} spans in one request; send smaller batches")
    except RecursionError as error:
        raise BadRequestError("nested too deeply") from error
    except ValueError as error:
        raise error if isinstance(error, BadRequestError) else BadRequestError(_one_line(error)) from error
    return Decoded(spans=spans, rejected=len(problems), problem=problems[0] if problems else "")


def _protobuf(body: bytes) -> Iterator[RawSpan]:
    request = parse_request(body)
    if sum(1 + len(group.scope_spans) for group in request.resource_spans[: MAX_SPANS + 1]) > MAX_SPANS:
        raise BadRequestError(f"more than {MAX_SPANS:,} resources or scopes in one request; send smaller batches")
    return spans_of_request(request)


def _json(body: bytes) -> Iterator[RawSpan]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"not JSON: {_one_line(error)}") from error
    if not isinstance(value, dict) or not isinstance(value.get("resourceSpans", []), list):
        raise BadRequestError("not an ExportTraceServiceRequest of OTLP: expected an object with resourceSpans")
    try:
        return json_spans(clean(value, lambda _: None, depth=-1), 1)
    except BadCellError as error:
        raise BadRequestError(_one_line(error)) from error


def _problem(span: RawSpan) -> str:
    """Return why a span cannot be used; empty if it can."""
    for name, text, length in (("trace id", span.trace, 32), ("span id", span.id, 16)):
        if not re.fullmatch(f"[0-9a-f]{{{length}}}", text) or not text.strip("0"):
            return f"the {name} is not {length // 2} bytes, or all zeros"
    return ""


def _filtered(span: RawSpan, kept: Callable[[str], bool]) -> RawSpan:
    return replace(
        span,
        attributes={name: value for name, value in span.attributes.items() if kept(name)},
        events=[
            (name, {key: value for key, value in attributes.items() if kept(key)})
            for name, attributes in span.events
            if name.startswith(MESSAGE_EVENTS) and name != EVALUATION
        ],
        resource={name: value for name, value in span.resource.items() if name in RESOURCE_ATTRIBUTES and kept(name)},
        line=1,
        location="",
    )


def encode_success(kind: str, rejected: int, message: str) -> bytes:
    """Return an ExportTraceServiceResponse. It is a partial success if there are rejected spans or a message."""
    if kind == JSON:
        partial: dict[str, Any] = {"rejectedSpans": str(rejected), "errorMessage": message}
        return orjson.dumps({"partialSuccess": partial} if rejected or message else {})
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    response = ExportTraceServiceResponse()
    if rejected or message:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = message
    encoded: bytes = response.SerializeToString()
    return encoded


def encode_error(kind: str, message: str) -> bytes:
    """Return a `google.rpc.Status` with this message, the error response of OTLP/HTTP."""
    if kind != PROTOBUF:
        return orjson.dumps({"message": message})
    text = message.encode()
    length, size = bytearray(), len(text)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return b"\x12" + bytes(length) + bytes([size]) + text


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
