"""What people say of answers: kept append-only, on the answer's text, and read back."""

from __future__ import annotations

from ragboard.labels.draws import draw_of, draw_samples
from ragboard.labels.nouns import (
    Design,
    Draw,
    HumanVerdict,
    LabelKind,
    LabelledAnswer,
    LabelledSample,
    LabelledSamples,
    NewLabel,
    Queue,
)
from ragboard.labels.outcomes import labelled_samples
from ragboard.labels.table import (
    add_labels,
    human_verdicts,
    label_statement,
    latest_verdicts,
    people_of_statements,
    withdraw_statement,
)

__all__ = [
    "Design",
    "Draw",
    "HumanVerdict",
    "LabelKind",
    "LabelledAnswer",
    "LabelledSample",
    "LabelledSamples",
    "NewLabel",
    "Queue",
    "add_labels",
    "draw_of",
    "draw_samples",
    "human_verdicts",
    "label_statement",
    "labelled_samples",
    "latest_verdicts",
    "people_of_statements",
    "withdraw_statement",
]
