"""The nouns of labelling: frozen, without behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragboard.judges.tasks import Quality
from ragboard.records import Sample, Span
from ragboard.store.queries.labels import HumanVerdict
from ragboard.store.queries.labels import LabelQueue as Queue

__all__ = [
    "Design",
    "Draw",
    "HumanVerdict",
    "LabelKind",
    "LabelledAnswer",
    "LabelledSample",
    "LabelledSamples",
    "Measured",
    "NewLabel",
    "Queue",
]

LabelKind = Literal["verdict", "grade", "preference"]

Design = Literal["random", "not random", "unknown"]
"""How the answers of an imported file were chosen, as whoever imported it declares."""

Measured = Literal["verdicts", Quality]
"""What people said: verdicts on every statement, whose share supported is estimated, or grades in a quality."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledAnswer:
    """An answer that labels hang on, with what is needed to find it in any run and to export it without one."""

    key: str
    sample: Sample
    """Question, history, answer and passages; the rest is of no account."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewLabel:
    """One thing that a person says. Nothing is ever changed: saying it again, or taking it back, is another one."""

    annotator: str
    kind: LabelKind
    answer_key: str
    value: str | None
    """A verdict's label, a grade from 1 to 5, or `a`, `b`, `tie`; None takes back what the person said there."""
    statement: str = ""
    span: Span | None = None
    dimension: str = ""
    """Of a grade or a preference: which quality."""
    other_key: str = ""
    """Of a preference: the answer that is b where the other is a."""
    note: str = ""
    queue: Queue = "browsing"
    design: str = ""
    """Of an imported label a `Design`."""
    run_id: str = ""
    sample_id: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """A simple random sample without replacement of a run's samples, to be labelled in this order.

    A larger draw of the same seed begins with the smaller one, unless the run grew meanwhile.
    """

    id: str
    kind: LabelKind
    run_id: str
    evaluation_id: str
    """Whose statements are labelled; empty where whole answers are."""
    other_run_id: str
    """Of preferences: the run that the first is held against."""
    seed: int
    population: int
    """Samples that could have been drawn: those with a statement, with an answer, or with a partner."""
    positions: tuple[int, ...]
    """Those that were drawn, in order, by their place in the run."""
    drawn: datetime
    """UTC."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledSample:
    """A sample that people have labelled in full."""

    sample_id: str
    position: int
    """Its place in the run, from 0."""
    place: int
    """Its place in the draw, from 1; 0 where it was not drawn."""
    outcome: float
    """In [0, 1], higher is better: the share of statements that are supported (human faithfulness; a statement on which
    people differ counts in part), or the mean grade, 1 to 5 mapped onto 0 to 1."""
    annotators: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledSamples:
    """What people found in full, and how these samples were chosen: that decides what may be concluded."""

    rows: tuple[LabelledSample, ...]
    """In the order of the draw; of imported labels in that of the run."""
    design: Design
    """Random where the samples were drawn here, else as the import declares: unknown unless all of it agrees."""
    draw: Draw | None
    """None where nothing was drawn: of imported labels, or because nobody drew yet."""
    population: int
    """Samples that could be labelled so."""
    passed_over: int
    """Drawn samples before the last complete one that are not complete themselves. Where these were left out because
    they are hard, the rest is no random sample: an estimate should say how many, or stop before the first."""

    @property
    def leading(self) -> tuple[LabelledSample, ...]:
        """The complete samples before the first incomplete one of the draw: a random sample whatever was left out."""
        return tuple(row for number, row in enumerate(self.rows, 1) if row.place == number)
