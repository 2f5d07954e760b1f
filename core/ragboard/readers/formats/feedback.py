"""Feedback of a tool or a person on a whole answer: a number, a word, or yes or no, with an explanation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragboard.readers.scores import read_score
from ragboard.records import JsonValue, Outcome, RecordedJudgement, Score, Unscored

__all__ = ["Feedback", "Judged", "judged"]

YES_OR_NO = {"yes": 1.0, "true": 1.0, "pass": 1.0, "no": 0.0, "false": 0.0, "fail": 0.0}
"""Words that count as a score of 1 or 0, as in MLflow's means."""


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """One piece of feedback that a tool stores with an answer."""

    name: str
    value: JsonValue = None
    label: JsonValue = None
    reason: JsonValue = None
    error: JsonValue = None
    """Why the judge gave no value."""
    person: bool = False
    """Whether a person gave it, not a judge or code."""

    @property
    def says(self) -> str:
        """The label, or the value as the tool writes it."""
        said = self.label if self.label not in (None, "") else self.value
        if isinstance(said, bool):
            return "yes" if said else "no"
        return "" if said is None else f"{said:g}" if isinstance(said, float) else str(said)

    @property
    def outcome(self) -> Outcome:
        """The score; unscored with the reason where there is no number."""
        if self.error not in (None, ""):
            return Unscored(reason="failed", detail=str(self.error))
        if isinstance(self.value, bool):
            return Score(value=float(self.value), counted=self.says)
        outcome = read_score(self.value)
        if isinstance(outcome, Score) or not self.says:
            return outcome
        number = YES_OR_NO.get(self.says.strip().lower())
        if number is None or self.value is None:
            return Unscored(reason="skipped", detail=f"the file has {self.says[:100]!r}, not a number")
        return Score(value=number, counted=self.says)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The feedback on one answer, sorted by how it is stored."""

    scores: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    judgements: tuple[RecordedJudgement, ...] = ()
    people: Sequence[JsonValue] = ()
    """Feedback of people, without their names, for the metadata."""


def judged(given: Sequence[Feedback]) -> Judged:
    """Scores by name, the last where a name repeats; labels and explanations as judgements; what people said apart."""
    scores: dict[str, Outcome] = {}
    judgements: list[RecordedJudgement] = []
    people: list[JsonValue] = []
    times = Counter[str]()
    for one in given:
        if one.person:
            said = {"name": one.name, "value": one.value, "label": one.label, "comment": one.reason}
            people.append({key: value for key, value in said.items() if value not in (None, "")})
            continue
        scores[one.name] = outcome = one.outcome
        reason = one.reason if isinstance(one.reason, str) else ""
        worded = one.label not in (None, "") or (one.says and not isinstance(read_score(one.value), Score))
        if one.error in (None, "") and (reason or worded):
            times[one.name] += 1
            value = outcome.value if isinstance(outcome, Score) and math.isfinite(outcome.value) else None
            judgements.append(
                RecordedJudgement(about=one.name, number=times[one.name], says=one.says, value=value, reason=reason)
            )
    return Judged(scores=scores, judgements=tuple(judgements), people=people)
