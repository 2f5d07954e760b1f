"""Scores with people's verdicts in place of the judge's, counted by the metrics themselves.

A person judges a statement against all the passages together. So the metrics follow that count just that:
`ragas.faithfulness`, and any other that needs no more than the joint verdicts. Which single passage says
something, or what the reference says, nobody was asked: all other metrics stand as the judge left them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragboard.analysis.means import MetricSummary, fill_of, mean_of
from ragboard.analysis.metrics import described
from ragboard.analysis.paired import Floats
from ragboard.analysis.runs import RunSummary
from ragboard.metrics import METRICS, Metric, metric_of, outcome
from ragboard.metrics.needs import ExtractedStatements, Findings, JointVerdicts, JudgedStatements, Need, Statements
from ragboard.records import Label, MetricDescription, Outcome, Sample, Score, Verdict
from ragboard.stats import moments
from ragboard.store import RunRef, Store, read_samples
from ragboard.store.queries.clusters import sample_clusters
from ragboard.store.queries.labels import latest_verdicts
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import Places, kept_scores
from ragboard.store.queries.statements import JudgedStatement, answer_statements, judged_labels

__all__ = ["Overruled", "overruled", "recounted"]


@dataclass(frozen=True, kw_only=True)
class Overruled:
    """What people make of a run's verdicts on the passages together."""

    labelled: int
    """Statements that people gave a verdict on, and the judge too."""
    overruled: int
    """How many of them got another one than the judge's; where people differ, the latest counts."""
    metrics: Mapping[str, MetricSummary]
    """The metrics that follow, with these in place of the judge's; empty where nothing was overruled."""

    @property
    def in_words(self) -> str:
        """`4 overruled verdicts`."""
        return f"{self.overruled:,} overruled verdict{'' if self.overruled == 1 else 's'}"


def recounted(
    sample: Sample, said: Sequence[JudgedStatement], *, refuses: bool | None, specs: Sequence[str]
) -> Mapping[str, Outcome]:
    """The metrics that follow from people's verdicts, counted with them; none where nothing was overruled."""
    if not any(one.overruled for one in said):
        return {}
    verdicts = tuple(Verdict(label=one.by_people.label) if one.by_people else one.verdict for one in said)
    judged = tuple(verdict for verdict in verdicts if verdict)
    if len(judged) < len(said):
        return {}
    statements = tuple(one.statement for one in said)
    found: dict[Need[Any], object] = {
        JointVerdicts(): JudgedStatements(side="response", statements=statements, verdicts=judged, refuses=refuses),
        Statements(): ExtractedStatements(side="response", statements=statements, refuses=refuses),
    }
    return {metric.spec: outcome(metric, sample, Findings(found)) for metric in _following(specs)}


def overruled(store: Store, run: RunSummary) -> Overruled:
    """What people make of a run, and its means with their verdicts in place of the judge's."""
    judged = run.judged
    if judged is None:
        return Overruled(labelled=0, overruled=0, metrics={})
    with store.database.read() as connection:
        people = latest_verdicts(connection, judged.evaluation_id)
        both = _both(connection, judged.evaluation_id, people)
        other = {place for place, (ours, theirs) in both.items() if ours != theirs}
        ref = RunRef(run_id=run.run_id, name=run.name, evaluation_id=judged.evaluation_id)
        metrics = _means(connection, ref, run, sorted({position for position, _ in other}))
    return Overruled(labelled=len(both), overruled=len(other), metrics=metrics)


def _both(
    connection: Connection, evaluation_id: str, people: Mapping[tuple[int, int], Label]
) -> dict[tuple[int, int], tuple[Label, Label]]:
    """The judge's verdict and people's of each statement that has both."""
    if not people:
        return {}
    judges = judged_labels(connection, evaluation_id, list({position for position, _ in people}))
    return {key: (label, people[key]) for key, label in judges.items() if key in people}


def _means(connection: Connection, ref: RunRef, run: RunSummary, positions: Sequence[int]) -> dict[str, MetricSummary]:
    own = tuple(
        spec for spec, one in run.metrics.items() if one.judged and one.judged.evaluation_id == ref.evaluation_id
    )
    again = {position: _recount(connection, ref, position, own) for position in positions}
    known = described(connection)
    clusters = sample_clusters(connection, ref.run_id)
    found: dict[str, MetricSummary] = {}
    for spec in dict.fromkeys(spec for outcomes in again.values() for spec in outcomes):
        changed = {position: outcomes[spec] for position, outcomes in again.items() if spec in outcomes}
        places, values = _values(connection, ref, spec, changed)
        if np.isnan(values).all():
            continue
        together = clusters.of[places] if clusters else None
        found[spec] = _again(run.metrics[spec], known.get(spec), values, together)
    return found


def _again(
    judges: MetricSummary, metric: MetricDescription | None, values: Floats, together: Places | None
) -> MetricSummary:
    """The same mean over other values, NaN where unscored, the unscored counting as they did."""
    scored = ~np.isnan(values)
    fill = fill_of(metric, judges.policy)
    ends = fill if isinstance(fill, tuple) else ()
    every = None if together is None else together.tolist()
    seen = None if together is None else together[scored].tolist()
    filled = [moments(np.nan_to_num(values, nan=end), every) for end in ends]
    mean = mean_of(metric, moments(values[scored], seen), judges.policy, int(np.sum(~scored)), filled)
    return replace(
        judges,
        scored=int(np.sum(scored)),
        mean=mean.mean,
        interval=mean.interval,
        bounds=mean.bounds,
        note=mean.note,
        threshold=None,
        standing=None,
    )


def _values(connection: Connection, ref: RunRef, spec: str, changed: Mapping[int, Outcome]) -> tuple[Places, Floats]:
    """Positions and every score of a metric, the changed ones in place of the judge's; NaN where unscored."""
    kept = kept_scores(connection, ref.evaluation_id or "", spec, changed)
    ours = [one.value if isinstance(one, Score) else np.nan for one in changed.values()]
    return (
        np.concatenate([kept.positions, np.array(list(changed), dtype=np.int64)]),
        np.concatenate([kept.values, np.array(ours, dtype=np.float64)]),
    )


def _recount(connection: Connection, ref: RunRef, position: int, specs: Sequence[str]) -> Mapping[str, Outcome]:
    ((_, sample),) = read_samples(connection, ref.run_id, position, position + 1)
    said, refuses = answer_statements(connection, ref.evaluation_id, position)
    return recounted(sample, said, refuses=refuses, specs=specs)


def _following(specs: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics among these that joint verdicts on the answer decide, and nothing else."""
    known = (metric_of(spec, METRICS) for spec in specs)
    enough: set[Need[Any]] = {JointVerdicts(), Statements()}
    return tuple(
        metric for metric in known if metric and JointVerdicts() in metric.needs() and enough >= {*metric.needs()}
    )
