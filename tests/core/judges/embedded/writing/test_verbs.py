"""Forms of English verbs."""

from __future__ import annotations

import pytest

from ragboard.judges.embedded.writing.verbs import form_of, past_of


@pytest.mark.parametrize(
    ("word", "base", "support"),
    [
        ("opened", "open", "did"),
        ("carried", "carry", "did"),
        ("stopped", "stop", "did"),
        ("moved", "move", "did"),
        ("wrote", "write", "did"),
        ("founded", "found", "did"),
        ("found", "find", "did"),
        ("crosses", "cross", "does"),
        ("carries", "carry", "does"),
        ("has", "have", "does"),
        ("plays", "play", "does"),
    ],
)
def test_a_form_tells_its_base_and_how_it_is_asked_with(word: str, base: str, support: str) -> None:
    assert form_of(word) == (base, support)


@pytest.mark.parametrize("word", ["open", "written", "red", "need", "bridge", ""])
def test_other_words_are_no_finite_form(word: str) -> None:
    assert form_of(word) is None


def test_the_past_beside_a_participle() -> None:
    assert [past_of(word) for word in ("written", "built", "designed", "lovely")] == [
        "wrote",
        "built",
        "designed",
        None,
    ]
