"""The default metrics of an evaluation, and the sizes of replies that estimates assume."""

from __future__ import annotations

from collections.abc import Collection

from ragboard.judges.llm.dialogue import REPAIRS
from ragboard.judges.panel import Panel
from ragboard.metrics import DEFAULT_METRICS, DEFAULT_METRICS_BY_RULES, Metric
from ragboard.store import Store
from ragboard.tasks import RateAnswer, ReplySizes

__all__ = ["LIKELY", "WORST", "default_metrics", "judged_in_file"]

LIKELY = ReplySizes()
"""Assumed sizes of replies for the expected cost."""
WORST = ReplySizes(
    statements=30, reference_statements=30, worst_case=True, question=200, reason=240, quote=180, repairs=REPAIRS
)
"""Assumed sizes of replies for the maximum cost."""


def default_metrics(panel: Panel, judged: Collection[str] = ()) -> tuple[Metric, ...]:
    """Return faithfulness, answer relevance and context relevance, without those in `judged`.

    A rule-based judge rates answer relevance directly, because it writes poor questions. `judged` has the metrics for
    which the run file has verdicts.
    """
    rating = panel.find_judge(RateAnswer)
    defaults = DEFAULT_METRICS_BY_RULES if rating and rating.heuristic else DEFAULT_METRICS
    return tuple(metric for metric in defaults if metric.spec not in judged)


def judged_in_file(store: Store, run_id: str) -> frozenset[str]:
    """Return the names of the metrics that are scored from verdicts in the run's file."""
    imported = (evaluation for evaluation in store.evaluations(run_id) if "imported" in evaluation.identity)
    return frozenset(spec for evaluation in imported for spec in evaluation.metrics)
