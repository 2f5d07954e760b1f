"""Read an OTLP `ExportTraceServiceRequest` from its bytes, as the JSON of the same request.

Only the fields that ragboard uses are listed here (opentelemetry-proto, `trace.proto` and `common.proto`, version 1);
all others are skipped.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ragboard.errors import RunFileError

__all__ = ["read_requests"]

MAX_BYTES = 256 * 2**20
MAX_LEVELS = 40
"""Maximum depth of messages within messages, such as values in lists of values."""

Fields: TypeAlias = Mapping[int, tuple[str, str]]
"""The name and type of each field, by its number. A type is the name of a message, with `[]` if the field is repeated,
or a type that `_read` knows."""

MESSAGES: Mapping[str, Fields] = {
    "Request": {1: ("resourceSpans", "ResourceSpans[]")},
    "ResourceSpans": {1: ("resource", "Resource"), 2: ("scopeSpans", "ScopeSpans[]")},
    "Resource": {1: ("attributes", "KeyValue[]")},
    "ScopeSpans": {1: ("scope", "Scope"), 2: ("spans", "Span[]")},
    "Scope": {1: ("name", "text"), 2: ("version", "text")},
    "Span": {
        1: ("traceId", "hex"),
        2: ("spanId", "hex"),
        4: ("parentSpanId", "hex"),
        5: ("name", "text"),
        7: ("startTimeUnixNano", "number"),
        8: ("endTimeUnixNano", "number"),
        9: ("attributes", "KeyValue[]"),
        11: ("events", "Event[]"),
        15: ("status", "Status"),
    },
    "Event": {2: ("name", "text"), 3: ("attributes", "KeyValue[]")},
    "Status": {2: ("message", "text"), 3: ("code", "number")},
    "KeyValue": {1: ("key", "text"), 2: ("value", "Value")},
    "Value": {
        1: ("stringValue", "text"),
        2: ("boolValue", "bool"),
        3: ("intValue", "signed"),
        4: ("doubleValue", "double"),
        5: ("arrayValue", "Values"),
        6: ("kvlistValue", "Pairs"),
    },
    "Values": {1: ("values", "Value[]")},
    "Pairs": {1: ("values", "KeyValue[]")},
}

LENGTH_DELIMITED = 2
"""The wire type of texts and messages; numbers have the wire types 0, 1 and 5."""


def read_requests(path: Path) -> dict[str, Any]:
    """Return the requests in a file as one. They can be length-prefixed, as the collector's file exporter writes them.

    Raises RunFileError for any other file.
    """
    if path.stat().st_size > MAX_BYTES:
        raise RunFileError(path, f"is larger than {MAX_BYTES // 2**20} MiB; export the traces as OTLP JSON, or fewer")
    data = path.read_bytes()
    try:
        parts = [data] if data[:1] == b"\x0a" else list(_length_prefixed(data))
        requests = [_message(memoryview(part), "Request", 0) for part in parts]
    except (ValueError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise RunFileError(path, "is not OTLP as protobuf (an ExportTraceServiceRequest)") from error
    return {"resourceSpans": [group for request in requests for group in request.get("resourceSpans", ())]}


def _length_prefixed(data: bytes) -> Iterator[bytes]:
    """Yield the messages. Four bytes with its length precede each message."""
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from(">I", data, position)
        if position + 4 + length > len(data):
            raise ValueError("cut short")
        yield data[position + 4 : position + 4 + length]
        position += 4 + length


def _message(data: memoryview, name: str, level: int) -> dict[str, Any]:
    if level > MAX_LEVELS:
        raise ValueError("nested too deeply")
    field_types, message = MESSAGES[name], dict[str, Any]()
    for number, wire, value in _fields(data):
        if number not in field_types:
            continue
        field, kind = field_types[number]
        if (wire == LENGTH_DELIMITED) is not (kind in ("text", "hex") or kind[0].isupper()):
            raise ValueError(f"{field} has an unexpected type")
        if kind.endswith("[]"):
            message.setdefault(field, []).append(_message(value, kind[:-2], level + 1))
        else:
            message[field] = _read(value, kind, level)
    return message


def _read(value: Any, kind: str, level: int) -> Any:
    match kind:
        case "text":
            return str(value, "utf-8")
        case "hex":
            return value.hex()
        case "number":
            return value
        case "bool":
            return bool(value)
        case "signed":
            return value - 2**64 if value >= 2**63 else value
        case "double":
            number = struct.unpack("<d", value.to_bytes(8, "little"))[0]
            return number if math.isfinite(number) else None
        case _:
            return _message(value, kind, level + 1)


def _fields(data: memoryview) -> Iterator[tuple[int, int, Any]]:
    """Yield number, wire type and value of each field: a number, or the bytes of a text or message."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        wire = key & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield key >> 3, wire, value
            continue
        if wire == LENGTH_DELIMITED:
            length, position = _varint(data, position)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if position + length > len(data):
            raise ValueError("cut short")
        part = data[position : position + length]
        yield key >> 3, wire, part if wire == LENGTH_DELIMITED else int.from_bytes(part, "little")
        position += length


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
    raise ValueError("a number with more than 64 bits")
