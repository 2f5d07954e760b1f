"""Browser tests of the Annotate page."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Page, expect
from tests.browser.conftest import PATIENCE, OpenPage, settled
from tests.browser.test_pages import HOSTILE, keep_rows

from ragboard import Store
from ragboard.cli import main
from ragboard.human.annotation import find_draw, labelled_samples
from ragboard.records import Label
from ragboard.store.queries.labels import latest_verdicts


def rows() -> list[dict[str, object]]:
    passages = ["The bridge opened to traffic on 1 July 2000.", "A toll is paid at the western end."]
    made = "The bridge opened in July 2000. It cost {} million euros."
    return [
        {
            "id": f"s{n}",
            "question": f"When did bridge {n} open? {HOSTILE}",
            "answer": made.format(n),
            "contexts": passages,
        }
        for n in range(12)
    ]


def ragboard(store: Path, *words: str) -> str:
    return CliRunner().invoke(main, [*words, "--store", str(store)], catch_exceptions=False).output


def progress(page: Page, words: str) -> None:
    expect(page.get_by_text(re.compile(rf"^{words}")).first).to_be_visible(timeout=PATIENCE * 1000)


def wait_for_label(store: Store, label: Label) -> None:
    """Wait until the newest label of the run is in the store."""
    evaluation = store.resolve("rows").evaluation_id or ""
    for _ in range(PATIENCE * 20):
        with store.database.read() as connection:
            if label in latest_verdicts(connection, evaluation).values():
                return
        time.sleep(0.05)
    pytest.fail(f"no statement is labelled {label}")


def pressed(page: Page, keys: str, words: str) -> None:
    """Press one key after the other, as fast as they come, and wait for what the page then says."""
    settled(page)
    for key in keys:
        page.keyboard.press(key)
    progress(page, words)
    settled(page)


def test_statements_are_labelled_by_keyboard_undone_and_taken_elsewhere(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep_rows(store, tmp_path, rows(), "rows")
    page = settled(open_page(f"{dashboard}/annotate?run=rows"))
    expect(page.get_by_role("heading", name="Label rows")).to_be_visible()
    expect(page.get_by_text("A batch is 12 answers, about 24 statements: about 12 minutes")).to_be_visible()
    page.get_by_role("textbox", name="Your name").fill("ada")
    page.get_by_text("Another size").click()
    page.get_by_role("spinbutton", name="Samples").fill("11")
    page.get_by_role("button", name="Start labelling").click()
    progress(page, "0 of 22 statements, about 10 minutes left$")
    expect(
        page.get_by_text("30 seconds per statement, an assumption · drawn at random from 12 (seed 0)")
    ).to_be_visible()
    expect(page.get_by_text("Label rows", exact=True)).to_be_visible()
    expect(page.get_by_role("listbox", name="Statements").get_by_role("option")).to_have_count(2)
    assert page.get_by_text("embedded").count() == 0, "blind to the judge"
    assert page.evaluate("window.hacked") is None

    page.keyboard.press("n")
    page.keyboard.type("12 of them")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Note")).not_to_be_focused()
    settled(page)
    pressed(page, "1", "1 of 22 statements, about 10 minutes left")
    assert page.get_by_text("kappa").count() == 0, "nothing of the judge before a sample is finished"
    pressed(page, "2", "2 of 22 statements")
    expect(page.get_by_text("kappa with the judge 1.00 on 2 statements")).to_be_visible()
    for done in range(2, 11):
        pressed(page, "12" if done < 10 else "11", f"{2 * done} of 22 statements")
    expect(page.get_by_text("your pace so far")).to_be_visible()
    expect(page.get_by_text("kappa with the judge 0.90 on 20 statements")).to_be_visible()

    settled(page).keyboard.press("u")
    progress(page, "19 of 22 statements")
    expect(page.get_by_text("kappa with the judge 1.00 on 18 statements")).to_be_visible()
    settled(page)
    expect(page.get_by_role("option", selected=True)).to_contain_text("million euros")
    pressed(page, "k3", "19 of 22 statements")
    expect(page.get_by_role("option").first).to_contain_text("contradicted")
    wait_for_label(store, "contradicted")  # the page shows it before the server has it
    pressed(page, "j2", "20 of 22 statements")
    expect(page.get_by_text(re.compile("kappa with the judge 0.9"))).to_be_visible()
    settled(page).keyboard.press("s")
    progress(page, "20 of 22 statements")

    found = labelled_samples(store, store.resolve("rows"))
    assert [row.draw_number for row in found.rows] == list(range(1, 11))
    assert sum(row.outcome for row in found.rows) == 9 * 0.5 + 0.0
    assert found.draw == find_draw(store, store.resolve("rows"))
    file = tmp_path / "labels.jsonl"
    ragboard(store.folder, "labels", "export", "-o", str(file))
    assert "12 of them" in file.read_text(encoding="utf-8")
    fresh = Store(tmp_path / "fresh")
    keep_rows(fresh, tmp_path, rows(), "rows")
    assert "20 labels imported from 10 rows" in ragboard(fresh.folder, "labels", "import", str(file))
    again = labelled_samples(fresh, fresh.resolve("rows"), "imported")
    assert (len(again.rows), again.design) == (10, "random")

    pressed(page, "12", "22 of 22 statements")
    expect(page.get_by_role("heading", name="This batch is labelled")).to_be_visible()
    expect(page.get_by_text("this run has 11")).to_be_visible()
    url = page.url
    page.get_by_role("button", name="See agreement").click()
    page.wait_for_url("**/agreement?agreement=run*")
    expect(page.locator(".rb-answer p").last).to_contain_text("ranks a supported statement", timeout=60_000)
    expect(page.get_by_text("22 labelled statements").first).to_be_visible()
    keep_rows(store, tmp_path, rows()[:2], "newer")
    page = settled(open_page(url))
    page.get_by_role("button", name="Estimate faithfulness with these labels").click()
    page.wait_for_url("**/estimate?*runs=rows*")
    expect(page.get_by_text(re.compile("rows: estimated mean .*, 11 labels"))).to_be_visible()
    expect(page.get_by_text(re.compile("rows: judge checked against 22 labels: balanced accuracy"))).to_be_visible()
    expect(page.get_by_role("link", name="See agreement")).to_be_visible()
    expect(page.get_by_text("newer")).to_have_count(0)
    page = settled(open_page(url))
    page.get_by_role("button", name="Another batch: 1 more").click()
    progress(page, "22 of 24 statements")


def test_a_verdict_can_be_given_again_after_it_was_taken_back_and_by_the_next_person(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep_rows(store, tmp_path, rows()[:2], "rows")
    page = settled(open_page(f"{dashboard}/annotate?run=rows&annotator=ada"))
    page.get_by_role("button", name="Start labelling").click()
    progress(page, "0 of 4 statements")
    expect(page.get_by_role("listbox", name="Statements").get_by_role("option")).to_have_count(2)
    pressed(page, "1", "1 of 4 statements")
    pressed(page, "u", "0 of 4 statements")
    pressed(page, "1", "1 of 4 statements")
    page.get_by_role("button", name="Setup").click()
    page.get_by_role("textbox", name="Your name").fill("bob")
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Your name").blur()
    page.keyboard.press("Escape")
    progress(page, "0 of 4 statements")
    pressed(page, "1", "1 of 4 statements")


def test_answers_are_graded_and_pairs_compared_by_keyboard_at_any_width(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep_rows(store, tmp_path, rows()[:2], "one")
    keep_rows(store, tmp_path, [row | {"answer": "It is red."} for row in rows()[:2]], "two")
    page = settled(open_page(f"{dashboard}/annotate?run=one&what=answers&annotator=ada", width=400))
    page.get_by_role("button", name="Start labelling").click()
    progress(page, "0 of 2 answers")
    settled(page)
    pressed(page, "4", "1 of 2 answers")
    pressed(page, "2", "2 of 2 answers")
    expect(page.get_by_text("This batch is labelled")).to_be_visible()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 402
    assert sorted(row.outcome for row in labelled_samples(store, store.resolve("one"), kind="grade").rows) == [
        0.25,
        0.75,
    ]

    page = settled(open_page(f"{dashboard}/annotate?run=one&against=two&what=pairs&annotator=ada"))
    page.get_by_role("button", name="Start labelling").click()
    progress(page, "0 of 2 pairs")
    for done in (1, 2):
        settled(page)
        columns = page.get_by_test_id("stColumn")
        expect(columns.filter(has=page.get_by_role("heading", name="A", exact=True))).to_be_visible()
        first = columns.filter(has=page.get_by_role("heading", name="A", exact=True)).inner_text()
        pressed(page, "b" if "It is red." in first else "a", f"{done} of 2 pairs")
    with store.database.read() as connection:
        keys = connection.execute(
            "SELECT DISTINCT s.run_id FROM current_labels l JOIN samples s ON s.answer_key ="
            " if(l.value = 'a', l.answer_key, l.other_key) WHERE l.kind = 'preference'"
        ).fetchall()
    assert keys == [(store.resolve("one").run_id,)], (
        "the preferred answer is that of the first run, whichever side it was on"
    )
