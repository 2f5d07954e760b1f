"""Browser tests of the Diagnosis page with the sample runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import OpenPage, Serve, settled

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run, sample_runs
from ragboard.metrics import metrics_named

HOSTILE = "<img src=x onerror=document.title='owned'> **bold** [x](javascript:alert(1)) \u202eabc"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, serve: Serve) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("diagnosis")
    store = Store(folder)
    samples = tuple(
        Sample(
            id=f"<b>{number}",
            question=f"{HOSTILE} {number}",
            answer=f"{HOSTILE} is {number}. It opened in 18{number:02}.",
            contexts=(Passage(id=HOSTILE, text=f"{HOSTILE} opened in 1999.", rank=1),),
            metadata={HOSTILE: "ab"[number % 2]},
        )
        for number in range(12)
    )
    hostile = Run(name=HOSTILE, samples=samples)
    first, second, third = (*store.add_runs([hostile]), *store.add_runs(sample_runs()))
    everything = (*DEFAULT_METRICS, *metrics_named(["ragchecker"]))
    for added, metrics in ((first, DEFAULT_METRICS), (second, everything), (third, DEFAULT_METRICS)):
        evaluate_run(store, added.id, metrics, Panel(judge=EmbeddedJudge()))
    with serve(folder) as address:
        yield address


def no_exception(page: Page) -> None:
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_from_the_run_to_a_sentence_to_the_samples_behind_it(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/run?run=bm25-k3"))
    page.get_by_role("link", name="Diagnosis", exact=True).last.click()
    page.wait_for_url("**/diagnosis?run=bm25-k3")
    expect(page.get_by_role("heading", name="Diagnosis of bm25-k3")).to_be_visible()
    first = page.locator(".rb-first .rb-says")
    expect(first).to_contain_text("The passages support only")
    expect(page.locator(".rb-first")).to_contain_text("Affects at least")
    expect(page.locator(".rb-says", has_text="Retrieval loses more than generation")).to_be_hidden()
    page.get_by_text(re.compile(r"^\d hints$")).click()
    expect(page.locator(".rb-says", has_text="Retrieval loses more than generation")).to_be_visible()
    expect(page.get_by_text("compared answers with reference answers")).to_be_visible()
    expect(
        page.get_by_text(re.compile(r"Claim recall 0\.\d\d, 95% CI 0\.\d\d to 0\.\d\d, n = 52")).first
    ).to_be_visible()
    page.get_by_text("Rules and their values").click()
    table = page.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(23)
    spoke, silent = table.get_by_text("● flagged").count(), table.get_by_text("○ not flagged").count()
    hints = table.get_by_text("◐ hint").count()
    assert spoke + silent + hints == 22
    uncertain = 3  # shown among the findings as not certain; the table says that their rules are inconclusive
    assert page.locator(".rb-finding .rb-says").count() == spoke + hints + uncertain
    page.get_by_role("link", name="Show the samples: Claim recall, lowest first").first.click()
    page.wait_for_url("**/run?*")
    expect(page.get_by_role("combobox", name="Column", exact=True)).to_have_value("Claim recall")
    expect(page.get_by_role("combobox", name="Order")).to_have_value("Lowest first")
    no_exception(page)


def test_statements_questions_and_groups_lead_to_what_they_speak_of(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/diagnosis?run=bm25-rerank-k5"))
    expect(page.get_by_text("the generator loses more, evaluate RAGChecker's claim recall")).to_be_visible()
    page.get_by_role("button", name="Evaluate these metrics").click()
    page.wait_for_url("**/evaluate?*")
    expect(page.get_by_role("checkbox", name="Claim recall", exact=True)).to_be_checked()
    expect(page.get_by_role("checkbox", name="Faithfulness", exact=True)).not_to_be_checked()
    page = settled(open_page(f"{sample}/diagnosis?run=bm25-rerank-k5"))
    expect(page.get_by_text("kind = numeric: Faithfulness 0.")).to_be_visible()
    question = page.get_by_role("list", name="Questions with the most").get_by_role("link").first
    asked, count = question.locator(".said").inner_text(), question.locator(".verdict").inner_text()
    question.click()
    page.wait_for_url("**/hallucinations?*question=*")
    expect(page.get_by_role("heading", name=f"{count} of ")).to_be_visible()
    expect(page.get_by_text(f"Question: {asked}")).to_be_visible()
    page = settled(open_page(f"{sample}/diagnosis?run=bm25-rerank-k5"))
    page.get_by_role("link", name="Show the chart: Faithfulness by kind").click()
    page.wait_for_url("**/run?*")
    expect(page.get_by_role("radio", name="Faithfulness")).to_be_checked()
    expect(page.get_by_role("combobox", name="Group by")).to_have_value("kind")
    no_exception(page)


def test_missing_metrics_are_evaluated_and_the_diagnosis_has_them(
    dashboard: str, store: Store, open_page: OpenPage
) -> None:
    (added,) = store.add_runs([replace(sample_runs()[0], samples=sample_runs()[0].samples[:8])])
    evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    page = settled(open_page(f"{dashboard}/diagnosis?run=bm25-k3"))
    page.get_by_role("button", name="Evaluate these metrics").click()
    page.wait_for_url("**/evaluate?*")
    settled(page).get_by_role("button", name="Start").click()
    page.wait_for_url("**/diagnosis?run=bm25-k3")
    expect(page.get_by_text("Evaluate these metrics")).to_have_count(0)
    expect(page.get_by_role("table").get_by_text("not evaluated")).to_have_count(0)
    no_exception(page)


def test_a_finding_leads_to_its_statements_and_back(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/diagnosis?run={quote(HOSTILE)}"))
    page.get_by_role("link", name="Show the statements").first.click()
    page.wait_for_url("**/hallucinations?*")
    expect(page.get_by_role("heading", name="statements are not supported (rule-based)")).to_be_visible()
    settled(page).go_back()  # in the middle of a run the way back is lost
    page.wait_for_url("**/diagnosis?*")
    expect(page.get_by_role("heading", name="Diagnosis of")).to_be_visible()


def test_what_users_and_models_wrote_is_inert_and_the_page_fits(sample: str, open_page: OpenPage) -> None:
    for run in ("bm25-k3", HOSTILE):
        page = settled(open_page(f"{sample}/diagnosis?run={quote(run)}", width=400, height=860))
        page.get_by_text("Rules and their values").click()
        expect(page.get_by_role("table")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        no_exception(page)
    assert page.title() != "owned"
    assert page.locator("[data-testid=stMain] img, #findings img").count() == 0
    settled(page).goto(f"{sample}/diagnosis?run=nope")
    expect(page.get_by_text("no run is called 'nope'")).to_be_visible()


def test_an_empty_store_says_what_to_do(dashboard: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{dashboard}/diagnosis"))
    expect(page.get_by_role("button", name="Upload a run")).to_be_visible()
