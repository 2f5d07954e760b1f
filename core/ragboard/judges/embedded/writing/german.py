"""German questions with a question word: what stands in front of the verb is asked for, and the verb comes first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragboard.judges.embedded.lexicon import AUXILIARIES, NUMBER_WORDS
from ragboard.judges.embedded.reading import read
from ragboard.judges.embedded.writing.nouns import Ask, Asking

__all__ = ["german_askings"]

FEWEST = 3
"""Content words and figures that a question names at least."""

_MONTH = "(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)"
_TIME = (
    rf"(?:(?:Im|im) Jahre? \d{{4}}|(?:Im|im) {_MONTH} \d{{4}}|(?:Am|am) \d{{1,2}}\. {_MONTH} \d{{4}}|(?<![\w.])\d{{4}})"
)
_VERB = (
    rf"(?:{'|'.join(sorted(AUXILIARIES['de']))}|[a-zäöüß]+te(?:n)?|begann|entstand|fand|erhielt|schrieb|liegt|kam|fiel)"
)
_TIME_FIRST = re.compile(rf"(?P<asked>{_TIME}) (?P<verb>{_VERB}) (?P<rest>.+)")
_TIME_LATER = re.compile(
    rf"(?P<subject>[^,;:]+?) (?P<verb>{_VERB}) (?P<before>[^,;:]*?)\b(?P<asked>{_TIME})(?P<after> .*|$)"
)
_PLACE_FIRST = re.compile(rf"(?P<asked>[Ii]n [A-ZÄÖÜ][\w-]+(?: [A-ZÄÖÜ][\w-]+)?) (?P<verb>{_VERB}) (?P<rest>.+)")
_MEASURED = re.compile(
    r"(?P<subject>[^,;:]+?) (?P<verb>ist|war|sind|waren) "
    r"(?P<asked>(?:etwa |rund |fast |über )?[\d.,]*\d (?:k?m|Meter|Kilometer|Jahre)"
    r" (?P<how>lang|hoch|tief|breit|alt))(?P<after>)"
)
_WORDS = "|".join(word.capitalize() for word in NUMBER_WORDS if word.isalpha())
_COUNTED = re.compile(
    rf"(?P<asked>(?:(?:Etwa|Rund|Fast|Über) )?(?:\d[\d.]*|{_WORDS})"
    rf" (?P<noun>[A-ZÄÖÜ]\w+)) (?P<verb>{_VERB}|[a-zäöüß]+en) (?P<rest>.+)"
)
_POINTS = re.compile(
    r"\b(?:er|sie|es|ihn|ihm|ihr|ihre[nmrs]?|sein|seine[nmrs]?|diese[nmrs]?|jene[nmrs]?|dort|hier|damals|dabei|davon|daran|dann)\b",
    re.IGNORECASE,
)
_SMALL = {"Der", "Die", "Das", "Ein", "Eine"}


def german_askings(statement: str) -> tuple[Ask, ...]:
    """Questions that a German statement answers and that are plain by themselves."""
    said = statement.strip().rstrip(".!")
    if re.search(r"[,;:()\"„“?]", said):
        return ()
    return tuple(ask for ask in _found(said) if _stands_alone(ask.question))


def _found(said: str) -> Iterator[Ask]:
    for kind, word, pattern in (("when", "Wann", _TIME_FIRST), ("where", "Wo", _PLACE_FIRST)):
        if found := pattern.fullmatch(said):
            yield _ask(kind, f"{word} {found['verb']} {found['rest']}", found["asked"], said)
    if found := _TIME_LATER.fullmatch(said):
        subject = _inner(found["subject"])
        question = f"Wann {found['verb']} {subject} {found['before']}{found['after'].strip()}"
        yield _ask("when", question, found["asked"], said)
    if found := _MEASURED.fullmatch(said):
        yield _ask("how long", f"Wie {found['how']} {found['verb']} {_inner(found['subject'])}", found["asked"], said)
    if found := _COUNTED.fullmatch(said):
        yield _ask("how many", f"Wie viele {found['noun']} {found['verb']} {found['rest']}", found["asked"], said)


def _ask(kind: Asking, question: str, short: str, said: str) -> Ask:
    whole = f"{said[:1].upper()}{said[1:]}."
    return Ask(kind, f"{' '.join(question.split())}?", short, whole, whole)


def _inner(text: str) -> str:
    first, space, rest = text.partition(" ")
    return f"{first.lower()}{space}{rest}" if first in _SMALL else text


def _stands_alone(question: str) -> bool:
    """German writes every noun with a capital, so a name is told by a second one beside it or a word before it."""
    reading = read(question, 0, len(question), "de")
    return (
        not _POINTS.search(question) and len(reading.content) + len(reading.figures) >= FEWEST and bool(reading.names)
    )
