"""Tests of caching: pages keep data until the store changes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragboard import EmbeddedJudge, Panel, Run, Sample, Store, evaluate_run, sample_runs
from ragboard.analysis import RunSummary, leaderboard
from ragboard.metrics import metrics_named
from ragboard.store import RunRef
from ragboard_dashboard import data
from ragboard_dashboard import settings as served
from ragboard_dashboard.data import cached, get_leaderboard
from ragboard_dashboard.settings import ServerSettings, publish_settings


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    before = os.environ.get(served.VARIABLE)
    publish_settings(ServerSettings(store=tmp_path / "store"))
    yield Store(tmp_path / "store")
    if before is None:
        del os.environ[served.VARIABLE]
    else:
        os.environ[served.VARIABLE] = before


def test_a_default_that_is_written_out_asks_the_same(store: Store) -> None:
    asked: list[int] = []

    @cached()
    def doubled(read: Store, number: int = 1) -> int:
        assert read.folder == store.folder
        asked.append(number)
        return 2 * number

    assert [doubled(), doubled(1), doubled(number=1), doubled(2)] == [2, 2, 2, 4]
    assert asked == [1, 2]


def test_what_was_written_is_seen_at_once(store: Store) -> None:
    assert get_leaderboard() == ()
    store.add_runs(sample_runs()[:1])
    assert [run.name for run in get_leaderboard(unscored="zero")] == ["bm25-k3"]
    assert [run.name for run in get_leaderboard()] == ["bm25-k3"]


def test_what_is_kept_of_a_run_is_read_again_after_its_own_changes_only(store: Store) -> None:
    one, two = (Run(name=name, samples=(Sample(id="a", question="?", answer="Yes."),)) for name in ("one", "two"))
    store.append(one)
    store.append(two)
    read: list[str] = []

    @cached(by_run=True)
    def counted(read_store: Store, run: RunRef) -> int:
        read.append(run.name)
        return read_store.sample_count(run.run_id)

    first, second = store.resolve("one"), store.resolve("two")
    assert [counted(first), counted(second)] == [1, 1]
    store.append(replace(two, samples=(Sample(id="b", question="?", answer="No."),)))
    assert [counted(first), counted(second)] == [1, 2]
    assert read == ["one", "two", "two"]


def test_the_leaderboard_summarizes_runs_again_that_changed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, panel = metrics_named(["overlap.rouge_l"]), Panel(judge=EmbeddedJudge())
    for run in store.add_runs(sample_runs()):
        evaluate_run(store, run.id, metrics, panel)
    summarized: list[set[str]] = []
    summarize = data.leaderboard

    def noted(store: Store, *, run_ids: Collection[str], **options: Any) -> tuple[RunSummary, ...]:
        found = summarize(store, run_ids=run_ids, **options)
        summarized.append({run.name for run in found})
        return found

    monkeypatch.setattr(data, "leaderboard", noted)
    names = [run.name for run in get_leaderboard()]
    first = store.resolve(names[0])
    store.set_tags(first.run_id, ["best"])
    boards = [get_leaderboard(), leaderboard(store)]
    store.remove_runs([first.run_id])
    boards += [get_leaderboard(), leaderboard(store)]
    assert boards[0] == boards[1]
    assert boards[2] == boards[3]
    assert summarized == [set(names), {names[0]}]
