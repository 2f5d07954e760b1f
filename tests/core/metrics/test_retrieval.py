"""Tests of retrieval metrics: by hand, against second implementations, and every empty case."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard import METRICS, Passage, Sample, Score, Unscored
from ragboard.metrics import Metric, compute_outcome, metrics_named
from ragboard.metrics.needs import NeedResults
from ragboard.metrics.retrieval import (
    NDCG,
    AveragePrecision,
    HitRate,
    Precision,
    RankedPassages,
    Recall,
    ReciprocalRank,
    compare_with_gold,
)
from ragboard.records import Outcome

SIX = {metric.name: metric for metric in METRICS.values() if metric.source == "retrieval"}
NOTHING = NeedResults({})


def listed(*ids: str, **more: Any) -> Sample:
    """A sample that retrieved passages of these ids; their texts say them in words."""
    passages = tuple(Passage(id=name, text=f"This is {name}.", rank=rank) for rank, name in enumerate(ids, 1))
    return Sample(id="s", question="q?", contexts=passages, **more)


def by_id(retrieved: str, gold: str) -> Sample:
    return listed(*retrieved, metadata={"reference_context_ids": list(gold)})


def value(metric: Metric, sample: Sample) -> float:
    found = compute_outcome(metric, sample, NOTHING)
    assert isinstance(found, Score), found
    return found.value


@pytest.mark.parametrize(
    ("metric", "expected", "counted"),
    [
        (Recall(), 2 / 3, "2 of 3 gold passages"),
        (Recall(k=3), 1 / 3, "1 of 3 gold passages"),
        (Precision(), 2 / 5, "2 in the top 5"),
        (Precision(k=3), 1 / 3, "1 in the top 3"),
        (Precision(k=10), 2 / 10, "2 in the top 10"),
        (HitRate(), 1.0, "at rank 2, 4 of 5"),
        (HitRate(k=1), 0.0, "none in the top 1"),
        (ReciprocalRank(), 1 / 2, "at rank 2, 4 of 5"),
        (ReciprocalRank(k=1), 0.0, "none in the top 1"),
        (
            NDCG(),
            (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / math.log2(4)),
            "at rank 2, 4 of 5",
        ),
        (NDCG(k=2), (1 / math.log2(3)) / (1 + 1 / math.log2(3)), "at rank 2 of 2"),
        (AveragePrecision(), (1 / 2 + 2 / 4) / 3, "at rank 2, 4 of 5"),
        (AveragePrecision(k=3), (1 / 2) / 3, "at rank 2 of 3"),
    ],
    ids=lambda value: getattr(value, "spec", None),
)
def test_a_list_counted_by_hand(metric: Metric, expected: float, counted: str) -> None:
    """Retrieved v, a, w, b, x; gold are a, b and c."""
    found = compute_outcome(metric, by_id("vawbx", "abc"), NOTHING)
    assert found == Score(value=pytest.approx(expected), counted=counted)


def test_k_is_part_of_the_name_and_is_read_from_it() -> None:
    assert Recall(k=5).spec == "retrieval.recall(k=5)"
    assert metrics_named(["retrieval.recall(k=5)"]) == (Recall(k=5),)


def test_k_below_1_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        Recall(k=0)


LISTS = st.permutations("abcdefgh").flatmap(
    lambda order: st.tuples(
        st.integers(0, 8).map(lambda n: "".join(order[:n])),
        st.sets(st.sampled_from("abcdefghxyz"), min_size=1).map(lambda gold: "".join(sorted(gold))),
        st.integers(1, 10),
    )
)


@given(LISTS)
def test_all_are_what_second_implementations_say(case: tuple[str, str, int]) -> None:
    retrieved, gold, k = case
    sample = by_id(retrieved, gold)
    top = retrieved[:k]
    wanted = set(gold)
    assert value(Recall(k=k), sample) == pytest.approx(len(wanted & set(top)) / len(wanted))
    assert value(Precision(k=k), sample) == pytest.approx(len(wanted & set(top)) / k)
    assert value(HitRate(k=k), sample) == bool(wanted & set(top))
    assert value(ReciprocalRank(k=k), sample) == max(
        [1 / (place + 1) for place, name in enumerate(top) if name in wanted], default=0
    )
    assert value(NDCG(k=k), sample) == pytest.approx(dcg(top, wanted) / dcg(gold[:k], wanted))
    recalls = [0.0, *(value(Recall(k=place), sample) for place in range(1, k + 1))]
    gained = [after - before for before, after in itertools.pairwise(recalls)]
    under = sum(step * value(Precision(k=place), sample) for place, step in enumerate(gained, 1))
    assert value(AveragePrecision(k=k), sample) == pytest.approx(under)


def dcg(names: str, wanted: set[str]) -> float:
    return sum(math.log(2) / math.log(place + 2) for place, name in enumerate(names) if name in wanted)


@given(LISTS)
def test_a_perfect_list_is_1_everywhere(case: tuple[str, str, int]) -> None:
    _, gold, _ = case
    for metric in SIX.values():
        assert value(metric, by_id(gold, gold)) == pytest.approx(1)


def test_a_gold_passage_that_comes_twice_gains_once() -> None:
    sample = by_id("aab", "ab")
    assert compare_with_gold(sample) == RankedPassages(gold=2, relevant=(True, True, True), first_matches=(1, 0, 1))
    assert value(AveragePrecision(), sample) == pytest.approx((1 + 2 / 3) / 2)
    assert all(value(metric, sample) <= 1 for metric in SIX.values())


def test_chunks_belong_to_the_document_before_the_last_mark() -> None:
    sample = listed("bridge#3", "tunnel#1", "bridge#1", metadata={"documents": ["bridge", "canal"]})
    assert compare_with_gold(sample) == RankedPassages(gold=2, relevant=(True, False, True), first_matches=(1, 0, 0))


def test_gold_texts_match_but_for_spaces_and_case() -> None:
    sample = listed("a", "b", reference_contexts=("THIS  is\nb.", "Something else."))
    assert compare_with_gold(sample) == RankedPassages(gold=2, relevant=(False, True), first_matches=(0, 1))


def test_ids_of_the_retrieved_in_a_column_of_their_own_count() -> None:
    metadata = {"reference_context_ids": [7, 9], "retrieved_context_ids": [9, 8]}
    assert compare_with_gold(listed("1", "2", metadata=metadata)) == RankedPassages(
        gold=2, relevant=(True, False), first_matches=(1, 0)
    )


def test_an_id_may_hold_spaces_as_names_of_files_do() -> None:
    metadata = {"reference_context_ids": ["User guide.pdf", "Tax 2023.pdf#2"]}
    assert compare_with_gold(listed("Tax 2023.pdf#2", "x", metadata=metadata)) == RankedPassages(
        gold=2, relevant=(True, False), first_matches=(1, 0)
    )


def test_ids_go_before_texts_and_texts_before_documents() -> None:
    ids = {"reference_context_ids": ["a"], "documents": ["b"]}
    assert compare_with_gold(listed("a", "b", reference_contexts=("This is b.",), metadata=ids)) == RankedPassages(
        gold=1, relevant=(True, False), first_matches=(1, 0)
    )
    documents = {"documents": ["a"]}
    assert compare_with_gold(
        listed("a", "b", reference_contexts=("This is b.",), metadata=documents)
    ) == RankedPassages(gold=1, relevant=(False, True), first_matches=(0, 1))


def every(sample: Sample) -> set[Outcome]:
    return {compute_outcome(metric, sample, NOTHING) for metric in SIX.values()}


NO_GOLD = Unscored(reason="skipped", detail="the run file has no gold passages for this sample")


@pytest.mark.parametrize("documents", [None, "a", ["A text with spaces."], [["a"]], [None]])
def test_without_gold_passages_they_are_skipped(documents: Any) -> None:
    assert every(listed("a", metadata={"documents": documents})) == {NO_GOLD}


def test_gold_ids_do_not_match_places_in_the_list() -> None:
    (found,) = every(listed("1", "2", metadata={"reference_context_ids": ["1"]}))
    assert isinstance(found, Unscored)
    assert found.reason == "skipped"
    assert "the retrieved passages have no ids" in found.detail


def test_an_empty_list_of_gold_passages_is_undefined() -> None:
    expected = {Unscored(reason="undefined", detail="the run file lists no gold passage")}
    assert every(listed("a", reference_contexts=())) == expected
    assert every(by_id("a", "")) == expected


def test_where_nothing_was_retrieved_they_are_0_and_precision_undefined() -> None:
    sample = by_id("", "ab")
    assert value(Precision(k=3), sample) == 0
    assert compute_outcome(Precision(), sample, NOTHING) == Unscored(
        reason="undefined", detail="no passage was retrieved"
    )
    for name in set(SIX) - {"precision"}:
        assert value(SIX[name], sample) == 0, name


@given(st.lists(st.sampled_from("abcdxyz"), min_size=1, max_size=8), st.lists(st.sampled_from("abcdxyz"), max_size=4))
def test_metrics_that_rise_with_more_passages_never_fall(retrieved: list[str], more: list[str]) -> None:
    """And precision falls where what is added is not gold."""
    few, many = (by_id("".join(ids), "abcd") for ids in (retrieved, [*retrieved, *more]))
    for metric in SIX.values():
        if metric.more_passages == "rises":
            assert value(metric, many) >= value(metric, few) - 1e-12
    assert Precision.more_passages == "falls"
    assert value(Precision(), by_id("".join([*retrieved, "x"]), "abcd")) <= value(Precision(), few)
