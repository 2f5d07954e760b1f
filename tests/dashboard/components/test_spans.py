"""Tests of converting positions to JavaScript's units."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragboard.spans import non_overlapping
from ragboard_dashboard.components import utf16

TRICKY = ("plain", "👩‍👩‍👧‍👦 family 😀", "e\u0301\u0323 n\u0303", "مرحبا 42 😀 عالم", "\U00010348" * 3, "")
texts = st.one_of(st.sampled_from(TRICKY), st.text(max_size=40), st.text(alphabet="a😀é\u0301ع", max_size=40))
spans = st.lists(st.tuples(st.integers(-3, 45), st.integers(-3, 45)), max_size=30)


def units_of(text: str) -> bytes:
    return text.encode("utf-16-le")


@given(texts)
def test_a_position_becomes_the_number_of_utf16_units_before_it(text: str) -> None:
    unit = utf16(text)
    assert [unit(at) for at in range(len(text) + 1)] == [len(units_of(text[:at])) // 2 for at in range(len(text) + 1)]


@given(texts, spans)
def test_a_stretch_cut_by_units_holds_the_same_characters(text: str, wanted: list[tuple[int, int]]) -> None:
    unit = utf16(text)
    for start, end in non_overlapping(wanted, len(text)):
        assert units_of(text)[2 * unit(start) : 2 * unit(end)].decode("utf-16-le") == text[start:end]
