"""Browser tests of overruling a verdict with the keyboard."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.conftest import OpenPage, settled
from tests.browser.test_pages import HOSTILE, ROWS, keep_rows

from ragboard import Store


def said(page: Page, words: str) -> None:
    expect(page.get_by_role("option", selected=True)).to_contain_text(words)


def test_a_verdict_is_overruled_and_taken_back_by_keyboard(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep_rows(store, tmp_path, ROWS, "rows")  # type: ignore[arg-type]
    page = settled(open_page(f"{dashboard}/sample?run=rows&sample=bridge&statement=2"))
    expect(page.get_by_text("Your label for statement 2")).to_be_visible()
    expect(page.get_by_role("button", name="contradicted")).to_have_count(0)
    page.get_by_role("textbox", name="Your name").fill(f"ada {HOSTILE}")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="contradicted")).to_be_enabled()
    page.get_by_role("textbox", name="Note").fill("1 source says 2")
    page.keyboard.press("Tab")
    settled(page).get_by_role("listbox", name="Statements").focus()
    page.keyboard.press("1")
    said(page, "✓ supported, label by ada")
    said(page, "1 source says 2")
    said(page, "unsupported")
    expect(page.get_by_text("1 of 2 statements · 1.00 with 1 overruled verdict")).to_be_visible()
    assert page.evaluate("window.hacked") is None

    page.get_by_role("listbox", name="Statements").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("3")
    expect(page.get_by_text("0.50 with 2 overruled verdicts")).to_be_visible()
    said(page, "✕ contradicted, label by ada")
    expect(page.get_by_role("button", name="Remove label")).to_be_visible()
    page.keyboard.press("0")
    expect(page.get_by_text("1.00 with 1 overruled verdict")).to_be_visible()

    page.get_by_role("link", name="rows", exact=True).click()
    expect(page.get_by_text("1.00 with 1 overruled verdict")).to_be_visible()
    page.goto(f"{dashboard}/hallucinations?people=overruled")
    expect(page.get_by_role("list", name="Statements").get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_text("supported, label by ada")).to_be_visible()
