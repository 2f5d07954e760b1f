"""The metrics of an evaluation that names none."""

from __future__ import annotations

from ragboard.judges.panel import Panel
from ragboard.metrics import DEFAULT_METRICS, DEFAULT_METRICS_BY_RULES, Metric
from ragboard.tasks import RateAnswer

__all__ = ["default_metrics"]


def default_metrics(panel: Panel) -> tuple[Metric, ...]:
    """Faithfulness, answer relevance and context relevance, each in the way that these judges are good at.

    A rule-based judge writes poor questions, so it rates the relevance of an answer directly.
    """
    rating = panel.answering(RateAnswer)
    return DEFAULT_METRICS_BY_RULES if rating and rating.heuristic else DEFAULT_METRICS
