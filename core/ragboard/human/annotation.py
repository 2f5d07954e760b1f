"""Samples to label: random draws, queues of what a person labels, what is labelled in full, and agreement."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragboard.errors import SettingError
from ragboard.human.labels import GRADES
from ragboard.readers.labels import SamplingDesign
from ragboard.stats import cohen_kappa
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import (
    Draw,
    VerdictsByPlace,
    disagreements,
    graded_samples,
    judge_verdicts,
    keep_draw,
    labelled_verdicts,
    newest_draw,
    partners,
    positions_to_label,
    queue_progress,
    samples_with_verdicts,
    statement_counts,
)
from ragboard.store.queries.labels import LabelKind, Queue
from ragboard.tasks import Quality

__all__ = [
    "AnnotationQueue",
    "Kappa",
    "LabelledSample",
    "LabelledSamples",
    "Measured",
    "QueueItem",
    "annotation_queue",
    "annotator_agreement",
    "draw_of",
    "draw_samples",
    "labelled_samples",
]

DISAGREEMENTS = 200
"""Samples of the disagreement queue at most, the largest first."""
APART = 0.3
"""So far apart two metrics of one name disagree."""

Measured: TypeAlias = Literal["verdicts", Quality]
"""What people labelled: verdicts on every statement, whose share supported is estimated, or grades in a quality."""


@dataclass(frozen=True, kw_only=True)
class QueueItem:
    """A sample to be labelled."""

    sample_id: str
    position: int
    wanted: int
    """Labels that it takes: one for each statement; one for a whole answer or a pair."""
    labelled: int
    """Those of them that this person gave, in this queue."""
    why: str = ""
    """Why it is in the disagreement queue."""
    other_id: str = ""
    """Of a pair: the sample of the other run."""
    swapped: bool = False
    """Of a pair: whether this person sees the other run's answer first; by lot, the same every time."""

    @property
    def done(self) -> bool:
        """Whether nothing is left to say."""
        return self.labelled >= self.wanted


@dataclass(frozen=True, kw_only=True)
class AnnotationQueue:
    """What a person goes through, in order."""

    items: tuple[QueueItem, ...]
    draw: Draw | None
    """How the samples were chosen; None of the disagreement queue, and where nobody drew yet."""

    @property
    def following(self) -> QueueItem | None:
        """The first that is not done."""
        return next((item for item in self.items if not item.done), None)

    @property
    def in_words(self) -> str:
        """`7 of 150 samples, 31 labels`."""
        done, said = sum(item.done for item in self.items), sum(item.labelled for item in self.items)
        return f"{done:,} of {len(self.items):,} samples, {said:,} label{'' if said == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class Kappa:
    """Agreement beyond chance of two who judged the same statements, on samples that the first has finished."""

    first: str
    second: str
    n: int
    """Statements that both gave a verdict on."""
    kappa: float | None
    """Cohen's kappa over the three verdicts, at most 1, 0 is chance; None where `reason` says why."""
    reason: str = ""

    @property
    def in_words(self) -> str:
        """`kappa with bob 0.62 on 31 statements`."""
        said = (
            f"no kappa with {self.second} yet" if self.kappa is None else f"kappa with {self.second} {self.kappa:.2f}"
        )
        return f"{said} on {self.n:,} statement{'' if self.n == 1 else 's'}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledSample:
    """A sample that people have labelled in full."""

    sample_id: str
    position: int
    """Its position in the run, from 0."""
    place: int
    """Its place in the draw, from 1; 0 if it was not drawn."""
    outcome: float
    """In [0, 1], higher is better: the share of statements that are supported (human faithfulness; a statement on which
    people differ counts in part), or the mean grade, 1 to 5 mapped onto 0 to 1."""
    annotators: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledSamples:
    """The samples that people labelled in full, and how they were chosen: that decides what may be concluded."""

    rows: tuple[LabelledSample, ...]
    """In the order of the draw; imported labels in the order of the run."""
    design: SamplingDesign
    """Random if the samples were drawn here, else as the import declares: unknown unless all of it agrees."""
    draw: Draw | None
    """None if nothing was drawn: for imported labels, or because nobody drew yet."""
    population: int
    """Samples that could be labelled so."""
    passed_over: int
    """Drawn samples before the last complete one that are not complete themselves. If these were left out because
    they are hard, the rest is no random sample: an estimate should say how many, or stop before the first."""

    @property
    def leading(self) -> tuple[LabelledSample, ...]:
        """The complete samples before the first incomplete one of the draw: a random sample whatever was left out."""
        return tuple(row for number, row in enumerate(self.rows, 1) if row.place == number)


def draw_samples(
    store: Store, run: RunRef, *, size: int, seed: int = 0, kind: LabelKind = "verdict", against: RunRef | None = None
) -> Draw:
    """Draw samples of a run to be labelled, or more of them; the draw is kept, and drawing it again changes nothing.

    Preferences need the run that this one is compared with, `against`. Raises SettingError if there is nothing to
    draw from, and for another seed than an earlier draw of the same kind: choosing between draws is no
    random sample.
    """
    if size < 1:
        raise SettingError(f"a draw has at least 1 sample, got {size}")
    with store.database.write() as connection:
        earlier = newest_draw(connection, run, kind, against)
        if earlier and earlier.seed != seed:
            raise SettingError(
                f"{run.name} was drawn from with seed {earlier.seed} already; draw more with the same seed"
            )
        population = positions_to_label(connection, run, kind, against)
        if not population:
            raise SettingError(f"run {run.name!r} has no sample to label so; evaluate it first")
        if earlier and size <= len(earlier.positions):
            return earlier
        order = random.Random(seed).sample(population, len(population))  # noqa: S311 - a sample, not a secret
        keep_draw(connection, run, kind, against, seed=seed, population=len(population), positions=order[:size])
        drawn = newest_draw(connection, run, kind, against)
    assert drawn  # noqa: S101 - it was just kept
    return drawn


def draw_of(store: Store, run: RunRef, kind: LabelKind = "verdict", against: RunRef | None = None) -> Draw | None:
    """The draw of that kind, or None if nobody drew yet."""
    with store.database.read() as connection:
        return newest_draw(connection, run, kind, against)


def annotation_queue(
    store: Store,
    run: RunRef,
    queue: Queue,
    *,
    annotator: str,
    kind: LabelKind = "verdict",
    dimension: Quality = "faithfulness",
    against: RunRef | None = None,
) -> AnnotationQueue:
    """The samples that a person is to label, in the order of the draw or the largest disagreement first."""
    with store.database.read() as connection:
        draw = newest_draw(connection, run, kind, against) if queue == "random" else None
        why: dict[int, str] = {}
        if queue == "disagreement":
            why = disagreements(connection, run, apart=APART, limit=DISAGREEMENTS)
        order = draw.positions if draw else tuple(why)
        others = partners(connection, run, against) if against else {}
        if against:
            order = tuple(position for position in order if position in others)
        rows = queue_progress(connection, run, order, queue, annotator.strip(), kind, dimension, against, others)
    items = {
        position: QueueItem(
            sample_id=sample_id,
            position=position,
            wanted=wanted,
            labelled=labelled,
            why=why.get(position, ""),
            other_id=others.get(position, ""),
            swapped=random.Random(f"{annotator}\0{sample_id}").random() < 0.5,  # noqa: S311 - a lot, not a secret
        )
        for position, sample_id, wanted, labelled in rows
    }
    return AnnotationQueue(items=tuple(items[at] for at in order if at in items), draw=draw)


def labelled_samples(
    store: Store,
    run: RunRef,
    queue: Literal["random", "imported"] = "random",
    *,
    kind: Literal["verdict", "grade"] = "verdict",
    dimension: Quality = "faithfulness",
) -> LabelledSamples:
    """The samples of a run that people have labelled in full, in draw order, each with its human outcome.

    For `verdict`s the outcome is the share of the statements that people say are supported, of a sample whose
    statements all have a label (the statements are those of the evaluation that `run` means); for
    `grade`s in a `dimension` their mean, mapped onto 0 to 1. Only labels of that queue count: those given
    while browsing saw the judge's verdict, and those of the disagreement queue are no random sample.
    `random` reads the draw of this run (for verdicts, of this evaluation); without one there are no rows.
    """
    with store.database.read() as connection:
        draw = newest_draw(connection, run, kind) if queue == "random" else None
        population = draw.population if draw else len(positions_to_label(connection, run, kind))
        if kind == "verdict":
            rows = samples_with_verdicts(connection, run, queue)
        else:
            rows = graded_samples(connection, run, queue, dimension, low=GRADES[0], high=GRADES[1])
    complete = {row[0]: row for row in rows}
    if queue == "random":
        places = {at: place for place, at in enumerate(draw.positions if draw else (), 1) if at in complete}
    else:
        places = dict.fromkeys(complete, 0)
    found = tuple(
        LabelledSample(
            sample_id=complete[at][1],
            position=at,
            place=place,
            outcome=complete[at][2],
            annotators=tuple(complete[at][3]),
        )
        for at, place in places.items()
    )
    designs = {design for *_, declared in rows for design in declared}
    declared: SamplingDesign = (
        "random" if designs == {"random"} else "not random" if designs == {"not random"} else "unknown"
    )
    return LabelledSamples(
        rows=found,
        design="random" if queue == "random" else declared,
        draw=draw,
        population=population,
        passed_over=found[-1].place - len(found) if found and queue == "random" else 0,
    )


def annotator_agreement(store: Store, run: RunRef, queue: Queue, *, annotator: str) -> tuple[Kappa, ...]:
    """Kappa of a person with the judge, then with every other annotator, on the samples that this person finished."""
    with store.database.read() as connection:
        labelled = labelled_verdicts(connection, run, queue)
        given = labelled.get(annotator, {})
        counts = statement_counts(connection, run, list({position for position, _ in given}))
        finished = {at for at, count in counts.items() if count == sum(position == at for position, _ in given)}
        judge = judge_verdicts(connection, run, list(finished))
    mine: VerdictsByPlace = {place: label for place, label in given.items() if place[0] in finished}
    others = {"the judge": judge} | {name: labelled[name] for name in sorted(labelled) if name != annotator}
    found = (_kappa(annotator, mine, name, verdicts) for name, verdicts in others.items())
    return tuple(one for one in found if one.n)


def _kappa(first: str, ours: VerdictsByPlace, second: str, theirs: VerdictsByPlace) -> Kappa:
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        return Kappa(first=first, second=second, n=0, kappa=None, reason="no statement in common")
    try:
        kappa = cohen_kappa([ours[place] for place in both], [theirs[place] for place in both])
    except ValueError as error:
        return Kappa(first=first, second=second, n=len(both), kappa=None, reason=str(error))
    return Kappa(first=first, second=second, n=len(both), kappa=kappa)
