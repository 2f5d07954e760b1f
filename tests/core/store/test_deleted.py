"""Tests of deleting a run while it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.core.conftest import PlainJudge, make_run

from ragboard import DEFAULT_METRICS, NotFoundError, Panel, Store, StoreBusyError, evaluate_run


def test_a_run_is_not_deleted_while_it_is_evaluated(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    load = Store.load

    def late(self: Store, *args: Any, **named: Any) -> None:
        with pytest.raises(StoreBusyError, match="is running in process"):
            self.remove_runs([run_id])
        load(self, *args, **named)

    run_id = store.add_runs([make_run()])[0].id
    monkeypatch.setattr(Store, "load", late)
    done = evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    assert done.samples == store.sample_count(run_id) > 0
    store.remove_runs([run_id])
    assert not list(store.folder.glob("journals/*"))


def test_a_run_deleted_just_before_its_evaluation_makes_no_calls_and_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = Store.positions

    def deleted(self: Store, run_id: str) -> Sequence[int]:
        found = positions(self, run_id)
        self.remove_runs([run_id])
        return found

    run_id = store.add_runs([make_run()])[0].id
    monkeypatch.setattr(Store, "positions", deleted)
    judge = PlainJudge()
    with pytest.raises(NotFoundError, match="the run was deleted while it was evaluated"):
        evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=judge))
    assert judge.asked == []
    with store.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchall() == [(0,)]
