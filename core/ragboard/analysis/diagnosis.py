"""Diagnose a run: apply the rules in `diagnosis.toml`, and find the worst questions, passages and groups.

A rule compares a quantity, such as the mean claim recall, with a threshold.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from shlex import quote
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.distributions import columns as list_columns
from ragboard.analysis.hallucinations import hallucination_groups, hallucinations
from ragboard.analysis.overruled_verdicts import overruled_verdicts
from ragboard.analysis.refusals import ANSWERABLE, answered_unanswerable, stated_answerability
from ragboard.analysis.runs import list_runs, run_summary
from ragboard.analysis.same_passages import MoreFaithfulRun, more_faithful_run, runs_to_compare
from ragboard.metrics import METRICS
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
from ragboard.stats.checks import FloatArray
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters, sample_clusters
from ragboard.store.queries.evaluations import JudgedBy, evaluated_metrics, judged_by
from ragboard.store.queries.quantities import SUMMARIZED, quantity_moments, sample_values
from ragboard.store.queries.query import Connection
from ragboard.store.queries.references import reference_count
from ragboard.store.queries.runs import ListedRun
from ragboard.store.queries.samples import (
    SampleQuery,
    SampleText,
    passage_counts,
    position_end,
    question_count,
    sample_positions,
    sample_texts,
)
from ragboard.store.queries.scores import AnyMoments, Positions
from ragboard.store.queries.statements import HallucinationQuery, wrong_passages
from ragboard.store.queries.values import Categories, categories

__all__ = [
    "FAITHFULNESS",
    "QUANTITIES",
    "RULES",
    "Breakdown",
    "Diagnosis",
    "Figure",
    "Finding",
    "GroupComparisons",
    "Measured",
    "NotTriggered",
    "PassageIssue",
    "Quantity",
    "QuestionIssue",
    "ResultQuery",
    "Rule",
    "SmallGroup",
    "WeakGroup",
    "apply_rules",
    "cite_sources",
    "condition_in_words",
    "diagnose",
    "diagnosis_warning",
    "evaluate_command",
    "fill_template",
    "group_in_words",
    "groups_compared_in_words",
    "measure",
    "metric_names",
    "missing_in_words",
    "small_groups_in_words",
    "top_questions_in_words",
    "weak_groups",
    "where_to_start",
    "why_not_triggered",
]

MAX_LISTED = 5
"""Maximum number of listed questions, and of listed passages."""
MIN_GROUP_SIZE = 5
"""Minimum number of scored samples inside and outside a group to compare the two."""
MAX_LOW_GROUPS = 3
"""Maximum number of listed groups that are not significantly worse, and of listed small groups."""
ALPHA = 0.05
"""Significance level of the comparison of groups."""
SHARE_BOUNDS, DIFFERENCE_BOUNDS = (0.0, 1.0), (-1.0, 1.0)
RECALL_THRESHOLD = 0.5
"""Passages that support at least this share of the reference's claims are assumed to contain the answer."""

RECALL, UTILIZATION = "ragchecker.claim_recall", "ragchecker.context_utilization"
FAITHFULNESS = "ragas.faithfulness"
GROUP_METRICS = ("ragchecker.f1", RECALL, FAITHFULNESS)
"""Metrics on which groups are compared with the other samples; for all of them, higher is better."""
RETRIEVED_NOTHING = "retrieved nothing"
"""A column: 1 if no passage was retrieved, else 0. Unanswerable questions have no value."""
ANSWERS_UNANSWERABLE = "answers unanswerable"
"""A column: 1 if an unanswerable question was answered, else 0. Other questions have no value."""
MAY_BE_ANSWERABLE = "may be answerable"
"""A column: 0 for questions that labels or the run file call unanswerable, else 1."""
FROM_RUN_FILE = (RETRIEVED_NOTHING, ANSWERS_UNANSWERABLE, MAY_BE_ANSWERABLE)
"""Columns that `diagnose` computes itself; `_input_columns` reads the others."""
EVALUATED_WITH = {
    ANSWERS_UNANSWERABLE: FAITHFULNESS,
    "refuses": FAITHFULNESS,
    "statements": FAITHFULNESS,
    "contradicted": FAITHFULNESS,
    "late evidence": FAITHFULNESS,  # share of supported statements with evidence only in the second half of the list
    # share of the relevant passages that the answer uses, in the first half of the list minus in the second half
    "early minus late use": "ragchecker.noise_sensitivity_in_relevant",
}
"""Columns that are not metrics, each with the metric whose evaluation provides its values."""

LOSSES = ("lost-in-retrieval", "lost-in-generation")
"""Rules that say whether the retriever or the generator loses more of the references' claims."""
UNGROUNDED = ("unfaithful", "contradicts-passages")
"""Rules about statements that the passages do not support. Their findings come before all hints."""
Component: TypeAlias = Literal["retriever", "generator", "answers"]
ATTRIBUTED_ADVICE: Mapping[Component, str] = {
    "generator": (
        "Change the generator: its prompt (use only the passages, refuse if they do not help) or its model. Read the"
        " unsupported statements first."
    ),
    "retriever": (
        "Change the retriever: no prompt can bring back what was not retrieved. Until then, let the generator refuse if"
        " the passages do not help."
    ),
}
"""The advice of a finding whose `evidence` points to the component."""
COMPONENTS: Mapping[Component, str] = {
    "retriever": "the retriever",
    "generator": "the generator",
    "answers": "the answers",
}
"""Each component in words."""
UNVALIDATED = (
    "A hint only: the rule-based judge compared answers with reference answers, and its verdicts on references were"
    " not validated."
)
"""Why findings from a rule-based judge's comparison with references are only hints; see `docs/background/judges.md`."""
NO_VALUES = "no sample has a value"
"""Why there is no interval for a quantity without values."""
RARELY_CONTRADICTED = "no result: the rule-based judge rarely finds a statement contradicted, so 0 says little"
"""Why there is no result if the rule-based judge finds no contradiction."""

Partition: TypeAlias = tuple[bytes, bytes]
"""Masks as bytes: which samples are in a group, and which are in the other groups of its column."""
Columns = Mapping[str, FloatArray]
"""Arrays by name, with one value per sample of the run; NaN if a sample has no value."""


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """A metric grouped by a metadata column."""

    column: str
    """The name of the metric, whose scores are shown for each value of `by`."""
    by: str
    """The metadata column, with the prefix `metadata.`."""


ResultQuery: TypeAlias = SampleQuery | HallucinationQuery | Breakdown
"""Selects the affected samples or statements, or shows the affected group in a breakdown."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A value for each sample; rules compare its mean with a threshold."""

    label: str
    """Label shown on pages."""
    text: str
    """Describes the value."""
    inputs: tuple[str, ...]
    """The columns that the value is computed from: metrics, keys of `EVALUATED_WITH`, or `FROM_RUN_FILE`."""
    compute: Callable[..., FloatArray]
    """Computes the values from the input columns. If `compares_groups`, it returns two rows of values, one per
    group."""
    bounds: tuple[float, float]
    unit: str
    """What the value is a share of. If `compares_groups`, it describes the second group's values."""
    reference: bool
    """Whether the value depends on a comparison of the answer with the reference answer."""
    compares_groups: bool
    """Whether rules compare the difference of two groups' means with the threshold, instead of one mean."""
    counted: bool
    """Whether findings show the mean as a count: `4 of 5`."""
    observed: bool
    """Whether the value is a fact from the run file. Rules then compare the mean with the threshold, not its CI."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A condition on one quantity, and what to do if it is met."""

    id: str
    component: Component
    quantity: str
    """The key of a quantity in `QUANTITIES`."""
    side: Literal["above", "below"]
    threshold: float
    """The rule is triggered if the whole 95% CI is on the side `side` of the threshold."""
    template: str
    """The sentence of a finding. `{}` stands for the estimate with its interval, as percentages, or for a count."""
    advice: str
    rationale: str
    """Why the threshold has this value."""
    query: ResultQuery | None
    """Selects what is affected. If None, the finding lists samples."""
    harms_answers: bool = True
    """Whether answers are worse if the condition is met. Other rules show waste, or a decision to make."""


@dataclass(frozen=True, kw_only=True)
class NotEvaluated:
    """A quantity without values, and the metrics to evaluate for it."""

    metrics: tuple[str, ...]


Measured = Mapping[str, Interval | NoInterval | NotEvaluated]
"""The result for each quantity, by its key in `QUANTITIES`."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The measured value of a quantity."""

    quantity: str
    label: str
    interval: Interval | NoInterval

    def __str__(self) -> str:
        """For example `Claim recall 0.36, 95% CI 0.24 to 0.48, n = 52, Student's t`."""
        interval = self.interval
        if isinstance(interval, NoInterval):
            return f"{self.label}: no interval, {interval.reason}"
        return (
            f"{self.label} {interval.estimate:.2f}, {ci_text(interval, '.2f')}, n = {interval.n:,}, {interval.method}"
        )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A triggered rule."""

    rule: Rule
    component: Component
    """The component to change: that of the rule, or the one that `evidence` points to."""
    sentence: str
    figure: Figure
    query: ResultQuery | None
    samples: tuple[SampleText, ...] = ()
    """The first affected samples, if `query` is None."""
    evidence: str = ""
    """Why `component` is at fault, from another run or another rule; empty if there is no such evidence."""
    min_impact: float = 0.0
    """The minimum share of the quantity's `unit` that is affected, over all samples, in [0, 1]. 0 if the rule's
    condition does not make answers worse."""
    min_impact_basis: str = ""
    """How `min_impact` was computed; empty if it was not computed from a CI."""
    hint_reason: str = ""
    """Why the finding is only a hint or only suspected; empty for a main finding."""

    @property
    def advice(self) -> str:
        """What to change."""
        return ATTRIBUTED_ADVICE[self.component] if self.evidence else self.rule.advice

    @property
    def impact_text(self) -> str:
        """The minimum impact, and how it was computed; empty if it rounds to 0%.

        For example `at least 15% of an average answer's statements (from the end of the 95% CI nearest the
        threshold; counting 4 of 98 samples without a value as unaffected)`.
        """
        unit = QUANTITIES[self.rule.quantity].unit
        if self.min_impact < 0.005:
            return ""
        return f"at least {self.min_impact:.0%} of {unit} {self.min_impact_basis}".rstrip()


@dataclass(frozen=True, kw_only=True)
class NotTriggered:
    """A rule that was not triggered, and why."""

    rule: Rule
    state: Literal["inconclusive", "within threshold", "no interval", "not evaluated", "unreliable"]
    """`unreliable`: a rule-based judge found no contradiction, which says little."""
    figure: Figure | None
    """None if `missing` is not empty."""
    missing: tuple[str, ...]
    """The metrics that the rule needs but that were not evaluated."""


@dataclass(frozen=True, kw_only=True)
class QuestionIssue:
    """A question whose answers have unsupported statements."""

    question: str
    statements: int
    """Number of unsupported statements, including contradicted ones."""
    contradicted: int
    query: HallucinationQuery


@dataclass(frozen=True, kw_only=True)
class PassageIssue:
    """A passage that supports wrong statements, or that contradicts statements."""

    passage_id: str
    text: str
    """The beginning of its text."""
    wrong: int = 0
    """Number of statements that the passage supports but the reference does not; 0 if this was not judged."""
    contradicted: int = 0
    """Number of statements that the passage contradicts."""
    sample_id: str = ""
    """The id of a sample with such a statement; empty if there is a `query`."""
    query: HallucinationQuery | None = None


@dataclass(frozen=True, kw_only=True)
class WeakGroup:
    """Samples with one value of a metadata column that score lower than the others, significantly or not."""

    by: str
    """The metadata column, with the prefix `metadata.`."""
    value: str
    metric: str
    comparison: GroupDifference
    p: float
    """p value, adjusted for all groups compared (Holm 1979)."""
    query: Breakdown

    @property
    def tested(self) -> bool:
        """Whether the group and the other samples have enough independent samples for a p value."""
        return not self.comparison.p_method.startswith("not tested")


@dataclass(frozen=True, kw_only=True)
class SmallGroup:
    """Samples with one value of a metadata column that are too few to compare."""

    by: str
    """The metadata column, with the prefix `metadata.`."""
    value: str
    metric: str
    mean: float
    n: int
    """Number of scored samples."""


@dataclass(frozen=True, kw_only=True)
class GroupComparisons:
    """Which groups were compared, and groups that may be weak."""

    lowest: tuple[WeakGroup, ...]
    """Groups that are lower than the other samples, but not significantly; lowest first, at most `MAX_LOW_GROUPS`."""
    too_small: tuple[SmallGroup, ...]
    """Groups that are lower than the other samples, but have fewer than `MIN_GROUP_SIZE` scored samples; lowest first,
    at most `MAX_LOW_GROUPS`. Columns without any larger group are left out."""
    groups: int
    """Number of comparisons: one for each group and metric."""
    metrics: tuple[str, ...]
    """The metrics on which groups were compared."""
    columns: tuple[str, ...]
    """The metadata columns whose groups were compared, with the prefix `metadata.`."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What is probably wrong with a run, and where to start."""

    run: str
    judged: JudgedBy | None
    """The evaluation with the run's statements; None if the run was never evaluated."""
    overruled: int
    """Number of verdicts that annotators overruled. The diagnosis uses the judge's verdicts."""
    samples: int
    question_count: int
    """Number of different questions; smaller than `samples` if the run has several answers to a question."""
    references: int
    """Number of samples with a reference answer."""
    attribution_note: str
    """Which share of the references' claims the retriever and the generator lose, or why this is not known."""
    findings: tuple[Finding, ...]
    """The triggered rules, largest impact first; hints last."""
    suspected: tuple[Finding, ...]
    """Inconclusive rules whose estimate is beyond the threshold and whose minimum impact does not round to 0%, largest
    impact first."""
    not_triggered: tuple[NotTriggered, ...]
    missing: tuple[str, ...]
    """Metrics that rules need and that can be evaluated for this run."""
    unsupported: int
    """Number of statements in answers that the passages do not support."""
    statements: int
    """Number of statements in answers with a verdict."""
    questions: tuple[QuestionIssue, ...]
    """The questions with the most unsupported statements."""
    passages: tuple[PassageIssue, ...]
    weak_groups: tuple[WeakGroup, ...]
    """Groups that score significantly lower than the other samples, largest difference first."""
    comparisons: GroupComparisons

    @property
    def main_findings(self) -> tuple[Finding, ...]:
        """The findings that are not hints."""
        return tuple(finding for finding in self.findings if not finding.hint_reason)

    @property
    def hints(self) -> tuple[Finding, ...]:
        """The findings that are only hints; `hint_reason` says why."""
        return tuple(finding for finding in self.findings if finding.hint_reason)

    @property
    def leading(self) -> tuple[Finding, ...]:
        """The main findings, and suspected rules about unsupported statements, largest impact first."""
        ungrounded = (finding for finding in self.suspected if finding.rule.id in UNGROUNDED)
        return tuple(sorted((*self.main_findings, *ungrounded), key=lambda finding: -finding.min_impact))

    @property
    def ranked(self) -> tuple[Finding, ...]:
        """All findings in reading order: `leading`, then hints, then other suspected rules."""
        others = (finding for finding in self.suspected if finding.rule.id not in UNGROUNDED)
        return (*self.leading, *self.hints, *others)

    @property
    def first(self) -> Finding | None:
        """The finding to look at first; None if there is no finding."""
        return next(iter(self.ranked), None)

    @property
    def top_questions_share(self) -> float | None:
        """Share of all unsupported statements that are in answers to `questions`; None without such statements."""
        return sum(question.statements for question in self.questions) / self.unsupported if self.unsupported else None


def _short_and_long(faithfulness: FloatArray, statements: FloatArray) -> FloatArray:
    """Return two rows: faithfulness of answers up to the median number of statements, and of longer answers."""
    has_both = ~np.isnan(faithfulness + statements)
    median = np.median(statements[has_both]) if has_both.any() else 0.0
    groups = statements <= median, statements > median
    return np.stack([np.where(has_both & group, faithfulness, np.nan) for group in groups])


def _retrieval_minus_generation(recall: FloatArray, used: FloatArray) -> FloatArray:
    """Return the share lost in retrieval (1 - recall) minus the share lost in generation (recalled but not used)."""
    return (1 - recall) - np.where(recall == 0, 0.0, recall * (1 - used))


COMPUTATIONS: Mapping[str, Callable[..., FloatArray]] = {
    "retrieval minus generation": _retrieval_minus_generation,
    "generation minus retrieval": lambda recall, used: -_retrieval_minus_generation(recall, used),
    "noise": np.add,
    "irrelevant minus relevant noise": np.subtract,
    "relevant minus irrelevant noise": np.subtract,
    "hallucination minus self-knowledge": np.subtract,
    "self-knowledge minus hallucination": np.subtract,
    "refusals despite evidence": lambda refuses, recall, may_be_answerable: np.where(
        (recall >= RECALL_THRESHOLD) & (may_be_answerable > 0), refuses, np.nan
    ),
    "answers without passages": lambda refuses, recall: np.where(recall == 0, 1 - refuses, np.nan),
    "short minus long": _short_and_long,
}
"""The functions that compute quantities from their input columns. Any other quantity is equal to its only input."""


def _identity(values: FloatArray) -> FloatArray:
    return values


def _read_rules() -> tuple[dict[str, Quantity], tuple[Rule, ...]]:
    """Return the quantities and rules of `diagnosis.toml`."""
    text = files("ragboard.analysis").joinpath("diagnosis.toml").read_text("utf-8")
    quantities: dict[str, Quantity] = {}
    rules: list[Rule] = []
    for key, entry in tomllib.loads(text).items():
        quantities[key] = Quantity(
            label=entry["label"],
            text=entry["text"],
            inputs=tuple(entry["inputs"]),
            compute=COMPUTATIONS.get(key, _identity),
            bounds=DIFFERENCE_BOUNDS if entry.get("difference") else SHARE_BOUNDS,
            unit=entry["unit"],
            reference=entry.get("reference", False),
            compares_groups=entry.get("groups", False),
            counted=entry.get("counted", False),
            observed=entry.get("observed", False),
        )
        for rule in entry["rules"]:
            texts: dict[str, Any] = {
                name: rule[name] for name in ("id", "component", "template", "advice", "rationale")
            }
            query = rule.get("query", {})
            rules.append(
                Rule(
                    **texts,
                    quantity=key,
                    side="above" if "above" in rule else "below",
                    threshold=rule["above"] if "above" in rule else rule["below"],
                    harms_answers=rule.get("harms_answers", True),
                    query=SampleQuery(**query["samples"])
                    if "samples" in query
                    else HallucinationQuery(**query["statements"])
                    if query
                    else None,
                )
            )
    return quantities, tuple(rules)


_quantities, _rules = _read_rules()
QUANTITIES: Mapping[str, Quantity] = _quantities
"""The quantities of the rules, by key."""
RULES: tuple[Rule, ...] = _rules
"""The rules, in the order of `diagnosis.toml`."""

INPUT_COLUMNS = tuple(
    dict.fromkeys([*GROUP_METRICS, *(name for quantity in QUANTITIES.values() for name in quantity.inputs)])
)
"""The columns that a diagnosis reads."""
SCORE_COLUMNS = tuple(name for name in INPUT_COLUMNS if name in METRICS)
VERDICT_COLUMNS = tuple(name for name in INPUT_COLUMNS if name not in (*METRICS, *FROM_RUN_FILE))


@dataclass(frozen=True, kw_only=True)
class _Inputs:
    """What the quantities of a run are computed from."""

    columns: Columns
    moments: Mapping[str, AnyMoments | None]
    """The moments of columns of which only these are read; None for a column without values."""
    clusters: SampleClusters | None
    samples: int

    @property
    def names(self) -> frozenset[str]:
        return frozenset({*self.columns, *self.moments})

    def measure(self, quantity: Quantity) -> Interval | NoInterval:
        """Return the mean of a quantity, or the difference of two groups, with its 95% CI."""
        if quantity.inputs[0] in self.moments:
            found = self.moments[quantity.inputs[0]]
            return mean_interval(found, bounds=quantity.bounds) if found else NoInterval(reason=NO_VALUES, n=0)
        return measure(quantity, self.columns, self.clusters)

    def count(self, quantity: Quantity) -> int:
        """Return the number of samples with a value; of two groups, those of the second, which `unit` describes."""
        if quantity.inputs[0] in self.moments:
            found = self.moments[quantity.inputs[0]]
            return found.n if found else 0
        values = quantity.compute(*(self.columns[name] for name in quantity.inputs))
        return int((~np.isnan(values[1] if quantity.compares_groups else values)).sum())


def diagnose(store: Store, run: RunRef, others: Sequence[ListedRun] | None = None) -> Diagnosis:
    """Diagnose a run from its evaluations.

    `others` is the result of `runs_to_compare` for this run, if it is known.

    A rule is triggered if the whole 95% CI of its quantity is beyond its threshold. If the true mean is at the
    threshold, this happens in about 1 of 40 runs. A group is weak if it is significantly worse than the other samples,
    after Holm's correction for all groups compared. Raises NotFoundError if the run was deleted.
    """
    summary = run_summary(store, run)
    category_columns = list_columns(store, run).categories
    with store.database.read() as connection:
        references, asked = reference_count(connection, run.run_id), question_count(connection, run.run_id)
        stated = stated_answerability(connection, run.run_id)
        answered = answered_unanswerable(connection, run.run_id, run.evaluation_of(FAITHFULNESS), stated)
        may_be_answerable = np.ones(position_end(connection, run.run_id))
        may_be_answerable[[position for position, value in stated.items() if value not in ANSWERABLE]] = 0.0
        of_run = {
            RETRIEVED_NOTHING: _retrieved_nothing(connection, run, may_be_answerable),
            MAY_BE_ANSWERABLE: may_be_answerable,
        }
        if answered is not None:
            of_run[ANSWERS_UNANSWERABLE] = _by_position(answered, position_end(connection, run.run_id))
        by_column = {by: categories(connection, run.run_id, by) for by in category_columns}
        clusters = sample_clusters(connection, run.run_id)
        positions = sample_positions(connection, run.run_id)
        judges = judged_by(connection, run.evaluations)
    columns, found_moments = _read_inputs(store, run)
    columns = {name: values[positions] for name, values in (columns | of_run).items()}
    by_column = {by: Categories(names, numbers[positions]) for by, (names, numbers) in by_column.items()}
    clusters = clusters and replace(clusters, ids=clusters.ids[positions])
    inputs = _Inputs(columns=columns, moments=found_moments, clusters=clusters, samples=positions.size)
    rule_based = {evaluation for evaluation, judged in judges.items() if judged.heuristic}
    worse, comparisons = weak_groups(columns, by_column, clusters)
    measured: dict[str, Interval | NoInterval | NotEvaluated] = {}
    for key, quantity in QUANTITIES.items():
        absent = dict.fromkeys(EVALUATED_WITH.get(name, name) for name in quantity.inputs if name not in inputs.names)
        measured[key] = NotEvaluated(metrics=tuple(absent)) if absent else inputs.measure(quantity)
    triggered, not_triggered = apply_rules(measured, run)
    not_triggered = tuple(_mark_unreliable(result, run, rule_based) for result in not_triggered)
    findings: Sequence[Finding] = [
        replace(_with_impact(finding, inputs), hint_reason=_hint_reason(finding, run, rule_based))
        for finding in triggered
    ]
    suspected = _suspected_findings(not_triggered, run, inputs)
    other = None
    if any(finding.rule.id == "unfaithful" for finding in (*findings, *suspected)):
        compared = runs_to_compare(list_runs(store), run) if others is None else others
        other = more_faithful_run(store, run, compared, summary.samples)
    loss = next((finding for finding in findings if finding.rule.id in LOSSES), None)
    missing = dict.fromkeys(metric for rule in not_triggered for metric in rule.missing)
    with store.database.read() as connection:

        def completed(partial: Iterable[Finding]) -> tuple[Finding, ...]:
            attributed = (_with_evidence(finding, other, loss) for finding in partial)
            return tuple(_with_samples(connection, finding, run, columns, positions) for finding in attributed)

        findings, suspected = completed(findings), completed(suspected)
    is_judged = summary.judged is not None
    counted = hallucinations(store, HallucinationQuery(runs=(run,), limit=0)) if is_judged else None
    return Diagnosis(
        run=summary.name,
        judged=summary.judged,
        overruled=overruled_verdicts(store, summary).overruled,
        samples=summary.samples,
        question_count=asked,
        references=references,
        attribution_note=_attribution_note(references, columns, run, rule_based),
        findings=tuple(sorted(findings, key=lambda finding: (bool(finding.hint_reason), -finding.min_impact))),
        suspected=suspected,
        not_triggered=not_triggered,
        missing=tuple(metric for metric in missing if references or "reference" not in METRICS[metric].requires),
        unsupported=counted.total if counted else 0,
        statements=sum(counted.labels.values()) if counted else 0,
        questions=_question_issues(store, run) if is_judged else (),
        passages=_passage_issues(store, run) if is_judged else (),
        weak_groups=worse,
        comparisons=comparisons,
    )


def _retrieved_nothing(connection: Connection, run: RunRef, may_be_answerable: FloatArray) -> FloatArray:
    """Return 1 for each sample that retrieved nothing, 0 for each that retrieved something.

    NaN for questions that labels or the file call unanswerable, and for all samples if the run has no passages.
    """
    counts = passage_counts(connection, run.run_id)
    values = np.full(may_be_answerable.size, np.nan)
    if counts.values.any():
        values[counts.positions] = counts.values == 0
    return np.where(may_be_answerable > 0, values, np.nan)


def _by_position(value_by_position: Mapping[int, bool], end: int) -> FloatArray:
    values = np.full(end, np.nan)
    values[list(value_by_position)] = list(value_by_position.values())
    return values


def _read_inputs(store: Store, run: RunRef) -> tuple[dict[str, FloatArray], dict[str, AnyMoments | None]]:
    """Return the input columns that were evaluated, even if no sample has a value, and the moments of `SUMMARIZED`.

    Verdicts, of which a run has the most, are read first, and scores with another connection, because a connection
    keeps what it has read.
    """
    columns: dict[str, FloatArray] = {}
    found_moments: dict[str, AnyMoments | None] = {}
    for names in (VERDICT_COLUMNS, SCORE_COLUMNS):
        with store.database.read() as connection:
            evaluated = {metric for _, metric in evaluated_metrics(connection, run.evaluations)}
            for name in names:
                metric = EVALUATED_WITH.get(name, name)
                evaluation = run.evaluation_of(metric)
                if name in SUMMARIZED:
                    summarized = quantity_moments(connection, evaluation).get(name) if evaluation else None
                    if metric in evaluated or summarized:
                        found_moments[name] = summarized
                    continue
                values = sample_values(connection, run, evaluation, name)
                if metric in evaluated or not np.isnan(values).all():
                    columns[name] = values
    return columns, found_moments


def _attribution_note(references: int, columns: Columns, run: RunRef, rule_based: Collection[str]) -> str:
    """Say which share of the references' claims the retriever and the generator lose, or why this is not known."""
    if not references:
        return (
            "The samples have no reference answers. Without them, it is not certain whether the retriever or the"
            " generator is at fault; faithfulness, context relevance and refusals are hints."
        )
    missing = [name for name in (RECALL, UTILIZATION) if name not in columns]
    if missing:
        labels = " and ".join(METRICS[name].label.lower() for name in missing)
        return f"To find out whether the retriever or the generator loses more, evaluate RAGChecker's {labels}."
    recall, used = columns[RECALL], columns[UTILIZATION]
    not_found = 1 - recall
    not_said = not_found - _retrieval_minus_generation(recall, used)
    both = ~np.isnan(not_found + not_said)
    if not both.any():
        return ""
    hint = " This is a hint." if {run.evaluation_of(name) for name in (RECALL, UTILIZATION)} & set(rule_based) else ""
    return (
        f"Of an average reference's claims, {not_found[both].mean():.0%} are in no single passage (retriever), and"
        f" {not_said[both].mean():.0%} are in a passage but not in the answer (generator), n ="
        f" {int(both.sum()):,}.{hint}"
    )


def measure(quantity: Quantity, columns: Columns, clusters: SampleClusters | None = None) -> Interval | NoInterval:
    """Return the mean of a quantity over the samples with a value, or the difference of two groups, with its 95% CI.

    `clusters` are the clusters of the samples; None if they are independent.
    """
    values = quantity.compute(*(columns[name] for name in quantity.inputs))
    rows = values if quantity.compares_groups else [values]
    valid = [row[~np.isnan(row)] for row in rows]
    cluster_ids = [clusters.ids[~np.isnan(row)].tolist() if clusters else None for row in rows]
    if quantity.compares_groups:
        first, second = valid
        if not first.size or not second.size:
            return NoInterval(reason="there are no two groups of samples to compare", n=first.size + second.size)
        ids, other_ids = cluster_ids
        return group_difference(first, second, bounds=SHARE_BOUNDS, clusters=ids, other_clusters=other_ids).interval
    if not valid[0].size:
        return NoInterval(reason=NO_VALUES, n=0)
    return mean_interval(moments(valid[0], cluster_ids[0]), bounds=quantity.bounds)


def apply_rules(
    measured: Measured, run: RunRef, rules: Sequence[Rule] = RULES
) -> tuple[tuple[Finding, ...], tuple[NotTriggered, ...]]:
    """Return the findings of the triggered rules, and the rules that were not triggered."""
    results = [_apply_rule(rule, measured[rule.quantity], run) for rule in rules]
    findings = tuple(result for result in results if isinstance(result, Finding))
    return findings, tuple(result for result in results if isinstance(result, NotTriggered))


def _apply_rule(rule: Rule, value: Interval | NoInterval | NotEvaluated, run: RunRef) -> Finding | NotTriggered:
    if isinstance(value, NotEvaluated):
        return NotTriggered(rule=rule, state="not evaluated", figure=None, missing=value.metrics)
    figure = Figure(quantity=rule.quantity, label=QUANTITIES[rule.quantity].label, interval=value)
    if isinstance(value, NoInterval):
        return NotTriggered(rule=rule, state="no interval", figure=figure, missing=())
    low, high = (value.estimate,) * 2 if QUANTITIES[rule.quantity].observed else (value.low, value.high)
    beyond = high < rule.threshold if rule.side == "below" else low > rule.threshold
    if beyond:
        return _build_finding(rule, figure, value, run)
    contains = low < high and low <= rule.threshold <= high
    state: Literal["inconclusive", "within threshold"] = "inconclusive" if contains else "within threshold"
    return NotTriggered(rule=rule, state=state, figure=figure, missing=())


def _build_finding(rule: Rule, figure: Figure, value: Interval, run: RunRef) -> Finding:
    query = replace(rule.query, runs=(run,)) if isinstance(rule.query, HallucinationQuery) else rule.query
    return Finding(rule=rule, component=rule.component, sentence=fill_template(rule, value), figure=figure, query=query)


def _mark_unreliable(result: NotTriggered, run: RunRef, rule_based: Collection[str]) -> NotTriggered:
    """Set the state `unreliable` if a rule-based judge found no contradiction."""
    interval = result.figure.interval if result.figure else None
    none_found = isinstance(interval, Interval) and interval.estimate == 0
    if result.rule.id == "contradicts-passages" and none_found and run.evaluation_of(FAITHFULNESS) in rule_based:
        return replace(result, state="unreliable")
    return result


def _suspected_findings(not_triggered: Iterable[NotTriggered], run: RunRef, inputs: _Inputs) -> tuple[Finding, ...]:
    """Return findings for inconclusive rules; see `Diagnosis.suspected`."""
    suspected: list[Finding] = []
    for result in not_triggered:
        rule, figure = result.rule, result.figure
        if result.state != "inconclusive" or not rule.harms_answers or figure is None:
            continue
        value = figure.interval
        if isinstance(value, Interval) and (value.estimate - rule.threshold) * (1 if rule.side == "above" else -1) > 0:
            reason = f"Probable, not certain: the threshold of {abs(rule.threshold):.0%} is inside the 95% CI."
            suspicion = _with_impact(replace(_build_finding(rule, figure, value, run), hint_reason=reason), inputs)
            suspected += [suspicion] if suspicion.impact_text else []
    return tuple(sorted(suspected, key=lambda finding: -finding.min_impact))


def _with_impact(finding: Finding, inputs: _Inputs) -> Finding:
    """Set the minimum impact of a finding. Samples without a value count as unaffected."""
    interval, quantity, rule = finding.figure.interval, QUANTITIES[finding.rule.quantity], finding.rule
    if not rule.harms_answers or not isinstance(interval, Interval):
        return finding
    valued = inputs.count(quantity)
    share = valued / inputs.samples
    if quantity.observed:
        return replace(finding, min_impact=interval.estimate * share)
    end = interval.low if rule.side == "above" else interval.high
    shares_below = rule.side == "below" and quantity.bounds == SHARE_BOUNDS
    loss = end if rule.side == "above" else (1 - end if shares_below else -end)
    without = inputs.samples - valued
    count = ""
    if without:
        count = f"; counting {without:,} of {inputs.samples:,} samples without a value as unaffected"
    basis = f"(from the end of the 95% CI nearest the threshold{count})"
    return replace(finding, min_impact=max(0.0, loss * share), min_impact_basis=basis)


def _hint_reason(finding: Finding, run: RunRef, rule_based: Collection[str]) -> str:
    """Return `UNVALIDATED` if a rule-based judge compared answers with references, else an empty text."""
    quantity = QUANTITIES[finding.rule.quantity]
    evaluations = {run.evaluation_of(EVALUATED_WITH.get(name, name)) for name in quantity.inputs}
    return UNVALIDATED if quantity.reference and evaluations & set(rule_based) else ""


def _with_evidence(finding: Finding, other: MoreFaithfulRun | None, loss: Finding | None) -> Finding:
    """Attribute unsupported statements to a component, if there is evidence.

    It is the generator if another run is more faithful with the same passages, else the component that loses more of
    the references' claims according to a rule.
    """
    if finding.rule.id == "unfaithful" and other:
        return replace(finding, component="generator", evidence=str(other))
    if finding.rule.id == "unfaithful" and loss:
        hint = " This is a hint." if loss.hint_reason else ""
        return replace(finding, component=loss.component, evidence=f"{loss.sentence}{hint}")
    return finding


def _with_samples(
    connection: Connection, finding: Finding, run: RunRef, columns: Columns, positions: Positions
) -> Finding:
    """Add the first affected samples, whose value is 1, to a finding without a query."""
    if finding.query is not None:
        return finding
    affected = np.flatnonzero(columns[QUANTITIES[finding.rule.quantity].inputs[0]] == 1)[:MAX_LISTED]
    texts = sample_texts(connection, run.run_id, positions[affected].tolist())
    return replace(finding, samples=tuple(texts.values()))


def _question_issues(store: Store, run: RunRef) -> tuple[QuestionIssue, ...]:
    """Return the questions with the most unsupported statements."""
    return tuple(
        QuestionIssue(
            question=group.title,
            statements=group.statements,
            contradicted=group.contradicted,
            query=HallucinationQuery(runs=(run,), question=group.key),
        )
        for group in hallucination_groups(store, HallucinationQuery(runs=(run,), limit=MAX_LISTED), "question").groups
    )


def _passage_issues(store: Store, run: RunRef) -> tuple[PassageIssue, ...]:
    """Return the passages that support the most wrong statements. If there are none, those that contradict the most."""
    with store.database.read() as connection:
        wrong = wrong_passages(connection, run.evaluation_id, MAX_LISTED) if run.evaluation_id else []
    if wrong:
        return tuple(
            PassageIssue(
                passage_id=passage.passage_id, text=passage.text, wrong=passage.wrong, sample_id=passage.sample_id
            )
            for passage in wrong
        )
    query = HallucinationQuery(runs=(run,), verdict="contradicted", limit=MAX_LISTED)
    return tuple(
        PassageIssue(
            passage_id=group.passage_id,
            text=group.title,
            contradicted=group.contradicted,
            query=HallucinationQuery(runs=(run,), verdict="contradicted", passage=group.key),
        )
        for group in hallucination_groups(store, query, "passage").groups
        if group.contradicted
    )


def weak_groups(
    scores: Columns, by_column: Mapping[str, Categories], clusters: SampleClusters | None = None
) -> tuple[tuple[WeakGroup, ...], GroupComparisons]:
    """Compare each group with the other samples. Return the significantly worse groups, worst first, and the rest.

    p values are adjusted for all comparisons. If a column has only two groups, comparing the first with the second and
    the second with the first counts as one comparison. A group that occurs in two columns is compared once.
    """
    compared: list[tuple[str, str, str, GroupDifference, Partition]] = []
    small: list[tuple[float, SmallGroup]] = []
    distinct = _distinct_columns(by_column)
    for spec in (metric for metric in GROUP_METRICS if metric in scores):
        done: set[Partition] = set()
        for by, groups in distinct.items():
            large_enough = list(_group_comparisons(scores[spec], groups, clusters))
            compared += [
                (by, value, spec, comparison, partition)
                for value, comparison, partition in large_enough
                if partition not in done
            ]
            done.update(partition for *_, partition in large_enough)
            if large_enough:
                small += _small_groups(scores[spec], groups, by, spec)
    p_values = {(spec, frozenset(partition)): comparison.p for _, _, spec, comparison, partition in compared}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    worse: list[WeakGroup] = []
    lower: dict[tuple[str, str], WeakGroup] = {}
    for by, value, spec, comparison, partition in compared:
        if comparison.difference >= 0:
            continue
        p = adjusted[spec, frozenset(partition)]
        group = WeakGroup(
            by=by, value=value, metric=spec, comparison=comparison, p=p, query=Breakdown(column=spec, by=by)
        )
        if p < ALPHA and isinstance(comparison.interval, Interval) and comparison.interval.high < 0:
            worse.append(group)
        else:
            lower[by, value] = min(lower.get((by, value), group), group, key=_difference)
    named = {(group.by, group.value) for group in worse}
    lowest = sorted((group for key, group in lower.items() if key not in named), key=_difference)
    too_small: dict[tuple[str, str], SmallGroup] = {}
    named |= lower.keys()
    for _, small_group in sorted(small, key=lambda entry: (entry[0], entry[1].value)):
        if (small_group.by, small_group.value) not in named:
            too_small.setdefault((small_group.by, small_group.value), small_group)
    return tuple(sorted(worse, key=_difference)), GroupComparisons(
        lowest=tuple(lowest[:MAX_LOW_GROUPS]),
        too_small=tuple(too_small.values())[:MAX_LOW_GROUPS],
        groups=len(p_values),
        metrics=tuple(dict.fromkeys(spec for _, _, spec, _, _ in compared)),
        columns=tuple(dict.fromkeys(by for by, _, _, _, _ in compared)),
    )


def _difference(group: WeakGroup) -> float:
    return group.comparison.difference


def _distinct_columns(by_column: Mapping[str, Categories]) -> dict[str, Categories]:
    """Leave out columns with the same values as an earlier column."""
    seen: set[tuple[tuple[str, ...], bytes]] = set()
    distinct: dict[str, Categories] = {}
    for by, values in by_column.items():
        if (key := (values.names, values.numbers.tobytes())) not in seen:
            seen.add(key)
            distinct[by] = values
    return distinct


def _small_groups(scores: FloatArray, groups: Categories, by: str, spec: str) -> Iterator[tuple[float, SmallGroup]]:
    """Yield (difference from the other samples, group) for groups that are lower but too small to compare."""
    scored, counts = _scored_in_column(scores, groups)
    for number, name in enumerate(groups.names):
        if 0 < counts[number] < min(MIN_GROUP_SIZE, counts.sum()):
            in_group = groups.numbers == number
            inside, outside = scores[scored & in_group], scores[scored & ~in_group]
            mean = float(inside.mean())
            if mean < outside.mean():
                small = SmallGroup(by=by, value=name, metric=spec, mean=mean, n=inside.size)
                yield mean - float(outside.mean()), small


def _scored_in_column(scores: FloatArray, groups: Categories) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return which samples have a score and a group, and the number of these samples in each group."""
    scored = ~np.isnan(scores) & (groups.numbers >= 0)
    return scored, np.bincount(groups.numbers[scored], minlength=len(groups.names))


def _group_comparisons(
    scores: FloatArray, groups: Categories, clusters: SampleClusters | None
) -> Iterator[tuple[str, GroupDifference, Partition]]:
    """Compare the samples of each value with all other samples, if there are enough of both."""
    scored, counts = _scored_in_column(scores, groups)
    for number, name in enumerate(groups.names):
        if min(counts[number], counts.sum() - counts[number]) >= MIN_GROUP_SIZE:
            in_group = groups.numbers == number
            inside, outside = scored & in_group, scored & ~in_group
            ids, other_ids = (clusters.ids[rows].tolist() if clusters else None for rows in (inside, outside))
            comparison = group_difference(
                scores[inside], scores[outside], bounds=SHARE_BOUNDS, clusters=ids, other_clusters=other_ids
            )
            yield name, comparison, (np.packbits(inside).tobytes(), np.packbits(outside).tobytes())


def condition_in_words(rule: Rule) -> str:
    """Return a rule's condition in words: `Claim recall: below 0.7`."""
    return f"{QUANTITIES[rule.quantity].label}: {rule.side} {rule.threshold:g}"


def fill_template(rule: Rule, value: Interval) -> str:
    """Return the sentence of a finding: the rule's template with the estimate and its interval, or with the count."""
    if QUANTITIES[rule.quantity].counted:
        return rule.template.format(f"{round(value.estimate * value.n):,} of {value.n:,}")
    return rule.template.format(f"{value.estimate:.0%} ({ci_text(value, '.0%')})")


def cite_sources(rule: Rule) -> str:
    """Cite the sources of a rule's quantity and threshold."""
    papers = {
        "ragchecker.": "Ru et al. 2024 (RAGChecker), section 3",
        "ragas.": "Es et al. 2023 (RAGAS), section 3",
    }
    inputs = QUANTITIES[rule.quantity].inputs
    cited = [paper for prefix, paper in papers.items() if any(name.startswith(prefix) for name in inputs)]
    return f"{'; '.join(cited) or 'counted by ragboard'}; the threshold is a rule of thumb: {rule.rationale}"


def why_not_triggered(result: NotTriggered) -> str:
    """Say why a rule was not triggered."""
    if result.state == "not evaluated":
        return f"not evaluated: {metric_names(result.missing)}"
    if result.state == "unreliable":
        return RARELY_CONTRADICTED
    interval = result.figure.interval if result.figure else None
    if isinstance(interval, NoInterval):
        return f"no CI: {interval.reason}"
    return "inconclusive: the 95% CI contains the threshold" if result.state == "inconclusive" else result.state


def metric_names(specs: Iterable[str]) -> str:
    """Return the labels of metrics: `Claim recall; Noise sensitivity, relevant`."""
    return "; ".join(METRICS[spec].label if spec in METRICS else spec for spec in specs)


def evaluate_command(diagnosis: Diagnosis) -> str:
    """Return the command that evaluates the missing metrics; empty if there are none.

    If several metrics of one source are missing, the command names the source, because its metrics share verdicts.
    """
    sources = Counter(spec.partition(".")[0] for spec in diagnosis.missing)
    names = dict.fromkeys(
        source if sources[source := spec.partition(".")[0]] > 1 else spec for spec in diagnosis.missing
    )
    return f"ragboard evaluate {quote(diagnosis.run)} --metrics {','.join(names)}" if names else ""


def where_to_start(diagnosis: Diagnosis) -> tuple[str, str]:
    """Return a title that says where to start, and sentences about what else was found, which can be empty."""
    first, worse = diagnosis.first, diagnosis.weak_groups
    sentences: list[str] = []
    if first:
        certainty = (
            "" if first in diagnosis.main_findings else " (a hint)" if first in diagnosis.hints else " (not certain)"
        )
        title = f"Start with {COMPONENTS[first.component]}{certainty}"
    elif all(result.missing for result in diagnosis.not_triggered if not QUANTITIES[result.rule.quantity].observed):
        title = "Not evaluated yet"
    else:
        title = "Nothing stands out"
        sentences.append(_no_findings_in_words(diagnosis))
    if worse:
        count = "1 group scores" if len(worse) == 1 else f"{len(worse)} groups score"
        which = _group_name(worse[0]) if len(worse) == 1 else f"{_group_name(worse[0])} the lowest"
        sentences.append(f"{count} significantly lower than the rest: {which}.")
    return title, " ".join(sentences)


def _no_findings_in_words(diagnosis: Diagnosis) -> str:
    """Say that no rule shows a fault, how many statements are unsupported, and where to look."""
    no_rule = "No rule shows a fault."
    if not diagnosis.statements:
        return no_rule
    if not diagnosis.unsupported:
        return f"{no_rule} The passages support all {diagnosis.statements:,} statements of the answers."
    be = "is" if diagnosis.unsupported == 1 else "are"
    them = "it" if diagnosis.unsupported == 1 else "them"
    return (
        f"{no_rule} {diagnosis.unsupported:,} of {diagnosis.statements:,} statements {be} not supported by the"
        f" passages: read {them}, and the samples with the lowest scores."
    )


def missing_in_words(diagnosis: Diagnosis) -> str:
    """Say how many rules need metrics that were not evaluated, and which; empty if none can be evaluated."""
    waiting = sum(bool(result.missing) for result in diagnosis.not_triggered)
    if not waiting or not diagnosis.missing:
        return ""
    need = "rule needs" if waiting == 1 else "rules need"
    sentence = f"{waiting} more {need} metrics that were not evaluated: {metric_names(diagnosis.missing)}."
    if not _is_free(diagnosis):
        return sentence
    return (
        f"{sentence} The embedded judge evaluates them without calls or cost. With its verdicts, rules that use"
        " reference answers give only hints."
    )


def top_questions_in_words(diagnosis: Diagnosis) -> str:
    """Say which share of the unsupported statements the worst questions have; empty without such statements."""
    if diagnosis.top_questions_share is None:
        return ""
    if diagnosis.unsupported == 1:
        return "Only 1 statement is unsupported."
    count, total = len(diagnosis.questions), diagnosis.question_count
    account = "accounts" if count == 1 else "account"
    answers = f" (with {diagnosis.samples:,} answers)" if diagnosis.samples > total else ""
    share = "less than 1%" if diagnosis.top_questions_share < 0.01 else f"{diagnosis.top_questions_share:.0%}"
    return (
        f"{count} of {total:,} question{'' if total == 1 else 's'}{answers} {account} for {share} of the"
        f" {diagnosis.unsupported:,} unsupported statements."
    )


def _is_free(diagnosis: Diagnosis) -> bool:
    """Return whether the run's judge evaluates the missing metrics without calling a model."""
    return bool(diagnosis.missing and diagnosis.judged and diagnosis.judged.judge == "embedded")


def diagnosis_warning(diagnosis: Diagnosis) -> str:
    """Return warnings about the diagnosis; empty if there are none."""
    notes: list[str] = []
    if diagnosis.judged and diagnosis.judged.heuristic:
        notes.append(f"Judged by {diagnosis.judged.judge}, a rule-based judge: treat these findings as hints.")
    if diagnosis.overruled:
        verdicts = f"{diagnosis.overruled:,} verdict{'' if diagnosis.overruled == 1 else 's'}"
        notes.append(f"Annotators overruled {verdicts}; the diagnosis uses the judge's verdicts.")
    return " ".join(notes)


def _group_name(group: WeakGroup | SmallGroup) -> str:
    return f"{group.by.removeprefix('metadata.')} = {group.value}"


def group_in_words(group: WeakGroup, label: str) -> str:
    """Describe a group: its mean, size and difference from the other samples.

    `topic = rivers: Faithfulness 0.41 (n = 12), others 0.72 (n = 48); difference -0.31, 95% CI -0.52 to -0.10,
    p = 0.012 (Holm)`.
    """
    compared = group.comparison
    certainty = (
        f"{ci_text(compared.interval, '+.2f')}, p = {group.p:.2g} (Holm)"
        if group.tested
        else "not tested: too few independent samples"
    )
    return (
        f"{_group_name(group)}: {label} {compared.mean:.2f} (n = {compared.n:,}), others {compared.mean_others:.2f}"
        f" (n = {compared.others:,}); difference {compared.difference:+.2f}, {certainty}"
    )


def small_groups_in_words(comparisons: GroupComparisons, labels: Mapping[str, str]) -> str:
    """Name the low groups that are too small to compare; empty if there are none. `labels` are those of the metrics."""
    groups = [
        f"{_group_name(group)} ({labels.get(group.metric, group.metric)} {group.mean:.2f}, n = {group.n:,})"
        for group in comparisons.too_small
    ]
    return f"Low, but with fewer than {MIN_GROUP_SIZE} scored samples: {'; '.join(groups)}." if groups else ""


def groups_compared_in_words(comparisons: GroupComparisons, labels: Mapping[str, str]) -> str:
    """Say which groups were compared, and how. `labels` are those of the metrics."""
    if not comparisons.groups:
        return f"No metadata column has groups of at least {MIN_GROUP_SIZE} scored samples."
    columns = ", ".join(column.removeprefix("metadata.") for column in comparisons.columns)
    metrics = ", ".join(labels.get(spec, spec) for spec in comparisons.metrics)
    return (
        f"Compared: each group of at least {MIN_GROUP_SIZE} scored samples (by {columns}) with all other samples, on"
        f" {metrics}; {comparisons.groups:,} comparisons, p values adjusted for all of them (Holm)."
    )
