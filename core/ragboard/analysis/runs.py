"""Runs: the leaderboard, one run's summary, what evaluations took and what failed in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ragboard.analysis.means import MetricSummary, UnscoredPolicy, metric_summaries
from ragboard.analysis.metrics import in_order
from ragboard.errors import NotFoundError
from ragboard.metrics.partition import Origin
from ragboard.problems import kind_of_problem
from ragboard.records import JsonValue, Label, Spend
from ragboard.store import RunRef, Store, read_evaluations
from ragboard.store.queries.clusters import run_clusters
from ragboard.store.queries.evaluations import JudgedBy, elsewhere_by_run, file_evaluations, judged_by, spends
from ragboard.store.queries.query import Connection
from ragboard.store.queries.runs import ListedRun, RunRow, StoreTable, all_runs, described_tables, listed_runs, run_row
from ragboard.store.queries.samples import refusing_runs
from ragboard.store.queries.scores import FailedScore, failed_scores, failing_evaluations, means_query
from ragboard.store.queries.statements import label_counts, origin_counts

__all__ = [
    "FailureKind",
    "ListedEvaluation",
    "RunSummary",
    "Spending",
    "evaluations_by_run",
    "failed_evaluations",
    "failures",
    "judge_identity",
    "leaderboard",
    "list_runs",
    "run_evaluations",
    "run_summary",
    "runs_matching",
    "runs_sql",
    "spending_of",
    "store_tables",
]


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What an evaluation took, all its models together, and how near that was to its plan."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; None where a price or a call's tokens are not known."""
    uncounted: int
    """Calls whose tokens the server did not say; they are in no count of tokens."""
    unpriced: tuple[str, ...]
    """Models whose cost is not known."""
    planned_calls: int | None
    """None where nothing was planned."""
    planned_tokens: int | None
    calls_of_plan: float | None
    """Calls, as a share of those planned: 1.1 is a tenth more. None without a plan."""
    tokens_of_plan: float | None
    """The same of tokens; None where some are uncounted too."""
    models: tuple[Spend, ...]

    def __str__(self) -> str:
        """In one line: `41 calls, 12,300 tokens, $0.0042; 100% and 108% of what was planned`."""
        return f"{self._taken()}, {self._dollars()}{self._planned()}"

    def _taken(self) -> str:
        said = f"{self.calls:,} calls, {self.prompt_tokens + self.completion_tokens:,} tokens"
        return f"{said} (unknown for {self.uncounted:,} calls)" if self.uncounted else said

    def _dollars(self) -> str:
        return f"cost unknown ({', '.join(self.unpriced)})" if self.cost is None else f"${self.cost:,.4f}"

    def _planned(self) -> str:
        if self.calls_of_plan is None:
            return ""
        tokens = "" if self.tokens_of_plan is None else f" and {self.tokens_of_plan:.0%} of the tokens planned"
        return f"; {self.calls_of_plan:.0%} of the calls{tokens or ' planned'}"


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One line of the leaderboard."""

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
    """The evaluation whose statements are shown; None where the run was never evaluated."""
    metrics: Mapping[str, MetricSummary]
    file_scores: Mapping[str, MetricSummary]
    """What the run file brought as another tool's scores (`ragas-file.faithfulness`); nobody here counted them."""
    labels: Mapping[Label, int]
    """Statements of the answers by verdict on the passages together."""
    origins: Mapping[Origin, int]
    """Statements of the answers by class of the six-way partition, where all three tables were judged."""
    refusals: int | None
    """Answers that decline, wholly or in part; None where that was never asked."""
    spending: Spending | None = None
    """None where no model was asked."""
    notes: str = ""
    """What a person wrote about it."""
    clustered: str = ""
    """What its samples are of, `12 conversations`: intervals are clustered by it; empty where samples are
    independent."""

    def judged_elsewhere(self, metric: str) -> str:
        """Who judged a metric that is from another evaluation than the statements; empty where it is from the same."""
        summary = self.metrics.get(metric)
        judged = summary.judged if summary else None
        if judged is None or (self.judged and judged.evaluation_id == self.judged.evaluation_id):
            return ""
        return ", ".join(filter(None, (f"judge {judged.in_words}", judged.part)))


@dataclass(frozen=True, kw_only=True)
class ListedEvaluation:
    """An evaluation of a run to choose from."""

    judged: JudgedBy
    metrics: tuple[str, ...]

    def __str__(self) -> str:
        """`gpt-4o-mini, 20 of 60 samples evaluated, 3 metrics, 2026-11-20 14:03 UTC`."""
        count = f"{len(self.metrics)} metric{'' if len(self.metrics) == 1 else 's'}"
        when = f"{self.judged.finished:%Y-%m-%d %H:%M} UTC"
        return ", ".join(filter(None, (self.judged.in_words, self.judged.part, count, when)))


@dataclass(frozen=True, kw_only=True)
class FailureKind:
    """Failures that differ in numbers, names and quoted texts at most."""

    message: str
    """What they have in common."""
    count: int
    """Scores that are missing for it."""
    samples: int
    metrics: tuple[str, ...]
    sample_id: str
    """One of the samples, and its whole message."""
    example: str


def leaderboard(store: Store, *, unscored: UnscoredPolicy = "excluded") -> tuple[RunSummary, ...]:
    """Every run with each metric from its newest evaluation of our own, one of all samples first; newest run first.

    `unscored` says how samples without a score count in the means.
    """
    with store.database.read() as connection:
        return _summaries(connection, all_runs(connection), elsewhere_by_run(connection), unscored)


def runs_sql(board: Iterable[RunSummary]) -> str:
    """The SQL behind the means of these runs over their scored samples."""
    evaluations = (
        one.judged.evaluation_id
        for run in board
        for one in (*run.metrics.values(), *run.file_scores.values())
        if one.judged
    )
    return str(means_query(tuple(dict.fromkeys(evaluations))))


def list_runs(store: Store) -> tuple[ListedRun, ...]:
    """Every run, in the leaderboard's order; reads no scores."""
    with store.database.read() as connection:
        return listed_runs(connection)


def store_tables(store: Store) -> tuple[StoreTable, ...]:
    """Every view and table with its columns, the views first, as the comments in the database describe them."""
    with store.database.read() as connection:
        return described_tables(connection)


def run_summary(store: Store, run: RunRef, *, unscored: UnscoredPolicy = "excluded") -> RunSummary:
    """One run, by the evaluations that the reference means. Raises NotFoundError where it is gone."""
    with store.database.read() as connection:
        found = _summaries(connection, run_row(connection, run), {run.run_id: dict(run.elsewhere)}, unscored)
    if not found:
        raise NotFoundError(f"run {run.name!r} is no longer in the store")
    return found[0]


def judge_identity(store: Store, run: RunRef) -> Mapping[str, str]:
    """For each kind of question who answered it: judge, model, prompts, version. Empty without an evaluation."""
    with store.database.read() as connection:
        found = read_evaluations(connection, "evaluation_id = ?", run.evaluation_id or "")
    return {task: str(said) for one in found for task, said in one.identity.items()}


def run_evaluations(store: Store, run_id: str) -> tuple[ListedEvaluation, ...]:
    """The evaluations of our own of a run, newest first."""
    with store.database.read() as connection:
        evaluations = read_evaluations(connection, "run_id = ? AND NOT imported", run_id)
        judged = judged_by(connection, [one.id for one in evaluations])
    return tuple(ListedEvaluation(judged=judged[one.id], metrics=one.metrics) for one in evaluations)


def evaluations_by_run(store: Store) -> Mapping[str, tuple[ListedEvaluation, ...]]:
    """The same of every run that has any, by the run's id."""
    with store.database.read() as connection:
        evaluations = read_evaluations(connection, "NOT imported")
        judged = judged_by(connection, [one.id for one in evaluations])
    found: dict[str, tuple[ListedEvaluation, ...]] = {}
    for one in evaluations:
        listed = ListedEvaluation(judged=judged[one.id], metrics=one.metrics)
        found[one.run_id] = (*found.get(one.run_id, ()), listed)
    return found


def runs_matching(runs: Iterable[RunSummary], search: str) -> tuple[RunSummary, ...]:
    """The runs in whose name, tags or dataset every word of the search stands."""
    words = search.casefold().split()
    return tuple(
        run for run in runs if all(word in " ".join((run.name, *run.tags, run.dataset)).casefold() for word in words)
    )


def failures(store: Store, run: RunRef) -> tuple[FailureKind, ...]:
    """The kinds of failure behind a run's missing scores, the commonest first."""
    with store.database.read() as connection:
        failed = failed_scores(connection, run)
    kinds: dict[str, list[FailedScore]] = {}
    for one in failed:
        kinds.setdefault(kind_of_problem(one.detail), []).append(one)
    found = (
        FailureKind(
            message=message,
            count=len(alike),
            samples=len({one.position for one in alike}),
            metrics=tuple(dict.fromkeys(one.metric for one in alike)),
            sample_id=alike[0].sample_id,
            example=alike[0].detail,
        )
        for message, alike in kinds.items()
    )
    return tuple(sorted(found, key=lambda kind: -kind.count))


def failed_evaluations(store: Store, run: RunRef) -> tuple[RunRef, ...]:
    """The run by each of its evaluations that a missing score is shown from because something failed."""
    with store.database.read() as connection:
        failed = failing_evaluations(connection, run)
    return tuple(
        RunRef(run_id=run.run_id, name=run.name, evaluation_id=one) for one in run.evaluations if one in failed
    )


def _summaries(
    connection: Connection,
    rows: Sequence[RunRow],
    elsewhere: Mapping[str, Mapping[str, str]],
    unscored: UnscoredPolicy,
) -> tuple[RunSummary, ...]:
    """`elsewhere` has for each run the metrics of other evaluations than its row's, and which these are."""
    others = {row.run_id: elsewhere.get(row.run_id, {}) for row in rows}
    evaluations = [row.evaluation_id for row in rows if row.evaluation_id]
    every = list(dict.fromkeys((*evaluations, *(one for moved in others.values() for one in moved.values()))))
    runs = [row.run_id for row in rows]
    files = {run: one for run, one in file_evaluations(connection, runs).items() if one not in every}
    judged = judged_by(connection, [*every, *files.values()])
    metrics = metric_summaries(connection, list(judged), {one: by.covered for one, by in judged.items()}, unscored)
    shown = [
        (row.run_id, one)
        for row in rows
        for one in (row.evaluation_id, *others[row.run_id].values(), files.get(row.run_id))
        if one
    ]
    whole = {run_id for run_id, one in shown if one not in judged or not judged[one].part}
    clustered = run_clusters(connection, list(whole), [(run, one) for run, one in shown if run not in whole])
    labels, origins = label_counts(connection, evaluations), origin_counts(connection, evaluations)
    spending = spends(connection, every)
    refusals = refusing_runs(connection, evaluations)
    found: list[RunSummary] = []
    for row in rows:
        main, moved = row.evaluation_id or "", others[row.run_id]
        own = {spec: main for spec in metrics.get(main, {}) if spec not in moved}
        taken = own | {spec: one for spec, one in moved.items() if spec in metrics.get(one, {})}
        spent = [spend for one in dict.fromkeys((main, *moved.values())) for spend in spending.get(one, ())]
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
            metrics={spec: replace(metrics[taken[spec]][spec], judged=judged[taken[spec]]) for spec in in_order(taken)},
            file_scores=metrics.get(files.get(row.run_id, ""), {}),
            labels=labels.get(main, {}),
            origins=origins.get(main, {}),
            refusals=refusals.get(main),
            spending=spending_of(spent) if spent else None,
            notes=row.notes,
            clustered=str(clustered.get(row.run_id, "")),
        )
        found.append(summary)
    return tuple(found)


def spending_of(models: Sequence[Spend]) -> Spending:
    """All models together."""
    calls, uncounted = sum(one.calls for one in models), sum(one.uncounted for one in models)
    prompt, completion = sum(one.prompt_tokens for one in models), sum(one.completion_tokens for one in models)
    planned_calls, planned_tokens = (
        None if None in planned else sum(number or 0 for number in planned)
        for planned in ([one.planned_calls for one in models], [one.planned_tokens for one in models])
    )
    unpriced = tuple(dict.fromkeys(one.model for one in models if one.cost is None))
    return Spending(
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=None if unpriced else sum(one.cost or 0.0 for one in models),
        uncounted=uncounted,
        unpriced=unpriced,
        planned_calls=planned_calls,
        planned_tokens=planned_tokens,
        calls_of_plan=calls / planned_calls if planned_calls else None,
        tokens_of_plan=(prompt + completion) / planned_tokens if planned_tokens and not uncounted else None,
        models=tuple(models),
    )
