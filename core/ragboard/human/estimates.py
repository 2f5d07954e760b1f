"""Estimate the mean label of a run from a judge's scores of all samples and labels of randomly drawn samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.gates import resolve_spec
from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.analysis.runs import RunSummary, run_summary
from ragboard.errors import SettingError
from ragboard.human.annotation import LabelledQuantity, LabelledSamples, draw_of, labelled_samples
from ragboard.human.systems import System, SystemsReport, systems_report
from ragboard.readers.labels import SamplingDesign
from ragboard.records import MetricDescription
from ragboard.stats import MIN_LABELS, LabelsNeeded, labels_needed
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import judge_scores, other_evaluations, positions_to_label
from ragboard.store.queries.evaluations import JudgedBy

__all__ = [
    "Estimates",
    "LabelledQuantity",
    "RunEstimate",
    "estimate_runs",
    "estimated_metrics",
    "find_metric",
    "judged_by",
    "judged_scores",
    "needed_for",
    "not_random",
]


@dataclass(frozen=True, kw_only=True)
class RunEstimate:
    """The scores and labels of one run that an estimate is computed from."""

    run: str
    judged: JudgedBy
    labels: LabelledSamples
    left_out: int
    """Number of labelled samples that do not count: without a score, or after the draw's first incomplete sample."""
    system: System
    """The judge's scores and the labels that count."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Estimates for one or more runs, from one kind of labels and one metric."""

    metric: str
    label: str
    """The metric's name on pages."""
    measured: LabelledQuantity
    sources: tuple[RunEstimate, ...]
    report: SystemsReport


def estimate_runs(
    store: Store,
    runs: Sequence[RunRef],
    *,
    metric: str = "ragas.faithfulness",
    measured: LabelledQuantity = "verdicts",
    level: float = 0.95,
) -> Estimates:
    """Estimate the mean label, in [0, 1], that annotators would give to all samples of each run.

    Labels from the random queue are used, up to the first drawn sample that is not completely labelled; without a draw,
    imported labels that are declared random. `metric`: any metric in [0, 1] for which higher is better. It makes the
    interval narrower but does not change what is estimated. Raises SettingError for a metric that a run does not have,
    or that the runs have with different settings.
    """
    summaries = {run: run_summary(store, run) for run in runs}
    described_metric = find_metric(store, tuple(summaries.values()), metric)
    sources = tuple(_source(store, run, summary, described_metric.spec, measured) for run, summary in summaries.items())
    return Estimates(
        metric=described_metric.spec,
        label=described_metric.label,
        measured=measured,
        sources=sources,
        report=systems_report([source.system for source in sources], level=level),
    )


def estimated_metrics(store: Store, run: RunRef) -> tuple[MetricDescription, ...]:
    """List the metrics of a run that an estimate can use: in [0, 1], higher is better."""
    with store.database.read() as connection:
        descriptions = read_descriptions(connection)
    specs = in_order(run_summary(store, run).metrics)
    return tuple(descriptions[spec] for spec in specs if spec in descriptions and _on_label_scale(descriptions[spec]))


def find_metric(store: Store, runs: Sequence[RunSummary], metric: str) -> MetricDescription:
    """Return the description of the metric that a name refers to in all these runs.

    Raises SettingError if it has different settings in the runs, if it is not in [0, 1], or if higher is not better.
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


def needed_for(estimated: RunEstimate, width: float) -> LabelsNeeded | None:
    """Return the number of labels needed for an interval of this width; None if there are too few labels to predict it.

    Raises ValueError for a width that is not above 0.
    """
    system = estimated.system
    if len(system.labels) < MIN_LABELS or system.refusal:
        return None
    labels, judged, rest = system.arrays()
    return labels_needed(labels, judged, rest, width=width) if len(rest) > 1 else None


def _source(store: Store, run: RunRef, summary: RunSummary, spec: str, measured: LabelledQuantity) -> RunEstimate:
    """Collect the judge's scores and the labels of one run, or the reason why the labels cannot be used."""
    judged = summary.metrics[spec].judged or judged_by(summary)
    labels = _labels(store, run, measured)
    scores, unscored = judged_scores(store, run, spec, measured)
    usable = [row for row in (labels.leading if labels.draw else labels.rows) if row.position in scores]
    refusal = ""
    if labels.rows and labels.design != "random":
        refusal = not_random(len(labels.rows), labels.design)
    elif not labels.rows and not labels.draw:
        refusal = _why_no_labels(store, run, measured)
    elif not usable and labels.draw:
        refusal = (
            "the first sample of the random batch is not completely labelled yet; label the batch in order on the"
            " Annotate page"
        )
    elif not usable:
        refusal = "no labelled sample has a score of the judge"
    dependent = (
        f"the samples come from {summary.clustered} but are treated as independent, so the intervals are too narrow",
    )
    system = System(
        name=run.name,
        scores=dict(scores.values()),
        labels={scores[row.position][0]: row.outcome for row in usable},
        refusal=refusal,
        notes=(
            *unscored,
            *(dependent if summary.clustered and not refusal else ()),
            *_notes(store, run, labels, measured),
        ),
    )
    return RunEstimate(
        run=run.name, judged=judged, labels=labels, left_out=len(labels.rows) - len(usable), system=system
    )


def judged_by(run: RunSummary) -> JudgedBy:
    """Return the judge setup of a run's main evaluation. Raises SettingError if the run was never evaluated."""
    if run.judged is None:
        raise SettingError(f"{run.name} was never evaluated; run `ragboard evaluate {run.name}`")
    return run.judged


def judged_scores(
    store: Store, run: RunRef, spec: str, measured: str, *, from_file: bool = False
) -> tuple[dict[int, tuple[str, float]], tuple[str, ...]]:
    """Return a key and the judge's score of each sample that can be labelled, by position, and notes for the user.

    `from_file`: whether the labels are from a file; if so, all answers of a run without statements can be labelled.
    """
    with store.database.read() as connection:
        labelable = set(positions_to_label(connection, run, "verdict" if measured == "verdicts" else "grade"))
        if from_file and not labelable:
            labelable = set(positions_to_label(connection, run, "grade"))
        all_scores = judge_scores(connection, run, spec)
    scores = {position: score for position, score in all_scores.items() if position in labelable}
    unscored = len(labelable) - len(scores)
    note = f"{unscored:,} of {len(labelable):,} samples have no score; estimates always leave them out"
    return scores, ((note,) if unscored else ())


def _labels(store: Store, run: RunRef, measured: LabelledQuantity) -> LabelledSamples:
    """Return the labels of the random queue; without a draw, imported labels if there are any."""

    def labels_of(queue: Literal["random", "imported"]) -> LabelledSamples:
        if measured == "verdicts":
            return labelled_samples(store, run, queue)
        return labelled_samples(store, run, queue, kind="grade", dimension=measured)

    drawn = labels_of("random")
    imported = None if drawn.draw else labels_of("imported")
    return imported if imported and imported.rows else drawn


def _why_no_labels(store: Store, run: RunRef, measured: LabelledQuantity) -> str:
    """Return in words why there are no labels: no label was given, or all are for another evaluation of the run."""
    with store.database.read() as connection:
        others = other_evaluations(connection, run) if measured == "verdicts" else ()
    for judge, evaluation in others:
        if draw_of(store, RunRef(run_id=run.run_id, name=run.name, evaluation_id=evaluation)):
            return (
                f"the labels are for statements of another evaluation, {run.name}@{evaluation} by {judge};"
                " estimate with that evaluation, or label this one"
            )
    return "no randomly drawn samples of this run are labelled yet"


def not_random(count: int, design: SamplingDesign) -> str:
    """Return in words why labels that are not a random sample cannot be used."""
    problem = "were not drawn at random" if design == "not random" else "are not declared random"
    return f"the {count} labelled samples {problem}; an estimate needs a random sample"


def _notes(store: Store, run: RunRef, labels: LabelledSamples, measured: LabelledQuantity) -> Iterator[str]:
    """Yield notes on the labels."""
    later = len(labels.rows) - len(labels.leading)
    if labels.draw and later:
        yield (
            f"{later:,} labelled samples come after the first incomplete sample of the draw. They do not count until it"
            " is completely labelled, because skipped samples may be harder than the others"
        )
    if labels.rows and not labels.draw and labels.design == "random":
        yield "the labels were imported; the import declared them a random sample"
    with store.database.read() as connection:
        labelable = len(positions_to_label(connection, run, "verdict" if measured == "verdicts" else "grade"))
    if labels.draw and labels.population < labelable:
        yield (
            f"the labelled samples were drawn from {labels.population:,} samples, but {labelable:,} can be drawn now:"
            " draw more with the same seed to include new samples"
        )


def _on_label_scale(metric: MetricDescription) -> bool:
    return (metric.low, metric.high, metric.direction) == (0, 1, "higher")
