"""How much a word tells: the rarer among the sentences at hand, the more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragboard.judges.embedded.reading import Reading

__all__ = ["Weights"]


@dataclass(frozen=True, slots=True)
class Weights:
    """Inverse sentence frequency of terms and figure keys; one never seen weighs most."""

    known: Mapping[str, float]
    unknown: float

    @classmethod
    def of(cls, readings: Iterable[Reading]) -> Weights:
        """Count in how many of the readings each term occurs."""
        seen: Counter[str] = Counter()
        sentences = 0
        for reading in readings:
            seen.update(reading.everything)
            sentences += 1
        known = {item: math.log(2.0 + sentences / (count + 1)) for item, count in seen.items()}
        return cls(known, math.log(2.0 + sentences))

    def __getitem__(self, item: str) -> float:
        return self.known.get(item, self.unknown)
