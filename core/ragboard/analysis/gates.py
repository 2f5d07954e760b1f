"""Quality gates: conditions on a run or a comparison that pass, fail or are inconclusive, depending on the 95% CI."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.comparability import DIFFERENT_JUDGES
from ragboard.analysis.compare import Comparison
from ragboard.analysis.means import MetricSummary, finite_range
from ragboard.analysis.reference_answers import ANSWERS_ARE_REFERENCES
from ragboard.analysis.runs import RunSummary
from ragboard.errors import NotFoundError, SettingError
from ragboard.metrics import DEFAULT_METRICS, DEFAULT_METRICS_BY_RULES
from ragboard.records import MetricDescription
from ragboard.stats import GateVerdict, Interval, NoInterval, ci_text, gate

__all__ = [
    "Condition",
    "GateResult",
    "check_run",
    "check_thresholds",
    "gate_comparison",
    "gate_text",
    "overall_verdict",
    "read_condition",
    "resolve_spec",
    "threshold_conditions",
]

_CONDITION = re.compile(
    r"\s*(?P<metric>[^\s<>(]+(\([^)]*\))?)\s*(?P<sign>[<>])\s*(?P<threshold>[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?)\s*"
)


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A metric, and the threshold below or above which it fails. A value at the threshold passes."""

    metric: str
    """The name of the metric; source and settings can be left out."""
    fail: Literal["below", "above"]
    threshold: float


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """A condition, the estimate that was checked, and the verdict."""

    metric: str
    """The full name of the metric, with source and settings."""
    fail: Literal["below", "above"]
    threshold: float
    verdict: GateVerdict
    """`pass` or `fail` if the whole interval is on one side of the threshold, else `inconclusive`."""
    estimate: float | None
    """The mean, or the difference B minus A; None if nothing was scored."""
    interval: Interval | NoInterval
    n: int
    """Number of values that the interval is computed from."""


def read_condition(text: str) -> Condition:
    """Parse a condition: `faithfulness < -0.02` fails below -0.02. Raises SettingError for any other text."""
    match = _CONDITION.fullmatch(text)
    if match is None or not math.isfinite(float(match["threshold"])):
        raise SettingError(f"{text!r} is not a condition: expected METRIC < NUMBER or METRIC > NUMBER")
    return Condition(
        metric=match["metric"], fail="below" if match["sign"] == "<" else "above", threshold=float(match["threshold"])
    )


def gate_comparison(compared: Comparison, conditions: Iterable[Condition]) -> tuple[GateResult, ...]:
    """Check each condition against the difference B minus A.

    Raises NotFoundError if a metric was not compared. Raises SettingError if different judges evaluated it in A and B,
    or if it compares references with themselves.
    """
    by_spec = {metric.metric: metric.pairs for metric in compared.metrics}
    not_comparable = {metric.metric: metric.judges for metric in compared.metrics if metric.change == DIFFERENT_JUDGES}
    self_compared = {
        metric.metric: metric.caution for metric in compared.metrics if metric.change == ANSWERS_ARE_REFERENCES
    }
    results: list[GateResult] = []
    for condition in conditions:
        spec = resolve_spec(condition.metric, tuple(by_spec))
        if spec in self_compared:
            raise SettingError(f"{spec} is not comparable: {self_compared[spec]}. Choose another metric for --fail-if")
        if spec in not_comparable:
            raise SettingError(
                f"{spec} is not comparable: different judges ({not_comparable[spec]}). Evaluate both runs with the same"
                " judge, or pass --allow-different-judges"
            )
        pairs = by_spec[spec]
        interval = pairs.interval if pairs else NoInterval(reason="no sample is scored in both runs", n=0)
        results.append(_decide(condition, spec, interval, pairs.difference if pairs else None))
    return tuple(results)


def check_run(run: RunSummary, conditions: Iterable[Condition]) -> tuple[GateResult, ...]:
    """Check each condition against the mean of its metric.

    Raises NotFoundError if the run does not have a metric.
    """
    metrics: dict[str, MetricSummary] = {**run.metrics, **run.file_scores}
    results: list[GateResult] = []
    for condition in conditions:
        spec = resolve_spec(condition.metric, tuple(metrics))
        summary = metrics[spec]
        results.append(_decide(condition, spec, summary.interval, summary.mean))
    return tuple(results)


def check_thresholds(
    gated: Iterable[GateResult], metrics: Mapping[str, MetricDescription], *, difference: bool = False
) -> None:
    """Raise SettingError if a threshold is outside the range of the mean or, with `difference`, of a difference."""
    for result in gated:
        bounds = finite_range(metrics.get(result.metric))
        if bounds is None:
            continue
        low, high = (bounds[0] - bounds[1], bounds[1] - bounds[0]) if difference else bounds
        if not low <= result.threshold <= high:
            value = "a difference" if difference else "a mean"
            raise SettingError(
                f"{result.threshold:g} is out of range for {result.metric}: {value} is between {low:g} and {high:g}"
            )


def gate_text(result: GateResult, *, difference: bool = False) -> str:
    """Return a result as one line: `fail: ragas.faithfulness = 0.812, 95% CI 0.750 to 0.860, n = 60; required: >= 0.9`.

    With `difference`, the estimate is a difference: `fail: ragas.faithfulness, B - A = -0.051, ...`.
    """
    form = "+.3f" if difference else ".3f"
    sign = ">=" if result.fail == "below" else "<="
    estimate = ": nothing scored"
    if result.estimate is not None:
        value = f"{result.estimate:{form}}, {ci_text(result.interval, form)}, n = {result.n}"
        estimate = f", B - A = {value}" if difference else f" = {value}"
    return f"{result.verdict}: {result.metric}{estimate}; required: {sign} {result.threshold:g}"


def threshold_conditions(run: RunSummary) -> tuple[Condition, ...]:
    """Return the thresholds set for the metrics of a run, as conditions."""
    thresholds = (summary.threshold for summary in (*run.metrics.values(), *run.file_scores.values()))
    return tuple(
        Condition(metric=threshold.metric, fail=threshold.fail, threshold=threshold.value)
        for threshold in thresholds
        if threshold
    )


def overall_verdict(gated: Sequence[GateResult]) -> GateVerdict:
    """Return `fail` if any gate fails, else `inconclusive` if any gate is inconclusive, else `pass`."""
    verdicts = {result.verdict for result in gated}
    return "fail" if "fail" in verdicts else "inconclusive" if "inconclusive" in verdicts else "pass"


def resolve_spec(name: str, specs: Sequence[str]) -> str:
    """Return the full name of a metric, given its name with or without source and settings.

    If several metrics have this name, a default metric has priority. Raises NotFoundError for an unknown name and
    SettingError for an ambiguous one; both messages list the candidates.
    """
    for shorten in (lambda spec: spec, lambda spec: spec.partition("(")[0], _name):
        candidates = [spec for spec in specs if shorten(spec) == name]
        defaults = (metric.spec for metric in (*DEFAULT_METRICS, *DEFAULT_METRICS_BY_RULES))
        if default := next((spec for spec in defaults if spec in candidates), None):
            return default
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise SettingError(f"{name!r} is ambiguous: {' or '.join(candidates)}")
    raise NotFoundError(f"no metric {name!r}; available: {', '.join(specs) or 'no metrics'}")


def _name(spec: str) -> str:
    return spec.partition("(")[0].rpartition(".")[2]


def _decide(condition: Condition, spec: str, interval: Interval | NoInterval, estimate: float | None) -> GateResult:
    return GateResult(
        metric=spec,
        fail=condition.fail,
        threshold=condition.threshold,
        verdict=gate(interval, threshold=condition.threshold, fail=condition.fail),
        estimate=estimate,
        interval=interval,
        n=interval.n,
    )
