"""Read the spans in OTLP protobuf messages (`ExportTraceServiceRequest`)."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.raw_span import RawSpan
from ragboard.records import JsonValue

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["PARENT_IS_REMOTE", "parse_request", "read_requests", "spans_of_request"]

MAX_BYTES = 256 * 2**20
MAX_LEVELS = 40
"""Maximum nesting of values."""
FAILED = 2
"""The status code of a failed span."""
PARENT_IS_REMOTE = 0x200
"""The flag of a span whose parent is in another process."""


def read_requests(path: Path) -> Iterator[RawSpan]:
    """Yield the spans of a file with one request, or with several requests, each of them after its length.

    The file exporter of the OpenTelemetry Collector writes the lengths. Raises RunFileError for any other file.
    """
    if path.stat().st_size > MAX_BYTES:
        raise RunFileError(
            path, f"is larger than {MAX_BYTES // 2**20} MiB; export fewer traces, or export them as OTLP JSON"
        )
    data = path.read_bytes()
    first = 0
    try:
        for part in [data] if data[:1] == b"\x0a" else list(_length_prefixed(data)):
            request = parse_request(part)
            yield from spans_of_request(request, first=first)
            first += len(request.resource_spans)
    except (ValueError, struct.error) as error:
        raise RunFileError(path, "is not OTLP as protobuf (an ExportTraceServiceRequest)") from error


def parse_request(data: bytes) -> ExportTraceServiceRequest:
    """Parse one request. Raises ValueError if the bytes are anything else."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        request: ExportTraceServiceRequest = ExportTraceServiceRequest.FromString(data)
    except DecodeError as error:
        raise ValueError("not an ExportTraceServiceRequest of OTLP") from error
    return request


def spans_of_request(request: ExportTraceServiceRequest, *, first: int = 0) -> Iterator[RawSpan]:
    """Yield the spans of a request. `first` is the index of its first resource in the locations of spans.

    Raises ValueError for values that are nested too deeply.
    """
    for resource_index, group in enumerate(request.resource_spans, first):
        resource = _attributes(group.resource.attributes)
        for scope_index, scope_group in enumerate(group.scope_spans):
            scope, version = scope_group.scope.name, scope_group.scope.version
            prefix = f"resourceSpans[{resource_index}].scopeSpans[{scope_index}].spans"
            for number, span in enumerate(scope_group.spans):
                yield RawSpan(
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    start=span.start_time_unix_nano,
                    end=span.end_time_unix_nano,
                    error=(span.status.message or "failed") if span.status.code == FAILED else "",
                    attributes=_attributes(span.attributes),
                    events=[(event.name, _attributes(event.attributes)) for event in span.events],
                    resource=resource,
                    scope=scope,
                    version=version,
                    remote_parent=bool(span.flags & PARENT_IS_REMOTE),
                    location=f"{prefix}[{number}]",
                )


def _length_prefixed(data: bytes) -> Iterator[bytes]:
    """Yield the messages. Before each of them is its length in four bytes."""
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from(">I", data, position)
        if position + 4 + length > len(data):
            raise ValueError("truncated")
        yield data[position + 4 : position + 4 + length]
        position += 4 + length


def _attributes(pairs: Any, level: int = 0) -> Mapping[str, JsonValue]:
    return {pair.key: _value(pair.value, level) for pair in pairs}


def _value(union: Any, level: int) -> JsonValue:
    kind = union.WhichOneof("value")
    if kind == "string_value":
        return str(union.string_value)
    if kind in ("int_value", "bool_value"):
        scalar: bool | int = getattr(union, kind)
        return scalar
    if kind == "double_value":
        return float(union.double_value) if math.isfinite(union.double_value) else None
    if level > MAX_LEVELS:
        raise ValueError("nested too deeply")
    if kind == "array_value":
        return [_value(item, level + 1) for item in union.array_value.values]
    return _attributes(union.kvlist_value.values, level + 1) if kind == "kvlist_value" else None
