"""Tests of the Datasets page."""

from __future__ import annotations

from dataclasses import replace

from tests.core.conftest import PlainJudge, make_sample
from tests.dashboard.views.conftest import Draw

from ragboard import DEFAULT_METRICS, Panel, Run, Store, evaluate_run

HOSTILE = "<b>b</b> & more"


def keep(store: Store, name: str, answer: str, *, evaluated: bool = True) -> None:
    samples = tuple(replace(make_sample(number), answer=answer) for number in range(6))
    run_id = store.add_runs([Run(name=name, samples=samples, dataset="d")])[0].id
    if evaluated:
        evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


def test_the_runs_are_listed_with_their_differences_and_links(draw: Draw, fresh: Store) -> None:
    keep(fresh, "a", "It is red. It is old.")
    keep(fresh, HOSTILE, "It is red.")
    page = draw("dataset", dataset="d")
    assert not page.exception
    table = next(
        one.proto.body for one in page.get("html") if "rb-trend" in one.proto.body and "<table" in one.proto.body
    )
    assert "&lt;b&gt;b&lt;/b&gt; &amp; more" in table
    assert HOSTILE not in table
    assert "compare?a=a&amp;b=" in table
    assert "0.50 (" in table
    assert "+0.500, 95% CI" in table
    assert page.expander[0].label == "Faithfulness from run to run"
    page = draw("dataset", dataset="d", metric="ragas.context_relevance")
    assert page.expander[0].label == "Context relevance from run to run"


def test_without_an_evaluation_it_says_so(draw: Draw, fresh: Store) -> None:
    keep(fresh, "a", "It is red.", evaluated=False)
    page = draw("dataset", dataset="d")
    assert any("No run of this dataset is evaluated." in one.proto.body for one in page.get("html"))
