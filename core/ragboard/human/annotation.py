"""Annotation: draw random samples to label, list an annotator's queue, and collect the labels."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from ragboard.errors import SettingError
from ragboard.human.labels import GRADES
from ragboard.readers.labels import SamplingDesign
from ragboard.stats import cohen_kappa
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import (
    SampleDraw,
    VerdictsByStatement,
    count_samples_to_label,
    disagreements,
    graded_samples,
    judge_verdicts,
    label_times,
    labelled_verdicts,
    largest_draw,
    partners,
    positions_to_label,
    queue_progress,
    samples_with_verdicts,
    statement_counts,
    store_draw,
)
from ragboard.store.queries.labels import LabelKind, LabelQueue
from ragboard.tasks import Quality

__all__ = [
    "AnnotationQueue",
    "Batch",
    "Kappa",
    "LabelledQuantity",
    "LabelledSample",
    "LabelledSamples",
    "QueueItem",
    "annotation_queue",
    "annotator_agreement",
    "draw_samples",
    "find_draw",
    "labelled_samples",
    "plan_batch",
]

BATCH_MINUTES = 20
"""Target time to label a batch of random samples, in minutes."""
SECONDS_PER_LABEL: Mapping[LabelKind, float] = {"verdict": 30.0, "grade": 60.0, "preference": 90.0}
"""Assumed seconds per label, until the annotator's pace is measured."""
MIN_GAPS = 10
"""Minimum number of gaps between labels from which an annotator's pace is computed."""
BREAK_SECONDS = 300.0
"""Longer gaps between labels, in seconds, are breaks and do not count in the pace."""

LabelledQuantity: TypeAlias = Literal["verdicts", Quality]
"""What annotators label: verdicts on all statements, or grades of a quality."""


@dataclass(frozen=True, kw_only=True)
class QueueItem:
    """A sample in an annotation queue."""

    sample_id: str
    position: int
    required: int
    """Number of labels that the sample needs: one per statement, or one per answer or pair."""
    labelled: int
    """How many of the required labels the annotator has given in this queue."""
    reason: str = ""
    """Why the sample is in the disagreement queue; empty in other queues."""
    other_id: str = ""
    """For a pair, the id of the sample of the other run."""
    swapped: bool = False
    """For a pair, whether the other run's answer is shown first. Random, but fixed for an annotator and a sample."""

    @property
    def done(self) -> bool:
        """Whether the annotator has given all required labels."""
        return self.labelled >= self.required


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch of random samples to label: its size and the expected time."""

    samples: int
    labels: int
    """Expected number of labels that the samples need."""
    population: int
    """Number of samples that can be drawn."""
    seconds_per_label: float
    """Assumed, not measured."""

    @property
    def minutes(self) -> int:
        """Expected minutes for the batch, at least 1."""
        return max(1, round(self.labels * self.seconds_per_label / 60))


@dataclass(frozen=True, kw_only=True)
class AnnotationQueue:
    """The samples for one annotator to label, in order."""

    kind: LabelKind
    items: tuple[QueueItem, ...]
    draw: SampleDraw | None
    """The random draw that the queue shows; None for the disagreement queue, and before the first draw."""
    seconds: float
    """Seconds per label: the annotator's mean without breaks, or an assumption."""
    measured: bool
    """Whether `seconds` is measured; False if it is an assumption."""

    @property
    def next_item(self) -> QueueItem | None:
        """The first item that the annotator has not finished; None if all are finished."""
        return next((item for item in self.items if not item.done), None)

    @property
    def labelled(self) -> int:
        """Number of required labels that the annotator has given."""
        return sum(min(item.labelled, item.required) for item in self.items)

    @property
    def required(self) -> int:
        """Number of labels that the samples of the queue need."""
        return sum(item.required for item in self.items)

    @property
    def in_words(self) -> str:
        """Progress: `12 of 40 statements, about 9 minutes left`."""
        unit = {"verdict": "statements", "grade": "answers", "preference": "pairs"}[self.kind]
        remaining = self.required - self.labelled
        time_left = f", {_time_left(remaining * self.seconds)}" if remaining else ""
        return f"{self.labelled:,} of {self.required:,} {unit}{time_left}"

    @property
    def pace(self) -> str:
        """For example `22 seconds per statement, your pace so far`."""
        unit = {"verdict": "statement", "grade": "answer", "preference": "pair"}[self.kind]
        return f"{self.seconds:.0f} seconds per {unit}, {'your pace so far' if self.measured else 'an assumption'}"


def _time_left(seconds: float) -> str:
    """Format a duration in words, rounded to minutes, five minutes or hours."""
    minutes = seconds / 60
    if minutes < 1.5:
        return "about a minute left"
    if minutes > 90:
        return f"about {minutes / 60:.0f} hours left"
    return f"about {minutes if minutes < 10 else 5 * round(minutes / 5):.0f} minutes left"


@dataclass(frozen=True, kw_only=True)
class Kappa:
    """Cohen's kappa of an annotator with another annotator or the judge, on samples that the annotator has finished."""

    first: str
    second: str
    n: int
    """Number of statements that both labelled."""
    kappa: float | None
    """Kappa over the three verdicts: 1 is perfect agreement, 0 is chance level; None if undefined."""
    reason: str = ""
    """Why kappa is undefined; empty if it is defined."""

    @property
    def in_words(self) -> str:
        """For example `kappa with bob 0.62 on 31 statements`."""
        text = (
            f"no kappa with {self.second} yet" if self.kappa is None else f"kappa with {self.second} {self.kappa:.2f}"
        )
        return f"{text} on {self.n:,} statement{'' if self.n == 1 else 's'}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledSample:
    """A sample whose labels are complete: all its statements have a label, or the answer has a grade."""

    sample_id: str
    position: int
    """Its position in the run, from 0."""
    draw_number: int
    """Its number in the draw, from 1; 0 if it was not drawn."""
    outcome: float
    """In [0, 1], higher is better. For verdicts, the share of supported statements (a statement on which annotators
    differ counts in part); for grades, the mean grade, rescaled from 1-5 to 0-1."""
    annotators: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledSamples:
    """The samples whose labels are complete, and how they were selected."""

    rows: tuple[LabelledSample, ...]
    """In the order of the draw; for imported labels, in the order of the run."""
    design: SamplingDesign
    """`random` if ragboard drew the samples; else the design that the imported labels declare, or `unknown` if their
    designs differ."""
    draw: SampleDraw | None
    """The random draw that the samples are from; None for imported labels, and before the first draw."""
    population: int
    """Number of samples of the run that could have been drawn."""
    skipped: int
    """Number of incomplete samples before the last complete sample of the draw. They may be harder than the others;
    then the complete samples are not a random sample, but `leading` always is."""

    @property
    def leading(self) -> tuple[LabelledSample, ...]:
        """The complete samples before the first incomplete sample of the draw. They are a random sample."""
        return tuple(row for number, row in enumerate(self.rows, 1) if row.draw_number == number)


def draw_samples(
    store: Store, run: RunRef, *, size: int, seed: int = 0, kind: LabelKind = "verdict", against: RunRef | None = None
) -> SampleDraw:
    """Draw random samples of a run to label, or extend an earlier draw to `size`, and store the draw.

    For preferences, `against` is the other run. Raises SettingError if no sample can be drawn, and if an earlier draw
    of the same kind has another seed: users could otherwise choose the draw whose result they like.
    """
    if size < 1:
        raise SettingError(f"the size of a draw is {size}; expected at least 1")
    with store.database.write() as connection:
        earlier = largest_draw(connection, run, kind, against)
        if earlier and earlier.seed != seed:
            raise SettingError(
                f"the earlier draw from {run.name} has seed {earlier.seed}; use the same seed to draw more"
            )
        population = positions_to_label(connection, run, kind, against)
        if not population:
            raise SettingError(f"run {run.name!r} has no samples that can be labelled like this; evaluate it first")
        if earlier and size <= len(earlier.positions):
            return earlier
        order = random.Random(seed).sample(population, len(population))  # noqa: S311 - a draw, not a secret
        store_draw(connection, run, kind, against, seed=seed, population=len(population), positions=order[:size])
        drawn = largest_draw(connection, run, kind, against)
    assert drawn  # noqa: S101 - it was just stored
    return drawn


def plan_batch(store: Store, run: RunRef, kind: LabelKind = "verdict", against: RunRef | None = None) -> Batch:
    """Compute the size of a batch that takes about 20 minutes to label, from the mean number of statements per answer.

    The size must not depend on which samples are drawn: a batch that stops at a number of statements is not a random
    sample.
    """
    with store.database.read() as connection:
        population, labels = count_samples_to_label(connection, run, kind, against)
    mean = labels / population if population else 1.0
    size = min(population, max(1, round(BATCH_MINUTES * 60 / (SECONDS_PER_LABEL[kind] * mean))))
    return Batch(
        samples=size, labels=round(size * mean), population=population, seconds_per_label=SECONDS_PER_LABEL[kind]
    )


def find_draw(
    store: Store, run: RunRef, kind: LabelKind = "verdict", against: RunRef | None = None
) -> SampleDraw | None:
    """Return the draw for this kind of label; None if nothing was drawn yet."""
    with store.database.read() as connection:
        return largest_draw(connection, run, kind, against)


def annotation_queue(
    store: Store,
    run: RunRef,
    queue: LabelQueue,
    *,
    annotator: str,
    kind: LabelKind = "verdict",
    dimension: Quality = "faithfulness",
    against: RunRef | None = None,
) -> AnnotationQueue:
    """Return the samples for an annotator to label, in the order of the draw, or largest disagreement first."""
    with store.database.read() as connection:
        draw = largest_draw(connection, run, kind, against) if queue == "random" else None
        reasons: dict[int, str] = {}
        if queue == "disagreement":
            reasons = disagreements(connection, run)
        order = draw.positions if draw else tuple(reasons)
        others = partners(connection, run, against) if against else {}
        if against:
            order = tuple(position for position in order if position in others)
        rows = queue_progress(connection, run, order, queue, annotator.strip(), kind, dimension, against, others)
        times = label_times(connection, run, queue, annotator.strip(), kind)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    working = [gap for gap in gaps if gap <= BREAK_SECONDS]
    measured = len(working) >= MIN_GAPS
    items = {
        position: QueueItem(
            sample_id=sample_id,
            position=position,
            required=required,
            labelled=labelled,
            reason=reasons.get(position, ""),
            other_id=others.get(position, ""),
            swapped=random.Random(f"{annotator}\0{sample_id}").random() < 0.5,  # noqa: S311 - a coin, not a secret
        )
        for position, sample_id, required, labelled in rows
    }
    return AnnotationQueue(
        kind=kind,
        items=tuple(items[position] for position in order if position in items),
        draw=draw,
        seconds=sum(working) / len(working) if measured else SECONDS_PER_LABEL[kind],
        measured=measured,
    )


def labelled_samples(
    store: Store,
    run: RunRef,
    queue: Literal["random", "imported"] = "random",
    *,
    kind: Literal["verdict", "grade"] = "verdict",
    dimension: Quality = "faithfulness",
) -> LabelledSamples:
    """Return the completely labelled samples of a run, in draw order. Only labels given in `queue` count.

    With kind `verdict`, a sample is complete if all its statements in the evaluation of `run` have a label. With
    `grade`, it is complete if its answer has a grade in `dimension`. The result for the random queue is empty
    until samples are drawn from this run or, for verdicts, from this evaluation.
    """
    with store.database.read() as connection:
        draw = largest_draw(connection, run, kind) if queue == "random" else None
        population = draw.population if draw else count_samples_to_label(connection, run, kind).samples
        if kind == "verdict":
            rows = samples_with_verdicts(connection, run, queue)
        else:
            rows = graded_samples(connection, run, queue, dimension, low=GRADES[0], high=GRADES[1])
    complete = {position: (sample_id, outcome, who) for position, sample_id, outcome, who, _ in rows}
    if queue == "random":
        numbered = enumerate(draw.positions if draw else (), 1)
        draw_numbers = {position: number for number, position in numbered if position in complete}
    else:
        draw_numbers = dict.fromkeys(complete, 0)
    samples: list[LabelledSample] = []
    for position, number in draw_numbers.items():
        sample_id, outcome, annotators = complete[position]
        samples.append(
            LabelledSample(
                sample_id=sample_id,
                position=position,
                draw_number=number,
                outcome=outcome,
                annotators=tuple(annotators),
            )
        )
    designs = {design for *_, row_designs in rows for design in row_designs}
    declared: SamplingDesign = (
        "random" if designs == {"random"} else "not random" if designs == {"not random"} else "unknown"
    )
    return LabelledSamples(
        rows=tuple(samples),
        design="random" if queue == "random" else declared,
        draw=draw,
        population=population,
        skipped=samples[-1].draw_number - len(samples) if samples and queue == "random" else 0,
    )


def annotator_agreement(store: Store, run: RunRef, queue: LabelQueue, *, annotator: str) -> tuple[Kappa, ...]:
    """Compute Cohen's kappa of an annotator with the judge and with each other annotator.

    Only samples that the annotator has finished count.
    """
    with store.database.read() as connection:
        labelled = labelled_verdicts(connection, run, queue)
        by_annotator = labelled.get(annotator, {})
        label_counts = Counter(position for position, _ in by_annotator)
        counts = statement_counts(connection, run, list(label_counts))
        finished = {position for position, count in counts.items() if label_counts[position] == count}
        judge = judge_verdicts(connection, run, list(finished))
    finished_labels: VerdictsByStatement = {key: label for key, label in by_annotator.items() if key[0] in finished}
    others = {"the judge": judge} | {name: labelled[name] for name in sorted(labelled) if name != annotator}
    kappas = (_kappa(annotator, finished_labels, name, verdicts) for name, verdicts in others.items())
    return tuple(kappa for kappa in kappas if kappa.n)


def _kappa(first: str, verdicts: VerdictsByStatement, second: str, others: VerdictsByStatement) -> Kappa:
    both = sorted(verdicts.keys() & others.keys())
    if not both:
        return Kappa(first=first, second=second, n=0, kappa=None, reason="no statement in common")
    try:
        kappa = cohen_kappa([verdicts[key] for key in both], [others[key] for key in both])
    except ValueError as error:
        return Kappa(first=first, second=second, n=len(both), kappa=None, reason=str(error))
    return Kappa(first=first, second=second, n=len(both), kappa=kappa)
