"""From what a model makes of each window to a verdict, and in words how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.records import Evidence, Label, Verdict

__all__ = ["Odds", "Seen", "Thresholds", "verdict"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Odds:
    """What a model gives a pair of texts, as probabilities in [0, 1]."""

    entailment: float
    contradiction: float | None
    """None for a model that knows no contradiction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A window of the passage at `rank`, and what the model makes of it and a statement."""

    rank: int
    start: int
    end: int
    odds: Odds


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """Probabilities from which a window supports or contradicts."""

    supports: float = 0.5
    contradicts: float = 0.5


def verdict(seen: Sequence[Seen], thresholds: Thresholds) -> Verdict:
    """The verdict over all these windows: supported if one of them supports, else contradicted if one does.

    The score is the highest probability of entailment; None where there is no window.
    """
    if not seen:
        return Verdict(label="unsupported", reason="There is no text to hold it against.")
    best = max(seen, key=lambda one: one.odds.entailment)
    worst = max(seen, key=lambda one: one.odds.contradiction or 0.0)
    label = _label(best.odds.entailment, worst.odds.contradiction, thresholds)
    return Verdict(
        label=label,
        reason=_reason(label, best, worst, len(seen)),
        score=best.odds.entailment,
        evidence={"supported": (_mark(best, "for"),), "contradicted": (_mark(worst, "against"),)}.get(label, ()),
    )


def _label(entailment: float, contradiction: float | None, thresholds: Thresholds) -> Label:
    if entailment >= thresholds.supports:
        return "supported"
    denied = contradiction is not None and contradiction >= thresholds.contradicts
    return "contradicted" if denied else "unsupported"


def _reason(label: Label, best: Seen, worst: Seen, count: int) -> str:
    highest = "" if count == 1 else f", the highest of {count} windows"
    for_it, against = f"entailment {best.odds.entailment:.2f}", f"contradiction {worst.odds.contradiction or 0.0:.2f}"
    if label == "supported":
        return f"Passage {best.rank}: {for_it}{highest}."
    if label == "contradicted":
        return f"Passage {worst.rank}: {against}{highest}; {for_it} at most."
    known = for_it if worst.odds.contradiction is None else f"{for_it} and {against}"
    return f"Neither: {known}{highest}."


def _mark(seen: Seen, stance: Literal["for", "against"]) -> Evidence:
    return Evidence(rank=seen.rank, start=seen.start, end=seen.end, stance=stance, how="window")
