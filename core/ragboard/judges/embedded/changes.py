"""Make a true sentence false by a change of one number, date, name or negation.

The regular expressions here share no code with the rules that verify statements, so the changes can test these rules.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

__all__ = ["CHANGES", "changed_sentences", "names_in"]

Change = Callable[[str, Sequence[str], random.Random], "str | None"]
"""Returns the changed sentence, given a sentence and names to insert; None if the sentence has nothing to change."""

_NUMBER = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w.,]\d)|(?<![\w.,-])\d{1,3}(?![\w%]|[.,]\d)|(?<![\w.,-])\d{5,}\b"
)
_YEAR = re.compile(r"(?<![\d.,])(?:1[0-9]|20)\d\d(?![\d,]|\.\d)")
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b(?= \d|,)|(?<=\d )(?:{'|'.join(_MONTHS)})\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*")
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|will|would|has|have|had)\b(?! not\b)")
_NOT = re.compile(r"\b(is|are|was|were|can|could|will|would|has|have|had|do|does|did) not ")


def names_in(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the texts, sorted. A change can insert them."""
    return tuple(sorted({name for text in texts for name in _NAME.findall(text) if name not in _MONTHS}))


def _change_number(sentence: str, _names: Sequence[str], rng: random.Random) -> str | None:
    matches = list(_NUMBER.finditer(sentence))
    if not matches:
        return None
    chosen = rng.choice(matches)
    value = int(chosen.group().replace(",", ""))
    new_value = value + rng.choice((2, 3, 5)) if value < 30 else round(value * rng.choice((0.5, 1.5, 3)))
    written = f"{new_value:,}" if "," in chosen.group() else str(new_value)
    return sentence[: chosen.start()] + written + sentence[chosen.end() :]


def _change_date(sentence: str, _names: Sequence[str], rng: random.Random) -> str | None:
    matches = [*_YEAR.finditer(sentence), *_MONTH.finditer(sentence)]
    if not matches:
        return None
    chosen = rng.choice(matches)
    if chosen.group() in _MONTHS:
        new_date = rng.choice([month for month in _MONTHS if month not in sentence])
    else:
        new_date = str(int(chosen.group()) + rng.choice((-31, -12, -4, -1, 1, 3, 9, 26)))
    return sentence[: chosen.start()] + new_date + sentence[chosen.end() :]


def _change_name(sentence: str, names: Sequence[str], rng: random.Random) -> str | None:
    matches = [match for match in _NAME.finditer(sentence) if match.group() not in _MONTHS]
    if not matches:
        return None
    chosen = rng.choice(matches)
    words = chosen.group().count(" ")
    replacements = [
        name for name in names if name.count(" ") == words and not set(name.split()) & set(sentence.split())
    ]
    if not replacements:
        return None
    return sentence[: chosen.start()] + rng.choice(replacements) + sentence[chosen.end() :]


def _change_negation(sentence: str, _names: Sequence[str], _rng: random.Random) -> str | None:
    if _NOT.search(sentence):
        return _NOT.sub(r"\1 ", sentence, count=1)
    if re.search(r"\b(?:no|never|none|nor|neither|not)\b|n't\b", sentence):
        return None
    verb = _AUXILIARY.search(sentence)
    return None if verb is None else f"{sentence[: verb.end()]} not{sentence[verb.end() :]}"


CHANGES: dict[str, Change] = {
    "number": _change_number,
    "date": _change_date,
    "name": _change_name,
    "not": _change_negation,
}
"""The changes, by their kind."""


def changed_sentences(
    sentences: Sequence[tuple[str, Sequence[str]]], names: Sequence[str], *, seed: int
) -> Iterator[tuple[str, str, Sequence[str], str]]:
    """Yield (kind of change, sentence, passages, changed sentence) for each sentence and each possible change.

    `sentences` has (sentence, passages) pairs. Inserted names share no word with the passages.
    """
    rng = random.Random(seed)  # noqa: S311 - not a secret
    for sentence, passages in sentences:
        passage_text = " ".join(passages)
        absent = [name for name in names if not any(word in passage_text for word in name.split())]
        for kind, change in CHANGES.items():
            changed_sentence = change(sentence, absent, rng)
            if changed_sentence is not None and changed_sentence != sentence and changed_sentence not in passage_text:
                yield kind, sentence, passages, changed_sentence
