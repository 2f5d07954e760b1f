"""Every metric, by the name its defaults are stored under."""

from __future__ import annotations

from collections.abc import Iterable

from ragboard.errors import SettingError
from ragboard.metrics.base import Metric, outcome
from ragboard.metrics.ragas import AnswerRelevance, ContextRelevance, Faithfulness

__all__ = ["METRICS", "Metric", "metrics_named", "outcome"]

METRICS: dict[str, Metric] = {metric.spec: metric for metric in (Faithfulness(), AnswerRelevance(), ContextRelevance())}


def metrics_named(names: Iterable[str]) -> tuple[Metric, ...]:
    """The metrics of these names, each once, in order.

    A bare name (`faithfulness`) is enough where one source alone has it; a source (`ragas`) means
    all of its metrics. Raises SettingError naming the candidates.
    """
    found: dict[str, Metric] = {}
    for name in names:
        matches = _matching(name.strip())
        if not matches:
            raise SettingError(f"no metric is called {name!r}; there are {', '.join(METRICS)}")
        found |= {metric.spec: metric for metric in matches}
    return tuple(found.values())


def _matching(name: str) -> list[Metric]:
    if name in METRICS:
        return [METRICS[name]]
    of_source = [metric for metric in METRICS.values() if metric.source == name]
    by_name = [metric for metric in METRICS.values() if metric.name == name]
    if len(by_name) > 1:
        raise SettingError(f"{name!r} is ambiguous: {', '.join(metric.spec for metric in by_name)}")
    return of_source or by_name
