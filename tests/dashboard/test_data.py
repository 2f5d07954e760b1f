"""Tests of caching: pages keep data until the store changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragboard import Store, sample_runs
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
