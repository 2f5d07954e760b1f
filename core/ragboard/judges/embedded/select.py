"""Which sentences help to answer a question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ragboard.judges.embedded.reading import Reading, read
from ragboard.judges.embedded.text import language_of
from ragboard.judges.embedded.weights import Weights

__all__ = ["helping"]

ENOUGH = 0.3
NEAR_BEST = 0.5
"""A sentence is chosen from this share of the question's weight on, and of the best one's score."""
INHERITED = 0.6
"""What a word of the sentence before is worth to one that begins with a pronoun."""
FITS = 0.2
"""What a sentence gains by holding the kind of thing asked for."""

_ASKS = (
    (re.compile(r"\b(when|what year|which year|wann|in welchem jahr)\b", re.IGNORECASE), "date"),
    (
        re.compile(
            r"\b(how (many|much|long|high|deep|far|old|big|large|tall)|wie (viele?|lang|hoch|tief|weit|alt|groß))\b",
            re.IGNORECASE,
        ),
        "figure",
    ),
    (re.compile(r"\b(who|whom|whose|where|wer|wen|wem|wo|woher|wohin)\b", re.IGNORECASE), "name"),
)


def helping(question: str, sentences: Sequence[str]) -> tuple[int, ...]:
    """Places of the sentences that share enough of the question's weight; may be none."""
    language = language_of(" ".join((question, *sentences[:20])))
    asked = read(question, 0, len(question), language)
    offered = [read(sentence, 0, len(sentence), language) for sentence in sentences]
    weights = Weights.of(offered)
    wanted = asked.content | {figure.key for figure in asked.figures}
    total = sum(weights[item] for item in sorted(wanted))
    if not total:
        return ()
    kind = next((kind for pattern, kind in _ASKS if pattern.search(question)), "")
    scores = [
        _said(wanted, offered, place, weights) / total + (FITS if _holds(sentence, kind, asked) else 0.0)
        for place, sentence in enumerate(offered)
    ]
    bar = max(ENOUGH, NEAR_BEST * max(scores, default=0.0))
    return tuple(place for place, score in enumerate(scores) if score >= bar)


def _said(wanted: frozenset[str], offered: Sequence[Reading], place: int, weights: Weights) -> float:
    """The weight that a sentence says, with part of what the one before says where it refers back to it."""
    sentence = offered[place]
    own = sum(weights[item] for item in sorted(wanted & sentence.everything))
    if not own or not place or not sentence.refers_back:
        return own
    before = (wanted - sentence.everything) & offered[place - 1].everything
    return own + INHERITED * sum(weights[item] for item in sorted(before))


def _holds(sentence: Reading, kind: str, asked: Reading) -> bool:
    """Whether it says something new of the kind asked for."""
    if kind == "name":
        return any(not set(name.terms) <= asked.content for name in sentence.names)
    wanted = {"date": {"year", "date month", "date day"}}.get(kind)
    kinds = Counter(figure.kind for figure in sentence.figures if figure.key not in asked.keys)
    return bool(kind) and (bool(kinds) if wanted is None else any(kinds[each] for each in wanted))
