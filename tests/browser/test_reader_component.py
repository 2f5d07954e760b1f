"""Browser tests of the statement reader: selection, keys, hostile text, widths, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from tests.browser.conftest import AT_REST, OpenPage


@pytest.fixture(scope="module")
def address(serve_script: Callable[[Path], str]) -> str:
    return serve_script(Path(__file__).with_name("reader_script.py"))


@pytest.fixture
def reader(address: str, open_page: OpenPage) -> Callable[..., Page]:
    def open_(query: str = "", **settings: object) -> Page:
        page = open_page(f"{address}/?{query}", **settings)
        page.get_by_role("listbox").wait_for()
        return page

    return open_


@pytest.fixture(scope="module")
def untouched(address: str, contexts: Callable[[str], BrowserContext]) -> Iterator[Page]:
    """A page that tests only look at, without a chosen statement."""
    page = contexts("light").new_page()
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(address)
    page.get_by_role("listbox").wait_for()
    yield page
    page.close()


def option(page: Page, number: int) -> Locator:
    return page.get_by_role("option").nth(number - 1)


def chosen_option(page: Page) -> Locator:
    return page.get_by_role("option", selected=True)


def expect_told(page: Page, chosen: int | None) -> None:
    """Python knows of the choice."""
    expect(page.get_by_text(f"chosen: {chosen}", exact=True)).to_be_visible()


def test_nothing_is_chosen_at_first_and_a_hint_says_what_to_do(untouched: Page) -> None:
    expect(untouched.get_by_role("status")).to_have_text("Click a statement to see its evidence")
    expect(chosen_option(untouched)).to_have_count(0)
    expect(untouched.locator(".passages mark")).to_have_count(0)


def test_choosing_in_the_list_marks_the_evidence_and_tells_python(reader: Callable[..., Page]) -> None:
    page = reader()
    option(page, 1).click()
    expect(page.locator(".passages mark")).to_have_text(["Per Holm 😀"])
    expect(page.get_by_role("status")).to_contain_text("Passage 1 says otherwise.")
    expect(page.get_by_role("status")).to_contain_text("support 0.41")
    expect(page.locator(".passage.named .how")).to_have_text("✕ quoted by the judge")
    expect_told(page, 0)


def test_choosing_a_mark_in_the_answer_chooses_its_statement(reader: Callable[..., Page]) -> None:
    page = reader()
    page.locator(".answer mark", has_text="It is loved").click()
    expect(page.get_by_role("status")).to_contain_text("Not judged.")
    expect(chosen_option(page)).to_contain_text("It is loved.")
    expect_told(page, 4)


def test_a_place_that_two_statements_share_shows_the_worse_and_leads_to_both(reader: Callable[..., Page]) -> None:
    page = reader()
    shared = page.locator(".answer mark", has_text="It has nine sails")
    expect(shared).to_have_class("contradicted")
    shared.click()
    expect(chosen_option(page)).to_contain_text("Why it is contradicted.")
    shared.click()
    expect(chosen_option(page)).to_contain_text("Why it is unsupported.")
    expect(page.locator(".answer mark.chosen")).to_have_text(["It has nine sails", ", and many people visit"])


def test_the_answer_reads_as_it_was_written(untouched: Page) -> None:
    written = (
        "The mill 😀 was built by Ada Lund. It opened in 1901.\nIt has nine sails, and many people visit. It is loved."
    )
    assert untouched.locator(".answer").evaluate("node => node.textContent") == written
    assert untouched.locator(".answer").inner_text() == written


def test_keys_move_the_choice_and_escape_clears_it(reader: Callable[..., Page]) -> None:
    page = reader()
    keys = page.get_by_role("listbox")
    for key, chosen in (("ArrowDown", 0), ("ArrowDown", 1), ("End", 4), ("ArrowDown", 4), ("ArrowUp", 3), ("Home", 0)):
        keys.press(key)
        expect(option(page, chosen + 1)).to_have_attribute("aria-selected", "true")
        expect(chosen_option(page)).to_have_count(1)
        assert keys.get_attribute("aria-activedescendant") == option(page, chosen + 1).get_attribute("id")
    keys.press("Escape")
    expect(chosen_option(page)).to_have_count(0)
    expect_told(page, None)


def test_quick_choices_are_not_undone_by_an_answer_that_comes_late(reader: Callable[..., Page]) -> None:
    page = reader("kind=many")
    seen = page.get_by_role("listbox").evaluate_handle(
        """list => {
            const seen = []
            const note = () => seen.push(list.querySelector('[aria-selected=true]')?.id)
            new MutationObserver(note).observe(list, {subtree: true, attributeFilter: ['aria-selected']})
            return seen
        }"""
    )
    for _ in range(20):
        page.get_by_role("listbox").press("ArrowDown")
    expect_told(page, 19)
    places = [int(name.removeprefix("statement-")) for name in seen.json_value() if name]
    assert places == sorted(places)
    assert places[-1] == 19


def test_an_address_opens_at_its_statement_and_clearing_it_lasts(reader: Callable[..., Page]) -> None:
    page = reader("statement=2")
    expect(chosen_option(page)).to_contain_text("It opened in 1901.")
    expect_told(page, 1)
    page.get_by_role("listbox").press("Escape")
    expect_told(page, None)
    expect(chosen_option(page)).to_have_count(0)


def test_selecting_a_statement_does_not_redraw_the_answer(reader: Callable[..., Page]) -> None:
    page = reader("kind=many")
    mark = page.locator(".answer mark").nth(300)
    mark.evaluate("node => { node.seenBefore = true }")
    option(page, 301).click()
    expect_told(page, 300)
    expect(mark).to_have_class("supported chosen")
    assert mark.evaluate("node => node.seenBefore") is True


def test_a_chosen_statement_far_down_is_brought_into_view(reader: Callable[..., Page]) -> None:
    page = reader("kind=many")
    page.get_by_role("listbox").press("End")
    expect(option(page, 400)).to_be_in_viewport()
    expect(page.locator(".answer mark.chosen")).to_be_in_viewport(ratio=0.9)


def test_a_long_passage_is_clipped_unless_it_has_evidence_beyond_the_clip(reader: Callable[..., Page]) -> None:
    page = reader()
    text = page.locator(".passage").nth(1).locator(".text")
    expect(text).not_to_contain_text("opened to the public")
    option(page, 2).click()
    expect(page.locator(".passages mark")).to_have_text(["opened to the public in 1901"])
    expect(page.locator(".passages mark")).to_be_in_viewport()
    expect(text).to_contain_text("… ")
    page.get_by_role("button", name="Show all").click()
    assert str(text.evaluate("node => node.textContent")).startswith("Grain went to the coast.")
    page.get_by_role("button", name="Show less").click()
    expect(page.get_by_role("button", name="Show all")).to_be_focused()


def test_an_answer_from_right_to_left_reads_from_right_to_left(reader: Callable[..., Page]) -> None:
    page = reader("kind=arabic")
    answer, first, second = (
        found.bounding_box() for found in (page.locator(".answer"), *page.locator(".answer mark").all())
    )
    assert answer is not None
    assert first is not None
    assert second is not None
    assert second["x"] < first["x"]
    assert first["x"] + first["width"] > answer["x"] + answer["width"] - 20


def test_text_from_a_model_is_never_markup(reader: Callable[..., Page]) -> None:
    page = reader("kind=hostile&statement=1")
    expect(page.locator(".passages mark")).to_have_text(["<script>"])
    assert page.locator("#reader :is(img, script)").count() == 0
    assert page.title() != "owned"


STICKING_OUT = """() => {
    const host = [...document.querySelectorAll('*')].find((node) => node.shadowRoot?.querySelector('#reader'))
    const page = host.shadowRoot.querySelector('#reader').getBoundingClientRect()
    const out = (node) => {
        const box = node.getBoundingClientRect()
        return node.checkVisibility() && (box.left < page.left - 1 || box.right > page.right + 1)
    }
    const scrolls = (node) => getComputedStyle(node).overflowX !== 'visible' && node.scrollWidth > node.clientWidth
    return [...host.shadowRoot.querySelectorAll('#reader *'), document.scrollingElement]
        .filter((node) => scrolls(node) || (node !== document.scrollingElement && out(node)))
        .map((node) => node.outerHTML.slice(0, 80))
}"""


@pytest.mark.parametrize("kind", ["mill", "hostile"])
def test_nothing_scrolls_sideways(reader: Callable[..., Page], kind: str) -> None:
    page = reader(f"kind={kind}&statement=1", width=400)
    for width in (400, 760, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(AT_REST)
        assert page.evaluate(STICKING_OUT) == [], width


def test_on_a_narrow_screen_the_evidence_is_under_the_statement(reader: Callable[..., Page]) -> None:
    page = reader(width=400, height=860)
    option(page, 1).click()
    excerpt = chosen_option(page).locator(".excerpt")
    expect(excerpt).to_be_visible()
    expect(excerpt.locator("mark")).to_have_text("Per Holm 😀")
    expect(excerpt).to_contain_text("Passage 1 says otherwise.")
    left, right = page.locator(".list").bounding_box(), page.locator(".passages").bounding_box()
    assert left is not None
    assert right is not None
    assert right["y"] >= left["y"] + left["height"]


def test_on_a_wide_screen_the_passages_are_next_to_the_answer(reader: Callable[..., Page]) -> None:
    page = reader("statement=1")
    expect(page.locator(".excerpt")).to_be_hidden()
    left, right = page.locator(".answer").bounding_box(), page.locator(".passages").bounding_box()
    assert left is not None
    assert right is not None
    assert right["x"] > left["x"] + left["width"]


LOWEST_CONTRAST = """() => {
    const host = [...document.querySelectorAll('*')].find((node) => node.shadowRoot?.querySelector('#reader'))
    const brush = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d')
    const paint = (colours) => {
        for (const colour of ['white', ...colours]) { brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1) }
        return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3)
    }
    const light = (rgb) => {
        const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const found = []
    const texts = document.createTreeWalker(host.shadowRoot.querySelector('#reader'), NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
        const own = texts.currentNode.parentElement
        if (!texts.currentNode.data.trim() || !own.checkVisibility()) continue
        const behind = []
        for (let node = own; node; node = node.parentElement ?? node.getRootNode().host) {
            behind.unshift(getComputedStyle(node).backgroundColor)
        }
        const lights = [light(paint(behind)), light(paint([...behind, getComputedStyle(own).color]))]
        const ratio = (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05)
        found.push([ratio, own.className, texts.currentNode.data.slice(0, 40)])
    }
    return found.sort((x, y) => x[0] - y[0])[0]
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(reader: Callable[..., Page], scheme: str) -> None:
    page = reader(scheme=scheme)
    for statement in (None, 1, 2, 4, 5):
        if statement:
            option(page, statement).click()
            expect_told(page, statement - 1)
        ratio, *where = page.evaluate(LOWEST_CONTRAST)
        assert ratio >= 4.5, (statement, where)


def test_the_three_verdicts_differ_in_the_style_of_their_line(untouched: Page) -> None:
    styles = {
        look: untouched.locator(f".answer mark.{look}").first.evaluate(
            "node => getComputedStyle(node).textDecorationStyle"
        )
        for look in ("supported", "unsupported", "contradicted")
    }
    assert styles == {"supported": "solid", "unsupported": "dashed", "contradicted": "wavy"}


def test_a_mark_says_its_verdict_in_words(untouched: Page) -> None:
    expect(untouched.locator(".answer mark").first).to_have_attribute(
        "title", "contradicted: The mill 😀 was built by Ada Lund."
    )


def test_the_list_has_a_name_and_shows_where_the_focus_is(reader: Callable[..., Page]) -> None:
    page = reader()
    keys = page.get_by_role("listbox", name="Statements")
    page.keyboard.press("Tab")
    while not keys.evaluate("node => node.matches(':focus-visible')"):
        page.keyboard.press("Tab")
    assert keys.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
