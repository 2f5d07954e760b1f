"""The nouns: frozen, keyword-only, without behaviour.

Offsets are positions of Unicode code points, as Python counts them. Ranks count from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = [
    "Direction",
    "Evaluation",
    "Evidence",
    "FileScores",
    "JsonValue",
    "Label",
    "MetricDescription",
    "MetricSetting",
    "Outcome",
    "Passage",
    "Run",
    "Sample",
    "Score",
    "Side",
    "Span",
    "Spend",
    "Statement",
    "Target",
    "Turn",
    "Unscored",
    "UnscoredReason",
    "Verdict",
    "VerdictTarget",
]

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"

Side = Literal["response", "reference"]
"""Whose statements: those of the answer, or those of the reference answer."""

Label = Literal["supported", "contradicted", "unsupported"]
"""What a target says of a statement: it says so; it says something incompatible; neither."""

VerdictTarget = Literal["passages", "reference", "response"]
"""What each statement is judged against: every passage separately, the reference, or the answer."""

Direction = Literal["higher", "lower", "neutral"]
"""Which values of a metric are better; neutral: that depends on the use."""

UnscoredReason = Literal["undefined", "refusal", "failed", "skipped"]
"""Why there is no number: nothing to judge; the answer only refuses; the judge failed; a column is missing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """One retrieved passage (also called chunk or context)."""

    id: str
    text: str
    rank: int
    """Place in the retrieved list, from 1."""
    score: float | None = None
    """The retriever's own score, where the file has it; not comparable between retrievers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One earlier message of the conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One question with what was retrieved and answered.

    A field that is None was not in the file; an empty one was, and was empty.
    """

    id: str
    question: str
    answer: str | None = None
    contexts: tuple[Passage, ...] | None = None
    reference: str | None = None
    reference_contexts: tuple[str, ...] | None = None
    history: tuple[Turn, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Every other column of the file, by its own name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A number, and what it was counted from."""

    value: float
    counted: str = ""
    """In words: `4 of 7 statements`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unscored:
    """No number, and why. Never zero, never NaN."""

    reason: UnscoredReason
    detail: str = ""


Outcome: TypeAlias = Score | Unscored


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricSetting:
    """A setting of a metric."""

    name: str
    allowed: str
    """In words: `a whole number`, `True or False`."""
    default: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricDescription:
    """What people read about a metric; kept with its scores, so that they can be shown without its code."""

    spec: str
    """Its identity: `retrieval.recall(k=5)`."""
    label: str
    """How pages call it: `Retrieval recall (k=5)`."""
    source: str
    name: str
    text: str
    formula: str
    paper: str
    """Where the definition stands."""
    requires: tuple[str, ...]
    """Columns a sample must have, besides the question."""
    low: float | None
    """The least value; None where there is no bound, and so for `high`."""
    high: float | None
    direction: Direction
    calls: str
    """What it asks a judge, in words."""
    settings: tuple[MetricSetting, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FileScores:
    """Scores that a run file brings: another tool counted them, nobody here."""

    tool: str
    """Which, as a person names it: `ragas`."""
    format: str
    """What the file was taken for: `ragas 0.2 or later (CSV)`."""
    columns: Mapping[str, str]
    """For each metric (`ragas-file.faithfulness`) the column it stands in."""
    metrics: tuple[MetricDescription, ...]
    """What is known of them, in the order of the columns."""
    outcomes: tuple[Mapping[str, Outcome], ...]
    """For each sample of the run, in order, what each of those metrics is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """The answers of one configuration to a set of questions."""

    name: str
    samples: tuple[Sample, ...]
    config: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    dataset: str | None = None
    source: str = ""
    """The file it was read from, as the user named it."""
    tags: tuple[str, ...] = ()
    scores: FileScores | None = None
    """What another tool made of it; None where the file has no scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Where in a text something stands: `text[start:end]`, and how that was found."""

    start: int
    end: int
    how: Literal["verbatim", "aligned"]
    """verbatim: the words are there as they are; aligned: the place whose words match best."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One claim of an answer or of a reference, and its place there where it was found."""

    side: Side
    text: str
    span: Span | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a statement is held against.

    `joint`: the passages taken together; `passage`: the one at `rank`; `reference`: the reference
    answer; `response`: the answer.
    """

    kind: Literal["joint", "passage", "reference", "response"]
    rank: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A stretch of a target's text that a verdict points to."""

    rank: int
    """The passage, by rank; 1 where the target is one text."""
    start: int
    end: int
    stance: Literal["for", "against"]
    how: Literal["quoted", "overlap", "window"]
    """quoted: the judge named these words; overlap: found by shared words; window: the stretch that a model read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What one target says of one statement."""

    label: Label
    reason: str = ""
    score: float | None = None
    """Support in [0, 1] where the judge has one; higher is better supported."""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Spend:
    """What an evaluation's calls to one model took, and what they had been planned to take."""

    model: str
    embedding: bool
    """Whether the calls were for embeddings rather than for replies."""
    calls: int
    """Calls that were answered."""
    uncounted: int
    """How many of them without the server's word on tokens; the tokens below are of the others."""
    prompt_tokens: int
    cached_tokens: int
    """Those of the prompt tokens that the server had kept from earlier calls."""
    completion_tokens: int
    cost: float | None
    """US dollars; None where the model has no known price or calls are uncounted."""
    planned_calls: int | None = None
    """None where nothing was planned."""
    planned_tokens: int | None = None
    prompt_price: float | None = None
    """US dollars for a million prompt tokens, as the cost was counted; None where no price is known."""
    cached_price: float | None = None
    """Of prompt tokens that the server had kept."""
    completion_price: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Who judged a run, and by which metrics.

    `identity` holds all that could change an answer besides the sample: judge, model, endpoint,
    prompts and code version for each role. Its digest is the evaluation's id.
    """

    id: str
    run_id: str
    judge: str
    """The judge as a person would name it, `embedded` say."""
    heuristic: bool
    identity: Mapping[str, JsonValue]
    metrics: tuple[str, ...]
    imported: bool = False
    """Whether its scores came with the run file, and were counted by nobody here."""
