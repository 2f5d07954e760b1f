"""Tests of aligning the statements of two answers one to one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragboard.analysis.alignment import align

TEXTS = st.lists(
    st.lists(st.sampled_from(["bridge", "Bridge", "opened", "1900", "1901", "!", "red"]), max_size=5).map(" ".join),
    max_size=6,
)


def test_the_same_characters_come_before_the_same_words_and_those_before_words_in_common() -> None:
    a = ["It opened in 1900.", "The bridge is red.", "It carries four lanes of traffic."]
    b = ["it opened in 1900", "It carries six lanes of traffic.", "The bridge is red."]
    found = [(pair.a, pair.b, pair.how) for pair in align(a, b).aligned]
    assert found == [(0, 0, "normalised"), (1, 2, "exact"), (2, 1, "fuzzy")]


def test_the_share_of_common_words_is_counted_on_both_sides() -> None:
    (pair,) = align(["a b c d"], ["a b c e f g"], threshold=0.5).aligned
    assert pair.similarity == 2 * 3 / (4 + 6)


def test_statements_with_few_common_words_are_not_aligned() -> None:
    found = align(["It opened in 1900."], ["Nobody knows who painted this."])
    assert (found.aligned, found.only_a, found.only_b) == ((), (0,), (0,))


def test_a_repeated_statement_is_aligned_with_its_own_repetition() -> None:
    found = align(["same", "same"], ["same"])
    assert [(pair.a, pair.b) for pair in found.aligned] == [(0, 0)]
    assert found.only_a == (1,)


@given(TEXTS, TEXTS)
def test_every_statement_is_in_exactly_one_place(a: list[str], b: list[str]) -> None:
    found = align(a, b)
    assert sorted([*(pair.a for pair in found.aligned), *found.only_a]) == list(range(len(a)))
    assert sorted([*(pair.b for pair in found.aligned), *found.only_b]) == list(range(len(b)))


@given(TEXTS, TEXTS)
def test_which_answer_comes_first_does_not_matter(a: list[str], b: list[str]) -> None:
    forth, back = align(a, b), align(b, a)
    assert {(pair.a, pair.b, pair.how) for pair in forth.aligned} == {
        (pair.b, pair.a, pair.how) for pair in back.aligned
    }
    assert (forth.only_a, forth.only_b) == (back.only_b, back.only_a)


@given(TEXTS)
def test_a_text_is_aligned_with_itself_in_order(a: list[str]) -> None:
    assert all(pair.a == pair.b and pair.how == "exact" for pair in align(a, a).aligned)
