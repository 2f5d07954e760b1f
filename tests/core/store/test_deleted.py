"""A run that is deleted while somebody works on it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.conftest import PlainJudge, make_run

from ragboard import DEFAULT_METRICS, NotFoundError, Panel, Store, evaluate_run


def test_of_a_run_that_is_deleted_while_it_is_evaluated_nothing_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Store.load

    def late(self: Store, *args: Any, **named: Any) -> None:
        self.remove_runs([run_id])
        load(self, *args, **named)

    run_id = store.add_runs([make_run()])[0].id
    monkeypatch.setattr(Store, "load", late)
    with pytest.raises(NotFoundError, match="the run was deleted while it was evaluated"):
        evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    with store.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchall() == [(0,)]
