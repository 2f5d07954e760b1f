"""Choose the evaluations of two runs to compare, and warn if they are not comparable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.analysis.runs import RunSummary, dataset_label
from ragboard.judges.panel import NO_JUDGE
from ragboard.store import RunRef, Store
from ragboard.store.queries.evaluations import ScoredEvaluation, judges_of_task, scored_evaluations
from ragboard.store.queries.metrics import changed_descriptions
from ragboard.store.queries.query import Connection

__all__ = [
    "DIFFERENT_JUDGES",
    "JudgePair",
    "choose_evaluations",
    "comparison_warnings",
    "different_judges",
    "missing_evaluations",
    "same_judge_setups",
    "same_statement_judges",
]

EXTRACTION_TASK = "ExtractStatements"
"""The task type that extracts the statements of an answer and decides whether the answer refuses."""

DIFFERENT_JUDGES: Final = "different judges"
"""Shown in place of better or worse for metrics whose judges differ between A and B."""


@dataclass(frozen=True, kw_only=True)
class JudgePair:
    """The two different judge setups that evaluated a metric in A and in B."""

    a: str
    b: str

    def __str__(self) -> str:
        """For example `gpt-4o in A, embedded in B`."""
        if self.a == self.b:
            return f"{self.a} in both, but with different prompts, settings or versions"
        return f"{self.a} in A, {self.b} in B"


def same_judge_setups(a: ScoredEvaluation, b: ScoredEvaluation) -> bool:
    """Return whether the same judges with the same settings answered all tasks of a metric in both evaluations."""
    tasks = a.tasks if a.tasks is not None else b.tasks
    if tasks == frozenset():  # no judge is needed
        return True
    if a.reads_history != b.reads_history or (a.judge == NO_JUDGE) != (b.judge == NO_JUDGE):
        return False
    if tasks is None:
        return a.identity == b.identity
    return all(a.identity.get(task) == b.identity.get(task) for task in tasks)


def choose_evaluations(store: Store, a: RunRef, b: RunRef) -> tuple[RunRef, RunRef]:
    """Choose the evaluations of two runs to compare, and return the runs with them.

    Each metric is taken from the newest evaluations by a judge setup that evaluated it in both runs. If there is none,
    it is taken from the evaluation that each run shows. `RUN@EVALUATION` always keeps its evaluation.
    """
    if a.chosen and b.chosen:
        return a, b
    with store.database.read() as connection:
        by_metric_a, by_metric_b = (_evaluations_by_metric(connection, run) for run in (a, b))
    matched: dict[str, tuple[ScoredEvaluation, ScoredEvaluation]] = {}
    for spec in in_order(by_metric_a.keys() & by_metric_b.keys()):
        matching = [
            (evaluation_a, evaluation_b)
            for evaluation_a in by_metric_a[spec]
            for evaluation_b in by_metric_b[spec]
            if same_judge_setups(evaluation_a, evaluation_b)
        ]
        if matching:
            matched[spec] = max(matching, key=_recency)
    with_statements = next(
        (pair for pair in matched.values() if all(_has_extracted_statements(evaluation) for evaluation in pair)), None
    )
    statements_a, statements_b = with_statements or (None, None)
    metrics_a = {spec: a.evaluation_of(spec) for spec in by_metric_a}
    metrics_b = {spec: b.evaluation_of(spec) for spec in by_metric_b}
    metrics_a |= {spec: evaluation_a.evaluation_id for spec, (evaluation_a, _) in matched.items()}
    metrics_b |= {spec: evaluation_b.evaluation_id for spec, (_, evaluation_b) in matched.items()}
    return _with_evaluations(a, metrics_a, statements_a), _with_evaluations(b, metrics_b, statements_b)


def different_judges(connection: Connection, a: RunRef, b: RunRef, specs: Sequence[str]) -> dict[str, JudgePair]:
    """Return {metric: its judges} for the metrics that different judge setups evaluated in A and B."""
    by_metric_a, by_metric_b = (_evaluations_by_metric(connection, run) for run in (a, b))
    differing: dict[str, JudgePair] = {}
    for spec in specs:
        evaluation_a, evaluation_b = _evaluation_used(a, spec, by_metric_a), _evaluation_used(b, spec, by_metric_b)
        if evaluation_a and evaluation_b and not same_judge_setups(evaluation_a, evaluation_b):
            differing[spec] = JudgePair(a=evaluation_a.judge, b=evaluation_b.judge)
    return differing


def same_statement_judges(connection: Connection, a: RunRef, b: RunRef) -> bool:
    """Return whether the same judge setup extracted statements, and recognised refusals, in both runs."""
    return len(set(judges_of_task(connection, EXTRACTION_TASK, [a.evaluation_id, b.evaluation_id]))) == 1


def _has_extracted_statements(evaluation: ScoredEvaluation) -> bool:
    """Return whether the metric is computed from statements of the answers, and the evaluation has statements."""
    return evaluation.has_statements and EXTRACTION_TASK in (
        evaluation.identity if evaluation.tasks is None else evaluation.tasks
    )


def _recency(pair: tuple[ScoredEvaluation, ScoredEvaluation]) -> tuple[bool, datetime]:
    """Return a sort key. It is larger for complete pairs of evaluations, then for those that finished later."""
    return all(evaluation.complete for evaluation in pair), min(evaluation.finished for evaluation in pair)


def _with_evaluations(run: RunRef, metrics: Mapping[str, str | None], statements: ScoredEvaluation | None) -> RunRef:
    """Return the run with its metrics and statements from these evaluations, unless the user chose an evaluation."""
    if run.chosen:
        return run
    main = statements.evaluation_id if statements else run.evaluation_id
    other_evaluations = tuple(
        sorted(
            (spec, evaluation_id) for spec, evaluation_id in metrics.items() if evaluation_id and evaluation_id != main
        )
    )
    return replace(run, evaluation_id=main, other_evaluations=other_evaluations)


def _evaluation_used(
    run: RunRef, spec: str, by_metric: Mapping[str, Sequence[ScoredEvaluation]]
) -> ScoredEvaluation | None:
    used = run.evaluation_of(spec)
    return next((evaluation for evaluation in by_metric.get(spec, ()) if evaluation.evaluation_id == used), None)


def _evaluations_by_metric(connection: Connection, run: RunRef) -> dict[str, list[ScoredEvaluation]]:
    """Return the evaluations of each metric, newest first; only the chosen evaluation if the user chose one."""
    by_metric = scored_evaluations(connection, run.run_id)
    if not run.chosen:
        return by_metric
    chosen = {
        spec: [evaluation for evaluation in evaluations if evaluation.evaluation_id == run.evaluation_id]
        for spec, evaluations in by_metric.items()
    }
    return {spec: evaluations for spec, evaluations in chosen.items() if evaluations}


def comparison_warnings(
    connection: Connection, a: RunSummary, b: RunSummary, judges: Mapping[str, JudgePair]
) -> tuple[str, ...]:
    """Return one sentence for each difference of A and B in dataset, judges, metric settings and evaluated samples.

    `judges` is {label of a metric: its judges}, for metrics with different judge setups.
    """
    return (
        *_run_warnings(a, b),
        *_judge_warnings(a, b, judges),
        *_metric_warnings(connection, a, b),
        *_coverage_warnings(connection, a, b),
    )


def missing_evaluations(a: RunSummary, b: RunSummary) -> dict[Literal["A", "B"], tuple[str, ...]]:
    """Return the runs to evaluate for a full comparison, each with the metrics that only the other run has.

    A run with an empty tuple has all metrics of the other run, but some of its samples were not evaluated.
    """
    runs: tuple[tuple[Literal["A", "B"], RunSummary, RunSummary], ...] = (("A", a, b), ("B", b, a))
    missing: dict[Literal["A", "B"], tuple[str, ...]] = {}
    for name, run, other in runs:
        only = tuple(spec for spec in other.metrics if spec not in run.metrics)
        if (
            only
            or run.judged is None
            or any(summary.judged and summary.judged.part for summary in run.metrics.values())
        ):
            missing[name] = only
    return missing


def _run_warnings(a: RunSummary, b: RunSummary) -> Iterator[str]:
    if a.run_id == b.run_id:
        yield "A and B are the same run: the judge setup differs, the answers do not."
    elif a.dataset_key != b.dataset_key:
        in_a, in_b = (dataset_label(run.dataset, (a.dataset, b.dataset)) for run in (a, b))
        names = "" if in_a == in_b else f": {in_a} in A, {in_b} in B"
        yield f"The runs use different question sets{names}."


def _judge_warnings(a: RunSummary, b: RunSummary, judges: Mapping[str, JudgePair]) -> Iterator[str]:
    missing = [side for side, run in (("A", a), ("B", b)) if run.judged is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        yield f"{' and '.join(missing)} {verb} not evaluated: only scores from the run files are compared."
        return
    by_judges: dict[str, list[str]] = {}
    for label, pair in judges.items():
        by_judges.setdefault(str(pair), []).append(label)
    for judge_names, labels in by_judges.items():
        yield f"Not comparable, different judges ({judge_names}): {', '.join(labels)}."


def _metric_warnings(connection: Connection, a: RunSummary, b: RunSummary) -> Iterator[str]:
    label_of = _labels(connection)
    only_a, only_b = sorted(a.metrics.keys() - b.metrics.keys()), sorted(b.metrics.keys() - a.metrics.keys())
    for spec in only_a:
        other = next(
            (candidate for candidate in only_b if _without_settings(candidate) == _without_settings(spec)), None
        )
        if other:
            yield f"Not compared, different settings: {spec} in A, {other} in B."
    bare_a, bare_b = set(map(_without_settings, only_a)), set(map(_without_settings, only_b))
    for side, specs, others in (("A", only_a, bare_b), ("B", only_b, bare_a)):
        only_here = [spec for spec in specs if _without_settings(spec) not in others]
        if only_here:
            yield f"Not compared, only in {side}: {', '.join(map(label_of, only_here))}."
    changed = changed_descriptions(connection, _evaluations_used(a), _evaluations_used(b))
    if changed:
        yield f"The definition changed between the evaluations of A and B: {', '.join(map(label_of, changed))}."


def _evaluations_used(run: RunSummary) -> Iterator[tuple[str, str]]:
    for spec, summary in run.metrics.items():
        if summary.judged:
            yield spec, summary.judged.evaluation_id


def _without_settings(spec: str) -> str:
    return spec.partition("(")[0]


def _labels(connection: Connection) -> Callable[[str], str]:
    """Return a function that maps a metric's full name to its label on pages."""
    descriptions = read_descriptions(connection)
    return lambda spec: descriptions[spec].label if spec in descriptions else spec


def _coverage_warnings(connection: Connection, a: RunSummary, b: RunSummary) -> Iterator[str]:
    label_of = _labels(connection)
    for side, run in (("A", a), ("B", b)):
        parts: dict[tuple[int, int], list[str]] = {}
        for spec, summary in run.metrics.items():
            if summary.judged and summary.judged.part:
                parts.setdefault((summary.judged.covered, summary.judged.samples), []).append(spec)
        for (covered, samples), specs in parts.items():
            metrics = "" if len(specs) == len(run.metrics) else f" for {', '.join(map(label_of, specs))}"
            yield f"Only {covered:,} of the {samples:,} samples of {side} were evaluated{metrics}."
