"""Browser tests of labelling a question as unanswerable: the refusal tables of all runs change."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, choose, settled

from ragboard import EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.human.questions import find_question_label
from ragboard.metrics import metrics_named

REFUSES = "I cannot answer this question from the given passages."


def test_say_that_a_question_cannot_be_answered_and_see_the_refusals_follow(
    store: Store, dashboard: str, open_page: OpenPage
) -> None:
    passages = (Passage(id="p", text="The tower is red.", rank=1),)
    sample = Sample(
        id="1", question="Is it :red[blue]?", answer=REFUSES, contexts=passages, metadata={"answerable": True}
    )
    run_id = store.add_runs([Run(name="towers", dataset="towers", samples=(sample,))])[0].id
    evaluate_run(store, run_id, metrics_named(["ragas.faithfulness"]), Panel(judge=EmbeddedJudge()))

    page = settled(open_page(f"{dashboard}/run?run=towers"))
    expect(
        page.get_by_text("Refusals: no answers to unanswerable questions, 1 refusal of an answerable question")
    ).to_be_visible()

    page = settled(open_page(f"{dashboard}/dataset?dataset=towers"))
    page.get_by_text("Label whether it can be answered").click()
    choose(page, "Can it be answered?", "Unanswerable")
    form = page.get_by_test_id("stForm").first
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("the annotator's name is missing; enter a name")).to_be_visible()
    form.get_by_label("Your name").fill("Ann")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Can it be answered? Unanswerable, by Ann,")).to_be_visible()
    found = find_question_label(store, sample.question, ())
    assert found is not None
    assert found.answerability == "unanswerable"

    page = settled(open_page(f"{dashboard}/run?run=towers"))
    page.get_by_text("Refusals: no answers to unanswerable questions, no refusals of answerable questions").click()
    expect(page.get_by_text("whether the question can be answered, by human labels (1)")).to_be_visible()
