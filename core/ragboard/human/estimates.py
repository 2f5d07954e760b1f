"""Estimate the mean label of a run: a judge scores all samples, annotators label a random sample of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragboard.analysis.gates import resolve_spec
from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.analysis.runs import RunSummary, run_summary
from ragboard.errors import SettingError
from ragboard.human.annotation import LabelledQuantity, LabelledSamples, find_draw, labelled_samples
from ragboard.human.systems import Key, NumberedScores, System, SystemsReport, systems_report
from ragboard.readers.labels import SamplingDesign
from ragboard.records import MetricDescription
from ragboard.stats import MIN_LABELS, LabelsNeeded, labels_needed
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import (
    count_samples_to_label,
    judge_scores,
    other_evaluations,
    positions_to_label,
    question_numbers,
    scored_samples,
)
from ragboard.store.queries.evaluations import JudgedBy
from ragboard.store.queries.pairs import ask_the_same

__all__ = [
    "EstimateInputs",
    "Estimates",
    "LabelledQuantity",
    "estimate_runs",
    "estimated_metrics",
    "find_estimate_metric",
    "load_judge_scores",
    "main_judge_setup",
    "predict_labels_needed",
    "why_not_random",
]


@dataclass(frozen=True, kw_only=True)
class EstimateInputs:
    """The judge's scores and the labels of one run, from which its mean label is estimated."""

    run: str
    judged: JudgedBy
    labels: LabelledSamples
    left_out: int
    """Number of labelled samples that are not used: they have no score, or they come after the first incomplete sample
    of the draw."""
    system: System
    """The judge's scores and the labels that are used."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """The estimated mean labels of one or more runs, from one kind of labels and one metric."""

    metric: str
    metric_label: str
    """The metric's name on pages."""
    measured: LabelledQuantity
    inputs: tuple[EstimateInputs, ...]
    report: SystemsReport


def estimate_runs(
    store: Store,
    runs: Sequence[RunRef],
    *,
    metric: str = "ragas.faithfulness",
    measured: LabelledQuantity = "verdicts",
    level: float = 0.95,
    numbered: bool = False,
) -> Estimates:
    """Estimate the mean label, in [0, 1], that annotators would give to all samples of each run.

    Uses the labels of the random queue, up to the first drawn sample that is not completely labelled. If nothing was
    drawn, uses imported labels that are declared random. `metric` is any metric in [0, 1] for which higher is better. A
    better metric gives a narrower interval around the same mean. Raises SettingError if a run does not have the metric,
    or if the runs have it with different settings.

    With `numbered`, the scores and labels in `inputs` are by numbers of the samples instead of digests of their
    questions, which is much faster for large runs. The estimates are the same.
    """
    summaries = {run: run_summary(store, run) for run in runs}
    described_metric = find_estimate_metric(store, tuple(summaries.values()), metric)
    inputs = tuple(
        _collect_inputs(store, run, summary, described_metric.spec, measured, runs if numbered else None)
        for run, summary in summaries.items()
    )
    return Estimates(
        metric=described_metric.spec,
        metric_label=described_metric.label,
        measured=measured,
        inputs=inputs,
        report=systems_report([run_inputs.system for run_inputs in inputs], level=level),
    )


def estimated_metrics(store: Store, run: RunRef) -> tuple[MetricDescription, ...]:
    """List the metrics of a run that an estimate can use: in [0, 1], higher is better."""
    with store.database.read() as connection:
        descriptions = read_descriptions(connection)
    specs = in_order(run_summary(store, run).metrics)
    return tuple(descriptions[spec] for spec in specs if spec in descriptions and _on_label_scale(descriptions[spec]))


def find_estimate_metric(store: Store, runs: Sequence[RunSummary], metric: str) -> MetricDescription:
    """Find the metric with this name in all runs, and return its description.

    Raises SettingError if the metric has different settings in the runs, is not in [0, 1], or is better when lower.
    """
    with store.database.read() as connection:
        descriptions = read_descriptions(connection)
    spec, *others = dict.fromkeys(resolve_spec(metric, tuple(run.metrics)) for run in runs)
    if others:
        raise SettingError(
            f"{metric!r} is {spec} in one run and {others[0]} in another; give the full name of a metric that all have"
        )
    if spec not in descriptions or not _on_label_scale(descriptions[spec]):
        raise SettingError(f"{spec} cannot be used: estimates need a metric from 0 to 1 for which higher is better")
    return descriptions[spec]


def predict_labels_needed(inputs: EstimateInputs, width: float) -> LabelsNeeded | None:
    """Predict how many labels an interval of this width needs; None if there are too few labels for a prediction.

    Raises ValueError for a width that is not above 0.
    """
    system = inputs.system
    if len(system.labels) < MIN_LABELS or system.unusable_reason:
        return None
    labels, judged, rest = system.arrays()
    return labels_needed(labels, judged, rest, width=width) if len(rest) > 1 else None


def _collect_inputs(
    store: Store,
    run: RunRef,
    summary: RunSummary,
    spec: str,
    measured: LabelledQuantity,
    numbered: Sequence[RunRef] | None,
) -> EstimateInputs:
    """Load the judge's scores and the labels of one run. If the labels cannot be used, set `unusable_reason`.

    `numbered` are all runs if scores and labels are by number; None if they are by question.
    """
    judged = summary.metrics[spec].judged or main_judge_setup(summary)
    labels = _labels(store, run, measured)
    keys: Mapping[int, Key]
    scores: Mapping[Key, float]
    if numbered is not None:
        positions = [row.position for row in labels.rows]
        keys, scores, unscored = _numbered_scores(store, run, spec, measured, positions, numbered)
    else:
        found, unscored = load_judge_scores(store, run, spec, measured)
        keys, scores = {position: key for position, (key, _) in found.items()}, dict(found.values())
    usable = [row for row in (labels.leading if labels.draw else labels.rows) if row.position in keys]
    unusable_reason = ""
    if labels.rows and labels.design != "random":
        unusable_reason = why_not_random(len(labels.rows), labels.design)
    elif not labels.rows and not labels.draw:
        unusable_reason = _explain_missing_labels(store, run, measured)
    elif not usable and labels.draw:
        unusable_reason = (
            "the first sample of the random batch is not completely labelled yet; label the batch in order on the"
            " Annotate page"
        )
    elif not usable:
        unusable_reason = "no labelled sample has a score of the judge"
    clusters_note = (
        f"the samples come from {summary.clustered} but are treated as independent, so the intervals are too narrow",
    )
    system = System(
        name=run.name,
        scores=scores,
        labels={keys[row.position]: row.outcome for row in usable},
        unusable_reason=unusable_reason,
        notes=(
            *unscored,
            *(clusters_note if summary.clustered and not unusable_reason else ()),
            *_label_notes(store, run, labels, measured),
        ),
    )
    return EstimateInputs(
        run=run.name, judged=judged, labels=labels, left_out=len(labels.rows) - len(usable), system=system
    )


def main_judge_setup(run: RunSummary) -> JudgedBy:
    """Return the judge setup of a run's main evaluation. Raises SettingError if the run was never evaluated."""
    if run.judged is None:
        raise SettingError(f"{run.name} was never evaluated; run `ragboard evaluate {run.name}`")
    return run.judged


def load_judge_scores(
    store: Store, run: RunRef, spec: str, measured: str, *, from_file: bool = False
) -> tuple[dict[int, tuple[str, float]], tuple[str, ...]]:
    """Return {position: (question key, score)} of the samples that can be labelled, and notes for the user.

    With `from_file`, the labels are from a file. If the run has no statements, all its answers can then be labelled.
    """
    with store.database.read() as connection:
        labelable = set(positions_to_label(connection, run, _kind(measured)))
        if from_file and not labelable:
            labelable = set(positions_to_label(connection, run, "grade"))
        all_scores = judge_scores(connection, run, spec)
    scores = {position: score for position, score in all_scores.items() if position in labelable}
    return scores, _unscored_notes(len(scores), len(labelable))


def _numbered_scores(
    store: Store, run: RunRef, spec: str, measured: LabelledQuantity, labelled: Sequence[int], others: Sequence[RunRef]
) -> tuple[dict[int, Key], NumberedScores, tuple[str, ...]]:
    """Return {position: number} of the labelled samples, the scores of all samples by number, and notes for the user.

    If a sample of one of `others` has the same question, it has the same number, provided that both runs have labels.
    """
    with store.database.read() as connection:
        samples, _ = count_samples_to_label(connection, run, _kind(measured))
        positions, values = scored_samples(connection, run, spec, _kind(measured))
        if labelled and not ask_the_same(connection, [one.run_id for one in (run, *others)]):
            numbers = question_numbers(connection, run, positions)
        else:
            numbers = positions.astype(np.uint64)
    chosen = np.isin(positions, labelled)
    keys = dict(zip(positions[chosen].tolist(), numbers[chosen].tolist(), strict=True))
    return keys, NumberedScores(numbers, values), _unscored_notes(len(values), samples)


def _unscored_notes(scored: int, labelable: int) -> tuple[str, ...]:
    unscored = labelable - scored
    return (f"{unscored:,} of {labelable:,} samples have no score; estimates leave them out",) if unscored else ()


def _kind(measured: str) -> Literal["verdict", "grade"]:
    return "verdict" if measured == "verdicts" else "grade"


def _labels(store: Store, run: RunRef, measured: LabelledQuantity) -> LabelledSamples:
    """Return the labels of the random queue. If nothing was drawn, return imported labels, if there are any."""

    def labels_of(queue: Literal["random", "imported"]) -> LabelledSamples:
        if measured == "verdicts":
            return labelled_samples(store, run, queue)
        return labelled_samples(store, run, queue, kind="grade", dimension=measured)

    drawn = labels_of("random")
    imported = None if drawn.draw else labels_of("imported")
    return imported if imported and imported.rows else drawn


def _explain_missing_labels(store: Store, run: RunRef, measured: LabelledQuantity) -> str:
    """Explain why there are no labels: nobody labelled the run, or the labels belong to another of its evaluations."""
    with store.database.read() as connection:
        others = other_evaluations(connection, run) if measured == "verdicts" else ()
    for judge, evaluation in others:
        if find_draw(store, RunRef(run_id=run.run_id, name=run.name, evaluation_id=evaluation)):
            return (
                f"the labels are for statements of another evaluation, {run.name}@{evaluation} by {judge};"
                " estimate with that evaluation, or label this one"
            )
    return "no randomly drawn samples of this run are labelled yet"


def why_not_random(count: int, design: SamplingDesign) -> str:
    """Explain that the labels cannot be used because they are not from a random sample."""
    problem = "were not drawn at random" if design == "not random" else "are not declared random"
    return f"the {count} labelled samples {problem}; an estimate needs a random sample"


def _label_notes(store: Store, run: RunRef, labels: LabelledSamples, measured: LabelledQuantity) -> Iterator[str]:
    """Yield what the user should know about the labels: which are not used, and how they were selected."""
    later = len(labels.rows) - len(labels.leading)
    if labels.draw and later:
        yield (
            f"{later:,} labelled samples come after the first incomplete sample of the draw. They count once that"
            " sample is completely labelled, because skipped samples may be harder than the others"
        )
    if labels.rows and not labels.draw and labels.design == "random":
        yield "the labels were imported as a random sample"
    with store.database.read() as connection:
        labelable = count_samples_to_label(connection, run, _kind(measured)).samples if labels.draw else 0
    if labels.draw and labels.population < labelable:
        yield (
            f"the labelled samples were drawn from {labels.population:,} samples, but {labelable:,} can be drawn now:"
            " draw more with the same seed to include new samples"
        )


def _on_label_scale(metric: MetricDescription) -> bool:
    return (metric.low, metric.high, metric.direction) == (0, 1, "higher")
