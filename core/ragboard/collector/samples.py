"""Convert traces to samples, and determine their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ragboard.readers.cells import clean, storable
from ragboard.readers.formats import spans as trace_spans
from ragboard.readers.formats.otlp import span_of
from ragboard.readers.formats.raw_span import RawSpan
from ragboard.readers.formats.shapes import as_object, drop_missing
from ragboard.readers.formats.spans import Conversations, read_trace, text_of, time_of
from ragboard.readers.runs import RowNotes, read_row
from ragboard.readers.tables import RawRow
from ragboard.records import JsonValue, Sample
from ragboard.spans import strip_bidi_controls

__all__ = ["RunOfTraces", "UnusableTraceError", "asked_at", "has_question", "run_of", "sample_of"]

MAX_NAME = 100
"""Maximum length of the name, version and environment of a service."""
NO_SERVICE = "traces"
"""The name of the service if a trace does not have it."""
FIELDS = ("id", "question", "history", "answer", "contexts", "reference")
CLOCK_TOLERANCE = timedelta(hours=1)
"""Maximum time by which the clock of a sender may be ahead. A later time is not used."""


class UnusableTraceError(ValueError):
    """A trace cannot be converted to a sample. The message says why."""


@dataclass(frozen=True, kw_only=True)
class RunOfTraces:
    """The run that a trace belongs to."""

    name: str
    dataset: str
    config: tuple[tuple[str, str], ...]


def run_of(resource: Mapping[str, JsonValue]) -> RunOfTraces:
    """Return the run of a service, version and environment: `chat 1.4 (production)`."""
    service = _name(resource.get("service.name"))
    if not service or service.startswith("unknown_service"):
        service = _name(resource.get("openinference.project.name")) or NO_SERVICE
    version = _name(resource.get("service.version"))
    environment = _name(resource.get("deployment.environment.name") or resource.get("deployment.environment"))
    suffix = f" ({environment})" if environment else ""
    config = (("service", service), ("version", version), ("environment", environment))
    return RunOfTraces(
        name=f"{service} {version}".strip() + suffix,
        dataset=service + suffix,
        config=tuple(pair for pair in config if pair[1]),
    )


def _name(value: JsonValue) -> str:
    """Return a value as one line of at most `MAX_NAME` printable characters."""
    text = "".join(letter if letter.isprintable() else " " for letter in strip_bidi_controls(text_of(value)))
    return " ".join(storable(text).split())[:MAX_NAME].strip()


def has_question(spans: Sequence[RawSpan]) -> bool:
    """Return whether one of the spans has a question."""
    return trace_spans.has_question(map(span_of, spans))


def sample_of(spans: Sequence[RawSpan], received: int, conversations: Conversations) -> tuple[RunOfTraces, Sample]:
    """Return the run and the sample of a trace. The id of the sample is the trace id.

    `received` is when the trace arrived, in nanoseconds since 1970. It becomes the time of the sample if the trace has
    no plausible time. Raises UnusableTraceError for a trace without a question or with a malformed field.
    """
    run = run_of(_top_resource(spans))
    # the dataset, because a conversation goes on if the version of the service, and with it the run, changes
    trace = read_trace([replace(span_of(span), run=run.dataset) for span in spans])
    if trace is None:
        raise UnusableTraceError("no span has a question")
    cells = dict(conversations.with_history(trace))
    metadata = {
        **as_object(cells.get("metadata")),
        "model": ", ".join(sorted(trace.models)) or None,
        "trace_id": spans[0].trace,
    }
    cells["metadata"] = drop_missing(metadata)
    notes = RowNotes()
    row = RawRow(line=1, cells={name: clean(cell, lambda _: None) for name, cell in cells.items()})
    read = read_row(Path("trace"), row, {name: name for name in (*FIELDS, "metadata")}, notes, skip_bad=True)
    if read is None:
        problem = notes.dropped[0]
        raise UnusableTraceError(f"{problem.field}: {problem.message}" if problem.field else problem.message)
    return run, replace(read[1], time=asked_at(spans, received))


def _top_resource(spans: Sequence[RawSpan]) -> Mapping[str, JsonValue]:
    """Return the resource of the topmost span that has attributes, else of the topmost span."""
    ids = {span.id for span in spans}
    by_depth = sorted(spans, key=lambda span: (bool(span.parent) and span.parent in ids, span.start))
    return next((span.resource for span in by_depth if span.attributes), by_depth[0].resource)


def asked_at(spans: Sequence[RawSpan], received: int) -> datetime:
    """Return when a trace began or, if it has no plausible time, when it arrived: UTC without a time zone."""
    arrived = datetime.fromtimestamp(received / 1e9, UTC).replace(tzinfo=None)
    asked = time_of(min((span.start for span in spans if span.start), default=0))
    return asked if asked and asked <= arrived + CLOCK_TOLERANCE else arrived
