"""Tests of the Evaluate page: limits, and metrics that cannot be scored."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from tests.dashboard.views.conftest import Draw


def test_a_wrong_parameter_does_not_take_the_limits_away(draw: Draw) -> None:
    page = draw("evaluate", run="bm25-k3")
    page.button_group(key="judge-kind").set_value("Chat model").run()
    next(box for box in page.text_input if box.label == "Model").set_value("m").run()
    next(box for box in page.number_input if box.label == "US dollars").set_value(5.0).run()
    for typed in ("temperature", "temperature=0"):
        next(box for box in page.text_input if box.label == "Parameters").set_value(typed).run()
    assert next(box for box in page.number_input if box.label == "US dollars").value == 5.0


def said(page: AppTest) -> str:
    """All that the page says in words of its own."""
    return "\n".join(unescape(element.proto.body) for element in page.get("html"))


def start_buttons(page: AppTest) -> list[bool]:
    """Whether each button that starts an evaluation is off."""
    return [button.disabled for button in page.button if button.label == "Start"]


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        ("coherence", "Coherence needs a chat model. Remove it, or choose another judge or run."),
        ("faithfulness,coherence,conciseness", "Coherence needs a chat model, and 1 other metric cannot be scored"),
        ("retrieval.recall(k=5)", "Retrieval recall (k=5) needs gold passages: the file has none."),
        ("", "Choose at least one metric."),
    ],
)
def test_what_the_judge_or_the_file_cannot_score_is_not_started(draw: Draw, metrics: str, why: str) -> None:
    page = draw("evaluate", run="bm25-k3", metrics=metrics)
    assert not page.exception
    assert why in said(page)
    assert start_buttons(page) == [True]


def test_the_usual_metrics_of_the_judge_are_chosen_and_where_texts_go_is_reported(draw: Draw, monkeypatch: Any) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    page = draw("evaluate", run="bm25-k3")
    assert "4 metrics of 60 samples by embedded: no calls to models, no cost" in said(page)
    assert "Nothing leaves this machine." in said(page)
    assert start_buttons(page) == [False]
    page.button_group(key="judge-kind").set_value("Chat model").run()
    assert start_buttons(page) == [True]
    next(box for box in page.text_input if box.label == "Model").set_value("gpt-4o-mini").run()
    assert "4 metrics of 60 samples by openai:gpt-4o-mini: " in said(page)
    assert "are sent to api.openai.com." in said(page)
    assert {row["Metric"] for row in page.dataframe[0].value.to_dict("records")} == {
        "Faithfulness",
        "Answer relevance",
        "Context relevance",
        "Answer recall",
    }, "the file has references"


def test_an_unknown_metric_is_reported(draw: Draw) -> None:
    page = draw("evaluate", run="bm25-k3", metrics="faithfullness")
    assert "no metric is called 'faithfullness'; did you mean faithfulness" in said(page)
    assert start_buttons(page) == [False]
