"""Browser test: a trace from the OpenTelemetry SDK becomes a sample on the dashboard's pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, serving, settled
from tests.core.collector.conftest import wait_for

from ragboard import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """A server of its own: it goes on writing to the folder of its store."""
    with serving(folder) as address:
        yield address


def test_a_trace_is_a_sample_with_passages_and_answer(folder: Path, address: str, open_page: OpenPage) -> None:
    provider = TracerProvider(resource=Resource({"service.name": "chat", "service.version": "1.4"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{address}/v1/traces")))
    tracer = provider.get_tracer("test")
    hostile = "<img src=x onerror=alert(1)> In **1931**."
    with tracer.start_as_current_span("chain") as root:
        root.set_attributes({"openinference.span.kind": "CHAIN", "input.value": "When did the mill close?"})
        with tracer.start_as_current_span("search") as search:
            search.set_attributes({"openinference.span.kind": "RETRIEVER", "input.value": "mill"})
            search.set_attribute("retrieval.documents.0.document.content", "The mill closed in 1931.")
        root.set_attribute("output.value", hostile)
    provider.shutdown()
    sample = f"{root.get_span_context().trace_id:032x}"
    wait_for(lambda: stored(folder), lambda ids: ids == [sample])
    page = settled(open_page(f"{address}/sample?{urlencode({'run': 'chat 1.4', 'sample': sample})}"))
    expect(page.get_by_text("When did the mill close?").first).to_be_visible()
    expect(page.get_by_text(hostile).first).to_be_visible()
    expect(page.get_by_text("The mill closed in 1931.").first).to_be_visible()
    settled(page).goto(address)
    expect(page.get_by_role("row").filter(has_text="chat 1.4").first).to_be_visible()
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def stored(folder: Path) -> list[str]:
    with Store(folder).database.read() as connection:
        return [sample for (sample,) in connection.execute("SELECT sample_id FROM samples").fetchall()]
