"""A person sees what an evaluation costs, starts it, follows it, stops it and goes on; the key they type is nowhere."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from starlette.responses import JSONResponse
from tests.browser.conftest import OpenPage, serving, settled
from tests.chat_server import ChatServer, chat_server, status

from ragboard import Passage, Run, Sample, Store
from ragboard.analysis import failures, leaderboard
from ragboard.evaluation.progress import live_evaluations

SECRET = "sk-typed-by-a-person"
SLOW = 0.4
"""Seconds before each response, where something is to be seen in between."""


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def keep(store: Store, name: str = "bridges", samples: int = 3) -> None:
    rows = tuple(
        Sample(
            id=f"s{number}",
            question=f"When did bridge {number} open?",
            answer=f"Bridge {number} opened. It is red.",
            contexts=(Passage(id="p", text=f"Bridge {number} opened.", rank=1),),
        )
        for number in range(samples)
    )
    store.add_runs([Run(name=name, samples=rows)])


def planned(page: Page, server: ChatServer, model: str = "m", together: int = 4) -> Page:
    """The Evaluate page with a plan for a chat model and faithfulness."""
    settled(page)
    for name in ("Answer relevance", "Context relevance"):
        page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("radio", name="Chat model").click()
    page.get_by_role("textbox", name="Model").fill(model)
    page.get_by_role("textbox", name="Base URL").fill(server.url)
    page.get_by_role("spinbutton", name="Concurrent requests").fill(str(together))
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Plan").click()
    expect(page.get_by_role("heading", name="Plan")).to_be_visible()
    return page


def started(page: Page, server: ChatServer, **given: object) -> Page:
    """The Run page of an evaluation that was just started."""
    planned(page, server, **given)  # type: ignore[arg-type]
    page.get_by_role("textbox", name="Key").fill(SECRET)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/run?*")
    return page


def finished(page: Page) -> Page:
    """The Run page, once its numbers are there."""
    expect(page.get_by_text("of 3 scored").first).to_be_visible()
    return page


def test_plan_start_progress_and_numbers_with_a_key_that_is_nowhere(
    store: Store, dashboard: str, open_page: OpenPage, server: ChatServer
) -> None:
    keep(store)
    page = planned(open_page(f"{dashboard}/evaluate?run=bridges"), server)
    expect(page.get_by_text("6 calls")).to_be_visible()
    expect(page.get_by_text("no price for m")).to_be_visible()
    assert server.count == 0
    server.delay = lambda: SLOW
    page.get_by_role("textbox", name="Key").fill(SECRET)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/run?*")
    expect(page.get_by_text("Evaluation by openai:m", exact=False).first).to_be_visible()
    arguments = b"".join(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if readable(path))
    assert SECRET not in finished(page).content()
    assert SECRET.encode() not in arguments
    assert SECRET not in page.url
    assert set(server.keys) == {f"Bearer {SECRET}"}
    files = [path for path in store.folder.rglob("*") if path.is_file()]
    assert len(files) > 4
    assert all(SECRET.encode() not in path.read_bytes() for path in files)
    expect(page.get_by_text("0.50 Faithfulness")).to_be_visible()
    expect(page.get_by_text("Evaluation by")).to_have_count(0)


def readable(path: Path) -> bool:
    """Whether the process is still there."""
    try:
        return bool(path.read_bytes())
    except OSError:
        return False


@pytest.mark.slow
def test_cancel_keeps_what_is_done_a_reload_loses_nothing_and_resume_asks_the_rest(
    store: Store, dashboard: str, open_page: OpenPage, server: ChatServer
) -> None:
    keep(store, samples=60)
    server.delay = lambda: SLOW
    page = started(open_page(f"{dashboard}/evaluate?run=bridges"), server, together=3)
    expect(page.get_by_text("samples a minute")).to_be_visible()
    page.reload()
    expect(page.get_by_text("openai:m + embedded: running")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("stopped by the user")).to_be_visible()
    (live,) = live_evaluations(store)
    asked = server.count
    assert 0 < live.progress.done < 60
    assert 0 < asked < 120
    server.delay = lambda: 0.0
    page.get_by_role("textbox", name="Key").fill(SECRET)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("60 of 60 scored")).to_be_visible()
    assert server.count == 120
    assert asked < server.count


@pytest.mark.slow
def test_an_evaluation_outlives_the_server_and_one_that_was_killed_is_resumed(
    store: Store, open_page: OpenPage, server: ChatServer
) -> None:
    keep(store)
    server.delay = lambda: 600.0
    with serving(store.folder) as address:
        page = started(open_page(f"{address}/evaluate?run=bridges"), server)
        expect(page.get_by_text("openai:m + embedded: running")).to_be_visible()
    with serving(store.folder) as address:
        page = settled(open_page(address))
        expect(page.get_by_text("bridges: running")).to_be_visible()
        page.get_by_role("button", name="Watch").click()
        page.wait_for_url("**/run?*")
        (live,) = live_evaluations(store)
        os.kill(live.progress.pid, signal.SIGTERM)
        expect(page.get_by_text("interrupted: its process is gone")).to_be_visible()
        server.delay = lambda: 0.0
        page.get_by_role("button", name="Resume").click()
        finished(page)


@pytest.mark.slow
def test_two_evaluations_at_once_have_a_panel_and_a_line_each(
    store: Store, dashboard: str, open_page: OpenPage, server: ChatServer
) -> None:
    keep(store)
    server.delay = lambda: 600.0
    started(open_page(f"{dashboard}/evaluate?run=bridges"), server, model="one")
    page = started(open_page(f"{dashboard}/evaluate?run=bridges"), server, model="two")
    expect(page.get_by_text("Evaluation by openai:one + embedded: running")).to_be_visible()
    expect(page.get_by_text("Evaluation by openai:two + embedded: running")).to_be_visible()
    page.goto(dashboard)
    expect(page.get_by_text("bridges: running")).to_have_count(2)
    for live in live_evaluations(store):
        os.kill(live.progress.pid, signal.SIGTERM)
    expect(page.get_by_text("bridges: running")).to_have_count(0)


@pytest.mark.slow
def test_what_failed_is_said_by_kind_and_asked_again(
    store: Store, dashboard: str, open_page: OpenPage, server: ChatServer
) -> None:
    keep(store)
    server.rules = [lambda _: JSONResponse({"error": {"message": "a <b>teapot</b>"}}, 418)]
    page = started(open_page(f"{dashboard}/evaluate?run=bridges"), server)
    page.get_by_text("3 scores failed (1 error)").click()
    expect(page.get_by_text("a <b>teapot</b>").first).to_be_visible()
    expect(page.get_by_role("button", name="Open an example")).to_be_visible()
    server.rules = []
    page.get_by_role("textbox", name="Key").fill(SECRET)
    page.get_by_role("button", name="Retry failed tasks").click()
    expect(page.get_by_text("3 of 3 scored")).to_be_visible()
    expect(page.get_by_text("scores failed")).to_have_count(0)
    assert failures(store, store.resolve("bridges")) == ()
    assert leaderboard(store)[0].metrics["ragas.faithfulness"].mean == 0.5


def test_a_refused_key_is_said_in_one_line(
    store: Store, dashboard: str, open_page: OpenPage, server: ChatServer
) -> None:
    keep(store)
    server.faults = [status(401, f"wrong key {SECRET}")] * 20
    page = started(open_page(f"{dashboard}/evaluate?run=bridges"), server)
    expect(page.get_by_text("the key is refused")).to_be_visible()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert SECRET not in page.content()
    assert server.count < 10
