"""Tests of the Annotate page's URL."""

from __future__ import annotations

from tests.dashboard.views.conftest import Draw

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Passage, Run, Sample, Store, evaluate_run
from ragboard.human.annotation import draw_samples, find_draw


def test_going_back_leads_to_the_run_that_was_left(draw: Draw) -> None:
    page = draw("annotate", run="bm25-k3", annotator="me")
    next(box for box in page.selectbox if box.key == "annotate-run").set_value("bm25-rerank-k5").run()
    assert page.query_params["run"] == "bm25-rerank-k5"
    page.query_params["run"] = "bm25-k3"
    page.run()
    assert page.query_params["run"] == "bm25-k3"


def sample(name: str, question: str, answer: str) -> Sample:
    return Sample(id=name, question=question, answer=answer, contexts=(Passage(id="p", text="It is red.", rank=1),))


def test_an_empty_answer_of_a_repeated_question_is_not_paired_for_annotation(draw: Draw, fresh: Store) -> None:
    ours = (sample("a0", "Twice?", "It is red."), sample("a1", "Once?", "It is old."))
    theirs = (sample("b0", "Twice?", "It is big."), sample("b1", "Twice?", ""), sample("b2", "Once?", "It is new."))
    fresh.add_runs([Run(name="one", samples=ours), Run(name="two", samples=theirs)])
    draw_samples(fresh, fresh.resolve("one"), size=9, kind="preference", against=fresh.resolve("two"))
    page = draw("annotate", run="one", against="two", what="pairs", annotator="ada")
    while better := [button for button in page.button if button.label == "A is better"]:
        better[0].click().run()
    assert [one.value for one in page.header] == ["This batch is labelled"]
    with fresh.database.read() as connection:
        assert connection.execute("SELECT answer FROM labelled_answers ORDER BY 1").fetchall() == [
            ("It is new.",),
            ("It is old.",),
        ]


def test_the_first_screen_says_what_a_batch_is_and_draws_it_with_a_name(draw: Draw, fresh: Store) -> None:
    answer = "It is red. It is old. It is big. It is green."
    fresh.add_runs([Run(name="one", samples=tuple(sample(f"s{n}", f"Is it {n}?", answer) for n in range(30)))])
    evaluate_run(fresh, fresh.resolve("one").run_id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    page = draw("annotate", run="one")
    said = " ".join(str(one.proto.body) for one in page.get("html"))
    assert "A batch is 10 answers, about 40 statements: about 20 minutes, at 30 seconds each (an assumption" in said
    assert "random sample of this run&#x27;s 30 answers" in said
    start = next(button for button in page.button if button.label == "Start labelling")
    start.click().run()
    assert [one.value for one in page.error] == ["Enter your name: it is stored with every label."]
    assert find_draw(fresh, fresh.resolve("one")) is None
    page.text_input[0].set_value("ada")
    next(button for button in page.button if button.label == "Start labelling").click().run()
    assert not page.exception
    assert page.query_params["annotator"] == "ada"
    drawn = find_draw(fresh, fresh.resolve("one"))
    assert drawn
    assert (len(drawn.positions), drawn.population, drawn.seed) == (10, 30, 0)
