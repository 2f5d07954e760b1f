"""What the numbers of a run suggest: rules over quantities with intervals, and where the loss sits."""

from __future__ import annotations

from ragboard.analysis.diagnosis.diagnose import Measured, apply_rules, diagnose
from ragboard.analysis.diagnosis.nouns import (
    Breakdown,
    Diagnosis,
    Figure,
    Finding,
    Look,
    PassageLoss,
    QuestionLoss,
    Rule,
    Silent,
    TopicLoss,
    TopicsLookedAt,
)
from ragboard.analysis.diagnosis.quantities import QUANTITIES, Quantity
from ragboard.analysis.diagnosis.rules import RULES, source_of
from ragboard.analysis.diagnosis.words import caution_of, command_for, condition_of, topic_in_words, why_silent

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
