"""Browser tests: traces from the OpenTelemetry SDK become evaluated samples on the dashboard's pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from playwright.sync_api import Page, expect
from tests.browser.conftest import SERVERS, OpenPage, serving, settled
from tests.browser.server_process import ragboard
from tests.core.collector.conftest import wait_for
from tests.real_libraries.environments import new_environment, run_script

from ragboard import Store

QUESTION = "When did the mill close?"
PASSAGE = "The mill closed in 1931."
RUN = "chat 1.4"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".ragboard"


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """A server of its own: it goes on writing to the folder of its store."""
    with serving(folder) as address:
        yield address


@contextmanager
def watching(folder: Path, name: str) -> Iterator[None]:
    """`ragboard watch` in a process of its own, until the end of the block."""
    words = ("watch", name, "--metrics", "faithfulness", "--store", str(folder))
    process = SERVERS.Process(target=ragboard, args=(words,))
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def send_trace(address: str, answer: str) -> str:
    """Send the trace of one answer; return its id."""
    provider = TracerProvider(resource=Resource({"service.name": "chat", "service.version": "1.4"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{address}/v1/traces")))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("chain") as root:
        root.set_attributes({"openinference.span.kind": "CHAIN", "input.value": QUESTION})
        with tracer.start_as_current_span("search") as search:
            search.set_attributes({"openinference.span.kind": "RETRIEVER", "input.value": "mill"})
            search.set_attribute("retrieval.documents.0.document.content", PASSAGE)
        root.set_attribute("output.value", answer)
    provider.shutdown()
    return f"{root.get_span_context().trace_id:032x}"


def address_of_sample(address: str, run_name: str, sample: str) -> str:
    return f"{address}/sample?{urlencode({'run': run_name, 'sample': sample})}"


def expect_sample(page: Page, question: str, answer: str, passages: list[str]) -> None:
    for text in (question, answer, *passages):
        expect(page.get_by_text(text).first).to_be_visible()
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_a_trace_shows_up_on_the_open_page(folder: Path, address: str, open_page: OpenPage) -> None:
    page = settled(open_page(address))
    expect(page.get_by_text("Which sentence did it make up?")).to_be_visible()
    hostile = "<img src=x onerror=alert(1)> In **1931**."
    sample = send_trace(address, hostile)
    expect(page.get_by_role("row").filter(has_text=RUN).first).to_be_visible()
    assert stored(folder) == [sample]
    page.goto(address_of_sample(address, RUN, sample))
    expect_sample(settled(page), QUESTION, hostile, [PASSAGE])
    expect(page.get_by_text("not evaluated").first).to_be_visible()
    with watching(folder, RUN):
        expect(page.get_by_text("Faithfulness").first).to_be_visible()
        expect(page.get_by_text("judged by embedded (rule-based)").first).to_be_visible()


def test_what_is_new_is_offered_on_a_page_that_is_read(folder: Path, address: str, open_page: OpenPage) -> None:
    send_trace(address, "In 1931.")
    wait_for(lambda: stored(folder), lambda ids: len(ids) == 1)
    page = settled(open_page(f"{address}/run?{urlencode({'run': RUN})}"))
    expect(page.get_by_text("1 of 1 samples").first).to_be_visible()
    send_trace(address, "In 1932.")
    expect(page.get_by_text("1 new sample", exact=True)).to_be_visible()
    expect(page.get_by_text("1 of 1 samples").first).to_be_visible()
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text("2 of 2 samples").first).to_be_visible()
    expect(page.get_by_text("1 new sample", exact=True)).to_have_count(0)


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for environments: what `ENVIRONMENTS` names, as `python -m tests.real_libraries --keep` leaves it."""
    return Path(os.environ.get("ENVIRONMENTS") or tmp_path_factory.mktemp("environments"))


@pytest.mark.slow
@pytest.mark.parametrize("library", ["langchain", "llama-index", "haystack"])
def test_traces_of_a_library_are_evaluated_samples(
    library: str, environments: Path, folder: Path, address: str, open_page: OpenPage
) -> None:
    """The instrumentation of OpenInference and the library, in an environment with nothing else but ragboard."""
    package = f"openinference-instrumentation-{library}"
    python, installed = new_environment(package, environments)
    assert installed
    page = settled(open_page(address))
    run_name = f"{library} 2"
    with watching(folder, run_name):
        done = run_script(python, package, folder.parent, TRACES_ENDPOINT=f"{address}/v1/traces")
        assert done.returncode == 0, done.stderr
        expect(page.get_by_role("row").filter(has_text=run_name).first).to_be_visible()
        page.goto(address_of_sample(address, run_name, stored(folder)[0]))
        ((_, sample), *_) = Store(folder).samples(Store(folder).resolve(run_name).run_id)
        passages = [passage.text for passage in sample.contexts or ()]
        assert passages
        expect_sample(page, sample.question, str(sample.answer), passages)
        expect(page.get_by_text("Faithfulness").first).to_be_visible()
        expect(page.get_by_text("judged by embedded (rule-based)").first).to_be_visible()


def stored(folder: Path) -> list[str]:
    with Store(folder).database.read() as connection:
        return [
            sample for (sample,) in connection.execute("SELECT sample_id FROM samples ORDER BY position").fetchall()
        ]
