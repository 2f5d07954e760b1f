"""How much a word tells: the rarer among the sentences at hand, the more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragboard.judges.embedded.reading import Reading

__all__ = ["Weights", "rarity"]


def rarity(sentences: int, seen: int) -> float:
    """Inverse sentence frequency of a term that stands in `seen` of so many sentences; one never seen weighs most."""
    return math.log(2.0 + sentences / (seen + 1)) if seen else math.log(2.0 + sentences)


@dataclass(frozen=True, slots=True)
class Weights:
    """The rarity of terms and figure keys among some readings."""

    seen: Mapping[str, int]
    sentences: int

    @classmethod
    def of(cls, readings: Iterable[Reading]) -> Weights:
        """Count in how many of the readings each term occurs."""
        seen: Counter[str] = Counter()
        sentences = 0
        for reading in readings:
            seen.update(reading.everything)
            sentences += 1
        return cls(seen, sentences)

    def __getitem__(self, item: str) -> float:
        return rarity(self.sentences, self.seen.get(item, 0))
