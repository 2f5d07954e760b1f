"""The data classes of ragboard: frozen, keyword-only, without behaviour.

Offsets are positions of Unicode code points, as Python counts them. Ranks count from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

__all__ = [
    "BEST_GRADE",
    "PASSAGE_GRADE",
    "RELEVANT_GRADE",
    "Answerability",
    "Direction",
    "Evaluation",
    "Evidence",
    "FileScores",
    "Importance",
    "JsonValue",
    "Label",
    "MetricDescription",
    "MetricSetting",
    "ModelUsage",
    "MorePassages",
    "Nugget",
    "NuggetLabel",
    "Outcome",
    "Passage",
    "RecordedJudgement",
    "RecordedSample",
    "Run",
    "Sample",
    "Score",
    "Side",
    "Span",
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
"""The text that statements are from: the answer (`response`, as in ragas) or the reference."""

Label = Literal["supported", "contradicted", "unsupported"]
"""The value of a verdict: the target supports the statement, contradicts it, or neither. Not a person's label."""

VerdictTarget = Literal["passages", "reference", "response"]
"""What each statement is judged against: every passage separately, the reference, or the answer."""

Direction = Literal["higher", "lower", "neutral"]
"""Which values of a metric are better; neutral: that depends on the use."""

Answerability: TypeAlias = Literal["answerable", "partial", "unanswerable", "conversational", "underspecified"]
"""The classes of MTRAG (Katsis et al. 2025, arXiv 2501.03468): whether the collection has the answer, has a part of it,
or has none; whether the message is no question; and whether the question leaves open what is meant."""

Importance = Literal["vital", "okay"]
"""vital: an answer without this nugget is wrong or incomplete; okay: it is good to have."""

NuggetLabel = Literal["support", "partial_support", "not_support"]
"""Whether an answer states a nugget: completely, in part, or not. The words of AutoNuggetizer."""

BEST_GRADE = 3
"""The highest grade of a passage: 0 nothing to do with the question, 1 on topic, 2 some answer, 3 the exact answer."""
RELEVANT_GRADE = 2
"""The lowest grade of a relevant passage."""
PASSAGE_GRADE = "UMBRELA relevance of passage (0-3)"
"""What a stored judgement with the grade of a passage is about."""

MorePassages = Literal["", "falls", "rises"]
"""How a metric of the retrieved passages moves if further passages are appended; empty if it does not depend on k."""

UnscoredReason = Literal["undefined", "refusal", "failed", "skipped"]
"""Why there is no score.

undefined: there is nothing to judge; refusal: the answer only refuses; failed: the judge gave no usable reply; skipped:
the file lacks a column that the metric needs.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """One retrieved passage (also called chunk or context)."""

    id: str
    text: str
    rank: int
    """Rank in the retrieved list, from 1."""
    score: float | None = None
    """Score of the retriever, if the file has it; not comparable between retrievers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One earlier message of the conversation."""

    role: Literal["user", "assistant", "system", "tool"]
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Nugget:
    """A short fact that a good answer to a question has."""

    text: str
    importance: Importance | None = None
    """None if its author did not say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One question with its passages, answer and reference.

    A field that is None was not in the file; an empty one was, and was empty.
    """

    id: str
    question: str
    answer: str | None = None
    contexts: tuple[Passage, ...] | None = None
    reference: str | None = None
    reference_contexts: tuple[str, ...] | None = None
    history: tuple[Turn, ...] = ()
    nuggets: tuple[Nugget, ...] | None = None
    """The nuggets of the question, which belong to it in every run; None if none were written."""
    answerability: Answerability | None = None
    """Whether the question can be answered, as annotators labelled it in any run; None if nobody did. What the run file
    says is in `metadata`."""
    reference_note: str = ""
    """`reference from run X` if the file has no reference and that of another run of the dataset is used, or why none
    is: runs have different ones. Empty for a reference of its own, and without any."""
    time: datetime | None = None
    """When the question was asked, in UTC without a time zone; None if unknown. It is not part of the run's id."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """All other columns of the file, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A score, and how it was computed."""

    value: float
    counted: str = ""
    """The basis of the value, in words: `4 of 7 statements`, `rated directly by the judge`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unscored:
    """No score, and why. It is never zero and never NaN."""

    reason: UnscoredReason
    detail: str = ""


Outcome: TypeAlias = Score | Unscored


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricSetting:
    """A setting of a metric."""

    name: str
    allowed: str
    """Possible values, in words: `a whole number`, `True or False`."""
    default: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricDescription:
    """The description of a metric, stored with its scores so that they can be shown without its code."""

    spec: str
    """Its identity: `retrieval.recall(k=5)`."""
    label: str
    """Its name on pages: `Retrieval recall (k=5)`."""
    source: str
    name: str
    text: str
    formula: str
    paper: str
    """The source of the definition: paper and section."""
    requires: tuple[str, ...]
    """Columns that a sample must have, besides the question."""
    low: float | None
    """Least value; None without a bound; likewise `high`."""
    high: float | None
    direction: Direction
    calls: str
    """Calls to judges, in words."""
    settings: tuple[MetricSetting, ...]
    more_passages: MorePassages = ""
    """Whether it moves with the number of passages alone, and how."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileScores:
    """Scores in a run file, computed by another tool."""

    tool: str
    """Name of the tool: `ragas`."""
    format: str
    """Format of the file: `ragas 0.2 or later (CSV)`."""
    columns: Mapping[str, str]
    """Column of each metric (`ragas-file.faithfulness`)."""
    metrics: tuple[MetricDescription, ...]
    """Descriptions of the metrics, in the order of the columns."""
    outcomes: tuple[Mapping[str, Outcome], ...]
    """Outcomes of those metrics, one mapping per sample, in order."""
    judge: str = ""
    """The model that judged for the tool; empty if the file does not say."""
    recorded: tuple[RecordedSample, ...] = ()
    """What the tool's judge said of each sample besides scores, in order; empty if the file has only scores."""
    recounted: Mapping[str, str] = field(default_factory=dict[str, str])
    """The tool's metrics that our metric reproduces from the recorded verdicts, each with that metric."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """The answers of one configuration to a set of questions."""

    name: str
    samples: tuple[Sample, ...]
    config: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    dataset: str | None = None
    source: str = ""
    """File that it was read from, as the user named it."""
    tags: tuple[str, ...] = ()
    scores: FileScores | None = None
    """Scores of another tool; None if the file has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A span `text[start:end]`, and how it was found."""

    start: int
    end: int
    how: Literal["verbatim", "aligned"]
    """verbatim: exactly these words; aligned: the best match."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One statement of an answer or reference, with its place if it was found."""

    side: Side
    text: str
    span: Span | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a statement is checked against.

    `joint`: the passages taken together; `passage`: the one at `rank`; `reference`: the reference
    answer; `response`: the answer.
    """

    kind: Literal["joint", "passage", "reference", "response"]
    rank: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A span of a target's text that a verdict refers to."""

    rank: int
    """Rank of the passage; 1 if the target is one text."""
    start: int
    end: int
    stance: Literal["for", "against"]
    how: Literal["quoted", "overlap", "window"]
    """quoted: quoted by the judge; overlap: found by shared words; window: the part that a model read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The verdict of one target on one statement."""

    label: Label
    reason: str = ""
    score: float | None = None
    """Support in [0, 1] if the judge gives one; higher is better."""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedJudgement:
    """One judgement of another tool about a sample, other than a verdict on a statement."""

    about: str
    """What was asked, in words: `useful toward reference`."""
    number: int
    """Rank of the passage, or number of the question or the nugget, from 1."""
    says: str
    value: float | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedSample:
    """What the judge of another tool said of a sample."""

    statements: tuple[tuple[Statement, Verdict | None], ...] = ()
    """Statements of the answer and of the reference, each side in reading order, with their verdicts against all
    passages together; None if the tool gave no verdict."""
    judgements: tuple[RecordedJudgement, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelUsage:
    """Calls, tokens and cost of an evaluation for one model, with the planned numbers."""

    model: str
    embedding: bool
    """Whether the calls were for embeddings."""
    calls: int
    """Answered calls."""
    uncounted: int
    """Answered calls without token counts; the tokens below are of the others."""
    prompt_tokens: int
    cached_tokens: int
    """Cached prompt tokens."""
    completion_tokens: int
    cost: float | None
    """US dollars; None without a known price or with uncounted calls."""
    planned_calls: int | None = None
    """Planned calls; None without a plan."""
    planned_tokens: int | None = None
    prompt_price: float | None = None
    """US dollars per million prompt tokens, as used for the cost; None if not known."""
    cached_price: float | None = None
    """US dollars per million cached prompt tokens."""
    completion_price: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Who judged a run, with which metrics.

    `identity` holds all that could change an answer besides the sample: judge, model, endpoint,
    prompts and code version for each role. Its digest is the evaluation's id.
    """

    id: str
    run_id: str
    judge: str
    """Name of the judge: `embedded`."""
    heuristic: bool
    identity: Mapping[str, JsonValue]
    metrics: tuple[str, ...]
    imported: bool = False
    """Whether its scores are from the run file."""
