"""Browser tests of the documentation site: it opens without another host, and its search works."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, expect

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, built and served."""
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, str(ROOT / "docs" / "build.py"), str(folder)], check=True)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("name", ["index", "tutorial", "coming-from/ragas", "reference/python", "reference/metrics"])
def test_a_page_asks_no_other_host_and_fits_a_phone(browser: Browser, site: str, name: str) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 800})
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{site}/{name}.html", wait_until="networkidle")
    expect(page.locator("article h1")).to_be_visible()
    assert [url for url in asked if not url.startswith((site, "data:", "blob:"))] == []
    assert wrong == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.close()


def test_the_search_finds_a_page_by_a_word_of_it(browser: Browser, site: str) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{site}/index.html", wait_until="networkidle")
    page.keyboard.press("/")
    page.keyboard.type("JUnit")
    expect(page.get_by_role("option", name="Gate in CI").filter(has_text="JUnit").first).to_be_visible()
    page.close()
