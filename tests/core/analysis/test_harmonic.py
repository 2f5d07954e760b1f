"""Tests of the ragas score: values by hand, excluded metrics, and undefined cases."""

from __future__ import annotations

from dataclasses import replace
from statistics import harmonic_mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.analysis import MetricSummary, ragas_score
from ragboard.records import Score, Unscored
from ragboard.stats import NoInterval


def summaries(**means: float | None) -> dict[str, MetricSummary]:
    nothing = NoInterval(reason="few", n=0)
    return {
        (spec := name.replace("__", ".")): MetricSummary(
            metric=spec, scored=1, total=1, mean=mean, interval=nothing, unscored={}
        )
        for name, mean in means.items()
    }


def test_by_hand() -> None:
    found = ragas_score(summaries(ragas__faithfulness=0.5, ragas__answer_relevance=1.0))
    assert found == Score(value=pytest.approx(2 / 3), counted="harmonic mean of Faithfulness, Answer relevance")


def test_aspects_lower_is_better_and_other_sources_are_left_out() -> None:
    found = ragas_score(
        summaries(
            ragas__faithfulness=0.5,
            ragas__context_recall=0.5,
            ragas__coherence=0.1,
            ragas__noise_sensitivity=0.1,
            ragchecker__precision=0.1,
            gone__metric=0.1,
        )
    )
    assert found == Score(value=0.5, counted="harmonic mean of Faithfulness, Context recall")


def test_of_a_metric_with_several_settings_the_default_counts_once() -> None:
    means = {"ragas.answer_relevance(method=direct)": 0.1, "ragas.answer_relevance": 0.5, "ragas.faithfulness": 0.5}
    found = ragas_score({spec: replace(summaries(any=mean)["any"], metric=spec) for spec, mean in means.items()})
    assert found == Score(value=0.5, counted="harmonic mean of Answer relevance, Faithfulness")


def test_one_setting_that_is_not_the_default_counts() -> None:
    means = {"ragas.answer_relevance(method=direct)": 0.5, "ragas.faithfulness": 0.5}
    found = ragas_score({spec: replace(summaries(any=mean)["any"], metric=spec) for spec, mean in means.items()})
    assert found == Score(value=0.5, counted="harmonic mean of Answer relevance (rated), Faithfulness")


def test_of_several_settings_without_the_default_none_is_chosen() -> None:
    several = ["ragas.factual_correctness(mode=precision)", "ragas.factual_correctness(mode=recall)"]
    specs = [*several, "ragas.faithfulness", "ragas.context_recall"]
    found = ragas_score({spec: replace(summaries(any=0.5)["any"], metric=spec) for spec in specs})
    assert found == Unscored(reason="undefined", detail=f"several settings, but not the default: {', '.join(several)}")


def test_a_zero_makes_it_zero() -> None:
    found = ragas_score(summaries(ragas__faithfulness=0.0, ragas__context_recall=0.9))
    assert isinstance(found, Score)
    assert found.value == 0.0


@pytest.mark.parametrize("mean", [None, -0.2])
def test_a_metric_without_a_mean_is_named(mean: float | None) -> None:
    found = ragas_score(summaries(ragas__faithfulness=0.5, ragas__answer_relevance=mean))
    assert found == Unscored(reason="undefined", detail="no mean, or a mean below 0: ragas.answer_relevance")


def test_one_metric_is_too_few() -> None:
    assert ragas_score(summaries(ragas__faithfulness=0.5)) == Unscored(
        reason="undefined", detail="needs 2 ragas metrics, 1 evaluated"
    )


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=3))
def test_it_is_the_harmonic_mean_between_the_minimum_and_the_mean(means: list[float]) -> None:
    names = ["ragas__faithfulness", "ragas__answer_relevance", "ragas__context_recall"]
    found = ragas_score(summaries(**dict(zip(names, means, strict=False))))
    assert isinstance(found, Score)
    assert found.value == pytest.approx(harmonic_mean(means))
    assert min(means) - 1e-12 <= found.value <= sum(means) / len(means) + 1e-12
