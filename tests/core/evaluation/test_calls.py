"""Tests of the number of calls for fifteen metrics, counted by the server."""

from __future__ import annotations

import pytest
from benchmarks.calls import METRICS, make_run, measure


@pytest.mark.parametrize(("statements", "passages"), [(12, 5), (1, 1)])
def test_fifteen_metrics_take_at_most_nine_llm_calls_a_sample(statements: int, passages: int) -> None:
    assert len(METRICS) == 15
    figures = measure(make_run(2, statements, passages), bundled=True)
    print(f"per sample: {figures}")
    assert 0 < figures["llm_calls"] <= 9
    assert figures["embedding_calls"] == 1


def test_asking_one_by_one_takes_more_calls_and_tokens() -> None:
    run = make_run(1, 4, 3)
    bundled, single = measure(run, bundled=True), measure(run, bundled=False)
    assert bundled["llm_calls"] < single["llm_calls"]
    assert bundled["prompt_tokens"] < single["prompt_tokens"]
