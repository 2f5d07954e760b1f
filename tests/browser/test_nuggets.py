"""Browser tests of nuggets: edit, approve, judge again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from playwright.sync_api import Page, expect
from tests.browser.conftest import OpenPage, settled
from tests.chat_server import ChatServer, chat_server

from ragboard import Nugget, Run, Sample, Store
from ragboard.cli import main
from ragboard.datasets import load_dataset, save_nuggets

HOSTILE = "<b>It</b> :red[is] tall"
OPENED = (Nugget(text="The bridge opened in 1999", importance="vital"), Nugget(text=HOSTILE, importance="okay"))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
def judged(store: Store, server: ChatServer) -> Store:
    """A run whose answer was judged with nuggets that nobody has approved."""
    samples = (
        Sample(id="1", question="When did the bridge open?", answer="The bridge opened in 2001.", reference="In 2001."),
        Sample(id="2", question="Who built it?", answer="Ines Dahl."),
    )
    store.add_runs([Run(name="one", samples=samples, dataset="bridges")])
    save_nuggets(store, load_dataset(store, "one").questions[0], OPENED, author="gpt", approved=False)
    command = ["evaluate", "one", "--metrics", "nuggets.vital_strict", "--judge", "openai:m", "--base-url", server.url]
    result = CliRunner().invoke(main, [*command, "--store", str(store.folder)], env={"OPENAI_API_KEY": "k"})
    assert result.exit_code == 0, result.output
    return store


def edit_first_nugget(page: Page, text: str) -> None:
    """Type over the first cell of the editor, whose cells are drawn on a canvas."""
    canvas = page.locator(".dvn-scroller").first
    canvas.scroll_into_view_if_needed()
    expect(page.locator("canvas td").first).to_be_attached()  # the cells, for those who do not see
    canvas.dblclick(position={"x": 160, "y": 52})
    typed = page.locator(".gdg-input")
    expect(typed).to_be_visible()
    typed.fill(text)
    page.keyboard.press("Enter")
    expect(page.locator("canvas td", has_text=text)).to_be_attached()


def test_edit_approve_and_see_the_scores_follow(
    judged: Store, dashboard: str, open_page: OpenPage, server: ChatServer
) -> None:
    page = settled(open_page(f"{dashboard}/dataset?dataset=bridges"))
    expect(page.get_by_text("Nuggets by gpt, not approved")).to_be_visible()
    scores = page.locator(".rb-nuggets tfoot tr").first
    expect(scores).to_contain_text("0.00")
    expect(page.locator(".rb-nuggets tbody th").nth(1)).to_have_text(HOSTILE)
    asked = server.count

    edit_first_nugget(page, "The bridge opened in 2001")
    page.get_by_role("textbox", name="Your name").fill("Ada")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Nuggets by Ada, approved, version 2")).to_be_visible()
    (first, _) = load_dataset(judged, "bridges").questions
    assert first.nuggets is not None
    assert first.nuggets.nuggets == (Nugget(text="The bridge opened in 2001", importance="vital"), OPENED[1])
    expect(scores).to_contain_text("not judged with these nuggets")
    expect(page.get_by_text("1 answer was judged with earlier nuggets (one: 1).")).to_be_visible()

    page.get_by_role("textbox", name="Key").fill("sk-typed")
    page.get_by_role("button", name="Judge them again").click()
    expect(scores).to_contain_text("1.00")
    expect(page.get_by_text("judged with earlier nuggets")).to_have_count(0)
    assert server.count == asked + 1


def test_a_question_without_nuggets_takes_some_by_hand(judged: Store, dashboard: str, open_page: OpenPage) -> None:
    page = settled(open_page(f"{dashboard}/dataset?dataset=bridges&show=without+nuggets"))
    expect(page.get_by_text("Who built it?")).to_be_visible()
    edit_first_nugget(page, "Ines Dahl built it")
    page.get_by_role("textbox", name="Your name").fill("Ada")
    page.get_by_role("button", name="Save without approving").click()
    expect(page.get_by_text("There are no such questions.")).to_be_visible()
    found = load_dataset(judged, "bridges").questions[1].nuggets
    assert found is not None
    assert (found.nuggets, found.approved) == ((Nugget(text="Ines Dahl built it", importance="vital"),), False)
