"""The leaderboard's data: metrics that could be taken for one another carry their source."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragboard import EmbeddedJudge, Panel, Store, evaluate_run, sample_runs
from ragboard.analysis import leaderboard, metric_descriptions
from ragboard.metrics import metrics_named
from ragboard_dashboard.views.runs.page import board_data, board_metrics


@pytest.mark.parametrize(
    ("metrics", "sources"),
    [
        (["overlap.token_f1", "overlap.exact_match"], ["", ""]),
        (["overlap.token_f1", "ragboard.refusal"], ["", ""]),
    ],
)
def test_a_metric_keeps_its_label_whichever_metrics_are_beside_it(
    tmp_path: Path, metrics: list[str], sources: list[str]
) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(sample_runs()[:1])
    evaluate_run(store, added.id, metrics_named(metrics), Panel(judge=EmbeddedJudge()))
    runs = leaderboard(store)
    data = board_data(runs, metric_descriptions(store), board_metrics(runs), datetime.now(UTC).replace(tzinfo=None))
    assert [column["source"] for column in data["columns"]] == sources


def test_runs_of_different_judges_are_said_to_be_not_comparable(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(sample_runs()[:1])
    evaluate_run(store, added.id, metrics_named(["overlap.token_f1", "ragboard.refusal"]), Panel(judge=EmbeddedJudge()))
    (run,) = leaderboard(store)
    assert run.judged
    other = replace(run, judged=replace(run.judged, judge="gpt", heuristic=False))
    now = datetime.now(UTC).replace(tzinfo=None)
    alike, unlike = (board_data(runs, {}, (), now)["caption"] for runs in ([run, run], [run, other]))
    assert "judges" not in alike
    assert unlike.endswith("Not comparable: different judges (embedded (rule-based); gpt).")


def test_the_share_of_refusals_is_of_the_samples_that_were_evaluated(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(sample_runs()[:1])
    evaluate_run(store, added.id, metrics_named(["overlap.token_f1"]), Panel(judge=EmbeddedJudge()))
    (run,) = leaderboard(store)
    assert run.judged
    part = replace(run, samples=2000, refusals=10, judged=replace(run.judged, covered=50, samples=2000))
    data = board_data([part], metric_descriptions(store), (), datetime.now(UTC).replace(tzinfo=None))
    assert data["rows"][0]["refusals"] == "20% (10)"
