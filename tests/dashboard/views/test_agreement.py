"""Tests of the Agreement page: it uses the selection, and a new selection starts at the first page."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from tests.dashboard.views.conftest import Draw

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.human.agree import agree
from ragboard.human.labels import label_statement
from ragboard.readers.labels import read_labels
from ragboard.sample_files import sample_folder


@pytest.fixture(scope="module")
def statements(kept: Store) -> str:
    """The id of an agreement on the sample's statements."""
    opinions = read_labels(str(sample_folder() / "labels" / "statements.jsonl"))
    return agree(kept, opinions, Panel(judge=EmbeddedJudge())).agreement.id


def choose(page: AppTest, scorer: str) -> None:
    next(box for box in page.selectbox if box.key == "agreement-scorer").set_value(scorer).run()


def test_a_cut_chosen_for_one_scorer_is_not_taken_for_another(draw: Draw, statements: str) -> None:
    page = draw("agreement", agreement=statements, cut="0.4")
    choose(page, "word overlap")
    assert "cut" not in page.query_params


def words(page: AppTest) -> str:
    return "\n".join(one.proto.body for one in page.get("html"))


def test_the_page_says_which_run_of_these_answers_another_judge_scored(draw: Draw, fresh: Store) -> None:
    labels = read_labels(str(sample_folder() / "labels" / "statements.jsonl"))
    agree(fresh, labels, Panel(judge=EmbeddedJudge()))
    other = Run(name="r", samples=(Sample(id="s", question="When?", answer="In 2000."),))
    for added in fresh.add_runs([other]):
        evaluate_run(fresh, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge(name="another")))
    assert "another judge" not in words(draw("agreement")), "the run has other answers"
    first = labels.items[0].samples[0]
    same = Run(name="same", samples=(Sample(id="s", question=first.question, answer=f"So: {first.answer}"),))
    for added in fresh.add_runs([same]):
        evaluate_run(fresh, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge(name="another")))
    assert "The run same has scores from another judge: another (rule-based)." in words(draw("agreement"))


def test_the_answer_is_a_word_about_the_marks_and_the_score(draw: Draw, statements: str) -> None:
    said = words(draw("agreement", agreement=statements))
    assert "Can the embedded judge (rule-based) be trusted?" in said
    assert said.count("<b>Not proven: not significantly better than word overlap</b>") == 2
    assert said.index("The verdict (marks ✓ ? ✕)") < said.index("The score of")
    assert "another judge" not in said


def test_another_scorer_is_listed_from_its_first_page(draw: Draw, statements: str) -> None:
    page = draw("agreement", agreement=statements, part="2")
    choose(page, "word overlap")
    assert not page.exception
    assert (page.query_params["scorer"], "part" in page.query_params) == ("word overlap", False)
    assert page.session_state["part"] == 1


def test_a_link_with_the_old_name_of_the_scorer_opens_it(draw: Draw, statements: str) -> None:
    page = draw("agreement", agreement=statements, contender="word overlap")
    chosen = next(box for box in page.selectbox if box.key == "agreement-scorer")
    assert not page.exception
    assert (chosen.value, page.query_params) == (
        "word overlap",
        {"agreement": statements, "scorer": "word overlap"},
    )


@pytest.mark.parametrize("part", ["99", "0", "9" * 5000, "x"])
def test_a_page_that_is_not_there_breaks_nothing(draw: Draw, statements: str, part: str) -> None:
    assert not draw("agreement", agreement=statements, part=part).exception


def test_labels_of_a_run_are_an_agreement_whose_items_are_its_statements(draw: Draw, kept: Store) -> None:
    run = kept.resolve("bm25-k3")
    with kept.database.read() as connection:
        said = connection.execute(
            "SELECT sample_id, number, verdict FROM statement_verdicts WHERE run_id = ? ORDER BY position, number",
            [run.run_id],
        ).fetchall()
    for sample_id, number, verdict in said[:30]:
        label_statement(kept, run, sample_id, number, verdict, annotator="ada", queue="random")
    page = draw("agreement", agreement="run:bm25-k3")
    assert not page.exception
    assert not any(button.label == "Delete" for button in page.button), "labels are not deleted with a click"
    box = next(one for one in page.selectbox if one.key == "agreement-agreement")
    assert any("labels of bm25-k3: 30 labelled statements, embedded" in one for one in box.options)


def test_grades_that_came_with_a_run_are_used_without_another_file(draw: Draw, fresh: Store) -> None:
    samples = tuple(
        Sample(
            id=f"s{number}",
            question=f"When was {number}?",
            answer=f"It was in {number}.",
            contexts=(Passage(id="p", text=f"It was in {number % 5}.", rank=1),),
            metadata={"human": {"faithfulness": [1 + 3 * (number < 5)]}},
        )
        for number in range(10)
    )
    fresh.add_runs([Run(name="graded", samples=samples)])
    page = draw("agreement")
    next(one for one in page.button if one.label == "Use the human grades of graded").click().run()
    assert not page.exception
    assert "10 graded answers" in words(page)
    assert not [one for one in page.button if one.label.startswith("Use the human grades")]
