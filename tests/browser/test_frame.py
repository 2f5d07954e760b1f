"""Browser tests of the frame around pages: product name, menu on a phone, message if the server stopped."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, serving, settled
from tests.browser.test_pages import ROWS, keep_rows

from ragboard import Store


def test_a_phone_has_a_menu_with_a_name_that_leads_everywhere(dashboard: str, open_page: OpenPage) -> None:
    page = settled(open_page(dashboard, width=400))
    menu = page.get_by_role("button", name="Menu", exact=True)
    shown = "node => getComputedStyle(node, '::after').content"
    assert menu.evaluate(shown) == '"Menu"'
    name = page.locator(":has(> [data-testid=stHeaderLogo])").last
    assert name.evaluate(shown) == '"ragboard"'
    menu.click()
    expect(page.locator("[data-testid=stSidebarNavItems] li").first).to_have_attribute("role", "none")
    page.get_by_role("link", name="Agreement").click()
    expect(page.get_by_role("heading", name="Can a metric be trusted?")).to_be_visible()


def test_a_stopped_server_is_reported_in_words_that_help(store: Store, open_page: OpenPage) -> None:
    store.folder.mkdir()
    page = open_page("about:blank")
    with serving(store.folder) as address:
        page.goto(address)
        settled(page)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("start it again with “ragboard serve”")
    expect(dialog).not_to_contain_text("Streamlit")


def test_a_link_in_html_opens_in_this_session_or_in_a_new_tab(
    store: Store, dashboard: str, open_page: OpenPage
) -> None:
    name = 'a&b="c"<i>d</i>'
    keep_rows(store, store.folder.parent, ROWS, name)
    page = settled(open_page(f"{dashboard}/sample?{urlencode({'run': name})}"))
    page.evaluate("window.kept = true")
    link = page.get_by_role("link", name=name, exact=True)
    with page.context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    expect(opened.value).to_have_url(f"{dashboard}/run?{urlencode({'run': name})}")
    assert "/sample?" in page.url
    link.click()
    expect(page).to_have_url(re.compile(f"{dashboard}/run\\?"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    assert page.evaluate("window.kept")
    page.go_back()
    expect(page.locator("#reader [role=option]").first).to_be_visible()


def test_a_key_opens_the_next_sample_unless_it_is_typed_into_a_field(
    store: Store, dashboard: str, open_page: OpenPage
) -> None:
    keep_rows(store, store.folder.parent, ROWS, "rows")
    first, second, *_ = (str(row["id"]) for row in ROWS)
    page = settled(open_page(f"{dashboard}/sample?{urlencode({'run': 'rows', 'sample': first, 'statement': 1})}"))
    field = page.get_by_label("Your name")
    field.press("j")
    expect(field).to_have_value("j")
    field.blur()
    expect(page.get_by_role("button", name="✓ supported")).to_be_visible()
    settled(page).keyboard.press("j")
    expect(page).to_have_url(re.compile(f"sample={second}"))
    expect(page.get_by_role("heading", name="Who owns the mill?")).to_be_visible()
    settled(page).keyboard.press("k")
    expect(page).to_have_url(re.compile(f"sample={first}"))
    expect(page.get_by_role("heading", name="When did the bridge open?")).to_be_visible()


def test_a_page_finds_the_server_with_its_first_request(dashboard: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "_stcore" in request.url else None)
    page.goto(f"{dashboard}/metrics?q=faithfulness")
    settled(page)
    assert asked
    assert all(url.startswith(f"{dashboard}/_stcore/") for url in asked)


def test_a_name_of_a_run_is_never_an_icon_or_an_emoji(store: Store, dashboard: str, open_page: OpenPage) -> None:
    keep_rows(store, store.folder.parent, ROWS, ":material/delete: :smile: run")  # type: ignore[arg-type]
    page = settled(open_page(f"{dashboard}/sample?run=:material/delete:+:smile:+run"))
    link = page.get_by_role("link", name="run", exact=False).filter(has_text="delete")
    assert link.first.inner_text().replace("\N{WORD JOINER}", "") == ":material/delete: :smile: run"
