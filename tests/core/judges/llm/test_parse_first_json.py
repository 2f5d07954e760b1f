"""Tests of finding the JSON object in a reply."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.llm.dialogue import parse_first_json
from ragboard.tasks import ReplyFormatError
from ragboard.text.quotes import locate

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{"))


def found(text: str, key: str | None = "a", prompt: str = "") -> Any:
    return parse_first_json(text, lambda value: value, key, prompt=prompt)


@given(before=PLAIN, value=JSON, after=st.text())
def test_an_object_is_found_between_any_text(before: str, value: Any, after: str) -> None:
    whole = {"a": value}
    before = before.replace("<think>", "")
    assert found(before + json.dumps(whole) + after.replace("</think>", "")) == whole


@given(st.text(st.sampled_from('{}[]",:\\ a1\n')) | st.text())
def test_any_text_holds_an_object_or_is_a_misfit(text: str) -> None:
    with contextlib.suppress(ReplyFormatError):
        assert "a" in found(text)


@given(value=JSON, cut=st.integers(1))
def test_what_is_cut_off_is_never_read(value: Any, cut: int) -> None:
    whole = json.dumps({"a": value})
    with pytest.raises(ReplyFormatError):
        found(whole[: max(1, len(whole) - cut)])


def test_objects_without_the_key_are_passed_over() -> None:
    assert found('{"b": 1} and {not json} and {"a": 2}') == {"a": 2}


def test_a_comma_before_a_closing_bracket_is_read_over_but_not_in_a_text() -> None:
    assert found('{"a": [1, 2, ], "b": ",]",\n}') == {"a": [1, 2], "b": ",]"}


@pytest.mark.parametrize("text", ['{"a": 1,, "b": 2}', '{"a": 1 "b": 2}', "{'a': 1} {\"a\": 1 2}", '{"a": 1, "a": 1}'])
def test_other_errors_are_not_corrected(text: str) -> None:
    with pytest.raises(ReplyFormatError, match="cannot be read"):
        found(text)


THOUGHTS = (
    'He wrote </think> in it: {"a": 2}',
    '{"a": 2, "b": "quoted: </think> and [/THINK]"}',
    '<think>short</think>{"a": 2, "b": ["</think>"], "c": "</reasoning>{}"}',
    'maybe {"a": 1, "b": "</think>"} no </think> {"a": 2}',
    '<think>{"a": 1, "b": "</think>"} or, as it says </think>, {"a": 3}? No.</think> {"a": 2}',
    '<think>an open { and </think> {"a": 2, "b": "</think>"}',
    'So: {"b": "</think>{\\"a\\": 1}", "a": 2}',
)


@pytest.mark.parametrize("text", THOUGHTS)
def test_an_end_of_thoughts_inside_a_value_is_a_part_of_it(text: str) -> None:
    assert found(text)["a"] == 2


def test_thoughts_that_only_quote_their_end_never_came_to_it() -> None:
    with pytest.raises(ReplyFormatError, match="only thoughts"):
        found('<think>I say {"a": 1, "b": "</think>"}')
    with pytest.raises(ReplyFormatError, match="only thoughts"):
        found('{"a": 1} was a draft</think>')


def test_the_first_list_is_found_where_a_list_is_wanted() -> None:
    assert found("x [1, 2,] then [3]", None) == [1, 2]


def test_long_texts_are_read_to_their_end() -> None:
    """Reading in time that grows with the square would hang here."""
    with pytest.raises(ReplyFormatError):
        found("{}" * 200_000)
    with pytest.raises(ReplyFormatError):
        found('{"' + "a" * 2_000_000)
    with pytest.raises(ReplyFormatError):
        found("{" + ", " * 500_000 + "}")
    with pytest.raises(ReplyFormatError):
        found("{ </think> " * 100_000)
    assert found("</think> " * 100_000 + '{"a": 1}') == {"a": 1}


QUOTES = (
    ("red tower", "The red tower.", (4, 13, "verbatim")),
    ("RED  Tower", "The red\ntower.", (4, 13, "aligned")),
    ("\u201cred tower\u201d", "The red tower.", (4, 13, "verbatim")),
    ("strasse", "Die STRASSE dort", (4, 11, "aligned")),
    ("straße", "Die STRASSE dort", (4, 11, "aligned")),
    ("🚀 go", "a 🚀 go b", (2, 6, "verbatim")),
)


@pytest.mark.parametrize(("quote", "text", "place"), QUOTES)
def test_a_quote_is_located(quote: str, text: str, place: tuple[int, int, str]) -> None:
    span = locate(quote, text)
    assert span
    assert (span.start, span.end, span.how) == place


@pytest.mark.parametrize("quote", ["", "  ", '""', "a blue tower", "the red ... tower"])
def test_what_is_not_there_is_not_located(quote: str) -> None:
    assert locate(quote, "The red old tower.") is None


def test_the_same_words_are_looked_for_further_on_first() -> None:
    span = locate("red", "red and red", 3)
    assert span
    assert span.start == 8


@given(quote=st.text(), text=st.text())
def test_a_located_quote_is_a_stretch_of_the_text(quote: str, text: str) -> None:
    span = locate(quote, text)
    if span:
        assert 0 <= span.start < span.end <= len(text)
