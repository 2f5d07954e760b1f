"""Tests of figures from report objects."""

from __future__ import annotations

import pytest

from ragboard.metrics.claim_classes import CLAIM_CLASSES
from ragboard_dashboard.theme import palette
from ragboard_dashboard.views.run.charts import claim_classes_bar


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_of_the_six_classes_has_its_count_its_words_and_a_look_no_other_has(theme: str) -> None:
    counts = {origin: 1000 * (place + 1) for place, origin in enumerate(CLAIM_CLASSES)}
    drawn = claim_classes_bar(counts, palette(theme))
    for origin, words in CLAIM_CLASSES.items():
        assert f"<b>{counts[origin]:,}</b> {words}" in drawn
    looks = [piece.split('"')[0] for piece in drawn.split("height:0.9rem;")[1:]]
    assert len(set(looks)) == 6
    assert all(drawn.count(look) == 2 for look in looks)


def test_a_class_without_statements_is_counted_and_takes_no_room() -> None:
    drawn = claim_classes_bar({"hallucination": 2}, palette("light"))
    assert drawn.count("flex:2 0 0") == 1
    assert drawn.count(" 0 0;") == 1
    assert "<b>0</b> in the reference, from a relevant passage" in drawn
