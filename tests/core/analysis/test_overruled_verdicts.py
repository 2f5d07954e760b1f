"""Tests of scores with and without annotators' verdicts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import Once
from tests.core.analysis.test_hallucinations import keep
from tests.core.conftest import PlainJudge

from ragboard import Panel, Score, Store, evaluate_run
from ragboard.analysis import (
    HallucinationQuery,
    hallucination_table,
    hallucinations,
    overruled_verdicts,
    run_summary,
    sample_report,
)
from ragboard.human.labels import label_statement, remove_label
from ragboard.metrics import metrics_named

FAITHFULNESS = "ragas.faithfulness"


def keep_run(store: Store) -> None:
    keep(store, "a", ["It is red. It is old. It is big.", "It is old.", "It is red.", None])


@pytest.fixture
def run(store: Store, once: Once) -> Store:
    """Of three answers 1 of 3, 0 of 1 and 1 of 1 statements are supported; a fourth is missing."""
    return once(keep_run, store)


def say(store: Store, sample: str, number: int, verdict: Any, annotator: str = "ada") -> None:
    label_statement(store, store.resolve("a"), sample, number, verdict, annotator=annotator)


def test_a_samples_score_is_recounted_with_human_labels(run: Store) -> None:
    say(run, "s0", 2, "supported")
    report = sample_report(run, run.resolve("a"), "s0")
    assert report.scores[FAITHFULNESS] == Score(value=1 / 3, counted="1 of 3 statements")
    assert report.recomputed == {FAITHFULNESS: Score(value=2 / 3, counted="2 of 3 statements")}


def test_agreement_changes_no_score(run: Store) -> None:
    say(run, "s0", 1, "supported")
    say(run, "s0", 2, "unsupported")
    assert sample_report(run, run.resolve("a"), "s0").recomputed == {}
    found = overruled_verdicts(run, run_summary(run, run.resolve("a")))
    assert (found.labelled, found.overruled, found.metrics) == (2, 0, {})


def test_a_runs_mean_is_given_with_and_without(run: Store) -> None:
    say(run, "s0", 2, "supported")
    say(run, "s0", 3, "supported")
    say(run, "s1", 1, "contradicted")
    say(run, "s2", 1, "contradicted", "bob")
    summary = run_summary(run, run.resolve("a"))
    found = overruled_verdicts(run, summary)
    assert summary.metrics[FAITHFULNESS].mean == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert (found.labelled, found.overruled, found.in_words) == (4, 4, "4 overruled verdicts")
    assert list(found.metrics) == [FAITHFULNESS]
    again = found.metrics[FAITHFULNESS]
    assert again.mean == pytest.approx((1 + 0 + 0) / 3)
    assert (again.scored, again.total, again.unscored) == (3, 4, {"skipped": 1})


def test_taking_it_back_restores_the_judges_score(run: Store) -> None:
    say(run, "s0", 2, "supported")
    remove_label(run, run.resolve("a"), "s0", 2, annotator="ada")
    assert sample_report(run, run.resolve("a"), "s0").recomputed == {}
    assert overruled_verdicts(run, run_summary(run, run.resolve("a"))).metrics == {}


def test_metrics_of_single_passages_are_not_recomputed(run: Store) -> None:
    ref = run.resolve("a")
    metrics = metrics_named(["ragchecker.faithfulness", "ragas.faithfulness", "ragas.answer_relevance"])
    evaluate_run(run, ref.run_id, metrics, Panel(judge=PlainJudge()))
    say(run, "s0", 2, "supported")
    assert list(sample_report(run, ref, "s0").recomputed) == [FAITHFULNESS]
    assert list(overruled_verdicts(run, run_summary(run, ref)).metrics) == [FAITHFULNESS]


def test_a_run_that_was_never_evaluated_has_nothing_to_overrule(run: Store) -> None:
    with run.database.write() as connection:
        connection.execute("DELETE FROM evaluations")
    assert overruled_verdicts(run, run_summary(run, run.resolve("a"))).labelled == 0


def test_hallucinations_are_filtered_by_human_labels(run: Store) -> None:
    say(run, "s0", 2, "supported")
    say(run, "s0", 3, "unsupported")
    found = {
        human: [f"{row.sample_id}.{row.number}" for row in hallucinations(run, HallucinationQuery(human=human)).rows]
        for human in (None, "none", "agrees", "overruled")
    }
    assert found == {None: ["s0.2", "s0.3", "s1.1"], "none": ["s1.1"], "agrees": ["s0.3"], "overruled": ["s0.2"]}
    (row,) = hallucinations(run, HallucinationQuery(human="overruled", text="old")).rows
    assert [(one.label, one.annotator) for one in row.judged_statement.people] == [("supported", "ada")]


def test_the_table_has_human_labels(run: Store) -> None:
    say(run, "s0", 2, "contradicted", "bob")
    say(run, "s0", 2, "supported")
    rows = hallucination_table(run, HallucinationQuery()).set_index(["sample_id", "number"])
    assert tuple(rows.loc[("s0", 2), ["verdict", "human", "annotator", "note"]]) == (
        "unsupported",
        "supported",
        "ada",
        "",
    )
    assert rows.loc[("s1", 1), ["human", "annotator", "note"]].isna().all()
