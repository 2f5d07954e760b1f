"""The sample page and the ways from it."""

from __future__ import annotations

from tests.dashboard.views.conftest import Draw, Went

from ragboard import Store


def test_a_step_stays_with_the_evaluation_that_the_address_names(kept: Store, draw: Draw, went: Went) -> None:
    named = f"bm25-k3@{kept.resolve('bm25-k3').evaluation_id}"
    for label in ("Next", "Run"):
        page = draw("sample", run=named)
        next(button for button in page.button if button.label == label).click().run()
    assert [(where, query["run"]) for where, query in went] == [("sample", named), ("run", named)]
