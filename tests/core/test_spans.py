"""Tests of spans, and of removing bidirectional control characters."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.spans import MAX_DEPTH, Piece, covered_pieces, non_overlapping, strip_bidi_controls

TRICKY = ("plain", "👩‍👩‍👧‍👦 family 😀", "e\u0301\u0323 n\u0303", "مرحبا 42 😀 عالم", "\U00010348" * 3, "")
texts = st.one_of(st.sampled_from(TRICKY), st.text(max_size=40), st.text(alphabet="a😀é\u0301ع", max_size=40))
spans = st.lists(st.tuples(st.integers(-3, 45), st.integers(-3, 45)), max_size=30)


@given(spans, st.integers(0, 40))
def test_stretches_kept_apart_lie_in_the_text_in_order_without_overlap(
    wanted: list[tuple[int, int]], length: int
) -> None:
    kept = non_overlapping(wanted, length)
    edges = [edge for span in kept for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= length for start, end in kept)
    assert set(kept) <= set(wanted)


def test_of_two_overlapping_stretches_the_earlier_is_kept() -> None:
    assert non_overlapping([(3, 8), (0, 4), (8, 9)], 10) == [(0, 4), (8, 9)]


@given(spans, st.integers(0, 40))
def test_pieces_cover_each_place_with_exactly_the_stretches_that_lie_there(
    wanted: list[tuple[int, int]], length: int
) -> None:
    given_ = dict(enumerate(wanted[:MAX_DEPTH]))
    at = {
        place: set(piece.members) for piece in covered_pieces(given_, length) for place in range(piece.start, piece.end)
    }
    for place in range(length):
        there = {n for n, (start, end) in given_.items() if 0 <= start <= place < end <= length}
        assert at.get(place, set()) == there


@given(spans, st.integers(0, 40))
def test_pieces_do_not_overlap_and_are_never_deeper_than_the_limit(wanted: list[tuple[int, int]], length: int) -> None:
    pieces = covered_pieces(dict(enumerate(wanted)), length)
    assert all(a.end <= b.start for a, b in pairwise(pieces))
    assert all(0 <= piece.start < piece.end <= length and 1 <= len(piece.members) <= MAX_DEPTH for piece in pieces)


def test_two_stretches_over_one_place_share_a_piece() -> None:
    assert covered_pieces({0: (0, 6), 1: (4, 9)}, 9) == [Piece(0, 4, (0,)), Piece(4, 6, (0, 1)), Piece(6, 9, (1,))]


@given(texts)
def test_an_inert_text_keeps_every_position(text: str) -> None:
    assert len(strip_bidi_controls(f"\u202e{text}\u2066")) == len(text) + 2
    assert len(strip_bidi_controls(text).encode("utf-16-le")) == len(text.encode("utf-16-le"))


@pytest.mark.parametrize("control", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_controls_that_reorder_text_are_removed(control: str) -> None:
    assert control not in strip_bidi_controls(f"a{control}b")


def test_right_to_left_letters_and_marks_are_not_changed() -> None:
    assert strip_bidi_controls("שלום\u200f 42 عالم") == "שלום\u200f 42 عالم"
