"""Stored descriptions and thresholds of metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ragboard.records import MetricDescription, MetricSetting
from ragboard.store.queries.query import Connection

__all__ = ["changed_descriptions", "metric_thresholds", "stored_descriptions"]


def stored_descriptions(connection: Connection) -> dict[str, MetricDescription]:
    """Return the latest stored description of each metric, by name."""
    rows = connection.execute(
        "SELECT metric, arg_max(description, finished) FROM metrics JOIN evaluations USING (evaluation_id)"
        " GROUP BY metric ORDER BY metric"
    ).fetchall()
    found: dict[str, MetricDescription] = {}
    for metric, text in rows:
        stored = json.loads(text)
        settings = tuple(MetricSetting(**setting) for setting in stored["settings"])
        found[metric] = MetricDescription(**stored | {"requires": tuple(stored["requires"]), "settings": settings})
    return found


_DEFINITION = """json_merge_patch({}.description, '{{"more_passages": null}}')::VARCHAR"""
"""SQL for a description without `more_passages`, which older versions did not store."""


def changed_descriptions(
    connection: Connection, a: Iterable[tuple[str, str]], b: Iterable[tuple[str, str]]
) -> tuple[str, ...]:
    """Return the metrics whose descriptions differ between the evaluations of `a` and those of `b`.

    `a` and `b` are (metric, evaluation) pairs. Metrics of run files are left out.
    """
    rows = connection.execute(
        "SELECT a.metric FROM metrics a JOIN metrics b USING (metric) WHERE list_contains($a, a.evaluation_id || ' ' ||"
        " metric) AND list_contains($b, b.evaluation_id || ' ' || metric)"
        f" AND {_DEFINITION.format('a')} <> {_DEFINITION.format('b')} AND NOT EXISTS (FROM evaluations e WHERE"
        " e.evaluation_id IN (a.evaluation_id, b.evaluation_id) AND json_exists(e.identity, 'imported')) ORDER BY 1",
        {side: [f"{evaluation} {metric}" for metric, evaluation in given] for side, given in (("a", a), ("b", b))},
    ).fetchall()
    return tuple(row[0] for row in rows)


def metric_thresholds(connection: Connection) -> Mapping[str, float]:
    """Return the stored thresholds, by metric."""
    return dict(connection.execute("SELECT metric, value FROM thresholds ORDER BY metric").fetchall())
