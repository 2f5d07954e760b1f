"""Questions to a passage, and answers to them, by rules: from its own statements, or with one thing in them changed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, zip_longest
from zlib import crc32

from ragboard.judges.embedded.changes import CHANGES, names_in
from ragboard.judges.embedded.reading import read
from ragboard.judges.embedded.refusals import is_refusal
from ragboard.judges.embedded.select import helping
from ragboard.judges.embedded.statements import extract
from ragboard.judges.embedded.writing.answers import Around, answer_to, false_answer_to
from ragboard.judges.embedded.writing.asking import askings
from ragboard.judges.embedded.writing.german import german_askings
from ragboard.judges.embedded.writing.nouns import Ask
from ragboard.judges.embedded.writing.resolving import resolved
from ragboard.tasks import Failure, WriteAnswer, Written
from ragboard.text.sentences import language_of, sentence_spans

__all__ = ["questions_to", "write_answer"]

GAP = "____"
SHORTEST = 4
"""Words that are left of a sentence whose last phrase was cut off, at least."""
FEWEST, MOST = 5, 30
"""Words of a sentence that is put beside an answer."""
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|their|them|he|she|his|her|this|these|those|such|latter|former|er|sie|es|dieser?|diese[ms]?)\b",
    re.IGNORECASE,
)
_PHRASE = re.compile(r",?\s+(?:in|on|at|by|from|since|with|for|to|of|im|am|von|durch|seit|bei|mit)\s")


def questions_to(passage: str, n: int) -> tuple[str, ...]:
    """At most `n` questions that name what they are about, as many as may be to different statements.

    English and German are asked with question words, or not at all; of another language a figure is left out.
    """
    groups = _groups(passage)
    found = [ask.question for turn in zip_longest(*groups) for ask in turn if ask is not None]
    if not found and language_of(passage) not in {"en", "de"}:
        found = list(_gapped(passage))
    return tuple(dict.fromkeys(found))[: max(n, 0)]


@lru_cache(maxsize=64)
def _groups(passage: str) -> tuple[tuple[Ask, ...], ...]:
    """For each statement that can be asked for anything its questions, another kind first each time."""
    said = [each for each in extract(passage).statements if not is_refusal(each.text)]
    match language_of(passage):
        case "en":
            groups = [askings(text, passage) for text in resolved(said, passage)]
        case "de":
            groups = [german_askings(each.text) for each in said]
        case _:
            groups = []
    return tuple(_turned(group) for group in groups if group)


def _turned(group: tuple[Ask, ...]) -> tuple[Ask, ...]:
    """Begun at another place, by its own words: so all kinds of questions come to be asked."""
    start = crc32(group[0].question.encode("utf-8", "replace")) % len(group)
    return (*group[start:], *group[:start])


def _gapped(passage: str) -> Iterator[str]:
    language = language_of(passage)
    for said in extract(passage).statements:
        reading = read(said.text, 0, len(said.text), language)
        if reading.figures and reading.names and not reading.refers_back:
            last = reading.figures[-1]
            yield f"{said.text[: last.start]}{GAP}{said.text[last.end :]}".rstrip(" .") + "?"


def write_answer(task: WriteAnswer) -> Written | Failure:
    """An answer from the statement that the question was made of, else from the sentence that answers best.

    Empty where no rule makes one of the kind that is asked for.
    """
    if task.kind == "unaided":
        return Failure(detail="the embedded judge knows nothing without a passage")
    around = _around(task.passage)
    ask = next((each for each in around.asks if each.question == task.question), None)
    rng = random.Random(f"{task.draw}\0{task.question}")  # noqa: S311 - no secret hangs on it
    match task.kind:
        case "contradictory" if ask:
            return Written(text=false_answer_to(ask, around, rng))
        case "contradictory":
            return Written(text=_contradiction(_best(task), task.passage, rng))
        case "incomplete":
            return Written(text=_shortened(ask.statement if ask else _best(task)))
        case _:
            return Written(text=answer_to(ask, around, rng) if ask else _best(task))


@lru_cache(maxsize=64)
def _around(passage: str) -> Around:
    sentences = (passage[start:end] for start, end in sentence_spans(passage))
    plain = (each for each in sentences if _reads_alone(each))
    return Around(passage, language_of(passage), tuple(chain(*_groups(passage))), tuple(plain))


def _reads_alone(sentence: str) -> bool:
    few = FEWEST <= len(sentence.split()) <= MOST
    return few and sentence[-1:] == "." and not is_refusal(sentence) and not _POINTS_BACK.search(sentence)


def _best(task: WriteAnswer) -> str:
    said = [statement.text for statement in extract(task.passage).statements if not is_refusal(statement.text)]
    _, scores = helping(task.question, said)
    best = max(range(len(said)), key=lambda place: scores[place], default=None)
    return "" if best is None else _whole(said[best])


def _whole(statement: str) -> str:
    text = statement.strip()
    text = f"{text[:1].upper()}{text[1:]}"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _contradiction(sentence: str, passage: str, rng: random.Random) -> str:
    """A figure, date or name of the sentence changed, else a denial put in or taken out."""
    names: Sequence[str] = names_in([passage])
    found = (change(sentence, names, rng) for change in CHANGES.values())
    return next((text for text in found if text and text != sentence and text not in passage), "")


def _shortened(sentence: str) -> str:
    """Without its last phrase, which as a rule holds the when, where or by whom."""
    starts = [found.start() for found in _PHRASE.finditer(sentence)]
    left = sentence[: starts[-1]] if starts else ""
    return f"{left}." if len(left.split()) >= SHORTEST else ""
