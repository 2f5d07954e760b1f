"""A person labels by keyboard without seeing the judge, sees agreement grow, undoes, and takes the labels elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner
from playwright.sync_api import Page, expect
from tests.browser.conftest import PATIENCE, OpenPage, settled
from tests.browser.test_pages import HOSTILE, keep_rows

from ragboard import Store
from ragboard.cli import main
from ragboard.human.annotation import draw_of, labelled_samples


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
    page.get_by_role("textbox", name="Your name").fill("ada")
    page.keyboard.press("Enter")
    page.get_by_role("spinbutton", name="Samples").fill("11")
    page.get_by_role("button", name="Draw").click()
    progress(page, r"0 of 11 samples, 0 labels · drawn at random from 12 \(seed 0\)$")
    expect(page.get_by_role("listbox", name="Statements").get_by_role("option")).to_have_count(2)
    assert page.get_by_text("embedded").count() == 0, "blind to the judge"
    assert page.evaluate("window.hacked") is None

    page.keyboard.press("n")
    page.keyboard.type("12 of them")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Note")).not_to_be_focused()
    settled(page)
    pressed(page, "1", "0 of 11 samples, 1 label ")
    assert page.get_by_text("kappa").count() == 0, "nothing of the judge before a sample is finished"
    pressed(page, "2", "1 of 11 samples, 2 labels .* kappa with the judge 1.00 on 2 statements")
    for done in range(2, 11):
        pressed(page, "12" if done < 10 else "11", f"{done} of 11 samples, {2 * done} labels")
    progress(page, "10 of 11 samples, 20 labels .* kappa with the judge 0.90 on 20 statements")

    settled(page).keyboard.press("u")
    progress(page, "9 of 11 samples, 19 labels .* kappa with the judge 1.00 on 18 statements")
    settled(page)
    expect(page.get_by_role("option", selected=True)).to_contain_text("million euros")
    pressed(page, "k3", "9 of 11 samples, 19 labels")
    expect(page.get_by_role("option").first).to_contain_text("contradicted")
    pressed(page, "j2", "10 of 11 samples, 20 labels .* kappa with the judge 0.9")
    settled(page).keyboard.press("s")
    progress(page, "10 of 11 samples")

    found = labelled_samples(store, store.resolve("rows"))
    assert [row.place for row in found.rows] == list(range(1, 11))
    assert sum(row.outcome for row in found.rows) == 9 * 0.5 + 0.0
    assert found.draw == draw_of(store, store.resolve("rows"))
    file = tmp_path / "labels.jsonl"
    ragboard(store.folder, "labels", "export", "-o", str(file))
    assert "12 of them" in file.read_text(encoding="utf-8")
    fresh = Store(tmp_path / "fresh")
    keep_rows(fresh, tmp_path, rows(), "rows")
    assert "20 labels imported from 10 rows" in ragboard(fresh.folder, "labels", "import", str(file))
    again = labelled_samples(fresh, fresh.resolve("rows"), "imported")
    assert (len(again.rows), again.design) == (10, "random")


def test_a_verdict_can_be_given_again_after_it_was_taken_back_and_by_the_next_person(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep_rows(store, tmp_path, rows()[:2], "rows")
    page = settled(open_page(f"{dashboard}/annotate?run=rows&annotator=ada"))
    page.get_by_role("button", name="Draw").click()
    progress(page, "0 of 2 samples, 0 labels")
    expect(page.get_by_role("listbox", name="Statements").get_by_role("option")).to_have_count(2)
    pressed(page, "1", "0 of 2 samples, 1 label ")
    pressed(page, "u", "0 of 2 samples, 0 labels")
    pressed(page, "1", "0 of 2 samples, 1 label ")
    page.get_by_role("textbox", name="Your name").fill("bob")
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Your name").blur()
    progress(page, "0 of 2 samples, 0 labels")
    pressed(page, "1", "0 of 2 samples, 1 label ")


def test_answers_are_graded_and_pairs_compared_by_keyboard_at_any_width(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep_rows(store, tmp_path, rows()[:2], "one")
    keep_rows(store, tmp_path, [row | {"answer": "It is red."} for row in rows()[:2]], "two")
    page = settled(open_page(f"{dashboard}/annotate?run=one&what=answers&annotator=ada", width=400))
    page.get_by_role("button", name="Draw").click()
    progress(page, "0 of 2 samples")
    settled(page)
    pressed(page, "4", "1 of 2 samples, 1 label")
    pressed(page, "2", "2 of 2 samples, 2 labels")
    expect(page.get_by_text("You have labelled everything in this queue")).to_be_visible()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 402
    assert sorted(row.outcome for row in labelled_samples(store, store.resolve("one"), kind="grade").rows) == [
        0.25,
        0.75,
    ]

    page = settled(open_page(f"{dashboard}/annotate?run=one&against=two&what=pairs&annotator=ada"))
    page.get_by_role("button", name="Draw").click()
    progress(page, "0 of 2 samples")
    for done in (1, 2):
        settled(page)
        columns = page.get_by_test_id("stColumn")
        expect(columns.filter(has=page.get_by_role("heading", name="A", exact=True))).to_be_visible()
        first = columns.filter(has=page.get_by_role("heading", name="A", exact=True)).inner_text()
        pressed(page, "b" if "It is red." in first else "a", f"{done} of 2 samples")
    with store.database.read() as connection:
        keys = connection.execute(
            "SELECT DISTINCT s.run_id FROM current_labels l JOIN samples s ON s.answer_key ="
            " if(l.value = 'a', l.answer_key, l.other_key) WHERE l.kind = 'preference'"
        ).fetchall()
    assert keys == [(store.resolve("one").run_id,)], (
        "the preferred answer is that of the first run, whichever side it was on"
    )
