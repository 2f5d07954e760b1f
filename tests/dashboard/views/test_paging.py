"""Tests of paging: a new order or filter starts at the first page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.dashboard.views.conftest import Draw

from ragboard.analysis import HallucinationGroup
from ragboard_dashboard.views.hallucinations import page as hallucinations


def test_another_order_begins_at_the_first_page(draw: Draw) -> None:
    page = draw("run", run="bm25-k3", page="3")
    assert page.session_state["page"] == 3
    next(box for box in page.selectbox if box.key == "order").set_value("highest").run()
    assert page.session_state["page"] == 1


def test_another_column_begins_at_the_first_page(draw: Draw) -> None:
    page = draw("run", run="bm25-k3", page="3", order="lowest", shape="ECDF")
    next(box for box in page.get("button_group") if box.key == "column").set_value("ragas.answer_relevance").run()
    assert page.session_state["page"] == 1


def test_another_metric_begins_at_the_first_page_of_its_pairs(draw: Draw) -> None:
    page = draw("compare", a="bm25-k3", b="bm25-rerank-k5", page="2")
    assert page.session_state["page"] == 2
    next(box for box in page.selectbox if box.key == "compare-metric").set_value("ragas.answer_relevance").run()
    assert page.session_state["page"] == 1


def test_groups_of_a_later_page_than_there_is_are_those_of_the_first(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []

    def counted(found: Sequence[HallucinationGroup], **_: Any) -> None:
        shown.append(len(found))

    monkeypatch.setattr(hallucinations, "group_list", counted)
    draw("hallucinations", page="4", by="by judge")
    assert shown == [1]
