"""From questions with answers to labelled rows: positives, weak and strong negatives, and a split by document."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from ragboard.readers.ares import AresRow
from ragboard.readers.corpus import CorpusPassage
from ragboard.synthesis.writing import Asked

__all__ = ["PARTS", "labelled_rows", "split_of"]

PARTS = ("train", "validation", "held out")
HELD_OUT, VALIDATION = 0.3, 0.15
"""Shares of the documents that a judge is scored on, and on which is decided when its training stops."""

T = TypeVar("T")
Strength = Literal["weak", "strong"]


def split_of(corpus: Sequence[CorpusPassage], seed: int) -> dict[str, str]:
    """For each document its part: all its passages and questions go one way."""
    documents = sorted({passage.document for passage in corpus})
    random.Random(seed).shuffle(documents)  # noqa: S311 - no secret hangs on it
    held = round(HELD_OUT * len(documents)) or int(len(documents) > 1)
    tried = held + (round(VALIDATION * len(documents)) or int(len(documents) > 2))
    return {
        document: "held out" if place < held else "validation" if place < tried else "train"
        for place, document in enumerate(documents)
    }


def labelled_rows(corpus: Sequence[CorpusPassage], asked: Sequence[Asked], seed: int) -> tuple[AresRow, ...]:
    """Of each question one row in which all holds, and for each quality one in which it does not.

    Every other negative is strong where one can be had: a passage of the same document, an answer that
    contradicts the passage, the answer to another question of the same document. A weak one takes its
    passage or answer from another document of the same split.
    """
    split = split_of(corpus, seed)
    whole = [each for each in asked if each.answers.get("grounded")]
    return tuple(
        row
        for part in PARTS
        for row in _part(
            corpus, [each for each in whole if split[corpus[each.place].document] == part], part, split, seed
        )
    )


def _part(
    corpus: Sequence[CorpusPassage], asked: Sequence[Asked], part: str, split: dict[str, str], seed: int
) -> Iterator[AresRow]:
    rng = random.Random(f"{seed} {part}")  # noqa: S311 - no secret hangs on it
    places = [place for place, passage in enumerate(corpus) if split[passage.document] == part]
    for number, each in enumerate(asked):
        row = AresRow(
            question=each.question,
            document=corpus[each.place].text,
            answer=each.answers["grounded"],
            context_relevance=True,
            answer_faithfulness=True,
            answer_relevance=True,
            document_id=corpus[each.place].document,
            split=part,
        )
        yield row
        strength: Strength = "strong" if number % 2 else "weak"
        yield from _other_passage(row, each, corpus, places, strength, rng)
        yield from _unfaithful(row, each, corpus, asked, strength, rng)
        yield from _beside_the_point(row, each, corpus, asked, strength, rng)


def _other_passage(
    row: AresRow,
    each: Asked,
    corpus: Sequence[CorpusPassage],
    places: Sequence[int],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    near = [place for place in places if corpus[place].document == row.document_id and place != each.place]
    far = [place for place in places if corpus[place].document != row.document_id]
    found = _choice(near, far, strength, rng)
    if found:
        place, strength = found
        bare = replace(row, answer="", answer_faithfulness=None, answer_relevance=None)
        yield replace(bare, document=corpus[place].text, context_relevance=False, negative=strength)


def _unfaithful(
    row: AresRow,
    each: Asked,
    corpus: Sequence[CorpusPassage],
    asked: Sequence[Asked],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    contradictory = each.answers.get("contradictory", "")
    found = _choice([contradictory] if contradictory else [], _far_answers(row, corpus, asked), strength, rng)
    if found:
        answer, strength = found
        bare = replace(row, context_relevance=None, answer_relevance=None)
        yield replace(bare, answer=answer, answer_faithfulness=False, negative=strength)


def _beside_the_point(
    row: AresRow,
    each: Asked,
    corpus: Sequence[CorpusPassage],
    asked: Sequence[Asked],
    strength: Strength,
    rng: random.Random,
) -> Iterator[AresRow]:
    near = [
        other.answers["grounded"]
        for other in asked
        if other is not each
        and corpus[other.place].document == row.document_id
        and other.answers["grounded"] != row.answer
    ]
    found = _choice(near, _far_answers(row, corpus, asked), strength, rng)
    if found:
        answer, strength = found
        bare = replace(row, context_relevance=None, answer_faithfulness=None)
        yield replace(bare, answer=answer, answer_relevance=False, negative=strength)


def _far_answers(row: AresRow, corpus: Sequence[CorpusPassage], asked: Sequence[Asked]) -> list[str]:
    return [other.answers["grounded"] for other in asked if corpus[other.place].document != row.document_id]


def _choice(near: Sequence[T], far: Sequence[T], strength: Strength, rng: random.Random) -> tuple[T, Strength] | None:
    """One of the wanted strength, else one of the other; None where there is neither."""
    strong = bool(near) and (strength == "strong" or not far)
    from_these = near if strong else far
    return (rng.choice(from_these), "strong" if strong else "weak") if from_these else None
