"""Browser tests of the Compare page with the sample runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import OpenPage, Serve, choose, settled

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run, sample_runs
from ragboard.metrics import metrics_named
from ragboard.records import Turn
from ragboard.tasks import Task

HOSTILE = "<img src=x onerror=document.title='owned'> **bold** [x](javascript:alert(1)) \u202eabc"


class Again(EmbeddedJudge):
    """The same judge with other settings."""

    def identity(self, task: type[Task]) -> str:
        return f"{super().identity(task)}/again"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    runs = sample_runs()
    added = (*store.add_runs(hostile), *store.add_runs(runs))
    evaluate_run(store, added[2].id, metrics_named(["ragas.context_relevance"]), Panel(judge=Again()))
    for run in added:
        evaluate_run(store, run.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    later = (Turn(role="user", text="Hello."),)
    turns = tuple(replace(one, history=later if at >= 10 else ()) for at, one in enumerate(runs[0].samples))
    store.add_runs([replace(runs[0], name="with-history", samples=turns)])
    return folder


@pytest.fixture(scope="module")
def sample(folder: Path, serve: Serve) -> Iterator[str]:
    with serve(folder) as address:
        yield address


def metric_row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name))


def test_the_result_is_read_at_a_glance_and_three_clicks_lead_to_a_question_that_got_worse(
    sample: str, open_page: OpenPage
) -> None:
    page = settled(open_page(f"{sample}/runs?two=bm25-k3&two=bm25-rerank-k5"))
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url("**/compare?a=*&b=*")
    said = "No significant difference between bm25-rerank-k5 and bm25-k3 on 2 metrics; Context relevance is lower in"
    expect(page.get_by_role("heading", name=said)).to_be_visible()
    row = metric_row(page, "Context relevance ↑")
    expect(row).to_contain_text("lower, number of passages can explain it")
    expect(row).to_contain_text("⚠ Context relevance usually falls with more passages: 3 in A, 5 in B")
    about = page.get_by_text("bm25-rerank-k5 (B) minus bm25-k3 (A) over 60 questions in both runs")
    expect(about).to_contain_text("chunk_words 60 → 90")
    changed = page.get_by_role("table").filter(has_text="questions that changed most")
    for sign in "▲▼":
        expect(changed.get_by_text(re.compile(f"^{sign} "))).not_to_have_count(0)
    expect(changed.get_by_role("link")).to_have_count(3)
    for one in (changed.get_by_role("link").first, row, page.get_by_role("heading", level=1)):
        box = one.bounding_box()
        assert box
        assert box["y"] + box["height"] <= 900, "on the first screen"
    page.get_by_role("radio", name="▼ Worse").click()
    first = page.get_by_role("row").filter(has_text="▼ worse -").get_by_role("link").first
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
    row = metric_row(page, "Context relevance ↑")
    expect(row.get_by_text("Noise: two evaluations of bm25-k3 by embedded differ by +0.000")).to_be_visible()
    expect(row.locator("rect.noise")).to_have_count(1)
    expect(page.get_by_text(re.compile("^With 60 questions, a difference of 0.042 can be detected"))).to_be_visible()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_test_id("stCode")).to_contain_text("Differences are bm25-rerank-k5 minus bm25-k3")
    page.keyboard.press("Escape")
    page.get_by_role("row").filter(has_text="▼ worse -").get_by_role("link").first.click()
    expect(page.get_by_text(re.compile(r"^Pair 1 of \d+ \(▼ Worse, by Context relevance\)"))).to_be_visible()
    expect(page.get_by_role("button", name="Previous Shortcut K")).to_be_disabled()
    first = page.url
    settled(page).keyboard.press("j")
    expect(page.get_by_text(re.compile(r"^Pair 2 of \d+ "))).to_be_visible()
    assert page.url != first
    page.reload()
    expect(page.get_by_text(re.compile(r"^Pair 2 of \d+ "))).to_be_visible()
    settled(page).keyboard.press("k")
    expect(page.get_by_text(re.compile(r"^Pair 1 of \d+ "))).to_be_visible()
    expect(page).to_have_url(first)


def test_a_gate_is_copied_from_the_page_and_runs(sample: str, folder: Path, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5"))
    page.get_by_role("button", name="Gate").click()
    codes = page.get_by_role("dialog").get_by_test_id("stCode").locator("code")
    expect(codes).to_have_count(3)
    for place, begins, code in (
        (0, "ragboard compare bm25-k3 bm25-rerank-k5", 1),
        (1, "ragboard check bm25-rerank", 0),
    ):
        shown = codes.nth(place).inner_text()
        assert shown.startswith(begins)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "RAGBOARD_STORE": str(folder)}
        done = subprocess.run(["bash", "-c", shown], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done
    assert "- uses: ./ragboard" in codes.nth(2).inner_text()


def test_questions_without_a_partner_are_listed_with_the_reason_and_the_mend(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/compare?a=with-history&b=bm25-k3"))
    expect(page.get_by_text("bm25-k3 (B) minus with-history (A) over 10 of 60 questions")).to_be_visible()
    page.get_by_role("link", name="Evaluate with-history").click()
    page.wait_for_url("**/evaluate?run=with-history*")
    settled(page).go_back()
    expect(page.get_by_text("50 of the 60 questions of A are not paired because B has them without")).to_be_visible()
    expect(page.get_by_text("Questions without a partner: 50 in A, 50 in B")).to_be_visible()
    expect(page.get_by_text("A: 50 no conversation history in B")).to_be_visible()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()


def test_a_caution_a_loss_and_a_question_far_down_are_followed(sample: str, open_page: OpenPage) -> None:
    compare = f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5"
    page = settled(open_page(compare))
    page.get_by_role("link", name="⚠ Context relevance usually falls with more passages").click()
    page.wait_for_url("**/metrics?q=ragas.context_relevance")
    expect(page.get_by_text("ragas.context_relevance", exact=True).first).to_be_visible()
    page = settled(open_page(compare))
    expect(page.get_by_role("link", name="Why is bm25")).to_have_count(0)
    last = page.get_by_role("table").last.get_by_role("link").last
    asked = last.inner_text()
    last.scroll_into_view_if_needed()
    last.click()
    page.wait_for_url("**pair=*")
    expect(settled(page).get_by_role("heading", name=asked)).to_be_in_viewport()


def test_on_a_phone_the_result_and_an_opened_pair_come_before_the_choice_of_runs_and_nothing_scrolls_sideways(
    sample: str, open_page: OpenPage
) -> None:
    for query, first in (("", page_title), ("&pair=q23", answers_of_a_pair)):
        page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5{query}", width=400, height=860))
        shown, chosen = first(page).bounding_box(), page.get_by_role("combobox", name="A (baseline)").bounding_box()
        assert shown
        assert chosen
        assert shown["y"] < chosen["y"]
        page.wait_for_selector("#compare")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        wide = "cells => cells.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText)"
        assert page.locator("#compare td").evaluate_all(wide) == [], "no cell runs into the next one"


def page_title(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


def answers_of_a_pair(page: Page) -> Locator:
    return page.get_by_role("region", name="Answer of B")


def test_choosing_another_run_changes_the_url(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5"))
    choose(page, "B (candidate)", "bm25-k3")
    page.wait_for_url("**b=bm25-k3*")
    expect(page.get_by_text("A and B are the same run")).to_be_visible()


def test_what_users_and_models_wrote_is_inert(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/compare"))
    for key in ("A (baseline)", "B (candidate)"):
        choose(page, key, re.compile(f"abc{key[0].lower()}"))
        page.wait_for_url(f"**{key[0].lower()}=*onerror*")
        settled(page)
    page.get_by_role("link").filter(has_text="<img").first.click()
    page.wait_for_url("**pair=*")
    expect(page.get_by_role("list", name="Statements of both answers")).to_be_visible()
    assert page.title() != "owned"
    assert page.locator("#compare img, #compare i, #compare b, [data-testid=stHtml] img").count() == 0


def test_a_pair_has_its_own_page_and_marks_common_words_in_both_answers(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/compare?a=bm25-k3&b=bm25-rerank-k5&pair=q23"))
    expect(page.get_by_text("Highlighted: words that only this text has.")).to_be_visible()
    for side in "AB":
        expect(page.get_by_role("region", name=f"Answer of {side}").locator("mark")).not_to_have_count(0)
    expect(page.locator("#compare del, #compare ins")).to_have_count(0)
    expect(page.get_by_role("table")).to_have_count(0)
    expect(page.get_by_text("largest losses first")).to_have_count(0)


def test_two_runs_without_an_evaluation_are_evaluated_and_compared_with_one_button(
    dashboard: str, store: Store, open_page: OpenPage
) -> None:
    """Until then, what people gave both runs is compared, under a name of its own."""
    for run, grade in zip(sample_runs(), (2, 3), strict=True):
        samples = tuple(replace(one, metadata={"human": {"usefulness": [grade, grade]}}) for one in run.samples)
        store.add_runs([replace(run, samples=samples[:12])])
    page = settled(open_page(f"{dashboard}/compare?a=bm25-k3&b=bm25-rerank-k5"))
    expect(page.get_by_role("heading", name="No metric to compare yet")).to_be_visible()
    expect(page.get_by_text("Annotators grade bm25-rerank-k5 higher than bm25-k3 on usefulness: +1.00")).to_be_visible()
    expect(page.get_by_role("table").filter(has_text="Human grades from the run files")).to_contain_text("usefulness")
    page.get_by_role("button", name="Evaluate both").click()
    expect(metric_row(page, "Faithfulness ↑")).to_be_visible()
    expect(page.get_by_text("⚠ Only 12 questions: CIs may be too narrow.")).to_be_visible()
    expect(page.get_by_role("button", name="Evaluate both")).to_have_count(0)


def test_the_menu_of_a_phone_closes_once_a_page_is_chosen(sample: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{sample}/runs", width=400, height=860))
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Compare").click()
    page.wait_for_url("**/compare*")
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    expect(page.get_by_test_id("stSidebarNavLink").filter(has_text="Runs")).not_to_be_in_viewport()
