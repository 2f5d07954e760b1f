"""Questions to a passage, and answers to them, by rules: from its own sentences, or with one thing in them changed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from ragboard.judges.embedded.changes import CHANGES, names_in
from ragboard.judges.embedded.phrases import is_refusal
from ragboard.judges.embedded.questions import asked_of
from ragboard.judges.embedded.reading import Reading, read
from ragboard.judges.embedded.select import helping
from ragboard.judges.embedded.statements import extract
from ragboard.judges.embedded.text import Language, language_of
from ragboard.judges.tasks import Failure, WriteAnswer, Written

__all__ = ["questions_to", "write_answer"]

GAP = "____"
SHORTEST = 4
"""Words that are left of a sentence whose last phrase was cut off, at least."""
_PLAIN = ("Is it so that", "Stimmt es:")
_PHRASE = re.compile(r",?\s+(?:in|on|at|by|from|since|with|for|to|of|im|am|von|durch|seit|bei|mit)\s")
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|their|them|he|she|his|her|this|these|those|such|latter|former|er|sie|es|dieser?|diese[ms]?)\b",
    re.IGNORECASE,
)


def questions_to(passage: str, n: int) -> tuple[str, ...]:
    """At most `n` questions, each to another statement of the passage, that name what they are about."""
    language = language_of(passage)
    said = (statement.text for statement in extract(passage).statements)
    found = (question for text in said for question in _first(text, language))
    return tuple(dict.fromkeys(found))[: max(n, 0)]


def _first(statement: str, language: Language) -> Iterator[str]:
    """The best question to a statement; none where only the sentences around it tell what it is about."""
    asked = (*asked_of(statement, language), *_gapped(statement, language))
    yield from [text for text in asked if not text.startswith(_PLAIN) and _stands_alone(text, language)][:1]


def _stands_alone(question: str, language: Language) -> bool:
    return bool(_read(question, language).names) and not _POINTS_BACK.search(question)


def _gapped(statement: str, language: Language) -> Iterator[str]:
    """The statement with its last figure left out."""
    figures = _read(statement, language).figures
    if figures:
        last = figures[-1]
        text = f"{statement[: last.start]}{GAP}{statement[last.end :]}".rstrip(" .")
        yield f"Was fehlt: {text}?" if language == "de" else f"What is missing: {text}?"


def _read(text: str, language: Language) -> Reading:
    return read(text, 0, len(text), language)


def write_answer(task: WriteAnswer) -> Written | Failure:
    """The sentence that answers best, as the kind of answer asks; empty where no rule makes one of it."""
    if task.kind == "unaided":
        return Failure(detail="the embedded judge knows nothing without a passage")
    best = _best(task.question, task.passage)
    match task.kind:
        case "contradictory":
            return Written(text=_contradiction(best, task))
        case "incomplete":
            return Written(text=_shortened(best))
        case _:
            return Written(text=best)


def _best(question: str, passage: str) -> str:
    said = [statement.text for statement in extract(passage).statements if not is_refusal(statement.text)]
    _, scores = helping(question, said)
    best = max(range(len(said)), key=lambda place: scores[place], default=None)
    return "" if best is None else _whole(said[best])


def _whole(statement: str) -> str:
    text = statement.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _contradiction(sentence: str, task: WriteAnswer) -> str:
    """A figure, date or name of the sentence changed, else a denial put in or taken out."""
    rng = random.Random(f"{task.draw}\0{task.question}\0{sentence}")  # noqa: S311 - no secret hangs on it
    names = names_in([task.passage])
    found = (change(sentence, names, rng) for change in CHANGES.values())
    return next((text for text in found if text and text != sentence and text not in task.passage), "")


def _shortened(sentence: str) -> str:
    """Without its last phrase, which as a rule holds the when, where or by whom."""
    starts = [found.start() for found in _PHRASE.finditer(sentence)]
    left = sentence[: starts[-1]] if starts else ""
    return f"{left}." if len(left.split()) >= SHORTEST else ""
