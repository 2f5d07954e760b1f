"""Tests of pages without data: an empty store, and addresses of something absent."""

from __future__ import annotations

from html import unescape
from typing import TYPE_CHECKING

import pytest
from streamlit.testing.v1 import AppTest

from ragboard import Store, sample_runs

if TYPE_CHECKING:
    from tests.dashboard.views.conftest import Draw

RUN = "bm25-k3"


def texts(page: AppTest) -> list[str]:
    """What the page says outside of components."""
    assert not page.exception
    said = [*page.header, *page.markdown]
    found = [str(one.value) for one in said] + [one.label for one in page.button]
    return found + [unescape(one.proto.body) for one in page.get("html")]


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("view", ["runs", "run", "sample", "upload"])
def test_an_empty_store_says_what_to_do(draw: Draw, view: str) -> None:
    assert any("Upload a run" in text for text in texts(draw(view)))


@pytest.mark.parametrize("view", ["run", "sample", "compare"])
def test_a_run_that_is_absent_is_reported_with_those_there_are(draw: Draw, view: str) -> None:
    page = draw(view, a="absent", b=RUN) if view == "compare" else draw(view, run="absent")
    assert any("no run is called 'absent'; there are bm25-k3" in text for text in texts(page))


@pytest.mark.parametrize("view", ["run", "sample"])
def test_an_evaluation_that_is_absent_is_reported(draw: Draw, view: str) -> None:
    said = texts(draw(view, run=f"{RUN}@absent"))
    assert any("no evaluation of this run is called 'absent'" in text for text in said)


def test_a_sample_that_is_absent_is_reported(draw: Draw) -> None:
    assert any(
        f"run '{RUN}' has no sample 'absent'" in text for text in texts(draw("sample", run=RUN, sample="absent"))
    )
    said = texts(draw("compare", a=RUN, b="bm25-rerank-k5", pair="absent"))
    assert any("has no sample 'absent'" in text for text in said)


def test_what_a_page_does_not_know_is_ignored(draw: Draw) -> None:
    assert any("Faithfulness" in text for text in texts(draw("run", run=RUN, sample="absent", statement="99")))


def test_with_one_run_the_compare_page_says_what_is_missing(fresh: Store, draw: Draw) -> None:
    fresh.add_runs(sample_runs()[:1])
    assert any("Nothing to compare yet" in text for text in texts(draw("compare")))


def test_the_address_says_which_metric_and_which_pairs(draw: Draw) -> None:
    page = draw("compare", a=RUN, b="bm25-rerank-k5", metric="ragas.context_relevance", which="better")
    assert not page.exception
    shown = {one.label: one.value for one in (*page.selectbox, *page.get("button_group"))}
    assert (shown["Metric"], shown["Which"]) == ("ragas.context_relevance", "better")
