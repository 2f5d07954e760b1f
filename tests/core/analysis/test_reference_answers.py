"""Tests of runs whose answers equal their references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner
from tests.core.conftest import PlainJudge, make_sample

from ragboard import Panel, Run, Score, SettingError, Store, evaluate_run
from ragboard.analysis import (
    compare_runs,
    difference_in_words,
    gate_comparison,
    read_condition,
    run_summary,
    verdict_in_words,
)
from ragboard.analysis.gate_commands import check_command, compare_command
from ragboard.analysis.reference_answers import read_reference_runs
from ragboard.cli import main
from ragboard.metrics import METRICS, describe, metrics_named
from ragboard.records import FileScores

RECALL, FAITHFULNESS = "ragchecker.recall", "ragas.faithfulness"
REFERENCE = "Thing {} was red before it was painted blue in the spring of 1987."


def keep(store: Store, name: str, answers: Sequence[str], *, shift: float = 0.0) -> None:
    """Keep a run whose file brings a score of a metric with the reference, and of one without."""
    samples = tuple(
        replace(make_sample(number, answer=answer), reference=REFERENCE.format(number))
        for number, answer in enumerate(answers)
    )
    values = [0.1 + 0.5 * (number / len(answers)) + shift for number in range(len(answers))]
    scores = FileScores(
        tool="t",
        format="t",
        columns={spec: spec for spec in (RECALL, FAITHFULNESS)},
        metrics=tuple(describe(METRICS[spec]) for spec in (RECALL, FAITHFULNESS)),
        outcomes=tuple(
            {RECALL: Score(value=value, counted=""), FAITHFULNESS: Score(value=value, counted="")} for value in values
        ),
    )
    store.add_runs([Run(name=name, samples=samples, scores=scores)])


@pytest.fixture
def pair(store: Store) -> Store:
    """A run of answers, and one whose answers are the references but for case and spaces."""
    keep(
        store, "answers", [f"Thing {number} is old, and nobody knows what its colour once was." for number in range(20)]
    )
    keep(store, "references", [f"  {REFERENCE.format(number).upper()}\n" for number in range(20)], shift=0.3)
    return store


def test_a_metric_that_compares_references_with_themselves_decides_nothing(pair: Store) -> None:
    compared = compare_runs(pair, pair.resolve("answers"), pair.resolve("references"))
    by_metric = {metric.metric: metric for metric in compared.metrics}
    recall, faithfulness = by_metric[RECALL], by_metric[FAITHFULNESS]
    assert (recall.change, recall.p, recall.counts_as_comparison) == ("answers are references", None, False)
    assert recall.caution == "B's answers are the references: the metric compares them with themselves"
    assert (faithfulness.change, compared.tested) == ("better", 1)
    assert faithfulness.pairs
    assert faithfulness.p == faithfulness.pairs.p  # not adjusted for a second comparison
    assert recall.label not in verdict_in_words(compared)
    assert recall.caution in difference_in_words(recall)
    assert f"Left out, because they compare the answers with themselves: {recall.label}." in compared.cautions[0]


def test_the_other_side_is_named_when_the_runs_are_swapped(pair: Store) -> None:
    compared = compare_runs(pair, pair.resolve("references"), pair.resolve("answers"))
    caution = next(metric.caution for metric in compared.metrics if metric.metric == RECALL)
    assert caution.startswith("A's answers are the references")


def test_no_gate_is_made_of_it(pair: Store) -> None:
    compared = compare_runs(pair, pair.resolve("answers"), pair.resolve("references"))
    command = compare_command(compared, "answers", "references")
    assert FAITHFULNESS in command
    assert RECALL not in command + check_command(compared, "references")
    with pytest.raises(SettingError, match="recall is not comparable: B's answers are the references"):
        gate_comparison(compared, [read_condition("recall < -0.1")])


def test_the_commands_say_it(pair: Store) -> None:
    folder = ["--store", str(pair.folder)]
    compared = CliRunner().invoke(main, ["compare", "answers", "references", *folder])
    assert compared.exit_code == 0
    assert "caution: B's answers are the references. Left out" in compared.output
    assert "answers are references" in compared.output


def test_the_summary_of_the_run_marks_only_these_metrics(store: Store) -> None:
    samples = tuple(
        replace(make_sample(number, answer=REFERENCE.format(number)), reference=REFERENCE.format(number))
        for number in range(6)
    )
    (added,) = store.add_runs([Run(name="references", samples=samples)])
    evaluate_run(store, added.id, metrics_named([RECALL, FAITHFULNESS]), Panel(judge=PlainJudge()))
    cautions = {spec: one.caution for spec, one in run_summary(store, store.resolve("references")).metrics.items()}
    said = "the run's answers are the references: the metric compares them with themselves"
    assert cautions == {RECALL: said, FAITHFULNESS: ""}
    shown = CliRunner().invoke(main, ["show", "references", "--store", str(store.folder)])
    assert said in shown.output


@pytest.mark.parametrize(
    ("answers", "is_reference"),
    [
        ([REFERENCE.format(0), REFERENCE.format(1), "It is old."], True),
        ([REFERENCE.format(0), "It is old.", "It is old."], False),
        ([REFERENCE.format(0), "It is old."], False),
    ],
)
def test_more_than_half_of_the_answers_must_be_copies(store: Store, answers: list[str], is_reference: bool) -> None:
    keep(store, "run", answers)
    run = store.resolve("run")
    with store.database.read() as connection:
        assert (run.run_id in read_reference_runs(connection, [run.run_id])) == is_reference


def test_short_answers_that_equal_the_reference_are_right_and_not_copied(store: Store) -> None:
    samples = tuple(replace(make_sample(number, answer="Paris"), reference="paris") for number in range(5))
    store.add_runs([Run(name="run", samples=samples)])
    run = store.resolve("run")
    with store.database.read() as connection:
        assert read_reference_runs(connection, [run.run_id]) == frozenset()
