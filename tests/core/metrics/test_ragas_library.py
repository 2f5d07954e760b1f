"""Tests of the ragas library's metrics: by hand, every empty case, and `compat`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from tests.core.metrics.tables import SAMPLE, results, tables

from ragboard import METRICS, Score, Statement, Unscored, Verdict
from ragboard.metrics import compute_outcome
from ragboard.metrics.needs import JointVerdicts, JudgedStatements, NeedResults, ReferenceSimilarity
from ragboard.metrics.ragas_library import (
    AnswerCorrectness,
    AnswerSimilarity,
    ContextRecall,
    FactualCorrectness,
    NoiseSensitivity,
)
from ragboard.records import Label, Outcome


def recalled(*labels: Label, reference: str = "A reference.") -> Outcome:
    judged = JudgedStatements(
        side="reference",
        statements=tuple(Statement(side="reference", text=label) for label in labels),
        verdicts=tuple(Verdict(label=label) for label in labels),
        refuses=False,
    )
    sample = replace(SAMPLE, reference=reference)
    return compute_outcome(ContextRecall(), sample, NeedResults({JointVerdicts("reference"): judged}))  # type: ignore[dict-item]


def test_context_recall_is_supported_over_all_of_the_reference() -> None:
    found = recalled("supported", "unsupported", "contradicted", "supported")
    assert found == Score(value=0.5, counted="2 of 4 statements of the reference")


def test_context_recall_without_a_statement_is_undefined() -> None:
    assert recalled() == Unscored(reason="undefined", detail="the reference has no statement")
    assert recalled(reference=" ") == Unscored(reason="undefined", detail="the reference is empty")


CLAIMS = {"right": [1, 1, 0], "covered": [1, 0, 0, 0, 1, 0]}
"""2 right, 1 wrong; 4 missing."""


@pytest.mark.parametrize(
    ("metric", "expected", "counted"),
    [
        (FactualCorrectness(mode="precision"), 2 / 3, "2 right, 1 wrong"),
        (FactualCorrectness(mode="recall"), 2 / 6, "2 right, 1 wrong, 4 missing"),
        (FactualCorrectness(), 4 / 9, "2 right, 1 wrong, 4 missing"),
        (FactualCorrectness(mode="precision", compat=True), 0.67, "2 right, 1 wrong"),
        (FactualCorrectness(mode="recall", compat=True), 0.33, "2 right, 1 wrong, 4 missing"),
        (FactualCorrectness(compat=True), 0.44, "2 right, 1 wrong, 4 missing"),
    ],
    ids=lambda value: getattr(value, "spec", None),
)
def test_factual_correctness_counts_right_wrong_and_missing(
    metric: FactualCorrectness, expected: float, counted: str
) -> None:
    found = compute_outcome(metric, SAMPLE, results(**CLAIMS))
    assert found == Score(value=pytest.approx(expected, abs=1e-15), counted=counted)


@given(tables())
def test_f1_is_the_harmonic_mean_of_the_other_two_modes(made: dict[str, Any]) -> None:
    found = results(**made)
    p, r, f = (compute_outcome(FactualCorrectness(mode=mode), SAMPLE, found) for mode in ("precision", "recall", "f1"))
    assert isinstance(f, Score)
    assert isinstance(p, Score)
    if isinstance(r, Score) and p.value and r.value:
        assert f.value == pytest.approx(2 / (1 / p.value + 1 / r.value))
    else:
        assert f.value == 0.0


def test_the_constant_of_the_library_shows_where_rounding_is_close() -> None:
    """3 of 8 is a tie that rounds up to 0.38; with 1e-8 in the denominator it lies below and rounds down."""
    found = results(right=[1] * 3 + [0] * 5)
    assert compute_outcome(FactualCorrectness(mode="precision", compat=True), SAMPLE, found) == Score(
        value=0.37, counted="3 right, 5 wrong"
    )


@pytest.mark.parametrize("mode", ["precision", "recall", "f1"])
def test_no_claim_of_the_answer_is_undefined_and_0_in_the_library(mode: Any) -> None:
    found = results(covered=[0])
    assert compute_outcome(FactualCorrectness(mode=mode), SAMPLE, found) == Unscored(
        reason="undefined", detail="the judge found no statement in the answer"
    )
    compat = compute_outcome(FactualCorrectness(mode=mode, compat=True), SAMPLE, found)
    assert isinstance(compat, Score)
    assert compat.value == 0.0


def test_a_refusal_is_a_refusal() -> None:
    found = compute_outcome(FactualCorrectness(), SAMPLE, results(covered=[0], refuses=True))
    assert found == Unscored(reason="refusal", detail="the answer only refuses")


@pytest.mark.parametrize("mode", ["recall", "f1"])
def test_no_claim_of_the_reference_is_undefined(mode: Any) -> None:
    found = compute_outcome(FactualCorrectness(mode=mode), SAMPLE, results(right=[1]))
    assert found == Unscored(reason="undefined", detail="the reference has no claim")


def test_recall_of_none_right_and_none_missing_is_undefined() -> None:
    found = compute_outcome(FactualCorrectness(mode="recall"), SAMPLE, results(right=[0], covered=[1]))
    assert found == Unscored(reason="undefined", detail="no claim is right and none is missing")


def correct(metric: AnswerCorrectness, near: float, **made: Any) -> Outcome:
    found = NeedResults(results(**made).by_need | {ReferenceSimilarity(): near})  # type: ignore[operator]
    return compute_outcome(metric, SAMPLE, found)


def test_answer_correctness_weighs_claims_and_similarity() -> None:
    found = correct(AnswerCorrectness(), 0.8, **CLAIMS)
    assert found == Score(
        value=pytest.approx(0.75 * 2 / (2 + 0.5 * (1 + 4)) + 0.25 * 0.8, abs=1e-15),
        counted="F1 0.44 (2 right, 1 wrong, 4 missing), similarity 0.80",
    )
    half = correct(AnswerCorrectness(weight=0.5), 0.8, **CLAIMS)
    assert half == Score(
        value=pytest.approx(0.5 * 4 / 9 + 0.5 * 0.8), counted="F1 0.44 (2 right, 1 wrong, 4 missing), similarity 0.80"
    )


def test_answer_correctness_of_texts_without_claims_is_undefined_and_1_or_0_in_the_library() -> None:
    assert correct(AnswerCorrectness(), 0.8) == Unscored(
        reason="undefined", detail="the judge found no statement in the answer"
    )
    none = correct(AnswerCorrectness(compat=True), 0.8)
    assert isinstance(none, Score)
    assert none.value == pytest.approx(0.75 + 0.25 * 0.8)
    one = correct(AnswerCorrectness(compat=True), 0.8, right=[1])
    assert isinstance(one, Score)
    assert one.value == pytest.approx(0.25 * 0.8)


@pytest.mark.parametrize("weight", [-0.1, 1.1])
def test_a_weight_must_be_between_0_and_1(weight: float) -> None:
    with pytest.raises(ValueError, match="weight must be in"):
        AnswerCorrectness(weight=weight)


@given(tables(least=0))
def test_noise_sensitivity_is_that_of_ragchecker(made: dict[str, Any]) -> None:
    found = results(**made)
    for mode in ("relevant", "irrelevant"):
        ours = compute_outcome(NoiseSensitivity(mode=mode), SAMPLE, found)
        assert ours == compute_outcome(METRICS[f"ragchecker.noise_sensitivity_in_{mode}"], SAMPLE, found)


def test_answer_similarity_is_the_cosine() -> None:
    found = compute_outcome(AnswerSimilarity(), SAMPLE, NeedResults({ReferenceSimilarity(): -0.25}))  # type: ignore[dict-item]
    assert found == Score(value=-0.25, counted="answer of 2 words")
