"""What judges said beside verdicts on statements, as rows: what was asked, which one, what they say, why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, TypeAlias

from ragboard.metrics.needs import (
    DirectlyRated,
    DrawnSentences,
    DrawsFound,
    EntitiesFound,
    Fits,
    FitsDescription,
    Need,
    PassagesJudged,
    QualityHolds,
    QualityRated,
    QualityRating,
    UsefulPassages,
)
from ragboard.tasks import Classified

__all__ = ["JudgementRow", "judgement_rows"]

JudgementRow: TypeAlias = tuple[str, int, str, float | None, str]
"""about, number, says, value, reason."""


def judgement_rows(need: Need[Any], found: object) -> Iterator[JudgementRow]:
    """The rows of one finding; none for findings that have tables of their own."""
    match need, found:
        case UsefulPassages(), PassagesJudged():
            said = zip(found.useful, found.reasons, strict=True)
            yield from _yes_and_no(f"useful toward {need.toward}", said)
        case FitsDescription(), Fits():
            yield from _yes_and_no(need.definition, zip(found.draws, found.reasons, strict=True))
        case DrawnSentences(), DrawsFound():
            yield from _draws(need, found)
        case _, EntitiesFound():
            for about, names in (("entities of reference", found.reference), ("entities of passages", found.passages)):
                yield from ((about, number, name, None, "") for number, name in enumerate(names, 1))
        case QualityRating(), QualityRated():
            yield f"rating of {need.quality}", 1, str(found.value), float(found.value), found.reason
        case _, DirectlyRated():
            yield "rating of the answer", 1, f"{found.score:g}", found.score, found.reason
        case QualityHolds(), Classified():
            about = f"{need.quality.replace('_', ' ')} (ARES{', compat' if need.after_contexts else ''})"
            yield about, 1, "yes" if found.holds else "no", found.probability, found.reason
        case _:
            pass


def _yes_and_no(about: str, said: Iterable[tuple[bool, str]]) -> Iterator[JudgementRow]:
    for number, (yes, reason) in enumerate(said, 1):
        yield about, number, "yes" if yes else "no", None, reason


def _draws(need: DrawnSentences, found: DrawsFound) -> Iterator[JudgementRow]:
    for number, draw in enumerate(found.draws, 1):
        chosen = ", ".join(str(place + 1) for place in draw)
        yield "sentences chosen by draw", number, chosen or "none", len(draw) / len(found.sentences), ""
    pairs = combinations(range(1, len(found.draws) + 1), 2)
    for number, ((one, other), alike) in enumerate(zip(pairs, found.alike, strict=True), 1):
        yield f"agreement of draws ({need.agreement})", number, f"draws {one} and {other}", alike, ""
