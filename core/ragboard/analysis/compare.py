"""Two runs compared: what differs in how they were made and judged, and by how much each metric differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragboard.analysis.comparability import (
    DIFFERENT_JUDGES,
    JudgePair,
    cautions_of,
    comparable_refs,
    different_judges,
    split_alike,
)
from ragboard.analysis.means import POLICIES, UnscoredPolicy
from ragboard.analysis.metrics import described, in_order
from ragboard.analysis.paired import (
    claim_counts,
    difference_of,
    metric_columns,
    pair_clusters,
    pair_runs,
    paired_refusals,
    unscored_reasons,
)
from ragboard.analysis.runs import RunSummary, run_summary
from ragboard.records import Direction, JsonValue
from ragboard.stats import Interval, PairedDifference, SignTest, ci_text, holm, paired_difference
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters
from ragboard.store.queries.pairs import PairedRuns, shared_ids
from ragboard.store.queries.query import Connection
from ragboard.store.queries.samples import sample_texts
from ragboard.store.queries.scores import Places

__all__ = [
    "Comparison",
    "ConfigDifference",
    "MetricComparison",
    "RefusalComparison",
    "Unpaired",
    "compare_runs",
    "in_words",
]

Change = Literal["better", "worse", "differs", "no significant difference", "different judges", "not compared"]

SIGNIFICANT = 0.05
LARGE_REFUSALS = 0.10
"""A difference of refusal rates from which on means over answered questions favour whoever refuses more."""
NAMED = 20
"""Unpaired samples named by id."""
TOLD = 4
"""Metrics that the sentence tells of."""


@dataclass(frozen=True, kw_only=True)
class ConfigDifference:
    """A setting that the two runs do not share; None where a run does not have it."""

    key: str
    a: JsonValue
    b: JsonValue


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """One metric over the paired samples: the difference is B minus A."""

    metric: str
    label: str
    """How pages call it."""
    direction: Direction
    pairs: PairedDifference | None
    """Over the pairs scored on both sides, under `zero` over all; None where there is none. Under `bounds` its
    interval and p are the widest that the unscored allow, and all else is of the pairs scored on both sides."""
    p: float | None
    """The p of `pairs`, adjusted for the number of metrics (Holm 1979)."""
    change: Change
    """better or worse only where the adjusted p is below 0.05 and the interval does not hold 0; differs: the
    same of a metric that is better neither way; different judges: not comparable, and so without a p; not compared: no
    pair is scored on both sides."""
    scored_a: int
    """Pairs that are scored in A alone."""
    scored_b: int
    unscored: int
    """Pairs that are scored on neither side."""
    reasons_a: Mapping[str, int]
    """Why paired samples have no score in A: how many, by reason."""
    reasons_b: Mapping[str, int]
    bounds: tuple[float, float] | None = None
    """The difference at the least and the greatest that the unscored allow; None but under `bounds`."""
    note: str = ""
    """How the unscored counted, in words; empty where none is or they are left out as asked."""
    judges: JudgePair | None = None
    """Who judged it on either side; None where that was the same judge setup."""

    @property
    def better(self) -> Direction:
        """Which difference of a pair is better: neither where different judges scored it."""
        return "neutral" if self.change == DIFFERENT_JUDGES else self.direction


@dataclass(frozen=True, kw_only=True)
class RefusalComparison:
    """How often each run declined to answer, over the pairs of which that is known on both sides."""

    n: int
    a: int
    b: int
    test: SignTest
    """McNemar's: a win is a pair in which B alone refuses. Of clustered pairs, p is of clusters."""
    warning: str
    """Empty unless the rates are 10 percentage points or more apart."""


@dataclass(frozen=True, kw_only=True)
class Unpaired:
    """Samples of one run that are in no pair."""

    only: int
    """The other run does not ask this."""
    ambiguous: int
    """The question is there several times, so that no partner is certain."""
    ids: tuple[str, ...]
    """Of both kinds, the first 20."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Run B against run A."""

    a: RunSummary
    b: RunSummary
    paired: int
    by_question: int
    """How many of the pairs have different ids and were found by their question."""
    unpaired_a: Unpaired
    unpaired_b: Unpaired
    config: tuple[ConfigDifference, ...]
    cautions: tuple[str, ...]
    """What else differs between the runs, so that a difference may come from there."""
    metrics: tuple[MetricComparison, ...]
    refusals: RefusalComparison | None
    """None where nobody asked of both runs whether answers refuse, or different judges did."""
    claims_a: float | None
    """Statements of an answer, the mean over pairs whose answers were both split; None where there are none."""
    claims_b: float | None
    clustered: str
    """What the pairs are of, `12 conversations`: intervals and p values are clustered by it; empty where all pairs
    are independent."""
    policy: UnscoredPolicy
    """How the unscored were asked to count."""
    sentence: str
    """The result, to copy."""

    @property
    def judged_by(self) -> str:
        """Who judged what is compared, `gpt-4o-mini`; of several judge setups which metrics. Empty where none did."""
        by_judge: dict[str, list[str]] = {}
        for metric in self.metrics:
            ours, theirs = (run.metrics.get(metric.metric) for run in (self.a, self.b))
            if metric.pairs and not metric.judges and ours and ours.judged and theirs and theirs.judged:
                names = JudgePair(a=ours.judged.in_words, b=theirs.judged.in_words)
                by_judge.setdefault(names.a if names.a == names.b else str(names), []).append(metric.label)
        if len(by_judge) == 1 and not any(metric.judges for metric in self.metrics):
            return next(iter(by_judge))
        return "; ".join(f"{who} ({', '.join(labels)})" for who, labels in by_judge.items())


def compare_runs(
    store: Store,
    a: RunRef,
    b: RunRef,
    paired: PairedRuns | None = None,
    *,
    unscored: UnscoredPolicy = "excluded",
    allow_different_judges: bool = False,
) -> Comparison:
    """Compare the metrics that both runs have, pair by pair; `unscored` says how samples without a score count.

    Each metric is taken from the newest judge setup that both runs have it from. Where there is none the difference
    may come from the judges: it gets no p and no verdict, unless `allow_different_judges`. Raises
    NotFoundError where a run is gone.
    """
    a, b = comparable_refs(store, a, b)
    paired = paired or pair_runs(store, a, b)
    first, second = (run_summary(store, run, unscored=unscored) for run in (a, b))
    with store.database.read() as connection:
        clusters = pair_clusters(connection, a, b, paired)
        metrics = _metrics(connection, a, b, paired, unscored, clusters, allow_different_judges=allow_different_judges)
        alike = allow_different_judges or split_alike(connection, a, b)
        refusals = _refusals(connection, a, b, paired, clusters) if alike else None
        claims = claim_counts(connection, a, b, paired) if alike else (None, None)
        cautions = cautions_of(connection, first, second, {one.label: one.judges for one in metrics if one.judges})
        cautions = (*cautions, *_same_ids(connection, a, b, paired))
        unpaired = [
            _unpaired(connection, a, paired.only_a, paired.ambiguous_a),
            _unpaired(connection, b, paired.only_b, paired.ambiguous_b),
        ]
    return Comparison(
        a=first,
        b=second,
        paired=paired.a.size,
        by_question=paired.by_question,
        unpaired_a=unpaired[0],
        unpaired_b=unpaired[1],
        config=tuple(_config_differences(first.config, second.config)),
        cautions=cautions,
        metrics=metrics,
        refusals=refusals,
        claims_a=claims[0],
        claims_b=claims[1],
        clustered=str(clusters or ""),
        policy=unscored,
        sentence=_sentence(first.name, second.name, paired.a.size, metrics, clusters) + _counting(unscored),
    )


def in_words(compared: MetricComparison) -> str:
    """`+0.05, 95% CI +0.01 to +0.09, better (p = 0.012)`, or why there is no difference to speak of."""
    found = compared.pairs
    if found is None:
        return "no pair is scored in both runs"
    interval = ci_text(found.interval, "+.3f")
    if compared.p is None:
        return f"{found.difference:+.3f}, {interval}, not comparable: different judges"
    return f"{found.difference:+.3f}, {interval}, {compared.change} (p = {compared.p:.2g})"


def _config_differences(a: Mapping[str, JsonValue], b: Mapping[str, JsonValue]) -> Iterator[ConfigDifference]:
    for key in dict.fromkeys((*a, *b)):
        if a.get(key) != b.get(key):
            yield ConfigDifference(key=key, a=a.get(key), b=b.get(key))


def _metrics(
    connection: Connection,
    a: RunRef,
    b: RunRef,
    paired: PairedRuns,
    unscored: UnscoredPolicy,
    clusters: SampleClusters | None,
    *,
    allow_different_judges: bool,
) -> tuple[MetricComparison, ...]:
    known = described(connection)
    columns = metric_columns(connection, a, b, paired)
    reasons_a, reasons_b = unscored_reasons(connection, a, b, paired)
    found = {spec: difference_of(column, known.get(spec), unscored, clusters) for spec, column in columns.items()}
    judges = different_judges(connection, a, b, tuple(columns))
    refused = frozenset[str]() if allow_different_judges else judges.keys()
    tested = {spec: one.pairs.p for spec, one in found.items() if one.pairs and spec not in refused}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    compared: list[MetricComparison] = []
    for spec in in_order(columns):
        metric, column, p, difference = known.get(spec), columns[spec], adjusted.get(spec), found[spec]
        direction = metric.direction if metric else "neutral"
        one = MetricComparison(
            metric=spec,
            label=metric.label if metric else spec,
            direction=direction,
            pairs=difference.pairs,
            p=p,
            change=DIFFERENT_JUDGES if difference.pairs and p is None else _change(difference.pairs, p, direction),
            scored_a=int(np.sum(column.scored_a & ~column.scored_b)),
            scored_b=int(np.sum(column.scored_b & ~column.scored_a)),
            unscored=int(np.sum(~column.scored_a & ~column.scored_b)),
            reasons_a=reasons_a.get(spec, {}),
            reasons_b=reasons_b.get(spec, {}),
            bounds=difference.bounds,
            note=difference.note,
            judges=judges.get(spec),
        )
        compared.append(one)
    return tuple(compared)


def _change(found: PairedDifference | None, p: float | None, direction: Direction) -> Change:
    if found is None or p is None:
        return "not compared"
    bounds = found.interval
    if p >= SIGNIFICANT or not isinstance(bounds, Interval) or bounds.low <= 0 <= bounds.high:
        return "no significant difference"
    if direction == "neutral":
        return "differs"
    return "better" if (found.difference > 0) == (direction == "higher") else "worse"


def _refusals(
    connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns, clusters: SampleClusters | None
) -> RefusalComparison | None:
    ours, theirs, known = paired_refusals(connection, a, b, paired)
    n, first, second = ours.size, int(ours.sum()), int(theirs.sum())
    if not n:
        return None
    warning = ""
    if abs(second - first) / n >= LARGE_REFUSALS:
        more = "B" if second > first else "A"
        warning = (
            f"{more} refuses far more often ({first / n:.0%} in A, {second / n:.0%} in B). Refusals have no"
            f" faithfulness score: the mean of {more} covers fewer questions, which favours {more}"
        )
    together = clusters.of[known].tolist() if clusters else None
    test = paired_difference(ours, theirs, bounds=(-1.0, 1.0), clusters=together).sign
    return RefusalComparison(n=n, a=first, b=second, test=test, warning=warning)


def _unpaired(connection: Connection, run: RunRef, only: Places, ambiguous: Places) -> Unpaired:
    first = sample_texts(connection, run.run_id, np.sort(np.concatenate([only, ambiguous]))[:NAMED].tolist())
    return Unpaired(only=only.size, ambiguous=ambiguous.size, ids=tuple(one.sample_id for one in first.values()))


def _same_ids(connection: Connection, a: RunRef, b: RunRef, paired: PairedRuns) -> tuple[str, ...]:
    """A caution where both runs have unpaired samples of the same id."""
    count = shared_ids(
        connection,
        (a.run_id, np.concatenate([paired.only_a, paired.ambiguous_a])),
        (b.run_id, np.concatenate([paired.only_b, paired.ambiguous_b])),
    )
    if not count:
        return ()
    samples = f"{count:,} samples have" if count > 1 else "1 sample has"
    return (f"Not paired: {samples} the same id in A and B, but a different question or conversation history.",)


def _counting(policy: UnscoredPolicy) -> str:
    return "" if policy == "excluded" else f" Unscored samples {POLICIES[policy]}."


def _sentence(a: str, b: str, paired: int, metrics: Sequence[MetricComparison], clusters: SampleClusters | None) -> str:
    compared = [metric for metric in metrics if metric.pairs]
    if not compared:
        return f"{b} and {a} cannot be compared: no metric is scored in both for any question."
    first = sorted(compared, key=lambda metric: metric.change == "no significant difference")[:TOLD]
    told = "; ".join(f"{metric.label} {in_words(metric)}, n = {metric.pairs.n}" for metric in first if metric.pairs)
    rest = len(compared) - len(first)
    others = f"; and {rest} other metric{'' if rest == 1 else 's'}" if rest else ""
    tested = sum(metric.p is not None for metric in compared)
    adjusted = f", p adjusted for {tested} metric{'' if tested == 1 else 's'} (Holm)" if tested else ""
    of = f" clustered by {clusters}" if clusters else ""
    return f"{b} vs {a}, {paired:,} pairs: {told}{others}. Differences are {b} minus {a}, with 95% CIs{of}{adjusted}."
