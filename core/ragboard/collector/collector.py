"""The collector: writes spans to the spool, and adds complete traces to the store as samples."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import orjson
from filelock import FileLock, Timeout

from ragboard.collector.assembly import OpenTraces, SpanPart, Trace, TraceLimits
from ragboard.collector.samples import RunOfTraces, UnusableTraceError, asked_at, has_question, sample_of
from ragboard.collector.spool import Spool
from ragboard.display import one_line
from ragboard.errors import RunExistsError, SettingError, StoreBusyError, StoreError
from ragboard.readers.formats.raw_span import RawSpan
from ragboard.readers.formats.spans import Conversations
from ragboard.records import Run, Sample
from ragboard.store import Store
from ragboard.store.queries.collected import recent_turns, stored_ids

__all__ = ["Collector", "CollectorOnDemand", "CollectorOptions", "QueueFullError"]

FOLDER = "traces"
"""The folder of the spool, in the folder of the store."""
TICK_SECONDS = 0.25
"""Maximum seconds between two checks for complete traces."""
STORE_WAIT = 10.0
"""Maximum seconds to wait for a store that another process uses."""
RETRY_SECONDS = 2.0
"""Seconds until the next attempt if the store cannot be written."""
REPORT_SECONDS = 10.0
"""Minimum seconds between two log lines of the same kind."""
MAX_BATCH = 2_000
"""Maximum number of traces to add at a time."""
SESSIONS = 2_000
"""Number of sessions whose last turns are kept in memory."""
SAME_TRACE = timedelta(days=1)
"""A trace can be a duplicate only of a stored sample whose time differs by at most this."""
OTHER_NAMES = 20
"""Number of names to try for a run: `NAME`, `NAME #2` and so on."""

SOURCE = "traces"
"""The `source` of the runs in the store."""
SESSION_AGE = timedelta(days=1)
"""Maximum age of the turns of sessions that are read from the store at the start."""
DROPPED = ("late_spans", "excess_spans", "unusable_traces", "repeated_traces", "damaged_lines")
"""Names of the counts of dropped spans and traces."""

log = logging.getLogger("ragboard.collector")


class QueueFullError(Exception):
    """The queue of the collector is full. Send the request again later."""


@dataclass(frozen=True, kw_only=True)
class CollectorOptions:
    """Limits of a collector."""

    queue_bytes: int = 128 * 2**20
    """Maximum bytes of received spans that are not yet in the store. If there are more, requests are refused."""
    traces: TraceLimits = field(default_factory=TraceLimits)


@dataclass(frozen=True, slots=True)
class _Written:
    """The spans of a request that are in the spool."""

    parts: Sequence[SpanPart]
    received: int
    file: int
    size: int


@dataclass(frozen=True, slots=True)
class _Ready:
    """A trace that is not yet in the store, with its sample."""

    trace: Trace
    sample: Sample


class Collector:
    """Stores traces as samples. Only one process at a time can collect for a store.

    `counts` has, since the start, the number of:

    - `spans`: received spans. `samples`: samples added to the store.
    - `late_spans`: dropped spans that were received twice or after their trace was stored.
    - `excess_spans`: dropped spans of a trace with too many spans.
    - `unusable_traces`: dropped traces that have no question or cannot be stored.
    - `repeated_traces`: dropped traces that were already in the store.
    - `damaged_lines`: dropped lines of the spool.
    - `early_traces`: traces stored before they were complete, because the memory limit was reached.
    """

    def __init__(self, store: Store, options: CollectorOptions | None = None) -> None:
        self._options = options or CollectorOptions()
        self._store = Store(store.folder, wait=STORE_WAIT)
        self._folder = store.folder / FOLDER
        self._lock = FileLock(self._folder / "collector.lock", is_singleton=False, thread_local=False)
        self._spool = Spool(self._folder)
        self._changed = threading.Condition()
        self._written: list[_Written] = []
        self._unstored_bytes = 0
        self._stopping = False
        self._open = OpenTraces(self._options.traces)
        self._complete: list[Trace] = []
        self._ready: dict[RunOfTraces, list[_Ready]] = {}
        self._names: dict[RunOfTraces, str] = {}
        self._conversations: Conversations | None = None
        self._retry_at = 0.0
        self._log = _Log()
        self._thread = threading.Thread(target=self._run, name="ragboard-collector", daemon=True)
        self.counts = Counter[str]()

    def start(self) -> None:
        """Start the thread, which first adds the spans that an earlier process left in the spool.

        Raises StoreBusyError if another process collects for this store, StoreError if its folder cannot be used.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire(timeout=0)
            self._earlier = self._spool.start()
        except Timeout:
            raise StoreBusyError(
                f"{self._store.folder}: another process collects traces for this store; send them there, or stop it"
            ) from None
        except OSError as error:
            self._lock.release()
            raise StoreError(f"{error.filename or self._folder}: {error.strerror or error}") from error
        self._thread.start()

    def submit(self, spans: Sequence[RawSpan]) -> Future[None]:
        """Queue the spans of a request. The future has a result when they are on disk, or an OSError if that fails.

        Raises QueueFullError if the queue is full.
        """
        parts = [SpanPart.of(span) for span in spans]
        received = time.time_ns()
        line = b'{"received":%d,"spans":[%b]}\n' % (received, b",".join(part.data for part in parts))
        with self._changed:
            if self._stopping or self._unstored_bytes + len(line) > self._options.queue_bytes:
                raise QueueFullError
            self._unstored_bytes += len(line)
        future = self._spool.write(line, lambda file: self._on_written(_Written(parts, received, file, len(line))))
        future.add_done_callback(lambda done: self._on_failed(done, len(line)))
        return future

    def stop(self) -> None:
        """Write all queued spans to the spool, and stop. Spans not yet in the store are added at the next start."""
        self._spool.stop()
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()
        self._lock.release()

    def _on_written(self, written: _Written) -> None:
        with self._changed:
            self._written.append(written)
            self._changed.notify()

    def _on_failed(self, done: Future[None], size: int) -> None:
        if done.exception():
            with self._changed:
                self._unstored_bytes -= size

    def _run(self) -> None:
        self._guarded(self._add_earlier)
        while not self._stopping:
            self._guarded(self._add_written)
            self._guarded(self._advance)

    def _add_earlier(self) -> None:
        """Add the lines that an earlier process left in the spool, no faster than they can be stored."""
        for line, file in self._earlier:
            if self._stopping:
                return
            self._add_line(line, file)
            while self._unstored_bytes > self._options.queue_bytes / 2 and not self._stopping:
                self._advance()
                time.sleep(TICK_SECONDS)

    def _add_written(self) -> None:
        with self._changed:
            if not self._written:
                self._changed.wait(TICK_SECONDS)
            written, self._written = self._written, []
        for request in written:
            self._add(request)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Run a step and log its errors, so that the thread does not end."""
        try:
            step()
        except Exception:
            log.exception("a step failed; the collector continues")
            time.sleep(TICK_SECONDS)

    def _add_line(self, line: bytes, file: int) -> None:
        """Add the spans of a line in the spool."""
        try:
            value = orjson.loads(line)
            written = _Written(
                [SpanPart.read(span) for span in value["spans"]], int(value["received"]), file, len(line)
            )
        except (ValueError, KeyError, TypeError):
            self.counts["damaged_lines"] += 1
            self._spool.release(file)
            return
        with self._changed:
            self._unstored_bytes += len(line)
        self._add(written)

    def _add(self, written: _Written) -> None:
        """Add the spans of a request to their traces."""
        before, now = self._open.size, time.monotonic()
        for part in written.parts:
            self.counts["spans"] += 1
            dropped_as = self._open.add(part, file=written.file, received=written.received, now=now)
            if dropped_as:
                self.counts[dropped_as] += 1
            else:
                self._spool.use(written.file)
        self._spool.release(written.file)
        self._free(written.size - (self._open.size - before))

    def _free(self, size: int) -> None:
        with self._changed:
            self._unstored_bytes -= size

    def _advance(self) -> None:
        """Convert complete traces to samples, and add them to the store."""
        now = time.monotonic()
        self._complete += self._open.take_complete(now)
        self.counts["early_traces"] = self._open.early
        if now < self._retry_at:
            return
        try:
            while self._complete:
                self._read(self._complete[:MAX_BATCH])
                del self._complete[:MAX_BATCH]
            for run in list(self._ready):
                self._append(run)
        except StoreError as error:
            self._retry_at = now + RETRY_SECONDS
            self._log.trouble(f"cannot write to the store; traces wait in {self._folder}: {error}")
        self._log.report(self.counts)

    def _read(self, traces: Sequence[Trace]) -> None:
        """Convert traces to samples, except traces that the store already has."""
        spans_of = {trace.id: trace.spans() for trace in traces}
        asked = {trace.id: asked_at(spans_of[trace.id], trace.received) for trace in traces}
        with self._store.database.read() as connection:
            first, last = min(asked.values()) - SAME_TRACE, max(asked.values()) + SAME_TRACE
            known = stored_ids(connection, list(asked), first, last)
            if self._conversations is None:
                self._conversations = Conversations(SESSIONS)
                for turn in recent_turns(connection, SOURCE, datetime.now(UTC).replace(tzinfo=None) - SESSION_AGE):
                    self._conversations.add(*turn)
        for trace in sorted(traces, key=lambda trace: asked[trace.id]):
            spans = spans_of[trace.id]
            if trace.id in known:
                self.counts["repeated_traces"] += 1
                self._release(trace)
            elif trace.has_remote_parent and not trace.has_root and not has_question(spans):
                self._open.put_back(trace)
            else:
                self._read_one(trace, spans, self._conversations)

    def _read_one(self, trace: Trace, spans: Sequence[RawSpan], conversations: Conversations) -> None:
        try:
            run, sample = sample_of(spans, trace.received, conversations)
        except UnusableTraceError as error:
            self.counts["unusable_traces"] += 1
            self._log.trouble(f"trace {trace.id} has no sample: {error}")
            self._release(trace)
        else:
            self._ready.setdefault(run, []).append(_Ready(trace, sample))

    def _append(self, run: RunOfTraces) -> None:
        """Add the samples of a run to the store. A sample that cannot be stored is dropped."""
        ready = self._ready[run]
        try:
            self._append_samples(run, ready)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 - one sample that cannot be stored must not hold up the others
            while ready:
                self._append_or_drop(run, ready.pop(0))
        del self._ready[run]

    def _append_or_drop(self, run: RunOfTraces, ready: _Ready) -> None:
        try:
            self._append_samples(run, [ready])
        except StoreError:
            self._ready[run].append(ready)
            raise
        except Exception as error:  # noqa: BLE001
            self.counts["unusable_traces"] += 1
            self._log.trouble(f"trace {ready.trace.id} cannot be stored: {error}")
            self._release(ready.trace)

    def _append_samples(self, run: RunOfTraces, ready: Sequence[_Ready]) -> None:
        """Append samples to a run. If an imported run has its name, try `NAME #2` and so on."""
        for name in (
            self._names.get(run, run.name),
            *(f"{run.name} #{number}" for number in range(2, OTHER_NAMES + 1)),
        ):
            samples = tuple(one.sample for one in ready)
            grown = Run(name=name, samples=samples, config=dict(run.config), dataset=run.dataset, source=SOURCE)
            with suppress(RunExistsError, SettingError):
                self._store.append(grown)
                self._names[run] = name
                break
        else:
            raise SettingError(f"other runs have the names {run.name!r} and '{run.name} #2' to #{OTHER_NAMES}")
        self.counts["samples"] += len(ready)
        for one in ready:
            self._release(one.trace)

    def _release(self, trace: Trace) -> None:
        """Release the memory and the spool files of a finished trace."""
        for file, uses in trace.files.items():
            self._spool.release(file, uses)
        self._free(trace.size)


class CollectorOnDemand:
    """A collector that starts when it is first needed."""

    def __init__(self, store: Store) -> None:
        self._collector = Collector(store)
        self._starting = threading.Lock()
        self._started = False
        self._has_spool = any((store.folder / FOLDER).glob("*.jsonl"))

    def resume(self) -> None:
        """Start the collector if an earlier process left traces in the spool. Ignore errors."""
        if self._has_spool:
            with suppress(StoreError):
                self.get()

    def get(self) -> Collector:
        """Start the collector if it is not running, and return it. Raises the errors of `Collector.start`."""
        with self._starting:
            if not self._started:
                self._collector.start()
                self._started = True
        return self._collector

    def stop(self) -> None:
        """Stop the collector if it has started."""
        with self._starting:
            if self._started:
                self._collector.stop()


class _Log:
    """Writes log lines, at most one of each kind in `REPORT_SECONDS`."""

    def __init__(self) -> None:
        self._troubled_at = self._reported_at = -REPORT_SECONDS
        self._reported = Counter[str]()

    def trouble(self, message: str) -> None:
        """Log a problem, unless another problem was logged in the last `REPORT_SECONDS`."""
        if time.monotonic() - self._troubled_at >= REPORT_SECONDS:
            self._troubled_at = time.monotonic()
            log.warning("%s", one_line(message))

    def report(self, counts: Counter[str]) -> None:
        """Log what was added and dropped since the last report."""
        new = counts - self._reported
        dropped = [f"{new[name]:,} {name.replace('_', ' ')}" for name in DROPPED if new[name]]
        if new["early_traces"]:
            dropped.append(f"late spans of {new['early_traces']:,} traces that were stored early to free memory")
        if time.monotonic() - self._reported_at < REPORT_SECONDS or not (new["samples"] or dropped):
            return
        self._reported_at = time.monotonic()
        self._reported = Counter(counts)
        log.log(
            logging.WARNING if dropped else logging.INFO,
            "%s",
            f"{new['samples']:,} samples added" + (f"; dropped: {', '.join(dropped)}" if dropped else ""),
        )
