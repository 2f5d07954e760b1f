"""Random draws of samples to label, and the samples that people have labelled in full."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragboard.errors import SettingError
from ragboard.human.labels import GRADES
from ragboard.readers.labels import Design
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import (
    Draw,
    graded_samples,
    keep_draw,
    newest_draw,
    positions_to_label,
    samples_with_verdicts,
)
from ragboard.store.queries.labels import LabelKind
from ragboard.tasks import Quality

__all__ = ["LabelledSample", "LabelledSamples", "Measured", "draw_of", "draw_samples", "labelled_samples"]

Measured: TypeAlias = Literal["verdicts", Quality]
"""What people labelled: verdicts on every statement, whose share supported is estimated, or grades in a quality."""


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
    design: Design
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
    declared: Design = "random" if designs == {"random"} else "not random" if designs == {"not random"} else "unknown"
    return LabelledSamples(
        rows=found,
        design="random" if queue == "random" else declared,
        draw=draw,
        population=population,
        passed_over=found[-1].place - len(found) if found and queue == "random" else 0,
    )
