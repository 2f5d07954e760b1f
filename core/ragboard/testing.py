"""Assert the scores of an evaluation in a test, of any test framework.

Heavy modules are imported when an assertion runs: the pytest plugin imports this module in every session.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ragboard.errors import InconclusiveWarning, SettingError

if TYPE_CHECKING:
    from ragboard.analysis import Condition, GateResult, UnscoredPolicy
    from ragboard.api import EvaluationResult
    from ragboard.metrics import Metric
    from ragboard.store import Store

__all__ = ["SESSION", "OnInconclusive", "Session", "assert_evaluation"]

OnInconclusive = Literal["mean", "warn", "fail"]
"""What an inconclusive gate means: mean: the mean decides; warn: it passes; fail: it fails. A pass warns."""

SHOWN = 10
"""Maximum number of statements in the message of a failed assertion, and of samples per metric."""

_THRESHOLD = re.compile(r"\s*(>=|<=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@dataclass
class Session:
    """What the assertions of one test session share."""

    active: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Defaults of the current test: arguments of `evaluate`, `on_inconclusive` and `unscored`."""
    stores: dict[str, Store] = field(default_factory=dict[str, "Store"])
    """A temporary store for each set of samples, by digest, so that nothing is judged twice."""


SESSION = Session()


def assert_evaluation(
    samples: Any,
    *,
    thresholds: Mapping[str, str] | None = None,
    on_inconclusive: OnInconclusive | None = None,
    unscored: UnscoredPolicy | None = None,
    metrics: Iterable[Metric] = (),
    **given: Any,
) -> EvaluationResult:
    """Evaluate samples and assert that the means of metrics reach their thresholds; return the result.

        assert_evaluation("answers.jsonl", faithfulness=">= 0.9", hallucination="<= 0.05")

    `samples` are those of `evaluate`, or an EvaluationResult. A threshold is `>= NUMBER` or `<= NUMBER`, as a keyword
    with the name of the metric, or in `thresholds` for a name with a dot or settings. `metrics` are metrics of your
    own that thresholds name. All other keywords are arguments of `evaluate`: judge, embed, base_url, mapping and so on.

    The 95% CI decides, as in `ragboard check`: a gate passes or fails if the whole interval is on that side of the
    threshold. If the threshold is inside, or there is no interval, `on_inconclusive` decides: `mean` (the default):
    the mean does; `fail`: the assertion fails; `warn`: it passes. A pass that is inconclusive, or in which tasks
    failed, warns with InconclusiveWarning. `unscored` says how samples without a score count. Without a single score,
    and if a limit stopped the evaluation, the assertion fails.

    In pytest, the same samples are judged once per session, and `@pytest.mark.ragboard(judge=...)` gives defaults.
    Raises AssertionError with the values, intervals and worst statements, SettingError for a wrong threshold, and the
    errors of `evaluate`.
    """
    __tracebackhide__ = True
    from ragboard.analysis import check_run, check_thresholds, metric_descriptions, run_summary
    from ragboard.api import EvaluationResult

    defaults = dict(SESSION.defaults)
    on_inconclusive = on_inconclusive or defaults.pop("on_inconclusive", "mean")
    policy: UnscoredPolicy = unscored or defaults.pop("unscored", "excluded")
    if on_inconclusive not in ("mean", "warn", "fail"):
        raise SettingError(f"on_inconclusive is {on_inconclusive!r}, expected 'mean', 'warn' or 'fail'")
    arguments = _arguments()
    options = {name: given.pop(name) for name in tuple(given) if name in arguments}
    conditions = [_condition(name, text) for name, text in {**(thresholds or {}), **given}.items()]
    if not conditions:
        raise SettingError("nothing to assert: pass a threshold such as faithfulness='>= 0.9'")
    if isinstance(samples, EvaluationResult):
        if options:
            raise SettingError(f"{', '.join(options)}: only for samples; this result is evaluated already")
        result = samples
    else:
        defaults = {name: value for name, value in defaults.items() if name in arguments}
        result = _evaluated(samples, conditions, tuple(metrics), {**defaults, **options})
    if result.finished.stopped:
        raise AssertionError(f"the evaluation was stopped: {result.finished.stopped}")
    gated = check_run(run_summary(result.store, result.run, unscored=policy), conditions)
    check_thresholds(gated, metric_descriptions(result.store))
    failed = [one for one in gated if _fails(one, on_inconclusive)]
    if failed:
        raise AssertionError("\n".join(_message(result, gated, failed)))
    doubts = [line for one in gated if (line := _doubt(result, one))]
    if doubts:
        warnings.warn("; ".join(doubts), InconclusiveWarning, stacklevel=2)
    return result


def _arguments() -> frozenset[str]:
    from inspect import signature

    from ragboard.api import evaluate

    return frozenset(signature(evaluate).parameters) - {"samples", "metrics"}


def _condition(metric: str, text: object) -> Condition:
    from ragboard.analysis import Condition

    found = _THRESHOLD.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise SettingError(f"{metric}={text!r} is not a threshold: expected '>= NUMBER' or '<= NUMBER'")
    return Condition(metric=metric, fail="below" if found[1] == ">=" else "above", threshold=float(found[2]))


def _evaluated(
    samples: Any, conditions: Iterable[Condition], own: tuple[Metric, ...], given: Mapping[str, Any]
) -> EvaluationResult:
    """Evaluate the samples with the metrics that the conditions name, in the store of the session."""
    from dataclasses import replace

    from ragboard.api import evaluate, gate_metrics, panel_of, read_run, temporary_store
    from ragboard.evaluation.defaults import default_metrics
    from ragboard.store.writing import run_digest

    of_own = {name for metric in own for name in (metric.name, metric.spec)}
    names = [condition.metric for condition in conditions if condition.metric not in of_own]
    panel, _ = panel_of(given.get("judge") or "embedded", embed=given.get("embed"), base_url=given.get("base_url"))
    metrics = (*own, *gate_metrics(names, panel)) or default_metrics(panel)
    if not SESSION.active or given.get("store") is not None:
        return evaluate(samples, metrics=metrics, **given)
    reading = {name: given.get(name) for name in ("name", "config", "dataset", "mapping")}
    run, report = read_run(samples, **reading)
    digest = run_digest(run)
    if digest not in SESSION.stores:
        SESSION.stores[digest] = temporary_store()
    judging = {name: value for name, value in given.items() if name not in reading}
    return replace(evaluate(run, metrics=metrics, store=SESSION.stores[digest], **judging), report=report)


def _fails(one: GateResult, on_inconclusive: OnInconclusive) -> bool:
    if one.estimate is None or one.verdict != "inconclusive":
        return one.verdict != "pass"
    if on_inconclusive == "mean":
        return one.estimate < one.threshold if one.fail == "below" else one.estimate > one.threshold
    return on_inconclusive == "fail"


def _doubt(result: EvaluationResult, one: GateResult) -> str:
    """Return why a gate that passes may be wrong; empty if nothing speaks against it."""
    from ragboard.analysis import gate_text

    summary = result.summary.metrics.get(one.metric)
    failures = summary.unscored.get("failed", 0) if summary else 0
    missing = f" ({failures} samples failed)" if failures else ""
    return f"{gate_text(one)}{missing}" if one.verdict == "inconclusive" or failures else ""


def _message(result: EvaluationResult, gated: Iterable[GateResult], failed: Iterable[GateResult]) -> Iterator[str]:
    """Yield the gates, the worst samples of those that failed, and the statements that no passage supports."""
    from ragboard.analysis import gate_text
    from ragboard.display import one_line
    from ragboard.records import Score

    yield "the evaluation does not reach its thresholds"
    for one in gated:
        yield one_line(f"  {gate_text(one)}")
    yield one_line(f"  {str(result).splitlines()[0]}")
    for one in failed:
        if one.metric not in result.summary.metrics:
            continue
        scored = [(row, outcome) for row in result.samples if isinstance(outcome := row.scores[one.metric], Score)]
        scored.sort(key=lambda pair: pair[1].value if one.fail == "below" else -pair[1].value)
        yield f"  worst {one.metric}:"
        for row, outcome in scored[:SHOWN]:
            yield one_line(f"    {outcome.value:.2f} ({outcome.counted}), sample {row.sample_id}: {row.question}")
        if unscored := result.summary.metrics[one.metric].unscored_text:
            yield f"    unscored: {unscored}"
    statements = result.hallucinations()
    if statements:
        yield f"  statements that no passage supports ({len(statements):,}):"
        for statement in statements[:SHOWN]:
            yield one_line(f"    {statement}")
