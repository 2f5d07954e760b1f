"""The one language of verdicts."""

from __future__ import annotations

from typing import get_args

from ragboard.analysis.verdict_style import ALONE, NOT_JUDGED, VERDICTS, style_of
from ragboard.records import Label, Verdict


def test_every_label_has_a_look_and_no_two_share_an_icon_a_word_or_a_class() -> None:
    looks = [*VERDICTS.values(), NOT_JUDGED]
    assert set(VERDICTS) == set(get_args(Label))
    for part in ("icon", "word", "css"):
        assert len({getattr(look, part) for look in looks}) == len(looks)


def test_what_single_passages_say_has_words_and_a_class_of_its_own() -> None:
    assert set(ALONE) == set(VERDICTS)
    looks = [*VERDICTS.values(), *ALONE.values(), NOT_JUDGED]
    assert len({look.word for look in looks}) == len({look.css for look in looks}) == 7


def test_the_absence_of_a_verdict_is_not_a_verdict() -> None:
    assert style_of(None) is NOT_JUDGED
    assert style_of(Verdict(label="supported")) is VERDICTS["supported"]
