"""Browser tests of unscored samples, thresholds and judge calls across pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, Serve, choose, settled
from tests.chat_server import chat_server, replies

from ragboard import DEFAULT_METRICS, Panel, Store, evaluate_run, sample_runs
from ragboard.analysis import thresholds
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.llm import Endpoint, LlmJudge, OpenAiEmbedder
from ragboard.prices import Price

HOSTILE = "<img src=x onerror=document.title='owned'> no JSON"
PRICES = {"m": Price(prompt=1.0, completion=4.0), "e": Price(prompt=0.1)}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two runs of 20 questions, four answers of each missing, judged by a model over HTTP."""
    store = Store(Path(tmp_path_factory.mktemp("unscored")))
    with chat_server() as server:
        endpoint = Endpoint(server.url, "key")
        panel = Panel(judge=LlmJudge("m", endpoint), roles={"embed": OpenAiEmbedder("e", endpoint)})
        for run in sample_runs():
            gone = tuple(
                replace(sample, answer=None) if place % 5 == 4 else sample
                for place, sample in enumerate(run.samples[:20])
            )
            (added,) = store.add_runs([replace(run, samples=gone)])
            server.faults = [replies(HOSTILE)]
            evaluate_run(store, added.id, DEFAULT_METRICS, panel, EvaluationOptions(prices=PRICES))
    return store


@pytest.fixture(scope="module")
def address(kept: Store, serve: Serve) -> Iterator[str]:
    with serve(kept.folder) as found:
        yield found


def test_the_choice_applies_to_every_page_and_the_threshold_is_next_to_the_means(
    kept: Store, address: str, open_page: OpenPage
) -> None:
    page = settled(open_page(address))
    row = page.get_by_role("row").filter(has_text="bm25-k3")
    expect(row).to_contain_text("16 of 20")
    page.get_by_role("button", name="Options").click()
    choose(page, "Unscored samples", "Unscored: worst to best")
    expect(row.first).to_contain_text("4 unscored from worst to best value")
    page.wait_for_url("**unscored=bounds*")
    page.keyboard.press("Escape")
    row.get_by_role("link", name="bm25-k3").click()
    page.wait_for_url("**/run?*unscored=bounds*")
    settled(page).get_by_text("Distribution, groups, range of scores").click()
    expect(page.get_by_text("Mean: 4 unscored from worst to best value")).to_be_visible()
    page.get_by_role("button", name="Set threshold").click()
    page.get_by_role("spinbutton", name="Threshold").fill("0.9")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Threshold: at least 0.9")).to_be_visible()
    assert [str(one) for one in thresholds(kept).values()] == ["at least 0.9"]
    expect(page.get_by_text("missed (at least 0.9)").first).to_be_visible()
    settled(page).goto(f"{address}/compare?a=bm25-k3&b=bm25-rerank-k5&unscored=zero")
    expect(page.get_by_text("unscored samples count as zero").first).to_be_visible()
    expect(page.get_by_text("unscored samples in 4 pairs count as 0").first).to_be_visible()
    settled(page).goto(address)
    expect(page.get_by_role("row").filter(has_text="bm25-k3").first).to_contain_text("✗ missed (at least 0.9)")
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_what_was_asked_for_a_sample_is_read_behind_it(kept: Store, address: str, open_page: OpenPage) -> None:
    repaired = next(sample for _, sample in kept.samples(kept.resolve("bm25-k3").run_id))
    page = settled(open_page(f"{address}/sample?run=bm25-k3&sample={repaired.id}"))
    expect(page.get_by_text("calls to models")).to_be_visible()
    expect(page.locator("mark.selected").first).to_be_visible()
    page.get_by_text("Show prompts and raw replies").click()
    page.wait_for_url("**calls=*")
    expect(page.get_by_text("Split the answer into statements")).to_be_visible()
    prompt = page.get_by_role("region", name="Prompt of task 1")
    expect(prompt).to_be_hidden()
    page.locator("summary").filter(has_text="Prompt").first.focus()
    page.keyboard.press("Enter")
    expect(prompt).to_contain_text(repaired.answer or "")
    page.reload()
    expect(page.get_by_text("Split the answer into statements")).to_be_visible()
    for summary in page.locator("summary").filter(has_text="Raw reply").all():
        summary.click()
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
    assert page.title() != "owned"
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
