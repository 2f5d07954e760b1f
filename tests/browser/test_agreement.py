"""Browser tests of the Agreement page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import PATIENCE, OpenPage, Serve, settled

from ragboard import Run, Store, evaluate_run
from ragboard.human.agree import agree
from ragboard.judges import JudgeOptions, panel_named
from ragboard.metrics import metrics_named
from ragboard.readers.labels import read_labels
from ragboard.sample_files import sample_folder

DRAWN = 1000 * PATIENCE
"""Milliseconds that a page may take to judge a file and draw its intervals."""

HOSTILE = "<img src=x onerror=document.title='owned'> **bold** [x](javascript:alert(1)) \u202eabc"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, serve: Serve) -> Iterator[str]:
    with serve(tmp_path_factory.mktemp("agreement")) as address:
        yield address


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Graded answers in which every text is hostile."""
    path = tmp_path / "graded.jsonl"
    rows = [
        {
            "id": f"{HOSTILE}{number}",
            "question": f"{HOSTILE} {number}?",
            "answer": f"It is red. {HOSTILE}" if number % 3 else "It was blue in 1999.",
            "contexts": [f"It is red. {HOSTILE}"],
            "grades": {"faithfulness": [4, 3] if number % 3 else [1, 2], HOSTILE: [1, 2]},
            "scores": {HOSTILE: number},
        }
        for number in range(24)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_from_a_dropped_file_to_a_disagreement(served: str, open_page: OpenPage, graded: Path) -> None:
    page = settled(open_page(f"{served}/agreement"))
    expect(page.get_by_role("heading", name="Can a metric be trusted?")).to_be_visible()
    page.locator("input[type=file]").set_input_files(sample_folder() / "labels" / "pairs.jsonl")
    page.wait_for_url("**agreement=*")
    metrics = page.get_by_role("rowheader", name="RAGAS metrics by the embedded judge (rule-based)", exact=True)
    row = page.get_by_role("row").filter(has=metrics)
    expect(row).to_contain_text("30 pairs", timeout=DRAWN)
    answers = page.locator(".rb-answer p")
    expect(answers).to_have_count(3)
    expect(answers.first).to_have_text(
        "RAGAS faithfulness by the embedded judge (rule-based) agrees with the human preference 87% of the time,"
        " word overlap 57%: significantly better."
    )
    expect(answers.last).to_contain_text("73% of the time, word overlap 100%: significantly worse.")
    assert answers.first.bounding_box()["y"] < row.bounding_box()["y"]  # type: ignore[index]
    expect(page.get_by_role("row").filter(has_text="GPT Ranking (RAGAS paper)")).to_contain_text("0.54")
    page.goto(f"{page.url}&ties=half")
    settled(page).get_by_text("Method", exact=True).click(timeout=DRAWN)
    expect(page.get_by_role("combobox", name="Ties")).to_have_value("A tie is half right", timeout=DRAWN)

    question = settled(page).get_by_role("row").filter(has_text="✕ wrong").get_by_role("link").first
    asked = question.inner_text()
    question.press("Enter")  # a click can miss a row that the opening of "Method" still moves
    page.wait_for_url("**item=*")
    expect(page.get_by_role("heading", name=asked)).to_be_visible()
    expect(page.get_by_role("region", name="Answer of B")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name=asked)).to_be_visible()
    page.get_by_role("button", name="Back to agreement").click()
    settled(page).get_by_text("Method", exact=True).click(timeout=DRAWN)
    expect(page.get_by_role("combobox", name="Ties")).to_have_value("A tie is half right", timeout=DRAWN)

    settled(page).get_by_role("button", name="Another file").click()
    page.locator("input[type=file]").set_input_files(graded)
    expect(page.get_by_role("combobox", name="Labels")).to_have_value(
        re.compile("^graded: 24 graded answers, embedded"), timeout=DRAWN
    )
    expect(page.get_by_role("row").filter(has_text="annotators, each vs the others")).to_be_visible(timeout=DRAWN)
    expect(page.get_by_role("img", name="AUROC")).to_be_visible()
    page.get_by_role("link").filter(has_text="<img").first.click()
    page.wait_for_url("**item=*")
    expect(page.get_by_text("Scores for")).to_have_count(2)
    assert page.title() != "owned"
    assert (
        page.locator("#agreement img, #compare img, [data-testid=stHtml] img, [data-testid=stMarkdown] img").count()
        == 0
    )
    expect(page.locator("[data-testid=stException]")).to_have_count(0)

    narrow = settled(open_page(page.url.split("&item")[0], width=400, height=860))
    narrow.wait_for_selector("#agreement")
    assert narrow.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.goto(f"{served}/agreement?agreement=graded&at_least=9")
    page.get_by_role("button", name="Reset to the middle of the scale").click()
    expect(page.get_by_role("row").filter(has_text="annotators, each vs the others")).to_be_visible(timeout=DRAWN)
    settled(page).get_by_text("Delete this agreement").click()
    settled(page).get_by_text("Delete permanently").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="GPT Ranking (RAGAS paper)")).to_be_visible(timeout=DRAWN)
    lost = settled(open_page(f"{served}/agreement?agreement=nope"))
    expect(lost.get_by_text("no agreement is called 'nope'")).to_be_visible()


def test_graded_answers_are_found_from_runs_compare_and_estimate_and_lead_to_their_statements(
    tmp_path: Path, serve: Serve, open_page: OpenPage, graded: Path
) -> None:
    store = Store(tmp_path / "store")
    panel = panel_named(JudgeOptions())
    rows = read_labels(str(graded))
    agree(store, rows, panel)
    samples = tuple(replace(item.samples[0], id=f"s{number}") for number, item in enumerate(rows.items))
    runs = [Run(name=name, samples=samples[: len(samples) - cut]) for cut, name in enumerate("ab")]
    for added in store.add_runs(runs):
        evaluate_run(store, added.id, metrics_named(["faithfulness"]), panel)
    with serve(store.folder) as address:
        for path in ("", "/compare?a=a&b=b"):
            page = settled(open_page(f"{address}{path}"))
            expect(
                page.get_by_text(re.compile(r"^47 graded answers for .*graded.*: see how well the metrics agree"))
            ).to_be_visible()
        page = settled(open_page(f"{address}/estimate?runs=a"))
        expect(page.get_by_text("An estimate needs labels of a random sample of the run")).to_be_visible()
        page.get_by_role("link", name="See agreement").last.click()
        page.wait_for_url("**/agreement?*")
        settled(page).get_by_role("row").filter(has_text="It was blue").get_by_role("link").first.click()
        page.get_by_role("link", name="Statements and verdicts of this answer").click(timeout=DRAWN)
        page.wait_for_url("**/sample?*")
        expect(settled(page).get_by_text("It was blue in 1999.").first).to_be_visible()
