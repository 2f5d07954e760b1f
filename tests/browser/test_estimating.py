"""Browser tests of the Estimate page: the estimate changes with each labelled sample."""

from __future__ import annotations

import random
import re
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.conftest import OpenPage, settled
from tests.browser.test_pages import keep_rows

from ragboard import Store
from ragboard.human.annotation import draw_samples
from ragboard.human.labels import LabelledAnswer, NewLabel, add_labels
from ragboard.records import Span
from ragboard.store.rows import answer_key

LABELLED, DRAWN, SAMPLES = 150, 155, 200


def rows() -> list[dict[str, object]]:
    """Of every third answer the passages say nothing."""
    costs = ["It cost {} million euros.", "It was painted green.", "A toll is paid at the western end."]
    return [
        {
            "id": f"s{n}",
            "question": f"When did bridge {n} open?",
            "answer": f"Bridge {n} opened in July 2000. {costs[n % 3].format(n)}",
            "contexts": [f"Bridge {n} opened in July 2000.", "A toll is paid at the western end."],
        }
        for n in range(SAMPLES)
    ]


def label_the_first(store: Store, count: int) -> None:
    """Label so many drawn samples; one statement in six other than the judge has it."""
    run = store.resolve("rows")
    draw = draw_samples(store, run, size=DRAWN)
    samples, chance = dict(store.samples(run.run_id)), random.Random(1)
    with store.database.read() as connection:
        said = connection.execute(
            "SELECT s.position, s.text, s.span_start, s.span_end, s.span_how, v.label FROM statements s JOIN verdicts v"
            " USING (evaluation_id, position, side, statement) WHERE s.evaluation_id = ? AND v.target = 'joint'",
            [run.evaluation_id],
        ).fetchall()
    wanted = set(draw.positions[:count])
    labels = [
        NewLabel(
            annotator="ada",
            kind="verdict",
            answer_key=answer_key(samples[position]),
            value=label if chance.random() > 1 / 6 else "contradicted" if label == "supported" else "supported",
            statement=text,
            span=Span(start=start, end=end, how=how),
            queue="random",
        )
        for position, text, start, end, how, label in said
        if position in wanted
    ]
    answers = [LabelledAnswer(key=answer_key(samples[position]), sample=samples[position]) for position in wanted]
    add_labels(store, answers, labels)


def powered(page: Page) -> str:
    """What the page says of PPI++."""
    row = page.locator(".rb-estimates tr", has_text="PPI++").first
    expect(row).to_be_visible()
    return row.inner_text()


def test_the_interval_moves_with_the_next_sample_that_is_finished(
    store: Store, dashboard: str, open_page: OpenPage, tmp_path: Path
) -> None:
    keep_rows(store, tmp_path, rows(), "rows")
    label_the_first(store, LABELLED)
    estimate = settled(open_page(f"{dashboard}/estimate?runs=rows"))
    before = powered(estimate)
    assert f"{LABELLED} labels" in before
    expect(estimate.get_by_text(re.compile(r"more labels for a 95% CI of width 0\.1"))).to_be_visible()

    page = settled(open_page(f"{dashboard}/annotate?run=rows&annotator=ada"))
    expect(page.get_by_text(re.compile(rf"^{2 * LABELLED} of {2 * DRAWN} statements"))).to_be_visible()
    options = page.get_by_role("listbox", name="Statements").get_by_role("option")
    expect(options).to_have_count(2)
    settled(page).keyboard.press("3")
    page.keyboard.press("3")
    expect(page.get_by_text(re.compile(rf"^{2 * LABELLED + 2} of {2 * DRAWN} statements"))).to_be_visible()

    estimate.reload()
    settled(estimate)
    after = powered(estimate)
    assert f"{LABELLED + 1} labels" in after
    interval = re.compile(r"[\d.]+ to [\d.]+")
    assert interval.findall(before)
    assert interval.findall(before) != interval.findall(after)
