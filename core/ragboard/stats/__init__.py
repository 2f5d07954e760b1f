"""Statistics: numbers in, frozen results out, each with its method, level and n. Knows nothing of RAG."""

from __future__ import annotations

from ragboard.stats.agreement import auroc, confusion
from ragboard.stats.gate import GateVerdict, gate
from ragboard.stats.intervals import Interval, Moments, NoInterval, mean_interval, moments, wilson_interval
from ragboard.stats.multiple import holm
from ragboard.stats.paired import PairedDifference, SignTest, mcnemar, paired_difference, sign_test
from ragboard.stats.ppi import (
    LabelsNeeded,
    PoweredMean,
    PoweredMeans,
    labels_needed,
    powered_difference,
    powered_mean,
    powered_means,
)

__all__ = [
    "GateVerdict",
    "Interval",
    "LabelsNeeded",
    "Moments",
    "NoInterval",
    "PairedDifference",
    "PoweredMean",
    "PoweredMeans",
    "SignTest",
    "auroc",
    "confusion",
    "gate",
    "holm",
    "labels_needed",
    "mcnemar",
    "mean_interval",
    "moments",
    "paired_difference",
    "powered_difference",
    "powered_mean",
    "powered_means",
    "sign_test",
    "wilson_interval",
]
