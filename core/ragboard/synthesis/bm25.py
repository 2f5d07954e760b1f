"""BM25 over passages, for the round trip: whether a question leads back to the passage it was written for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ragboard.text.sentences import Language, language_of, term, words_in

__all__ = ["Bm25"]

K1, B = 1.2, 0.75
"""How soon more of the same word stops counting, and how far a long passage is held back; the usual values."""


class Bm25:
    """Robertson and Zaragoza 2009, equation 3.15, over stems; a term in more than half of the passages still counts."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._language: Language = language_of(" ".join(passages[:20]))
        self._held = [Counter(self._terms(text)) for text in passages]
        lengths = [sum(held.values()) for held in self._held]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._penalty = [K1 * (1 - B + B * length / (mean or 1.0)) for length in lengths]
        seen = Counter(each for held in self._held for each in held)
        self._weight = {each: math.log1p((len(passages) - count + 0.5) / (count + 0.5)) for each, count in seen.items()}
        self._places: dict[str, list[int]] = {}
        for place, held in enumerate(self._held):
            for each in held:
                self._places.setdefault(each, []).append(place)

    def ranked(self, question: str, limit: int) -> tuple[int, ...]:
        """Places of the passages that share a word with the question, best first; of equals the earlier one."""
        scores: dict[int, float] = {}
        for each in dict.fromkeys(self._terms(question)):
            for place in self._places.get(each, ()):
                count = self._held[place][each]
                worth = self._weight[each] * count * (K1 + 1) / (count + self._penalty[place])
                scores[place] = scores.get(place, 0.0) + worth
        return tuple(sorted(scores, key=lambda place: (-scores[place], place))[:limit])

    def _terms(self, text: str) -> list[str]:
        return [term(word, self._language) for word in words_in(text, 0, len(text))]
