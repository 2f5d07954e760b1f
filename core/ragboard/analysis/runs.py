"""Runs: the leaderboard, the summary of a run, and the cost and failures of its evaluations."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ragboard.analysis.means import MetricSummary, UnscoredPolicy, metric_summaries
from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.analysis.reference_answers import compares_with_reference, read_reference_runs, self_comparison_warning
from ragboard.errors import NotFoundError
from ragboard.metrics.claim_classes import ClaimClass
from ragboard.problems import kind_of_problem
from ragboard.records import JsonValue, Label, ModelUsage
from ragboard.sample_files import SAMPLE_TAG
from ragboard.store import RunRef, Store, read_evaluations
from ragboard.store.queries.clusters import run_clusters
from ragboard.store.queries.evaluations import (
    JudgedBy,
    file_evaluations,
    judged_by,
    other_evaluations_by_run,
    usage_by_evaluation,
)
from ragboard.store.queries.query import Connection
from ragboard.store.queries.runs import ListedRun, RunRow, StoreTable, all_runs, described_tables, listed_runs, run_row
from ragboard.store.queries.samples import refusal_counts
from ragboard.store.queries.scores import FailedScore, failed_scores, failing_evaluations, means_query
from ragboard.store.queries.statements import label_counts, origin_counts

__all__ = [
    "FailureKind",
    "ListedEvaluation",
    "RunSummary",
    "TotalUsage",
    "board_metrics",
    "dataset_label",
    "different_judges_note",
    "evaluations_by_run",
    "failed_evaluations",
    "failures",
    "judge_identity",
    "leaderboard",
    "list_runs",
    "means_sql",
    "run_evaluations",
    "run_summary",
    "runs_matching",
    "sample_runs_last",
    "store_tables",
    "total_usage",
]


@dataclass(frozen=True, kw_only=True)
class TotalUsage:
    """Calls, tokens and cost over all models, compared with the plan."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; None if a price or the tokens of a call are not known."""
    uncounted: int
    """Number of calls without reported tokens; the token counts leave them out."""
    unpriced: tuple[str, ...]
    """Models without a known cost."""
    planned_calls: int | None
    """Number of planned calls; None without a plan."""
    planned_tokens: int | None
    calls_to_plan_ratio: float | None
    """Calls divided by planned calls: 1.1 is 10% more than planned. None without a plan."""
    tokens_to_plan_ratio: float | None
    """Tokens divided by planned tokens. None without a plan, or if the tokens of a call are not known."""
    models: tuple[ModelUsage, ...]

    def __str__(self) -> str:
        """`41 calls, 12,300 tokens, $0.0042; 100% of the calls and 108% of the tokens planned`."""
        return f"{self._counts()}, {self._dollars()}{self._shares_of_plan()}"

    def _counts(self) -> str:
        counts = f"{self.calls:,} calls, {self.prompt_tokens + self.completion_tokens:,} tokens"
        return f"{counts} (unknown for {self.uncounted:,} calls)" if self.uncounted else counts

    def _dollars(self) -> str:
        return f"cost unknown ({', '.join(self.unpriced)})" if self.cost is None else f"${self.cost:,.4f}"

    def _shares_of_plan(self) -> str:
        if self.calls_to_plan_ratio is None:
            return ""
        tokens = (
            "" if self.tokens_to_plan_ratio is None else f" and {self.tokens_to_plan_ratio:.0%} of the tokens planned"
        )
        return f"; {self.calls_to_plan_ratio:.0%} of the calls{tokens or ' planned'}"


_UNNAMED = re.compile(r"([\d,]+ questions?) \([0-9a-f]{4}\)")
"""Matches the generated name of an unnamed dataset: `98 questions (a1b2)`."""


def dataset_label(name: str, others: Iterable[str] = ()) -> str:
    """Return the name of a dataset for pages. A generated name is shortened to `98 questions` if that is unambiguous.

    `others` are the names of all datasets on the page.
    """
    match = _UNNAMED.fullmatch(name)
    if match is None or any(other != name and other.startswith(f"{match[1]} (") for other in others):
        return name
    return match[1]


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A run with the means of its metrics, as the leaderboard shows it."""

    run_id: str
    name: str
    config: Mapping[str, JsonValue]
    dataset: str
    dataset_key: str
    source: str
    tags: tuple[str, ...]
    samples: int
    imported: datetime
    judged: JudgedBy | None
    """The main evaluation, whose statements are shown; None if the run was never evaluated."""
    metrics: Mapping[str, MetricSummary]
    file_scores: Mapping[str, MetricSummary]
    """Scores of another tool, from the run file: `ragas-file.faithfulness`."""
    labels: Mapping[Label, int]
    """Number of statements in answers, by verdict against all passages together."""
    origins: Mapping[ClaimClass, int]
    """Number of statements in answers, by RAGChecker's six classes; empty if a verdict is missing."""
    refusals: int | None
    """Number of answers that refuse, completely or in part; None if refusals were not judged."""
    usage: TotalUsage | None = None
    """Calls, tokens and cost of its evaluations; None if no model was called."""
    notes: str = ""
    """Notes that a person wrote about the run."""
    clustered: str = ""
    """The clusters that intervals are computed with: `12 conversations`. Empty if samples are independent."""

    def other_judge_note(self, metric: str) -> str:
        """Return the judge of a metric that is not from the main evaluation; empty if it is."""
        summary = self.metrics.get(metric)
        judged = summary.judged if summary else None
        if judged is None or (self.judged and judged.evaluation_id == self.judged.evaluation_id):
            return ""
        return ", ".join(filter(None, (f"judge {judged.in_words}", judged.part)))


@dataclass(frozen=True, kw_only=True)
class ListedEvaluation:
    """An evaluation in the list of a run's evaluations."""

    judged: JudgedBy
    metrics: tuple[str, ...]

    def __str__(self) -> str:
        """`gpt-4o-mini, 20 of 60 samples evaluated, 3 metrics, 2026-11-20 14:03 UTC`."""
        count = f"{len(self.metrics)} metric{'' if len(self.metrics) == 1 else 's'}"
        when = f"{self.judged.finished:%Y-%m-%d %H:%M} UTC"
        return ", ".join(filter(None, (self.judged.in_words, self.judged.part, count, when)))


@dataclass(frozen=True, kw_only=True)
class FailureKind:
    """Failures whose messages differ only in numbers, names and quoted texts."""

    message: str
    """The message with placeholders for the parts that differ."""
    count: int
    """Number of scores that are missing because of these failures."""
    samples: int
    metrics: tuple[str, ...]
    sample_id: str
    """The id of one affected sample."""
    example: str
    """The full message for that sample."""


def leaderboard(
    store: Store, *, unscored: UnscoredPolicy = "excluded", run_ids: Collection[str] | None = None
) -> tuple[RunSummary, ...]:
    """Return every run, or those with these ids, with all its metrics, newest run first.

    A metric is taken from the newest evaluation of all samples that has it. If there is none, it is taken from the
    newest evaluation of some samples. `unscored` says how samples without a score count in the means.
    """
    with store.database.read() as connection:
        return _summaries(connection, all_runs(connection, run_ids), other_evaluations_by_run(connection), unscored)


def sample_runs_last(runs: Sequence[RunSummary]) -> tuple[RunSummary, ...]:
    """Sort runs: those of the user first, the sample runs of `ragboard demo` last."""
    return tuple(sorted(runs, key=lambda run: SAMPLE_TAG in run.tags))


def board_metrics(runs: Sequence[RunSummary]) -> tuple[str, ...]:
    """Return the metrics of all the runs, then the scores in their run files."""
    ours = in_order(spec for run in runs for spec in run.metrics)
    from_files = in_order(spec for run in runs for spec in run.file_scores)
    return tuple(dict.fromkeys((*ours, *from_files)))


def different_judges_note(runs: Sequence[RunSummary]) -> str:
    """Return a warning about runs over the same questions that different judges evaluated; empty if there are none."""
    by_dataset: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        if run.judged:
            by_dataset.setdefault(run.dataset_key, {}).setdefault(run.judged.in_words, []).append(run.name)
    notes = [
        "; ".join(f"{', '.join(names)} by {judge}" for judge, names in judges.items())
        for judges in by_dataset.values()
        if len(judges) > 1
    ]
    return " ".join(f"Not comparable, judged by different judges: {note}." for note in notes)


def means_sql(runs: Iterable[RunSummary]) -> str:
    """Return the SQL that computes the means of these runs over their scored samples."""
    evaluations = (
        summary.judged.evaluation_id
        for run in runs
        for summary in (*run.metrics.values(), *run.file_scores.values())
        if summary.judged
    )
    return str(means_query(tuple(dict.fromkeys(evaluations))))


def list_runs(store: Store) -> tuple[ListedRun, ...]:
    """Return every run in the order of the leaderboard, without reading scores."""
    with store.database.read() as connection:
        return listed_runs(connection)


def store_tables(store: Store) -> tuple[StoreTable, ...]:
    """Return every view and table of the store with its columns and descriptions, views first."""
    with store.database.read() as connection:
        return described_tables(connection)


def run_summary(store: Store, run: RunRef, *, unscored: UnscoredPolicy = "excluded") -> RunSummary:
    """Return the summary of one run. Raises NotFoundError if the run was deleted."""
    with store.database.read() as connection:
        summaries = _summaries(
            connection, run_row(connection, run), {run.run_id: dict(run.other_evaluations)}, unscored
        )
    if not summaries:
        raise NotFoundError(f"run {run.name!r} is no longer in the store")
    return summaries[0]


def judge_identity(store: Store, run: RunRef) -> Mapping[str, str]:
    """Return {task type: identity of the judge} (name, model, prompts, version); empty if not evaluated."""
    with store.database.read() as connection:
        evaluations = read_evaluations(connection, "evaluation_id = ?", run.evaluation_id or "")
    return {task: str(judge) for evaluation in evaluations for task, judge in evaluation.identity.items()}


def run_evaluations(store: Store, run_id: str) -> tuple[ListedEvaluation, ...]:
    """Return the evaluations of a run, newest first, without the scores in its file."""
    with store.database.read() as connection:
        evaluations = read_evaluations(connection, "run_id = ? AND NOT imported", run_id)
        judged = judged_by(connection, [evaluation.id for evaluation in evaluations])
    return tuple(
        ListedEvaluation(judged=judged[evaluation.id], metrics=evaluation.metrics) for evaluation in evaluations
    )


def evaluations_by_run(store: Store) -> Mapping[str, tuple[ListedEvaluation, ...]]:
    """Return {run id: evaluations, newest first} for every evaluated run."""
    with store.database.read() as connection:
        evaluations = read_evaluations(connection, "NOT imported")
        judged = judged_by(connection, [evaluation.id for evaluation in evaluations])
    by_run: dict[str, tuple[ListedEvaluation, ...]] = {}
    for evaluation in evaluations:
        listed = ListedEvaluation(judged=judged[evaluation.id], metrics=evaluation.metrics)
        by_run[evaluation.run_id] = (*by_run.get(evaluation.run_id, ()), listed)
    return by_run


def runs_matching(runs: Iterable[RunSummary], search: str) -> tuple[RunSummary, ...]:
    """Return the runs whose name, tags and dataset contain every word of the search; case does not matter."""
    words = search.casefold().split()
    return tuple(
        run for run in runs if all(word in " ".join((run.name, *run.tags, run.dataset)).casefold() for word in words)
    )


def failures(store: Store, run: RunRef) -> tuple[FailureKind, ...]:
    """Return the kinds of failure that left scores of a run missing, most frequent first."""
    with store.database.read() as connection:
        failed = failed_scores(connection, run)
    kinds: dict[str, list[FailedScore]] = {}
    for score in failed:
        kinds.setdefault(kind_of_problem(score.detail), []).append(score)
    failure_kinds = [
        FailureKind(
            message=message,
            count=len(scores),
            samples=len({score.position for score in scores}),
            metrics=tuple(dict.fromkeys(score.metric for score in scores)),
            sample_id=scores[0].sample_id,
            example=scores[0].detail,
        )
        for message, scores in kinds.items()
    ]
    return tuple(sorted(failure_kinds, key=lambda kind: -kind.count))


def failed_evaluations(store: Store, run: RunRef) -> tuple[RunRef, ...]:
    """Return the evaluations of a run in which failed tasks left scores missing."""
    with store.database.read() as connection:
        failed = failing_evaluations(connection, run)
    return tuple(
        RunRef(run_id=run.run_id, name=run.name, evaluation_id=evaluation)
        for evaluation in run.evaluations
        if evaluation in failed
    )


def _summaries(
    connection: Connection,
    rows: Sequence[RunRow],
    other_evaluations: Mapping[str, Mapping[str, str]],
    unscored: UnscoredPolicy,
) -> tuple[RunSummary, ...]:
    """Summarize runs. `other_evaluations` is {run id: {metric: evaluation other than the main one}}."""
    others = {row.run_id: other_evaluations.get(row.run_id, {}) for row in rows}
    evaluations = [row.evaluation_id for row in rows if row.evaluation_id]
    other_ids = (evaluation for by_metric in others.values() for evaluation in by_metric.values())
    evaluation_ids = list(dict.fromkeys((*evaluations, *other_ids)))
    from_files = file_evaluations(connection, [row.run_id for row in rows])
    files = {run_id: evaluation for run_id, evaluation in from_files.items() if evaluation not in evaluation_ids}
    judged = judged_by(connection, [*evaluation_ids, *files.values()])
    covered = {evaluation: by.covered for evaluation, by in judged.items()}
    metrics = metric_summaries(connection, list(judged), covered, unscored)
    shown = [
        (row.run_id, evaluation)
        for row in rows
        for evaluation in (row.evaluation_id, *others[row.run_id].values(), files.get(row.run_id))
        if evaluation
    ]
    complete = {run_id for run_id, evaluation in shown if evaluation not in judged or not judged[evaluation].part}
    partial = [(run_id, evaluation) for run_id, evaluation in shown if run_id not in complete]
    clustered = run_clusters(connection, list(complete), partial)
    labels, origins = label_counts(connection, evaluations), origin_counts(connection, evaluations)
    usage = usage_by_evaluation(connection, evaluation_ids)
    refusals = refusal_counts(connection, evaluations)
    descriptions = read_descriptions(connection)
    with_reference = {spec for spec, metric in descriptions.items() if compares_with_reference(metric)}
    reference_runs = read_reference_runs(connection, [row.run_id for row in rows])
    summaries: list[RunSummary] = []
    for row in rows:
        main, other = row.evaluation_id or "", others[row.run_id]
        main_specs = {spec: main for spec in metrics.get(main, {}) if spec not in other}
        by_spec = main_specs | {
            spec: evaluation for spec, evaluation in other.items() if spec in metrics.get(evaluation, {})
        }
        models = [model for evaluation in dict.fromkeys((main, *other.values())) for model in usage.get(evaluation, ())]
        summary = RunSummary(
            run_id=row.run_id,
            name=row.name,
            config=json.loads(row.config),
            dataset=row.dataset,
            dataset_key=row.dataset_key,
            source=row.source,
            tags=tuple(row.tags),
            samples=row.samples,
            imported=row.imported,
            judged=judged.get(main),
            metrics={
                spec: replace(
                    metrics[by_spec[spec]][spec],
                    judged=judged[by_spec[spec]],
                    caution=self_comparison_warning("the run's")
                    if spec in with_reference and row.run_id in reference_runs
                    else "",
                )
                for spec in in_order(by_spec)
            },
            file_scores=metrics.get(files.get(row.run_id, ""), {}),
            labels=labels.get(main, {}),
            origins=origins.get(main, {}),
            refusals=refusals.get(main),
            usage=total_usage(models) if models else None,
            notes=row.notes,
            clustered=str(clustered.get(row.run_id, "")),
        )
        summaries.append(summary)
    return tuple(summaries)


def total_usage(models: Sequence[ModelUsage]) -> TotalUsage:
    """Sum the calls, tokens and cost of all models of an evaluation."""
    calls, uncounted = sum(model.calls for model in models), sum(model.uncounted for model in models)
    prompt, completion = sum(model.prompt_tokens for model in models), sum(model.completion_tokens for model in models)
    planned_calls, planned_tokens = (
        None if None in planned else sum(number or 0 for number in planned)
        for planned in ([model.planned_calls for model in models], [model.planned_tokens for model in models])
    )
    unpriced = tuple(dict.fromkeys(model.model for model in models if model.cost is None))
    return TotalUsage(
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=None if unpriced else sum(model.cost or 0.0 for model in models),
        uncounted=uncounted,
        unpriced=unpriced,
        planned_calls=planned_calls,
        planned_tokens=planned_tokens,
        calls_to_plan_ratio=calls / planned_calls if planned_calls else None,
        tokens_to_plan_ratio=(prompt + completion) / planned_tokens if planned_tokens and not uncounted else None,
        models=tuple(models),
    )
