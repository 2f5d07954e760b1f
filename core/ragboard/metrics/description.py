"""Descriptions of metrics for the command line, the pages and the store, derived from their classes."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ragboard.metrics.base import Metric
from ragboard.records import MetricDescription, MetricSetting

__all__ = ["allowed", "choices", "describe", "setting_types"]


@cache
def describe(metric: Metric) -> MetricDescription:
    """Return the description of a metric with its settings."""
    low, high = metric.bounds
    return MetricDescription(
        spec=metric.spec,
        label=metric.label,
        source=metric.source,
        name=metric.name,
        text=_docstring(type(metric)),
        formula=metric.formula_with_settings,
        paper=metric.paper,
        requires=tuple(metric.requires),
        low=low if math.isfinite(low) else None,
        high=high if math.isfinite(high) else None,
        direction=metric.direction,
        calls=metric.calls,
        settings=_settings(metric),
        # a score with a cutoff k does not change with passages after rank k
        more_passages="" if getattr(metric, "k", None) else metric.more_passages,
    )


def setting_types(metric: Metric) -> dict[str, Any]:
    """Return the type of each setting by name."""
    if not fields(metric):
        return {}
    hints = get_type_hints(type(metric))
    return {field.name: hints[field.name] for field in fields(metric)}


def choices(kind: Any) -> tuple[object, ...]:
    """Return the possible values of a setting of this type; an empty tuple for a number."""
    if kind is bool:
        return (True, False)
    return get_args(kind) if get_origin(kind) is Literal else ()


def allowed(kind: Any) -> str:
    """Return a description of the values that a setting of this type can have: `True or False`, `a whole number`."""
    return " or ".join(map(str, choices(kind))) or ("a number" if kind is float else "a whole number")


def _settings(metric: Metric) -> tuple[MetricSetting, ...]:
    types = setting_types(metric)
    return tuple(
        MetricSetting(
            name=field.name,
            allowed=allowed(types[field.name]),
            default="not set" if field.default is None else str(field.default),
        )
        for field in fields(metric)
    )


def _docstring(kind: type[Metric]) -> str:
    """Return the docstring; empty if it is only the signature that `dataclass` generates."""
    text = inspect.getdoc(kind) or ""
    return "" if text.startswith(f"{kind.__name__}(") else text
