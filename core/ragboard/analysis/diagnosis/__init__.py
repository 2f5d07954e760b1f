"""What the numbers of a run suggest: rules over quantities with intervals, and where the loss sits."""

from __future__ import annotations

from ragboard.analysis.diagnosis.diagnose import (
    Measured,
    apply_rules,
    caution_of,
    command_for,
    condition_of,
    diagnose,
    topic_in_words,
    why_silent,
)
from ragboard.analysis.diagnosis.rules import (
    QUANTITIES,
    RULES,
    Breakdown,
    Diagnosis,
    Figure,
    Finding,
    Look,
    PassageLoss,
    Quantity,
    QuestionLoss,
    Rule,
    Silent,
    TopicLoss,
    TopicsLookedAt,
    source_of,
)

__all__ = [
    "QUANTITIES",
    "RULES",
    "Breakdown",
    "Diagnosis",
    "Figure",
    "Finding",
    "Look",
    "Measured",
    "PassageLoss",
    "Quantity",
    "QuestionLoss",
    "Rule",
    "Silent",
    "TopicLoss",
    "TopicsLookedAt",
    "apply_rules",
    "caution_of",
    "command_for",
    "condition_of",
    "diagnose",
    "source_of",
    "topic_in_words",
    "why_silent",
]
