"""Metrics of the retrieved list against gold passages, without a judge.

The run file gives gold passages as ids in `reference_context_ids`, texts in `reference_contexts`, or document ids in
`documents`. An id matches the passage's id (or its entry in `retrieved_context_ids`, if the file has that), or the part
of that id before the last `#`: the chunk `bridge#3` belongs to the document `bridge`. A text matches a passage with the
same text, without case and with runs of spaces as one.

A gold passage is found once, at its first place in the list; repetitions do not count.
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
    """A retrieved list, compared with its gold passages."""

    gold: int
    """The number of gold passages."""
    relevant: tuple[bool, ...]
    """Whether each retrieved passage is a gold passage, in order of rank."""
    found: tuple[int, ...]
    """The number of gold passages that each retrieved passage is the first to match."""


@dataclass(frozen=True)
class RetrievalMetric(Metric):
    """Base class of retrieval metrics; `k` is the number of places to look at, None for all."""

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
        """Compute the score; skipped if the file has no gold passages, undefined if its list is empty."""
        ranked = ranking(sample)
        if isinstance(ranked, Unscored):
            return ranked
        places = len(ranked.found) if self.k is None else self.k
        cut = RankedPassages(gold=ranked.gold, relevant=ranked.relevant[:places], found=ranked.found[:places])
        return self.count(cut, places)

    @abstractmethod
    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """Score a list that was cut to `places` and has at least one gold passage."""


@dataclass(frozen=True)
class Recall(RetrievalMetric):
    """The share of the gold passages that were retrieved."""

    name: ClassVar[str] = "recall"
    title: ClassVar[str] = "Retrieval recall"
    formula: ClassVar[str] = "gold passages among the first k / all gold passages"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """Gold passages found / all gold passages."""
        found = sum(ranked.found)
        return Score(value=found / ranked.gold, counted=f"{found} of {ranked.gold} gold passages")


@dataclass(frozen=True)
class Precision(RetrievalMetric):
    """The share of the retrieved passages that are gold; with `k`, of k places, even if fewer were retrieved."""

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "Retrieval precision"
    formula: ClassVar[str] = "gold passages among the first k / k (or all retrieved)"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """Gold passages / places; undefined if nothing was retrieved and `k` is not set."""
        if not places:
            return Unscored(reason="undefined", detail="no passage was retrieved")
        relevant = sum(ranked.relevant)
        return Score(value=relevant / places, counted=f"{relevant} of {places} places")


@dataclass(frozen=True)
class HitRate(RetrievalMetric):
    """1 if at least one gold passage was retrieved, else 0."""

    name: ClassVar[str] = "hit_rate"
    title: ClassVar[str] = "Hit rate"
    formula: ClassVar[str] = "1 where a gold passage is among the first k, else 0"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """1 if any place has a gold passage, else 0."""
        hit = any(ranked.relevant)
        return Score(value=float(hit), counted=_places(ranked.relevant) if hit else f"none in {places} places")


@dataclass(frozen=True)
class ReciprocalRank(RetrievalMetric):
    """1 / the place of the first gold passage; 0 if none was retrieved. Its mean is the MRR."""

    name: ClassVar[str] = "mrr"
    title: ClassVar[str] = "Reciprocal rank"
    formula: ClassVar[str] = "1 / place of the first gold passage among the first k, else 0"

    def count(self, ranked: RankedPassages, places: int) -> Outcome:
        """1 / the first place with a gold passage."""
        if not any(ranked.relevant):
            return Score(value=0.0, counted=f"none in {places} places")
        return Score(value=1 / (ranked.relevant.index(True) + 1), counted=_places(ranked.relevant))


@dataclass(frozen=True)
class NDCG(RetrievalMetric):
    """Normalized discounted cumulative gain: gain 1 for a gold passage, discount log2(place + 1)."""

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
        """Compute it from the places that match a further gold passage."""
        hits = [place for place, new in enumerate(ranked.found, 1) if new]
        total = sum(number / place for number, place in enumerate(hits, 1))
        return Score(value=total / ranked.gold, counted=_places([new > 0 for new in ranked.found]))


def ranking(sample: Sample) -> RankedPassages | Unscored:
    """Compare the sample's passages with its gold passages, or say why they cannot be compared."""
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
    """Rank passages; `retrieved` has all names of each passage."""
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
    """Return the ids of the passages; None if they are only their places."""
    listed = _listed(sample.metadata, "retrieved_context_ids")
    if listed is not None and len(listed) == len(passages):
        return listed
    if passages and all(passage.id == str(passage.rank) for passage in passages):
        return None
    return [passage.id for passage in passages]


def _listed(metadata: Mapping[str, JsonValue], column: str, *, texts: bool = False) -> list[str] | None:
    """Return the ids in a column of the file; None if it contains something else.

    With `texts`, the column can also contain passages: a value with a space is a passage, not an id.
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
