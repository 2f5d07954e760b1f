"""Questions that an answer answers, made from its own words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragboard.judges.embedded.clauses import Subject, subject_of
from ragboard.judges.embedded.lexicon import AUXILIARIES
from ragboard.judges.embedded.library import Claim
from ragboard.judges.embedded.reading import read
from ragboard.judges.embedded.statements import extract
from ragboard.text.sentences import Language, language_of

__all__ = ["asked_of", "questions_of"]

_DATE = re.compile(
    r"\s+(?:in|on|since|im Jahre?|seit|am)\s+(?:the year\s+)?"
    r"(?:\d{1,2}\.?\s+)?(?:[A-Z][a-zä]+\s+)?(?:\d{1,2},\s+)?\d{4}\b"
)
_PERSON = re.compile(r"\b(?:born|died|married|author|actor|actress|engineer|writer|painter|singer|his|her)\b")
_PLACE = re.compile(r"\s+(?:in|at|near|nach|aus)\s+(?:[A-Z][\w'-]+)(?:\s+[A-Z][\w'-]+)*\b")


def questions_of(answer: str, n: int) -> tuple[str, ...]:
    """At most `n` questions, first those to the most telling statements; none where nothing is stated."""
    language = language_of(answer)
    said = [statement.text for statement in extract(answer).statements]
    ordered = sorted(said, key=lambda text: -_telling(text, language))
    kinds = [list(asked_of(text, language)) for text in ordered]
    rounds = max((len(kind) for kind in kinds), default=0)
    mixed = (kind[turn] for turn in range(rounds) for kind in kinds if turn < len(kind))
    return tuple(dict.fromkeys(mixed))[: max(n, 0)]


def _telling(text: str, language: Language) -> int:
    claim = Claim(read(text, 0, len(text), language))
    return len(claim.items) + len(claim.counted) + len(claim.named)


def asked_of(statement: str, language: Language) -> Iterator[str]:
    """Questions to one statement, the plainest first."""
    text = statement.rstrip(" .!\u3002")
    subject = subject_of(text, 0, len(text), language)
    if subject is not None:
        yield from _of_subject(text, subject, language)
    yield f"{'Stimmt es:' if language == 'de' else 'Is it so that'} {_inner(text)}?"


def _of_subject(text: str, subject: Subject, language: Language) -> Iterator[str]:
    when, where, what = ("Wann", "Wo", "Was") if language == "de" else ("When", "Where", "What")
    rest = text[subject.after :]
    auxiliary = subject.verb.lower() in AUXILIARIES[language]
    if language == "en" and _PERSON.search(rest):
        what = "Who"
    for word, pattern in ((when, _DATE), (where, _PLACE)) if auxiliary else ():
        found = pattern.search(rest)
        if found and (left := rest[: found.start()] + rest[found.end() :]).strip():
            yield f"{word} {subject.verb} {_inner(subject.text)}{left}?"
    yield f"{what} {subject.verb}{rest}?"


def _inner(text: str) -> str:
    """As it reads within a sentence: an article at its head in small letters."""
    first, space, rest = text.partition(" ")
    small = {"The", "A", "An", "It", "He", "She", "They", "This", "These", "Der", "Die", "Das", "Ein", "Eine"}
    return f"{first.lower()}{space}{rest}" if first in small else text
