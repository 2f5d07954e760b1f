"""Tests of recognising refusals, and of negative statements that are not refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragboard.judges.embedded.refusals import is_refusal

ROWS = [line.split("\t") for line in Path(__file__).with_name("refusals.tsv").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("kind", "sentence"), ROWS)
def test_refusals_are_distinguished_from_negative_statements(kind: str, sentence: str) -> None:
    assert is_refusal(sentence) == (kind == "declines")
