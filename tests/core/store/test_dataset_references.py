"""Tests of using the references of other runs of the dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.conftest import PlainJudge

from ragboard import Panel, Passage, Run, RunRef, Sample, Score, Store, Unscored, evaluate_run
from ragboard.analysis import diagnose, sample_report
from ragboard.evaluation.offers import run_contents
from ragboard.metrics import metrics_named
from ragboard.records import Outcome, Turn
from ragboard.store.queries.nuggets import dataset_questions

METRICS = metrics_named(["overlap.token_f1", "overlap.context_overlap"])


def add(store: Store, name: str, *references: str | None, dataset: str = "bridges", **changes: Any) -> RunRef:
    """A run with a question for each reference; the answers differ by run."""
    samples = tuple(
        Sample(
            id=f"s{number}",
            question=f"Question {number}?",
            answer=f"It is red, says {name}.",
            contexts=(Passage(id="p", text="It is red.", rank=1),),
            reference=reference,
            **changes,
        )
        for number, reference in enumerate(references)
    )
    (added,) = store.add_runs([Run(name=name, samples=samples, dataset=dataset)])
    return RunRef(run_id=added.id, name=name, evaluation_id=None)


def scored(store: Store, run: RunRef) -> dict[str, list[Outcome]]:
    """The outcomes of each metric, by sample."""
    done = evaluate_run(store, run.run_id, METRICS, Panel(judge=PlainJudge()))
    reference = replace(run, evaluation_id=done.evaluation.id)
    reports = [sample_report(store, reference, sample.id) for _, sample in store.samples(run.run_id)]
    return {metric.spec: [report.scores[metric.spec] for report in reports] for metric in METRICS}


def test_missing_references_are_those_of_the_dataset_and_the_score_says_so(store: Store) -> None:
    add(store, "old", "It is red.", "It is red.")
    add(store, "other", " It is red. ", None)
    run = add(store, "new", None, "It is blue.")
    outcomes = scored(store, run)["overlap.token_f1"]
    assert outcomes == [
        Score(value=0.75, counted="3 common, 5 and 3 words; reference from run other"),
        Score(value=0.5, counted="2 common, 5 and 3 words"),
    ]
    without = scored(store, run)["overlap.context_overlap"]
    assert [isinstance(one, Score) and one.counted for one in without] == ["3 of 5 words", "3 of 5 words"]
    (_, first), (_, second) = store.samples(run.run_id)
    assert (first.reference, first.reference_note) == (" It is red. ", "reference from run other")
    assert (second.reference, second.reference_note) == ("It is blue.", "")
    assert sample_report(store, run, "s0").sample == first
    assert run_contents(store, run.run_id).columns["reference"] == 2
    assert diagnose(store, run).references == 2


def test_if_runs_disagree_it_is_skipped_with_the_reason(store: Store) -> None:
    add(store, "old", "It is red.")
    add(store, "other", "It is blue.")
    (outcome,) = scored(store, add(store, "new", None))["overlap.token_f1"]
    detail = (
        "the run file has no reference for this sample,"
        " and runs other and old have different references for the question"
    )
    assert outcome == Unscored(reason="skipped", detail=detail)
    with store.database.read() as connection:
        (question,) = dataset_questions(connection, "bridges")
    assert (question.reference, question.different_references) == ("It is blue.", True)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"dataset": "towers"},
        {"history": (Turn(role="user", text="Which bridge?"),)},
    ],
    ids=["another dataset", "another conversation"],
)
def test_references_of_other_questions_do_not_count(store: Store, elsewhere: dict[str, Any]) -> None:
    add(store, "old", "It is red.", **elsewhere)
    (outcome,) = scored(store, add(store, "new", None))["overlap.token_f1"]
    assert outcome == Unscored(reason="skipped", detail="the run file has no reference for this sample")


def test_an_empty_reference_is_the_run_s_own(store: Store) -> None:
    add(store, "old", "It is red.")
    (outcome,) = scored(store, add(store, "new", ""))["overlap.token_f1"]
    assert outcome == Unscored(reason="undefined", detail="the reference is empty")


def test_evaluating_again_follows_the_references_of_the_dataset(store: Store) -> None:
    run = add(store, "new", None)
    (before,) = scored(store, run)["overlap.token_f1"]
    assert isinstance(before, Unscored)
    add(store, "old", "It is red.")
    (after,) = scored(store, run)["overlap.token_f1"]
    assert after == Score(value=0.75, counted="3 common, 5 and 3 words; reference from run old")
    add(store, "other", "It is blue.")
    (again,) = scored(store, run)["overlap.token_f1"]
    assert isinstance(again, Unscored)


def test_the_run_stays_the_same_and_has_no_reference_of_its_own(store: Store) -> None:
    """Importing it again finds it, so its id does not depend on the references of others."""
    run = add(store, "new", None)
    add(store, "old", "It is red.")
    samples = tuple(sample for _, sample in store.samples(run.run_id))
    assert samples[0].reference == "It is red."
    assert add(store, "new", None).run_id == run.run_id
    with store.database.read() as connection:
        rows = connection.execute("SELECT reference FROM samples WHERE run_id = ?", [run.run_id]).fetchall()
    assert rows == [(None,)]
