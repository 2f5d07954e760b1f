"""A run's true mean, estimated from people's labels of a random part of it and a judge's scores of all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.gates import spec_named
from ragboard.analysis.metrics import described, in_order
from ragboard.analysis.runs import RunSummary, run_summary
from ragboard.errors import SettingError
from ragboard.human.annotation import LabelledSamples, Measured, draw_of, labelled_samples
from ragboard.human.systems import System, SystemsReport, systems_report
from ragboard.readers.labels import SamplingDesign
from ragboard.records import MetricDescription
from ragboard.stats import FEWEST_LABELS, LabelsNeeded, labels_needed
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import judge_scores, other_evaluations, positions_to_label
from ragboard.store.queries.evaluations import JudgedBy

__all__ = [
    "Estimated",
    "Estimates",
    "Measured",
    "estimate_runs",
    "estimated_metrics",
    "judged_by",
    "judged_scores",
    "metric_of",
    "needed_for",
    "not_random",
]


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """Where one run's estimate comes from."""

    run: str
    judged: JudgedBy
    labels: LabelledSamples
    left_out: int
    """Complete samples behind the first incomplete one of the draw, and labelled ones without a score."""
    system: System


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """One or several runs, estimated from the same kind of labels with the same metric."""

    metric: str
    label: str
    """How pages call it."""
    measured: Measured
    sources: tuple[Estimated, ...]
    report: SystemsReport


def estimate_runs(
    store: Store,
    runs: Sequence[RunRef],
    *,
    metric: str = "ragas.faithfulness",
    measured: Measured = "verdicts",
    level: float = 0.95,
) -> Estimates:
    """Estimate what people would say of all of each run.

    The labels are those of the random queue of the same evaluation, up to the first drawn sample that is not
    labelled in full; without a draw, imported ones whose design was declared random. The judge's metric may be any
    from 0 to 1 that is higher for the better, as labels are: it makes the interval narrower and does not change what
    is estimated. Raises SettingError for a metric that a run does not have, or not with the
    same settings.
    """
    summaries = {run: run_summary(store, run) for run in runs}
    meant = metric_of(store, tuple(summaries.values()), metric)
    sources = tuple(_source(store, run, one, meant.spec, measured) for run, one in summaries.items())
    return Estimates(
        metric=meant.spec,
        label=meant.label,
        measured=measured,
        sources=sources,
        report=systems_report([source.system for source in sources], level=level),
    )


def estimated_metrics(store: Store, run: RunRef) -> tuple[MetricDescription, ...]:
    """The metrics of an evaluation that an estimate can lean on: from 0 to 1 and higher for the better."""
    with store.database.read() as connection:
        known = described(connection)
    specs = in_order(run_summary(store, run).metrics)
    return tuple(known[spec] for spec in specs if spec in known and _like_labels(known[spec]))


def metric_of(store: Store, runs: Sequence[RunSummary], metric: str) -> MetricDescription:
    """The one that a name means in all of these runs. Raises SettingError if there is none that is like labels."""
    with store.database.read() as connection:
        known = described(connection)
    spec, *others = dict.fromkeys(spec_named(metric, tuple(one.metrics)) for one in runs)
    if others:
        raise SettingError(f"{metric!r} is {spec} of one run and {others[0]} of another; name one of them")
    if spec not in known or not _like_labels(known[spec]):
        raise SettingError(f"{spec} is not from 0 to 1 and higher for the better, as labels are; name one that is")
    return known[spec]


def needed_for(estimated: Estimated, width: float) -> LabelsNeeded | None:
    """How many labels would make the interval so narrow; None with fewer labels than such a plan can rest on.

    Raises ValueError for a width that is not above 0.
    """
    system = estimated.system
    if len(system.labels) < FEWEST_LABELS or system.refusal:
        return None
    labels, judged, rest = system.arrays()
    return labels_needed(labels, judged, rest, width=width) if len(rest) > 1 else None


def _source(store: Store, run: RunRef, summary: RunSummary, spec: str, measured: Measured) -> Estimated:
    """The judge's scores and people's labels of one run, or why these must not be used."""
    judged = summary.metrics[spec].judged or judged_by(summary)
    found = _labelled(store, run, measured)
    scores, unscored = judged_scores(store, run, spec, measured)
    usable = [row for row in (found.leading if found.draw else found.rows) if row.position in scores]
    refusal = ""
    if found.rows and found.design != "random":
        refusal = not_random(len(found.rows), found.design)
    elif not found.rows and not found.draw:
        refusal = _nobody_labelled(store, run, measured)
    elif not usable and found.draw:
        refusal = "no sample is labelled in full yet, from the first of the draw on: Annotate, the random queue"
    elif not usable:
        refusal = "the judge has no score of any sample that is labelled"
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
            *_notes(store, run, found, measured),
        ),
    )
    return Estimated(run=run.name, judged=judged, labels=found, left_out=len(found.rows) - len(usable), system=system)


def judged_by(run: RunSummary) -> JudgedBy:
    """Who judged a run. Raises SettingError if nobody did."""
    if run.judged is None:
        raise SettingError(f"{run.name} was never evaluated; ragboard evaluate {run.name}")
    return run.judged


def judged_scores(
    store: Store, run: RunRef, spec: str, measured: str, *, filed: bool = False
) -> tuple[dict[int, tuple[str, float]], tuple[str, ...]]:
    """By place the key and the judge's score of each sample that could be labelled so; what to know of the others.

    Labels that are `filed` are of whole answers, those on statements too: without statements any answer has them.
    """
    with store.database.read() as connection:
        could = set(positions_to_label(connection, run, "verdict" if measured == "verdicts" else "grade"))
        if filed and not could:
            could = set(positions_to_label(connection, run, "grade"))
        scores = {place: one for place, one in judge_scores(connection, run, spec).items() if place in could}
    left = len(could) - len(scores)
    said = f"{left:,} of {len(could):,} samples have no score: estimates leave them out, whatever is chosen for means"
    return scores, ((said,) if left else ())


def _labelled(store: Store, run: RunRef, measured: Measured) -> LabelledSamples:
    """The labels of the random queue; without a draw the imported ones, if there are any."""

    def labels_of(queue: Literal["random", "imported"]) -> LabelledSamples:
        if measured == "verdicts":
            return labelled_samples(store, run, queue)
        return labelled_samples(store, run, queue, kind="grade", dimension=measured)

    drawn = labels_of("random")
    imported = None if drawn.draw else labels_of("imported")
    return imported if imported and imported.rows else drawn


def _nobody_labelled(store: Store, run: RunRef, measured: Measured) -> str:
    """That there are no labels, or are some of another evaluation of the run that samples were drawn for."""
    with store.database.read() as connection:
        others = other_evaluations(connection, run) if measured == "verdicts" else ()
    for judge, evaluation in others:
        if draw_of(store, RunRef(run_id=run.run_id, name=run.name, evaluation_id=evaluation)):
            return (
                f"the labels are of the statements that {judge} ({run.name}@{evaluation}) found; estimate with that"
                " evaluation, or label this one"
            )
    return "nobody has labelled a random sample of this run yet"


def not_random(count: int, design: SamplingDesign) -> str:
    """Why nothing is estimated from labels that were not declared random."""
    chosen = "not drawn at random" if design == "not random" else "chosen in a way nobody declared"
    return f"the {count} labelled samples were {chosen}: nothing follows from them for the others"


def _notes(store: Store, run: RunRef, found: LabelledSamples, measured: Measured) -> Iterator[str]:
    """What to know of the labels that were found."""
    behind = len(found.rows) - len(found.leading)
    if found.draw and behind:
        yield (
            f"{behind:,} labelled samples stand in the draw behind one that is not labelled in full: until that is"
            " done they do not count, for what is passed over may be what is hard"
        )
    if found.rows and not found.draw and found.design == "random":
        yield "the labels were imported; that they are a random sample is what the import declared"
    with store.database.read() as connection:
        could = len(positions_to_label(connection, run, "verdict" if measured == "verdicts" else "grade"))
    if found.draw and found.population < could:
        yield (
            f"the labelled samples were drawn when {found.population:,} could be; {could:,} can be now, and of the"
            " others none had a chance: draw more with the same seed"
        )


def _like_labels(metric: MetricDescription) -> bool:
    return (metric.low, metric.high, metric.direction) == (0, 1, "higher")
