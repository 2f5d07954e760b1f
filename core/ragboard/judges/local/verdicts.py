"""Combine a model's scores for several windows into the verdict on a statement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.records import Evidence, Label, Verdict

__all__ = ["Scores", "Thresholds", "WindowScores", "combine_windows", "scores_from_logits"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """A model's probabilities, in [0, 1], that a text supports or contradicts a statement."""

    support: float
    contradiction: float | None = None
    """None if the model has no output for contradiction."""
    marked: tuple[str, ...] = ()
    """The parts of the statement that the model marks as unsupported, if it marks parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowScores:
    """The part `[start:end]` of the passage at `rank`, and its scores for a statement."""

    rank: int
    start: int
    end: int
    scores: Scores


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """The minimum probabilities at which a window supports or contradicts a statement."""

    supports: float = 0.5
    contradicts: float = 0.5


def scores_from_logits(logits: Sequence[float], outputs: Sequence[Label]) -> Scores | None:
    """Return the probabilities of support and contradiction; None if a logit is not finite.

    `outputs` has the label of each logit. The probabilities are the softmax of the logits, or the sigmoid of a single
    logit, rounded to four decimals.
    """
    if not all(map(math.isfinite, logits)):
        return None
    probabilities = _softmax(logits if len(logits) > 1 else (*logits, 0.0))
    by_label: Mapping[Label, float] = {
        label: round(probability, 4) for label, probability in zip(outputs, probabilities, strict=False)
    }
    return Scores(support=by_label["supported"], contradiction=by_label.get("contradicted"))


def _softmax(logits: Sequence[float]) -> list[float]:
    highest = max(logits)
    powers = [math.exp(logit - highest) for logit in logits]
    total = sum(powers)
    return [power / total for power in powers]


def combine_windows(windows: Sequence[WindowScores], thresholds: Thresholds) -> Verdict:
    """Combine the scores of windows into a verdict.

    It is supported if any window supports the statement, else contradicted if any window contradicts it, else
    unsupported. The score is the highest probability of support; None if there are no windows.
    """
    if not windows:
        return Verdict(label="unsupported", reason="There is no text to compare it with.")
    best = max(windows, key=lambda window: window.scores.support)
    worst = max(windows, key=lambda window: window.scores.contradiction or 0.0)
    label = _label(best.scores.support, worst.scores.contradiction, thresholds)
    evidence: tuple[Evidence, ...] = ()
    if label == "supported":
        evidence = (_evidence(best, "for"),)
    elif label == "contradicted":
        evidence = (_evidence(worst, "against"),)
    return Verdict(
        label=label,
        reason=_reason(label, best, worst, len(windows)),
        score=best.scores.support,
        evidence=evidence,
    )


def _label(support: float, contradiction: float | None, thresholds: Thresholds) -> Label:
    if support >= thresholds.supports:
        return "supported"
    contradicted = contradiction is not None and contradiction >= thresholds.contradicts
    return "contradicted" if contradicted else "unsupported"


def _reason(label: Label, best: WindowScores, worst: WindowScores, count: int) -> str:
    highest = "" if count == 1 else f", the highest of {count} windows"
    support = f"support {best.scores.support:.2f}"
    contradiction = f"contradiction {worst.scores.contradiction or 0.0:.2f}"
    if label == "supported":
        return f"Passage {best.rank}: {support}{highest}."
    if label == "contradicted":
        return f"Passage {worst.rank}: {contradiction}{highest}; {support} at most."
    if best.scores.marked:
        marked = ", ".join(f'"{text}"' for text in best.scores.marked)
        return f"Best passage {best.rank}: {support}; not supported: {marked}."
    scores = support if worst.scores.contradiction is None else f"{support} and {contradiction}"
    return f"Neither supported nor contradicted: {scores}{highest}."


def _evidence(window: WindowScores, stance: Literal["for", "against"]) -> Evidence:
    return Evidence(rank=window.rank, start=window.start, end=window.end, stance=stance, how="window")
