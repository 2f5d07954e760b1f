"""Tests of the word diff: it keeps every word of both texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.analysis import Change, diff_note, shared_words, text_of_side, word_diff
from ragboard.analysis.word_diff import MAX_WORDS

TEXTS = st.lists(st.sampled_from(["a", "b ", " c", "d.\n", " "]), max_size=12).map("".join)


def test_deleted_words_come_before_inserted_words() -> None:
    assert word_diff("It opened in 1900.", "It opened in 1901.") == (
        Change(kind="same", text="It opened in "),
        Change(kind="gone", text="1900."),
        Change(kind="new", text="1901."),
    )


def test_no_text_and_no_text_have_no_change() -> None:
    assert word_diff("", "") == ()


@given(TEXTS, TEXTS)
def test_each_text_can_be_read_off_the_changes(first: str, second: str) -> None:
    changes = word_diff(first, second)
    assert "".join(change.text for change in changes if change.kind != "gone") == second
    assert "".join(change.text for change in changes if change.kind != "new").split() == first.split() or " " in first


def test_long_texts_are_compared_by_sentences() -> None:
    same = "word " * 50 + ". "
    long = same * (MAX_WORDS // 50 + 1)
    kinds = [change.kind for change in word_diff(long + "Old end.", long + "New end.")]
    assert kinds == ["same", "gone", "new"]


@given(TEXTS, TEXTS)
def test_swapping_the_texts_mirrors_the_changes(first: str, second: str) -> None:
    forth, back = word_diff(first, second), word_diff(second, first)
    for one, other in (("same", "same"), ("gone", "new"), ("new", "gone")):
        said = [
            " ".join("".join(c.text for c in changes if c.kind == kind).split())
            for changes, kind in ((forth, one), (back, other))
        ]
        assert said[0] == said[1]
    assert shared_words(forth) == shared_words(back)


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("one two three four", "one two three five", 0.75),
        ("one two", "one three", 0.5),
        ("one two three", "one four five", 1 / 3),
        ("", "one", 0.0),
        ("", "", 1.0),
    ],
)
def test_the_share_of_words_in_both_is_counted_by_hand(first: str, second: str, shared: float) -> None:
    assert shared_words(word_diff(first, second)) == pytest.approx(shared)


def test_texts_that_share_half_of_their_words_are_marked_and_others_are_not() -> None:
    marked = word_diff("one two", "one three")
    assert [change.kind for change in text_of_side(marked, "A")] == ["same", "gone"]
    assert [change.kind for change in text_of_side(marked, "B")] == ["same", "new"]
    assert diff_note(marked).startswith("Highlighted")
    other = word_diff("one two three", "one four five")
    assert text_of_side(other, "A") == (Change(kind="same", text="one two three"),)
    assert text_of_side(other, "B") == (Change(kind="same", text="one four five"),)
    assert diff_note(other) == "The two texts share only 33% of their words, so the differences are not marked."
    assert text_of_side(word_diff("", "one"), "A") == ()
