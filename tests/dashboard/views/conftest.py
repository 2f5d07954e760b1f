"""Fixtures of the view tests: evaluated sample runs, and pages drawn without a browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from tests.conftest import EvaluatedSamples

from ragboard import Store
from ragboard_dashboard import links
from ragboard_dashboard import settings as served
from ragboard_dashboard.settings import ServerSettings, publish_settings

Draw: TypeAlias = Callable[..., AppTest]
Went: TypeAlias = list[tuple[str, Mapping[str, str]]]
SCRIPT = """
import streamlit as st
from ragboard_dashboard.links import store_pages
from ragboard_dashboard.pages import navigation_menus, build_pages
from ragboard_dashboard.views.{view}.page import draw
pages = build_pages()
store_pages(pages)
st.navigation(navigation_menus(pages), position="hidden")
draw()
"""
"""One page, whatever the address says, and the others for it to lead to."""


@pytest.fixture(scope="package")
def kept(tmp_path_factory: pytest.TempPathFactory, evaluated_samples: EvaluatedSamples) -> Iterator[Store]:
    """A store with both sample runs, evaluated, that pages read."""
    store = evaluated_samples(tmp_path_factory.mktemp("views") / "store")
    before = os.environ.get(served.VARIABLE)
    publish_settings(ServerSettings(store=store.folder))
    yield store
    if before is None:
        del os.environ[served.VARIABLE]
    else:
        os.environ[served.VARIABLE] = before


@pytest.fixture
def draw(kept: Store) -> Draw:
    """A function from a view and its address to the page."""
    del kept  # whoever draws needs it

    def drawn(view: str, **address: str) -> AppTest:
        page = AppTest.from_string(SCRIPT.format(view=view), default_timeout=60)
        for name, value in address.items():
            page.query_params[name] = value
        return page.run()

    return drawn


@pytest.fixture
def fresh(kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store of one test, which pages then read."""
    del kept  # its settings come back after this test
    monkeypatch.setenv(served.VARIABLE, "")
    publish_settings(ServerSettings(store=tmp_path / "store"))
    return Store(tmp_path / "store")


@pytest.fixture
def went(monkeypatch: pytest.MonkeyPatch) -> Went:
    """Pages that were led to, with their addresses."""
    found: Went = []

    def go(page: str, query: Mapping[str, str]) -> None:
        found.append((page, query))
        st.stop()

    monkeypatch.setattr(links, "open_page", go)
    return found
