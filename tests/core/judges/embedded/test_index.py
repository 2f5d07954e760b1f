"""Tests of the index of passages: it finds every match without reading every sentence."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragboard.judges.embedded.index import Corpus, Index
from ragboard.judges.embedded.lexicon import UNITS

SAID = st.lists(
    st.sampled_from(
        (
            *("The", "bridge", "second", "years", "per", "cent", "in", "May", "may", "de", "marzo", "one", "km", "m"),
            *("5", "5,000", "7", "12", "60", "84", "99", "1998", "1998-99", "2000-07-01", "1.7.2000", "3rd", "1.5"),
            *("two", "twenty", "twenty-one", "hundred", "thousand", "million", "$5", "5%", "hours", "0", "1234567.891"),
            *("weeks", "12345678901", ".", ",", "\u0663"),
        )
    ),
    max_size=12,
).map(" ".join)


@given(st.lists(SAID, min_size=1, max_size=4), st.lists(SAID, min_size=1, max_size=3))
@example(["It opened in May 2001.", "It opened in June 2001."], ["It opened in May.", "It opened in June."])
@example(["It ran for two hours."], ["It ran for 120 minutes."])
@example(["It was built in 1998-99."], ["It was built in 1999."])
@example(["A second bridge. It took 5 seconds."], ["The second bridge."])
def test_a_sentence_is_found_where_it_says_what_is_sought_and_nowhere_else(said: list[str], claimed: list[str]) -> None:
    corpus = Corpus.from_sentences(said, "en")
    index = Index.build(corpus, [corpus.claim(text) for text in claimed])
    sought = {form for item in index.forms for form in (item, *(form for form, _ in index.forms[item]))}
    for form in sought:
        found = [number for number, sentence in enumerate(corpus.sentences) if form in sentence.everything]
        assert list(index.sentences_with.get(form, ())) == found


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_a_quantity_is_found_in_any_unit_of_its_kind(unit: str) -> None:
    kind, size = UNITS[unit]
    others = [other for other, (counted, _) in UNITS.items() if counted == kind]
    said = [f"It counts {84 * size / UNITS[other][1]:.9f} {other} here." for other in others]
    corpus = Corpus.from_sentences(said, "en")
    claim = corpus.claim(f"It counts 84 {unit}")
    index = Index.build(corpus, [claim])
    brute = [number for number, sentence in enumerate(corpus.sentences) if claim.figure_keys & sentence.everything]
    assert sorted({number for key in claim.figure_keys for number in index.sentences_with.get(key, ())}) == brute
    assert others.index(unit) in brute
