"""Tests of the Run page and its links."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from tests.dashboard.views.conftest import Draw

from ragboard import EmbeddedJudge, Panel, Run, Sample, Store, evaluate_run
from ragboard.analysis import Distribution
from ragboard.metrics import metrics_named
from ragboard.store import RunRef
from ragboard_dashboard.views.run import page as run_page
from ragboard_dashboard.views.run import samples


def test_samples_are_links_to_the_evaluation_that_the_address_names(
    kept: Store, draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = f"bm25-k3@{kept.resolve('bm25-k3').evaluation_id}"
    links: list[str] = []
    monkeypatch.setattr(samples, "_draw", lambda *, data, **_: links.extend(row["href"] for row in data["rows"]))
    draw("run", run=named)
    assert len(links) == samples.PAGE_SIZE
    assert all(link.startswith(f"sample?{urlencode({'run': named})}&sample=") for link in links)


def test_a_run_of_conversations_says_what_its_intervals_are_of(kept: Store, draw: Draw) -> None:
    samples = tuple(
        Sample(id=f"{n}", question=f"{n}?", answer="Yes.", reference="Yes.", metadata={"conversation_id": n // 2})
        for n in range(6)
    )
    (added,) = kept.add_runs([Run(name="chat", samples=samples)])
    try:
        evaluate_run(kept, added.id, metrics_named(["overlap.exact_match"]), Panel(judge=EmbeddedJudge()))
        page = draw("run", run="chat")
        said = "".join(str(element.proto) for element in page.get("html"))
        assert "Intervals are clustered by 3 conversations." in said
    finally:
        kept.remove_runs([added.id])


def test_a_run_without_an_evaluation_has_no_distribution_of_its_numbers(fresh: Store, draw: Draw) -> None:
    samples = tuple(Sample(id=f"{n}", question=f"{n}?", answer="Yes.", metadata={"turn": n}) for n in range(6))
    (added,) = fresh.add_runs([Run(name="talk", samples=samples)])
    page = draw("run", run="talk")
    assert not [one.label for one in page.expander if one.label.startswith("Distribution")]
    evaluate_run(fresh, added.id, metrics_named(["faithfulness"]), Panel(judge=EmbeddedJudge()))
    page = draw("run", run="talk")
    assert [one.label for one in page.expander if one.label.startswith("Distribution")]
    assert [one for one in page.selectbox if one.label == "Group by"] == [], "there is nothing to group by"


def test_charts_are_computed_when_somebody_opens_them(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    compute = run_page.get_distribution

    def noted(run: RunRef, column: str, **options: Any) -> Distribution:
        computed.append(column)
        return compute(run, column, **options)

    monkeypatch.setattr(run_page, "get_distribution", noted)
    draw("run", run="bm25-k3")
    assert not computed
    draw("run", run="bm25-k3", column="ragas.answer_relevance")
    assert computed == ["ragas.answer_relevance"]
