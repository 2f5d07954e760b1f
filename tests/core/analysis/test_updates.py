"""How much a store contains, and what is new."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.core.traffic import Day, add_traffic

from ragboard import Run, Sample, Store
from ragboard.analysis import StoreContents, store_contents


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_runs_samples_and_evaluated_samples_are_counted(store: Store) -> None:
    assert store_contents(store) == StoreContents(runs=0, samples=0, evaluated=0)
    add_traffic(store, [Day([1.0, 0.5], 0)])
    store.append(Run(name="other", samples=(Sample(id="a", question="?"),)))
    assert store_contents(store) == StoreContents(runs=2, samples=3, evaluated=2)
    assert store_contents(store, store.resolve("other")) == StoreContents(runs=1, samples=1, evaluated=0)
    run = store.resolve("chat 1.0 (production)")
    assert store_contents(store, run) == StoreContents(runs=1, samples=2, evaluated=2)


def test_a_run_that_was_read_before_its_evaluation_counts_the_evaluation(store: Store) -> None:
    config = {"service": "chat", "version": "1.0"}
    store.append(Run(name="chat", samples=(Sample(id="a", question="?"),), config=config))
    before = store.resolve("chat")
    add_traffic(store, [Day([1.0, 0.5], 0)], name="chat")
    assert store_contents(store, before).evaluated == 3


@pytest.mark.parametrize(
    ("now", "news"),
    [
        ((2, 13, 3), "1 new run, 3 new samples, 1 newly evaluated"),
        ((1, 11, 2), "1 new sample"),
        ((1, 1_010, 502), "1,000 new samples, 500 newly evaluated"),
        ((1, 4, 2), "samples or results were deleted or replaced"),
    ],
)
def test_news_say_what_was_added(now: tuple[int, int, int], news: str) -> None:
    runs, samples, evaluated = now
    earlier = StoreContents(runs=1, samples=10, evaluated=2)
    assert StoreContents(runs=runs, samples=samples, evaluated=evaluated).added_since(earlier) == news


def test_runs_that_were_imported_do_not_grow(store: Store) -> None:
    (added,) = store.add_runs([Run(name="imported", samples=(Sample(id="a", question="?"),))])
    assert not store.grows()
    store.append(Run(name="chat", samples=(Sample(id="a", question="?"),)))
    assert store.grows()
    assert (store.grows(added.id), store.grows(store.resolve("chat").run_id)) == (False, True)
