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
"""The value of a verdict: the target supports the statement, contradicts it, or neither."""

VerdictTarget = Literal["passages", "reference", "response"]
"""What statements are judged against: every passage separately, the reference, or the answer."""

Direction = Literal["higher", "lower", "neutral"]
"""Which values of a metric are better; neutral: neither high nor low values are better."""

Answerability: TypeAlias = Literal["answerable", "partial", "unanswerable", "conversational", "underspecified"]
"""The classes of MTRAG (Katsis et al. 2025, arXiv 2501.03468).

answerable, partial, unanswerable: the documents contain the answer, a part of it, or no part of it; conversational: the
message is not a question; underspecified: the question is not precise enough to be answered.
"""

Importance = Literal["vital", "okay"]
"""vital: an answer without this nugget is wrong or incomplete; okay: it is good to have."""

NuggetLabel = Literal["support", "partial_support", "not_support"]
"""Whether an answer states a nugget: completely, in part, or not. These are the labels of AutoNuggetizer."""

BEST_GRADE = 3
"""The highest grade of a passage: 0 nothing to do with the question, 1 on topic, 2 some answer, 3 the exact answer."""
RELEVANT_GRADE = 2
"""The lowest grade of a relevant passage."""
PASSAGE_GRADE = "UMBRELA relevance of passage (0-3)"
"""The `about` of a RecordedJudgement that is the grade of a passage."""

MorePassages = Literal["", "falls", "rises"]
"""How a metric usually changes if more passages are retrieved, even irrelevant ones; empty if it does not."""

UnscoredReason = Literal["undefined", "refusal", "failed", "skipped"]
"""Why there is no score.

undefined: there is nothing to judge; refusal: the answer only refuses; failed: the judge gave no usable reply; skipped:
the sample lacks something that the metric needs, such as a column.
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
    """A short fact that a good answer to a question states."""

    text: str
    importance: Importance | None = None
    """None if the author of the nugget gave no importance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One question with its passages, answer and reference.

    None means that the file has no such field; an empty value means that the field is in the file and empty.
    """

    id: str
    question: str
    answer: str | None = None
    contexts: tuple[Passage, ...] | None = None
    reference: str | None = None
    reference_contexts: tuple[str, ...] | None = None
    history: tuple[Turn, ...] = ()
    nuggets: tuple[Nugget, ...] | None = None
    """The nuggets of the question, the same in every run with this question; None if nobody has written any."""
    answerability: Answerability | None = None
    """Whether the question can be answered, according to the annotators' labels of the question in any run; None
    without a label. The value in the run file is in `metadata`."""
    reference_note: str = ""
    """`reference from run X` if the file has no reference and the reference of another run of the dataset is used. If
    the other runs have different references, the reason why none of them is used. Otherwise empty."""
    time: datetime | None = None
    """When the question was asked, in UTC without a time zone; None if unknown. The run's id does not depend on it."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """All other columns of the file, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A score, and how it was computed."""

    value: float
    counted: str = ""
    """What the value was computed from, in words: `4 of 7 statements`, `rated directly by the judge`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unscored:
    """The outcome of a sample without a score, with the reason."""

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
    """Full name with settings, which identifies the metric: `retrieval.recall(k=5)`."""
    label: str
    """Name on pages: `Retrieval recall (k=5)`."""
    source: str
    """Family: `retrieval`."""
    name: str
    """Name in the family: `recall`."""
    text: str
    """Documentation of the metric."""
    formula: str
    paper: str
    """The source of the definition: paper and section."""
    requires: tuple[str, ...]
    """Columns that a sample must have, besides the question."""
    low: float | None
    """Lowest possible value; None if there is no lower bound."""
    high: float | None
    """Highest possible value; None if there is no upper bound."""
    direction: Direction
    calls: str
    """Judge calls per sample, in words."""
    settings: tuple[MetricSetting, ...]
    more_passages: MorePassages = ""
    """How the metric changes with the number of passages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileScores:
    """Scores in a run file, computed by another tool."""

    tool: str
    """Name of the tool: `ragas`."""
    format: str
    """Format of the file: `ragas 0.2 or later (CSV)`."""
    columns: Mapping[str, str]
    """The column of the file for each metric (such as `ragas-file.faithfulness`)."""
    metrics: tuple[MetricDescription, ...]
    """Descriptions of the metrics, in the order of the columns."""
    outcomes: tuple[Mapping[str, Outcome], ...]
    """Outcomes of those metrics, one mapping per sample, in order."""
    judge: str = ""
    """The model that the tool used as the judge; empty if the file does not say."""
    recorded: tuple[RecordedSample, ...] = ()
    """The verdicts and other judgements of the tool's judge for each sample, in order; empty if the file has only
    scores."""
    equivalent_metrics: Mapping[str, str] = field(default_factory=dict[str, str])
    """For each of the tool's metrics that can be computed from the recorded verdicts, ragboard's metric that does
    so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """The answers of one configuration to a set of questions."""

    name: str
    samples: tuple[Sample, ...]
    config: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    dataset: str | None = None
    source: str = ""
    """The file that the run was read from, as the user named it."""
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
    """One statement of an answer or reference, with its span in the text if it was found."""

    side: Side
    text: str
    span: Span | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a statement is checked against.

    `joint`: all passages together; `passage`: the passage at `rank`; `reference`: the reference; `response`: the
    answer.
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
    """The verdict on one statement, checked against one target."""

    label: Label
    reason: str = ""
    score: float | None = None
    """How well the target supports the statement, from 0 to 1; None if the judge gives no score."""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedJudgement:
    """One judgement of another tool about a sample that is not a verdict on a statement."""

    about: str
    """What the judgement is about, in words: `useful for the reference`."""
    number: int
    """Rank of the passage, or number of the question or the nugget, from 1."""
    says: str
    """The judgement, in words."""
    value: float | None = None
    """The judgement as a number; None if it has none."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedSample:
    """The verdicts and other judgements of another tool's judge for a sample."""

    statements: tuple[tuple[Statement, Verdict | None], ...] = ()
    """The statements of the answer and of the reference, each in reading order, with their verdicts against all
    passages together; None if the tool gave no verdict."""
    judgements: tuple[RecordedJudgement, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelUsage:
    """Calls, tokens and cost of an evaluation for one model, with the planned numbers."""

    model: str
    embedding: bool
    """Whether the calls were for embeddings."""
    calls: int
    """Number of calls with a reply."""
    uncounted: int
    """Number of these calls for which the server reported no tokens; they are not in the token counts below."""
    prompt_tokens: int
    cached_tokens: int
    """Cached prompt tokens."""
    completion_tokens: int
    cost: float | None
    """Cost in US dollars; None if the price is unknown or `uncounted` is not 0."""
    planned_calls: int | None = None
    """Planned number of calls; None without a plan."""
    planned_tokens: int | None = None
    """Planned number of tokens; None without a plan."""
    prompt_price: float | None = None
    """US dollars per million prompt tokens, as used for `cost`; None if unknown."""
    cached_price: float | None = None
    """US dollars per million cached prompt tokens; None if unknown."""
    completion_price: float | None = None
    """US dollars per million completion tokens; None if unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """The evaluation of a run: its judges and metrics.

    `identity` contains everything that could change a reply, except the sample: judge, model, endpoint, prompts and
    code version for each role. The digest of `identity` is the evaluation's id.
    """

    id: str
    run_id: str
    judge: str
    """Name of the judge: `embedded`."""
    heuristic: bool
    """Whether the judge is rule-based."""
    identity: Mapping[str, JsonValue]
    metrics: tuple[str, ...]
    imported: bool = False
    """Whether its scores are from the run file."""
