"""The address of the page for labels says which run it is of."""

from __future__ import annotations

from tests.dashboard.views.conftest import Draw

from ragboard import Passage, Run, Sample, Store
from ragboard.human.annotation import draw_samples


def test_going_back_leads_to_the_run_that_was_left(draw: Draw) -> None:
    page = draw("annotate", run="bm25-k3", annotator="me")
    next(box for box in page.selectbox if box.key == "annotate-run").set_value("bm25-rerank-k5").run()
    assert page.query_params["run"] == "bm25-rerank-k5"
    page.query_params["run"] = "bm25-k3"
    page.run()
    assert page.query_params["run"] == "bm25-k3"


def sample(name: str, question: str, answer: str) -> Sample:
    return Sample(id=name, question=question, answer=answer, contexts=(Passage(id="p", text="It is red.", rank=1),))


def test_no_empty_answer_of_a_question_asked_twice_is_put_beside_another(draw: Draw, fresh: Store) -> None:
    ours = (sample("a0", "Twice?", "It is red."), sample("a1", "Once?", "It is old."))
    theirs = (sample("b0", "Twice?", "It is big."), sample("b1", "Twice?", ""), sample("b2", "Once?", "It is new."))
    fresh.add_runs([Run(name="one", samples=ours), Run(name="two", samples=theirs)])
    draw_samples(fresh, fresh.resolve("one"), size=9, kind="preference", against=fresh.resolve("two"))
    page = draw("annotate", run="one", against="two", what="pairs", annotator="ada")
    while better := [button for button in page.button if button.label == "A is better"]:
        better[0].click().run()
    assert [one.value for one in page.header] == ["You have labelled everything in this queue"]
    with fresh.database.read() as connection:
        assert connection.execute("SELECT answer FROM labelled_answers ORDER BY 1").fetchall() == [
            ("It is new.",),
            ("It is old.",),
        ]
