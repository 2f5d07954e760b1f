"""Tests of a collector in its own process: accepted and refused requests, and no loss of spans."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tests.core.collector.conftest import Server, collecting, wait_for
from tests.core.readers.formats.traces import START, attributes, genai, openinference, request

from ragboard import Passage, Store

pytestmark = pytest.mark.plain_database

TOKEN = "0123456789abcdef0123"
PROTOBUF = "application/x-protobuf"
RESOURCE = {"service.name": "chat", "service.version": "1.4", "deployment.environment.name": "production"}
RUN = "chat 1.4 (production)"
TEXTS = ["The mill closed in 1931.", "It made flour."]


def asked(trace: int, question: str = "When did the mill close?", **resource: Any) -> dict[str, Any]:
    """A request with one trace of three spans."""
    spans = openinference(trace, question, "In 1931.", TEXTS, at=trace * 1000, session="")
    return request(*spans, **(resource or {"service__name": "chat"}))


@contextmanager
def tracer(server: Server, **options: Any) -> Iterator[Any]:
    """A tracer of the real SDK that exports to the server."""
    provider = TracerProvider(resource=Resource(RESOURCE))
    exporter = OTLPSpanExporter(f"{server.address}/v1/traces", **options)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=100))
    try:
        yield provider.get_tracer("test")
        assert provider.force_flush()
    finally:
        provider.shutdown()


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_the_sdk_sends_and_the_trace_is_a_sample(server: Server, compression: Compression) -> None:
    with tracer(server, compression=compression) as sending, sending.start_as_current_span("chain") as root:
        root.set_attributes({"openinference.span.kind": "CHAIN", "input.value": "When?", "user.id": "kim"})
        with sending.start_as_current_span("search") as search:
            found = "retrieval.documents.0.document"
            search.set_attributes({"openinference.span.kind": "RETRIEVER", "input.value": "When?"})
            search.set_attributes({f"{found}.id": "p1", f"{found}.content": TEXTS[0], f"{found}.score": 0.5})
        with sending.start_as_current_span("model") as model:
            model.set_attributes({"openinference.span.kind": "LLM", "llm.model_name": "small"})
            model.set_attributes({"llm.token_count.prompt": 30, "llm.token_count.completion": 4, "llm.cost.total": 0.5})
        root.set_attribute("output.value", "In 1931.")
    (sample,) = server.samples(RUN, 1)
    assert (sample.question, sample.answer) == ("When?", "In 1931.")
    assert sample.contexts == (Passage(id="p1", text=TEXTS[0], rank=1, score=0.5),)
    assert sample.id == f"{root.get_span_context().trace_id:032x}" == sample.metadata["trace_id"]
    assert sample.time is not None
    latency = sample.metadata["latency_ms"]
    assert isinstance(latency, float)
    assert 0 < latency < 60_000
    rest = {name: sample.metadata[name] for name in ("model", "prompt_tokens", "completion_tokens", "cost_usd")}
    assert rest == {"model": "small", "prompt_tokens": 30, "completion_tokens": 4, "cost_usd": 0.5}
    wait_for(lambda: [*(server.store / "traces").glob("*.jsonl")], lambda files: not files)


def test_what_was_acknowledged_survives_a_kill_and_is_not_added_twice(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with collecting(store, "--quiet-seconds", "600") as first:
        for trace in range(1, 51):
            assert first.post(asked(trace), zipped=trace % 2 == 0).status == 200
        first.kill()
    with (store / "traces" / "000000000001.jsonl").open("ab") as file:
        file.write(b'{"received":1,"spans":[{"trace"')  # a line that was being written
    with collecting(store, "--quiet-seconds", "0.3") as second:
        samples = second.samples("chat", 50)
        assert second.post(asked(7)).status == 200  # the sender had not seen the answer
        assert second.post(asked(51)).status == 200
        samples = second.samples("chat", 51)
        second.kill()
    assert sorted(sample.id for sample in samples) == [f"{trace:032x}" for trace in range(1, 52)]
    with collecting(store, "--quiet-seconds", "0.3") as third:
        assert third.post(asked(7)).status == 200
        assert third.post(asked(52)).status == 200
        assert len(third.samples("chat", 52)) == 52


def test_without_the_token_nothing_is_taken(tmp_path: Path) -> None:
    with collecting(tmp_path / "store", "--quiet-seconds", "0.3", token=TOKEN) as server:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer "}):
            refused = server.post(asked(1), **headers)
            assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert "token is missing or wrong" in refused.json["message"]
        assert server.post(asked(2), Authorization=f"Bearer {TOKEN}").status == 200
        assert [sample.id for sample in server.samples("chat", 1)] == [f"{2:032x}"]


def test_without_a_token_pages_of_other_sites_cannot_send(server: Server) -> None:
    assert server.post(asked(1), Origin="https://example.org").status == 401
    assert server.post(asked(1), Host="example.org").status == 401
    assert server.post(asked(1), Host="localhost:4318").status == 200


def test_beyond_this_machine_a_token_is_needed(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "ragboard", "collect", "--host", "0.0.0.0", "--store", str(tmp_path / "store")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ragboard: --host 0.0.0.0 lets other machines send traces, so it requires a token")
    (tmp_path / "token").write_text("short\n")
    done = subprocess.run(
        [*words, "--token-file", str(tmp_path / "token")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "expected a token of at least 16" in done.stderr


def test_two_processes_do_not_collect_for_one_store(server: Server) -> None:
    words = [sys.executable, "-m", "ragboard", "collect", "--port", "45999", "--store", str(server.store)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 75
    assert "another process collects traces for this store" in done.stderr


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"stringValue": "x"}
    for _ in range(levels):
        value = {"arrayValue": {"values": [value]}}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": "k", "value": value}]}]}]}]}


HOSTILE = [
    (b"", "application/json", 400, "not JSON"),
    (b"[1]", "application/json", 400, "not an ExportTraceServiceRequest"),
    (b'{"resourceSpans": 3}', "application/json", 400, "not an ExportTraceServiceRequest"),
    (b'{"resourceSpans": [{"\xff": 1}]}', "application/json", 400, "not JSON"),
    (b'{"resourceSpans": "\\ud800"}', "application/json", 400, "not JSON"),
    (b"[" * 100_000, "application/json", 400, "not JSON"),
    (json.dumps(deep(60)).encode(), "application/json", 400, "nested deeper"),
    (b"\x0a\xff", PROTOBUF, 400, "not an ExportTraceServiceRequest"),
    (b"{}", PROTOBUF, 400, "not an ExportTraceServiceRequest"),
    (b"{}", "text/plain", 415, "Content-Type"),
    (b"\n" * (21 * 2**20), "application/json", 413, "larger than 20,971,520 bytes"),
]


def test_malformed_and_huge_requests_are_rejected_in_one_line(server: Server) -> None:
    for body, kind, status, message in HOSTILE:
        refused = server.post(body, Content_Type=kind)
        assert (refused.status, refused.body.count(b"\n")) == (status, 0), body[:50]
        assert message.encode() in refused.body, refused.body
    zipped = server.post(b" " * (100 * 2**20), zipped=True)
    assert zipped.status == 413
    assert b"not valid gzip" in server.post(b"{}", Content_Encoding="gzip").body
    assert server.post(b"{}", Content_Encoding="br").status == 415
    assert server.post(b"{}").body == b"{}"
    assert server.post(b"", Content_Type=PROTOBUF).body == b""
    assert server.post(asked(1)).status == 200
    assert len(server.samples("chat", 1)) == 1


def test_spans_without_ids_are_rejected_and_the_others_are_taken(server: Server) -> None:
    given = asked(1)
    spans = given["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans += [{**spans[0], "traceId": "0" * 32}, {**spans[0], "spanId": "abc"}]
    partial = server.post(given).json["partialSuccess"]
    assert partial["rejectedSpans"] == "2"
    assert partial["errorMessage"] == (
        "2 spans rejected, the first: resourceSpans[0].scopeSpans[0].spans[3]: the trace id is not 16 bytes, or all"
        " zeros"
    )
    message = ExportTraceServiceRequest()
    message.resource_spans.add().scope_spans.add().spans.add(trace_id=b"12", span_id=b"12345678")
    reply = server.post(message.SerializeToString(), Content_Type=PROTOBUF)
    read = ExportTraceServiceResponse.FromString(reply.body)
    assert (reply.status, reply.headers["content-type"], read.partial_success.rejected_spans) == (200, PROTOBUF, 1)
    assert len(server.samples("chat", 1)) == 1


def test_hostile_texts_are_stored_as_texts(server: Server) -> None:
    text = "<script>alert(1)</script>\u202e\x00\x1b[31m'; DROP TABLE samples; --"
    spans = openinference(1, text, text, [text], at=0, session=text)
    assert server.post(request(*spans, service__name=f"{text}\n" * 50, service__version="x" * 10_000)).status == 200
    with_run = wait_for(lambda: runs(server.store), bool)
    assert len(with_run) == 1
    name = with_run[0]
    assert name.isprintable()
    assert len(name) < 250
    (sample,) = server.samples(name, 1)
    assert sample.question == text


def runs(folder: Path) -> list[str]:
    with Store(folder).database.read() as connection:
        return [name for (name,) in connection.execute("SELECT name FROM runs").fetchall()]


def test_attributes_that_may_not_be_kept_are_never_written(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with collecting(store, "--quiet-seconds", "600", "--drop", "session.*", "--drop", "*.score") as server:
        spans = openinference(1, "Why?", "So.", TEXTS, at=0, session="SECRET-SESSION")
        spans[0]["attributes"] += attributes({"http.url": "SECRET-URL", "retrieval.documents.0.document.x": "kept"})
        spans[2]["events"] = [{"name": "exception", "attributes": attributes({"exception.message": "SECRET-EVENT"})}]
        assert server.post(request(*spans, service__name="chat", host__name="SECRET-HOST")).status == 200
        server.kill()
    (spool,) = (store / "traces").glob("*.jsonl")
    written = spool.read_text()
    assert "kim@example.org" not in written
    assert "SECRET" not in written
    assert ".score" not in written
    assert TEXTS[0] in written
    assert spool.stat().st_mode & 0o077 == 0


def test_traces_of_both_conventions_in_parts_and_out_of_order(server: Server) -> None:
    documents = [{"id": "p1", "score": 0.5, "content": TEXTS[0]}]
    spans = [
        *reversed(openinference(1, "When?", "In 1931.", TEXTS, at=0, session="s")),
        *reversed(genai(2, "And what?", "Flour.", documents, at=9, session="s")),
    ]
    for order in (spans[::2], spans[1::2], spans[::3]):
        assert server.post(request(*order, service__name="chat", deployment__environment="test")).status == 200
    first, second = server.samples("chat (test)", 2)
    assert (first.question, first.answer, len(first.contexts or ())) == ("When?", "In 1931.", 2)
    assert (second.question, second.answer, len(second.contexts or ())) == ("And what?", "Flour.", 1)
    assert [turn.text for turn in second.history] == ["When?", "In 1931."]
    assert first.time is not None
    assert first.time.timestamp() is not None
    assert START > 0


def test_the_dashboard_takes_traces_too(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with collecting(store, "--no-browser", command="serve", token=TOKEN) as server:
        assert server.post(asked(1)).status == 401
        assert server.post(asked(1), Authorization=f"Bearer {TOKEN}", Origin="https://example.org").status == 403
        assert server.post(asked(1), Authorization=f"Bearer {TOKEN}").status == 200
        server.kill()
    with collecting(store, "--no-browser", command="serve") as server:
        assert [sample.id for sample in server.samples("chat", 1)] == [f"{1:032x}"]
    with collecting(store, "--no-browser", "--read-only", command="serve") as server:
        assert server.post(asked(2)).status == 405
