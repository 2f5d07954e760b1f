"""Decide between two configurations: on the sample, in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, serving, settled

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run, sample_runs
from ragboard.tasks import Task

HOSTILE = "<img src=x onerror=document.title='owned'> **bold** [x](javascript:alert(1)) \u202eabc"


class Again(EmbeddedJudge):
    """The same judge with other settings."""

    def identity(self, task: type[Task]) -> str:
        return f"{super().identity(task)}/again"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("compare")
    store = Store(folder)
    hostile = [
        Run(
            name=f"{HOSTILE}{letter}",
            samples=(
                Sample(
                    id="<b>1",
                    question=HOSTILE,
                    answer=f"{HOSTILE} {letter}. It is <i>red</i>.",
                    contexts=(Passage(id=HOSTILE, text=f"{HOSTILE} {letter}", rank=1),),
                ),
            ),
            config={HOSTILE: f"{HOSTILE}{letter}"},
        )
        for letter in "ab"
    ]
    added = (*store.add_runs(hostile), *store.add_runs(sample_runs()))
    evaluate_run(store, added[2].id, DEFAULT_METRICS, Panel(judge=Again()))
    for run in added:
        evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    with serving(folder) as address:
        yield address


def test_three_clicks_lead_from_the_runs_to_a_question_that_got_worse(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(sample))
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url("**/compare?a=*&b=*")
    expect(page.get_by_role("row").filter(has_text="Context relevance")).to_contain_text("▼ worse")
    expect(page.get_by_text("chunk_words: 60 → 90")).to_be_visible()
    expect(page.get_by_text("60 questions paired by sample id")).to_be_visible()
    page.get_by_role("radio", name="▼ Worse").click()
    first = page.get_by_role("row").filter(has_text="▼ worse").get_by_role("link").first
    asked = first.inner_text()
    first.click()
    page.wait_for_url("**pair=*")
    expect(page.get_by_role("heading", name=asked)).to_be_visible()
    expect(page.get_by_role("list", name="Statements of both answers").get_by_role("listitem").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name=asked)).to_be_visible()
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_pairs_are_stepped_through_by_key_and_noise_is_drawn_behind(sample: str, open_page: OpenPage) -> None:
    query = "metric=ragas.context_relevance&which=worse"
    page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5&{query}"))
    row = page.get_by_role("row").filter(has_text="Context relevance")
    expect(row.get_by_text("Noise: two evaluations of bm25-k3 by embedded differ by +0.000")).to_be_visible()
    expect(row.locator("rect.noise")).to_have_count(1)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("Differences are bm25-rerank-k5 minus bm25-k3")
    page.keyboard.press("Escape")
    page.get_by_role("row").filter(has_text="▼ worse -").get_by_role("link").first.click()
    expect(page.get_by_text(re.compile(r"^1 of \d+ pairs \(▼ Worse, by Context relevance\)"))).to_be_visible()
    expect(page.get_by_role("button", name="Previous Shortcut K")).to_be_disabled()
    first = page.url
    settled(page).keyboard.press("j")
    expect(page.get_by_text(re.compile(r"^2 of \d+ pairs"))).to_be_visible()
    assert page.url != first
    page.reload()
    expect(page.get_by_text(re.compile(r"^2 of \d+ pairs"))).to_be_visible()
    settled(page).keyboard.press("k")
    expect(page.get_by_text(re.compile(r"^1 of \d+ pairs"))).to_be_visible()
    expect(page).to_have_url(first)


def test_another_run_is_chosen_and_stands_in_the_address(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5"))
    page.get_by_role("combobox", name="B (candidate)").click()
    page.get_by_role("option", name="bm25-k3").click()
    page.wait_for_url("**b=bm25-k3*")
    expect(page.get_by_text("A and B are the same run")).to_be_visible()


def test_the_address_says_which_metric_and_which_pairs(sample: str, open_page: OpenPage) -> None:
    query = "metric=ragas.context_relevance&which=better"
    page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5&{query}"))
    expect(page.get_by_role("radio", name="▲ Better")).to_be_checked()
    expect(page.get_by_role("combobox", name="Metric")).to_have_value("Context relevance")


def test_an_address_that_names_what_is_not_there_says_so(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/compare?a=nope&b=bm25-k3"))
    expect(page.get_by_text("no run is called 'nope'")).to_be_visible()
    page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5&pair=nope"))
    expect(page.get_by_text("has no sample 'nope'")).to_be_visible()


def test_what_users_and_models_wrote_is_inert(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/compare"))
    for key in ("A (baseline)", "B (candidate)"):
        page.get_by_role("combobox", name=key).click()
        page.get_by_role("option").filter(has_text=f"abc{key[0].lower()}").click()
        page.wait_for_url(f"**{key[0].lower()}=*onerror*")
        settled(page)
    page.get_by_role("link").filter(has_text="<img").click()
    page.wait_for_url("**pair=*")
    expect(page.get_by_role("list", name="Statements of both answers")).to_be_visible()
    assert page.title() != "owned"
    assert page.locator("#compare img, #compare i, #compare b, [data-testid=stHtml] img").count() == 0


def test_a_narrow_page_does_not_scroll_sideways(sample: str, open_page: OpenPage) -> None:
    for query in ("", "&pair=q23"):
        page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5{query}", width=400, height=860))
        page.wait_for_selector("#compare")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_one_run_is_told_what_it_lacks(dashboard: str, store: Store, open_page: OpenPage) -> None:
    store.add_runs(sample_runs()[:1])
    page = settled(open_page(f"{dashboard}/compare"))
    expect(page.get_by_text("Nothing to compare yet")).to_be_visible()
