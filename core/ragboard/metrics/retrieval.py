"""Metrics that compare the retrieved list with gold passages, without a judge.

The run file has gold passages as ids in `reference_context_ids`, texts in `reference_contexts`, or document ids in
`documents`. A gold id matches the passage with this id and the chunks of the document with this id: `bridge` matches
`bridge#3`. The ids of passages can be in `retrieved_context_ids`. A gold text matches a passage with the same text;
case and repeated spaces are ignored.

A gold passage counts once, at its first rank in the list; repetitions do not count.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from ragboard.metrics.base import Category, Column, Direction, Metric, Need, NeedResults
from ragboard.records import JsonValue, MorePassages, Outcome, Passage, Sample, Score, Unscored

__all__ = [
    "NDCG",
    "AveragePrecision",
    "HitRate",
    "Precision",
    "RankedPassages",
    "Recall",
    "ReciprocalRank",
    "compare_with_gold",
]

BOOK = "Manning, Raghavan, Schütze 2008, Introduction to Information Retrieval, section 8.4"

NO_GOLD = "the run file has no gold passages for this sample"
NO_IDS = "the gold passages are given by id, but the retrieved passages have no ids"


@dataclass(frozen=True, kw_only=True)
class RankedPassages:
    """A retrieved list, compared with its gold passages."""

    gold: int
    """The number of gold passages."""
    relevant: tuple[bool, ...]
    """Whether each retrieved passage is a gold passage, in order of rank."""
    first_matches: tuple[int, ...]
    """For each retrieved passage, the number of gold passages that it matches and that no earlier passage matches."""


@dataclass(frozen=True)
class RetrievalMetric(Metric):
    """Base class of retrieval metrics; `k` is the cutoff rank, None for no cutoff."""

    source: ClassVar[str] = "retrieval"
    paper: ClassVar[str] = BOOK
    category: ClassVar[Category] = "coverage"
    source_label: ClassVar[str] = "information retrieval"
    needs_gold: ClassVar[bool] = True
    requires: ClassVar[tuple[Column, ...]] = ("contexts",)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "none"

    k: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a k below 1."""
        if self.k is not None and self.k < 1:
            raise ValueError(f"k, the cutoff rank, must be at least 1, got {self.k}")

    def needs(self) -> tuple[Need[Any], ...]:
        return ()

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        """Compute the score. Skipped if the file has no gold passages, undefined if their list is empty."""
        ranked = compare_with_gold(sample)
        if isinstance(ranked, Unscored):
            return ranked
        cutoff = len(ranked.first_matches) if self.k is None else self.k
        top = RankedPassages(
            gold=ranked.gold, relevant=ranked.relevant[:cutoff], first_matches=ranked.first_matches[:cutoff]
        )
        return self.score_ranks(top, cutoff)

    @abstractmethod
    def score_ranks(self, ranked: RankedPassages, cutoff: int) -> Outcome:
        """Compute the score from the list up to rank `cutoff`; there is at least one gold passage."""


@dataclass(frozen=True)
class Recall(RetrievalMetric):
    """The share of the gold passages that were retrieved."""

    name: ClassVar[str] = "recall"
    title: ClassVar[str] = "Retrieval recall"
    formula: ClassVar[str] = "gold passages in the top k / all gold passages"
    more_passages: ClassVar[MorePassages] = "rises"

    def score_ranks(self, ranked: RankedPassages, cutoff: int) -> Outcome:
        """Gold passages found / all gold passages."""
        found = sum(ranked.first_matches)
        return Score(value=found / ranked.gold, counted=f"{found} of {ranked.gold} gold passages")


@dataclass(frozen=True)
class Precision(RetrievalMetric):
    """The share of the retrieved passages that are gold. With `k`, the divisor is k, even if fewer were retrieved."""

    name: ClassVar[str] = "precision"
    title: ClassVar[str] = "Retrieval precision"
    category: ClassVar[Category] = "focus"
    formula: ClassVar[str] = "gold passages in the top k / k (without k: all retrieved)"
    more_passages: ClassVar[MorePassages] = "falls"

    def score_ranks(self, ranked: RankedPassages, cutoff: int) -> Outcome:
        """Gold passages / cutoff; undefined if nothing was retrieved and `k` is not set."""
        if not cutoff:
            return Unscored(reason="undefined", detail="no passage was retrieved")
        relevant = sum(ranked.relevant)
        return Score(value=relevant / cutoff, counted=f"{relevant} in the top {cutoff}")


@dataclass(frozen=True)
class HitRate(RetrievalMetric):
    """1 if at least one gold passage was retrieved, else 0."""

    name: ClassVar[str] = "hit_rate"
    title: ClassVar[str] = "Hit rate"
    formula: ClassVar[str] = "1 if a gold passage is in the top k, else 0"
    more_passages: ClassVar[MorePassages] = "rises"

    def score_ranks(self, ranked: RankedPassages, cutoff: int) -> Outcome:
        """1 if any retrieved passage is gold, else 0."""
        hit = any(ranked.relevant)
        return Score(value=float(hit), counted=_ranks_text(ranked.relevant) if hit else f"none in the top {cutoff}")


@dataclass(frozen=True)
class ReciprocalRank(RetrievalMetric):
    """1 / the rank of the first gold passage; 0 if no gold passage was retrieved. The mean over a run is the MRR."""

    name: ClassVar[str] = "mrr"
    title: ClassVar[str] = "Reciprocal rank"
    formula: ClassVar[str] = "1 / rank of the first gold passage in the top k, else 0"
    more_passages: ClassVar[MorePassages] = "rises"

    def score_ranks(self, ranked: RankedPassages, cutoff: int) -> Outcome:
        """1 / the rank of the first gold passage."""
        if not any(ranked.relevant):
            return Score(value=0.0, counted=f"none in the top {cutoff}")
        return Score(value=1 / (ranked.relevant.index(True) + 1), counted=_ranks_text(ranked.relevant))


@dataclass(frozen=True)
class NDCG(RetrievalMetric):
    """Normalized discounted cumulative gain: gain 1 for a gold passage, discount log2(rank + 1)."""

    name: ClassVar[str] = "ndcg"
    title: ClassVar[str] = "nDCG"
    formula: ClassVar[str] = "sum of 1 / log2(rank + 1) over gold passages found / the same for the best order"
    more_passages: ClassVar[MorePassages] = "rises"

    def score_ranks(self, ranked: RankedPassages, cutoff: int) -> Outcome:
        """DCG / ideal DCG."""
        best = ranked.gold if self.k is None else min(ranked.gold, cutoff)
        gain = sum(_discount(rank) for rank, new in enumerate(ranked.first_matches, 1) if new)
        ideal = sum(_discount(rank) for rank in range(1, best + 1))
        return Score(value=gain / ideal, counted=_ranks_text([new > 0 for new in ranked.first_matches]))


@dataclass(frozen=True)
class AveragePrecision(RetrievalMetric):
    """The sum of the precision at the rank of each retrieved gold passage, divided by the number of gold passages.

    The mean over a run is MAP.
    """

    name: ClassVar[str] = "average_precision"
    title: ClassVar[str] = "Average precision"
    formula: ClassVar[str] = "sum over found gold passages i of precision@i / all gold passages"
    more_passages: ClassVar[MorePassages] = "rises"

    def score_ranks(self, ranked: RankedPassages, cutoff: int) -> Outcome:
        """Compute the score from the ranks at which a gold passage occurs for the first time."""
        hits = [rank for rank, new in enumerate(ranked.first_matches, 1) if new]
        total = sum(number / rank for number, rank in enumerate(hits, 1))
        return Score(value=total / ranked.gold, counted=_ranks_text([new > 0 for new in ranked.first_matches]))


def compare_with_gold(sample: Sample) -> RankedPassages | Unscored:
    """Compare the sample's passages with its gold passages, or return an Unscored if that is impossible."""
    passages = sample.contexts or ()
    ids = _ids_in(sample.metadata, "reference_context_ids")
    if ids is None and sample.reference_contexts is None:
        ids = _ids_in(sample.metadata, "documents", texts=True)
    if ids is None and sample.reference_contexts is None:
        return Unscored(reason="skipped", detail=NO_GOLD)
    if ids is None:
        texts = [_normalized(text) for text in sample.reference_contexts or ()]
        return _match(texts, [(_normalized(passage.text),) for passage in passages])
    names = _names(sample, passages)
    if names is None:
        return Unscored(reason="skipped", detail=NO_IDS)
    return _match(ids, [(name, name.rpartition("#")[0] or name) for name in names])


def _match(gold: Sequence[str], retrieved: Sequence[tuple[str, ...]]) -> RankedPassages | Unscored:
    """Compare passages by name. `retrieved` has, for each passage, all names under which it can match."""
    gold_names = set(gold)
    if not gold_names:
        return Unscored(reason="undefined", detail="the run file lists no gold passage")
    unmatched = set(gold_names)
    first_matches: list[int] = []
    for names in retrieved:
        first_matches.append(len(unmatched & set(names)))
        unmatched -= set(names)
    relevant = tuple(bool(gold_names & set(names)) for names in retrieved)
    return RankedPassages(gold=len(gold_names), relevant=relevant, first_matches=tuple(first_matches))


def _names(sample: Sample, passages: Sequence[Passage]) -> Sequence[str] | None:
    """Return the ids of the passages; None if the run file has none. Each passage's id is then its rank."""
    ids = _ids_in(sample.metadata, "retrieved_context_ids")
    if ids is not None and len(ids) == len(passages):
        return ids
    if passages and all(passage.id == str(passage.rank) for passage in passages):
        return None
    return [passage.id for passage in passages]


def _ids_in(metadata: Mapping[str, JsonValue], column: str, *, texts: bool = False) -> list[str] | None:
    """Return the ids in a column of the file; None if it contains something else.

    With `texts`, the column may contain texts: return None if a value has a space.
    """
    value = metadata.get(column)
    if not isinstance(value, (list, tuple)):
        return None
    items = cast("Sequence[object]", value)
    if not all(isinstance(item, (str, int)) and not (texts and " " in str(item).strip()) for item in items):
        return None
    return [str(item).strip() for item in items]


def _normalized(text: str) -> str:
    return " ".join(text.split()).casefold()


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _ranks_text(hits: Sequence[bool]) -> str:
    ranks = [str(rank) for rank, hit in enumerate(hits, 1) if hit]
    return f"at rank {', '.join(ranks)} of {len(hits)}" if ranks else f"none in the top {len(hits)}"
