"""Statistics: numbers in, frozen results out, each with its method, level and n. Knows nothing of RAG."""

from __future__ import annotations

from ragboard.stats.agreement import auroc, confusion
from ragboard.stats.gate import GateVerdict, gate
from ragboard.stats.intervals import Interval, Moments, NoInterval, mean_interval, moments, wilson_interval
from ragboard.stats.multiple import holm
from ragboard.stats.paired import PairedDifference, SignTest, mcnemar, paired_difference, sign_test

__all__ = [
    "GateVerdict",
    "Interval",
    "Moments",
    "NoInterval",
    "PairedDifference",
    "SignTest",
    "auroc",
    "confusion",
    "gate",
    "holm",
    "mcnemar",
    "mean_interval",
    "moments",
    "paired_difference",
    "sign_test",
    "wilson_interval",
]
