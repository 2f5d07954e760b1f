"""What people say of answers: kept append-only, on the answer's text, and read back."""

from __future__ import annotations

from ragboard.labels.nouns import HumanVerdict, LabelledAnswer, NewLabel, Queue
from ragboard.labels.table import (
    add_labels,
    human_verdicts,
    label_statement,
    latest_verdicts,
    people_of_statements,
    withdraw_statement,
)

__all__ = [
    "HumanVerdict",
    "LabelledAnswer",
    "NewLabel",
    "Queue",
    "add_labels",
    "human_verdicts",
    "label_statement",
    "latest_verdicts",
    "people_of_statements",
    "withdraw_statement",
]
