"""Where the loss of a run sits: questions, passages, and topics that lag behind the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.diagnosis.rules import (
    FAITHFULNESS,
    QUANTITIES,
    RECALL,
    RULES,
    UTILIZATION,
    Breakdown,
    Columns,
    Diagnosis,
    Figure,
    Finding,
    Look,
    NotEvaluated,
    PassageLoss,
    Quantity,
    QuestionLoss,
    Rule,
    Silence,
    Silent,
    TopicLoss,
    TopicsLookedAt,
    measure,
    metric_for,
    read_columns,
)
from ragboard.analysis.distributions import columns
from ragboard.analysis.hallucinations import hallucination_groups, hallucinations
from ragboard.analysis.overruled import overruled
from ragboard.analysis.runs import run_summary
from ragboard.metrics import METRICS
from ragboard.records import Label
from ragboard.stats import GroupDifference, Interval, NoInterval, ci_text, group_difference, holm
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters, sample_clusters
from ragboard.store.queries.samples import reference_count
from ragboard.store.queries.statements import HallucinationQuery
from ragboard.store.queries.statements import wrong_passages as most_wrong
from ragboard.store.queries.values import category_values

__all__ = [
    "Measured",
    "apply_rules",
    "caution_of",
    "command_for",
    "condition_of",
    "diagnose",
    "sentence_of",
    "topic_in_words",
    "topic_losses",
    "why_silent",
]


LISTED = 5
"""Questions and passages that are listed."""
FEWEST_IN_GROUP = 5
"""A group of fewer scored samples, or with fewer outside it, is not looked at."""
SIGNIFICANT = 0.05
LOSS_METRICS = ("ragchecker.f1", RECALL, FAITHFULNESS)
"""Metrics, all better high, by which topics are held against the rest."""


def question_losses(store: Store, run: RunRef) -> tuple[QuestionLoss, ...]:
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


def wrong_passages(store: Store, run: RunRef) -> tuple[PassageLoss, ...]:
    """The passages that supply most wrong statements; where that was not judged, those that contradict most."""
    with store.database.read() as connection:
        wrong = most_wrong(connection, run, LISTED)
    supplied = (
        PassageLoss(
            passage_id=one.passage_id,
            text=one.text,
            wrong=one.wrong,
            contradicted=0,
            sample_id=one.sample_id,
            look=None,
        )
        for one in wrong
    )
    return tuple(supplied) or tuple(_contradicts(store, run))


def _contradicts(store: Store, run: RunRef) -> Iterator[PassageLoss]:
    query = HallucinationQuery(runs=(run,), verdict="contradicted", limit=LISTED)
    for group in hallucination_groups(store, query, "passage").groups:
        if group.contradicted:
            yield PassageLoss(
                passage_id=group.passage_id,
                text=group.title,
                wrong=0,
                contradicted=group.contradicted,
                sample_id="",
                look=HallucinationQuery(runs=(run,), verdict="contradicted", passage=group.key),
            )


def topic_losses(
    scores: Columns, by_column: Mapping[str, NDArray[np.object_]], clusters: SampleClusters | None = None
) -> tuple[tuple[TopicLoss, ...], TopicsLookedAt]:
    """The groups whose mean lies below that of the rest, adjusted for all groups looked at; the worst first."""
    looked_at = [
        (by, value, spec, found)
        for spec in LOSS_METRICS
        if spec in scores
        for by, values in by_column.items()
        for value, found in _groups(scores[spec], values, clusters)
    ]
    adjusted = holm([found.p for *_, found in looked_at])
    worse = (
        TopicLoss(by=by, value=value, metric=spec, found=found, p=p, look=Breakdown(column=spec, by=by))
        for (by, value, spec, found), p in zip(looked_at, adjusted, strict=True)
        if p < SIGNIFICANT and isinstance(found.interval, Interval) and found.interval.high < 0
    )
    return tuple(sorted(worse, key=lambda one: one.found.difference)), TopicsLookedAt(
        groups=len(looked_at),
        metrics=tuple(dict.fromkeys(spec for _, _, spec, _ in looked_at)),
        columns=tuple(dict.fromkeys(by for by, _, _, _ in looked_at)),
    )


def _groups(
    scores: NDArray[np.float64], values: NDArray[np.object_], clusters: SampleClusters | None
) -> Iterator[tuple[str, GroupDifference]]:
    """Each value's samples against all others that have a value, where both are enough."""
    known = ~np.isnan(scores) & np.array([value is not None for value in values], dtype=np.bool_)
    for name in sorted(set(values[known])):
        inside, outside = known & (values == name), known & (values != name)
        if min(inside.sum(), outside.sum()) >= FEWEST_IN_GROUP:
            ours, others = (clusters.of[side].tolist() if clusters else None for side in (inside, outside))
            found = group_difference(
                scores[inside], scores[outside], bounds=(0.0, 1.0), clusters=ours, other_clusters=others
            )
            yield name, found


def condition_of(rule: Rule) -> str:
    """`Claim recall below 0.7`."""
    return f"{QUANTITIES[rule.quantity].label} {rule.side} {rule.limit:g}"


def command_for(found: Diagnosis) -> str:
    """The command that evaluates what silent rules wait for; empty where there is nothing to.

    Several metrics of one source are named by it: they take the same verdicts.
    """
    sources = Counter(spec.partition(".")[0] for spec in found.missing)
    names = dict.fromkeys(source if sources[source := spec.partition(".")[0]] > 1 else spec for spec in found.missing)
    return f"ragboard evaluate {quote(found.run)} --metrics {','.join(names)}" if names else ""


def caution_of(found: Diagnosis) -> str:
    """What its sentences rest on; empty where there is nothing to beware of."""
    said: list[str] = []
    if found.judged and found.judged.heuristic:
        said.append(f"Judged by {found.judged.judge}, which goes by rules of thumb: so do these sentences.")
    if found.overruled:
        said.append(f"Counted with the judge's verdicts; {found.overruled:,} of them were overruled by people.")
    return " ".join(said)


def sentence_of(rule: Rule, found: Interval) -> str:
    """What a rule says, with the estimate and its interval; of a difference below 0 how far below."""
    if rule.limit <= 0 and rule.side == "below":
        found = replace(found, estimate=-found.estimate, low=-found.high, high=-found.low)
    return rule.says.format(f"{found.estimate:.0%} ({ci_text(found, '.0%')})")


def why_silent(silent: Silent) -> str:
    """Why a rule said nothing."""
    if silent.state == "not evaluated":
        return f"not evaluated: {', '.join(silent.missing)}"
    interval = silent.figure.interval if silent.figure else None
    if isinstance(interval, NoInterval):
        return f"no interval: {interval.reason}"
    return silent.state


def topic_in_words(one: TopicLoss, label: str) -> str:
    """`topic = rivers: Faithfulness 0.41 against 0.72 of the others, -0.31, 95% CI -0.52 to -0.10, p = 0.012`."""
    found = one.found
    return (
        f"{one.by.removeprefix('metadata.')} = {one.value}: {label} {found.mean:.2f} against {found.mean_others:.2f} of"
        f" the others, {found.difference:+.2f}, {ci_text(found.interval, '+.2f')}, p = {one.p:.2g},"
        f" {found.n:,} of {found.n + found.others:,} samples"
    )


Measured = Mapping[str, Interval | NoInterval | NotEvaluated]
"""By the key of a quantity."""

TAKEN = tuple(dict.fromkeys([*LOSS_METRICS, *(name for one in QUANTITIES.values() for name in one.takes)]))


def diagnose(store: Store, run: RunRef) -> Diagnosis:
    """What one evaluation of a run suggests.

    A rule speaks only where the 95% CI of its quantity lies wholly beyond its limit, so at the limit itself it
    speaks falsely about once in 40; a topic is named only where its difference to the rest excludes 0 after Holm's
    correction for all groups looked at. Raises NotFoundError where the run is gone.
    """
    summary = run_summary(store, run)
    categories = columns(store, run).categories
    with store.database.read() as connection:
        references = reference_count(connection, run.run_id)
        there = read_columns(connection, run, summary.samples, TAKEN)
        by_column = {by: np.array(category_values(connection, run.run_id, by), dtype=np.object_) for by in categories}
        clusters = sample_clusters(connection, run.run_id)
    topics, looked_at = topic_losses(there, by_column, clusters)
    findings, silent = apply_rules(_measured(there, clusters), run)
    labels: Mapping[Label, int] = {}
    if summary.judged:
        labels = hallucinations(store, HallucinationQuery(runs=(run,), limit=0)).labels
    return Diagnosis(
        run=summary.name,
        judged=summary.judged,
        overruled=overruled(store, summary).overruled,
        samples=summary.samples,
        references=references,
        split=_split(references, there),
        findings=findings,
        silent=silent,
        missing=_missing(references, silent),
        loose=sum(count for label, count in labels.items() if label != "supported"),
        questions=question_losses(store, run) if labels else (),
        passages=wrong_passages(store, run) if labels else (),
        topics=topics,
        looked_at=looked_at,
    )


def apply_rules(
    measured: Measured, run: RunRef, rules: Sequence[Rule] = RULES
) -> tuple[tuple[Finding, ...], tuple[Silent, ...]]:
    """The rules that speak, and those that do not."""
    ruled = [_apply(rule, measured[rule.quantity], run) for rule in rules]
    findings = tuple(one for one in ruled if isinstance(one, Finding))
    return findings, tuple(one for one in ruled if isinstance(one, Silent))


def _measured(there: Columns, clusters: SampleClusters | None) -> Measured:
    return {key: _measure(quantity, there, clusters) for key, quantity in QUANTITIES.items()}


def _measure(
    quantity: Quantity, there: Columns, clusters: SampleClusters | None
) -> Interval | NoInterval | NotEvaluated:
    missing = dict.fromkeys(metric_for(name) for name in quantity.takes if name not in there)
    return NotEvaluated(metrics=tuple(missing)) if missing else measure(quantity, there, clusters)


def _apply(rule: Rule, found: Interval | NoInterval | NotEvaluated, run: RunRef) -> Finding | Silent:
    if isinstance(found, NotEvaluated):
        return Silent(rule=rule, state="not evaluated", figure=None, missing=found.metrics)
    figure = Figure(quantity=rule.quantity, label=QUANTITIES[rule.quantity].label, interval=found)
    if isinstance(found, Interval) and _beyond(rule, found):
        return Finding(rule=rule, sentence=sentence_of(rule, found), figure=figure, look=_of_run(rule.look, run))
    return Silent(rule=rule, state=_state(rule, found), figure=figure, missing=())


def _beyond(rule: Rule, found: Interval) -> bool:
    return found.high < rule.limit if rule.side == "below" else found.low > rule.limit


def _state(rule: Rule, found: Interval | NoInterval) -> Silence:
    if isinstance(found, NoInterval):
        return "no interval"
    holds = found.low <= rule.limit <= found.high
    return "the interval holds the limit" if holds else "within the limit"


def _of_run(look: Look, run: RunRef) -> Look:
    return replace(look, runs=(run,)) if isinstance(look, HallucinationQuery) else look


def _split(references: int, there: Columns) -> str:
    if not references:
        return (
            "The samples have no reference answers, so what the retriever lost and what the generator lost cannot be"
            " told apart; faithfulness, context relevance and refusals are hints only."
        )
    missing = [name for name in (RECALL, UTILIZATION) if name not in there]
    return f"To tell retriever from generator, evaluate {' and '.join(missing)}." if missing else ""


def _missing(references: int, silent: Sequence[Silent]) -> tuple[str, ...]:
    """The metrics that silent rules wait for; those that take a reference only where there is one."""
    names = dict.fromkeys(name for one in silent for name in one.missing)
    return tuple(name for name in names if references or "reference" not in METRICS[name].requires)
