"""Tests of French, Spanish, Hindi and Chinese."""

from __future__ import annotations

import pytest

from ragboard.judges.embedded.verify import verify
from ragboard.records import Label, Verdict
from ragboard.tasks import Verify
from ragboard.text.sentences import language_of

PASSAGES = {
    "fr": (
        "Le pont de Normandie a été inauguré en janvier 1995 par le président de la République. "
        "Il mesure 2 143 mètres et relie Le Havre à Honfleur. Les piétons ne paient pas le passage."
    ),
    "es": (
        "El acueducto de Segovia fue construido por los romanos en el siglo I. "
        "Tiene 167 arcos y mide 813 metros de largo. El museo no abre los lunes."
    ),
    "hi": (
        "ताजमहल का निर्माण शाहजहाँ ने 1632 में शुरू करवाया था। यह आगरा में यमुना नदी के किनारे स्थित है। "
        "संग्रहालय शुक्रवार को नहीं खुलता है।"
    ),
    "zh": "长城全长21196公里。南京长江大桥于1968年建成通车。该博物馆星期一不开放。",
}


def judge(language: str, statement: str) -> Verdict:
    task = Verify(question="", statements=(statement,), passages=(PASSAGES[language],), joint=True, single=False)
    return verify(task).joint[0]


@pytest.mark.parametrize("language", PASSAGES)
def test_the_language_of_a_passage_is_recognised(language: str) -> None:
    assert language_of(PASSAGES[language]) == language


@pytest.mark.parametrize(
    ("language", "statement", "label"),
    [
        ("fr", "Le pont de Normandie a été inauguré en 1995.", "supported"),
        ("fr", "Le pont relie Le Havre à Honfleur.", "supported"),
        ("fr", "Le pont mesure 2143 mètres.", "supported"),
        ("fr", "Le pont de Normandie a été inauguré en 1998.", "unsupported"),
        ("fr", "Le pont relie Le Havre à Rouen.", "unsupported"),
        ("fr", "Les piétons paient le passage.", "contradicted"),
        ("fr", "Des artistes japonais repeignent la façade chaque été.", "unsupported"),
        ("es", "El acueducto de Segovia fue construido por los romanos.", "supported"),
        ("es", "El acueducto mide 813 metros.", "supported"),
        ("es", "El acueducto tiene 180 arcos.", "contradicted"),
        ("es", "El museo abre los lunes.", "contradicted"),
        ("es", "El acueducto lleva agua al palacio real.", "unsupported"),
        ("hi", "ताजमहल का निर्माण शाहजहाँ ने करवाया था।", "supported"),
        ("hi", "ताजमहल आगरा में यमुना नदी के किनारे है।", "supported"),
        ("hi", "ताजमहल का निर्माण 1532 में शुरू हुआ।", "unsupported"),
        ("hi", "संग्रहालय शुक्रवार को खुलता है।", "contradicted"),
        ("hi", "ताजमहल में हर साल लाखों पर्यटक आते हैं।", "unsupported"),
        ("zh", "南京长江大桥于1968年建成。", "supported"),
        ("zh", "长城全长21196公里。", "supported"),
        ("zh", "南京长江大桥于1975年建成。", "unsupported"),
        ("zh", "该博物馆星期一开放。", "contradicted"),
        ("zh", "杭州以西湖和丝绸闻名。", "unsupported"),
    ],
)
def test_a_statement_is_judged_in_its_language(language: str, statement: str, label: Label) -> None:
    assert judge(language, statement).label == label


def test_a_stop_is_no_part_of_a_hindi_word() -> None:
    assert judge("hi", "ताजमहल में हर साल लाखों पर्यटक आते हैं।").reason == "No passage mentions 'साल लाखों पर्यटक'."


@pytest.mark.parametrize(
    ("statement", "passage", "supported"),
    [
        ("आबादी 5 लाख है।", "आबादी 500000 है।", True),
        ("आबादी 5 लाख है।", "आबादी 5 करो\u095c है।", False),
        ("आबादी 5 करो\u095c है।", "आबादी 5 करोड\u093c है।", True),
        ("人口为3000000。", "人口为300万。", True),
        ("人口为300万。", "人口为300亿。", False),
        ("Le prix est de 5 millions d'euros.", "Le prix est de 5 milliards d'euros.", False),
        ("La empresa ganó 5 millones en 2020.", "La empresa ganó 5 mil millones en 2020.", False),
        ("El puente mide 2.467 metros de largo.", "El puente mide 2467 metros de largo.", True),
        ("El puente mide 2.467 metros de largo.", "El puente mide 2.567 metros de largo.", False),
        ("Le prix est de 1 000,50 euros.", "Le prix est de 1000,50 euros.", True),
    ],
)
def test_a_number_is_read_as_its_language_writes_it(statement: str, passage: str, supported: bool) -> None:
    task = Verify(question="", statements=(statement,), passages=(passage,), joint=True, single=False)
    assert (verify(task).joint[0].label == "supported") is supported
