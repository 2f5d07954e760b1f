"""The page of a run and the ways from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.dashboard.views.conftest import Draw, Went

from ragboard import Store
from ragboard.report import SampleRow
from ragboard_dashboard.views import run


def test_a_sample_is_opened_in_the_evaluation_that_the_address_names(
    kept: Store, draw: Draw, went: Went, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = f"bm25-k3@{kept.resolve('bm25-k3').evaluation_id}"
    linked: list[str] = []

    def opens_the_first(rows: Sequence[SampleRow], _titles: Any, to: str, *_: Any, **__: Any) -> str:
        linked.append(to)
        return rows[0].sample_id

    monkeypatch.setattr(run, "sample_list", opens_the_first)
    draw("run", run=named)
    assert (linked, went[-1][1]["run"]) == ([named], named)
