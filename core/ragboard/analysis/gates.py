"""Conditions on a run or on a comparison, decided by the interval: pass, fail or inconclusive."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.comparability import DIFFERENT_JUDGES
from ragboard.analysis.compare import Comparison
from ragboard.analysis.means import MetricSummary, range_of
from ragboard.analysis.runs import RunSummary
from ragboard.errors import SettingError
from ragboard.records import MetricDescription
from ragboard.stats import GateVerdict, Interval, NoInterval, gate

__all__ = [
    "Condition",
    "Gated",
    "check_run",
    "gate_comparison",
    "read_condition",
    "refuse_unreachable",
    "spec_named",
    "threshold_conditions",
    "verdict_of",
]

_CONDITION = re.compile(
    r"\s*(?P<metric>[^\s<>(]+(\([^)]*\))?)\s*(?P<sign>[<>])\s*(?P<limit>[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?)\s*"
)


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What a metric must not be: below a limit, or above it. The limit itself passes."""

    metric: str
    """A name or identity of a metric."""
    fail: Literal["below", "above"]
    limit: float


@dataclass(frozen=True, kw_only=True)
class Gated:
    """A condition and what became of it."""

    metric: str
    """The identity that the name meant."""
    fail: Literal["below", "above"]
    limit: float
    verdict: GateVerdict
    """pass or fail only where the whole interval is on that side of the limit."""
    estimate: float | None
    """None where nothing was scored."""
    interval: Interval | NoInterval
    n: int
    """How many values the interval speaks of."""


def read_condition(text: str) -> Condition:
    """`faithfulness < -0.02` as a condition. Raises SettingError where it is none."""
    found = _CONDITION.fullmatch(text)
    if found is None or not math.isfinite(float(found["limit"])):
        raise SettingError(f"{text!r} is not a condition: expected METRIC < NUMBER or METRIC > NUMBER")
    return Condition(
        metric=found["metric"], fail="below" if found["sign"] == "<" else "above", limit=float(found["limit"])
    )


def gate_comparison(compared: Comparison, conditions: Iterable[Condition]) -> tuple[Gated, ...]:
    """Each condition on a difference, B minus A.

    Raises SettingError naming what was compared, and for a metric that A and B do not have from the same judge setup.
    """
    by_spec = {metric.metric: metric.pairs for metric in compared.metrics}
    not_comparable = {one.metric: one.judges for one in compared.metrics if one.change == DIFFERENT_JUDGES}
    found: list[Gated] = []
    for condition in conditions:
        spec = spec_named(condition.metric, tuple(by_spec))
        if spec in not_comparable:
            raise SettingError(
                f"{spec} is not comparable: different judges ({not_comparable[spec]}). Evaluate both runs with the same"
                " judge, or pass --allow-different-judges"
            )
        pairs = by_spec[spec]
        interval = pairs.interval if pairs else NoInterval(reason="no pair is scored in both runs", n=0)
        found.append(_gated(condition, spec, interval, pairs.difference if pairs else None))
    return tuple(found)


def check_run(run: RunSummary, conditions: Iterable[Condition]) -> tuple[Gated, ...]:
    """Each condition on a mean of a run. Raises SettingError naming the metrics that there are."""
    metrics: dict[str, MetricSummary] = {**run.metrics, **run.file_scores}
    found: list[Gated] = []
    for condition in conditions:
        spec = spec_named(condition.metric, tuple(metrics))
        summary = metrics[spec]
        found.append(_gated(condition, spec, summary.interval, summary.mean))
    return tuple(found)


def refuse_unreachable(
    gated: Iterable[Gated], metrics: Mapping[str, MetricDescription], *, difference: bool = False
) -> None:
    """Raises SettingError for a limit outside what a mean, or a difference, of the metric can be."""
    for one in gated:
        ends = range_of(metrics.get(one.metric))
        if ends is None:
            continue
        low, high = (ends[0] - ends[1], ends[1] - ends[0]) if difference else ends
        if not low <= one.limit <= high:
            of = "a difference" if difference else "a mean"
            raise SettingError(f"{one.limit:g} is out of range for {one.metric}: {of} is between {low:g} and {high:g}")


def threshold_conditions(run: RunSummary) -> tuple[Condition, ...]:
    """The thresholds that are set for metrics of a run, as conditions."""
    limits = (summary.threshold for summary in (*run.metrics.values(), *run.file_scores.values()))
    return tuple(Condition(metric=one.metric, fail=one.fail, limit=one.value) for one in limits if one)


def verdict_of(gated: Sequence[Gated]) -> GateVerdict:
    """What several come to: fail where one fails, else inconclusive where one is, else pass."""
    verdicts = {one.verdict for one in gated}
    return "fail" if "fail" in verdicts else "inconclusive" if "inconclusive" in verdicts else "pass"


def spec_named(name: str, specs: Sequence[str]) -> str:
    """The one of these metrics that a name means: its identity, with or without source and settings.

    Raises SettingError naming the candidates.
    """
    for meant in (lambda spec: spec, lambda spec: spec.partition("(")[0], _name):
        found = [spec for spec in specs if meant(spec) == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise SettingError(f"{name!r} is ambiguous: {' or '.join(found)}")
    raise SettingError(f"no metric {name!r} here; there are {', '.join(specs) or 'none'}")


def _name(spec: str) -> str:
    return spec.partition("(")[0].rpartition(".")[2]


def _gated(condition: Condition, spec: str, interval: Interval | NoInterval, estimate: float | None) -> Gated:
    return Gated(
        metric=spec,
        fail=condition.fail,
        limit=condition.limit,
        verdict=gate(interval, threshold=condition.limit, fail=condition.fail),
        estimate=estimate,
        interval=interval,
        n=interval.n,
    )
