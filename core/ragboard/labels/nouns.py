"""The nouns of labelling: frozen, without behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragboard.records import Label, Sample, Span

__all__ = ["Design", "HumanVerdict", "LabelKind", "LabelledAnswer", "NewLabel", "Queue"]

LabelKind = Literal["verdict", "grade", "preference"]

Queue = Literal["browsing", "random", "disagreement", "imported"]
"""What a person was doing: looking at a sample with its verdicts in sight; going through a random draw, or through
disagreements, without seeing them; or it came from a file."""

Design = Literal["random", "not random", "unknown"]
"""How the answers of an imported file were chosen, as whoever imported it declares."""


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
class HumanVerdict:
    """What a person says of a statement in the light of all the passages together."""

    label: Label
    annotator: str
    note: str
    at: datetime
    """UTC."""
    queue: Queue
