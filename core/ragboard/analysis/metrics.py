"""Descriptions of metrics: installed ones, and those that only have scores in a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ragboard.judges.embedded import EmbeddedJudge
from ragboard.metrics import DEFAULT_METRICS, DEFAULT_METRICS_BY_RULES, METRICS, Metric, describe, find_metric
from ragboard.metrics.base import CATEGORIES, tasks_for
from ragboard.records import MetricDescription
from ragboard.store import Store
from ragboard.store.queries.metrics import stored_descriptions
from ragboard.store.queries.query import Connection

__all__ = [
    "BETTER",
    "MORE_PASSAGES",
    "headline",
    "in_order",
    "metric_descriptions",
    "metric_groups",
    "metric_judge",
    "metric_needs",
    "metric_range",
    "metric_settings",
    "metric_source_label",
    "metric_summary",
    "read_descriptions",
]

MAX_HEADLINE = 4
"""Maximum number of metrics where space is short."""

BETTER = {"higher": "higher is better", "lower": "lower is better", "neutral": "no better direction"}
"""The direction of a metric, in words."""


MORE_PASSAGES = {"falls": "usually falls with more passages", "rises": "usually rises with more passages"}
"""`MetricDescription.more_passages` in words."""


def metric_descriptions(store: Store, known: Mapping[str, Metric] = METRICS) -> Mapping[str, MetricDescription]:
    """Return {metric: description}: installed metrics first, then metrics that only have scores in the store."""
    with store.database.read() as connection:
        return read_descriptions(connection, known)


def read_descriptions(connection: Connection, known: Mapping[str, Metric] = METRICS) -> dict[str, MetricDescription]:
    """Do the same as `metric_descriptions`, with an open connection."""
    installed = {spec: describe(metric) for spec, metric in known.items()}
    stored = stored_descriptions(connection)
    return installed | {spec: description for spec, description in stored.items() if spec not in installed}


def in_order(specs: Iterable[str]) -> tuple[str, ...]:
    """Sort metrics in the order of `METRICS`, ignoring settings; other metrics follow by name."""
    order = {spec: index for index, spec in enumerate(METRICS)}
    return tuple(sorted(set(specs), key=lambda spec: (order.get(spec.partition("(")[0], len(order)), spec)))


def headline(specs: Sequence[str]) -> tuple[str, ...]:
    """Choose the metrics to show where space is short: 4, or all if there are at most 5.

    Default metrics are preferred, and metrics with `compat=True` are avoided.
    """
    if len(specs) <= MAX_HEADLINE + 1:
        return tuple(specs)
    defaults = {metric.spec for metric in (*DEFAULT_METRICS, *DEFAULT_METRICS_BY_RULES)}
    chosen = sorted(specs, key=lambda spec: (spec not in defaults, "compat=True" in spec))[:MAX_HEADLINE]
    return tuple(spec for spec in specs if spec in chosen)


FILE_SCORES = "Scores from run files, not computed by ragboard"
NEEDED = {"contexts": "passages", "reference_contexts": "gold passages"}
"""Words for some of the columns that metrics need."""


def metric_groups(
    metrics: Iterable[MetricDescription], search: str = "", known: Mapping[str, Metric] = METRICS
) -> dict[str, tuple[MetricDescription, ...]]:
    """Group metrics by category. `search` keeps the metrics whose names and texts contain all of its words.

    A metric with several settings is listed once.
    """
    words = search.casefold().split()
    first: dict[tuple[str, str], MetricDescription] = {}
    for metric in metrics:
        first.setdefault((metric.source, metric.name), metric)
    groups: dict[str, tuple[MetricDescription, ...]] = dict.fromkeys((*CATEGORIES.values(), FILE_SCORES), ())
    for metric in first.values():
        category, source = _category_title(metric, known), metric_source_label(metric, known)
        texts = (metric.spec, metric.label, metric.text, metric.formula, metric.paper, category, source)
        if all(word in " ".join(texts).casefold() for word in words):
            groups[category] += (metric,)
    return {category: group for category, group in groups.items() if group}


def _category_title(metric: MetricDescription, known: Mapping[str, Metric]) -> str:
    if definition := find_metric(metric.spec, known):
        return CATEGORIES[definition.category]
    return FILE_SCORES if metric.source.endswith("-file") else CATEGORIES["other"]


def metric_source_label(metric: MetricDescription, known: Mapping[str, Metric] = METRICS) -> str:
    """Return the metric's source in short (`RAGAS paper`) or, without a short form, its citation."""
    definition = find_metric(metric.spec, known)
    return (definition.credit if definition else "") or metric.paper


def metric_summary(metric: MetricDescription, known: Mapping[str, Metric] = METRICS) -> str:
    """Describe the metric in one sentence."""
    definition = find_metric(metric.spec, known)
    return (definition.summary if definition else "") or " ".join(metric.text.partition("\n\n")[0].split())


def metric_needs(metric: MetricDescription, known: Mapping[str, Metric] = METRICS) -> str:
    """Return the columns that a sample must have besides the question: `answer, passages, gold passages`."""
    definition = find_metric(metric.spec, known)
    needed = [NEEDED.get(column, column) for column in metric.requires]
    return (
        ", ".join([*needed, *(["gold passages"] if definition and definition.needs_gold else [])])
        or "the question only"
    )


def metric_judge(metric: MetricDescription, known: Mapping[str, Metric] = METRICS) -> str:
    """Return the judge that a metric needs: `a chat model`, `any judge` or `no judge`; empty if it is not installed."""
    definition = find_metric(metric.spec, known)
    if definition is None:
        return ""
    tasks = tasks_for(definition.needs())
    if not tasks:
        return "no judge"
    return "any judge" if tasks <= EmbeddedJudge.answers else "a chat model"


def metric_range(metric: MetricDescription) -> str:
    """Return a metric's range in words: `0 to 1`, `0 to no bound`."""
    low, high = ("no bound" if bound is None else f"{bound:g}" for bound in (metric.low, metric.high))
    return f"{low} to {high}"


def metric_settings(metric: MetricDescription) -> str:
    """Return a metric's settings in words: `k = not set (a whole number)`; empty if it has no settings."""
    return "; ".join(f"{setting.name} = {setting.default} ({setting.allowed})" for setting in metric.settings)
