"""How well the retrieved list does against gold passages; asks no judge.

Gold passages are, as the run file has them: ids in `reference_context_ids`; texts in
`reference_contexts`; ids of documents in `documents`. An id is matched with the passage's id (or with
`retrieved_context_ids`, where the file has that) or its part before the last `#`, so that a chunk
`bridge#3` belongs to the document `bridge`. A text is matched with a passage of the same text, spaces
and case aside.

A gold passage counts as found once, at its first place in the list: what repeats it gains nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from ragboard.metrics.base import Column, Direction, Findings, Metric, Need
from ragboard.records import JsonValue, Outcome, Passage, Sample, Score, Unscored

__all__ = ["NDCG", "AveragePrecision", "HitRate", "Precision", "RankedPassages", "Recall", "ReciprocalRank", "ranking"]

BOOK = "Manning, Raghavan, Schütze 2008, Introduction to Information Retrieval, section 8.4"


@dataclass(frozen=True, kw_only=True)
class RankedPassages:
    """A retrieved list against its gold passages."""

    gold: int
    """How many gold passages there are."""
    relevant: tuple[bool, ...]
    """For each retrieved passage, in order, whether it is a gold one."""
    found: tuple[int, ...]
    """How many gold passages it is the first to bring."""


@dataclass(frozen=True)
class RetrievalMetric(Metric):
    """What they have in common: `k`, the places looked at, all of them where it is None."""

    source: ClassVar[str] = "retrieval"
    paper: ClassVar[str] = BOOK
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "none"

    k: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a k below 1."""
        if self.k is not None and self.k < 1:
            raise ValueError(f"k is a number of places, at least 1, got {self.k}")

    def needs(self) -> tuple[Need[Any], ...]:
        return ()

    def score(self, sample: Sample, findings: Findings) -> Outcome:
        """Count; skipped where the file has no gold passages, undefined where it lists none."""
        ranked = ranking(sample)
        if isinstance(ranked, Unscored):
            return ranked
        places = len(ranked.found) if self.k is None else self.k
        cut = RankedPassages(gold=ranked.gold, relevant=ranked.relevant[:places], found=ranked.found[:places])
        return self.count(cut, places)

    @abstractmethod
    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """Of a list cut to at most so many places, with at least one gold passage to find."""


@dataclass(frozen=True)
class Recall(RetrievalMetric):
    """The share of the gold passages that were retrieved."""

    name: ClassVar[str] = "recall"
    title: ClassVar[str] = "Retrieval recall"
    formula: ClassVar[str] = "gold passages among the first k / all gold passages"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """Found / gold."""
        found = sum(ranked.found)
        return Score(value=found / ranked.gold, counted=f"{found} of {ranked.gold} gold passages")


@dataclass(frozen=True)
class Precision(RetrievalMetric):
    """The share of the retrieved passages that are gold; with `k`, of k places, empty ones included."""

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "Retrieval precision"
    formula: ClassVar[str] = "gold passages among the first k / k (or all retrieved)"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """Relevant / places; undefined where nothing was retrieved and no `k` given."""
        if not places:
            return Unscored(reason="undefined", detail="no passage was retrieved")
        relevant = sum(ranked.relevant)
        return Score(value=relevant / places, counted=f"{relevant} of {places} places")


@dataclass(frozen=True)
class HitRate(RetrievalMetric):
    """1 where at least one gold passage was retrieved, else 0."""

    name: ClassVar[str] = "hit_rate"
    title: ClassVar[str] = "Hit rate"
    formula: ClassVar[str] = "1 where a gold passage is among the first k, else 0"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """Whether any."""
        hit = any(ranked.relevant)
        return Score(value=float(hit), counted=_places(ranked.relevant) if hit else f"none in {places} places")


@dataclass(frozen=True)
class ReciprocalRank(RetrievalMetric):
    """One over the place of the first gold passage; 0 where none was retrieved. Its mean is the MRR."""

    name: ClassVar[str] = "mrr"
    title: ClassVar[str] = "Reciprocal rank"
    formula: ClassVar[str] = "1 / place of the first gold passage among the first k, else 0"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """1 / first place."""
        if not any(ranked.relevant):
            return Score(value=0.0, counted=f"none in {places} places")
        return Score(value=1 / (ranked.relevant.index(True) + 1), counted=_places(ranked.relevant))


@dataclass(frozen=True)
class NDCG(RetrievalMetric):
    """Gold passages discounted by place, over the same for the best order: gain 1, discount log2(place + 1)."""

    name: ClassVar[str] = "ndcg"
    title: ClassVar[str] = "nDCG"
    formula: ClassVar[str] = "sum of 1 / log2(place + 1) over gold passages found / the same for the best order"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """DCG / ideal DCG."""
        best = ranked.gold if self.k is None else min(ranked.gold, places)
        gain = sum(_discount(place) for place, new in enumerate(ranked.found, 1) if new)
        ideal = sum(_discount(place) for place in range(1, best + 1))
        return Score(value=gain / ideal, counted=_places([new > 0 for new in ranked.found]))


@dataclass(frozen=True)
class AveragePrecision(RetrievalMetric):
    """Precision at the place of each gold passage found, summed, over all gold passages. Its mean is MAP."""

    name: ClassVar[str] = "average_precision"
    title: ClassVar[str] = "Average precision"
    formula: ClassVar[str] = "sum over found gold passages of (found up to its place / place) / all gold passages"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """Of the places that bring something new."""
        hits = [place for place, new in enumerate(ranked.found, 1) if new]
        total = sum(number / place for number, place in enumerate(hits, 1))
        return Score(value=total / ranked.gold, counted=_places([new > 0 for new in ranked.found]))


def ranking(sample: Sample) -> RankedPassages | Unscored:
    """The sample's passages against its gold ones, or why they cannot be held against each other."""
    passages = sample.contexts or ()
    ids = _listed(sample.metadata, "reference_context_ids")
    if ids is None and sample.reference_contexts is None:
        ids = _listed(sample.metadata, "documents", texts=True)
    if ids is None and sample.reference_contexts is None:
        return Unscored(reason="skipped", detail="the run file names no gold passages for this sample")
    if ids is None:
        texts = [_plain(text) for text in sample.reference_contexts or ()]
        return _ranked(texts, [(_plain(passage.text),) for passage in passages])
    names = _names(sample, passages)
    if names is None:
        detail = "the gold passages are named by id, and the retrieved ones have no ids"
        return Unscored(reason="skipped", detail=detail)
    return _ranked(ids, [(name, name.rpartition("#")[0] or name) for name in names])


def _ranked(gold: Sequence[str], retrieved: Sequence[tuple[str, ...]]) -> RankedPassages | Unscored:
    """`retrieved` gives all that each passage may be called."""
    wanted = set(gold)
    if not wanted:
        return Unscored(reason="undefined", detail="the run file lists no gold passage")
    left = set(wanted)
    found: list[int] = []
    for names in retrieved:
        found.append(len(left & set(names)))
        left -= set(names)
    relevant = tuple(bool(wanted & set(names)) for names in retrieved)
    return RankedPassages(gold=len(wanted), relevant=relevant, found=tuple(found))


def _names(sample: Sample, passages: Sequence[Passage]) -> Sequence[str] | None:
    """What the passages are called; None where their ids are only their places."""
    listed = _listed(sample.metadata, "retrieved_context_ids")
    if listed is not None and len(listed) == len(passages):
        return listed
    if passages and all(passage.id == str(passage.rank) for passage in passages):
        return None
    return [passage.id for passage in passages]


def _listed(metadata: Mapping[str, JsonValue], column: str, *, texts: bool = False) -> list[str] | None:
    """Ids in a column of the file; None where it holds something else.

    `texts` says that the column may hold passages as well: what has a space in it is one, and no id.
    """
    value = metadata.get(column)
    if not isinstance(value, (list, tuple)):
        return None
    items = cast("Sequence[object]", value)
    if not all(isinstance(item, (str, int)) and not (texts and " " in str(item).strip()) for item in items):
        return None
    return [str(item).strip() for item in items]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _discount(place: int) -> float:
    return 1 / math.log2(place + 1)


def _places(hits: Sequence[bool]) -> str:
    places = [str(place) for place, hit in enumerate(hits, 1) if hit]
    return f"at place {', '.join(places)} of {len(hits)}" if places else f"none in {len(hits)} places"
