"""Browser tests of the Evaluate page: cost, start, progress, cancel, resume, and secrecy of the key."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from starlette.responses import JSONResponse
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from tests.browser.conftest import OpenPage, serving, settled
from tests.chat_server import ChatServer, chat_server, status
from tests.local_models import nli_model

from ragboard import Passage, Run, Sample, Store
from ragboard.analysis import failures, leaderboard
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.progress import Progress, live_evaluations, write_progress

SECRET = "sk-typed-by-a-person"
HEADER = "search-team-7c1f"
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
    page.get_by_role("radio", name="Chat model").click()
    expect(page.get_by_role("checkbox", name="Answer relevance (rated)")).to_have_count(0)
    for name in ("Answer relevance", "Context relevance"):
        chosen = settled(page).get_by_role("checkbox", name=name, exact=True)
        expect(chosen).to_be_checked()  # the default metrics of a chat model are there, no longer the embedded judge's
        chosen.uncheck()
    page.get_by_role("textbox", name="Model", exact=True).fill(model)
    page.get_by_role("textbox", name="Base URL").fill(server.url)
    page.get_by_role("spinbutton", name="Concurrent requests").fill(str(together))
    page.keyboard.press("Tab")
    expect(page.get_by_text(f"by openai:{model}: ", exact=False)).to_contain_text("1 metric of ")
    expect(page.get_by_text(f"are sent to {server.url.split('/')[2]}")).to_be_visible()
    return settled(page)


class Together:
    """Between a browser and its server: two requests for a rerun arrive within `gap` seconds, once `holding` is set."""

    def __init__(self, page: Page) -> None:
        self.gap = 0.0
        self.holding = False
        self.held: list[bytes] = []
        page.route_web_socket("**", self._between)

    def _between(self, browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()

        def asks(message: str | bytes) -> None:
            reruns = isinstance(message, bytes) and BackMsg.FromString(message).WhichOneof("type") == "rerun_script"
            if not (self.holding and reruns):
                server.send(message)
                return
            assert isinstance(message, bytes)
            self.held.append(message)
            if len(self.held) == 2:
                self.holding = False
                server.send(self.held[0])
                time.sleep(self.gap)
                server.send(self.held[1])
                self.held.clear()

        browser.on_message(asks)
        server.on_message(browser.send)


@pytest.mark.slow
def test_a_tick_counts_even_if_the_next_input_comes_before_the_server_has_looked_at_it(
    store: Store, dashboard: str, open_page: OpenPage, server: ChatServer
) -> None:
    keep(store)
    page = open_page("about:blank")
    together = Together(page)
    page.goto(f"{dashboard}/evaluate?run=bridges")
    planned(page, server)
    box = page.get_by_role("checkbox", name="Context relevance", exact=True)
    for attempt in range(16):
        together.gap = attempt % 8 / 2000
        together.holding = True
        settled(page)
        box.click()
        page.wait_for_timeout(50)
        page.get_by_role("textbox", name="Model", exact=True).fill(f"m{attempt}")
        page.keyboard.press("Tab")
        number = "2 metrics" if box.is_checked() else "1 metric"
        expect(page.get_by_text(f"by openai:m{attempt}: ")).to_contain_text(f"{number} of ")


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
    expect(page.get_by_text("6 calls, ")).to_contain_text("cost unknown (no price for m)")
    assert server.count == 0
    server.delay = lambda: SLOW
    page.get_by_role("textbox", name="Key").fill(SECRET)
    page.get_by_role("textbox", name="Headers").fill(f"X-Team: {HEADER}")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/run?*")
    expect(page.get_by_text("judged by openai:m", exact=False).first).to_be_visible()
    arguments = b"".join(path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if readable(path))
    content = finished(page).content()
    assert set(server.keys) == {f"Bearer {SECRET}"}
    assert {one["x-team"] for one in server.headers} == {HEADER}
    files = [path for path in store.folder.rglob("*") if path.is_file()]
    assert len(files) > 4
    for secret in (SECRET, HEADER):
        assert secret not in content
        assert secret.encode() not in arguments
        assert secret not in page.url
        assert all(secret.encode() not in path.read_bytes() for path in files)
    expect(page.get_by_text("0.50 Faithfulness")).to_be_visible()
    expect(page.get_by_text(", judged by ")).to_have_count(0)


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
    expect(page.get_by_text("openai:m: running")).to_be_visible()
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
        expect(page.get_by_text("openai:m: running")).to_be_visible()
    with serving(store.folder) as address:
        page = settled(open_page(address))
        expect(page.get_by_text("bridges: running")).to_be_visible()
        page.get_by_role("button", name="Watch").click()
        page.wait_for_url("**/run?*")
        (live,) = live_evaluations(store)
        os.kill(live.progress.pid, signal.SIGTERM)
        expect(page.get_by_text("interrupted: its process ended unexpectedly")).to_be_visible()
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
    expect(page.get_by_text(", judged by openai:one: running")).to_be_visible()
    expect(page.get_by_text(", judged by openai:two: running")).to_be_visible()
    page.goto(dashboard)
    expect(page.get_by_text("bridges: running")).to_have_count(2)
    for live in live_evaluations(store):
        os.kill(live.progress.pid, signal.SIGTERM)
    expect(page.get_by_text("bridges: running")).to_have_count(0)


@pytest.mark.slow
def test_what_failed_is_reported_by_kind_and_asked_again(
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


class LateTick:
    """Between a browser and its server: as another page begins, the last tick of the one before comes once more.

    So it is where a tick is under way while a person leaves the page.
    """

    def __init__(self, page: Page) -> None:
        self.tick = b""
        self.came_late = False
        page.route_web_socket("**", self._between)

    def _between(self, browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()

        def asks(message: str | bytes) -> None:
            if isinstance(message, bytes) and BackMsg.FromString(message).rerun_script.is_auto_rerun:
                self.tick = message
            server.send(message)

        def says(message: str | bytes) -> None:
            if self.tick and isinstance(message, bytes) and self._leaves(ForwardMsg.FromString(message)):
                server.send(self.tick)
                self.came_late = True
            browser.send(message)

        browser.on_message(asks)
        server.on_message(says)

    def _leaves(self, begun: ForwardMsg) -> bool:
        whole = begun.WhichOneof("type") == "new_session" and not begun.metadata.run.fragment_ids
        left = BackMsg.FromString(self.tick).rerun_script.page_script_hash
        return whole and left != begun.new_session.page_script_hash


def test_a_page_that_is_opened_while_an_evaluation_runs_stays(
    store: Store, dashboard: str, open_page: OpenPage
) -> None:
    keep(store)
    journal = store.journal_path("held")
    run = store.resolve("bridges").run_id
    header = {"evaluation": "held", "run": run, "judge": "held", "metrics": [], "judging": None, "identity": {}}
    with open_journal(journal, header):
        now = Progress(state="running", pid=os.getpid(), done=1, total=3, started=0, updated=0)
        write_progress(journal.with_suffix(".status.json"), now)
        page = open_page("about:blank")
        between = LateTick(page)
        page.goto(dashboard)
        expect(page.get_by_text("bridges: running")).to_be_visible()
        while not between.tick:
            page.wait_for_timeout(50)
        left = between.tick
        page.get_by_role("button", name="Watch").click()
        page.wait_for_url("**/run?*")
        while not between.came_late or between.tick == left:  # until the new page has had a tick of its own
            page.wait_for_timeout(50)
        expect(page.locator("#samples tbody").get_by_role("link").first).to_be_visible()


def test_metrics_are_chosen_into_the_address_and_what_cannot_be_scored_is_not_started(
    store: Store, dashboard: str, open_page: OpenPage
) -> None:
    keep(store)
    page = settled(open_page(f"{dashboard}/evaluate?run=bridges&metrics=faithfulness,coherence"))
    expect(page.get_by_text("Coherence needs a chat model. Remove it,")).to_be_visible()
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    page.get_by_role("searchbox", name="Find a metric").fill("reference context recall")
    recall = page.get_by_role("checkbox", name="Context recall", exact=True)
    expect(recall).to_be_disabled()
    expect(page.get_by_text("needs a reference: the file has none").filter(visible=True).first).to_be_visible()
    page.get_by_role("searchbox", name="Find a metric").fill("")
    page.get_by_role("checkbox", name="Coherence", exact=True).uncheck()
    expect(page.get_by_text("1 metric of 3 samples by embedded: no calls")).to_be_visible()
    expect(page.get_by_role("button", name="Start")).to_be_enabled()
    page.wait_for_url("**metrics=ragas.faithfulness")
    expect(page.get_by_role("checkbox", name="Coherence", exact=True)).to_be_disabled()
    page.get_by_role("radio", name="Chat model").click()
    expect(page.get_by_role("checkbox", name="Coherence", exact=True)).to_be_enabled()
    expect(page.get_by_role("checkbox", name="Faithfulness", exact=True)).to_be_checked()


def test_a_refused_key_is_reported_in_one_line(
    store: Store, dashboard: str, open_page: OpenPage, server: ChatServer
) -> None:
    keep(store)
    server.faults = [status(401, f"wrong key {SECRET}")] * 20
    page = started(open_page(f"{dashboard}/evaluate?run=bridges"), server)
    expect(page.get_by_text("the key is refused")).to_be_visible()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert SECRET not in page.content()
    assert server.count < 10


def test_a_local_model_by_its_folder_from_the_page_to_the_numbers(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep(store)
    model = nli_model(tmp_path / "model")
    page = settled(open_page(f"{dashboard}/evaluate?run=bridges"))
    page.get_by_role("radio", name="Local model").click()
    for name in ("Answer relevance (rated)", "Context relevance"):
        settled(page).get_by_role("checkbox", name=name, exact=True).uncheck()
    expect(page.get_by_role("button", name="Start")).to_be_disabled()
    expect(page.get_by_text("lytang/MiniCheck-Flan-T5-Large: English, MIT, 0.8B, 3.1 GB")).to_be_visible()
    expect(page.get_by_text("Not on this machine: it is downloaded")).to_be_visible()
    expect(page.get_by_role("button", name="Download it")).to_be_visible()
    box = page.get_by_role("combobox", name="Model")
    box.fill(str(model))
    box.press("Enter")
    expect(page.get_by_text("Not on this machine")).to_have_count(0)
    expect(page.get_by_text("only verifies statements. The embedded judge", exact=False)).to_be_visible()
    expect(page.get_by_text("1 metric of 3 samples")).to_contain_text("Nothing leaves this machine.")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/run?*")
    finished(page)
    expect(page.get_by_text(f"local:{model} + embedded").first).to_be_visible()
    (summary,) = leaderboard(store)
    assert summary.metrics["ragas.faithfulness"].scored == 3
