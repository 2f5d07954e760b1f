"""Evaluate the new samples of growing runs, within a budget per day."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from ragboard.errors import StoreBusyError, StoreError
from ragboard.evaluation.budget import usage_by_model
from ragboard.evaluation.engine import FinishedEvaluation, evaluate_run
from ragboard.evaluation.identity import choose_evaluation
from ragboard.evaluation.journal import open_reader
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.progress import stop_evaluation
from ragboard.evaluation.unchanged import loaded_state
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric
from ragboard.store import RunRef, SamplingRate, Store

__all__ = ["MAX_BATCH", "WatchOptions", "WatchedBatch", "Watcher", "watch_lock"]

MAX_BATCH = 64
"""Default maximum number of samples in a batch of a run."""


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of a watch."""

    name: str
    """The name of a run that grows, or of a dataset whose runs grow."""
    metrics: Sequence[Metric]
    panel: Panel
    evaluation: EvaluationOptions
    sample_rate: float = 1.0
    """Probability, in (0, 1], that a sample is evaluated."""
    seed: int = 0
    max_cost_per_day: float | None = None
    """US dollars per UTC day, over all runs of the watch."""
    batch: int = MAX_BATCH
    """Maximum number of samples in a batch of a run."""


@dataclass(frozen=True, kw_only=True)
class WatchedBatch:
    """The result of one batch of samples of a run."""

    run: str
    evaluation_id: str
    evaluated: int
    """Samples that got results."""
    waiting: int
    """Selected samples of the run that have no results yet."""
    failed: int
    """Tasks of the batch that failed."""
    spent_today: float
    """US dollars."""
    stopped: str
    """Why the evaluation stopped; empty if it did not."""


@dataclass
class _WatchedRun:
    """A run that a watch evaluates."""

    ref: RunRef
    evaluation_id: str
    next_position: int = 0
    """The position after the last sample that was considered."""
    waiting: list[int] = field(default_factory=list[int])
    """Positions of selected samples without results, ascending."""

    def select_new(self, store: Store, rates: Sequence[SamplingRate]) -> None:
        """Select samples at random from the new samples."""
        firsts = [rate.first_position for rate in rates]
        new = store.sample_ids(self.ref.run_id, max(self.next_position, firsts[0]))
        selected = [
            position for position, sample_id in new if rates[bisect_right(firsts, position) - 1].selects(sample_id)
        ]
        if selected and not self.next_position:  # at the first call, some may have results
            covered = store.covered(self.evaluation_id, selected[0], selected[-1])
            selected = [position for position in selected if position not in covered]
        self.waiting += selected
        if new:
            self.next_position = new[-1][0] + 1


class Watcher:
    """Evaluates randomly selected samples of growing runs, in batches, the newest samples first.

    Its state is in the store and the journals, so a process that is killed loses nothing.
    """

    def __init__(
        self, store: Store, options: WatchOptions, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._options = options
        self._now = now
        self._runs: dict[str, _WatchedRun] = {}
        self._seen = ""
        """The version of the store when new samples were last selected."""
        self._budget_used_up: date | None = None
        """The day whose budget is used up."""
        self._unanswered: dict[date, float] = {}
        """US dollars that requests without a reply may cost, by day."""
        self._current: str | None = None
        self._stopping = False

    @property
    def waiting(self) -> int:
        """The number of selected samples without results."""
        return sum(len(run.waiting) for run in self._runs.values())

    @property
    def budget_used_up(self) -> bool:
        """Whether today's budget is used up."""
        return self._budget_used_up == self._now().date()

    @property
    def run_names(self) -> tuple[str, ...]:
        """The names of the runs that are watched."""
        return tuple(run.ref.name for run in self._runs.values())

    def stop(self) -> None:
        """Send no further requests. The batch in progress ends with the replies that it has."""
        self._stopping = True
        if self._current:
            stop_evaluation(self._store, self._current)

    def evaluate_new(self) -> Iterator[WatchedBatch]:
        """Select new samples, evaluate at most one batch of each run, and yield the result of each batch.

        Raises SettingError or JudgeError if the judges cannot be used, StoreBusyError if another process evaluates a
        run by the same judges or holds the store.
        """
        with self._store.database.keep_open():
            self._select_new()
        for run in list(self._runs.values()):
            if self._stopping:
                return
            if run.waiting and not self.budget_used_up:
                yield self._evaluate(run)

    def _select_new(self) -> None:
        """Find new runs and select new samples, if the store has changed since the last call."""
        version = self._store.version
        if version == self._seen:
            return
        options = self._options
        found: dict[str, _WatchedRun] = {}
        for ref in self._store.growing_runs(options.name):
            run = self._runs.get(ref.run_id) or _WatchedRun(ref, self._evaluation_id(ref))
            run.ref = ref
            rates = self._store.set_sampling_rate(ref.run_id, run.evaluation_id, options.sample_rate, options.seed)
            run.select_new(self._store, rates)
            found[ref.run_id] = run
        self._runs = found
        self._seen = version

    def _evaluation_id(self, ref: RunRef) -> str:
        options = self._options
        return choose_evaluation(self._store, ref.run_id, options.panel, options.metrics, options.evaluation.known).id

    def _evaluate(self, run: _WatchedRun) -> WatchedBatch:
        options, today = self._options, self._now().date()
        batch = run.waiting[-options.batch :]
        left = None
        with self._store.database.keep_open():
            spent = self._spent(today)  # also without a limit, because a day's first call stores the earlier costs
            if options.max_cost_per_day is not None:
                left = options.max_cost_per_day - spent
                if left <= 0:
                    self._budget_used_up = today
                    return self._result(
                        run, 0, None, today, f"the limit of ${options.max_cost_per_day:g} a day is reached"
                    )
            before = loaded_state(self._store, run.evaluation_id)
            failed_before = before.failed if before else 0
        self._current = run.evaluation_id
        try:
            done = evaluate_run(
                self._store,
                run.ref.run_id,
                options.metrics,
                options.panel,
                replace(options.evaluation, only=batch, max_cost=left),
            )
        finally:
            self._current = None
        with self._store.database.keep_open():
            return self._record(run, batch, done, today, failed_before)

    def _record(
        self, run: _WatchedRun, batch: Sequence[int], done: FinishedEvaluation, today: date, failed_before: int
    ) -> WatchedBatch:
        """Record that a batch was evaluated, and return its result."""
        covered = self._store.covered(run.evaluation_id, batch[0], batch[-1])
        # If the evaluation did not stop early, samples without results have been deleted from the run.
        finished = covered if done.stopped else frozenset(batch)
        run.waiting = [position for position in run.waiting if position not in finished]
        self._unanswered[today] = self._unanswered.get(today, 0.0) + done.unanswered_cost
        if self._options.max_cost_per_day is not None and done.stopped.startswith("the limit of $"):
            self._budget_used_up = today
        evaluated = sum(position in covered for position in batch)
        return self._result(run, evaluated, done, today, done.stopped, failed_before)

    def _result(
        self,
        run: _WatchedRun,
        evaluated: int,
        done: FinishedEvaluation | None,
        today: date,
        stopped: str,
        failed_before: int = 0,
    ) -> WatchedBatch:
        return WatchedBatch(
            run=run.ref.name,
            evaluation_id=run.evaluation_id,
            evaluated=evaluated,
            waiting=len(run.waiting),
            failed=max(0, done.failed - failed_before) if done else 0,
            spent_today=self._spent(today),
            stopped=stopped,
        )

    def _spent(self, today: date) -> float:
        """Return the US dollars that all watched runs cost today, including calls of killed processes."""
        costs = {run.evaluation_id: self._cost(run.evaluation_id) for run in self._runs.values()}
        before = self._store.watch_costs(today, costs)
        return sum(costs[one] - before[one] for one in costs) + self._unanswered.get(today, 0.0)

    def _cost(self, evaluation_id: str) -> float:
        """Return the US dollars of an evaluation: those in the store, and those of newer calls in its journal.

        Calls with an unknown price count as 0. With a limit, a batch stops at the first of them.
        """
        loaded = loaded_state(self._store, evaluation_id)
        start = loaded.journal if loaded else 0
        stored = self._store.spending(evaluation_id) if start else ()
        path = self._store.journal_path(evaluation_id)
        with open_reader(path, start) as journal:
            new = usage_by_model(journal, self._options.panel, self._options.evaluation.prices) if journal else ()
        return sum(usage.cost or 0.0 for usage in (*stored, *new))


@contextmanager
def watch_lock(store: Store) -> Generator[None]:
    """Context in which no other process can watch the store.

    Raises StoreBusyError if another process watches it, StoreError without permission.
    """
    store.require_writable()
    path = store.folder / "watch.lock"
    holder = path.with_suffix(".pid")
    try:
        store.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(path, timeout=0, is_singleton=False):
            holder.write_text(json.dumps(os.getpid()), encoding="utf-8")
            try:
                yield
            finally:
                holder.unlink(missing_ok=True)
    except Timeout:
        raise StoreBusyError(
            f"{store.folder}: another watch is running{_process(holder)}; stop it, or give this one another store"
        ) from None
    except PermissionError as error:
        raise StoreError(f"{error.filename or path}: no permission; choose another folder with --store") from error


def _process(holder: Path) -> str:
    try:
        return f" (process {int(json.loads(holder.read_text(encoding='utf-8')))})"
    except (OSError, ValueError, TypeError):
        return ""
