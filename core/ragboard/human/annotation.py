"""Queues of samples to label, an annotator's progress, and agreement with the judge and other annotators."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ragboard.stats import cohen_kappa
from ragboard.store import RunRef, Store
from ragboard.store.queries.annotation import (
    Draw,
    VerdictsByPlace,
    disagreements,
    judge_verdicts,
    labelled_verdicts,
    newest_draw,
    partners,
    queue_progress,
    statement_counts,
)
from ragboard.store.queries.labels import LabelKind, Queue
from ragboard.tasks import Quality

__all__ = ["AnnotationQueue", "Kappa", "QueueItem", "annotation_queue", "annotator_agreement"]

DISAGREEMENTS = 200
"""Samples of the disagreement queue at most, the largest first."""
APART = 0.3
"""So far apart two metrics of one name disagree."""


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
