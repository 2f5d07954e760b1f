"""Tests of the leaderboard's data: metrics with the same title show their source."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.dashboard.views.conftest import Draw

from ragboard import EmbeddedJudge, Panel, Run, Sample, Store, evaluate_run, sample_runs
from ragboard.analysis import RunSummary, board_metrics, leaderboard, metric_descriptions, sample_runs_last
from ragboard.analysis.metrics import in_order
from ragboard.metrics import metrics_named
from ragboard_dashboard.views.runs.page import board_data


@pytest.mark.parametrize(
    ("metrics", "sources"),
    [
        (["overlap.token_f1", "overlap.exact_match"], ["", ""]),
        (["overlap.token_f1", "ragboard.refusal"], ["", ""]),
    ],
)
def test_a_metric_keeps_its_label_next_to_any_other_metrics(
    tmp_path: Path, metrics: list[str], sources: list[str]
) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(sample_runs()[:1])
    evaluate_run(store, added.id, metrics_named(metrics), Panel(judge=EmbeddedJudge()))
    runs = leaderboard(store)
    data = board_data(runs, metric_descriptions(store), board_metrics(runs), datetime.now(UTC).replace(tzinfo=None))
    assert [column["source"] for column in data["columns"]] == sources


def test_runs_over_the_same_questions_by_different_judges_are_reported_as_not_comparable(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(sample_runs()[:1])
    evaluate_run(store, added.id, metrics_named(["overlap.token_f1", "ragboard.refusal"]), Panel(judge=EmbeddedJudge()))
    (run,) = leaderboard(store)
    assert run.judged
    other = replace(run, name="other", judged=replace(run.judged, judge="gpt", heuristic=False))
    elsewhere = replace(other, dataset_key="other questions")
    now = datetime.now(UTC).replace(tzinfo=None)
    alike, apart, unlike = (
        board_data(runs, {}, (), now)["caption"] for runs in ([run, run], [run, elsewhere], [run, other])
    )
    assert "judges" not in alike
    assert "judges" not in apart
    assert unlike.endswith(
        "Not comparable, judged by different judges: bm25-k3 by embedded (rule-based); other by gpt."
    )


def test_a_dataset_without_a_name_has_no_digest_unless_another_has_as_many_questions(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.add_runs([replace(sample_runs()[0], dataset=None)])
    (run,) = leaderboard(store)
    assert run.dataset.startswith("60 questions (")
    other = replace(run, dataset="60 questions (0000)", dataset_key="0000")
    now = datetime.now(UTC).replace(tzinfo=None)

    def named(*runs: RunSummary) -> list[str]:
        return [row["dataset"] for row in board_data(runs, {}, (), now)["rows"]]

    assert named(run, run) == ["60 questions", "60 questions"]
    assert named(run, other) == [run.dataset, "60 questions (0000)"]
    assert named(replace(run, dataset="mine (0000)")) == ["mine (0000)"]


def test_the_columns_do_not_depend_on_which_run_has_more_metrics_and_own_runs_come_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    added = store.add_runs(sample_runs())
    own = replace(sample_runs()[0], name="own", tags=())
    added = (*added, *store.add_runs([own]))
    every = ["overlap.token_f1", "overlap.exact_match", "ragboard.refusal"]
    for run, metrics in zip(added, (every[:1], every[:2], every), strict=True):
        evaluate_run(store, run.id, metrics_named(metrics), Panel(judge=EmbeddedJudge()))
    runs = leaderboard(store)
    assert board_metrics(runs) == board_metrics(runs[::-1]) == in_order(every)
    assert sample_runs_last(runs[::-1])[0].name == sample_runs_last(runs)[0].name == "own"


def test_the_share_of_refusals_is_of_the_samples_that_were_evaluated(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(sample_runs()[:1])
    evaluate_run(store, added.id, metrics_named(["overlap.token_f1"]), Panel(judge=EmbeddedJudge()))
    (run,) = leaderboard(store)
    assert run.judged
    part = replace(run, samples=2000, refusals=10, judged=replace(run.judged, covered=50, samples=2000))
    data = board_data([part], metric_descriptions(store), (), datetime.now(UTC).replace(tzinfo=None))
    assert data["rows"][0]["refusals"] == "20% (10)"


def test_the_settings_in_which_a_run_differs_come_first(tmp_path: Path) -> None:
    for name, k in (("one", 3), ("other", 5)):
        samples = (Sample(id="s", question="What?", answer="It is red."),)
        Store(tmp_path).add_runs([Run(name=name, samples=samples, config={"model": "small", "chunk": 60, "k": k})])
    data = board_data(leaderboard(Store(tmp_path)), {}, (), datetime.now(UTC).replace(tzinfo=None))
    assert sorted(row["config"] for row in data["rows"]) == [
        "k 3 · model small · chunk 60",
        "k 5 · model small · chunk 60",
    ]


def test_a_newer_pair_replaces_the_choice_of_two_runs(draw: Draw) -> None:
    page = draw("runs")
    assert page.multiselect[0].value == ["bm25-k3", "bm25-rerank-k5"]
    page.session_state["newest-pair"] = ("older", "old")
    page.session_state["two"] = ["bm25-k3"]
    assert page.run().multiselect[0].value == ["bm25-k3", "bm25-rerank-k5"]
    chosen = page.multiselect[0].set_value(["bm25-rerank-k5"]).run()
    assert chosen.multiselect[0].value == ["bm25-rerank-k5"]


def test_only_the_demo_is_called_sample_data(fresh: Store, draw: Draw) -> None:
    fresh.add_runs([Run(name="mine", samples=(Sample(id="1", question="When?", answer="In 2000."),))])
    page = draw("runs")
    assert not page.exception
    assert [line for line in page.markdown if "Sample data" in line.value] == []
