"""Fixtures of the browser tests: a real Chromium, and a real server for one Streamlit script."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from tests.browser.server_process import ragboard

from ragboard import Store
from ragboard_dashboard.server import wait_until_healthy

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
CHROMIUM_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 60
"""Seconds that a condition may take on a slow machine before a test gives up."""

LAUNCH = """
import sys
from pathlib import Path
from ragboard_dashboard.server import build_app, server_options
from ragboard_dashboard.settings import ServerSettings
given = ServerSettings(store=Path('.ragboard'))
build_app(given, Path(sys.argv[1])).run(config=server_options(given) | {"server.port": int(sys.argv[2])})
"""
AT_REST = "() => new Promise(done => requestIdleCallback(() => done(), {timeout: 5000}))"
SERVERS = multiprocessing.get_context("forkserver")
SERVERS.set_forkserver_preload(
    ["ragboard.cli", "ragboard_dashboard.server", "pandas", "plotly.graph_objects", "scipy.stats"]
)
"""Each server is forked from one process that has imported what takes seconds to import."""
OpenPage = Callable[..., Page]
Serve = Callable[[Path], AbstractContextManager[str]]
expect.set_options(timeout=PATIENCE * 1000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module", autouse=True)
def quick_database() -> None:
    """The server is another process: the store is opened as it is."""


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Chromium as `CHROMIUM` names it, else as the search path has it."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if not found:
        pytest.skip(f"no browser: set CHROMIUM, or install one of {', '.join(CHROMIUM_NAMES)}")
    return found


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    """A Chromium for all that is left to test: while it is driven, an event loop runs in this thread."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium_path, args=list(CHROMIUM_ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def serve_script(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], str]]:
    """A function from a Streamlit script to the address of a server that runs it under ragboard's settings."""
    running: list[subprocess.Popen[bytes]] = []

    def serve(script: Path) -> str:
        port = unused_port()
        log = tmp_path_factory.mktemp("server") / "log.txt"
        with log.open("wb") as output:
            command = [sys.executable, "-c", LAUNCH, str(script), str(port)]
            running.append(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT))
        address = f"http://127.0.0.1:{port}"
        if not wait_until_healthy(address, PATIENCE):
            pytest.fail(f"{script.name} did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
        return address

    yield serve
    for process in running:
        process.terminate()
        process.wait(10)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """A function that has a real `ragboard serve` show a folder until the end of its block, and gives its address.

    It is one server, whose folder is a link: each of its own would import, and its browser load, all of it again.
    """
    link = tmp_path_factory.mktemp("served") / "store"
    shown: list[Path] = []

    def show(folder: Path) -> None:
        """Point the link at a folder in one step: without a link, the server would make a folder in its place."""
        next_link = link.with_name("next")
        next_link.symlink_to(folder, target_is_directory=True)
        next_link.replace(link)

    with serving(link) as address:

        @contextmanager
        def serve(folder: Path) -> Generator[str]:
            folder.mkdir(parents=True, exist_ok=True)
            shown.append(folder)
            show(folder)
            try:
                yield address
            finally:
                shown.pop()
                if shown:
                    show(shown[-1])

        yield serve


@pytest.fixture
def dashboard(store: Store, serve: Serve) -> Iterator[str]:
    """The address of a server over the store."""
    with serve(store.folder) as address:
        yield address


def unused_port() -> int:
    """A port of the system's choice: no two servers of a test run share one, nor one that was just given up."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(folder: Path, *options: str) -> Generator[str]:
    """`ragboard serve` over a folder, in a process of its own, until the end of the block."""
    port = unused_port()
    words = ("serve", "--port", str(port), "--no-browser", "--store", str(folder), *options)
    process = SERVERS.Process(target=ragboard, args=(words,))
    process.start()
    try:
        address = f"http://127.0.0.1:{port}"
        assert wait_until_healthy(address, PATIENCE)
        yield address
    finally:
        process.terminate()
        process.join()


def settled(page: Page) -> Page:
    """Wait until the script has run to its end and the page rests: a button hears its key only after it is painted.

    By plain looks: `expect` describes the whole page at each of its own, which on a large one takes all its time.
    """
    app = page.locator("[data-testid=stApp]")
    drawn = page.locator("[data-testid=stMain] [data-testid=stElementContainer]").first
    for _ in range(PATIENCE * 20):
        if app.get_attribute("data-test-script-state") == "notRunning" and drawn.count():
            page.evaluate(AT_REST)
            return page
        page.wait_for_timeout(50)
    pytest.fail(f"{page.url} is still being drawn after {PATIENCE} s")


def choose(page: Page, select: str, option: str | re.Pattern[str]) -> None:
    """Choose an option of a select; opened again where a rerun that was still under way has closed its list."""
    offered = page.get_by_role("option", name=option)
    for _ in range(PATIENCE // 5):
        settled(page).get_by_role("combobox", name=select).click()
        try:
            offered.click(timeout=5000)
        except PlaywrightTimeoutError:
            page.keyboard.press("Escape")
        else:
            return
    pytest.fail(f"{select} does not offer {option}")


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Callable[[str], BrowserContext]:
    """A function from a colour scheme to what pages share: scripts that were loaded and compiled."""

    @cache
    def context(scheme: str) -> BrowserContext:
        return browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]

    return context


@pytest.fixture
def open_page(contexts: Callable[[str], BrowserContext]) -> Iterator[OpenPage]:
    """A function that opens an address in a page of its own, `width` by `height`, `scheme` light or dark."""
    opened: list[Page] = []

    def open_(address: str, *, width: int = 1440, height: int = 900, scheme: str = "light") -> Page:
        page = contexts(scheme).new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.set_default_timeout(PATIENCE * 1000)
        opened.append(page)
        page.goto(address)
        return page

    yield open_
    for page in opened:
        page.context.clear_cookies()
        page.close()
