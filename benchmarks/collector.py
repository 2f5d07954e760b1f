"""Send traces to `ragboard collect` at a rate, kill it several times, and count lost and repeated traces.

    python benchmarks/collector.py [--rate 1000] [--seconds 60] [--kills 2] [--spans 5] [--batch 50] [--senders 4]

Prints the accepted share of the rate, with and without the time in which the collector was down, the time until a
request is acknowledged, the lost and repeated traces, and the collector's share of one core.
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from urllib.error import URLError
from urllib.request import urlopen

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ragboard import Store

TEXT = "The mill at the river closed in 1931, after the great flood had broken its wheel. " * 8


@dataclass
class Sent:
    """What the senders have done so far."""

    acknowledged: list[str] = field(default_factory=list[str])
    seconds: list[float] = field(default_factory=list[float])
    refused: int = 0
    failed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def add_span(spans: list[Span], trace: bytes, number: int, **attributes: str | float) -> None:
    now = time.time_ns()
    span = Span(
        trace_id=trace,
        span_id=trace[:7] + bytes([number + 1]),
        parent_span_id=trace[:7] + b"\x01" if number else b"",
        start_time_unix_nano=now + number * 1000,
        end_time_unix_nano=now + 10**8,
    )
    for name, value in attributes.items():
        cell = span.attributes.add(key=name.replace("__", ".")).value
        if isinstance(value, str):
            cell.string_value = value
        elif isinstance(value, int):
            cell.int_value = value
        else:
            cell.double_value = value
    spans.append(span)


def make_trace(identifier: bytes, spans: int) -> list[Span]:
    """Return the spans of an OpenInference trace: a chain, a retriever with four passages, and models."""
    found: list[Span] = []
    question = f"When did the mill {identifier.hex()[:8]} close?"
    chain = {"input__value": question, "output__value": "In 1931.", "user__id": "kim", "http__url": "http://a/b"}
    add_span(found, identifier, 0, openinference__span__kind="CHAIN", **chain)
    passages: dict[str, str | float] = {}
    for place in range(4):
        key = f"retrieval__documents__{place}__document"
        passages |= {f"{key}__id": f"p{place}", f"{key}__content": TEXT, f"{key}__score": 0.5}
    add_span(found, identifier, 1, openinference__span__kind="RETRIEVER", input__value=question, **passages)
    for number in range(2, spans):
        tokens = {"llm__token_count__prompt": 900, "llm__token_count__completion": 20}
        texts = {"llm__model_name": "small", "input__value": TEXT, "output__value": "In 1931."}
        add_span(found, identifier, number, openinference__span__kind="LLM", **texts, **tokens)
    return found[1:] + found[:1]  # a span is exported when it ends


def encode_request(traces: list[bytes], spans: int) -> bytes:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    for name, text in (("service.name", "bench"), ("service.version", "1"), ("host.name", "a")):
        group.resource.attributes.add(key=name).value.string_value = text
    scope = group.scope_spans.add()
    for trace in traces:
        scope.spans.extend(make_trace(trace, spans))
    encoded: bytes = request.SerializeToString()
    return encoded


def send(port: int, waiting: Queue[tuple[list[bytes], bytes]], sent: Sent, done: threading.Event) -> None:
    """Send requests, and repeat each until it is acknowledged, as exporters do."""
    while not (done.is_set() and waiting.empty()):
        try:
            traces, body = waiting.get(timeout=0.1)
        except Empty:
            continue
        while True:
            began = time.perf_counter()
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
                status = connection.getresponse().status
                connection.close()
            except (OSError, http.client.HTTPException):
                sent.failed += 1
                time.sleep(0.2)
                continue
            if status == 200:
                break
            sent.refused += 1
            time.sleep(0.5)
        with sent.lock:
            sent.acknowledged += [trace.hex() for trace in traces]
            sent.seconds.append(time.perf_counter() - began)


def start(port: int, store: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ragboard", "collect", "--port", str(port), "--store", str(store)]
    process = subprocess.Popen(command)
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return process
        except (URLError, OSError):
            time.sleep(0.05)


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stored_sample_ids(store: Path) -> list[str]:
    with Store(store).database.read() as connection:
        return [sample for (sample,) in connection.execute("SELECT sample_id FROM samples").fetchall()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rate", 1000), ("seconds", 60), ("kills", 2), ("spans", 5), ("batch", 50), ("senders", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    sent, done = Sent(), threading.Event()
    waiting: Queue[tuple[list[bytes], bytes]] = Queue()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        process = start(port, store)
        threads = [
            threading.Thread(target=send, args=(port, waiting, sent, done), daemon=True) for _ in range(args.senders)
        ]
        for thread in threads:
            thread.start()
        began, sent_spans, cpu, down = time.monotonic(), 0, 0.0, 0.0
        kill_at = [args.seconds * (number + 1) / (args.kills + 1) for number in range(args.kills)]
        while (elapsed := time.monotonic() - began) < args.seconds:
            if kill_at and elapsed > kill_at[0]:
                kill_at.pop(0)
                cpu += cpu_seconds(process)
                killed = time.monotonic()
                process.kill()
                process.wait()
                process = start(port, store)
                down += time.monotonic() - killed
            while sent_spans < elapsed * args.rate:
                traces = [os.urandom(16) for _ in range(args.batch // args.spans)]
                waiting.put((traces, encode_request(traces, args.spans)))
                sent_spans += args.batch
            time.sleep(0.01)
        in_time = len(sent.acknowledged) * args.spans
        done.set()
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        acknowledged = set(sent.acknowledged)
        until = time.monotonic() + 300
        while len(samples := stored_sample_ids(store)) < len(acknowledged) and time.monotonic() < until:
            time.sleep(1)
        stored_after = time.monotonic() - began
        cpu += cpu_seconds(process)
        process.terminate()
        process.wait()
        left = len(list((store / "traces").glob("*.jsonl")))
    latencies = sorted(sent.seconds)
    print(f"sent: {sent_spans:,} spans in {args.seconds} s, {args.kills} kills, {down:.1f} s without a collector")
    print(f"accepted within that time: {in_time / sent_spans:.3f}; all accepted after {took / args.seconds:.3f} of it")
    print(f"accepted rate while the collector ran, relative to --rate: {sent_spans / (took - down) / args.rate:.2f}")
    print(f"all stored after {stored_after / args.seconds:.3f} of that time; files left in the spool: {left}")
    print(f"acknowledged traces: {len(acknowledged):,}; lost: {len(acknowledged - set(samples)):,}", end="; ")
    print(f"stored twice: {len(samples) - len({sample.partition('#')[0] for sample in samples}):,}")
    print(f"requests refused: {sent.refused:,}, failed: {sent.failed:,}")
    middle, late = latencies[len(latencies) // 2], latencies[int(len(latencies) * 0.99)]
    print(f"acknowledged after: median {1000 * middle:.0f} ms, 99% within {1000 * late:.0f} ms")
    print(f"collector: {cpu / args.seconds:.2f} of one core")


if __name__ == "__main__":
    main()
