"""Build tables of runs, metrics, comparisons and pairs. If a number is missing, another column has the reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from types import MappingProxyType
from typing import Any

import pandas as pd
import pyarrow as pa

from ragboard.analysis import (
    Comparison,
    MetricComparison,
    MetricSummary,
    PairQuery,
    PairRow,
    RunSummary,
    SampleQuery,
    UnscoredPolicy,
    choose_evaluations,
    compare_runs,
    leaderboard,
    metric_descriptions,
    pair_rows,
    pair_runs,
    run_summary,
    sample_table,
)
from ragboard.errors import SettingError
from ragboard.records import MetricDescription, Outcome, Score
from ragboard.stats import Interval, NoInterval
from ragboard.store import RunRef, Store
from ragboard.store.queries.statements import statement_frame

__all__ = [
    "TABLES",
    "TABLE_FORMATS",
    "comparison_frame",
    "metrics_frame",
    "pairs_frame",
    "runs_frame",
    "table",
    "table_bytes",
]


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
    *("difference", "change", "statements_a", "statements_b"),
)


def runs_frame(runs: Iterable[RunSummary]) -> pd.DataFrame:
    """Return one row per run and metric; a run without metrics has one row."""
    return _frame([row for run in runs for row in _run_rows(run)], _RUNS)


def metrics_frame(metrics: Iterable[MetricDescription]) -> pd.DataFrame:
    """Return one row per metric; an empty `low` or `high` means no bound."""
    rows = [
        {name: getattr(metric, name) for name in _METRICS[1:]}
        | {"metric": metric.spec, "requires": ", ".join(metric.requires)}
        for metric in metrics
    ]
    return _frame(rows, _METRICS)


def comparison_frame(compared: Comparison) -> pd.DataFrame:
    """Return one row per metric of a comparison; differences are B minus A."""
    about = {"a": compared.a.name, "b": compared.b.name, "unscored_count_as": compared.policy}
    return _frame([about | _comparison_row(metric) for metric in compared.metrics], _COMPARED)


def pairs_frame(rows: Mapping[str, Iterable[PairRow]]) -> pd.DataFrame:
    """Return one row per metric and pair; the difference is B minus A."""
    return _frame([{"metric": metric} | _pair_row(row) for metric, pairs in rows.items() for row in pairs], _PAIRS)


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns))


def _run_rows(run: RunSummary) -> list[dict[str, Any]]:
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
    computed = [about | _metric_row(metric) | {"counted_here": True} for metric in run.metrics.values()]
    from_file = [about | _metric_row(metric) | {"counted_here": False} for metric in run.file_scores.values()]
    return [*computed, *from_file] or [about]


def _metric_row(metric: MetricSummary) -> dict[str, Any]:
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
        | _extremes("mean", metric.bounds)
        | _interval(metric.interval)
    )


def _comparison_row(metric: MetricComparison) -> dict[str, Any]:
    about = {
        "metric": metric.metric,
        "label": metric.label,
        "direction": metric.direction,
        "p_holm": metric.p,
        "change": metric.change,
        "pairs": metric.pairs.n if metric.pairs else 0,
        "only_a": metric.scored_only_a,
        "only_b": metric.scored_only_b,
        "neither": metric.scored_in_neither,
        "unscored_a": _counts(metric.reasons_a),
        "unscored_b": _counts(metric.reasons_b),
        "unscored_note": metric.note,
    }
    difference = metric.pairs
    if difference is None:
        return about | {"no_interval": "no pair has scores on both sides"}
    return (
        about
        | {
            "mean_a": difference.first,
            "mean_b": difference.second,
            "difference": difference.difference,
            "p": difference.p,
        }
        | {"b_higher": difference.sign.wins, "equal": difference.ties, "b_lower": difference.sign.losses}
        | {"detectable": difference.detectable}
        | _extremes("difference", metric.bounds)
        | _interval(difference.interval)
    )


def _pair_row(row: PairRow) -> dict[str, Any]:
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
        "statements_a": row.statements_a,
        "statements_b": row.statements_b,
    }


def _value(outcome: Outcome) -> float | None:
    return outcome.value if isinstance(outcome, Score) else None


def _reason(outcome: Outcome) -> str:
    return "" if isinstance(outcome, Score) else ": ".join(filter(None, (outcome.reason, outcome.detail)))


def _interval(interval: Interval | NoInterval) -> dict[str, Any]:
    if isinstance(interval, NoInterval):
        return {"no_interval": interval.reason}
    return {"low": interval.low, "high": interval.high, "level": interval.level, "method": interval.method}


def _extremes(name: str, bounds: tuple[float, float] | None) -> dict[str, float]:
    """Return the bounds that unscored samples allow; empty if the policy is not `bounds`."""
    return {f"{name}_least": bounds[0], f"{name}_greatest": bounds[1]} if bounds else {}


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


TABLE_FORMATS = ("csv", "json", "jsonl", "parquet")
NO_LIMIT = 2**62

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Spreadsheets read a cell that begins with one of these as a formula."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table that can be exported, and its number of runs."""

    min_runs: int
    max_runs: int
    build: Callable[[Store, Sequence[RunRef], UnscoredPolicy], pd.DataFrame]


def table(store: Store, name: str, runs: Sequence[RunRef], *, unscored: UnscoredPolicy = "excluded") -> pd.DataFrame:
    """Build the table `name`, a key of `TABLES`. `unscored` says how samples without a score count in its means.

    Raises SettingError for the wrong number of runs.
    """
    chosen = TABLES[name]
    if not chosen.min_runs <= len(runs) <= chosen.max_runs:
        raise SettingError(f"the table {name} needs {_COUNT[chosen.max_runs]}, got {len(runs)}")
    return chosen.build(store, runs, unscored)


def table_bytes(frame: pd.DataFrame, kind: str) -> bytes:
    """Return the table in one of `TABLE_FORMATS`. Raises SettingError for a table that cannot be written as Parquet.

    In CSV, texts that a spreadsheet would run as formulas start with `'`.
    """
    if kind == "parquet":
        buffer = BytesIO()
        try:
            frame.to_parquet(buffer, index=False)
        except pa.ArrowException as error:
            raise SettingError(f"this table cannot be written as Parquet: {str(error).splitlines()[0]}") from error
        return buffer.getvalue()
    if kind == "csv":
        safe = frame.copy(deep=False)
        for name in frame.select_dtypes(include=["object", "string"]).columns:
            safe[name] = frame[name].map(_without_formula, na_action="ignore")
        safe.columns = [_without_formula(name) for name in frame.columns]
        rows = _CsvText(newline="")
        safe.to_csv(rows, index=False, lineterminator=_CsvText.END)
        return rows.getvalue().encode()
    text = frame.to_json(
        None,
        orient="records",
        lines=kind == "jsonl",
        date_format="iso",
        force_ascii=False,
        indent=None,
        double_precision=15,
    )
    return text.encode()


class _CsvText(StringIO):
    """CSV text with a line feed after each row. pandas is told to write CRLF, so that it quotes carriage returns."""

    END = "\r\n"

    def write(self, row: str) -> int:
        """Write a row that ends with `END`."""
        return super().write(f"{row.removesuffix(self.END)}\n")


def _without_formula(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_PREFIXES) else cell


def _samples(store: Store, runs: Sequence[RunRef], _: UnscoredPolicy) -> pd.DataFrame:
    return sample_table(store, runs[0], SampleQuery())


def _statements(store: Store, runs: Sequence[RunRef], _: UnscoredPolicy) -> pd.DataFrame:
    """Return one row per statement and target."""
    with store.database.read() as connection:
        return statement_frame(connection, runs[0])


def _runs(store: Store, runs: Sequence[RunRef], unscored: UnscoredPolicy) -> pd.DataFrame:
    summaries = [run_summary(store, run, unscored=unscored) for run in runs]
    return runs_frame(summaries or leaderboard(store, unscored=unscored))


def _metrics(store: Store, _runs: Sequence[RunRef], _: UnscoredPolicy) -> pd.DataFrame:
    return metrics_frame(metric_descriptions(store).values())


def _comparison(store: Store, runs: Sequence[RunRef], unscored: UnscoredPolicy) -> pd.DataFrame:
    a, b = runs
    return comparison_frame(compare_runs(store, a, b, unscored=unscored))


def _pairs(store: Store, runs: Sequence[RunRef], _: UnscoredPolicy) -> pd.DataFrame:
    a, b = choose_evaluations(store, *runs)
    pairing = pair_runs(store, a, b)
    specs = [metric.metric for metric in compare_runs(store, a, b, pairing).metrics]
    return pairs_frame(
        {spec: pair_rows(store, a, b, pairing, PairQuery(metric=spec, limit=NO_LIMIT)).rows for spec in specs}
    )


TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "samples": Table(min_runs=1, max_runs=1, build=_samples),
        "statements": Table(min_runs=1, max_runs=1, build=_statements),
        "runs": Table(min_runs=0, max_runs=NO_LIMIT, build=_runs),
        "metrics": Table(min_runs=0, max_runs=0, build=_metrics),
        "comparison": Table(min_runs=2, max_runs=2, build=_comparison),
        "pairs": Table(min_runs=2, max_runs=2, build=_pairs),
    }
)
"""The tables that can be exported."""

_COUNT = {0: "no run", 1: "one run", 2: "two runs", NO_LIMIT: "any number of runs"}
