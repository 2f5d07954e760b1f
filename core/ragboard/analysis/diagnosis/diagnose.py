"""Apply the rules to a run, and find where its loss sits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ragboard.analysis.diagnosis.loss import LOSS_METRICS, question_losses, topic_losses, wrong_passages
from ragboard.analysis.diagnosis.nouns import Diagnosis, Figure, Finding, Look, NotEvaluated, Rule, Silence, Silent
from ragboard.analysis.diagnosis.quantities import (
    QUANTITIES,
    RECALL,
    UTILIZATION,
    Columns,
    Quantity,
    measure,
    metric_for,
    read_columns,
)
from ragboard.analysis.diagnosis.rules import RULES
from ragboard.analysis.diagnosis.words import sentence_of
from ragboard.analysis.distributions import columns
from ragboard.analysis.hallucinations import hallucinations
from ragboard.analysis.overruled import overruled
from ragboard.analysis.runs import run_summary
from ragboard.metrics import METRICS
from ragboard.records import Label
from ragboard.stats import Interval, NoInterval
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters, sample_clusters
from ragboard.store.queries.samples import reference_count
from ragboard.store.queries.statements import HallucinationQuery
from ragboard.store.queries.values import category_values

__all__ = ["Measured", "apply_rules", "diagnose"]

Measured = Mapping[str, Interval | NoInterval | NotEvaluated]
"""By the key of a quantity."""

TAKEN = tuple(dict.fromkeys([*LOSS_METRICS, *(name for one in QUANTITIES.values() for name in one.takes)]))


def diagnose(store: Store, run: RunRef) -> Diagnosis:
    """What one evaluation of a run suggests.

    A rule speaks only where the 95% interval of its quantity lies wholly beyond its limit, so at the limit itself it
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
