"""Tests of the Compare page's notes: a better run, and a judge that labels do not confirm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from streamlit.testing.v1 import AppTest

from ragboard import Run, Sample, Store, evaluate
from ragboard.human.labels import label_statement
from ragboard.records import Passage

if TYPE_CHECKING:
    from tests.dashboard.views.conftest import Draw

PASSAGE = "The Rhine rises in the Swiss Alps. It flows into the North Sea near Rotterdam. Cologne is on the Rhine."
FAITHFUL = ("The Rhine rises in the Swiss Alps.", "Cologne is on the Rhine.", "It flows into the North Sea.")
MADE_UP = "Queen Victoria bought a steamboat in Budapest in 1871."


def _run(name: str, faithful: int, *, questions: Sequence[str] = (), count: int = 12) -> Run:
    """A run whose first answers are supported by their passages, and whose others are made up."""
    samples = tuple(
        Sample(
            id=f"q{number}",
            question=questions[number] if questions else f"Where does the river of photograph {number} rise?",
            answer=f"{FAITHFUL[number % 3]}" if number < faithful else MADE_UP,
            contexts=(Passage(id="p", text=PASSAGE, rank=1),),
        )
        for number in range(count)
    )
    return Run(name=name, samples=samples, dataset="rivers" if not questions else "lakes")


@pytest.fixture
def three(fresh: Store) -> Store:
    """Three evaluated runs over the same questions, of which one is the best."""
    for run in (_run("best", 12), _run("middle", 6), _run("worst", 1)):
        evaluate(run, metrics="ragas.faithfulness", store=fresh)
    return fresh


def _texts(page: AppTest) -> str:
    assert not page.exception
    return " ".join(element.value for element in (*page.markdown, *page.get("html")) if isinstance(element.value, str))


@pytest.mark.usefixtures("three")
def test_a_run_that_is_better_than_both_is_named(draw: Draw) -> None:
    assert "best has a better mean Faithfulness than both: 1.00." in _texts(draw("compare", a="worst", b="middle"))
    assert "than both" not in _texts(draw("compare", a="worst", b="best"))


def test_b_follows_when_only_a_is_changed_to_other_questions(three: Store, draw: Draw) -> None:
    lakes = [f"How deep is lake {number}?" for number in range(12)]
    for name in ("lakes-1", "lakes-2"):
        evaluate(_run(name, 5 if name == "lakes-1" else 9, questions=lakes), metrics="ragas.faithfulness", store=three)
    page = draw("compare", a="worst", b="middle")
    page.query_params["a"] = "lakes-1"
    page.run()
    assert page.query_params["b"] == "lakes-2"
    both = draw("compare", a="worst", b="lakes-1")  # a link that names both means both
    assert both.query_params["b"] == "lakes-1"


def test_a_result_by_a_judge_that_labels_do_not_confirm_is_doubted(three: Store, draw: Draw) -> None:
    assert "agreement with annotators" not in _texts(draw("compare", a="worst", b="best"))
    run = three.resolve("best")
    for number in range(12):
        said = "supported" if number % 2 else "unsupported"
        label_statement(three, run, f"q{number}", 1, said, annotator="ada", queue="random")
    found = _texts(draw("compare", a="worst", b="best"))
    assert "⚠ Faithfulness: its judge&#x27;s agreement with annotators (balanced accuracy " in found
