"""Feedback of a judge or a person on an answer: a number, a word or a boolean, with an explanation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragboard.readers.scores import read_score
from ragboard.records import JsonValue, Outcome, RecordedJudgement, Score, Unscored

__all__ = ["CollectedFeedback", "Feedback", "collect_feedback"]

YES_OR_NO = {"yes": 1.0, "true": 1.0, "pass": 1.0, "no": 0.0, "false": 0.0, "fail": 0.0}
"""Words that are scores of 1 or 0. MLflow counts them like this in its means."""


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """One piece of feedback that a tool stores with an answer."""

    name: str
    value: JsonValue = None
    label: JsonValue = None
    reason: JsonValue = None
    error: JsonValue = None
    """The error, if the judge gave no value."""
    person: bool = False
    """Whether a person gave the feedback. If not: a judge or code."""

    @property
    def in_words(self) -> str:
        """The label, else the value, as text."""
        text = self.label if self.label not in (None, "") else self.value
        if isinstance(text, bool):
            return "yes" if text else "no"
        return "" if text is None else f"{text:g}" if isinstance(text, float) else str(text)

    @property
    def outcome(self) -> Outcome:
        """The score, or the reason why there is no number."""
        if self.error not in (None, ""):
            return Unscored(reason="failed", detail=str(self.error))
        if isinstance(self.value, bool):
            return Score(value=float(self.value), counted=self.in_words)
        outcome = read_score(self.value)
        if isinstance(outcome, Score) or not self.in_words:
            return outcome
        number = YES_OR_NO.get(self.in_words.strip().lower())
        if number is None or self.value is None:
            return Unscored(reason="skipped", detail=f"the file has {self.in_words[:100]!r}, not a number")
        return Score(value=number, counted=self.in_words)


@dataclass(frozen=True, kw_only=True)
class CollectedFeedback:
    """The feedback on one answer, in the forms in which ragboard stores it."""

    scores: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    judgements: tuple[RecordedJudgement, ...] = ()
    human_feedback: Sequence[JsonValue] = ()
    """Feedback of persons, without their names, for the metadata."""


def collect_feedback(feedback: Sequence[Feedback]) -> CollectedFeedback:
    """Return scores by name, labels and explanations as judgements, and feedback of persons.

    If a name is repeated, the last score counts.
    """
    scores: dict[str, Outcome] = {}
    judgements: list[RecordedJudgement] = []
    human_feedback: list[JsonValue] = []
    numbers = Counter[str]()
    for item in feedback:
        if item.person:
            cells = {"name": item.name, "value": item.value, "label": item.label, "comment": item.reason}
            human_feedback.append({key: value for key, value in cells.items() if value not in (None, "")})
            continue
        scores[item.name] = outcome = item.outcome
        reason = item.reason if isinstance(item.reason, str) else ""
        has_words = item.label not in (None, "") or (item.in_words and not isinstance(read_score(item.value), Score))
        if item.error in (None, "") and (reason or has_words):
            numbers[item.name] += 1
            value = outcome.value if isinstance(outcome, Score) and math.isfinite(outcome.value) else None
            judgements.append(
                RecordedJudgement(
                    about=item.name, number=numbers[item.name], says=item.in_words, value=value, reason=reason
                )
            )
    return CollectedFeedback(scores=scores, judgements=tuple(judgements), human_feedback=human_feedback)
