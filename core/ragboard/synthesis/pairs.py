"""The WikiEval construction on a corpus of one's own: for each question two contexts and three answers.

Es et al. 2023, arXiv 2309.15217, section 4. Where nobody writes an answer without the passage, as rules
cannot, a contradictory one would not be the same thing: the row is left out, and the card says how many.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from ragboard.readers.corpus import CorpusPassage
from ragboard.synthesis.writing import Asked

__all__ = ["wikieval_lines"]

DILUTING = 2
"""Passages that the diluted context has besides its own."""


def wikieval_lines(corpus: Sequence[CorpusPassage], asked: Sequence[Asked], seed: int) -> str:
    """JSONL with WikiEval's columns; a question without all three answers is left out."""
    rng = random.Random(seed)  # noqa: S311 - no secret hangs on it
    rows = [_row(corpus, each, rng) for each in asked if len(each.answers) == 3]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _row(corpus: Sequence[CorpusPassage], each: Asked, rng: random.Random) -> dict[str, object]:
    own = corpus[each.place]
    return {
        "question": each.question,
        "context_v1": [own.text],
        "context_v2": _diluted(corpus, own, rng),
        "grounded_answer": each.answers["grounded"],
        "ungrounded_answer": each.answers["unaided"],
        "poor_answer": each.answers["incomplete"],
        "source": own.document,
    }


def _diluted(corpus: Sequence[CorpusPassage], own: CorpusPassage, rng: random.Random) -> list[str]:
    """The passage among others, of its own document first: near in subject, no help with the question."""
    near = [passage.text for passage in corpus if passage.document == own.document and passage is not own]
    far = [passage.text for passage in corpus if passage.document != own.document]
    others = rng.sample(near, min(DILUTING, len(near)))
    others += rng.sample(far, min(DILUTING - len(others), len(far)))
    mixed = [own.text, *others]
    rng.shuffle(mixed)
    return mixed
