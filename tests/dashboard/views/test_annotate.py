"""The address of the page for labels says which run it is of."""

from __future__ import annotations

from tests.dashboard.views.conftest import Draw


def test_going_back_leads_to_the_run_that_was_left(draw: Draw) -> None:
    page = draw("annotate", run="bm25-k3", annotator="me")
    next(box for box in page.selectbox if box.key == "annotate-run").set_value("bm25-rerank-k5").run()
    assert page.query_params["run"] == "bm25-rerank-k5"
    page.query_params["run"] = "bm25-k3"
    page.run()
    assert page.query_params["run"] == "bm25-k3"
