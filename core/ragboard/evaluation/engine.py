"""Evaluate a run: judge samples concurrently, write the results to Parquet files, and load these into the store."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, astuple, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from shutil import rmtree
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from ragboard.errors import JudgeError, SettingError, StoreError
from ragboard.evaluation.batches import batched_tasks, open_queues
from ragboard.evaluation.budget import Budget, add_usage, usage_by_model
from ragboard.evaluation.cache import open_cache
from ragboard.evaluation.draws import JUDGEMENT_COLUMNS, Draws
from ragboard.evaluation.identity import choose_evaluation, header_data, tasks_by_metric
from ragboard.evaluation.journal import is_being_written, open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.progress import HEARTBEAT_SECONDS, Progress, StatusFile
from ragboard.evaluation.runner import Batcher, Tally, TaskRunner, wait_for
from ragboard.evaluation.unchanged import NOTHING_LOADED, LoadedState, input_digest, is_current, loaded_state
from ragboard.evaluation.workers import MIN_SAMPLES, WORKER_BATCH, WorkerPool
from ragboard.judges.base import ComputingJudge, Judge, ModelJudge
from ragboard.judges.llm.batches import BatchQueue
from ragboard.judges.panel import NO_JUDGE, Panel
from ragboard.metrics import METRICS, Metric, compute_outcome, describe, find_metric
from ragboard.metrics.base import NeedResults, resolve_draws, tasks_for
from ragboard.metrics.citations import CitedSentences
from ragboard.metrics.claim_classes import ClaimClass
from ragboard.metrics.ragchecker import claim_classes_if_resolved
from ragboard.metrics.statements import ExtractedStatements, JudgedStatements, VerdictTable
from ragboard.processes import available_cores
from ragboard.records import Evaluation, Evidence, ModelUsage, Outcome, Sample, Statement, Target, Unscored, Verdict
from ragboard.store import Store, score_row

if TYPE_CHECKING:
    from ragboard.evaluation.cluster import ClusterResults

__all__ = [
    "FinishedEvaluation",
    "ResultFiles",
    "SampleLoop",
    "check_roles",
    "evaluate_run",
    "positions_to_evaluate",
    "with_earlier_metrics",
]


MAX_SAMPLES_IN_BATCHES = 20_000
"""Maximum number of samples that are evaluated concurrently if requests are sent in batches."""

FLUSH_ROWS = 20_000
"""Maximum number of rows of a table in memory before they are written to its file."""

LOAD_SECONDS = 10.0
"""Minimum seconds between two loads of new results."""
MAX_LOAD_SECONDS = 60.0
"""Maximum seconds between two loads, so that the memory for a load does not grow with the evaluation."""

PREFIX = "results-"

_TYPES = {"int": pa.int32(), "long": pa.int64(), "text": pa.string(), "real": pa.float64(), "bool": pa.bool_()}

_COLUMNS = {
    "scores": "position int, metric text, value real, counted text, reason text, detail text",
    "sides": "position int, side text, refuses bool",
    "statements": "position int, side text, statement int, text text, span_start int, span_end int, span_how text,"
    " origin text",
    "verdicts": "position int, side text, statement int, target text, label text, reason text, score real,"
    " evidence text",
    "questions": "position int, number int, question text, similarity real",
    "sentences": "position int, rank int, start int, stop int, chosen bool",
    "citations": "position int, sentence int, start int, stop int, mark_start int, mark_end int, name text, rank int,"
    " support text",
    "cited_statements": "position int, statement int, sentence int, supported bool",
    "spending": "model text, embedding bool, calls long, uncounted long, prompt_tokens long, cached_tokens long,"
    " completion_tokens long, cost real, planned_calls long, planned_tokens long, prompt_price real, cached_price real,"
    " completion_price real",
    "answer_places": "position int, place long",
    "judgements": "position int, about text, number int, says text, value real, reason text",
    "assignments": "position int, number int, nugget text, importance text, label text, reason text, compat bool",
    "score_draws": "position int, metric text, draw int, value real",
    "verdict_draws": "position int, kind text, item text, draw int, label text",
}
TABLES: dict[str, dict[str, pa.DataType]] = {
    table: {name: _TYPES[kind] for name, kind in map(str.split, columns.split(","))}
    for table, columns in _COLUMNS.items()
}
"""The columns of each table, in order."""

Row = tuple[Any, ...]


class ResultFiles:
    """Parquet files with the results, written in parts. Each part has one file for each table with rows."""

    def __init__(self, folder: Path) -> None:
        self._finished: Mapping[str, list[Path]] = {table: [] for table in TABLES}
        self.folder = folder
        self._part = 0
        self._schemas = {table: pa.schema(list(columns.items())) for table, columns in TABLES.items()}
        self._rows: dict[str, list[Row]] = {table: [] for table in TABLES}
        self._writers: dict[str, pq.ParquetWriter] = {}
        """The open files, by table; only tables with rows have one."""

    def add(
        self, position: int, outcomes: Mapping[str, Outcome], results: NeedResults, offsets: Iterable[int] = ()
    ) -> None:
        """Add the scores and judgements of a sample, and the journal offsets of the replies behind them."""
        rows = self._rows
        rows["scores"] += [score_row(position, metric, result) for metric, result in outcomes.items()]
        for table, row in dict.fromkeys(_judgement_rows(position, results)):
            rows[table].append(row)
        rows["answer_places"] += [(position, offset) for offset in offsets]
        self._flush_full_tables()

    def add_draws(self, position: int, draws: Draws, sample: Sample, results: Sequence[NeedResults]) -> None:
        """Add the scores and replies of each draw of a sample, if there are several draws."""
        for metric, draw, value in draws.scores(sample, results):
            self._rows["score_draws"].append((position, metric, draw, value))
        for draw, comparable in enumerate(draws.comparable_results(results)):
            self._rows["verdict_draws"] += _draw_rows(position, draw, comparable)
        self._flush_full_tables()

    def finish_part(self, spending: Iterable[ModelUsage]) -> None:
        """Finish the files of the current part.

        `spending` has the calls, tokens and cost of each model so far. It replaces the earlier rows.
        """
        self._rows["spending"] += map(astuple, spending)
        spending_path = self._path("spending")
        for table in TABLES:
            self._flush(table)
        with _store_errors(self.folder):
            for writer in self._writers.values():
                writer.close()
        parts = {
            table: [*before, self._path(table)] if table in self._writers else before
            for table, before in self._finished.items()
        }
        parts["spending"] = [spending_path] if "spending" in self._writers else []
        self._finished = parts
        self._writers = {}
        self._part += 1

    def finished(self) -> Mapping[str, Sequence[Path]]:
        """Return the files of all finished parts, by table, without discarded ones."""
        return {table: list(paths) for table, paths in self._finished.items()}

    def discard(self, files: Mapping[str, Sequence[Path]]) -> None:
        """Delete files of finished parts, which the store has loaded."""
        self._finished = {
            table: [path for path in paths if path not in files.get(table, ())]
            for table, paths in self._finished.items()
        }
        with _store_errors(self.folder):
            for paths in files.values():
                for path in paths:
                    path.unlink(missing_ok=True)

    def add_parts(self, paths: Mapping[str, Sequence[Path]]) -> None:
        """Add finished parts whose files already exist."""
        self._finished = {table: [*before, *paths.get(table, ())] for table, before in self._finished.items()}

    def _path(self, table: str) -> Path:
        return self.folder / f"{table}-{self._part}.parquet"

    def _flush_full_tables(self) -> None:
        """Write the tables with at least `FLUSH_ROWS` rows to their files."""
        for table, rows in self._rows.items():
            if len(rows) >= FLUSH_ROWS:
                self._flush(table)

    def _flush(self, table: str) -> None:
        if not self._rows[table]:
            return
        schema, rows = self._schemas[table], self._rows[table]
        arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), schema.types, strict=True)]
        with _store_errors(self.folder):
            if table not in self._writers:
                self._writers[table] = pq.ParquetWriter(self._path(table), schema)
            self._writers[table].write_table(pa.Table.from_arrays(arrays, schema=schema))
        self._rows[table].clear()


@contextmanager
def result_files(folder: Path, journal: Path) -> Generator[ResultFiles]:
    """Context with result files in a subfolder of `folder`, named after the journal. It is deleted at the end.

    Subfolders of killed processes, whose journal no process is writing, are deleted first.
    """
    own = folder / f"{PREFIX}{journal.stem}"
    with _store_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for other in folder.glob(f"{PREFIX}*"):
            if other == own or not is_being_written(journal.with_name(f"{other.name.removeprefix(PREFIX)}.jsonl")):
                rmtree(other, ignore_errors=True)
        own.mkdir(exist_ok=True)
    try:
        yield ResultFiles(own)
    finally:
        rmtree(own, ignore_errors=True)


@contextmanager
def _store_errors(path: Path) -> Generator[None]:
    """Context that turns an OSError into a StoreError about results. Not for code that calls a judge."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot write results: {error.strerror or error}") from error


def _judgement_rows(position: int, results: NeedResults) -> Iterator[tuple[str, Row]]:
    origins = claim_classes_if_resolved(results)
    citing = [need for need in results.by_need if isinstance(need, CitedSentences) and not results.missing(need)]
    for need, found in results.by_need.items():
        if isinstance(found, Unscored) or need in citing[1:]:  # of several needs for citations, one is stored
            continue
        for table, row in need.rows(found):
            yield table, (position, *row)
        match found:
            case JudgedStatements():
                yield from _statement_rows(position, found, origins)
                yield from _verdict_rows(position, found.statements, found.verdicts, Target(kind="joint"))
            case VerdictTable():
                yield from _statement_rows(position, found, origins)
                for place, target in enumerate(found.targets):
                    column = tuple(row[place] for row in found.rows)
                    yield from _verdict_rows(position, found.statements, column, target)
            case ExtractedStatements():
                yield from _statement_rows(position, found, origins)
            case _:
                pass


def _draw_rows(position: int, draw: int, results: NeedResults) -> Iterator[Row]:
    """Yield the rows of the judgements in one draw, for comparison with other draws."""
    columns = {table: list(TABLES[table]) for table in JUDGEMENT_COLUMNS}
    for table, row in dict.fromkeys(_judgement_rows(position, results)):
        if table in JUDGEMENT_COLUMNS:
            values = dict(zip(columns[table], row, strict=True))
            names, label = JUDGEMENT_COLUMNS[table]
            item = " ".join(str(values[name]) for name in names)
            yield position, table, item, draw, str(values[label]).lower()


def _statement_rows(
    position: int, found: JudgedStatements | VerdictTable | ExtractedStatements, origins: tuple[ClaimClass, ...]
) -> Iterator[tuple[str, Row]]:
    """Yield the rows of statements. `origins`: the class of each answer statement (`ClaimClass`); empty if unknown."""
    if found.refuses is not None:
        yield "sides", (position, found.side, found.refuses)
    for number, statement in enumerate(found.statements):
        span = statement.span
        place = (span.start, span.end, span.how) if span else (None, None, None)
        origin = origins[number] if origins and statement.side == "response" else None
        yield "statements", (position, statement.side, number, statement.text, *place, origin)


def _verdict_rows(
    position: int, statements: tuple[Statement, ...], verdicts: tuple[Verdict, ...], target: Target
) -> Iterator[tuple[str, Row]]:
    name = target.kind if target.rank is None else f"{target.kind}:{target.rank}"
    for number, (statement, verdict) in enumerate(zip(statements, verdicts, strict=True)):
        evidence = f"[{', '.join(map(_evidence_json, verdict.evidence))}]"
        yield (
            "verdicts",
            (position, statement.side, number, name, verdict.label, verdict.reason, verdict.score, evidence),
        )


def _evidence_json(mark: Evidence) -> str:
    """Return the evidence as JSON. Its two texts are literals, which need no escaping."""
    return (
        f'{{"rank": {mark.rank}, "start": {mark.start}, "end": {mark.end},'
        f' "stance": "{mark.stance}", "how": "{mark.how}"}}'
    )


@dataclass(frozen=True, kw_only=True)
class FinishedEvaluation:
    """An evaluation that has finished or was stopped, with its counts."""

    evaluation: Evaluation
    samples: int
    """Samples with results, including those from earlier calls of `evaluate_run`."""
    asked: int
    """Tasks that judges answered in this call of `evaluate_run`."""
    replayed: int
    """Tasks that were answered from the journal."""
    cached: int
    """Tasks that were answered from the store's cache."""
    failed: int
    unscored: int
    """Samples for which at least one metric is unscored."""
    unanswered: int = 0
    """Requests without a reply that may still be billed."""
    unanswered_cost: float = 0.0
    """Maximum cost of the unanswered requests in US dollars, which counts towards the cost limit. 0 without a limit."""
    over_limit: float = 0.0
    """US dollars by which the cost exceeds its limit, because calls cost more than the reserved amounts."""
    at_server: int = 0
    """Requests in batches that still wait at a server. The same evaluation, run again, collects their replies."""
    spent: tuple[ModelUsage, ...]
    """Calls, tokens and cost by model, including earlier calls of `evaluate_run`; empty if no model was called."""
    stopped: str
    """Why the evaluation stopped before all tasks were answered; empty if it was complete."""


def evaluate_run(
    store: Store,
    run_id: str,
    metrics: Sequence[Metric],
    panel: Panel,
    options: EvaluationOptions | None = None,
    *,
    watch: Callable[[Progress], None] = lambda _: None,
) -> FinishedEvaluation:
    """Evaluate a run in the store, or continue its evaluation by the same judges.

    The evaluation's earlier metrics and samples are computed again from its journal. If nothing has changed, only the
    samples without results are evaluated. Raises JudgeError if the judges cannot answer all tasks (before anything is
    sent) or if no call can succeed, StoreBusyError if another process runs the same evaluation.
    """
    options = options or EvaluationOptions()
    with store.database.keep_open():
        evaluation = choose_evaluation(store, run_id, panel, metrics, options.known)
        named, metrics = metrics, with_earlier_metrics(store, evaluation, metrics, options.known)
        check_roles(panel, metrics)
        draws = Draws.for_evaluation(panel, named, metrics, options.draws, store.draw_counts(evaluation.id))
        evaluation = replace(evaluation, metrics=tuple(metric.spec for metric in metrics))
        budget = Budget.for_panel(options, panel)
        budget.batched = batched_tasks(panel)
        positions = positions_to_evaluate(store, evaluation, options)
        path = store.journal_path(evaluation.id)
        kept = _kept_results(store, evaluation, draws, options)
        before, covered, earlier = kept.loaded or NOTHING_LOADED, kept.positions, kept.samples
        positions = kept.missing(positions)
        total = len(positions)
        status_file = StatusFile(path.with_suffix(".status.json"), total or earlier, watch, budget)
        if kept.loaded and not positions:
            if options.only is None:
                store.mark_newest(evaluation.id)
            with status_file as status:
                status.skip(Tally(replayed=before.tasks, failed=before.failed))
            return _unchanged_result(store, evaluation.id, earlier, before)
        spent_before = store.spending(evaluation.id) if before.journal else ()
        stored = 0 if kept.extend else len(store.covered(evaluation.id))
        judges = panel.judges_answering({name for names in tasks_by_metric(metrics).values() for name in names})
        end = max([before.end, 1 + max(covered, default=-1), 1 + max(positions, default=-1)])
        inputs = input_digest(store, evaluation, draws, options, end) if kept.current or not earlier else None
        stored_samples = store.samples(run_id, positions[0] if positions else 0)
        first_samples = list(islice(stored_samples, 1))  # reads the first page while the database is open
    described, task_types = [describe(metric) for metric in metrics], tasks_by_metric(metrics)
    with (
        _open_files(store, evaluation, panel, judges, budget, total, before) as (runner, results, queues),
        status_file as status,
    ):

        def spending_so_far() -> tuple[ModelUsage, ...]:
            return add_usage(spent_before, usage_by_model(runner.journal, panel, options.prices, options.expected))

        loading, has_loaded = Lock(), False

        def load(of: Evaluation, new: int, **loaded: Any) -> None:
            """Load all finished results that are not in the store."""
            nonlocal has_loaded
            with loading:
                files = results.finished()
                store.load(
                    of,
                    files,
                    described,
                    tasks=task_types,
                    covered=earlier + new,
                    judge_options=options.judge_options,
                    extend=kept.extend,
                    add=has_loaded and not kept.extend,
                    sampled=options.only is not None,
                    **loaded,
                )
                results.discard(files)
                has_loaded = True

        async def load_so_far(new: int) -> None:
            results.finish_part(spending_so_far())
            await asyncio.to_thread(load, evaluation, new)

        samples = _at_positions(chain(first_samples, stored_samples), positions)
        shards = f"{options.shard_folder or (store.folder / 'shards').absolute()}/{evaluation.id}"
        work: SampleLoop | ClusterResults
        if options.ray:
            from ragboard.evaluation.cluster import evaluate_on_cluster

            work = evaluate_on_cluster(samples, total, draws, runner, status, shards, results)
        else:
            work = SampleLoop(
                draws,
                runner,
                results,
                status,
                queues,
                load_so_far if options.only is None else None,
                stored,
                whole=options.only is not None,
            )
            at_a_time = min(MAX_SAMPLES_IN_BATCHES, total) if queues else options.samples_at_a_time
            if runner.batcher.workers and all(isinstance(judge, ComputingJudge) for judge in judges):
                at_a_time = max(at_a_time, 2 * WORKER_BATCH * runner.batcher.workers.count)
            wait_for(work.run(samples, at_a_time))
        spending = spending_so_far()
        with loading:  # a load in another thread may not have ended
            results.finish_part(spending)
        runner.journal.sync()
        tally = runner.tally
        tasks = tally.asked + tally.replayed + tally.cached + before.tasks
        failed = tally.failed + before.failed
        unscored = work.unscored + before.unscored
        if work.covered and not tasks:
            evaluation = replace(evaluation, judge=NO_JUDGE, heuristic=False)
        complete = not (budget.stopped or budget.at_server)
        loaded = LoadedState(
            inputs=inputs if complete else None,
            end=end,
            journal=runner.journal.size if complete else 0,
            modified=path.stat().st_mtime_ns,
            unscored=unscored,
            tasks=tasks,
            failed=failed,
        )
        load(evaluation, work.covered, loaded=asdict(loaded))
        if options.ray:
            from ragboard.evaluation.cluster import delete_shards

            delete_shards(shards)
    return FinishedEvaluation(
        evaluation=evaluation,
        samples=earlier + work.covered,
        asked=tally.asked,
        replayed=tally.replayed + before.tasks,
        cached=tally.cached,
        failed=failed,
        unscored=unscored,
        unanswered=budget.unanswered,
        unanswered_cost=budget.unanswered_cost,
        over_limit=budget.over_limit,
        at_server=budget.at_server,
        spent=spending,
        stopped=budget.stopped,
    )


@dataclass(frozen=True, kw_only=True)
class _KeptResults:
    """The results in the store that an evaluation does not compute again."""

    extend: bool
    """Whether any results are kept."""
    current: bool
    """Whether the kept results are current (see `unchanged.is_current`)."""
    loaded: LoadedState | None
    """What the kept results were computed from; None if unknown."""
    positions: frozenset[int]
    """Positions of samples with kept results; with `EvaluationOptions.only`, only from its first position to its
    last."""
    samples: int
    """Samples with results."""

    def missing(self, positions: Sequence[int]) -> Sequence[int]:
        """Return the positions without results."""
        return [one for one in positions if one not in self.positions] if self.positions else positions


def _kept_results(store: Store, evaluation: Evaluation, draws: Draws, options: EvaluationOptions) -> _KeptResults:
    loaded = None if options.retry else loaded_state(store, evaluation.id)
    current = loaded is not None and is_current(store, evaluation, draws, options, loaded)
    if not current and options.only is None:
        return _KeptResults(extend=False, current=False, loaded=None, positions=frozenset(), samples=0)
    if options.only is None:
        positions = store.covered(evaluation.id)
        return _KeptResults(extend=True, current=True, loaded=loaded, positions=positions, samples=len(positions))
    positions = store.covered(evaluation.id, min(options.only, default=0), max(options.only, default=0))
    samples = store.covered_count(evaluation.id)
    return _KeptResults(extend=True, current=current, loaded=loaded, positions=positions, samples=samples)


def _unchanged_result(store: Store, evaluation_id: str, samples: int, loaded: LoadedState) -> FinishedEvaluation:
    return FinishedEvaluation(
        evaluation=store.evaluation(evaluation_id),
        samples=samples,
        asked=0,
        replayed=loaded.tasks,
        cached=0,
        failed=loaded.failed,
        unscored=loaded.unscored,
        spent=store.spending(evaluation_id),
        stopped="",
    )


@contextmanager
def _open_files(
    store: Store,
    evaluation: Evaluation,
    panel: Panel,
    judges: Sequence[Judge],
    budget: Budget,
    samples: int,
    before: LoadedState,
) -> Generator[tuple[TaskRunner, ResultFiles, tuple[BatchQueue, ...]]]:
    """Open the journal, cache, result files, worker processes, and the queues of judges that use batches.

    `judges` are those that answer the metrics' tasks. `before` says which part of the journal the stored results
    cover; that part is not read again.
    """
    options = budget.options
    cached = options.cache and any(isinstance(judge, ModelJudge) for judge in panel.members)
    with ExitStack() as stack:
        path = store.journal_path(evaluation.id)
        journal = stack.enter_context(open_journal(path, header_data(evaluation, options), before.journal))
        cache = stack.enter_context(open_cache(store.cache_path, path) if cached else nullcontext())
        results = stack.enter_context(result_files(store.folder / "staging", path))
        queues = stack.enter_context(open_queues(panel, journal, path, budget))
        batcher = Batcher(stack.enter_context(_open_workers(options, judges, samples)))
        yield TaskRunner(panel, journal, budget, cache, retry=options.retry, batcher=batcher), results, queues


@contextmanager
def _open_workers(options: EvaluationOptions, judges: Sequence[Judge], samples: int) -> Generator[WorkerPool | None]:
    """Yield the worker processes; None if judges answer in this process, or no judge computes in Python."""
    count = options.workers or (available_cores() if samples >= MIN_SAMPLES else 1)
    count = count if any(isinstance(judge, ComputingJudge) for judge in judges) else 1
    pool = WorkerPool(count) if count > 1 else None
    try:
        yield pool
    finally:
        if pool:
            pool.close()


def positions_to_evaluate(store: Store, evaluation: Evaluation, options: EvaluationOptions) -> Sequence[int]:
    """Return the positions of the samples to evaluate: all, or a random subset and the samples evaluated before.

    A larger subset with the same seed contains the smaller subset. With `options.retry`, only samples evaluated before.
    """
    if options.only is not None:
        return sorted(options.only)
    everything = store.positions(evaluation.run_id)
    if options.retry:
        return sorted(store.covered(evaluation.id))
    if options.sample is None or options.sample >= len(everything):
        return everything
    order = random.Random(options.seed).sample(everything, len(everything))  # noqa: S311 - a sample, not a secret
    return sorted({*order[: options.sample], *store.covered(evaluation.id)})


def _at_positions(samples: Iterable[tuple[int, Sample]], positions: Sequence[int]) -> Iterable[tuple[int, Sample]]:
    wanted = positions if isinstance(positions, range) else frozenset(positions)
    return (numbered for numbered in samples if numbered[0] in wanted)


def with_earlier_metrics(
    store: Store, evaluation: Evaluation, metrics: Sequence[Metric], known: Mapping[str, Metric] = METRICS
) -> tuple[Metric, ...]:
    """Return the metrics that the evaluation already has and that are still known, followed by `metrics`."""
    earlier = (find_metric(spec, known) for spec in store.evaluation_metrics(evaluation.id))
    still_known = [metric for metric in earlier if metric is not None]
    return tuple({metric.spec: metric for metric in (*still_known, *metrics)}.values())


def check_roles(panel: Panel, metrics: Sequence[Metric]) -> None:
    """Raise SettingError if there are no metrics, JudgeError if no judge answers a task that a metric can send."""
    if not metrics:
        raise SettingError(f"no metric chosen; available: {', '.join(METRICS)}")
    for metric in metrics:
        for kind in sorted(tasks_for(metric.needs()), key=lambda kind: kind.__name__):
            if panel.find_judge(kind) is None:
                name = panel.judge_in_role(kind.role).name
                raise JudgeError(
                    f"{metric.spec} needs {panel.suggest_judge(kind)} ({name} does not answer {kind.__name__} tasks)"
                )


class LoopStatus(Protocol):
    """Receives the progress of a `SampleLoop`. `StatusFile` implements it."""

    def step(self, tally: Tally) -> None:
        """Count a sample as done."""
        ...

    def beat(self, tally: Tally) -> None:
        """Publish the counts, unless this was done a moment ago."""
        ...

    def update(self, tally: Tally) -> None:
        """Publish the counts."""
        ...


class SampleLoop:
    """Judges samples concurrently, adds their results and counts them."""

    def __init__(
        self,
        draws: Draws,
        runner: TaskRunner,
        results: ResultFiles,
        status: LoopStatus,
        queues: Sequence[BatchQueue] = (),
        load: Callable[[int], Awaitable[None]] | None = None,
        loaded: int = 0,
        *,
        whole: bool = False,
    ) -> None:
        """Prepare to judge samples.

        `load` loads new results into the store, given the number of samples with results; None: they are loaded only at
        the end. `loaded` is the number of samples that the store already has. With `whole`, a sample gets no results if
        a limit stopped any of its metrics.
        """
        self._whole = whole
        self._draws = draws
        self._metrics = draws.metrics
        self._needs = draws.needs()
        self._runner = runner
        self._results = results
        self._status = status
        self._queues = queues
        self._load = load
        self._loaded = loaded
        self.covered = 0
        self.unscored = 0
        self._in_progress = 0
        self._done = 0

    async def run(self, samples: Iterable[tuple[int, Sample]], concurrency: int) -> None:
        """Judge every sample. After a limit is reached, only samples with stored replies to all tasks get results."""
        waiting = iter(samples)

        async def work() -> None:
            while not self._in_progress or self._runner.budget.has_room(self._in_progress, self._done):
                position, sample = next(waiting, (0, None))
                if sample is None:
                    return
                await self._judge(position, sample)
                await asyncio.sleep(0)

        try:
            async with asyncio.TaskGroup() as group:
                meanwhile = [group.create_task(self._beat())]
                if self._load:
                    meanwhile.append(group.create_task(self._load_periodically(self._load)))
                async with asyncio.TaskGroup() as workers:
                    for _ in range(concurrency):
                        workers.create_task(work())
                for task in meanwhile:
                    task.cancel()
        except ExceptionGroup as errors:
            raise _first(errors) from errors
        self._status.update(self._runner.tally)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            self._status.beat(self._runner.tally)
            if self._runner.cache:
                self._runner.cache.write()
            if self._queues and self._runner.budget.gives_up_batches():
                for queue in self._queues:
                    queue.abandon(self._runner.budget.stopped)

    async def _load_periodically(self, load: Callable[[int], Awaitable[None]]) -> None:
        """Load new results whenever there are results of more samples than the store has.

        The intervals grow at first, so that the first results are seen soon, and loading takes a small share of the
        time.
        """
        started, wait = time.monotonic(), LOAD_SECONDS
        while True:
            await asyncio.sleep(wait)
            if self.covered > self._loaded:
                self._loaded = self.covered
                with suppress(StoreError):  # the results are loaded at the end in any case
                    await load(self.covered)
            wait = max(LOAD_SECONDS, min((time.monotonic() - started) / 2, MAX_LOAD_SECONDS))

    async def _judge(self, position: int, sample: Sample) -> None:
        self._in_progress += 1
        offsets: list[int] = []
        ask = self._runner.for_sample(sample.id, offsets)
        by_draw = await resolve_draws(sample, self._needs, ask, self._runner.knows, self._draws.redraws)
        results = by_draw[0]
        outcomes: dict[str, Outcome] = {
            metric.spec: compute_outcome(metric, sample, results) for metric in self._metrics
        }
        if self._is_covered(outcomes.values()):
            self._results.add(position, outcomes, results, offsets)
            self._results.add_draws(position, self._draws, sample, by_draw)
            self.covered += 1
            self.unscored += any(isinstance(result, Unscored) for result in outcomes.values())
            self._status.step(self._runner.tally)
        self._in_progress -= 1
        self._done += 1

    def _is_covered(self, outcomes: Iterable[Outcome]) -> bool:
        """Return whether the sample counts as evaluated: False if the budget stopped all of its metrics."""
        skipped = [outcome for outcome in outcomes if isinstance(outcome, Unscored) and outcome.reason == "skipped"]
        stopped = self._runner.budget.stopped
        if not stopped or all(one.detail != stopped for one in skipped):
            return True
        return not self._whole and len(skipped) < len(self._metrics)


def _first(errors: ExceptionGroup[Exception]) -> Exception:
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error
