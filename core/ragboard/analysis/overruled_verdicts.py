"""Recompute scores with annotators' labels in place of the judge's verdicts.

Annotators judge a statement against all passages together. So only metrics that use joint verdicts, such as
`ragas.faithfulness`, are recomputed, not metrics that use verdicts against single passages or the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragboard.analysis.means import MetricSummary, compute_mean, imputed_range
from ragboard.analysis.metrics import read_descriptions
from ragboard.analysis.runs import RunSummary
from ragboard.metrics import METRICS, Metric, compute_outcome, find_metric
from ragboard.metrics.needs import ExtractedStatements, JointVerdicts, JudgedStatements, Need, NeedResults, Statements
from ragboard.records import Label, MetricDescription, Outcome, Sample, Score, Verdict
from ragboard.stats import moments
from ragboard.stats.checks import FloatArray
from ragboard.store import RunRef, Store, read_samples
from ragboard.store.queries.clusters import sample_clusters
from ragboard.store.queries.labels import latest_verdicts
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import Positions, scores_except
from ragboard.store.queries.statements import JudgedStatement, answer_statements, judged_labels

__all__ = ["OverruledVerdicts", "is_verdict_based", "overruled_verdicts", "recompute_outcomes"]


@dataclass(frozen=True, kw_only=True)
class OverruledVerdicts:
    """How many of a run's verdicts annotators overruled, and the metrics recomputed with their labels.

    A verdict is overruled if the latest label of its statement differs from it.
    """

    labelled: int
    """Number of statements that have a label and a verdict."""
    overruled: int
    """Number of these statements whose latest label differs from the verdict."""
    metrics: Mapping[str, MetricSummary]
    """The recomputed metrics; empty if no verdict was overruled."""

    @property
    def in_words(self) -> str:
        """`4 overruled verdicts`."""
        return f"{self.overruled:,} overruled verdict{'' if self.overruled == 1 else 's'}"


def recompute_outcomes(
    sample: Sample, statements: Sequence[JudgedStatement], *, refuses: bool | None, specs: Sequence[str]
) -> Mapping[str, Outcome]:
    """Return {metric: outcome} with a sample's labels in place of its verdicts, for the metrics based on verdicts.

    Empty if no verdict was overruled, or if a statement has no verdict and no label.
    """
    if not any(statement.is_overruled for statement in statements):
        return {}
    final_verdicts = (
        Verdict(label=statement.human_verdict.label) if statement.human_verdict else statement.verdict
        for statement in statements
    )
    verdicts = tuple(verdict for verdict in final_verdicts if verdict)
    if len(verdicts) < len(statements):
        return {}
    texts = tuple(statement.statement for statement in statements)
    results: dict[Need[Any], object] = {
        JointVerdicts(): JudgedStatements(side="response", statements=texts, verdicts=verdicts, refuses=refuses),
        Statements(): ExtractedStatements(side="response", statements=texts, refuses=refuses),
    }
    return {metric.spec: compute_outcome(metric, sample, NeedResults(results)) for metric in _verdict_based(specs)}


def overruled_verdicts(store: Store, run: RunSummary) -> OverruledVerdicts:
    """Compare the labels of a run with the judge's verdicts, and recompute the means of the metrics that change."""
    judged = run.judged
    if judged is None:
        return OverruledVerdicts(labelled=0, overruled=0, metrics={})
    with store.database.read() as connection:
        labels = latest_verdicts(connection, judged.evaluation_id)
        both = _verdicts_and_labels(connection, judged.evaluation_id, labels)
        overruled = {key for key, (verdict, label) in both.items() if verdict != label}
        ref = RunRef(run_id=run.run_id, name=run.name, evaluation_id=judged.evaluation_id)
        metrics = _recomputed_means(connection, ref, run, sorted({position for position, _ in overruled}))
    return OverruledVerdicts(labelled=len(both), overruled=len(overruled), metrics=metrics)


def _verdicts_and_labels(
    connection: Connection, evaluation_id: str, labels: Mapping[tuple[int, int], Label]
) -> dict[tuple[int, int], tuple[Label, Label]]:
    """Return {(position, number): (judge's verdict, label)} for statements that have both."""
    if not labels:
        return {}
    verdicts = judged_labels(connection, evaluation_id, list({position for position, _ in labels}))
    return {key: (verdict, labels[key]) for key, verdict in verdicts.items() if key in labels}


def _recomputed_means(
    connection: Connection, ref: RunRef, run: RunSummary, positions: Sequence[int]
) -> dict[str, MetricSummary]:
    """Return the recomputed means of metrics. `positions` are the samples with an overruled verdict."""
    specs = tuple(
        spec
        for spec, summary in run.metrics.items()
        if summary.judged and summary.judged.evaluation_id == ref.evaluation_id
    )
    outcomes = {position: _recompute_sample(connection, ref, position, specs) for position in positions}
    metrics = read_descriptions(connection)
    clusters = sample_clusters(connection, ref.run_id)
    means: dict[str, MetricSummary] = {}
    for spec in dict.fromkeys(spec for by_spec in outcomes.values() for spec in by_spec):
        changed = {position: by_spec[spec] for position, by_spec in outcomes.items() if spec in by_spec}
        scored, values = _values(connection, ref, spec, changed)
        if np.isnan(values).all():
            continue
        cluster_ids = clusters.ids[scored] if clusters else None
        means[spec] = _with_values(run.metrics[spec], metrics.get(spec), values, cluster_ids)
    return means


def _with_values(
    summary: MetricSummary, metric: MetricDescription | None, values: FloatArray, cluster_ids: Positions | None
) -> MetricSummary:
    """Recompute a metric's mean from these values (NaN if unscored), under the same policy for unscored samples."""
    scored = ~np.isnan(values)
    fill = imputed_range(metric, summary.policy)
    fills = fill if isinstance(fill, tuple) else ()
    all_clusters = None if cluster_ids is None else cluster_ids.tolist()
    scored_clusters = None if cluster_ids is None else cluster_ids[scored].tolist()
    filled = [moments(np.nan_to_num(values, nan=value), all_clusters) for value in fills]
    unscored = int(np.sum(~scored))
    mean = compute_mean(metric, moments(values[scored], scored_clusters), summary.policy, unscored, filled)
    return replace(
        summary,
        scored=int(np.sum(scored)),
        mean=mean.mean,
        interval=mean.interval,
        bounds=mean.bounds,
        note=mean.note,
        threshold=None,
        threshold_status=None,
    )


def _values(
    connection: Connection, ref: RunRef, spec: str, changed: Mapping[int, Outcome]
) -> tuple[Positions, FloatArray]:
    """Return positions and values of a metric, with the outcomes in `changed` (NaN if unscored) in place of scores."""
    unchanged = scores_except(connection, ref.evaluation_id or "", spec, changed)
    replaced = [outcome.value if isinstance(outcome, Score) else np.nan for outcome in changed.values()]
    return (
        np.concatenate([unchanged.positions, np.array(list(changed), dtype=np.int64)]),
        np.concatenate([unchanged.values, np.array(replaced, dtype=np.float64)]),
    )


def _recompute_sample(
    connection: Connection, ref: RunRef, position: int, specs: Sequence[str]
) -> Mapping[str, Outcome]:
    ((_, sample),) = read_samples(connection, ref.run_id, position, position + 1)
    statements, refuses = answer_statements(connection, ref.evaluation_id, position)
    return recompute_outcomes(sample, statements, refuses=refuses, specs=specs)


def is_verdict_based(spec: str) -> bool:
    """Return whether a metric is computed only from joint verdicts on the answer's statements."""
    return bool(_verdict_based([spec]))


def _verdict_based(specs: Sequence[str]) -> tuple[Metric, ...]:
    """Return the metrics among `specs` that are computed only from joint verdicts on the answer's statements."""
    metrics = (find_metric(spec, METRICS) for spec in specs)
    allowed: set[Need[Any]] = {JointVerdicts(), Statements()}
    return tuple(
        metric for metric in metrics if metric and JointVerdicts() in metric.needs() and allowed >= {*metric.needs()}
    )
