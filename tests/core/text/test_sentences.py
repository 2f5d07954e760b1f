"""Tests of words, sentences and values: positions, and equality."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.embedded.figures import figures
from ragboard.text.sentences import (
    MAX_CACHED_WORDS,
    Language,
    WordCache,
    Words,
    first_words,
    language_of,
    sentence_spans,
    term,
    tokens,
    words_in,
)

ANY_TEXT = st.text(max_size=200) | st.text(
    alphabet="aB 1.,;:?!-*#\n\r\u2028[]()'\u2019\u00e9\u0301\u4ed6\U0001d518", max_size=200
)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def keys(text: str, language: Language = "en") -> list[str]:
    return [figure.key for figure in figures(Words.locate(text, 0, words_in(text, 0, len(text))), language)]


@given(ANY_TEXT)
def test_sentences_are_in_order_disjoint_and_trimmed(text: str) -> None:
    last = 0
    for start, end in sentence_spans(text):
        assert last <= start < end <= len(text)
        assert text[start:end].strip() == text[start:end]
        last = end


@given(ANY_TEXT)
def test_tokens_are_the_words_at_their_offsets(text: str) -> None:
    found = tokens(text)
    assert all(text[token.start : token.end] == token.text for token in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


@given(ANY_TEXT)
def test_no_letter_or_digit_of_a_line_is_lost_between_sentences(text: str) -> None:
    held = {at for start, end in sentence_spans(text) for at in range(start, end)}
    lost = [text[token.start : token.end] for token in tokens(text) if token.start not in held]
    assert all(word.isdecimal() for word in lost), "only the number of a list item may be left out"


def test_a_lone_surrogate_is_survived() -> None:
    assert sentences("One \ud800 two. Three.") == ["One \ud800 two.", "Three."]


def test_headings_and_list_items_are_sentences_without_their_marks() -> None:
    assert sentences("# Head\n\n- first item\n* second\n2. third") == ["Head", "first item", "second", "third"]


def test_a_wrapped_line_continues() -> None:
    assert sentences("The bridge was\nbuilt in 1890. It opened\r\nlater.") == [
        "The bridge was\nbuilt in 1890.",
        "It opened\r\nlater.",
    ]


def test_abbreviations_and_dates_end_no_sentence() -> None:
    assert len(sentences("Dr. Smith paid 3.5 km. It was fine.")) == 2
    assert len(sentences("Das war am 3. Mai 1990 in der Stadt. Es kostete 3,5 Mio. Euro und war gut.")) == 2


def test_chinese_is_cut_at_its_own_stops_and_read_by_character() -> None:
    assert sentences("\u4ed6\u6765\u4e86\u3002\u5979\u8d70\u4e86\u3002") == [
        "\u4ed6\u6765\u4e86\u3002",
        "\u5979\u8d70\u4e86\u3002",
    ]
    assert [token.text for token in tokens("\u4ed6\u6765")] == ["\u4ed6", "\u6765"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fowler's bridge", ["Fowler", "bridge"]),
        ("don\u2019t", ["don\u2019t"]),
        ("open-hearth", ["open", "hearth"]),
        ("1,000.5 and 20th", ["1,000.5", "and", "20th"]),
        ("53 000 men", ["53 000", "men"]),
    ],
)
def test_words_and_numbers_are_kept_whole(text: str, words: list[str]) -> None:
    assert [token.text for token in tokens(text) if token.text != "s"] == words


@pytest.mark.parametrize(
    ("one", "other"),
    [("built", "build"), ("opened", "opening"), ("written", "wrote"), ("COST", "costs"), ("\ufb01ne", "fine")],
)
def test_forms_of_one_word_share_a_term(one: str, other: str) -> None:
    assert term(one, "en") == term(other, "en")


def test_forms_of_find_and_found_are_distinguished() -> None:
    assert term("founded", "en") != term("find", "en")


@pytest.mark.parametrize(
    ("text", "language"), [("Die Br\u00fccke ist lang.", "de"), ("The bridge is long.", "en"), ("", "en")]
)
def test_the_language_is_recognised_by_function_words(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,000", "1000"),
        ("three", "3"),
        ("twenty-one", "21"),
        ("6.5 million", "6,500,000"),
        ("5 km", "5 kilometres"),
        ("5 km", "5,000 metres"),
        ("20%", "20 per cent"),
        ("20 percent", "20 %"),
        ("\u00a33.2 million", "3.2 million pounds"),
        ("1 July 2000", "July 1, 2000"),
        ("1 July 2000", "2000-07-01"),
        ("1st July 2000", "July 1st, 2000"),
        ("1 July 2000", "01.07.2000"),
    ],
)
def test_the_same_value_has_the_same_keys(one: str, other: str) -> None:
    assert keys(one) == keys(other) != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 km", "5 kg"),
        ("20%", "20"),
        ("1,5 km", "15 km"),
        ("1 July 2000", "1 June 2000"),
        ("20th", "20"),
        ("1990s", "1990"),
    ],
)
def test_different_values_have_different_keys(one: str, other: str) -> None:
    assert keys(one) != keys(other)


def test_marks_in_german_numbers_are_read_the_german_way() -> None:
    assert keys("1.000 und 3,5 Mio. Euro", "de") == ["#1000", "#3500000euro"]
    assert keys("am 1. Juli 2000", "de") == keys("on 1 July 2000")


def test_may_the_verb_is_no_month() -> None:
    assert keys("It may rain. May I? In May it rains.") == ["#month5"]


@pytest.mark.parametrize(
    "unit", ["The bridge, e.g. the one, was built. ", "word ", "a\n", "( ", "[1] ", "\n", "1 000 "]
)
def test_twice_the_text_makes_twice_the_sentences_and_no_more_steps(unit: str) -> None:
    """Counted in steps of the interpreter, not in seconds."""
    few, many = (_steps(unit * (n // len(unit))) for n in (4000, 8000))
    assert many <= 2.2 * few + 200


def _steps(text: str) -> int:
    import sys

    steps = 0

    def count(*_: object) -> object:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        sentence_spans(text)
        tokens(text)
    finally:
        sys.settrace(before)
    return steps


def test_what_is_remembered_of_words_is_bounded_and_leaves_out_what_is_no_word() -> None:
    lengths = WordCache(len)
    assert [lengths["word"], lengths["w" * 41]] == [4, 41]
    assert list(lengths) == ["word"]
    for number in range(MAX_CACHED_WORDS):
        assert lengths[str(number)] == len(str(number))
    assert len(lengths) <= MAX_CACHED_WORDS


@given(st.text(alphabet="aBs1 9.,_'-()\n", max_size=60))
def test_a_text_in_ascii_is_taken_apart_as_any_other(text: str) -> None:
    said = [each.text for each in tokens(text)]
    assert words_in(text, 0, len(text)) == words_in(f"{text}\u00e9", 0, len(text)) == said
    assert first_words(text, 0, len(text), 3) == said[:3]


@given(st.text(alphabet="aB1 9.,'\u00e9\u2013\u0663", max_size=30), st.text(alphabet="aBs1 9.,'-", max_size=30))
def test_a_part_in_ascii_is_taken_apart_as_any_other(before: str, text: str) -> None:
    whole = before + text
    said = [each.text for each in tokens(whole, len(before))]
    assert words_in(whole, len(before), len(whole)) == said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The tower is 46 m. It was built in 1890.", ["The tower is 46 m.", "It was built in 1890."]),
        ("It runs at 140 km/h. With wind it stops.", ["It runs at 140 km/h.", "With wind it stops."]),
        ("Water at 20\u00a0\u00b0C. A glass of it.", ["Water at 20\u00a0\u00b0C.", "A glass of it."]),
        ("He loved art. Cosimo paid.", ["He loved art.", "Cosimo paid."]),
        ("Der Turm ist 46 m. Er ist alt.", ["Der Turm ist 46 m.", "Er ist alt."]),
        ("See art. 5 of the law.", ["See art. 5 of the law."]),
        ("J. M. Barrie wrote it.", ["J. M. Barrie wrote it."]),
        ("Non-U.S. citizens need a visa. They pay.", ["Non-U.S. citizens need a visa.", "They pay."]),
    ],
)
def test_units_end_sentences_and_initials_do_not(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected
