"""Statistics: numbers in, frozen results out, each with its method, level and n. Knows nothing of RAG."""

from __future__ import annotations

from ragboard.stats.agreement import auroc, confusion
from ragboard.stats.intervals import Interval, Moments, NoInterval, mean_interval, wilson_interval

__all__ = ["Interval", "Moments", "NoInterval", "auroc", "confusion", "mean_interval", "wilson_interval"]
