"""A word diff loses no word of either text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragboard.analysis import Change, word_diff
from ragboard.analysis.word_diff import MOST_WORDS

TEXTS = st.lists(st.sampled_from(["a", "b ", " c", "d.\n", " "]), max_size=12).map("".join)


def test_what_is_gone_stands_before_what_is_new() -> None:
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
    long = same * (MOST_WORDS // 50 + 1)
    kinds = [change.kind for change in word_diff(long + "Old end.", long + "New end.")]
    assert kinds == ["same", "gone", "new"]
