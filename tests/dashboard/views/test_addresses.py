"""Tests of invalid values in URLs."""

from __future__ import annotations

import pytest
from tests.dashboard.views.conftest import Draw


@pytest.mark.parametrize("number", ["9" * 5000, "0", "-1", "\u0663", "1e3", ""])
def test_a_statement_that_cannot_be_is_not_chosen(draw: Draw, number: str) -> None:
    page = draw("sample", run="bm25-k3", statement=number)
    assert not page.exception
