"""Browser tests of citations on the Sample and Hallucinations pages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, settled

from ragboard import EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.metrics import metrics_named

ANSWER = "The bridge opened in July 2000 [1]. It cost 9 million euros [2]. A toll is paid at the western end [1, 7]."
TEXTS = ("The bridge opened to traffic on 1 July 2000.", "A toll is paid at the western end.")


@pytest.fixture(autouse=True)
def cited(store: Store) -> None:
    passages = tuple(Passage(id=f"p{rank}", text=text, rank=rank) for rank, text in enumerate(TEXTS, 1))
    sample = Sample(id="bridge", question="When did the bridge open?", answer=ANSWER, contexts=passages)
    run_id = store.add_runs([Run(name="cited", samples=(sample,))])[0].id
    metrics = metrics_named(["ragas.faithfulness", "alce.citation_recall"])
    evaluate_run(store, run_id, metrics, Panel(judge=EmbeddedJudge()))


def test_a_citation_leads_to_its_passage_and_says_whether_it_supports_the_sentence(
    dashboard: str, open_page: OpenPage
) -> None:
    page = settled(open_page(f"{dashboard}/sample?run=cited&sample=bridge&statement=1"))
    right = page.get_by_role("button", name="[1]", exact=True)
    right.click()
    expect(page.get_by_role("status")).to_contain_text("Passage 1 likely supports this sentence.")
    expect(page.locator(".passage.named .rank")).to_have_text("1")
    expect(page.locator(".passages mark").first).to_contain_text("opened")
    expect(page.get_by_role("option", selected=True)).to_have_count(0)
    wrong = page.locator(".answer .cite", has_text="[2]")
    expect(wrong).to_have_attribute("data-icon", "?")
    wrong.click()
    expect(page.get_by_role("status")).to_contain_text("Passage 2 likely does not support this sentence.")
    expect(page.locator(".passage.named .rank")).to_have_text("2")
    expect(right).to_have_attribute("aria-pressed", "false")
    page.locator(".answer .cite", has_text="[1, 7]").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("No retrieved passage has the number or id 7.")
    page.keyboard.press("Escape")
    expect(page.locator(".answer .cite[aria-pressed=true]")).to_have_count(0)
    page.get_by_role("option").first.click()
    expect(page.get_by_role("option", selected=True)).to_contain_text("July 2000")


def test_the_list_can_hold_only_statements_that_their_citations_do_not_support(
    dashboard: str, open_page: OpenPage
) -> None:
    page = settled(open_page(f"{dashboard}/hallucinations"))
    page.get_by_role("button", name="Filters").click()
    page.get_by_text("Cites a passage that does not support it").click()
    heading = "2 statements cite a passage that does not say so (rule-based)"
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page).to_have_url(f"{dashboard}/hallucinations?miscited=true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("list", name="Unsupported statements")).to_contain_text("A toll is paid")
    expect(page.get_by_role("list", name="Unsupported statements")).to_contain_text("cites [")
