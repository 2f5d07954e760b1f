"""What a diagnosis says: quantities measured over the samples of a run, and the table of rules over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.stats import GroupDifference, Interval, NoInterval, ci_text, group_difference, mean_interval, moments
from ragboard.stats.intervals import Floats
from ragboard.store import RunRef
from ragboard.store.queries.clusters import SampleClusters
from ragboard.store.queries.evaluations import JudgedBy, evaluated_metrics
from ragboard.store.queries.quantities import sample_values
from ragboard.store.queries.query import Connection
from ragboard.store.queries.samples import SampleQuery
from ragboard.store.queries.statements import HallucinationQuery

__all__ = [
    "QUANTITIES",
    "RULES",
    "Breakdown",
    "Columns",
    "Diagnosis",
    "Figure",
    "Finding",
    "Look",
    "NotEvaluated",
    "PassageLoss",
    "Quantity",
    "QuestionLoss",
    "Rule",
    "Silence",
    "Silent",
    "TopicLoss",
    "TopicsLookedAt",
    "measure",
    "metric_for",
    "read_columns",
    "source_of",
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
        """`Claim recall 0.36, 95% CI 0.24 to 0.48, n = 52, Student's t`, or why there is no interval."""
        found = self.interval
        if isinstance(found, NoInterval):
            return f"{self.label}: no interval, {found.reason}"
        return f"{self.label} {found.estimate:.2f}, {ci_text(found, '.2f')}, n = {found.n:,}, {found.method}"


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


Columns = Mapping[str, Floats]
"""By name, a value for each sample of the run; NaN stands for none and never leaves here."""

SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
FOUND = 0.5
"""The passages are taken to hold the answer where they hold at least this share of the reference's claims."""

RECALL, UTILIZATION = "ragchecker.claim_recall", "ragchecker.context_utilization"
NOISE = ("ragchecker.noise_sensitivity_in_relevant", "ragchecker.noise_sensitivity_in_irrelevant")
MADE_UP, KNOWN = "ragchecker.hallucination", "ragchecker.self_knowledge"
FAITHFULNESS = "ragas.faithfulness"

COUNTED_WITH = {
    "refuses": FAITHFULNESS,
    "statements": FAITHFULNESS,
    "contradicted": FAITHFULNESS,
    "late evidence": FAITHFULNESS,
    "early less late use": NOISE[0],
}
"""What is counted of samples beside metrics, and a metric whose evaluation finds it out."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A value for each sample, of which the mean is looked at."""

    label: str
    """How pages call it."""
    text: str
    """What it is, of one sample."""
    takes: tuple[str, ...]
    """Metrics, and what `COUNTED_WITH` names, that it is counted from."""
    of: Callable[..., Floats]
    bounds: tuple[float, float] = SHARE
    apart: bool = False
    """Whether `of` gives two rows, of two groups of samples, and the difference of their means is looked at."""


def metric_for(name: str) -> str:
    """What to evaluate for a column: the metric itself, or one for which it is found out."""
    return COUNTED_WITH.get(name, name)


def read_columns(connection: Connection, run: RunRef, samples: int, names: Iterable[str]) -> Columns:
    """The columns of these names that were evaluated, be it without any value."""
    evaluated = {metric for _, metric in evaluated_metrics(connection, run.evaluations)}
    found = {name: sample_values(connection, run, run.evaluation_of(metric_for(name)), name, samples) for name in names}
    return {
        name: values for name, values in found.items() if metric_for(name) in evaluated or not np.isnan(values).all()
    }


def measure(quantity: Quantity, columns: Columns, clusters: SampleClusters | None = None) -> Interval | NoInterval:
    """The mean over the samples that have a value, or the difference of two groups, with its 95% CI.

    `clusters` says which samples depend on each other.
    """
    values = quantity.of(*(columns[name] for name in quantity.takes))
    rows = values if quantity.apart else [values]
    known = [row[~np.isnan(row)] for row in rows]
    together = [clusters.of[~np.isnan(row)].tolist() if clusters else None for row in rows]
    if quantity.apart:
        first, second = known
        if not first.size or not second.size:
            return NoInterval(reason="there are no two groups of samples to compare", n=first.size + second.size)
        return group_difference(first, second, bounds=SHARE, clusters=together[0], other_clusters=together[1]).interval
    if not known[0].size:
        return NoInterval(reason="no sample has a value", n=0)
    return mean_interval(moments(known[0], together[0]), bounds=quantity.bounds)


def _same(values: Floats) -> Floats:
    return values


def _lost_in_generation(recall: Floats, utilization: Floats) -> Floats:
    """Of a reference's claims the share that is found and not said; nothing can be lost where nothing is found."""
    return np.where(recall == 0, 0.0, recall * (1 - utilization))


def _retrieval_less_generation(recall: Floats, utilization: Floats) -> Floats:
    return (1 - recall) - _lost_in_generation(recall, utilization)


def _where(values: Floats, condition: NDArray[np.bool_]) -> Floats:
    return np.where(condition, values, np.nan)


def _refused_though_found(refuses: Floats, recall: Floats) -> Floats:
    return _where(refuses, recall >= FOUND)


def _answered_without(refuses: Floats, recall: Floats) -> Floats:
    return _where(1 - refuses, recall == 0)


def _long_and_short(faithfulness: Floats, statements: Floats) -> Floats:
    """The values of answers with more statements than the median, and those of the others."""
    known = ~np.isnan(faithfulness + statements)
    middle = np.median(statements[known]) if known.any() else 0.0
    return np.stack([_where(faithfulness, known & long) for long in (statements > middle, statements <= middle)])


QUANTITIES: dict[str, Quantity] = {
    "claim recall": Quantity(
        label="Claim recall",
        text="share of the reference's claims that some passage supports",
        takes=(RECALL,),
        of=_same,
    ),
    "context precision": Quantity(
        label="Context precision",
        text="share of the passages that support some claim of the reference",
        takes=("ragchecker.context_precision",),
        of=_same,
    ),
    "retrieval less generation": Quantity(
        label="Lost in retrieval less lost in generation",
        text="share of the reference's claims that no passage supports, less the share that some passage supports "
        "and the answer does not say",
        takes=(RECALL, UTILIZATION),
        of=_retrieval_less_generation,
        bounds=DIFFERENCE,
    ),
    "context utilization": Quantity(
        label="Context utilization",
        text="of the reference's claims that some passage supports, the share that the answer says",
        takes=(UTILIZATION,),
        of=_same,
    ),
    "noise": Quantity(
        label="Noise sensitivity, both kinds",
        text="share of the answer's claims that are wrong and that some passage supports",
        takes=NOISE,
        of=np.add,
    ),
    "irrelevant less relevant noise": Quantity(
        label="Noise from irrelevant less from relevant passages",
        text="share of the answer's claims that are wrong and that only irrelevant passages support, less the share "
        "that relevant ones support",
        takes=(NOISE[1], NOISE[0]),
        of=np.subtract,
        bounds=DIFFERENCE,
    ),
    "hallucination": Quantity(
        label="Hallucination",
        text="share of the answer's claims that neither the reference nor a passage supports",
        takes=(MADE_UP,),
        of=_same,
    ),
    "hallucination less self-knowledge": Quantity(
        label="Hallucination less self-knowledge",
        text="of the answer's claims that no passage supports: the wrong ones less the right ones, as shares of all",
        takes=(MADE_UP, KNOWN),
        of=np.subtract,
        bounds=DIFFERENCE,
    ),
    "faithfulness": Quantity(
        label="Faithfulness",
        text="share of the answer's statements that the passages support together",
        takes=(FAITHFULNESS,),
        of=_same,
    ),
    "contradicted": Quantity(
        label="Contradicted statements",
        text="share of the answer's statements that the passages contradict",
        takes=("contradicted",),
        of=_same,
    ),
    "context relevance": Quantity(
        label="Context relevance",
        text="share of the passages' sentences that help to answer",
        takes=("ragas.context_relevance",),
        of=_same,
    ),
    "refusals": Quantity(
        label="Refusals", text="1 where the answer declines to answer, at least in part", takes=("refuses",), of=_same
    ),
    "refusals though found": Quantity(
        label="Refusals though the passages hold the answer",
        text="the same, of samples whose passages hold at least half of the reference's claims",
        takes=("refuses", RECALL),
        of=_refused_though_found,
    ),
    "answers without passages": Quantity(
        label="Answers though nothing was found",
        text="1 where the answer does not decline, of samples whose passages hold no claim of the reference",
        takes=("refuses", RECALL),
        of=_answered_without,
    ),
    "long less short": Quantity(
        label="Faithfulness of long answers less that of short ones",
        text="answers with more statements than the median against the others",
        takes=(FAITHFULNESS, "statements"),
        of=_long_and_short,
        bounds=DIFFERENCE,
        apart=True,
    ),
    "late evidence": Quantity(
        label="Evidence in the later half of the passages",
        text="share of the supported statements whose first evidence stands in the later half of the passages",
        takes=("late evidence",),
        of=_same,
    ),
    "early less late use": Quantity(
        label="Use of early less of late relevant passages",
        text="share of the relevant passages in the earlier half that the answer says something from, less the same "
        "share in the later half",
        takes=("early less late use",),
        of=_same,
        bounds=DIFFERENCE,
    ),
}
"""By key; every one is measured over the samples that have a value."""


_SMALL = "a smaller difference is seldom worth a change of configuration"

RULES: tuple[Rule, ...] = (
    Rule(
        id="lost-in-retrieval",
        part="retriever",
        quantity="retrieval less generation",
        side="above",
        limit=0.1,
        says="More is lost in retrieval than in generation: by {} of a reference's claims.",
        advice="Work on the retriever first: what no passage says, no prompt brings back.",
        why=_SMALL,
        look=SampleQuery(column=RECALL, order="lowest"),
    ),
    Rule(
        id="lost-in-generation",
        part="generator",
        quantity="retrieval less generation",
        side="below",
        limit=-0.1,
        says="More is lost in generation than in retrieval: by {} of a reference's claims.",
        advice="Work on the generator first: the passages say it and the answers do not.",
        why=_SMALL,
        look=SampleQuery(column=UTILIZATION, order="lowest"),
    ),
    Rule(
        id="retriever-misses",
        part="retriever",
        quantity="claim recall",
        side="below",
        limit=0.7,
        says="The passages hold only {} of what the references say.",
        advice="Retrieve more passages, cut them larger or with overlap, try another embedding or a hybrid search.",
        why="an answer from the passages alone cannot be more complete than this",
        look=SampleQuery(column=RECALL, order="lowest"),
    ),
    Rule(
        id="passages-beside-the-point",
        part="retriever",
        quantity="context precision",
        side="below",
        limit=0.2,
        says="Only {} of the passages say anything that a reference says.",
        advice="Rerank, filter by score, or retrieve fewer passages; look at claim recall while you do.",
        why="one passage in five; with a single relevant passage each, that is what five passages come to",
        look=SampleQuery(column="ragchecker.context_precision", order="lowest"),
    ),
    Rule(
        id="context-off-question",
        part="retriever",
        quantity="context relevance",
        side="below",
        limit=0.1,
        says="Only {} of the passages' sentences help to answer.",
        advice="Cut passages smaller, rerank, or retrieve fewer; this needs no reference, so it is a hint only.",
        why="nine sentences in ten are then read for nothing",
        look=SampleQuery(column="ragas.context_relevance", order="lowest"),
    ),
    Rule(
        id="passages-unused",
        part="generator",
        quantity="context utilization",
        side="below",
        limit=0.7,
        says="The answers say only {} of what the passages hold of the references.",
        advice="Ask for complete answers, try a stronger model, put the best passages first.",
        why="three claims in ten were found and not said",
        look=SampleQuery(column=UTILIZATION, order="lowest"),
    ),
    Rule(
        id="misled-by-passages",
        part="generator",
        quantity="noise",
        side="above",
        limit=0.1,
        says="{} of the answers' claims are wrong and come from the passages.",
        advice="Ask the model to check each passage against the question; give it fewer, better passages.",
        why="one claim in ten",
        look=SampleQuery(column=NOISE[0], order="highest"),
    ),
    Rule(
        id="misled-by-irrelevant",
        part="retriever",
        quantity="irrelevant less relevant noise",
        side="above",
        limit=0.05,
        says="Wrong claims come more from irrelevant passages than from relevant ones: by {} of all claims.",
        advice="Filter or rerank: passages that say nothing of the reference mislead the answers.",
        why=_SMALL,
        look=SampleQuery(column=NOISE[1], order="highest"),
    ),
    Rule(
        id="misled-by-relevant",
        part="generator",
        quantity="irrelevant less relevant noise",
        side="below",
        limit=-0.05,
        says="Wrong claims come more from relevant passages than from irrelevant ones: by {} of all claims.",
        advice="The right passages also say what was not asked: cut them smaller, ask for what the question asks only.",
        why=_SMALL,
        look=SampleQuery(column=NOISE[0], order="highest"),
    ),
    Rule(
        id="made-up",
        part="generator",
        quantity="hallucination",
        side="above",
        limit=0.1,
        says="{} of the answers' claims are wrong and stand in no passage.",
        advice="Ask for answers from the passages alone and for a refusal where they are silent.",
        why="one claim in ten",
        look=SampleQuery(column=MADE_UP, order="highest"),
    ),
    Rule(
        id="own-knowledge-wrong",
        part="generator",
        quantity="hallucination less self-knowledge",
        side="above",
        limit=0.05,
        says="What the answers add beyond the passages is more often wrong than right: by {} of all claims.",
        advice="Hold the generator to the passages: its own knowledge does harm here.",
        why=_SMALL,
        look=SampleQuery(column=MADE_UP, order="highest"),
    ),
    Rule(
        id="own-knowledge-right",
        part="generator",
        quantity="hallucination less self-knowledge",
        side="below",
        limit=-0.05,
        says="What the answers add beyond the passages is more often right than wrong: by {} of all claims.",
        advice="The model knows what the retriever does not find; whether it may say so is yours to decide.",
        why=_SMALL,
        look=SampleQuery(column="ragchecker.self_knowledge", order="highest"),
    ),
    Rule(
        id="unfaithful",
        part="answers",
        quantity="faithfulness",
        side="below",
        limit=0.8,
        says="The passages support only {} of what an answer says.",
        advice="Read the unsupported statements first: either the passages lack it, or the generator adds it.",
        why="one statement in five has no ground",
        look=HallucinationQuery(),
    ),
    Rule(
        id="contradicts-passages",
        part="generator",
        quantity="contradicted",
        side="above",
        limit=0.05,
        says="The passages contradict {} of what an answer says.",
        advice="Look for numbers, dates and names that were copied wrongly, and for passages that disagree.",
        why="one statement in twenty; a contradiction is worse than a gap",
        look=HallucinationQuery(verdict="contradicted"),
    ),
    Rule(
        id="refuses-often",
        part="answers",
        quantity="refusals",
        side="above",
        limit=0.1,
        says="{} of the answers decline to answer.",
        advice="Read some: right where the passages are silent, wrong where they are not.",
        why="one answer in ten",
        look=SampleQuery(only="refusing"),
    ),
    Rule(
        id="refuses-though-found",
        part="generator",
        quantity="refusals though found",
        side="above",
        limit=0.1,
        says="{} of the answers decline though the passages hold at least half of the reference.",
        advice="Loosen the instruction to refuse, or try a stronger model.",
        why="one answer in ten",
        look=SampleQuery(column=RECALL, order="highest", only="refusing"),
    ),
    Rule(
        id="answers-without-passages",
        part="generator",
        quantity="answers without passages",
        side="above",
        limit=0.5,
        says="{} of the answers do not decline where the passages hold nothing of the reference.",
        advice="Ask for a refusal where the passages are silent, if answers are to come from them alone.",
        why="more often than not",
        look=SampleQuery(column=RECALL, order="lowest"),
    ),
    Rule(
        id="long-answers-drift",
        part="answers",
        quantity="long less short",
        side="below",
        limit=0.0,
        says="Long answers are less faithful than short ones: by {}.",
        advice="Ask for shorter answers; see whether the statements at the end are the unsupported ones.",
        why="any difference that is not chance",
        look=HallucinationQuery(),
    ),
    Rule(
        id="late-passages-unused",
        part="retriever",
        quantity="late evidence",
        side="below",
        limit=0.1,
        says="Only {} of the supported statements first find evidence in the later half of the passages.",
        advice="Fewer passages may do as well and cost less; check claim recall before you cut.",
        why="one statement in ten; without ranking it would be near a half",
        look=SampleQuery(order="file"),
    ),
    Rule(
        id="late-passages-overlooked",
        part="generator",
        quantity="early less late use",
        side="above",
        limit=0.1,
        says="Relevant passages late in the list are used less than early ones: by {}.",
        advice="Put the best passages first, or fewer of them: the model overlooks what comes late.",
        why=_SMALL,
        look=SampleQuery(order="file"),
    ),
)
"""In the order in which findings are told."""


def source_of(rule: Rule, takes: tuple[str, ...]) -> str:
    """Where the quantity and the limit of a rule come from."""
    papers = []
    if any(name.startswith("ragchecker.") for name in takes):
        papers.append("Ru et al. 2024 (RAGChecker), section 3")
    if any(name.startswith("ragas.") for name in takes):
        papers.append("Es et al. 2023 (RAGAS), section 3")
    return f"{'; '.join(papers) or 'our own count'}; the limit is our rule of thumb: {rule.why}"
