"""Assertions on the scores of an evaluation, for any test framework.

The pytest plugin imports this module in every session, so heavy modules are imported only when an assertion runs.
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
"""What happens to an inconclusive gate.

mean: it passes if the mean meets the threshold; warn: it passes; fail: it fails. If it passes, a warning is issued.
"""

MAX_SHOWN = 10
"""Maximum number of statements, and of samples per metric, in the message of a failed assertion."""

_THRESHOLD = re.compile(r"\s*(>=|<=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@dataclass
class Session:
    """State shared by the assertions of a test session."""

    active: bool = False
    """Whether a test session is running. During a session, evaluations are kept in `stores`."""
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Defaults of the current test: arguments of `evaluate`, `on_inconclusive` and `unscored`."""
    stores: dict[str, Store] = field(default_factory=dict[str, "Store"])
    """Temporary stores by the digest of their samples, so that the same samples are judged only once."""


SESSION = Session()


def assert_evaluation(
    samples: Any,
    *,
    thresholds: Mapping[str, str] | None = None,
    on_inconclusive: OnInconclusive | None = None,
    unscored: UnscoredPolicy | None = None,
    metrics: Iterable[Metric] = (),
    **keywords: Any,
) -> EvaluationResult:
    """Evaluate samples and assert that the means of metrics reach their thresholds; return the result.

        assert_evaluation("answers.jsonl", faithfulness=">= 0.9", hallucination="<= 0.05")

    `samples` are samples as for `evaluate`, or an EvaluationResult. A threshold is `>= NUMBER` or `<= NUMBER`. Pass it
    as a keyword with the name of the metric; if the name has a dot or settings, pass it in `thresholds`. If thresholds
    name your own metrics, pass these in `metrics`. All other keywords are arguments of `evaluate`, such as judge or
    mapping.

    The 95% CI decides, as in `ragboard check`: a gate passes if the whole interval meets the threshold, and fails if
    the whole interval misses it. Otherwise the gate is inconclusive and `on_inconclusive` decides: with `mean` (the
    default) the mean must meet the threshold, with `fail` the assertion fails, with `warn` it passes. If an
    inconclusive gate passes, or tasks failed, InconclusiveWarning is issued. `unscored` says how samples without a
    score count. The assertion fails if no sample is scored, or if a limit stopped the evaluation.

    In pytest, the same samples are judged once per session, and `@pytest.mark.ragboard(judge=...)` sets defaults.
    Raises AssertionError with the values, intervals and worst statements, SettingError for an invalid threshold, and
    the errors of `evaluate`.
    """
    __tracebackhide__ = True
    from ragboard.analysis import check_run, check_thresholds, metric_descriptions, run_summary
    from ragboard.api import EvaluationResult

    defaults = dict(SESSION.defaults)
    on_inconclusive = on_inconclusive or defaults.pop("on_inconclusive", "mean")
    policy: UnscoredPolicy = unscored or defaults.pop("unscored", "excluded")
    if on_inconclusive not in ("mean", "warn", "fail"):
        raise SettingError(f"on_inconclusive is {on_inconclusive!r}, expected 'mean', 'warn' or 'fail'")
    arguments = _evaluate_arguments()
    options = {name: keywords.pop(name) for name in tuple(keywords) if name in arguments}
    conditions = [_condition(name, text) for name, text in {**(thresholds or {}), **keywords}.items()]
    if not conditions:
        raise SettingError("nothing to assert: pass a threshold such as faithfulness='>= 0.9'")
    if isinstance(samples, EvaluationResult):
        if options:
            raise SettingError(
                f"{', '.join(options)} cannot be set for an EvaluationResult, because it is already evaluated"
            )
        result = samples
    else:
        defaults = {name: value for name, value in defaults.items() if name in arguments}
        result = _evaluated(samples, conditions, tuple(metrics), {**defaults, **options})
    if result.finished.stopped:
        raise AssertionError(f"the evaluation was stopped: {result.finished.stopped}")
    gated = check_run(run_summary(result.store, result.run, unscored=policy), conditions)
    check_thresholds(gated, metric_descriptions(result.store))
    failed = [gate for gate in gated if _fails(gate, on_inconclusive)]
    if failed:
        raise AssertionError("\n".join(_message(result, gated, failed)))
    cautions = [caution for gate in gated if (caution := _caution(result, gate))]
    if cautions:
        warnings.warn("; ".join(cautions), InconclusiveWarning, stacklevel=2)
    return result


def _evaluate_arguments() -> frozenset[str]:
    from inspect import signature

    from ragboard.api import evaluate

    return frozenset(signature(evaluate).parameters) - {"samples", "metrics"}


def _condition(metric: str, text: object) -> Condition:
    from ragboard.analysis import Condition

    match = _THRESHOLD.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise SettingError(f"{metric}={text!r} is not a threshold: expected '>= NUMBER' or '<= NUMBER'")
    return Condition(metric=metric, fail="below" if match[1] == ">=" else "above", threshold=float(match[2]))


def _evaluated(
    samples: Any, conditions: Iterable[Condition], own_metrics: tuple[Metric, ...], arguments: Mapping[str, Any]
) -> EvaluationResult:
    """Evaluate the samples with the metrics that the conditions name, in the store of the session."""
    from dataclasses import replace

    from ragboard.api import evaluate, gate_metrics, panel_of, read_run, temporary_store
    from ragboard.evaluation.defaults import default_metrics
    from ragboard.store.writing import run_digest

    own_names = {name for metric in own_metrics for name in (metric.name, metric.spec)}
    names = [condition.metric for condition in conditions if condition.metric not in own_names]
    panel, _ = panel_of(
        arguments.get("judge") or "embedded", embed=arguments.get("embed"), base_url=arguments.get("base_url")
    )
    metrics = (*own_metrics, *gate_metrics(names, panel)) or default_metrics(panel)
    if not SESSION.active or arguments.get("store") is not None:
        return evaluate(samples, metrics=metrics, **arguments)
    read_options = {name: arguments.get(name) for name in ("name", "config", "dataset", "mapping")}
    run, report = read_run(samples, **read_options)
    digest = run_digest(run)
    if digest not in SESSION.stores:
        SESSION.stores[digest] = temporary_store()
    judge_options = {name: value for name, value in arguments.items() if name not in read_options}
    return replace(evaluate(run, metrics=metrics, store=SESSION.stores[digest], **judge_options), report=report)


def _fails(gate: GateResult, on_inconclusive: OnInconclusive) -> bool:
    if gate.estimate is None or gate.verdict != "inconclusive":
        return gate.verdict != "pass"
    if on_inconclusive == "mean":
        return gate.estimate < gate.threshold if gate.fail == "below" else gate.estimate > gate.threshold
    return on_inconclusive == "fail"


def _caution(result: EvaluationResult, gate: GateResult) -> str:
    """Return a description of the gate if it is inconclusive or samples failed; otherwise an empty text."""
    from ragboard.analysis import gate_text

    summary = result.summary.metrics.get(gate.metric)
    failures = summary.unscored.get("failed", 0) if summary else 0
    missing = f" ({failures} samples failed)" if failures else ""
    return f"{gate_text(gate)}{missing}" if gate.verdict == "inconclusive" or failures else ""


def _message(result: EvaluationResult, gated: Iterable[GateResult], failed: Iterable[GateResult]) -> Iterator[str]:
    """Yield the lines of the failure message: all gates, the worst samples of each failed gate, and hallucinations."""
    from ragboard.analysis import gate_text
    from ragboard.display import one_line
    from ragboard.records import Score

    yield "the evaluation does not reach its thresholds"
    for gate in gated:
        yield one_line(f"  {gate_text(gate)}")
    yield one_line(f"  {str(result).splitlines()[0]}")
    for gate in failed:
        if gate.metric not in result.summary.metrics:
            continue
        scored = [(row, outcome) for row in result.samples if isinstance(outcome := row.scores[gate.metric], Score)]
        scored.sort(key=lambda pair: pair[1].value if gate.fail == "below" else -pair[1].value)
        yield f"  worst {gate.metric}:"
        for row, outcome in scored[:MAX_SHOWN]:
            yield one_line(f"    {outcome.value:.2f} ({outcome.counted}), sample {row.sample_id}: {row.question}")
        if unscored := result.summary.metrics[gate.metric].unscored_text:
            yield f"    unscored: {unscored}"
    statements = result.hallucinations()
    if statements:
        yield f"  statements that no passage supports ({len(statements):,}):"
        for statement in statements[:MAX_SHOWN]:
            yield one_line(f"    {statement}")
