"""Trends: how a metric changed from run to run over one dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from ragboard.analysis.compare import MetricComparison, compare_metric, difference_in_words
from ragboard.analysis.gates import resolve_spec
from ragboard.analysis.means import MetricSummary
from ragboard.analysis.metrics import headline, in_order, metric_descriptions
from ragboard.analysis.runs import RunSummary, leaderboard
from ragboard.stats import estimate_text
from ragboard.store import RunRef, Store

__all__ = ["MAX_TREND_RUNS", "Trend", "TrendPoint", "dataset_trend"]

MAX_TREND_RUNS = 20
"""Maximum number of runs in a trend. Older runs are left out."""


@dataclass(frozen=True, kw_only=True)
class TrendPoint:
    """One run of a dataset in a trend."""

    run: RunSummary
    summary: MetricSummary | None
    """The metric's mean with its 95% CI; None if the run was not evaluated with it."""
    previous: str
    """The name of the previous run that was evaluated with the metric; empty for the first such run."""
    difference: MetricComparison | None
    """This run minus the previous run, over the questions scored in both; None if there is no previous run or no such
    question."""

    @property
    def mean_in_words(self) -> str:
        """For example `0.88 (0.80 to 0.94) 60/60`, `unscored: 60 failed` or `not evaluated`."""
        if self.summary is None:
            return "not evaluated"
        if self.summary.mean is None:
            return f"unscored: {self.summary.unscored_text}"
        estimate = estimate_text(self.summary.mean, self.summary.interval, ".2f")
        return f"{estimate} {self.summary.scored}/{self.summary.total}"

    @property
    def difference_in_words(self) -> str:
        """The difference with its 95% CI and verdict, or why there is none; empty for the first run."""
        if not self.previous:
            return ""
        return difference_in_words(self.difference) if self.difference else "no question is scored in both runs"


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A metric over the runs of a dataset, oldest run first."""

    dataset: str
    metric: str
    """Full name of the metric; empty if no run is evaluated."""
    label: str
    """The metric's name on pages."""
    metrics: tuple[str, ...]
    """The metrics that at least one run was evaluated with."""
    points: tuple[TrendPoint, ...]
    older: int
    """Number of older runs that are left out."""


def dataset_trend(
    store: Store,
    dataset: str,
    metric: str = "",
    *,
    summaries: Sequence[RunSummary] | None = None,
    compare: Callable[[RunRef, RunRef, str], MetricComparison | None] | None = None,
) -> Trend:
    """Compute a metric's mean for each run of a dataset, and its difference from the run before.

    `metric` is by default the first metric that all evaluated runs have or, if they share none, the first metric of the
    newest run. The differences are those of `compare_runs`. `summaries` are all runs, by default those of
    `leaderboard`, and `compare` computes a difference, by default `compare_metric`. Raises NotFoundError if no run has
    the metric, SettingError if its name is ambiguous.
    """
    summaries = leaderboard(store) if summaries is None else summaries
    compare = compare or partial(compare_metric, store)
    runs = sorted((run for run in summaries if run.dataset == dataset), key=lambda run: (run.imported, run.name))
    older, runs = len(runs[:-MAX_TREND_RUNS]), runs[-MAX_TREND_RUNS:]
    evaluated = [run for run in runs if run.metrics]
    metrics = in_order({spec for run in evaluated for spec in run.metrics})
    metric = resolve_spec(metric, metrics) if metric else _default_metric(evaluated)
    scored = [run for run in evaluated if metric in run.metrics]
    before = {run.run_id: earlier for earlier, run in pairwise(scored)}
    points = tuple(_point(store, run, before.get(run.run_id), metric, compare) for run in runs)
    description = metric_descriptions(store).get(metric)
    label = description.label if description else metric
    return Trend(dataset=dataset, metric=metric, label=label, metrics=tuple(metrics), points=points, older=older)


def _default_metric(evaluated: Sequence[RunSummary]) -> str:
    """Return the first metric that all runs have, else the first metric of the newest run; empty without runs."""
    if not evaluated:
        return ""
    specs = headline(tuple(evaluated[-1].metrics))
    return next((spec for spec in specs if all(spec in run.metrics for run in evaluated)), specs[0])


def _point(
    store: Store,
    run: RunSummary,
    previous: RunSummary | None,
    metric: str,
    compare: Callable[[RunRef, RunRef, str], MetricComparison | None],
) -> TrendPoint:
    compared = compare(store.resolve(previous.run_id), store.resolve(run.run_id), metric) if previous else None
    return TrendPoint(
        run=run,
        summary=run.metrics.get(metric),
        previous=previous.name if previous else "",
        difference=compared if compared and compared.pairs else None,
    )
