"""Tests of RAGChecker's metrics: by hand, against a second implementation, and every empty case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from tests.core.metrics.tables import SAMPLE, results, tables

from ragboard import METRICS, Score, Unscored
from ragboard.metrics import Metric, compute_outcome
from ragboard.metrics.claim_classes import CORRECT, FROM_PASSAGES, classify_claim
from ragboard.metrics.needs import SeparateVerdicts
from ragboard.metrics.ragchecker import RagcheckerMetric, claim_classes
from ragboard.records import Outcome

ELEVEN = {metric.name: metric for metric in METRICS.values() if metric.source == "ragchecker"}

BY_HAND = results(
    # The answer's six claims, one of each class; passage 1 is relevant, passage 2 is not.
    right=[1, 1, 1, 0, 0, 0],
    sources=[[1, 1], [0, 1], [0, 0], [1, 1], [0, 1], [0, 0]],
    # Four claims of the reference: two in passage 1, one of which the answer has, and one more that it has.
    covered=[1, 0, 1, 0],
    reference=[[1, 0], [1, 0], [0, 0], [0, 0]],
)


def value(metric: Metric, **made: Any) -> float:
    found = compute_outcome(metric, SAMPLE, results(**made))
    assert isinstance(found, Score), found
    return found.value


@pytest.mark.parametrize(
    ("name", "expected", "counted"),
    [
        ("precision", 3 / 6, "3 of 6 claims"),
        ("recall", 2 / 4, "2 of 4 claims of the reference in the answer"),
        ("f1", 0.5, "3 of 6 claims right, 2 of 4 claims of the reference in the answer"),
        ("claim_recall", 2 / 4, "2 of 4 claims of the reference in a single passage"),
        ("context_precision", 1 / 2, "1 of 2 passages"),
        ("context_utilization", 1 / 2, "1 of 2 retrieved claims of the reference"),
        ("noise_sensitivity_in_relevant", 1 / 6, "1 of 6 claims"),
        ("noise_sensitivity_in_irrelevant", 1 / 6, "1 of 6 claims"),
        ("hallucination", 1 / 6, "1 of 6 claims neither in the reference nor in a single passage"),
        ("self_knowledge", 1 / 6, "1 of 6 claims in the reference but in no single passage"),
        ("faithfulness", 4 / 6, "4 of 6 claims"),
    ],
)
def test_a_case_counted_by_hand(name: str, expected: float, counted: str) -> None:
    assert compute_outcome(ELEVEN[name], SAMPLE, BY_HAND) == Score(
        value=pytest.approx(expected, abs=1e-15), counted=counted
    )


def test_f1_is_the_harmonic_mean_and_0_where_both_are_0() -> None:
    assert value(ELEVEN["f1"], right=[1, 0, 0, 0], covered=[1]) == pytest.approx(2 * 0.25 / 1.25)
    assert value(ELEVEN["f1"], right=[0], covered=[0]) == 0.0
    assert value(ELEVEN["f1"], right=[0], covered=[1]) == 0.0


def test_there_are_eleven_in_three_groups() -> None:
    groups: dict[str, int] = {}
    for metric in ELEVEN.values():
        group = cast("RagcheckerMetric", metric).group
        groups[group] = groups.get(group, 0) + 1
    assert groups == {"overall": 3, "retriever": 2, "generator": 6}


def test_each_asks_only_for_the_tables_it_counts_from() -> None:
    assert ELEVEN["precision"].needs() == (SeparateVerdicts("response", "reference"),)
    assert ELEVEN["faithfulness"].needs() == (SeparateVerdicts("response", "passages"),)
    assert len({need for metric in ELEVEN.values() for need in metric.needs()}) == 4


def test_every_claim_is_in_the_class_that_it_was_made_for() -> None:
    assert claim_classes(BY_HAND) == (
        "right_relevant",
        "right_irrelevant",
        "self_knowledge",
        "wrong_relevant",
        "wrong_irrelevant",
        "hallucination",
    )


def test_one_relevant_passage_among_several_decides() -> None:
    assert classify_claim(correct=False, supported_by=[True, True], relevant=[False, True]) == "wrong_relevant"
    assert classify_claim(correct=False, supported_by=[True, False], relevant=[False, True]) == "wrong_irrelevant"


@given(tables())
def test_the_classes_add_up_to_the_claims(made: dict[str, Any]) -> None:
    made_up, known = (value(ELEVEN[name], **made) for name in ("hallucination", "self_knowledge"))
    assert value(ELEVEN["faithfulness"], **made) + made_up + known == pytest.approx(1)
    near, far = (value(ELEVEN[f"noise_sensitivity_in_{kind}"], **made) for kind in ("relevant", "irrelevant"))
    assert value(ELEVEN["precision"], **made) + near + far + made_up == pytest.approx(1)


@given(tables())
def test_the_partition_says_the_same_as_the_metrics(made: dict[str, Any]) -> None:
    classes = claim_classes(results(**made))
    claims = len(classes)
    assert sum(each in CORRECT for each in classes) == pytest.approx(claims * value(ELEVEN["precision"], **made))
    assert sum(each in FROM_PASSAGES for each in classes) == pytest.approx(
        claims * value(ELEVEN["faithfulness"], **made)
    )
    for name in ("hallucination", "self_knowledge"):
        assert classes.count(cast("Any", name)) == pytest.approx(claims * value(ELEVEN[name], **made))


@given(tables(least=0))
def test_with_compat_each_is_what_a_second_implementation_says(made: dict[str, Any]) -> None:
    second = by_sets(**made)
    for name, metric in ELEVEN.items():
        assert value(replace(metric, compat=True), **made) == pytest.approx(second[name], abs=1e-12), name


@given(tables(least=0).filter(lambda made: made["passages"] > 0))
def test_without_compat_it_is_the_same_number_or_none(made: dict[str, Any]) -> None:
    for metric in ELEVEN.values():
        found = compute_outcome(metric, SAMPLE, results(**made))
        if isinstance(found, Score):
            assert found.value == value(replace(metric, compat=True), **made)
        else:
            assert found.reason == "undefined"


def by_sets(
    *, right: list[int], covered: list[int], sources: list[list[int]], reference: list[list[int]], passages: int
) -> dict[str, float]:
    """The formulas once more, over sets of numbers of claims and passages; 0 wherever RAGChecker says 0."""
    claims, gold = set(range(len(right))), set(range(len(covered)))
    correct, said = {r for r in claims if right[r]}, {g for g in gold if covered[g]}
    by = {r: {c for c in range(passages) if sources[r][c]} for r in claims}
    holds = {c: {g for g in gold if reference[g][c]} for c in range(passages)}
    useful = {c for c, found in holds.items() if found}
    retrieved = {g for found in holds.values() for g in found}
    wrong = claims - correct

    def over(some: set[int], of: set[int]) -> float:
        return len(some) / len(of) if of else 0.0

    p, r = over(correct, claims), over(said, gold)
    return {
        "precision": p,
        "recall": r,
        "f1": 2 * p * r / (p + r) if p and r else 0.0,
        "claim_recall": over(retrieved, gold),
        "context_precision": over(useful, set(range(passages))),
        "context_utilization": over(retrieved & said, retrieved),
        "noise_sensitivity_in_relevant": over({x for x in wrong if by[x] & useful}, claims),
        "noise_sensitivity_in_irrelevant": over({x for x in wrong if gold and by[x] and not by[x] & useful}, claims),
        "hallucination": over({x for x in wrong if passages and not by[x]}, claims),
        "self_knowledge": over({x for x in correct if passages and not by[x]}, claims),
        "faithfulness": over({x for x in claims if by[x]}, claims),
    }


NO_ANSWER_CLAIM = {"covered": [1], "reference": [[1, 0]]}
NO_REFERENCE_CLAIM = {"right": [0], "sources": [[1, 0]]}
OF_THE_ANSWER = (
    "precision",
    "f1",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
    "hallucination",
    "self_knowledge",
    "faithfulness",
)
OF_THE_REFERENCE = (
    "recall",
    "f1",
    "claim_recall",
    "context_precision",
    "context_utilization",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
)


def with_and_without_compat(name: str, **made: Any) -> tuple[Outcome, Outcome]:
    metric = ELEVEN[name]
    found = results(**made)
    return compute_outcome(metric, SAMPLE, found), compute_outcome(replace(metric, compat=True), SAMPLE, found)


@pytest.mark.parametrize("name", OF_THE_ANSWER)
@pytest.mark.parametrize(
    ("refuses", "expected"),
    [
        (False, Unscored(reason="undefined", detail="the judge found no statement in the answer")),
        (True, Unscored(reason="refusal", detail="the answer only refuses")),
        (None, Unscored(reason="undefined", detail="the run file lists no claim of the answer")),
    ],
)
def test_an_answer_without_claims_has_no_share(name: str, refuses: bool | None, expected: Unscored) -> None:
    strict, compat = with_and_without_compat(name, **NO_ANSWER_CLAIM, refuses=refuses)
    assert strict == expected
    assert compat == Score(value=0.0, counted=f"0 by convention: {expected.detail}")


@pytest.mark.parametrize("name", OF_THE_REFERENCE)
def test_a_reference_without_claims_has_no_share(name: str) -> None:
    strict, compat = with_and_without_compat(name, **NO_REFERENCE_CLAIM)
    assert strict == Unscored(reason="undefined", detail="the reference has no claim")
    assert compat == Score(value=0.0, counted="0 by convention: the reference has no claim")


@pytest.mark.parametrize("name", sorted(set(ELEVEN) - set(OF_THE_ANSWER)))
def test_what_counts_claims_of_the_reference_does_not_mind_an_answer_without(name: str) -> None:
    assert isinstance(with_and_without_compat(name, **NO_ANSWER_CLAIM)[0], Score)


NOTHING_RETRIEVED = {"right": [1, 0], "sources": [[], []], "covered": [1], "reference": [[]], "passages": 0}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claim_recall", 0.0),
        ("faithfulness", 0.0),
        ("hallucination", 0.5),
        ("self_knowledge", 0.5),
        ("noise_sensitivity_in_relevant", 0.0),
        ("noise_sensitivity_in_irrelevant", 0.0),
    ],
)
def test_where_nothing_was_retrieved_no_passage_says_anything(name: str, expected: float) -> None:
    strict, compat = with_and_without_compat(name, **NOTHING_RETRIEVED)
    assert isinstance(strict, Score)
    assert strict.value == expected
    assert compat == Score(value=0.0, counted="0 by convention: no passage was retrieved")


@pytest.mark.parametrize(
    ("name", "made", "detail"),
    [
        ("context_precision", NOTHING_RETRIEVED, "no passage was retrieved"),
        (
            "context_utilization",
            {"covered": [1], "reference": [[0, 0]]},
            "no single passage supports a claim of the reference",
        ),
    ],
)
def test_a_share_of_nothing_is_undefined_and_0_with_compat(name: str, made: dict[str, Any], detail: str) -> None:
    strict, compat = with_and_without_compat(name, **made)
    assert strict == Unscored(reason="undefined", detail=detail)
    assert compat == Score(value=0.0, counted=f"0 by convention: {detail}")


def test_an_empty_answer_covers_nothing_but_has_no_precision() -> None:
    sample = replace(SAMPLE, answer="")
    made = results(covered=[0, 0])
    assert compute_outcome(ELEVEN["recall"], sample, made) == Score(
        value=0.0, counted="0 of 2 claims of the reference in the answer"
    )
    assert compute_outcome(ELEVEN["precision"], sample, made) == Unscored(
        reason="undefined", detail="the answer is empty"
    )


def test_compat_is_part_of_the_identity() -> None:
    assert replace(ELEVEN["f1"], compat=True).spec == "ragchecker.f1(compat=True)"


def test_nothing_retrieved_leaves_nothing_to_use() -> None:
    strict, compat = with_and_without_compat("context_utilization", **NOTHING_RETRIEVED)
    assert strict == Unscored(reason="undefined", detail="no single passage supports a claim of the reference")
    assert compat == Score(value=0.0, counted="0 by convention: no passage was retrieved")
