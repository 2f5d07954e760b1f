"""Tests of human grades in imported runs: they count like labels from a label file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.conftest import make_run

from ragboard import EmbeddedJudge, Panel, Run, Sample, Store, Turn
from ragboard.human.agree import agree
from ragboard.human.run_grades import graded_runs, load_run_grades


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def graded(run: Run, column: str = "human") -> Run:
    grades = ({"faithfulness": [number % 4 + 1, 3]} for number in range(len(run.samples)))
    samples = (replace(one, metadata={column: given}) for one, given in zip(run.samples, grades, strict=True))
    return replace(run, samples=tuple(samples))


@pytest.mark.parametrize("column", ["human", "grades"])
def test_grades_of_answers_are_labels_of_their_run(store: Store, column: str) -> None:
    first = make_run(samples=6)
    other = Run(name="no grades", samples=(Sample(id="s", question="When?", answer="Now.", metadata={column: "text"}),))
    added, plain = store.add_runs([graded(first, column), other])
    assert graded_runs(store) == {added.id}
    labels = load_run_grades(store, [store.resolve(first.name)])
    assert labels
    assert (labels.form, labels.dimensions, len(labels.items)) == ("answers", ("faithfulness",), 6)
    assert [item.human_labels["faithfulness"] for item in labels.items[:2]] == [(1.0, 3.0), (2.0, 3.0)]
    assert load_run_grades(store, [store.resolve("no grades")]) is None
    found = agree(store, labels, Panel(judge=EmbeddedJudge()))
    assert found.items == 6
    assert plain.id not in graded_runs(store)


def test_turns_of_a_conversation_and_answers_to_a_question_are_one_cluster(store: Store) -> None:
    def turns(name: str) -> Run:
        first, then, other = ("Who?", "When?", "Where?")
        return graded(
            Run(
                name=name,
                samples=(
                    Sample(id="1", question=first, answer=f"{name} one"),
                    Sample(id="2", question=then, answer=f"{name} two", history=(Turn(role="user", text=first),)),
                    Sample(id="3", question=other, answer=f"{name} three"),
                ),
            )
        )

    store.add_runs([turns("a"), turns("b")])
    labels = load_run_grades(store, [store.resolve("a"), store.resolve("b")])
    assert labels
    clusters = [item.cluster for item in labels.items]
    assert clusters[0] == clusters[1] != clusters[2]
    assert clusters[:3] == clusters[3:]
    assert len({item.id for item in labels.items}) == 6
