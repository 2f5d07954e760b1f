"""Browser tests of shared results: a report opens offline without scripts, and a URL restores a page."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import OpenPage, Serve, choose, settled
from tests.conftest import EvaluatedSamples

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.export.comparison_report import comparison_report
from ragboard.export.run_report import run_report

HOSTILE = (
    "<script>window.hacked=1</script></style></title><img src=https://example.com/x.png onerror=window.hacked=1>"
    " <a href=javascript:window.hacked=1>x</a> ]]> \u202egnp.exe"
)
LOOSE = "Unsupported statements"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, evaluated_samples: EvaluatedSamples) -> Store:
    store = evaluated_samples(tmp_path_factory.mktemp("sharing") / "store")
    hostile = [
        Run(
            name=f"{HOSTILE}{letter}",
            config={HOSTILE: letter},
            samples=(
                Sample(
                    id=HOSTILE,
                    question=HOSTILE,
                    answer=f"{HOSTILE} {letter}. It is red.",
                    contexts=(Passage(id=HOSTILE, text=f"{HOSTILE} {letter}", rank=1),),
                ),
            ),
        )
        for letter in "ab"
    ]
    for added in store.add_runs(hostile):
        evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    return store


@pytest.fixture(scope="module")
def address(store: Store, serve: Serve) -> Iterator[str]:
    with serve(store.folder) as running:
        yield running


@pytest.mark.parametrize(
    "names", [("bm25-k3",), ("bm25-k3", "bm25-rerank-k5"), (f"{HOSTILE}a",), (f"{HOSTILE}a", f"{HOSTILE}b")]
)
def test_a_report_opens_without_a_network_and_nothing_in_it_runs(
    store: Store, browser: Browser, tmp_path: Path, names: tuple[str, ...]
) -> None:
    refs = [store.resolve(name) for name in names]
    file = tmp_path / "report.html"
    file.write_text(run_report(store, *refs) if len(refs) == 1 else comparison_report(store, *refs), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 860})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.goto(file.as_uri())
    for closed in page.locator("details").all()[:3]:
        closed.locator("summary").first.click()
    expect(page.locator("details[open] article").first).to_be_visible()
    assert asked == [file.as_uri()]
    assert said == []
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, script, iframe").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    if HOSTILE in names[0]:
        expect(page.get_by_role("heading", level=1)).to_contain_text("<script>window.hacked=1</script></style>")
    page.close()


def test_a_link_in_a_report_opens_the_sample_it_leads_to(store: Store, browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(run_report(store, store.resolve("bm25-k3")), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    link = page.locator("#statements ~ table td a").first
    target = str(link.get_attribute("href"))
    expect(page.locator(target)).to_be_hidden()
    link.click()
    expect(page.locator(target)).to_be_visible()
    fresh = browser.new_page()
    fresh.goto(f"{file.as_uri()}{target}")
    expect(fresh.locator(target)).to_be_visible()
    page.close()
    fresh.close()


def afresh(page: Page, open_page: OpenPage) -> Page:
    """The page's address, opened by somebody who was never there."""
    return settled(open_page(page.url))


def test_an_address_opens_at_what_it_showed(address: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{address}/run?run=bm25-k3"))
    page.get_by_text("Distribution, groups, range of scores").click()
    page.get_by_role("radio", name="ECDF").click()
    page.wait_for_url("**shape=ECDF*")
    choose(page, "Order", "File order")
    page.wait_for_url("**order=*")
    page.get_by_role("button", name="Next page").click()
    page.wait_for_url("**page=2*")
    other = afresh(page, open_page)
    expect(other.get_by_role("radio", name="ECDF")).to_be_checked()
    other.locator("#samples").get_by_role("link").first.click()
    other.wait_for_url("**/sample?*sample=q26*")

    page = settled(open_page(f"{address}/hallucinations?verdict=unsupported"))
    shown = page.get_by_role("list", name=LOOSE).get_by_role("link").first
    first = str(shown.get_attribute("href"))
    page.get_by_role("button", name="Next page").click()
    page.wait_for_url("**page=2*")
    expect(shown).not_to_have_attribute("href", first)
    second = str(shown.get_attribute("href"))
    again = afresh(page, open_page).get_by_role("list", name=LOOSE).get_by_role("link").first
    expect(again).to_have_attribute("href", second)

    page = settled(open_page(f"{address}/?two=bm25-k3&two=bm25-rerank-k5"))
    page.get_by_role("button", name="Remove bm25-k3").or_(page.get_by_label("Remove bm25-k3")).first.click()
    page.wait_for_url(re.compile(r"\?two=bm25-rerank-k5$"))
    expect(afresh(page, open_page).get_by_test_id("stMultiSelect")).not_to_contain_text("bm25-k3")


@pytest.mark.slow
def test_tables_and_reports_are_downloaded_as_shown(address: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{address}/run?run=bm25-k3&q=Brasília"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="CSV").click()
    assert waiting.value.suggested_filename == "bm25-k3-samples.csv"
    rows = list(csv.DictReader(waiting.value.path().read_text(encoding="utf-8").splitlines()))
    assert {row["sample_id"] for row in rows} == {"q54"}
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Options").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Report").click()
    assert "<h1>bm25-k3</h1>" in waiting.value.path().read_text(encoding="utf-8")
    page = settled(open_page(f"{address}/compare?a=bm25-k3&b=bm25-rerank-k5&which=worse"))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Report").click()
    assert waiting.value.suggested_filename == "bm25-rerank-k5-vs-bm25-k3.html"
    page.get_by_role("button", name="Export").last.click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="JSON", exact=True).click()
    assert '"change":"worse"' in waiting.value.path().read_text(encoding="utf-8")
