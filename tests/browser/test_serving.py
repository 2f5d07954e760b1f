"""Browser tests of every page under the content security policy, and of a read-only server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, Serve, serving, settled
from tests.browser.test_pages import ROWS, keep_rows, outside

from ragboard import Store
from ragboard.analysis import EXAMPLES

PAGES = (
    "/",
    "/run?run=rows",
    "/sample?run=rows&sample=bridge&statement=2",
    "/hallucinations",
    "/compare?a=rows&b=others",
    "/upload",
    "/evaluate?run=rows",
    "/metrics",
    "/query",
    "/diagnosis?run=rows",
    "/annotate?run=rows&annotator=ada",
    "/agreement",
    "/estimate?runs=rows&runs=others",
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("kept")
    store = Store(folder / "store")
    keep_rows(store, folder, ROWS, "rows")  # type: ignore[arg-type]
    keep_rows(store, folder, [ROWS[0] | {"answer": "It opened in July 2000."}, ROWS[1]], "others")  # type: ignore[list-item]
    return store


@pytest.fixture(scope="module")
def served(kept: Store, serve: Serve) -> Iterator[str]:
    with serve(kept.folder) as address:
        yield address


def test_every_page_works_under_the_policy_without_other_hosts(served: str, open_page: OpenPage) -> None:
    said: list[str] = []
    asked: list[str] = []
    page = open_page("about:blank")
    # Streamlit looks for two of its routes under each page's address first, and is told 404.
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    for path in PAGES:
        page.goto(served + path)
        settled(page)
        assert page.locator("[data-testid=stException]").count() == 0, path
        if path.startswith("/run"):
            page.get_by_text("Distribution, groups, range of scores").click()
            expect(page.locator("#shapes svg[role=img]")).to_be_visible()
            expect(page.locator("#samples").get_by_role("link").first).to_be_visible()
            page.goto(f"{served}{path}&against=Context+relevance")
            expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
        if path.startswith("/sample"):
            expect(page.get_by_role("option", selected=True)).to_contain_text("9 million")
    assert [text for text in said if "404" not in text] == []
    assert outside(asked, served) == []
    page.evaluate(
        """() => {
            const script = document.createElement("script")
            script.textContent = "window.hacked = 1"
            document.body.append(script)
            document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.hacked = 1'>")
        }"""
    )
    expect(page.locator("img[src=x]")).to_have_count(1)
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert [text for text in said if "Content Security Policy" in text]


def test_the_name_of_the_first_page_leads_to_it(served: str) -> None:
    with urlopen(f"{served}/runs?unscored=zero") as answer:
        assert answer.url == f"{served}/?unscored=zero"


def test_the_console_answers_refuses_and_stays_up(served: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{served}/query?sql={quote('SELECT 40 + 2 AS answer')}"))
    expect(page.get_by_role("textbox")).to_have_value("SELECT 40 + 2 AS answer")
    expect(page.locator("[data-testid=stDataFrame]")).to_have_count(0)
    page.get_by_role("textbox").press("Control+Enter")
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    expect(page.get_by_text("1 rows.")).to_be_visible()
    page.get_by_text("sample_scores", exact=True).click()
    expect(page.locator("details[open] li").first).to_be_visible()
    for sql, says in (
        ("DROP TABLE runs", "DROP is not allowed"),
        ("SELECT count(*) FROM range(1000000000000)", "stopped after 5 s"),
    ):
        page.get_by_role("textbox").fill(sql)
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.get_by_text(says)).to_be_visible(timeout=30_000)
        assert parse_qs(urlsplit(page.url).query)["sql"] == [sql]
    page.get_by_role("button", name="Examples").click()
    page.get_by_role("button", name="Which samples have no score, and why?").click()
    expect(page.get_by_role("textbox")).to_have_value(EXAMPLES["Which samples have no score, and why?"])
    expect(page.get_by_text("The query failed.")).to_have_count(0)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/run?run=rows", "/hallucinations", "/compare?a=rows&b=others"])
def test_a_table_leads_to_its_sql_which_gives_it(served: str, open_page: OpenPage, path: str) -> None:
    page = settled(open_page(served + path))
    page.get_by_role("button", name="SQL", exact=True).click()
    page.wait_for_url("**/query?sql=*")
    expect(settled(page).get_by_role("textbox")).to_have_value(re.compile("SELECT"))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()


READ_ONLY = {
    "/": "rows",
    "/run?run=rows": "rows",
    "/sample?run=rows&sample=bridge&statement=2": "9 million",
    "/upload": "is read-only",
    "/evaluate": "This dashboard does not start evaluations",
}


@pytest.mark.slow
def test_a_read_only_server_offers_no_change(kept: Store, open_page: OpenPage) -> None:
    with serving(kept.folder, "--read-only") as address:
        for path, there in READ_ONLY.items():
            page = settled(open_page(address + path))
            expect(page.get_by_text(there).first).to_be_visible()
            for name in ("Upload a run", "Edit rows", "Edit", "Evaluate", "Plan", "✓ supported"):
                expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
            expect(page.locator("input[type=file]")).to_have_count(0)
