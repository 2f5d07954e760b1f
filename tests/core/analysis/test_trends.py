"""Tests of a metric's change from run to run of a dataset."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, NotFoundError, Panel, Passage, Run, Store, evaluate_run
from ragboard.analysis import MAX_TREND_RUNS, compare_metric, compare_runs, dataset_trend
from ragboard.cli import main
from ragboard.metrics import metrics_named

FAITHFULNESS = "ragas.faithfulness"
RED, HALF = "It is red.", "It is red. It is old."


def add(store: Store, name: str, *answers: str, version: str = "1", metrics: str = "") -> None:
    """A run whose statements about red are supported, evaluated unless `version`, that of the judge, is empty."""
    samples = tuple(replace(make_sample(number), answer=answer) for number, answer in enumerate(answers))
    run_id = store.add_runs([Run(name=name, samples=samples, dataset="d")])[0].id
    if version:
        chosen = metrics_named([metrics]) if metrics else DEFAULT_METRICS
        evaluate_run(store, run_id, chosen, Panel(judge=PlainJudge(version=version)))


def test_each_run_has_its_mean_and_its_difference_from_the_run_before(store: Store) -> None:
    add(store, "a", *[HALF] * 6)
    add(store, "b", *[RED] * 3, *[HALF] * 3)
    add(store, "c", *[RED] * 6, version="")
    add(store, "d", *[RED] * 6)
    trend = dataset_trend(store, "d")
    assert (trend.metric, trend.label, trend.older) == (FAITHFULNESS, "Faithfulness", 0)
    assert [point.run.name for point in trend.points] == ["a", "b", "c", "d"]
    assert [point.summary and point.summary.mean for point in trend.points] == [0.5, 0.75, None, 1.0]
    assert [point.previous for point in trend.points] == ["", "a", "", "b"]
    differences = [
        point.difference.pairs.difference for point in trend.points if point.difference and point.difference.pairs
    ]
    assert differences == [0.25, 0.25]
    assert trend.points[0].difference_in_words == ""
    assert trend.points[2].mean_in_words == "not evaluated"


def test_runs_of_different_judges_are_not_tested(store: Store) -> None:
    add(store, "a", *[HALF] * 6)
    add(store, "b", *[RED] * 6, version="2")
    words = dataset_trend(store, "d").points[1].difference_in_words
    assert words.startswith("+0.500")
    assert words.endswith("not comparable: different judges")


@pytest.mark.parametrize("passages", [1, 2])
def test_the_differences_are_those_of_comparing_the_runs(store: Store, passages: int) -> None:
    """The p values are adjusted for all metrics, and metrics of equal or fewer passages get the same remarks."""
    for name, answers, count in (("a", [HALF] * 6, 1), ("b", [*[RED] * 5, HALF], passages)):
        samples = tuple(
            replace(
                make_sample(number),
                answer=answer,
                contexts=tuple(
                    Passage(id=str(rank), text=f"It is red {rank}.", rank=rank) for rank in range(1, count + 1)
                ),
            )
            for number, answer in enumerate(answers)
        )
        run_id = store.add_runs([Run(name=name, samples=samples, dataset="d")])[0].id
        evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    a, b = store.resolve("a"), store.resolve("b")
    compared = compare_runs(store, a, b).metrics
    assert len(compared) > 2
    assert [compare_metric(store, a, b, one.metric) for one in compared] == list(compared)
    assert any(one.same_passages for one in compared) == (passages == 1)
    assert any("passages" in one.caution or "in A" in one.caution for one in compared) == (passages == 2)
    assert compare_metric(store, a, b, "overlap.rouge_l") is None


def test_the_metric_is_one_that_all_runs_have_unless_one_is_named(store: Store) -> None:
    add(store, "a", RED, metrics="overlap.length_ratio")
    add(store, "b", RED)
    evaluate_run(store, store.resolve("b").run_id, metrics_named(["overlap.length_ratio"]), Panel(judge=PlainJudge()))
    assert dataset_trend(store, "d").metric == "overlap.length_ratio"
    named = dataset_trend(store, "d", "faithfulness")
    assert (named.metric, named.points[0].mean_in_words) == (FAITHFULNESS, "not evaluated")
    with pytest.raises(NotFoundError, match=r"^no metric 'bleu'; available: ragas\.faithfulness"):
        dataset_trend(store, "d", "bleu")


def test_without_an_evaluation_there_is_no_metric(store: Store) -> None:
    add(store, "a", RED, version="")
    trend = dataset_trend(store, "d")
    assert (trend.metric, trend.metrics, len(trend.points)) == ("", (), 1)
    done = CliRunner().invoke(main, ["datasets", "a", "--store", str(store.folder)])
    assert done.stdout == "no run of d is evaluated yet\n"


def test_of_many_runs_the_newest_are_shown(store: Store) -> None:
    for number in range(MAX_TREND_RUNS + 2):
        add(store, f"r{number:02}", RED, version="")
    trend = dataset_trend(store, "d")
    assert (len(trend.points), trend.older) == (MAX_TREND_RUNS, 2)
    assert trend.points[-1].run.name == f"r{MAX_TREND_RUNS + 1}"


def test_the_command_prints_it_by_the_name_of_a_run_or_dataset(store: Store) -> None:
    add(store, "a", *[HALF] * 6)
    add(store, "b", *[RED] * 6)
    for name in ("d", "a"):
        lines = CliRunner().invoke(main, ["datasets", name, "--store", str(store.folder)]).stdout.splitlines()
        assert lines[0] == "d: Faithfulness of 2 runs, oldest first"
        assert lines[1].split("  ", 1)[1].startswith("a: 0.50")
        assert lines[1].endswith(" 6/6, judged by plain")
        assert lines[3].startswith("  from a: +0.500")
