"""Tests of turning traces into samples: completeness, repeated traces, and faults of disk and store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.collector.conftest import wait_for
from tests.core.readers.formats.traces import openinference, request, span

from ragboard import Run, Sample, Store, StoreBusyError, Turn
from ragboard.collector import Collector, CollectorOptions, QueueFullError, TraceLimits
from ragboard.collector.requests import JSON, PROTOBUF, BadRequestError, attribute_filter, decode_request
from ragboard.collector.spool import Spool
from ragboard.readers.formats.raw_span import RawSpan

QUICK = TraceLimits(quiet_seconds=0.2, rootless_seconds=0.6)
CHAIN = {"openinference__span__kind": "CHAIN", "input__value": "When?", "output__value": "In 1931."}


def spans(*given: Any, **resource: Any) -> list[RawSpan]:
    body = json.dumps(request(*given, **(resource or {"service__name": "chat"}))).encode()
    return list(decode_request(body, JSON, attribute_filter(())).spans)


def trace(number: int, question: str = "When?", session: str = "") -> list[RawSpan]:
    return spans(*openinference(number, question, "In 1931.", ["It closed."], at=number * 1000, session=session))


@contextmanager
def running(store: Store, limits: TraceLimits = QUICK, **options: Any) -> Iterator[Collector]:
    collector = Collector(store, CollectorOptions(traces=limits, **options))
    collector.start()
    try:
        yield collector
    finally:
        collector.stop()


def samples(store: Store, run: str, count: int) -> list[Sample]:
    def read() -> list[Sample]:
        with store.database.read() as connection:
            if not connection.execute("SELECT 1 FROM runs WHERE name = ?", [run]).fetchall():
                return []
        return [sample for _, sample in store.samples(store.resolve(run).run_id)]

    return wait_for(read, lambda found: len(found) >= count)


def counted(collector: Collector, name: str, count: int = 1) -> None:
    wait_for(lambda: collector.counts[name], lambda found: found >= count)


def test_a_trace_waits_for_its_root(store: Store) -> None:
    *parts, root = trace(1)
    with running(store, replace(QUICK, rootless_seconds=60)) as collector:
        collector.submit(parts).result(30)
        time.sleep(1)
        assert not collector.counts["samples"]
        collector.submit([root]).result(30)
        (sample,) = samples(store, "chat", 1)
        assert (sample.answer, len(sample.contexts or ())) == ("In 1931.", 1)
        collector.submit(parts).result(30)
        counted(collector, "late_spans", len(parts))
        assert collector.counts["samples"] == 1


def test_a_trace_whose_root_never_comes_is_taken_unchanged(store: Store) -> None:
    with running(store) as collector:
        collector.submit(spans(span(1, 2, 1, at=0, **CHAIN))).result(30)
        (sample,) = samples(store, "chat", 1)
        assert sample.question == "When?"


def test_a_parent_in_another_process_is_not_waited_for_if_there_is_a_question(store: Store) -> None:
    remote = {"flags": 0x301}
    chain = {**span(1, 2, 1, at=0, **CHAIN), **remote}
    kind = {"openinference__span__kind": "RETRIEVER", "input__value": "when"}
    search = {**span(2, 2, 1, at=0, **kind), **remote}
    with running(store, replace(QUICK, rootless_seconds=60)) as collector:
        collector.submit(spans(chain, search)).result(30)
        (sample,) = samples(store, "chat", 1)
        assert sample.id == f"{1:032x}"
        collector.submit(spans(span(2, 1, 0, at=0, **CHAIN))).result(30)
        assert [sample.id for sample in samples(store, "chat", 2)] == [f"{1:032x}", f"{2:032x}"]


def test_traces_without_a_question_have_no_sample(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    odd = CHAIN | {"input__value": '{"a": 1, "b": 2}', "input__mime_type": "application/json"}
    with running(store) as collector:
        collector.submit(spans(span(1, 1, 0, at=0, http__url="x"))).result(30)
        collector.submit(spans(span(2, 1, 0, at=0, **odd))).result(30)
        collector.submit(trace(3)).result(30)
        counted(collector, "unusable_traces", 2)
        assert len(samples(store, "chat", 1)) == 1
    assert "has no sample: no span has a question" in caplog.text


def test_runs_are_named_by_the_service(store: Store) -> None:
    resources: list[dict[str, str]] = [
        {"service__name": "a", "service__version": "2", "deployment__environment__name": "production"},
        {"service__name": "a", "deployment__environment": "test"},
        {"service__name": "unknown_service:python", "openinference__project__name": "p"},
        {"service__name": "unknown_service"},
    ]
    with running(store) as collector:
        for number, resource in enumerate(resources, 1):
            collector.submit(spans(span(number, 1, 0, at=0, **CHAIN), **resource)).result(30)
        counted(collector, "samples", 4)
    with store.database.read() as connection:
        runs = connection.execute("SELECT name, dataset, config, source FROM runs ORDER BY name").fetchall()
    assert [(name, dataset, json.loads(config), source) for name, dataset, config, source in runs] == [
        ("a (test)", "a (test)", {"service": "a", "environment": "test"}, "traces"),
        (
            "a 2 (production)",
            "a (production)",
            {"service": "a", "version": "2", "environment": "production"},
            "traces",
        ),
        ("p", "p", {"service": "p"}, "traces"),
        ("traces", "traces", {"service": "traces"}, "traces"),
    ]


def test_an_imported_run_keeps_its_name(store: Store) -> None:
    store.add_runs([Run(name="chat", samples=(Sample(id="1", question="q"),))])
    with running(store) as collector:
        collector.submit(trace(1)).result(30)
        assert [sample.id for sample in samples(store, "chat #2", 1)] == [f"{1:032x}"]
    with running(store) as collector:
        collector.submit(trace(2)).result(30)
        assert len(samples(store, "chat #2", 2)) == 2


def test_turns_of_a_session_are_known_after_a_restart(store: Store) -> None:
    now = time.time_ns() // 10**6 - 1_790_000_000_000
    for number, question in enumerate(("When?", "And then?", "Why?"), 1):
        with running(store) as collector:
            one = openinference(number, question, "In 1931.", [], at=now + number, session="s")
            collector.submit(spans(*one, service__name="chat", service__version=str(number))).result(30)
            (sample,) = samples(store, f"chat {number}", 1)
    asked = [Turn(role="user", text="When?"), Turn(role="user", text="And then?")]
    assert [turn for turn in sample.history if turn.role == "user"] == asked


def test_times_that_are_impossible_are_those_of_arrival(store: Store) -> None:
    wrong = {**span(1, 1, 0, at=0, **CHAIN), "startTimeUnixNano": "1"}
    future = {**span(2, 1, 0, at=0, **CHAIN), "startTimeUnixNano": str(2**63)}
    with running(store) as collector:
        collector.submit(spans(wrong, future)).result(30)
        for sample in samples(store, "chat", 2):
            assert sample.time is not None
            assert 2020 < sample.time.year < 2090


def test_while_the_store_is_busy_traces_wait_and_the_queue_is_bounded(store: Store) -> None:
    line = len(str(trace(1)))
    with running(store, queue_bytes=3 * line) as collector:
        taken = 0
        with store.database.write(), pytest.raises(QueueFullError):  # noqa: PT012 - one of them
            for number in range(1, 50):
                collector.submit(trace(number)).result(30)
                taken = number
        assert 0 < taken < 49
        assert len(samples(store, "chat", taken)) == taken
        wait_for(lambda: submitted(collector, trace(99)), bool)
        assert len(samples(store, "chat", taken + 1)) == taken + 1


def submitted(collector: Collector, given: list[RawSpan]) -> bool:
    """Whether there was room for the spans."""
    try:
        collector.submit(given).result(30)
    except QueueFullError:
        return False
    return True


def test_incomplete_traces_have_bounded_memory(store: Store) -> None:
    limits = replace(QUICK, bytes=5_000, rootless_seconds=600, spans_per_trace=10)
    with running(store, limits) as collector:
        for number in range(1, 21):
            collector.submit(trace(number)[:-1]).result(30)  # no root
        taken = samples(store, "chat", 10)
        assert collector.counts["early_traces"] >= len(taken)
        many = [span(99, number, 1, at=number) for number in range(2, 30)]
        collector.submit(spans(*many)).result(30)
        counted(collector, "excess_spans", 18)


def test_a_trace_that_never_ends_is_taken_unchanged(store: Store) -> None:
    limits = replace(QUICK, quiet_seconds=600, rootless_seconds=600, open_seconds=0.5)
    with running(store, limits) as collector:
        collector.submit(trace(1)).result(30)
        assert len(samples(store, "chat", 1)) == 1


def test_a_full_disk_refuses_and_nothing_of_it_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write: Callable[..., int] = os.write

    def full(descriptor: int, data: Any) -> int:
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:50])

    with running(store) as collector:
        collector.submit(trace(1)).result(30)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match="No space"):
                collector.submit(trace(2)).result(30)
        collector.submit(trace(3)).result(30)
        assert [sample.id for sample in samples(store, "chat", 2)] == [f"{1:032x}", f"{3:032x}"]


def test_damaged_lines_of_the_spool_are_counted_and_the_others_are_used(store: Store) -> None:
    with running(store, replace(QUICK, quiet_seconds=600)) as collector:
        collector.submit(trace(1)).result(30)
    (path,) = (store.folder / "traces").glob("*.jsonl")
    line = path.read_bytes()
    path.write_bytes(b'{"spans": 3}\n\xff\n' + line + b'{"received":1,"spans":[{"a":1}]}\n' + line[:40])
    with running(store) as collector:
        assert len(samples(store, "chat", 1)) == 1
        assert collector.counts["damaged_lines"] == 3
        wait_for(path.exists, lambda there: not there)


def test_only_one_collects(store: Store) -> None:
    with running(store), pytest.raises(StoreBusyError, match="another process collects"):
        Collector(store).start()
    with running(store):
        pass


def test_an_integer_of_any_size_is_taken(store: Store) -> None:
    huge = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "When?", "gen_ai.usage.input_tokens": 0}
    given = span(1, 1, 0, at=0, **huge)
    given["attributes"][-1]["value"] = {"intValue": "99999999999999999999"}
    with running(store) as collector:
        collector.submit(spans(given)).result(30)
        assert len(samples(store, "chat", 1)) == 1


def test_lines_wait_for_one_sync_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    sync = os.fsync

    def slow(descriptor: int) -> None:
        synced.append(descriptor)
        time.sleep(0.05)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    spool, order = Spool(tmp_path), list[int]()
    assert [*spool.start()] == []
    futures = [spool.write(b"%d\n" % number, lambda _, n=number: order.append(n)) for number in range(200)]  # type: ignore[misc]
    for future in futures:
        future.result(30)
    assert order == [*range(200)]
    assert len(synced) < 20
    spool.stop()
    again = Spool(tmp_path)
    lines = [*again.start()]
    assert [line for line, _ in lines] == [b"%d\n" % number for number in range(200)]
    for _, file in lines:
        again.release(file)
    again.stop()
    assert not [*tmp_path.glob("*.jsonl")]


def test_the_parts_of_a_request_are_bounded() -> None:
    for body in (
        b"\x0a\x00" * 30_000,
        b"\x0a\x80\x78" + b"\x12\x00" * 7_680 + b"\x0a\x80\xf1\x04" + b"\x12\x00" * 40_000,
    ):
        with pytest.raises(BadRequestError, match="more than 20,000 resources or scopes"):
            decode_request(body, PROTOBUF, attribute_filter(()))


def test_a_collector_starts_without_judges_and_metrics() -> None:
    """What is not imported makes a restart faster: while there is no collector, exporters must keep their traces."""
    imports = "import sys, ragboard.cli.collect; from ragboard.collector import serve_collector; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", imports], check=True, capture_output=True, text=True).stdout.split()
    unneeded = ("analysis", "evaluation", "judges", "metrics", "tasks")
    assert [name for name in modules if name.startswith(tuple(f"ragboard.{part}" for part in unneeded))] == []
