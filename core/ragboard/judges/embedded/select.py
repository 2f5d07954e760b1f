"""Which sentences help to answer a question: what they share with it, what they stand among, what they add."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragboard.judges.embedded.answering import Kind, asked, gives
from ragboard.judges.embedded.library import Library
from ragboard.judges.embedded.lookup import lookups
from ragboard.judges.embedded.model import Model, model
from ragboard.judges.embedded.reading import Reading
from ragboard.text.sentences import language_of

__all__ = ["FEATURES", "HELPS", "helping", "marks"]

HELPS = 0.6
"""The score from which a sentence counts as helping.

Above one half, because the scores are fitted to classes of equal weight and sentences that help are few."""
INHERITED = 0.6
"""What a word of the sentence before is worth to one that begins with a pronoun."""
NEAR = 3
"""Sentences before and after that a sentence stands among."""
HEAD = 20
"""Sentences from which the language is told."""

FEATURES = {
    "own": "share of the question's weight, rare words counting more, that the sentence holds",
    "around": "the same of the three sentences before and after together with it",
    "fits": "share of the things asked for (a date, a person, a reason, ...) of which it holds one that is new",
    "news": "log of 1 + words, names and figures that the question does not have",
}
"""Every feature, and what it says."""


def selecting() -> Model:
    """The model of help."""
    return model("selection", tuple(FEATURES))


def helping(question: str, sentences: Sequence[str]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Places of the sentences that help, which may be none, and how much each sentence helps, in [0, 1]."""
    scores = tuple(round(selecting()(values), 4) for values in marks(question, sentences))
    return tuple(place for place, score in enumerate(scores) if score >= HELPS), scores


def marks(question: str, sentences: Sequence[str]) -> list[tuple[float, ...]]:
    """The features of each sentence, in their order; for a question without a word all are 0."""
    language = language_of(" ".join((question, *sentences[:HEAD])))
    library = Library.of_sentences(sentences, language)
    [lookup] = lookups(library, [library.claim(question)])
    if not lookup.weights:
        return [(0.0,) * len(FEATURES) for _ in sentences]
    held = [lookup.worth(sentence.everything) for sentence in library.sentences]
    own = [lookup.share(_with_inherited(held, place, sentence)) for place, sentence in enumerate(library.sentences)]
    wanted: list[Kind] = [each.kind for each in asked(question)]
    known = lookup.claim.reading.everything
    return [
        (
            own[place],
            lookup.share(_together(held[max(place - NEAR, 0) : place + NEAR + 1])),
            math.fsum([gives(kind, sentence, known) for kind in wanted]) / len(wanted),
            math.log1p(len(sentence.everything - known)),
        )
        for place, sentence in enumerate(library.sentences)
    ]


def _with_inherited(held: Sequence[dict[str, float]], place: int, sentence: Reading) -> dict[str, float]:
    """What a sentence holds, with part of what the one before holds where it refers back to it."""
    own = held[place]
    if not place or not sentence.refers_back:
        return own
    return {item: INHERITED * worth for item, worth in held[place - 1].items()} | own


def _together(held: Sequence[dict[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in held:
        for item, worth in each.items():
            found[item] = max(worth, found.get(item, 0.0))
    return found
