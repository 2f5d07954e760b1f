"""Reports as tables: a row each, a missing number empty with the reason beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ragboard.analysis import Comparison, MetricComparison, MetricSummary, PairRow, RunSummary
from ragboard.records import MetricDescription, Outcome, Score
from ragboard.stats import Interval, NoInterval

__all__ = ["comparison_frame", "metrics_frame", "pairs_frame", "runs_frame"]

_BOUNDS = ("low", "high", "level", "method", "no_interval")
_RUNS = (
    *("run", "dataset", "samples", "config", "tags", "evaluation", "judge", "heuristic", "finished", "covered"),
    *("metric", "counted_here", "mean", *_BOUNDS, "scored", "total", "unscored"),
    *("unscored_count_as", "unscored_note", "mean_least", "mean_greatest"),
)
_METRICS = ("metric", "label", "source", "text", "formula", "low", "high", "direction", "requires", "calls", "paper")
_COMPARED = (
    *("a", "b", "metric", "label", "direction", "mean_a", "mean_b", "difference", *_BOUNDS, "p", "p_holm", "change"),
    *("pairs", "b_higher", "equal", "b_lower", "only_a", "only_b", "neither", "unscored_a", "unscored_b", "detectable"),
    *("unscored_count_as", "unscored_note", "difference_least", "difference_greatest"),
)
_PAIRS = (
    *("metric", "sample_a", "sample_b", "question", "value_a", "reason_a", "value_b", "reason_b"),
    *("difference", "change", "claims_a", "claims_b"),
)


def runs_frame(runs: Iterable[RunSummary]) -> pd.DataFrame:
    """A row for each run and metric; a run without metrics has one row."""
    return _frame([row for run in runs for row in _run(run)], _RUNS)


def metrics_frame(metrics: Iterable[MetricDescription]) -> pd.DataFrame:
    """A row for each metric; an empty `low` or `high` is no bound."""
    rows = [
        {name: getattr(metric, name) for name in _METRICS[1:]}
        | {"metric": metric.spec, "requires": ", ".join(metric.requires)}
        for metric in metrics
    ]
    return _frame(rows, _METRICS)


def comparison_frame(found: Comparison) -> pd.DataFrame:
    """A row for each metric of two runs; differences are B less A."""
    about = {"a": found.a.name, "b": found.b.name, "unscored_count_as": found.policy}
    return _frame([about | _compared(one) for one in found.metrics], _COMPARED)


def pairs_frame(rows: Mapping[str, Iterable[PairRow]]) -> pd.DataFrame:
    """A row for each metric and pair; the difference is B less A."""
    return _frame([{"metric": metric} | _pair(row) for metric, found in rows.items() for row in found], _PAIRS)


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns))


def _run(run: RunSummary) -> list[dict[str, Any]]:
    judged = run.judged
    about: dict[str, Any] = {
        "run": run.name,
        "dataset": run.dataset,
        "samples": run.samples,
        "config": json.dumps(run.config, ensure_ascii=False),
        "tags": ", ".join(run.tags),
    }
    if judged:
        about |= {
            "evaluation": judged.evaluation_id,
            "judge": judged.judge,
            "heuristic": judged.heuristic,
            "finished": f"{judged.finished:%Y-%m-%dT%H:%M:%SZ}",
            "covered": judged.covered,
        }
    ours = [about | _metric(metric) | {"counted_here": True} for metric in run.metrics.values()]
    theirs = [about | _metric(metric) | {"counted_here": False} for metric in run.file_scores.values()]
    return [*ours, *theirs] or [about]


def _metric(metric: MetricSummary) -> dict[str, Any]:
    return (
        {
            "metric": metric.metric,
            "mean": metric.mean,
            "scored": metric.scored,
            "total": metric.total,
            "unscored": _counts(metric.unscored),
            "unscored_count_as": metric.policy,
            "unscored_note": metric.note,
        }
        | _between("mean", metric.bounds)
        | _interval(metric.interval)
    )


def _compared(one: MetricComparison) -> dict[str, Any]:
    about = {
        "metric": one.metric,
        "label": one.label,
        "direction": one.direction,
        "p_holm": one.p,
        "change": one.change,
        "pairs": one.pairs.n if one.pairs else 0,
        "only_a": one.scored_a,
        "only_b": one.scored_b,
        "neither": one.unscored,
        "unscored_a": _counts(one.reasons_a),
        "unscored_b": _counts(one.reasons_b),
        "unscored_note": one.note,
    }
    found = one.pairs
    if found is None:
        return about | {"no_interval": "no pair is scored on both sides"}
    return (
        about
        | {"mean_a": found.first, "mean_b": found.second, "difference": found.difference, "p": found.p}
        | {"b_higher": found.sign.wins, "equal": found.ties, "b_lower": found.sign.losses}
        | {"detectable": found.detectable}
        | _between("difference", one.bounds)
        | _interval(found.interval)
    )


def _pair(row: PairRow) -> dict[str, Any]:
    return {
        "sample_a": row.sample_a,
        "sample_b": row.sample_b,
        "question": row.question,
        "value_a": _value(row.a),
        "reason_a": _reason(row.a),
        "value_b": _value(row.b),
        "reason_b": _reason(row.b),
        "difference": row.difference,
        "change": row.change,
        "claims_a": row.claims_a,
        "claims_b": row.claims_b,
    }


def _value(outcome: Outcome) -> float | None:
    return outcome.value if isinstance(outcome, Score) else None


def _reason(outcome: Outcome) -> str:
    return "" if isinstance(outcome, Score) else ": ".join(filter(None, (outcome.reason, outcome.detail)))


def _interval(found: Interval | NoInterval) -> dict[str, Any]:
    if isinstance(found, NoInterval):
        return {"no_interval": found.reason}
    return {"low": found.low, "high": found.high, "level": found.level, "method": found.method}


def _between(name: str, bounds: tuple[float, float] | None) -> dict[str, float]:
    """What the unscored allow; empty where they were not asked for bounds."""
    return {f"{name}_least": bounds[0], f"{name}_greatest": bounds[1]} if bounds else {}


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())
