"""Tests of text similarity: range and identity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.embedded.judge import similarities
from ragboard.text.sentences import tokens


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_cosine_is_in_range_and_is_1_for_equal_texts(one: str, other: str) -> None:
    itself, across = similarities(one, (one, other))
    assert itself == (1.0 if tokens(one) else 0.0)
    assert -1.0 <= across <= 1.0


@given(st.text(max_size=80))
def test_a_text_without_words_is_like_nothing(other: str) -> None:
    assert similarities("", (other,)) == (0.0,)


def test_shared_words_bring_texts_near_and_other_words_keep_them_apart() -> None:
    near, far = similarities("When did the bridge open?", ("When was the bridge opened?", "What do sheep eat?"))
    assert near > 0.8 > 0.3 > far


@pytest.mark.parametrize("text", ["\ud800 lone", "\u4ed6\u6765\u4e86"])
def test_odd_texts_are_compared(text: str) -> None:
    assert similarities(text, (text,)) == (1.0,)
