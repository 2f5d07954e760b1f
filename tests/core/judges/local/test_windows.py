"""Tests of windows: they cover the text, fit the limit, and keep sentences whole."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.local.windows import span, tokens_at, windows


@st.composite
def texts(draw: st.DrawFn) -> tuple[int, tuple[int, ...], int]:
    """Lengths of sentences as a length and borders, and a room."""
    sentences = draw(st.lists(st.integers(1, 60), max_size=30))
    borders = tuple(sum(sentences[:number]) for number in range(len(sentences)))
    return sum(sentences), borders, draw(st.integers(1, 80))


@given(texts())
def test_every_token_is_in_a_window_and_none_is_too_long(text: tuple[int, tuple[int, ...], int]) -> None:
    length, borders, room = text
    found = windows(length, borders, room)
    assert {token for window in found for token in window} == set(range(length))
    assert all(0 < len(window) <= room for window in found)


@given(texts())
def test_windows_go_forward(text: tuple[int, tuple[int, ...], int]) -> None:
    found = windows(*text)
    for one, following in pairwise(found):
        assert one.start < following.start <= one.stop < following.stop


@given(texts())
def test_a_sentence_of_half_a_window_is_whole_in_one(text: tuple[int, tuple[int, ...], int]) -> None:
    length, borders, room = text
    found = windows(length, borders, room)
    for start, end in pairwise((*borders, length)):
        if end - start <= room // 2:
            assert any(window.start <= start and end <= window.stop for window in found)


def test_three_sentences_by_hand() -> None:
    """Sentences 0-5, 6-9, 10-15; ten tokens of room, two of overlap."""
    assert windows(16, (0, 6, 10), 10) == (range(10), range(10, 16))
    assert windows(16, (0, 6, 9), 10) == (range(9), range(9, 16))
    assert windows(16, (0, 8, 9), 10) == (range(9), range(8, 16))


def test_without_a_border_a_window_repeats_a_quarter() -> None:
    assert windows(20, (), 8) == (range(8), range(6, 14), range(12, 20))
    assert windows(0, (), 8) == ()


def test_a_border_is_the_token_that_holds_it() -> None:
    """A token may begin with the space before its word."""
    offsets = ((0, 2), (2, 3), (3, 7), (7, 8))  # "It", ".", " Red", "."
    assert tokens_at(offsets, (0, 4)) == (0, 2)
    assert span("It. Red.", offsets, range(2, 4)) == (4, 8)
    assert span("a   ", ((0, 1), (1, 4)), range(1, 2)) is None
