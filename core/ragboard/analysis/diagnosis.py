"""What the numbers of a run suggest: rules over quantities with intervals, and where the loss is.

The quantities and rules are in `diagnosis.toml`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from shlex import quote
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.distributions import columns
from ragboard.analysis.hallucinations import hallucination_groups, hallucinations
from ragboard.analysis.overruled import overruled
from ragboard.analysis.runs import run_summary
from ragboard.metrics import METRICS
from ragboard.records import Label
from ragboard.stats import (
    GroupDifference,
    Interval,
    NoInterval,
    ci_text,
    group_difference,
    holm,
    mean_interval,
    moments,
)
from ragboard.stats.intervals import Floats
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters, sample_clusters
from ragboard.store.queries.evaluations import JudgedBy, evaluated_metrics
from ragboard.store.queries.quantities import sample_values
from ragboard.store.queries.query import Connection
from ragboard.store.queries.samples import SampleQuery, reference_count
from ragboard.store.queries.statements import HallucinationQuery
from ragboard.store.queries.statements import wrong_passages as most_wrong
from ragboard.store.queries.values import category_values

__all__ = [
    "FAITHFULNESS",
    "QUANTITIES",
    "RULES",
    "Breakdown",
    "Diagnosis",
    "Figure",
    "Finding",
    "Look",
    "Measured",
    "PassageLoss",
    "Quantity",
    "QuestionLoss",
    "Rule",
    "Silent",
    "TopicLoss",
    "TopicsLookedAt",
    "apply_rules",
    "caution_of",
    "command_for",
    "condition_of",
    "diagnose",
    "measure",
    "sentence_of",
    "source_of",
    "topic_in_words",
    "topic_losses",
    "why_silent",
]

LISTED = 5
"""How many questions and passages are listed."""
FEWEST_IN_GROUP = 5
"""A topic needs this many scored samples, and as many outside it."""
SIGNIFICANT = 0.05
SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
FOUND = 0.5
"""The passages count as holding the answer if they support at least this share of the reference's claims."""

RECALL, UTILIZATION = "ragchecker.claim_recall", "ragchecker.context_utilization"
FAITHFULNESS = "ragas.faithfulness"
LOSS_METRICS = ("ragchecker.f1", RECALL, FAITHFULNESS)
"""Metrics, all higher for the better, by which topics are compared with the other samples."""
COUNTED_WITH = {
    "refuses": FAITHFULNESS,
    "statements": FAITHFULNESS,
    "contradicted": FAITHFULNESS,
    "late evidence": FAITHFULNESS,
    "early less late use": "ragchecker.noise_sensitivity_in_relevant",
}
"""What is counted of samples besides metrics, and the metric whose evaluation counts it."""

Columns = Mapping[str, Floats]
"""By name, a value for each sample of the run; NaN stands for none."""


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """A column for each value of a metadata column."""

    column: str
    by: str


Look: TypeAlias = SampleQuery | HallucinationQuery | Breakdown
"""Where the evidence is: samples of the run, statements, or a column broken down."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A value for each sample, whose mean is compared with the limit of a rule."""

    label: str
    """How pages call it."""
    text: str
    """What it is, of one sample."""
    takes: tuple[str, ...]
    """The metrics, and names of `COUNTED_WITH`, that it is computed from."""
    of: Callable[..., Floats]
    bounds: tuple[float, float]
    apart: bool
    """Whether `of` gives two rows, of two groups of samples, and the difference of their means is compared."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A condition on one quantity, and what it suggests where it applies."""

    id: str
    part: Literal["retriever", "generator", "answers"]
    """What it is about."""
    quantity: str
    """The key of a quantity in `QUANTITIES`."""
    side: Literal["above", "below"]
    limit: float
    """The whole interval must be on that side of it."""
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


Measured = Mapping[str, Interval | NoInterval | NotEvaluated]
"""By the key of a quantity."""


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
    """A rule that applies."""

    rule: Rule
    sentence: str
    figure: Figure
    look: Look


@dataclass(frozen=True, kw_only=True)
class Silent:
    """A rule that does not apply, and why."""

    rule: Rule
    state: Literal["the interval holds the limit", "within the limit", "no interval", "not evaluated"]
    figure: Figure | None
    """None if a metric that it needs was not evaluated."""
    missing: tuple[str, ...]
    """Those metrics."""


@dataclass(frozen=True, kw_only=True)
class QuestionLoss:
    """A question, and how many of its answer's statements are not supported."""

    question: str
    statements: int
    contradicted: int
    look: HallucinationQuery


@dataclass(frozen=True, kw_only=True)
class PassageLoss:
    """A passage that supports wrong statements, or contradicts what answers say."""

    passage_id: str
    text: str
    """Its beginning."""
    wrong: int = 0
    """Statements that it supports and the reference does not; 0 if that was not judged."""
    contradicted: int = 0
    """Statements that it contradicts."""
    sample_id: str = ""
    """A sample with such a statement; empty if `look` lists them."""
    look: HallucinationQuery | None = None


@dataclass(frozen=True, kw_only=True)
class TopicLoss:
    """The samples that share a value of a metadata column, and by how much they are worse than the others."""

    by: str
    """The metadata column, with the prefix `metadata.`."""
    value: str
    metric: str
    found: GroupDifference
    p: float
    """Adjusted for all groups compared (Holm 1979)."""
    look: Breakdown


@dataclass(frozen=True, kw_only=True)
class TopicsLookedAt:
    """How many groups were compared with the rest."""

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
    """Why retriever and generator cannot be told apart here; empty if they can."""
    findings: tuple[Finding, ...]
    """The rules that apply, in the order of `RULES`."""
    silent: tuple[Silent, ...]
    missing: tuple[str, ...]
    """Metrics that silent rules need and that can be evaluated here."""
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
        """The share of the unsupported statements in the answers to those questions; None if there are none."""
        return sum(one.statements for one in self.questions) / self.loose if self.loose else None


def _long_and_short(faithfulness: Floats, statements: Floats) -> Floats:
    """The values of answers with more statements than the median, and those of the others."""
    known = ~np.isnan(faithfulness + statements)
    median = np.median(statements[known]) if known.any() else 0.0
    groups = statements > median, statements <= median
    return np.stack([np.where(known & group, faithfulness, np.nan) for group in groups])


VALUES: Mapping[str, Callable[..., Floats]] = {
    # lost in retrieval: not recalled; lost in generation: recalled and not used, so nothing where nothing is recalled
    "retrieval less generation": lambda recall, used: (1 - recall) - np.where(recall == 0, 0.0, recall * (1 - used)),
    "noise": np.add,
    "irrelevant less relevant noise": np.subtract,
    "hallucination less self-knowledge": np.subtract,
    "refusals though found": lambda refuses, recall: np.where(recall >= FOUND, refuses, np.nan),
    "answers without passages": lambda refuses, recall: np.where(recall == 0, 1 - refuses, np.nan),
    "long less short": _long_and_short,
}
"""How the value of a quantity is computed from the columns it takes; otherwise it is the one column."""


def _same(values: Floats) -> Floats:
    return values


def _read() -> tuple[dict[str, Quantity], tuple[Rule, ...]]:
    """The quantities and rules of `diagnosis.toml`."""
    text = files("ragboard.analysis").joinpath("diagnosis.toml").read_text("utf-8")
    quantities: dict[str, Quantity] = {}
    rules: list[Rule] = []
    for key, given in tomllib.loads(text).items():
        quantities[key] = Quantity(
            label=given["label"],
            text=given["text"],
            takes=tuple(given["takes"]),
            of=VALUES.get(key, _same),
            bounds=DIFFERENCE if given.get("difference") else SHARE,
            apart=given.get("groups", False),
        )
        for rule in given["rules"]:
            words: dict[str, Any] = {name: rule[name] for name in ("id", "part", "says", "advice", "why")}
            look = rule["look"]
            rules.append(
                Rule(
                    **words,
                    quantity=key,
                    side="above" if "above" in rule else "below",
                    limit=rule["above"] if "above" in rule else rule["below"],
                    look=SampleQuery(**look["samples"])
                    if "samples" in look
                    else HallucinationQuery(**look["statements"]),
                )
            )
    return quantities, tuple(rules)


_TABLE = _read()
QUANTITIES: Mapping[str, Quantity] = _TABLE[0]
"""What rules are about, by key."""
RULES: tuple[Rule, ...] = _TABLE[1]
"""The rules, in the order in which findings are listed."""

TAKEN = tuple(dict.fromkeys([*LOSS_METRICS, *(name for one in QUANTITIES.values() for name in one.takes)]))


def diagnose(store: Store, run: RunRef) -> Diagnosis:
    """What one evaluation of a run suggests.

    A rule applies only where the whole 95% CI of its quantity is beyond its limit, so with a mean at the limit it
    is wrong about once in 40; a topic is named only where its difference to the rest excludes 0 after Holm's
    correction for all groups compared. Raises NotFoundError if the run is gone.
    """
    summary = run_summary(store, run)
    categories = columns(store, run).categories
    with store.database.read() as connection:
        references = reference_count(connection, run.run_id)
        evaluated = _columns(connection, run, summary.samples, TAKEN)
        by_column = {by: np.array(category_values(connection, run.run_id, by), dtype=np.object_) for by in categories}
        clusters = sample_clusters(connection, run.run_id)
    topics, looked_at = topic_losses(evaluated, by_column, clusters)
    measured: dict[str, Interval | NoInterval | NotEvaluated] = {}
    for key, quantity in QUANTITIES.items():
        absent = dict.fromkeys(COUNTED_WITH.get(name, name) for name in quantity.takes if name not in evaluated)
        measured[key] = NotEvaluated(metrics=tuple(absent)) if absent else measure(quantity, evaluated, clusters)
    findings, silent = apply_rules(measured, run)
    missing = dict.fromkeys(name for one in silent for name in one.missing)
    labels: Mapping[Label, int] = {}
    if summary.judged:
        labels = hallucinations(store, HallucinationQuery(runs=(run,), limit=0)).labels
    return Diagnosis(
        run=summary.name,
        judged=summary.judged,
        overruled=overruled(store, summary).overruled,
        samples=summary.samples,
        references=references,
        split=_split(references, evaluated),
        findings=findings,
        silent=silent,
        missing=tuple(name for name in missing if references or "reference" not in METRICS[name].requires),
        loose=sum(count for label, count in labels.items() if label != "supported"),
        questions=_question_losses(store, run) if labels else (),
        passages=_passage_losses(store, run) if labels else (),
        topics=topics,
        looked_at=looked_at,
    )


def _columns(connection: Connection, run: RunRef, samples: int, names: Iterable[str]) -> Columns:
    """The columns of these names that were evaluated, even if without any value."""
    evaluated = {metric for _, metric in evaluated_metrics(connection, run.evaluations)}
    found: dict[str, Floats] = {}
    for name in names:
        metric = COUNTED_WITH.get(name, name)
        values = sample_values(connection, run, run.evaluation_of(metric), name, samples)
        if metric in evaluated or not np.isnan(values).all():
            found[name] = values
    return found


def _split(references: int, evaluated: Columns) -> str:
    if not references:
        return (
            "The samples have no reference answers, so the losses of retriever and generator cannot be told apart;"
            " faithfulness, context relevance and refusals are only hints."
        )
    missing = [name for name in (RECALL, UTILIZATION) if name not in evaluated]
    return f"To tell retriever from generator, evaluate {' and '.join(missing)}." if missing else ""


def measure(quantity: Quantity, columns: Columns, clusters: SampleClusters | None = None) -> Interval | NoInterval:
    """The mean over the samples that have a value, or the difference of two groups, with its 95% CI.

    `clusters` says which samples depend on each other.
    """
    values = quantity.of(*(columns[name] for name in quantity.takes))
    rows = values if quantity.apart else [values]
    known = [row[~np.isnan(row)] for row in rows]
    groups = [clusters.of[~np.isnan(row)].tolist() if clusters else None for row in rows]
    if quantity.apart:
        first, second = known
        if not first.size or not second.size:
            return NoInterval(reason="there are no two groups of samples to compare", n=first.size + second.size)
        return group_difference(first, second, bounds=SHARE, clusters=groups[0], other_clusters=groups[1]).interval
    if not known[0].size:
        return NoInterval(reason="no sample has a value", n=0)
    return mean_interval(moments(known[0], groups[0]), bounds=quantity.bounds)


def apply_rules(
    measured: Measured, run: RunRef, rules: Sequence[Rule] = RULES
) -> tuple[tuple[Finding, ...], tuple[Silent, ...]]:
    """The rules that apply, and those that do not."""
    applied = [_apply(rule, measured[rule.quantity], run) for rule in rules]
    findings = tuple(one for one in applied if isinstance(one, Finding))
    return findings, tuple(one for one in applied if isinstance(one, Silent))


def _apply(rule: Rule, found: Interval | NoInterval | NotEvaluated, run: RunRef) -> Finding | Silent:
    if isinstance(found, NotEvaluated):
        return Silent(rule=rule, state="not evaluated", figure=None, missing=found.metrics)
    figure = Figure(quantity=rule.quantity, label=QUANTITIES[rule.quantity].label, interval=found)
    if isinstance(found, NoInterval):
        return Silent(rule=rule, state="no interval", figure=figure, missing=())
    if found.high < rule.limit if rule.side == "below" else found.low > rule.limit:
        look = replace(rule.look, runs=(run,)) if isinstance(rule.look, HallucinationQuery) else rule.look
        return Finding(rule=rule, sentence=sentence_of(rule, found), figure=figure, look=look)
    holds = found.low <= rule.limit <= found.high
    state: Literal["the interval holds the limit", "within the limit"] = (
        "the interval holds the limit" if holds else "within the limit"
    )
    return Silent(rule=rule, state=state, figure=figure, missing=())


def _question_losses(store: Store, run: RunRef) -> tuple[QuestionLoss, ...]:
    """The questions with most statements that the passages do not support."""
    query = HallucinationQuery(runs=(run,), limit=LISTED)
    return tuple(
        QuestionLoss(
            question=group.title,
            statements=group.statements,
            contradicted=group.contradicted,
            look=HallucinationQuery(runs=(run,), question=group.key),
        )
        for group in hallucination_groups(store, query, "question").groups
    )


def _passage_losses(store: Store, run: RunRef) -> tuple[PassageLoss, ...]:
    """The passages that support most wrong statements; if that was not judged, those that contradict most."""
    with store.database.read() as connection:
        wrong = most_wrong(connection, run, LISTED)
    if wrong:
        return tuple(
            PassageLoss(passage_id=one.passage_id, text=one.text, wrong=one.wrong, sample_id=one.sample_id)
            for one in wrong
        )
    query = HallucinationQuery(runs=(run,), verdict="contradicted", limit=LISTED)
    return tuple(
        PassageLoss(
            passage_id=group.passage_id,
            text=group.title,
            contradicted=group.contradicted,
            look=HallucinationQuery(runs=(run,), verdict="contradicted", passage=group.key),
        )
        for group in hallucination_groups(store, query, "passage").groups
        if group.contradicted
    )


def topic_losses(
    scores: Columns, by_column: Mapping[str, NDArray[np.object_]], clusters: SampleClusters | None = None
) -> tuple[tuple[TopicLoss, ...], TopicsLookedAt]:
    """The groups whose mean is below that of the rest, adjusted for all groups compared; the worst first."""
    compared = [
        (by, value, spec, found)
        for spec in LOSS_METRICS
        if spec in scores
        for by, values in by_column.items()
        for value, found in _group_differences(scores[spec], values, clusters)
    ]
    adjusted = holm([found.p for *_, found in compared])
    worse = (
        TopicLoss(by=by, value=value, metric=spec, found=found, p=p, look=Breakdown(column=spec, by=by))
        for (by, value, spec, found), p in zip(compared, adjusted, strict=True)
        if p < SIGNIFICANT and isinstance(found.interval, Interval) and found.interval.high < 0
    )
    return tuple(sorted(worse, key=lambda one: one.found.difference)), TopicsLookedAt(
        groups=len(compared),
        metrics=tuple(dict.fromkeys(spec for _, _, spec, _ in compared)),
        columns=tuple(dict.fromkeys(by for by, _, _, _ in compared)),
    )


def _group_differences(
    scores: NDArray[np.float64], values: NDArray[np.object_], clusters: SampleClusters | None
) -> Iterator[tuple[str, GroupDifference]]:
    """Each value's samples against all others that have a value, if there are enough of both."""
    known = ~np.isnan(scores) & np.array([value is not None for value in values], dtype=np.bool_)
    for name in sorted(set(values[known])):
        inside, outside = known & (values == name), known & (values != name)
        if min(inside.sum(), outside.sum()) >= FEWEST_IN_GROUP:
            ours, others = (clusters.of[side].tolist() if clusters else None for side in (inside, outside))
            yield (
                name,
                group_difference(scores[inside], scores[outside], bounds=SHARE, clusters=ours, other_clusters=others),
            )


def condition_of(rule: Rule) -> str:
    """`Claim recall below 0.7`."""
    return f"{QUANTITIES[rule.quantity].label} {rule.side} {rule.limit:g}"


def sentence_of(rule: Rule, found: Interval) -> str:
    """What a rule says, with the estimate and its interval; of a difference below 0 its size."""
    if rule.limit <= 0 and rule.side == "below":
        found = replace(found, estimate=-found.estimate, low=-found.high, high=-found.low)
    return rule.says.format(f"{found.estimate:.0%} ({ci_text(found, '.0%')})")


def source_of(rule: Rule, takes: tuple[str, ...]) -> str:
    """Where the quantity and the limit of a rule come from."""
    papers = {
        "ragchecker.": "Ru et al. 2024 (RAGChecker), section 3",
        "ragas.": "Es et al. 2023 (RAGAS), section 3",
    }
    cited = [paper for prefix, paper in papers.items() if any(name.startswith(prefix) for name in takes)]
    return f"{'; '.join(cited) or 'our own count'}; the limit is our rule of thumb: {rule.why}"


def why_silent(silent: Silent) -> str:
    """Why a rule does not apply."""
    if silent.state == "not evaluated":
        return f"not evaluated: {', '.join(silent.missing)}"
    interval = silent.figure.interval if silent.figure else None
    return f"no CI: {interval.reason}" if isinstance(interval, NoInterval) else silent.state


def command_for(found: Diagnosis) -> str:
    """The command that evaluates what silent rules need; empty if there is nothing to evaluate.

    Several metrics of one source are named by the source: they take the same verdicts.
    """
    sources = Counter(spec.partition(".")[0] for spec in found.missing)
    names = dict.fromkeys(source if sources[source := spec.partition(".")[0]] > 1 else spec for spec in found.missing)
    return f"ragboard evaluate {quote(found.run)} --metrics {','.join(names)}" if names else ""


def caution_of(found: Diagnosis) -> str:
    """What its sentences depend on; empty if there is nothing to beware of."""
    notes: list[str] = []
    if found.judged and found.judged.heuristic:
        notes.append(f"Judged by {found.judged.judge}, a rule-based judge: these sentences are only as good as it is.")
    if found.overruled:
        notes.append(f"Counted with the judge's verdicts; people overruled {found.overruled:,} of them.")
    return " ".join(notes)


def topic_in_words(one: TopicLoss, label: str) -> str:
    """`topic = rivers: Faithfulness 0.41, others 0.72, difference -0.31, 95% CI -0.52 to -0.10, p = 0.012 (Holm)`."""
    found = one.found
    return (
        f"{one.by.removeprefix('metadata.')} = {one.value}: {label} {found.mean:.2f}, others {found.mean_others:.2f},"
        f" difference {found.difference:+.2f}, {ci_text(found.interval, '+.2f')}, p = {one.p:.2g} (Holm),"
        f" {found.n:,} of {found.n + found.others:,} samples"
    )
