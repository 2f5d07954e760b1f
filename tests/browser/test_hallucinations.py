"""Browser tests of the Hallucinations page, and of renaming, tagging and deleting runs."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, settled
from tests.browser.test_pages import HOSTILE, ROWS, keep_rows

from ragboard import Store
from ragboard.analysis import leaderboard

LIST = "Unsupported statements"


def kept(store: Store, folder: Path, *names: str) -> None:
    for name in names:
        keep_rows(store, folder, ROWS, name)  # type: ignore[arg-type]


def test_a_made_up_sentence_is_two_clicks_away(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    kept(store, tmp_path, "rows")
    page = settled(open_page(dashboard))
    page.get_by_role("link", name="Hallucinations").click()
    expect(page.get_by_role("heading", name="1 of 2 statements are not supported (rule-based)")).to_be_visible()
    page.get_by_role("list", name=LIST).get_by_role("link").click()
    page.wait_for_url("**/sample?*statement=2*")
    expect(page.get_by_role("option", selected=True)).to_contain_text("9 million")


def test_the_address_holds_the_filters_and_a_group_leads_to_its_statements(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    kept(store, tmp_path, "one", "two")
    page = settled(open_page(f"{dashboard}/hallucinations?runs=two&q=million"))
    expect(page.get_by_role("heading", name="1 of 1 statement is not supported (rule-based)")).to_be_visible()
    page.goto(f"{dashboard}/hallucinations")
    expect(page.get_by_text("two", exact=True).first).to_be_visible()  # the runs of the newest dataset
    settled(page).get_by_role("button", name="Filters").click()
    settled(page).get_by_role("radio", name="by question").click()
    group = page.get_by_role("list", name="Statements by question").get_by_role("link")
    expect(group).to_contain_text("When did the bridge open?")
    group.click()
    page.wait_for_url("**question=*")
    expect(page.get_by_role("list", name=LIST).get_by_role("link")).to_have_count(2)
    page.get_by_role("button", name="All questions").click()
    expect(page.get_by_text("Question: When did the bridge open?")).to_have_count(0)


def test_a_group_keeps_the_other_filters_and_back_returns_to_the_groups(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    kept(store, tmp_path, "one", "two", "three")
    page = settled(open_page(f"{dashboard}/hallucinations?runs=one&runs=two&verdict=unsupported&by=by+passage&page=1"))
    groups = page.get_by_role("list", name="Statements by passage").get_by_role("listitem").first
    expect(groups).to_contain_text("2 not supported")
    groups.get_by_role("link").click()
    page.wait_for_url("**runs=one&runs=two&verdict=unsupported&passage=*")
    expect(page.get_by_role("list", name=LIST).get_by_role("link")).to_have_count(2)
    settled(page).get_by_role("button", name="Filters (1)").click()
    expect(page.get_by_role("textbox", name="Passage")).not_to_have_value("")
    expect(page.get_by_role("radio", name="one by one")).to_be_checked()
    expect(page.get_by_role("radio", name="unsupported", exact=True)).to_be_checked()
    page.go_back()
    expect(groups).to_contain_text("2 not supported")
    expect(page.get_by_role("radio", name="by passage")).to_be_checked()


def test_the_statements_can_be_downloaded(store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path) -> None:
    kept(store, tmp_path, "rows")
    page = settled(open_page(f"{dashboard}/hallucinations"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="CSV").click()
    assert "It cost 9 million euros." in Path(waiting.value.path()).read_text(encoding="utf-8")


def test_hostile_statements_are_plain_text_and_fit_a_telephone(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    row = {"question": HOSTILE, "answer": f"{HOSTILE} {'w' * 500}. The tower is blue.", "contexts": [HOSTILE]}
    keep_rows(store, tmp_path, [row], HOSTILE)
    for by in ("one by one", "by question", "by passage"):
        page = settled(open_page(f"{dashboard}/hallucinations?by={by.replace(' ', '+')}", width=400))
        expect(page.get_by_role("list", name="Statements").get_by_role("listitem").first).to_be_visible()
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 402
        expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_a_run_is_deleted_only_after_confirmation(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    kept(store, tmp_path, "kept", "gone")
    page = settled(open_page(f"{dashboard}/?q=gone"))
    expect(page.get_by_role("link", name="kept", exact=True)).to_have_count(0)
    page.goto(dashboard)
    settled(page).get_by_role("button", name="Edit gone").click()
    page.get_by_text("Delete this run").click()
    expect(page.get_by_role("button", name="Delete", exact=True)).to_be_disabled()
    settled(page).get_by_text("Delete permanently").click()
    expect(page.get_by_role("button", name="Delete", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("link", name="gone", exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="kept", exact=True)).to_be_visible()
    assert [run.name for run in leaderboard(store)] == ["kept"]


def test_a_run_is_renamed_and_annotated_on_its_page(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    kept(store, tmp_path, "rows")
    page = settled(open_page(f"{dashboard}/run?run=rows"))
    page.get_by_role("button", name="Options").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Name").fill("rerank")
    page.get_by_role("textbox", name="Notes").fill("k was 3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="rerank")).to_be_visible()
    expect(page.get_by_text("k was 3")).to_be_visible()
    (run,) = leaderboard(store)
    assert (run.name, run.notes) == ("rerank", "k was 3")
