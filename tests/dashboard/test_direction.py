"""Tests of text direction: the first letters decide."""

from __future__ import annotations

from importlib.resources import files

import pytest

DASHBOARD = files("ragboard_dashboard")


@pytest.mark.parametrize(
    ("sheet", "rule"),
    [("views/run/samples.css", "a {"), ("components/pairs.css", "a {"), ("components/link_lists.css", ".said {")],
)
def test_questions_and_statements_in_lists_run_their_own_way(sheet: str, rule: str) -> None:
    lines = (DASHBOARD / sheet).read_text("utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(rule)]
    assert "unicode-bidi: plaintext" in line
