"""Compare two runs: differences in metrics, costs and refusals, and what else differs between the runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ragboard.analysis.comparability import (
    DIFFERENT_JUDGES,
    JudgePair,
    choose_evaluations,
    comparison_warnings,
    different_judges,
    same_statement_judges,
)
from ragboard.analysis.means import POLICIES, UnscoredPolicy, finite_range
from ragboard.analysis.metrics import MORE_PASSAGES, headline, in_order, read_descriptions
from ragboard.analysis.paired import (
    MetricColumn,
    compute_difference,
    cost_columns,
    grade_columns,
    mean_statement_counts,
    metric_columns,
    pair_clusters,
    pair_runs,
    paired_refusals,
    passages_per_question,
    same_passages,
    same_scores,
    shared_metrics,
    unscored_reasons,
)
from ragboard.analysis.reference_answers import (
    ANSWERS_ARE_REFERENCES,
    compares_with_reference,
    read_reference_runs,
    self_comparison_warning,
)
from ragboard.analysis.runs import RunSummary, run_summary
from ragboard.analysis.unpaired import Unpaired, pairing_warnings, summarize_unpaired
from ragboard.display import html_table, one_line, text_table
from ragboard.records import Direction, JsonValue, MetricDescription
from ragboard.stats import (
    SMALL_SAMPLE,
    Interval,
    PairedDifference,
    SignTest,
    ci_text,
    holm,
    interval_text,
    paired_difference,
    pairs_needed,
)
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters
from ragboard.store.queries.pairs import PairedRuns, unpaired_rows
from ragboard.store.queries.query import Connection
from ragboard.store.queries.values import META

__all__ = [
    "DEFAULT_DIFFERENCE",
    "Comparison",
    "ConfigDifference",
    "MetricComparison",
    "RefusalComparison",
    "compare_metric",
    "compare_runs",
    "config_differences",
    "cost_texts",
    "detectable_in_words",
    "difference_in_words",
    "grades_in_words",
    "methods_in_words",
    "short_name",
    "shown_metrics",
    "verdict_in_words",
]

Change = Literal[
    "better",
    "worse",
    "differs",
    "explained by passages",
    "no significant difference",
    "different judges",
    "answers are references",
    "not compared",
]

ALPHA = 0.05
LARGE_REFUSAL_GAP = 0.10
"""Refusal rates that differ significantly, and by at least this, cause a warning."""
DEFAULT_DIFFERENCE = 0.03
"""The default difference to detect: 3 percentage points."""
MAX_NAMED = 2
"""Maximum number of metrics that a part of the verdict names."""
MAX_NAME_LENGTH = 40
"""Maximum number of characters of a run's name in the verdict."""
MAX_IN_SENTENCE = 4
"""Maximum number of metrics in `Comparison.sentence`."""


@dataclass(frozen=True, kw_only=True)
class ConfigDifference:
    """A setting that differs between the runs; None if a run does not have it."""

    key: str
    a: JsonValue
    b: JsonValue


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """One metric over the paired samples: the difference is B minus A."""

    metric: str
    label: str
    """The metric's name on pages."""
    direction: Direction
    pairs: PairedDifference | None
    """The difference over the pairs scored in both runs (with the policy `zero`, over all pairs); None if there are
    none. With the policy `bounds`, it has the widest interval and the largest p that unscored samples allow."""
    p: float | None
    """The p value of `pairs`, adjusted for the number of distinct comparisons (Holm 1979). None if the judges differ,
    or if the metric compares the answers of A or B with themselves."""
    change: Change
    """A difference is significant if the adjusted p is below 0.05 and the interval excludes 0.

    - `better`, `worse`: significant.
    - `differs`: significant, for a metric without a better direction.
    - `explained by passages`: significant, but the different number of passages moves the metric in this direction.
    - `different judges`: not comparable.
    - `answers are references`: the metric compares the answers of A or B with themselves.
    - `not compared`: no sample is scored in both runs.
    """
    scored_only_a: int
    """Number of pairs scored in A but not in B."""
    scored_only_b: int
    scored_in_neither: int
    """Number of pairs scored in neither run."""
    reasons_a: Mapping[str, int]
    """Number of paired samples without a score in A, by reason."""
    reasons_b: Mapping[str, int]
    bounds: tuple[float, float] | None = None
    """The smallest and the largest difference that unscored samples allow; None unless the policy is `bounds`."""
    note: str = ""
    """How unscored samples count; empty if there are none or they are excluded."""
    judges: JudgePair | None = None
    """The judges in A and in B; None if both are the same judge setup."""
    range: tuple[float, float] | None = None
    """The metric's minimum and maximum; None without bounds."""
    caution: str = ""
    """A warning if A and B retrieved different numbers of passages and the metric depends on it, or if the metric
    compares the answers of A or B with themselves. Else empty."""
    same_as: str = ""
    """The label of an earlier metric that has the same scores in every pair, so both are one comparison. Else empty."""
    same_passages: bool = False
    """Whether the metric cannot differ, because it reads only passages and both runs have the same ones."""

    @property
    def all_equal(self) -> bool:
        """Whether the metric is comparable and all differences are 0. It then has no test and no interval."""
        same = self.pairs is not None and self.pairs.ties == self.pairs.n
        return same and self.p is not None and self.bounds is None

    @property
    def counts_as_comparison(self) -> bool:
        """Whether Holm's adjustment of p counts the metric.

        It leaves out metrics without a difference in any pair, which cannot become significant (Tarone 1990), and
        metrics with the same scores as an earlier one.
        """
        return self.p is not None and not self.all_equal and not self.same_as

    @property
    def better_direction(self) -> Direction:
        """The direction of a better score; neutral if different judges scored the metric."""
        return "neutral" if self.change == DIFFERENT_JUDGES else self.direction


@dataclass(frozen=True, kw_only=True)
class RefusalComparison:
    """How often each run refused to answer, over the pairs for which this is known."""

    n: int
    """Number of pairs."""
    a: int
    """Number of refusals in A."""
    b: int
    """Number of refusals in B."""
    test: SignTest
    """McNemar's test. A win is a pair in which only B refuses. If pairs are clustered, p is computed over clusters."""
    warning: str
    """A warning if the rates differ significantly and by at least 10 percentage points; else empty."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Run B compared with run A."""

    a: RunSummary
    b: RunSummary
    paired: int
    """Number of pairs."""
    by_question: int
    """Number of pairs with different ids, matched by their question."""
    unpaired_a: Unpaired
    unpaired_b: Unpaired
    config: tuple[ConfigDifference, ...]
    cautions: tuple[str, ...]
    """Differences between the runs that may explain a difference of metrics."""
    metrics: tuple[MetricComparison, ...]
    costs: tuple[MetricComparison, ...]
    """Comparisons of cost, time and tokens of answers, if both run files have these columns. p is adjusted for their
    number."""
    refusals: RefusalComparison | None
    """None if refusals were not judged in both runs by the same judges."""
    statements_a: float | None
    """Mean number of statements per answer in A, over pairs for which both numbers are known. None without such pairs,
    or if different judges extracted the statements."""
    statements_b: float | None
    """The same in B."""
    passages_a: float | None
    """Mean number of passages per question in A, over pairs for which both numbers are known; None without such
    pairs."""
    passages_b: float | None
    """The same in B."""
    clustered: str
    """The clusters that intervals and p values account for: `12 conversations`. Empty if pairs are independent."""
    units: int
    """Number of independent units: clusters or pairs."""
    grades: tuple[MetricComparison, ...]
    """Annotators' grades in both run files, by dimension; p is adjusted for their number."""
    policy: UnscoredPolicy
    """How unscored samples count."""
    sentence: str
    """The result in a sentence that can be copied."""

    @property
    def tested(self) -> int:
        """Number of comparisons that p is adjusted for."""
        return sum(metric.counts_as_comparison for metric in self.metrics)

    @property
    def few(self) -> str:
        """The number of pairs or clusters, `10 questions`, if it is small enough to make CIs too narrow; else empty."""
        if not self.paired or self.units >= SMALL_SAMPLE:
            return ""
        return self.clustered or f"{self.units} question{'' if self.units == 1 else 's'}"

    @property
    def few_in_words(self) -> str:
        """A warning such as `Only 10 questions: CIs may be too narrow`; empty if there are enough."""
        return f"Only {self.few}: CIs may be too narrow" if self.few else ""

    @property
    def judged_by(self) -> str:
        """The judge of the compared metrics: `gpt-4o-mini`. Several judges are listed, each with its metrics."""
        by_judge: dict[str, list[str]] = {}
        for metric in self.metrics:
            in_a, in_b = (run.metrics.get(metric.metric) for run in (self.a, self.b))
            if metric.pairs and not metric.judges and in_a and in_a.judged and in_b and in_b.judged:
                names = JudgePair(a=in_a.judged.in_words, b=in_b.judged.in_words)
                by_judge.setdefault(names.a if names.a == names.b else str(names), []).append(metric.label)
        if len(by_judge) == 1 and not any(metric.judges for metric in self.metrics):
            return next(iter(by_judge))
        return "; ".join(f"{judge} ({', '.join(labels)})" for judge, labels in by_judge.items())

    def __repr__(self) -> str:
        """Return the result in words, a table of the metrics, and the warnings; `sentence` is the text to copy."""
        table = text_table(_HEAD, self._rows())
        return "\n".join((*map(one_line, self._title()), table, *map(one_line, self._warnings())))

    def _repr_html_(self) -> str:
        return html_table(_HEAD, self._rows(), above=self._title(), below=self._warnings())

    def _title(self) -> tuple[str, str]:
        judge = f", judge {self.judged_by}" if self.judged_by else ""
        return f"A is {self.a.name}, B is {self.b.name}: {self.paired:,} pairs{judge}", verdict_in_words(self)

    def _warnings(self) -> tuple[str, ...]:
        few = (self.few_in_words,) if self.few else ()
        return tuple(f"caution: {caution}" for caution in (*few, *self.cautions))

    def _rows(self) -> list[tuple[str, ...]]:
        return [_table_row(metric) for metric in self.metrics]


_HEAD = ("metric", "A", "B", "B - A", "95% CI", "p (Holm)", "change", "pairs")


def _table_row(metric: MetricComparison) -> tuple[str, ...]:
    pairs = metric.pairs
    if pairs is None:
        return (metric.metric, "-", "-", "-", "-", "-", metric.change, "0")
    return (
        metric.metric,
        f"{pairs.first:.3f}",
        f"{pairs.second:.3f}",
        f"{pairs.difference:+.3f}",
        interval_text(pairs.interval, "+.3f") or "none",
        "-" if metric.p is None else f"{metric.p:.2g}",
        metric.change,
        f"{pairs.n:,}",
    )


def compare_runs(
    store: Store,
    a: RunRef,
    b: RunRef,
    paired: PairedRuns | None = None,
    *,
    unscored: UnscoredPolicy = "excluded",
    allow_different_judges: bool = False,
) -> Comparison:
    """Compare the metrics that both runs have, over pairs of samples.

    Each metric is taken from the newest judge setup that evaluated it in both runs. If there is none, the difference
    may come from the judges, so the metric gets no p value and no verdict unless `allow_different_judges` is set.
    `paired` are the pairs of samples, by default those of `pair_runs`. `unscored` says how samples without a score
    count. Raises NotFoundError if a run was deleted.
    """
    a, b = choose_evaluations(store, a, b)
    paired = paired or pair_runs(store, a, b)
    first, second = (run_summary(store, run, unscored=unscored) for run in (a, b))
    with store.database.read() as connection:
        clusters = pair_clusters(connection, a, b, paired)
        metrics = _compare_metrics(
            connection, a, b, paired, unscored, clusters, allow_different_judges=allow_different_judges
        )
        costs = _compare_file_columns(cost_columns(connection, a, b, paired), META, "lower", clusters)
        grades = _compare_file_columns(grade_columns(connection, a, b, paired), "", "higher", clusters)
        same_judges = allow_different_judges or same_statement_judges(connection, a, b)
        refusals = _compare_refusals(connection, a, b, paired, clusters, metrics) if same_judges else None
        statements = mean_statement_counts(connection, a, b, paired) if same_judges else (None, None)
        passages = passages_per_question(connection, a, b, paired)
        metrics = _with_passage_warnings(metrics, passages, read_descriptions(connection))
        metrics = _with_same_passages(connection, a, b, paired, metrics)
        cautions = comparison_warnings(
            connection, first, second, {metric.label: metric.judges for metric in metrics if metric.judges}
        )
        unpaired = unpaired_rows(connection, a.run_id, b.run_id, paired)
        cautions = (*_references_warning(_whose_answers_are_references(connection, a, b), metrics), *cautions)
        cautions = (*pairing_warnings(connection, a, b, unpaired, paired.a.size), *cautions)
    return Comparison(
        a=first,
        b=second,
        paired=paired.a.size,
        by_question=paired.by_question,
        unpaired_a=summarize_unpaired(unpaired, "A"),
        unpaired_b=summarize_unpaired(unpaired, "B"),
        config=tuple(config_differences(first.config, second.config)),
        cautions=cautions,
        metrics=metrics,
        costs=costs,
        refusals=refusals,
        statements_a=statements[0],
        statements_b=statements[1],
        passages_a=passages[0],
        passages_b=passages[1],
        clustered=str(clusters or ""),
        units=int(np.unique(clusters.ids).size) if clusters else paired.a.size,
        grades=grades,
        policy=unscored,
        sentence=_sentence(first.name, second.name, paired.a.size, metrics, clusters) + _policy_note(unscored),
    )


def compare_metric(
    store: Store, a: RunRef, b: RunRef, metric: str, paired: PairedRuns | None = None
) -> MetricComparison | None:
    """Return one metric of `compare_runs`, without computing the rest; None if the runs do not share the metric.

    `paired` are the pairs of samples, by default those of `pair_runs`.
    """
    a, b = choose_evaluations(store, a, b)
    paired = paired or pair_runs(store, a, b)
    with store.database.read() as connection:
        clusters = pair_clusters(connection, a, b, paired)
        compared = _compare_metrics(connection, a, b, paired, "excluded", clusters, allow_different_judges=False)
        only = tuple(one for one in compared if one.metric == metric)
        descriptions = read_descriptions(connection)
        if metric in descriptions and descriptions[metric].more_passages:
            passages = passages_per_question(connection, a, b, paired)
            only = _with_passage_warnings(only, passages, descriptions)
        return next(iter(_with_same_passages(connection, a, b, paired, only)), None)


def difference_in_words(compared: MetricComparison) -> str:
    """Describe a difference: `+0.05, 95% CI +0.01 to +0.09, better (p = 0.012)`, or say why there is none."""
    pairs = compared.pairs
    if pairs is None:
        return "no sample is scored in both runs"
    if compared.all_equal:
        return "all differences are 0, no interval"
    interval = ci_text(pairs.interval, "+.3f")
    if compared.p is None:
        why = compared.caution if compared.change == ANSWERS_ARE_REFERENCES else compared.change
        return f"{pairs.difference:+.3f}, {interval}, not comparable: {why}"
    return f"{pairs.difference:+.3f}, {interval}, {compared.change} (p = {compared.p:.2g})"


def detectable_in_words(compared: MetricComparison, points: float = DEFAULT_DIFFERENCE) -> str:
    """Say which difference these questions can detect, and how many questions are needed to detect `points`.

    `With 60 questions, a difference of 0.08 can be detected (80% power). To detect 0.03, small but often worth having,
    would take about 430 questions like these.`

    `points` is a share of the metric's range, whose negative part does not count. Empty if the detectable difference is
    not known, or if the metric compares references with themselves.
    """
    pairs = compared.pairs
    if pairs is None or pairs.detectable is None or compared.change == ANSWERS_ARE_REFERENCES:
        return ""
    low, high = compared.range or (0.0, 1.0)
    difference = points * (high - max(low, 0.0))
    needed = pairs_needed(pairs, difference) if compared.range else None
    text = f"With {pairs.n:,} questions, a difference of {pairs.detectable:.2g} can be detected"
    text += f" ({pairs.power:.0%} power)"
    if needed is None or pairs.detectable <= difference:
        return f"{text}."
    why = ", small but often worth having," if points == DEFAULT_DIFFERENCE else ""
    return f"{text}. To detect {difference:.2g}{why} would take about {_rounded_up(needed):,} questions like these."


def verdict_in_words(compared: Comparison) -> str:
    """Return the result of a comparison in one line, with the names of the runs.

    `b is better than a on Faithfulness: +0.56, 95% CI +0.34 to +0.79; no significant difference on 2 metrics`

    It leaves out metrics that cannot differ and metrics that compare references with themselves.
    """
    by_change: dict[Change, list[MetricComparison]] = {}
    for metric in compared.metrics:
        if not metric.same_passages:
            by_change.setdefault(metric.change, []).append(metric)
    a, b = (short_name(run.name) for run in (compared.a, compared.b))
    verbs: dict[Change, str] = {"better": "better than", "worse": "worse than", "differs": "different from"}
    decided = sum(len(by_change.get(change, ())) for change in verbs)
    significant = [
        f"{verb} {a} on {_with_differences(by_change[change], with_interval=decided == 1)}"
        for change, verb in verbs.items()
        if change in by_change
    ]
    parts = [f"{b} is {' and '.join(significant)}"] if significant else []
    if undecided := by_change.get("no significant difference"):
        between = "" if significant else f" between {b} and {a}"
        parts.append(f"no significant difference{between} on {_metric_count(undecided)}")
    if explained := by_change.get("explained by passages"):
        parts.append(_explanation_by_passages(explained, compared))
    others: dict[Change, str] = {
        "different judges": "different judges, so no result, on",
        "not compared": "no question scored in both runs on",
    }
    parts += [f"{words} {_metric_count(by_change[change])}" for change, words in others.items() if change in by_change]
    if not parts and compared.metrics:
        return f"No metric can tell {b} from {a}"
    if not parts:
        unjudged = [short_name(run.name) for run in (compared.a, compared.b) if run.judged is None]
        return f"No metric to compare yet: evaluate {' and '.join(dict.fromkeys(unjudged)) or f'{a} and {b} alike'}"
    text = "; ".join(parts)
    return text if significant else text[0].upper() + text[1:]


def shown_metrics(compared: Comparison) -> tuple[str, ...]:
    """Return the metrics to show first: the main ones, and those whose change is not `no significant difference`.

    Metrics that cannot differ or that compare references with themselves are left out, unless there are no others.
    """
    can_differ = [
        metric for metric in compared.metrics if not metric.same_passages and metric.change != ANSWERS_ARE_REFERENCES
    ] or compared.metrics
    main = headline([metric.metric for metric in can_differ])
    return tuple(
        metric.metric for metric in can_differ if metric.metric in main or metric.change != "no significant difference"
    )


def grades_in_words(compared: Comparison) -> str:
    """Compare annotators' grades: `Annotators grade b higher than a on faithfulness: +0.44, 95% CI ...`.

    Empty unless both run files have grades.
    """
    if not compared.grades:
        return ""
    a, b = (short_name(run.name) for run in (compared.a, compared.b))
    higher, lower = (
        [metric for metric in compared.grades if metric.change == change] for change in ("better", "worse")
    )
    others = [metric for metric in compared.grades if metric not in (*higher, *lower)]
    single = len(higher) + len(lower) == 1
    decided = [
        f"{words} than {a} on {_with_differences(graded, with_interval=single)}"
        for words, graded in (("higher", higher), ("lower", lower))
        if graded
    ]
    text = f"Annotators grade {b} {' and '.join(decided)}" if decided else "Annotators' grades"
    if not others:
        return f"{text}."
    same = f"no significant difference on {_joined([metric.label for metric in others])}"
    return f"{text}{'; ' if decided else ': '}{same}."


def short_name(name: str) -> str:
    """Shorten the name of a run to at most 40 characters."""
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1].rstrip()}…"


def _passage_count(mean: float) -> str:
    """Format a mean number of passages: `3` or `3.4`."""
    return f"{round(mean, 1):g}"


def _explanation_by_passages(metrics: Sequence[MetricComparison], compared: Comparison) -> str:
    """Say that the number of passages is enough to explain the difference of these metrics."""
    lower = metrics[0].pairs is not None and metrics[0].pairs.difference < 0
    differ = f"is {'lower' if lower else 'higher'}" if len(metrics) == 1 else "differ"
    more = "more" if (compared.passages_b or 0) > (compared.passages_a or 0) else "fewer"
    a, b = compared.passages_a, compared.passages_b
    counts = "" if a is None or b is None else f" ({_passage_count(a)} → {_passage_count(b)})"
    name = short_name(compared.b.name)
    return f"{_metric_count(metrics)} {differ} in {name}, which {more} passages alone can cause{counts}"


def _with_differences(metrics: Sequence[MetricComparison], *, with_interval: bool) -> str:
    """List up to `MAX_NAMED` metrics with their differences, and count the others."""
    texts = [
        f"{metric.label}: {_format_difference(metric.pairs)}"
        if with_interval
        else f"{metric.label} ({metric.pairs.difference:+.2f})"
        for metric in metrics[:MAX_NAMED]
        if metric.pairs
    ]
    rest = len(metrics) - MAX_NAMED
    return _joined([*texts, f"{rest} more"] if rest > 0 else texts)


def _joined(words: Sequence[str]) -> str:
    """Join words: `faithfulness, recall and precision`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _format_difference(pairs: PairedDifference) -> str:
    """Format a difference: `+0.56, 95% CI +0.34 to +0.79`."""
    interval = f", {ci_text(pairs.interval, '+.2f')}" if isinstance(pairs.interval, Interval) else ""
    return f"{pairs.difference:+.2f}{interval}"


def _metric_count(metrics: Sequence[MetricComparison]) -> str:
    return metrics[0].label if len(metrics) == 1 else f"{len(metrics)} metrics"


def methods_in_words(compared: Comparison) -> tuple[str, ...]:
    """Describe the methods: how p is adjusted and for what, how p and CIs are computed, and what can be detected."""
    lines: list[str] = []
    if compared.tested:
        count = f"{compared.tested} distinct comparison{'' if compared.tested == 1 else 's'}"
        lines.append(f"p is adjusted for {count} among {len(compared.metrics)} metrics (Holm).")
    same = [f"{metric.label} has the same scores as {metric.same_as}" for metric in compared.metrics if metric.same_as]
    if same:
        lines.append(f"Counted once: {'; '.join(same)}.")
    equal = [metric for metric in compared.metrics if metric.all_equal]
    on_references = [metric for metric in compared.metrics if metric.change == ANSWERS_ARE_REFERENCES]
    for words, metrics in (
        ("it compares references with themselves", on_references),
        ("both runs have the same passages, so it cannot differ", [metric for metric in equal if metric.same_passages]),
        ("all differences are 0, so there is no interval", [metric for metric in equal if not metric.same_passages]),
    ):
        if metrics:
            lines.append(f"Not counted: {'; '.join(metric.label for metric in metrics)} ({words}).")
    by_method: dict[str, list[str]] = {}
    for metric in compared.metrics:
        if metric.pairs and metric.p is not None and not metric.all_equal:
            by_method.setdefault(_method(metric.pairs), []).append(metric.label)
    lines += [f"{method}: {'; '.join(labels)}." for method, labels in by_method.items()]
    detectable = [
        f"{metric.label} {metric.pairs.detectable:.2g}"
        for metric in compared.metrics
        if metric.pairs and metric.pairs.detectable and metric.p is not None
    ]
    if detectable:
        lines.append(f"Minimum detectable difference (80% power): {'; '.join(detectable)}.")
    return tuple(lines)


def _method(pairs: PairedDifference) -> str:
    interval = pairs.interval.method if isinstance(pairs.interval, Interval) else ""
    if interval == pairs.p_method:
        return f"p and 95% CI by {interval}"
    return f"p by {pairs.p_method}{f', 95% CI by {interval}' if interval else ', no CI'}"


def _rounded_up(count: int) -> int:
    """Round up to two significant digits."""
    size: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // size) * size


def cost_texts(pairs: PairedDifference) -> tuple[str, str, str, str]:
    """Format both means, the difference and its interval, with decimals that fit the width of the interval."""
    width = pairs.interval.high - pairs.interval.low if isinstance(pairs.interval, Interval) else 0.0
    size = width or abs(pairs.difference) or abs(pairs.first) or 1.0
    decimals = max(0, 1 - math.floor(math.log10(size)))
    form = f",.{decimals}f"
    return (
        f"{pairs.first:{form}}",
        f"{pairs.second:{form}}",
        f"{pairs.difference:+{form}}",
        ci_text(pairs.interval, f"+{form}"),
    )


def config_differences(a: Mapping[str, JsonValue], b: Mapping[str, JsonValue]) -> Iterator[ConfigDifference]:
    """Yield the settings that differ between two runs."""
    for key in dict.fromkeys((*a, *b)):
        if a.get(key) != b.get(key):
            yield ConfigDifference(key=key, a=a.get(key), b=b.get(key))


def _compare_metrics(
    connection: Connection,
    a: RunRef,
    b: RunRef,
    paired: PairedRuns,
    unscored: UnscoredPolicy,
    clusters: SampleClusters | None,
    *,
    allow_different_judges: bool,
) -> tuple[MetricComparison, ...]:
    descriptions = read_descriptions(connection)
    columns = metric_columns(connection, a, b, paired, shared_metrics(connection, a, b))
    reasons_a, reasons_b = unscored_reasons(connection, a, b, paired)
    differences = {
        spec: compute_difference(column, descriptions.get(spec), unscored, clusters) for spec, column in columns.items()
    }
    judges = different_judges(connection, a, b, tuple(columns))
    whose = _whose_answers_are_references(connection, a, b)
    self_compared = {spec for spec in columns if whose and compares_with_reference(descriptions.get(spec))}
    not_comparable = self_compared | (set[str]() if allow_different_judges else judges.keys())
    comparable = {
        spec: difference.pairs
        for spec, difference in differences.items()
        if difference.pairs and spec not in not_comparable
    }
    first_with_scores = same_scores({spec: columns[spec] for spec in in_order(comparable)})
    distinct = [
        spec
        for spec, first in first_with_scores.items()
        if first == spec and (comparable[spec].ties < comparable[spec].n or differences[spec].bounds is not None)
    ]
    adjusted = dict(zip(distinct, holm([comparable[spec].p for spec in distinct]), strict=True))
    compared: list[MetricComparison] = []
    for spec in in_order(columns):
        metric, column, difference = descriptions.get(spec), columns[spec], differences[spec]
        first = first_with_scores.get(spec, spec)
        p = adjusted.get(first, 1.0) if spec in comparable else None
        direction = metric.direction if metric else "neutral"
        comparison = MetricComparison(
            metric=spec,
            label=metric.label if metric else spec,
            direction=direction,
            pairs=difference.pairs,
            p=p,
            change=_why_not_comparable(difference.pairs, self_compared=spec in self_compared)
            if spec in not_comparable
            else _classify(difference.pairs, p, direction),
            scored_only_a=int(np.sum(column.scored_a & ~column.scored_b)),
            scored_only_b=int(np.sum(column.scored_b & ~column.scored_a)),
            scored_in_neither=int(np.sum(~column.scored_a & ~column.scored_b)),
            reasons_a=reasons_a.get(spec, {}),
            reasons_b=reasons_b.get(spec, {}),
            bounds=difference.bounds,
            note=difference.note,
            judges=judges.get(spec),
            range=finite_range(metric),
            caution=self_comparison_warning(whose) if spec in self_compared else "",
            same_as="" if first == spec else _label(descriptions, first),
        )
        compared.append(comparison)
    return tuple(compared)


def _why_not_comparable(pairs: PairedDifference | None, *, self_compared: bool) -> Change:
    if pairs is None:
        return "not compared"
    return ANSWERS_ARE_REFERENCES if self_compared else DIFFERENT_JUDGES


def _label(descriptions: Mapping[str, MetricDescription], spec: str) -> str:
    return descriptions[spec].label if spec in descriptions else spec


def _reads_passages_only(metric: MetricDescription | None) -> bool:
    return metric is not None and "contexts" in metric.requires and "answer" not in metric.requires


def _with_same_passages(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns, metrics: Sequence[MetricComparison]
) -> tuple[MetricComparison, ...]:
    """Set `same_passages` of the metrics that read only passages, if both runs have the same ones."""
    descriptions = read_descriptions(connection)
    reading = {
        metric.metric
        for metric in metrics
        if metric.all_equal and _reads_passages_only(descriptions.get(metric.metric))
    }
    if not reading or not same_passages(connection, a, b, paired):
        return tuple(metrics)
    return tuple(replace(metric, same_passages=metric.metric in reading) for metric in metrics)


def _whose_answers_are_references(connection: Connection, a: RunRef, b: RunRef) -> str:
    """Say whose answers are the references: `A's`, `B's` or `A's and B's`; empty for neither."""
    reference_runs = read_reference_runs(connection, [a.run_id, b.run_id])
    return " and ".join(side for side, run in (("A's", a), ("B's", b)) if run.run_id in reference_runs)


def _references_warning(whose: str, metrics: Sequence[MetricComparison]) -> Iterator[str]:
    """Yield a line that names the metrics that compare answers with themselves, if there are any."""
    on_references = [metric.label for metric in metrics if metric.change == ANSWERS_ARE_REFERENCES]
    if on_references:
        yield (
            f"{whose} answers are the references. Left out, because they compare the answers with themselves:"
            f" {', '.join(on_references)}."
        )


def _compare_file_columns(
    columns: Mapping[str, MetricColumn], prefix: str, direction: Direction, clusters: SampleClusters | None
) -> tuple[MetricComparison, ...]:
    """Compare columns of the run files, which have no known range. Labels are their names without `prefix`."""
    differences = {
        name: compute_difference(column, None, "excluded", clusters).pairs for name, column in columns.items()
    }
    compared = {name: pairs for name, pairs in differences.items() if pairs}
    adjusted = holm([pairs.p for pairs in compared.values()])
    return tuple(
        MetricComparison(
            metric=name,
            label=name.removeprefix(prefix),
            direction=direction,
            pairs=pairs,
            p=p,
            change=_classify(pairs, p, direction),
            scored_only_a=int(np.sum(columns[name].scored_a & ~columns[name].scored_b)),
            scored_only_b=int(np.sum(columns[name].scored_b & ~columns[name].scored_a)),
            scored_in_neither=int(np.sum(~columns[name].scored_a & ~columns[name].scored_b)),
            reasons_a={},
            reasons_b={},
        )
        for (name, pairs), p in zip(compared.items(), adjusted, strict=True)
    )


def _with_passage_warnings(
    metrics: Sequence[MetricComparison],
    passages: tuple[float | None, float | None],
    descriptions: Mapping[str, MetricDescription],
) -> tuple[MetricComparison, ...]:
    """Add a warning to metrics that depend on the number of passages, if A and B have different numbers.

    If a metric differs in the direction in which the number of passages moves it, its `change` becomes
    `explained by passages`.
    """
    a, b = passages
    if a is None or b is None or _passage_count(a) == _passage_count(b):
        return tuple(metrics)
    counts = f"{_passage_count(a)} in A, {_passage_count(b)} in B"
    warnings = {
        spec: f"{metric.label} {MORE_PASSAGES[metric.more_passages]}: {counts}"
        for spec, metric in descriptions.items()
        if metric.more_passages
    }
    moves = {spec: 1 if metric.more_passages == "rises" else -1 for spec, metric in descriptions.items()}
    return tuple(
        replace(
            metric,
            caution=". ".join(filter(None, (metric.caution, warnings[metric.metric]))),
            change="explained by passages"
            if metric.change in ("better", "worse", "differs")
            and metric.pairs
            and metric.pairs.difference * moves[metric.metric] * (b - a) > 0
            else metric.change,
        )
        if metric.metric in warnings
        else metric
        for metric in metrics
    )


def _classify(pairs: PairedDifference | None, p: float | None, direction: Direction) -> Change:
    if pairs is None or p is None:
        return "not compared"
    bounds = pairs.interval
    if p >= ALPHA or (isinstance(bounds, Interval) and bounds.low <= 0 <= bounds.high):
        return "no significant difference"
    if direction == "neutral":
        return "differs"
    return "better" if (pairs.difference > 0) == (direction == "higher") else "worse"


def _compare_refusals(
    connection: Connection,
    a: RunRef,
    b: RunRef,
    paired: PairedRuns,
    clusters: SampleClusters | None,
    metrics: Sequence[MetricComparison],
) -> RefusalComparison | None:
    in_a, in_b, known = paired_refusals(connection, a, b, paired)
    n, first, second = in_a.size, int(in_a.sum()), int(in_b.sum())
    if not n:
        return None
    cluster_ids = clusters.ids[known].tolist() if clusters else None
    test = paired_difference(in_a, in_b, bounds=(-1.0, 1.0), clusters=cluster_ids).sign
    warning = ""
    if abs(second - first) / n >= LARGE_REFUSAL_GAP and test.p < ALPHA:
        more: Literal["A", "B"] = "B" if second > first else "A"
        warning = f"{more} refuses more often ({first / n:.0%} in A, {second / n:.0%} in B; p = {test.p:.2g})"
        warning += _left_out_by_refusals(metrics, more)
    return RefusalComparison(n=n, a=first, b=second, test=test, warning=warning)


def _left_out_by_refusals(metrics: Sequence[MetricComparison], more: Literal["A", "B"]) -> str:
    """Name the metric that leaves out most questions because run `more`, which refuses more often, refuses them."""
    reasons = {
        metric.label: metric.reasons_a if more == "A" else metric.reasons_b for metric in metrics if not metric.note
    }
    refused = {label: counts["refusal"] for label, counts in reasons.items() if counts.get("refusal")}
    if not refused:
        return ""
    label, count = max(refused.items(), key=lambda item: item[1])
    questions = "1 question" if count == 1 else f"{count:,} questions"
    return f". {label} leaves out {questions} that {more} refuses in full, which favours {more}"


def _policy_note(policy: UnscoredPolicy) -> str:
    return "" if policy == "excluded" else f" Unscored samples {POLICIES[policy]}."


def _sentence(a: str, b: str, paired: int, metrics: Sequence[MetricComparison], clusters: SampleClusters | None) -> str:
    compared = [metric for metric in metrics if metric.pairs and metric.change != ANSWERS_ARE_REFERENCES]
    if not compared:
        return f"{b} and {a} cannot be compared: no metric is scored in both for any question."
    first = sorted(compared, key=lambda metric: metric.change == "no significant difference")[:MAX_IN_SENTENCE]
    results = "; ".join(
        f"{metric.label} {difference_in_words(metric)}, n = {metric.pairs.n}" for metric in first if metric.pairs
    )
    rest = len(compared) - len(first)
    others = f"; and {rest} other metric{'' if rest == 1 else 's'}" if rest else ""
    tested = sum(metric.counts_as_comparison for metric in compared)
    adjusted = f", p adjusted for {tested} distinct comparison{'' if tested == 1 else 's'} (Holm)" if tested else ""
    clustered = f" clustered by {clusters}" if clusters else ""
    note = f"Differences are {b} minus {a}, with 95% CIs{clustered}{adjusted}."
    return f"{b} vs {a}, {paired:,} pairs: {results}{others}. {note}"
