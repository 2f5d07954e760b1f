"""Tests of file columns with the same name as a metric."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.dashboard.views.conftest import Draw

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Run, Sample, Store, evaluate_run
from ragboard_dashboard.text import column_title

NAMES = ("latency_ms", "Faithfulness", "a", "b", "c", "d")


@pytest.fixture(scope="module")
def run(kept: Store) -> Iterator[str]:
    """A run whose samples have numbers of their own."""
    samples = tuple(
        Sample(id=f"s{n}", question=f"What is {n}?", answer=f"It is {n}.", metadata=dict.fromkeys(NAMES, n))
        for n in range(3)
    )
    (added,) = kept.add_runs([Run(name="numbers", samples=samples)])
    evaluate_run(kept, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    yield added.name
    kept.remove_runs([added.id])


def test_a_list_shows_names_unchanged(draw: Draw, run: str) -> None:
    page = draw("run", run=run, shape="ECDF")
    column = next(box for box in page.selectbox if box.key == "column")
    assert "latency_ms" in column.options
    assert len(set(column.options)) == len(column.options)


@pytest.mark.usefixtures("run")
def test_a_column_named_like_a_metric_is_distinguished() -> None:
    assert column_title("ragas.faithfulness") == "Faithfulness"
    assert column_title("metadata.Faithfulness") == "metadata.Faithfulness"
    assert column_title("metadata.latency_ms") == "latency_ms"


def test_an_address_names_a_column_as_the_store_does(draw: Draw, run: str) -> None:
    page = draw("run", run=run, column="metadata.latency_ms")
    column = next(box for box in page.selectbox if box.key == "column")
    assert column.value == "metadata.latency_ms"
    column.set_value("metadata.a").run()
    assert page.query_params["column"] == "metadata.a"
