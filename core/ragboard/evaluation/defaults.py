"""The metrics of an evaluation that names none, and the sizes of replies that are assumed before any is known."""

from __future__ import annotations

from collections.abc import Collection

from ragboard.judges.llm.dialogue import REPAIRS
from ragboard.judges.panel import Panel
from ragboard.metrics import DEFAULT_METRICS, DEFAULT_METRICS_BY_RULES, Metric
from ragboard.store import Store
from ragboard.tasks import RateAnswer, Sizes

__all__ = ["LIKELY", "WORST", "default_metrics", "judged_in_file"]

LIKELY = Sizes()
WORST = Sizes(
    statements=30, reference_statements=30, at_least=True, question=200, reason=240, quote=180, repairs=REPAIRS
)


def default_metrics(panel: Panel, judged: Collection[str] = ()) -> tuple[Metric, ...]:
    """Faithfulness, answer relevance and context relevance, each in the way that these judges are good at.

    A rule-based judge writes poor questions, so it rates the relevance of an answer directly. Metrics in `judged` are
    left out: the judge of the tool that wrote the run file has asked for them already.
    """
    rating = panel.find_judge(RateAnswer)
    found = DEFAULT_METRICS_BY_RULES if rating and rating.heuristic else DEFAULT_METRICS
    return tuple(metric for metric in found if metric.spec not in judged)


def judged_in_file(store: Store, run_id: str) -> frozenset[str]:
    """Return the names of metrics that the verdicts in the run's file score; empty if the file has none."""
    from_file = (one for one in store.evaluations(run_id) if "imported" in one.identity)
    return frozenset(spec for one in from_file for spec in one.metrics)
