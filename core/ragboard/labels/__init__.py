"""What people say of answers: kept append-only, on the answer's text, and read back."""

from __future__ import annotations

from ragboard.labels.draws import draw_of, draw_samples
from ragboard.labels.exchange import ImportedLabels, export_labels, import_labels
from ragboard.labels.filed import FiledAnswer, filed_answers
from ragboard.labels.nouns import (
    Design,
    Draw,
    HumanVerdict,
    LabelKind,
    LabelledAnswer,
    LabelledSample,
    LabelledSamples,
    Measured,
    NewLabel,
    Queue,
)
from ragboard.labels.outcomes import labelled_samples
from ragboard.labels.saying import (
    Preferred,
    Undone,
    grade_answer,
    label_statement,
    prefer_answer,
    turned,
    undo,
    withdraw_statement,
)
from ragboard.labels.table import add_labels

__all__ = [
    "Design",
    "Draw",
    "FiledAnswer",
    "HumanVerdict",
    "ImportedLabels",
    "LabelKind",
    "LabelledAnswer",
    "LabelledSample",
    "LabelledSamples",
    "Measured",
    "NewLabel",
    "Preferred",
    "Queue",
    "Undone",
    "add_labels",
    "draw_of",
    "draw_samples",
    "export_labels",
    "filed_answers",
    "grade_answer",
    "import_labels",
    "label_statement",
    "labelled_samples",
    "prefer_answer",
    "turned",
    "undo",
    "withdraw_statement",
]
