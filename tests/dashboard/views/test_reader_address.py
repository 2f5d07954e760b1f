"""What was chosen in a sample goes before the address only as long as the page wrote that address itself."""

from __future__ import annotations

import pytest
import streamlit as st
from tests.dashboard.views.conftest import Draw

from ragboard_dashboard.views import sample


def test_going_back_shows_the_statement_of_the_address(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, int] = {}
    keys: list[str] = []

    def reader(*, key: str, chosen: int | None, **_: object) -> int | None:
        keys.append(key)
        return told.get(key, chosen)

    monkeypatch.setattr(sample, "statement_reader", reader)
    page = draw("sample", run="bm25-k3", statement="1")
    told[keys[-1]] = 2
    page.run()
    assert page.query_params["statement"] == "3"
    page.run()
    assert (page.query_params["statement"], len(set(keys))) == ("3", 1)
    page.query_params["statement"] = "1"
    page.run()
    assert page.query_params["statement"] == "1"


def test_a_choice_goes_before_an_address_that_comes_late(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    def reader(*, key: str, chosen: int | None, **_: object) -> int | None:
        keys.append(key)
        told: int | None = st.session_state.get(key, {}).get("chosen", chosen)
        return told

    monkeypatch.setattr(sample, "statement_reader", reader)
    page = draw("sample", run="bm25-k3", statement="1")
    page.session_state[keys[-1]] = {"chosen": 2}
    page.query_params["statement"] = "2"
    page.run()
    assert page.query_params["statement"] == "3"
