"""Collect the spans of each trace. They arrive in several requests and in any order."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from json import dumps
from typing import Any

import orjson

from ragboard.readers.formats.raw_span import RawSpan

__all__ = ["OpenTraces", "SpanPart", "Trace", "TraceLimits"]


@dataclass(frozen=True, slots=True)
class SpanPart:
    """An encoded span, with the fields that are needed to find out when its trace is complete."""

    trace: str
    id: str
    is_root: bool
    has_remote_parent: bool
    data: bytes
    """The span as JSON."""

    @classmethod
    def of(cls, span: RawSpan) -> SpanPart:
        """Encode a span."""
        try:
            data = orjson.dumps(span)
        except TypeError:  # an integer of more than 64 bits
            data = dumps(asdict(span), separators=(",", ":")).encode()
        return cls(span.trace, span.id, not span.parent, span.remote_parent, data)

    @classmethod
    def read(cls, value: Any) -> SpanPart:
        """Read a parsed span of the spool. Raises TypeError or KeyError for anything else."""
        return cls.of(RawSpan(**value))

    def span(self) -> RawSpan:
        """Decode the span."""
        return RawSpan(**orjson.loads(self.data))


@dataclass(slots=True)
class Trace:
    """The spans of a trace that have arrived so far."""

    id: str
    received: int
    """When the first of its spans arrived, in nanoseconds since 1970."""
    parts: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """The encoded spans, by span id."""
    files: Counter[int] = field(default_factory=Counter[int])
    """How many of its spans are in each file of the spool, by number of the file."""
    size: int = 0
    has_root: bool = False
    has_remote_parent: bool = False
    first_arrival: float = 0.0
    last_arrival: float = 0.0

    def spans(self) -> list[RawSpan]:
        """Return the spans."""
        return [RawSpan(**orjson.loads(data)) for data in self.parts.values()]


@dataclass(frozen=True, kw_only=True)
class TraceLimits:
    """When a trace is stored, and how large traces may become."""

    quiet_seconds: float = 2.0
    """A trace with a root span, or with a span whose parent is in another service, is stored when no span has arrived
    for this time."""
    rootless_seconds: float = 120.0
    """Any other trace is stored when no span has arrived for this time."""
    open_seconds: float = 900.0
    """A trace is stored this time after its first span arrived, even if spans still arrive."""
    bytes: int = 64 * 2**20
    """Maximum memory of all open traces. If they need more, the oldest are stored."""
    spans_per_trace: int = 5_000
    finished: int = 100_000
    """Number of finished traces whose ids are kept, to recognise late and repeated spans."""


class OpenTraces:
    """The traces whose spans are still arriving."""

    def __init__(self, limits: TraceLimits) -> None:
        self._limits = limits
        self._open: OrderedDict[str, Trace] = OrderedDict()
        self._finished: OrderedDict[str, None] = OrderedDict()
        self.size = 0
        """Bytes of all spans."""
        self.early = 0
        """Number of traces that were stored too early, because the memory limit was reached."""

    def __len__(self) -> int:
        return len(self._open)

    def add(self, part: SpanPart, *, file: int, received: int, now: float) -> str:
        """Add a span. Return `late_spans` or `excess_spans` if it is dropped for this reason, else an empty text."""
        if part.trace in self._finished:
            return "late_spans"
        trace = self._open.get(part.trace)
        if trace is None:
            trace = self._open[part.trace] = Trace(part.trace, received, first_arrival=now)
        trace.last_arrival = now
        if part.id in trace.parts:
            return "late_spans"
        if len(trace.parts) >= self._limits.spans_per_trace and not part.is_root:
            return "excess_spans"
        trace.parts[part.id] = part.data
        trace.files[file] += 1
        trace.has_root = trace.has_root or part.is_root
        trace.has_remote_parent = trace.has_remote_parent or part.has_remote_parent
        trace.size += len(part.data)
        self.size += len(part.data)
        return ""

    def take_complete(self, now: float) -> Iterator[Trace]:
        """Remove and yield the traces that have reached one of the `TraceLimits`, and mark them as finished."""
        quiet, rootless = now - self._limits.quiet_seconds, now - self._limits.rootless_seconds
        complete = [
            trace
            for trace in self._open.values()
            if trace.last_arrival <= (quiet if trace.has_root or trace.has_remote_parent else rootless)
            or trace.first_arrival <= now - self._limits.open_seconds
        ]
        yield from map(self._take, complete)
        while self.size > self._limits.bytes:
            self.early += 1
            yield self._take(next(iter(self._open.values())))

    def put_back(self, trace: Trace) -> None:
        """Let a trace that `take_complete` removed wait for its root span, because it has no question yet."""
        self._finished.pop(trace.id, None)
        trace.has_remote_parent = False
        self._open[trace.id] = trace
        self.size += trace.size

    def finish(self, ids: Sequence[str]) -> None:
        """Mark traces as finished: their later spans are dropped."""
        for trace_id in ids:
            self._finished[trace_id] = None
        while len(self._finished) > self._limits.finished:
            self._finished.popitem(last=False)

    def _take(self, trace: Trace) -> Trace:
        del self._open[trace.id]
        self.size -= trace.size
        self.finish([trace.id])
        return trace
