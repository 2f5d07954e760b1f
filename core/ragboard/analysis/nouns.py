"""What reports are made of: frozen objects that the command line and the pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from ragboard.analysis.thresholds import Standing, Threshold
from ragboard.analysis.unscored import UnscoredPolicy
from ragboard.metrics.needs import Sentence
from ragboard.metrics.partition import Origin
from ragboard.records import JsonValue, Label, Outcome, Sample, Spend, Statement, Verdict
from ragboard.stats import Interval, NoInterval
from ragboard.store import RunRef
from ragboard.store.queries.labels import HumanVerdict

__all__ = [
    "GeneratedQuestion",
    "JudgedBy",
    "JudgedStatement",
    "Judgement",
    "LooseStatement",
    "MetricSummary",
    "Only",
    "Order",
    "RunSummary",
    "SamplePage",
    "SampleQuery",
    "SampleReport",
    "SampleRow",
    "Spending",
    "passages_named",
]

_STRONGEST: tuple[Label, ...] = ("supported", "contradicted", "unsupported")

Order = Literal["file", "lowest", "highest", "worst"]
Only = Literal["all", "loose", "refusing", "unscored", "beyond"]
"""beyond: on the bad side of the threshold of the query's column."""


def passages_named(ranks: Sequence[int]) -> str:
    """`passage 2`, or `passages 1, 2 and 4`."""
    if len(ranks) == 1:
        return f"passage {ranks[0]}"
    return f"passages {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedStatement:
    """A statement, what the passages say of it, and where it comes from."""

    statement: Statement
    verdict: Verdict | None
    """Of the passages together; None where nobody judged that."""
    single: Mapping[int, Verdict] = field(default_factory=dict[int, Verdict])
    """Of each passage by itself, by rank; empty where nobody judged that."""
    origin: Origin | None = None
    """Its class of the six-way partition; None where a table that this takes was not judged."""
    people: tuple[HumanVerdict, ...] = ()
    """What people say of it now, the latest last; the judge's verdict stays beside it."""

    @property
    def by_people(self) -> HumanVerdict | None:
        """The verdict of people that counts: the latest."""
        return self.people[-1] if self.people else None

    @property
    def overruled(self) -> bool:
        """Whether people give another verdict than the judge does on the passages together."""
        return bool(self.by_people and self.verdict and self.by_people.label != self.verdict.label)

    @property
    def alone(self) -> Label | None:
        """What single passages come to: supported where one supports it, else contradicted where one contradicts."""
        labels = {verdict.label for verdict in self.single.values()}
        return next((label for label in _STRONGEST if label in labels), None)

    @property
    def alone_in_words(self) -> str:
        """The same in words; empty where no passage was asked by itself."""
        said = [f"{label} by {passages_named(ranks)}" for label in _STRONGEST[:2] if (ranks := self.ranks(label))]
        if not self.single:
            return ""
        return f"{'; '.join(said) or 'supported by no single passage'} (each by itself; not judged together)"

    def ranks(self, label: Label) -> tuple[int, ...]:
        """The passages that say so by themselves, in order."""
        return tuple(sorted(rank for rank, verdict in self.single.items() if verdict.label == label))


@dataclass(frozen=True, kw_only=True)
class JudgedBy:
    """The evaluation that numbers come from."""

    evaluation_id: str
    judge: str
    heuristic: bool
    finished: datetime
    """UTC."""
    covered: int
    """Samples of the run that it has results of."""
    samples: int
    """Samples of the run now; more may have been logged since."""

    @property
    def in_words(self) -> str:
        """`embedded (heuristic)`."""
        return f"{self.judge}{' (heuristic)' if self.heuristic else ''}"

    @property
    def part(self) -> str:
        """`50 of 2,000 samples evaluated`; empty where all were."""
        if self.covered >= self.samples:
            return ""
        return f"{self.covered:,} of {self.samples:,} samples evaluated"


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """One metric over one run: its mean, never without how many samples were scored and how the others counted."""

    metric: str
    scored: int
    total: int
    """Samples that the evaluation covers."""
    mean: float | None
    """Of the scored samples, under `zero` of all; None where no sample counts."""
    interval: Interval | NoInterval
    """Under `bounds` it holds every mean that the unscored allow."""
    unscored: Mapping[str, int]
    """How many samples have no score, by reason."""
    policy: UnscoredPolicy = "excluded"
    """How the unscored were asked to count; `note` says how they did."""
    bounds: tuple[float, float] | None = None
    """The mean with all unscored at the metric's least and greatest value; None but under `bounds`."""
    stands_for: float | None = None
    """What each unscored sample counted as; None but under `zero`."""
    note: str = ""
    """How the unscored counted, in words; empty where none is or they are left out as asked."""
    threshold: Threshold | None = None
    """None where nobody set one."""
    standing: Standing | None = None
    """On which side of the threshold the interval lies; None without one."""
    judged: JudgedBy | None = None
    """The evaluation that it was scored in."""


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What an evaluation took, all its models together, and how near that was to its plan."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; None where a price or a call's tokens are not known."""
    uncounted: int
    """Calls whose tokens the server did not say; they are in no count of tokens."""
    unpriced: tuple[str, ...]
    """Models whose cost is not known."""
    planned_calls: int | None
    """None where nothing was planned."""
    planned_tokens: int | None
    calls_of_plan: float | None
    """Calls, as a share of those planned: 1.1 is a tenth more. None without a plan."""
    tokens_of_plan: float | None
    """The same of tokens; None where some are uncounted too."""
    models: tuple[Spend, ...]

    def __str__(self) -> str:
        """In one line: `41 calls, 12,300 tokens, $0.0042; 100% and 108% of what was planned`."""
        return f"{self._taken()}, {self._dollars()}{self._planned()}"

    def _taken(self) -> str:
        said = f"{self.calls:,} calls, {self.prompt_tokens + self.completion_tokens:,} tokens"
        return f"{said} (those of {self.uncounted:,} calls are not known)" if self.uncounted else said

    def _dollars(self) -> str:
        return f"cost unknown ({', '.join(self.unpriced)})" if self.cost is None else f"${self.cost:,.4f}"

    def _planned(self) -> str:
        if self.calls_of_plan is None:
            return ""
        tokens = "" if self.tokens_of_plan is None else f" and {self.tokens_of_plan:.0%} of the tokens"
        return f"; {self.calls_of_plan:.0%} of the calls{tokens} that were planned"


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A run to choose from."""

    run_id: str
    name: str
    dataset_key: str
    imported: datetime
    evaluations: int
    """How many evaluations of our own there are."""

    @property
    def evaluated(self) -> bool:
        """Whether there is an evaluation of our own."""
        return self.evaluations > 0


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One line of the leaderboard."""

    run_id: str
    name: str
    config: Mapping[str, JsonValue]
    dataset: str
    dataset_key: str
    source: str
    tags: tuple[str, ...]
    samples: int
    imported: datetime
    judged: JudgedBy | None
    """The evaluation whose statements are shown; None where the run was never evaluated."""
    metrics: Mapping[str, MetricSummary]
    file_scores: Mapping[str, MetricSummary]
    """What the run file brought as another tool's scores (`ragas-file.faithfulness`); nobody here counted them."""
    labels: Mapping[Label, int]
    """Statements of the answers by verdict on the passages together."""
    origins: Mapping[Origin, int]
    """Statements of the answers by class of the six-way partition, where all three tables were judged."""
    refusals: int | None
    """Answers that decline, wholly or in part; None where that was never asked."""
    spending: Spending | None = None
    """None where no model was asked."""
    notes: str = ""
    """What a person wrote about it."""
    clustered: str = ""
    """What its samples are of, `12 conversations`: intervals are clustered by it; empty where samples are
    independent."""

    def judged_elsewhere(self, metric: str) -> str:
        """Who judged a metric that is from another evaluation than the statements; empty where it is from the same."""
        summary = self.metrics.get(metric)
        judged = summary.judged if summary else None
        if judged is None or (self.judged and judged.evaluation_id == self.judged.evaluation_id):
            return ""
        return ", ".join(filter(None, (f"judge {judged.in_words}", judged.part)))


@dataclass(frozen=True, kw_only=True)
class ListedEvaluation:
    """An evaluation of a run to choose from."""

    judged: JudgedBy
    metrics: tuple[str, ...]

    def __str__(self) -> str:
        """`gpt-4o-mini, 20 of 60 samples evaluated, 3 metrics, 2026-11-20 14:03 UTC`."""
        count = f"{len(self.metrics)} metric{'' if len(self.metrics) == 1 else 's'}"
        when = f"{self.judged.finished:%Y-%m-%d %H:%M} UTC"
        return ", ".join(filter(None, (self.judged.in_words, self.judged.part, count, when)))


@dataclass(frozen=True, kw_only=True)
class SampleRow:
    """One line of a run's sample table."""

    position: int
    sample_id: str
    question: str
    scores: Mapping[str, Outcome]
    file_scores: Mapping[str, Outcome]
    """Another tool's scores, from the run file."""
    labels: Mapping[Label, int]
    refuses: bool


@dataclass(frozen=True, kw_only=True)
class SampleQuery:
    """Which samples of a run, in which order."""

    column: str = ""
    """The metric, or metadata column behind `metadata.`, that `order`, `between` and `only` speak of."""
    order: Order = "file"
    """worst: most statements that are not supported first."""
    only: Only = "all"
    """loose: with a statement that is not supported."""
    between: tuple[float, float] | None = None
    search: str = ""
    """Words that all stand in the question or the answer."""
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class SamplePage:
    """Samples that a query found, and how many there are in all."""

    rows: tuple[SampleRow, ...]
    total: int


@dataclass(frozen=True, kw_only=True)
class LooseStatement:
    """A statement that the passages do not support, and where it stands."""

    run: str
    sample_id: str
    question: str
    number: int
    """Its place among the answer's statements, from 1."""
    text: str
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class GeneratedQuestion:
    """A question that the answer would answer, and its cosine to the one asked."""

    question: str
    similarity: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """One thing that a judge said of a sample, beside verdicts on statements."""

    about: str
    """What was asked: `useful toward reference`, or the question of an aspect."""
    number: int
    """Which passage, draw or name, from 1."""
    of: int
    """How many there are."""
    says: str
    value: float | None
    """The number it says, or the probability of what it says; None where there is none."""
    reason: str

    def __str__(self) -> str:
        """`useful toward reference 2: yes`, `answer relevance (ARES): yes (0.83)`: what is alone has no number."""
        which = f" {self.number}" if self.of > 1 else ""
        value = "" if self.value is None else f" ({self.value:.2f})"
        return f"{self.about}{which}: {self.says}{value}"


@dataclass(frozen=True, kw_only=True)
class SampleReport:
    """All that is known of one sample in one evaluation."""

    run: RunRef
    judged: JudgedBy | None
    config: Mapping[str, JsonValue]
    """Of the run."""
    position: int
    sample: Sample
    scores: Mapping[str, Outcome]
    file_scores: Mapping[str, Outcome]
    """Another tool's scores, from the run file."""
    statements: tuple[JudgedStatement, ...]
    recounted: Mapping[str, Outcome]
    """The metrics that follow from people's verdicts, counted with them; empty where none was overruled."""
    refuses: bool | None
    questions: tuple[GeneratedQuestion, ...]
    chosen_sentences: tuple[Sentence, ...]
    """Sentences of the passages that help to answer the question, by place."""
    sentences: int
    """Sentences in all passages; 0 where that was never asked."""
    judgements: tuple[Judgement, ...]
    """What judges said beside verdicts on statements: useful passages, aspects, ratings, draws, entities."""
    previous: str | None
    """Sample ids before and after this one in the run."""
    following: str | None
