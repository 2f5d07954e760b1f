"""A span of OpenTelemetry before its convention is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragboard.records import JsonValue

__all__ = ["RawSpan"]


@dataclass(frozen=True, kw_only=True)
class RawSpan:
    """An OpenTelemetry span, with its attributes by name."""

    trace: str
    id: str
    parent: str
    start: int
    """Nanoseconds since 1970; 0 if unknown."""
    end: int
    """Nanoseconds since 1970; 0 if unknown."""
    error: str
    attributes: Mapping[str, JsonValue]
    events: Sequence[tuple[str, Mapping[str, JsonValue]]] = ()
    """(name, attributes) of each event."""
    resource: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    scope: str = ""
    version: str = ""
    remote_parent: bool = False
    """Whether the parent is in another process, according to the flags of the span."""
    line: int = 1
    location: str = ""
