"""What a diagnosis is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragboard.stats import GroupDifference, Interval, NoInterval
from ragboard.store.queries.evaluations import JudgedBy
from ragboard.store.queries.samples import SampleQuery
from ragboard.store.queries.statements import HallucinationQuery

__all__ = [
    "Breakdown",
    "Diagnosis",
    "Figure",
    "Finding",
    "Look",
    "NotEvaluated",
    "Part",
    "PassageLoss",
    "QuestionLoss",
    "Rule",
    "Silence",
    "Silent",
    "TopicLoss",
    "TopicsLookedAt",
]

Part = Literal["retriever", "generator", "answers"]
Silence = Literal["the interval holds the limit", "within the limit", "no interval", "not evaluated"]


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """Where a column is seen for each value of a metadata column."""

    column: str
    by: str


Look: TypeAlias = SampleQuery | HallucinationQuery | Breakdown
"""Where the evidence stands: samples of the run, statements, or a column broken down."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A condition on one quantity, and what it suggests where it holds."""

    id: str
    part: Part
    """Whom it speaks of."""
    quantity: str
    """The key of a quantity in `QUANTITIES`."""
    side: Literal["above", "below"]
    limit: float
    """The interval must lie wholly on that side of it."""
    says: str
    """The sentence; `{}` stands for the estimate with its interval, as percentages."""
    advice: str
    """What to try."""
    why: str
    """Why this limit."""
    look: Look


@dataclass(frozen=True, kw_only=True)
class NotEvaluated:
    """A quantity that cannot be measured yet, and the metrics that are missing."""

    metrics: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A quantity of a run."""

    quantity: str
    label: str
    interval: Interval | NoInterval

    def __str__(self) -> str:
        """`Claim recall 0.36 (0.24 to 0.48), n = 52, Student's t`, or why there is no interval."""
        found = self.interval
        if isinstance(found, NoInterval):
            return f"{self.label}: no interval, {found.reason}"
        return (
            f"{self.label} {found.estimate:.2f} ({found.low:.2f} to {found.high:.2f}), n = {found.n:,}, {found.method}"
        )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A rule that spoke."""

    rule: Rule
    sentence: str
    figure: Figure
    look: Look


@dataclass(frozen=True, kw_only=True)
class Silent:
    """A rule that did not speak, and why."""

    rule: Rule
    state: Silence
    figure: Figure | None
    """None where what it is counted from was not evaluated."""
    missing: tuple[str, ...]
    """The metrics that are not there."""


@dataclass(frozen=True, kw_only=True)
class QuestionLoss:
    """A question, and how many of its answer's statements are not supported."""

    question: str
    statements: int
    contradicted: int
    look: HallucinationQuery


@dataclass(frozen=True, kw_only=True)
class PassageLoss:
    """A passage that supplies wrong statements, or contradicts what answers say."""

    passage_id: str
    text: str
    """Its beginning."""
    wrong: int
    """Statements that it supports and the reference does not; 0 where that was not judged."""
    contradicted: int
    """Statements that it contradicts."""
    sample_id: str
    """A sample with such a statement; empty where `look` lists them."""
    look: HallucinationQuery | None


@dataclass(frozen=True, kw_only=True)
class TopicLoss:
    """The samples that share a value of a metadata column, and by how much they are worse than the others."""

    by: str
    """The metadata column, behind `metadata.`."""
    value: str
    metric: str
    found: GroupDifference
    p: float
    """Adjusted for all groups looked at (Holm 1979)."""
    look: Breakdown


@dataclass(frozen=True, kw_only=True)
class TopicsLookedAt:
    """What was searched for topics that lag behind."""

    groups: int
    metrics: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What the numbers of one evaluation of a run suggest."""

    run: str
    judged: JudgedBy | None
    overruled: int
    """Verdicts that people overruled; everything here counts the judge's."""
    samples: int
    references: int
    """Samples with a reference answer."""
    split: str
    """Why retriever and generator cannot be told apart here; empty where they can."""
    findings: tuple[Finding, ...]
    """The rules that spoke, in the order of the table."""
    silent: tuple[Silent, ...]
    missing: tuple[str, ...]
    """Metrics that silent rules wait for and that can be evaluated here."""
    loose: int
    """Statements that the passages do not support."""
    questions: tuple[QuestionLoss, ...]
    """The questions with most of them."""
    passages: tuple[PassageLoss, ...]
    topics: tuple[TopicLoss, ...]
    """Groups that are worse than the rest beyond chance."""
    looked_at: TopicsLookedAt

    @property
    def carried(self) -> float | None:
        """The share of the unsupported statements that those questions carry; None where there is none."""
        return sum(one.statements for one in self.questions) / self.loose if self.loose else None
