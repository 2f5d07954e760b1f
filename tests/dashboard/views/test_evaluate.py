"""The page that starts evaluations keeps what a person said of limits."""

from __future__ import annotations

from tests.dashboard.views.conftest import Draw


def test_a_wrong_parameter_does_not_take_the_limits_away(draw: Draw) -> None:
    page = draw("evaluate", run="bm25-k3")
    page.button_group(key="judge-kind").set_value("Chat model").run()
    next(box for box in page.text_input if box.label == "Model").set_value("m").run()
    next(box for box in page.number_input if box.label == "US dollars").set_value(5.0).run()
    for typed in ("temperature", "temperature=0"):
        next(box for box in page.text_input if box.label == "Parameters").set_value(typed).run()
    assert next(box for box in page.number_input if box.label == "US dollars").value == 5.0
