"""Nearness of texts by shared stems and letter groups, through hashing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from zlib import crc32

from ragboard.text.lexicon import FUNCTION_WORDS
from ragboard.text.sentences import Language, language_of, normal, term, tokens

__all__ = ["similarities"]

BUCKETS = 2**18
STEM, FUNCTION, LETTERS = 1.0, 0.2, 0.3
"""What a content stem, a function word and a group of three letters weigh."""


def similarities(text: str, others: Sequence[str]) -> tuple[float, ...]:
    """The cosine of `text` with each of `others`, in [-1, 1]; 0.0 where one has no word."""
    language = language_of(text)
    vector = _vector(text, language)
    return tuple(_cosine(vector, _vector(other, language)) for other in others)


def _vector(text: str, language: Language) -> dict[int, float]:
    """Bucket to weight, of length 1; empty for a text without words."""
    counts: Counter[tuple[int, float]] = Counter()
    for token in tokens(text):
        counts.update(_features(token.text, language))
    weights: dict[int, float] = {}
    for (bucket, weight), count in counts.items():
        weights[bucket] = weights.get(bucket, 0.0) + weight * (1 + math.log(count))
    length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
    return {bucket: weight / length for bucket, weight in weights.items()}


@lru_cache(maxsize=16384)
def _features(word: str, language: Language) -> tuple[tuple[int, float], ...]:
    plain = normal(word)
    if plain in FUNCTION_WORDS[language]:
        return ((_bucket("f", plain), FUNCTION),)
    stem = term(word, language)
    return ((_bucket("s", stem), STEM), *((_bucket("l", group), LETTERS) for group in _groups(stem)))


def _groups(stem: str) -> Iterator[str]:
    edged = f"<{stem}>"
    return (edged[at : at + 3] for at in range(len(edged) - 2))


def _bucket(kind: str, feature: str) -> int:
    return crc32(f"{kind}{feature}".encode("utf-8", "surrogatepass")) % BUCKETS


def _cosine(one: dict[int, float], other: dict[int, float]) -> float:
    if one == other:
        return 1.0 if one else 0.0
    shared = math.fsum(weight * other[bucket] for bucket, weight in one.items() if bucket in other)
    return max(-1.0, min(1.0, shared))
