"""The leaderboard as a component: report objects in, the run that was opened out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from streamlit.components.v2 import component

from ragboard.analysis import STANDINGS, MetricSummary, RunSummary, UnscoredPolicy
from ragboard.analysis.verdict_style import VERDICTS
from ragboard.records import MetricDescription
from ragboard.spans import inert
from ragboard.stats import Interval

__all__ = ["Asked", "ago", "board_data", "mean_shown", "run_board"]

UNBOUNDED = 2.0
"""Where the picture of a metric without an upper bound ends."""

CAPTIONS: dict[UnscoredPolicy, str] = {
    "excluded": "Mean over the scored samples with its 95% interval; under it, how many were scored.",
    "zero": "Mean with unscored samples as zero, as the worst where lower is better, and its 95% interval.",
    "bounds": "The mean with all unscored samples at the worst and at the best value; the thin line is the 95%"
    " interval around both (Horowitz and Manski 2000).",
}

_FILES = files("ragboard_dashboard") / "components"
_mount = component(
    "ragboard_board",
    html='<div id="board"></div>',
    css=(_FILES / "board.css").read_text("utf-8"),
    js=(_FILES / "board.js").read_text("utf-8"),
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The ids of the runs that a person just asked to open, and to edit; None where nobody did."""

    open: str | None
    edit: str | None


def run_board(
    runs: Sequence[RunSummary],
    metrics: Mapping[str, MetricDescription],
    *,
    editable: bool,
    key: str,
    now: datetime,
    unscored: UnscoredPolicy = "excluded",
) -> Asked:
    """Draw the leaderboard by what its metrics are. Returns what a person just asked for."""
    data = board_data(runs, metrics, now, unscored) | {"editable": editable}
    result = _mount(key=key, data=data, on_open_change=lambda: None, on_edit_change=lambda: None)
    return Asked(open=result.open, edit=result.edit)


def board_data(
    runs: Sequence[RunSummary],
    metrics: Mapping[str, MetricDescription],
    now: datetime,
    unscored: UnscoredPolicy = "excluded",
) -> dict[str, Any]:
    """What the component draws, as JSON-ready data."""
    ours = dict.fromkeys(spec for run in runs for spec in run.metrics)
    specs = list(ours | dict.fromkeys(spec for run in runs for spec in run.file_scores))
    sources = {metrics[spec].source for spec in specs if spec in metrics}
    return {
        "caption": " ".join(filter(None, (CAPTIONS[unscored], _judges(runs)))),
        "columns": [_column(spec, metrics.get(spec), named=len(sources) > 1) for spec in specs],
        "rows": [_row(run, specs, now, {} if unscored == "excluded" else {"unscored": unscored}) for run in runs],
    }


def _judges(runs: Sequence[RunSummary]) -> str:
    """A warning where not all runs were judged by the same judge."""
    judges = {run.judged.in_words for run in runs if run.judged}
    return (
        f"Judged by different judges, so not comparable: {inert('; '.join(sorted(judges)))}." if len(judges) > 1 else ""
    )


def _column(spec: str, metric: MetricDescription | None, *, named: bool) -> dict[str, Any]:
    """One metric, `named` with its source: the same word means different things in different systems."""
    if metric is None:
        return {"title": spec, "source": "", "arrow": "", "help": spec, "low": 0.0, "high": 1.0}
    arrow = {"higher": "↑", "lower": "↓", "neutral": ""}[metric.direction]
    return {
        "title": inert(metric.label),
        "source": inert(metric.source) if named else "",
        "arrow": arrow,
        "help": inert(f"{spec}: {metric.formula}"),
        "low": max(metric.low or 0.0, 0.0),
        "high": UNBOUNDED if metric.high is None else metric.high,
    }


def _row(run: RunSummary, specs: Sequence[str], now: datetime, address: Mapping[str, str]) -> dict[str, Any]:
    judged = run.judged
    return {
        "key": run.run_id,
        "name": inert(run.name),
        "href": f"run?{urlencode({'run': run.name, **address})}",
        "tags": [inert(tag) for tag in run.tags],
        "config": inert(" · ".join(f"{key} {value}" for key, value in run.config.items())),
        "metrics": [
            _cell(run.metrics.get(spec) or run.file_scores.get(spec), run.judged_elsewhere(spec)) for spec in specs
        ],
        "labels": [
            {"name": label, "icon": verdict.icon, "count": run.labels.get(label, 0)}
            for label, verdict in VERDICTS.items()
        ],
        "refusals": _refusals(run),
        "dataset": inert(run.dataset),
        "samples": (judged and judged.part) or f"{run.samples:,} samples",
        "judge": "not evaluated" if judged is None else judged.judge + (" (heuristic)" if judged.heuristic else ""),
        "when": "" if judged is None else ago(judged.finished, now),
    }


def _cell(summary: MetricSummary | None, judge: str) -> dict[str, Any] | None:
    if summary is None:
        return None
    interval = summary.interval if isinstance(summary.interval, Interval) else None
    count = f"{summary.scored:,} of {summary.total:,}"
    low, high = summary.bounds or (None, None)
    return {
        "mean": summary.mean,
        "least": low,
        "most": high,
        "shown": mean_shown(summary),
        "threshold": summary.threshold.value if summary.threshold else None,
        "standing": f"{STANDINGS[summary.standing]} ({summary.threshold})" if summary.standing else "",
        "look": summary.standing or "",
        "note": inert(" · ".join(filter(None, (summary.note, judge)))),
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "bounds": f"{interval.low:.2f} – {interval.high:.2f}" if interval else "",
        "count": count,
        "complete": summary.scored == summary.total,
        "why": _why(summary, count),
    }


def _why(summary: MetricSummary, count: str) -> str:
    reasons = _reasons(summary.unscored)
    found = summary.interval
    if isinstance(found, Interval):
        method = f"95% interval: {'; '.join(filter(None, [found.method, found.warning]))}"
    else:
        method = f"no interval: {found.reason}"
    note = f"; {summary.note}" if summary.note else ""
    return f"{count} scored{f'; unscored: {reasons}' if reasons else ''}{note}. {method}."


def mean_shown(summary: MetricSummary) -> str:
    """`0.74`; under worst-case bounds `0.62 to 0.81`; `unscored` where there is none."""
    if summary.bounds:
        return f"{summary.bounds[0]:.2f} to {summary.bounds[1]:.2f}"
    return "unscored" if summary.mean is None else f"{summary.mean:.2f}"


def _reasons(unscored: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in unscored.items())


def _refusals(run: RunSummary) -> str:
    if run.refusals is None or run.judged is None or not run.judged.covered:
        return "–"
    return f"{run.refusals / run.judged.covered:.0%} ({run.refusals:,})"


def ago(then: datetime, now: datetime) -> str:
    """How long ago, in the largest unit that fits; both UTC."""
    seconds = max(0, int((now - then).total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
