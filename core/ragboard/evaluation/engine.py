"""Evaluates a run: samples are judged some at a time, and results are Parquet files until the store loads them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ragboard.errors import JudgeError, SettingError, StoreError
from ragboard.evaluation.budget import Budget, spent
from ragboard.evaluation.cache import open_cache
from ragboard.evaluation.identity import evaluation_of, header_data, tasks_by_metric
from ragboard.evaluation.journal import is_being_written, open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.progress import HEARTBEAT_SECONDS, Progress, StatusFile
from ragboard.evaluation.runner import TaskRunner, wait_for
from ragboard.judges.base import ModelJudge
from ragboard.judges.panel import NOBODY, Panel
from ragboard.metrics import METRICS, Metric, describe, metric_of, outcome
from ragboard.metrics.base import Findings, Need, resolve, tasks_for
from ragboard.metrics.partition import Origin
from ragboard.metrics.ragchecker import stored_origins
from ragboard.metrics.statements import ExtractedStatements, JudgedStatements, VerdictTable
from ragboard.records import Evaluation, Evidence, Outcome, Sample, Spend, Statement, Target, Unscored, Verdict
from ragboard.store import Store, score_row

__all__ = ["Finished", "ResultFiles", "check_roles", "evaluate_run", "positions_meant", "with_earlier"]


FLUSH_ROWS = 20_000
"""Rows of one table held in memory before they go to its file."""

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
    "spending": "model text, embedding bool, calls long, uncounted long, prompt_tokens long, cached_tokens long,"
    " completion_tokens long, cost real, planned_calls long, planned_tokens long, prompt_price real, cached_price real,"
    " completion_price real",
    "answer_places": "position int, place long",
    "judgements": "position int, about text, number int, says text, value real, reason text",
}
TABLES: dict[str, dict[str, pa.DataType]] = {
    table: {name: _TYPES[kind] for name, kind in map(str.split, columns.split(","))}
    for table, columns in _COLUMNS.items()
}
"""The columns of each table, in order."""

Row = tuple[Any, ...]


class ResultFiles:
    """One growing Parquet file for each table."""

    def __init__(self, folder: Path) -> None:
        self.paths: Mapping[str, Path] = {table: folder / f"{table}.parquet" for table in TABLES}
        self._schemas = {table: pa.schema(list(columns.items())) for table, columns in TABLES.items()}
        with _store_errors(folder):
            self._writers = {table: pq.ParquetWriter(self.paths[table], self._schemas[table]) for table in TABLES}
        self._rows: dict[str, list[Row]] = {table: [] for table in TABLES}

    def add(
        self, position: int, outcomes: Mapping[str, Outcome], findings: Findings, places: Iterable[int] = ()
    ) -> None:
        """Take in what one sample got, and where in the journal the answers stand that it was made of."""
        for metric, scored in outcomes.items():
            self._put("scores", score_row(position, metric, scored))
        for table, row in dict.fromkeys(_finding_rows(position, findings)):
            self._put(table, row)
        for place in places:
            self._put("answer_places", (position, place))

    def spent(self, spending: Iterable[Spend]) -> None:
        """Take in what the evaluation took, a row for each model."""
        for spend in spending:
            self._put("spending", astuple(spend))

    def close(self) -> None:
        """Write what is left; the files are whole afterwards."""
        for table in TABLES:
            self._flush(table)
            with _store_errors(self.paths[table]):
                self._writers[table].close()

    def _put(self, table: str, row: Row) -> None:
        self._rows[table].append(row)
        if len(self._rows[table]) >= FLUSH_ROWS:
            self._flush(table)

    def _flush(self, table: str) -> None:
        columns: list[Any] = list(zip(*self._rows[table], strict=True)) or [()] * len(TABLES[table])
        schema = self._schemas[table]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
        with _store_errors(self.paths[table]):
            self._writers[table].write_table(pa.Table.from_arrays(arrays, schema=schema))
        self._rows[table].clear()


@contextmanager
def result_files(folder: Path, journal: Path) -> Generator[ResultFiles]:
    """Result files in a folder of this journal's own inside `folder`, deleted at the end.

    Folders that killed processes left there are deleted first: nobody writes their journals.
    """
    own = folder / f"{PREFIX}{journal.stem}"
    with _store_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{PREFIX}*"):
            if left == own or not is_being_written(journal.with_name(f"{left.name.removeprefix(PREFIX)}.jsonl")):
                rmtree(left, ignore_errors=True)
        own.mkdir(exist_ok=True)
    try:
        yield ResultFiles(own)
    finally:
        rmtree(own, ignore_errors=True)


@contextmanager
def _store_errors(path: Path) -> Generator[None]:
    """What goes wrong with the files; what a judge raises meanwhile is not about them."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot write results: {error.strerror or error}") from error


def _finding_rows(position: int, findings: Findings) -> Iterator[tuple[str, Row]]:
    origins = stored_origins(findings)
    for need, found in findings.found.items():
        if isinstance(found, Unscored):
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


def _statement_rows(
    position: int, found: JudgedStatements | VerdictTable | ExtractedStatements, origins: tuple[Origin, ...]
) -> Iterator[tuple[str, Row]]:
    """`origins` has the class of each claim of the answer, or nothing where they were not all judged."""
    if found.refuses is not None:
        yield "sides", (position, found.side, found.refuses)
    for number, said in enumerate(found.statements):
        span = said.span
        place = (span.start, span.end, span.how) if span else (None, None, None)
        origin = origins[number] if origins and said.side == "response" else None
        yield "statements", (position, said.side, number, said.text, *place, origin)


def _verdict_rows(
    position: int, statements: tuple[Statement, ...], verdicts: tuple[Verdict, ...], target: Target
) -> Iterator[tuple[str, Row]]:
    name = target.kind if target.rank is None else f"{target.kind}:{target.rank}"
    for number, (said, verdict) in enumerate(zip(statements, verdicts, strict=True)):
        evidence = json.dumps([_mark(mark) for mark in verdict.evidence]) if verdict.evidence else "[]"
        yield (
            "verdicts",
            (position, said.side, number, name, verdict.label, verdict.reason, verdict.score, evidence),
        )


def _mark(mark: Evidence) -> dict[str, object]:
    return {"rank": mark.rank, "start": mark.start, "end": mark.end, "stance": mark.stance, "how": mark.how}


@dataclass(frozen=True, kw_only=True)
class Finished:
    """An evaluation that came to its end, or was stopped with what is done kept."""

    evaluation: Evaluation
    samples: int
    """Samples that it covers now."""
    asked: int
    replayed: int
    """Tasks whose answer was in the journal already."""
    cached: int
    """Tasks that another evaluation of the store had paid for."""
    failed: int
    unscored: int
    """Samples that at least one metric left unscored."""
    unanswered: int = 0
    """Requests that got no reply, and may be on the bill all the same."""
    unanswered_cost: float = 0.0
    """The most that these may have cost; under a limit of cost alone, which it counts towards."""
    over_limit: float = 0.0
    """US dollars by which the limit of cost was exceeded, by calls that took more than was set aside for them."""
    spent: tuple[Spend, ...]
    """What it took from its first call on, by model; empty where no model was asked."""
    stopped: str
    """Why it ended before all was asked; empty where it did not."""


def evaluate_run(
    store: Store,
    run_id: str,
    metrics: Sequence[Metric],
    panel: Panel,
    options: EvaluationOptions | None = None,
    *,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Finished:
    """Evaluate a run in the store, or go on where an earlier evaluation by the same judges stopped.

    Metrics and samples the evaluation has already are counted again from its journal. Raises JudgeError
    before anything is asked where a role is not filled, and where no call can succeed; StoreBusyError where
    the same evaluation is under way elsewhere.
    """
    options = options or EvaluationOptions()
    evaluation = evaluation_of(store, run_id, panel, metrics, options.known)
    metrics = with_earlier(store, evaluation, metrics, options.known)
    check_roles(panel, metrics)
    evaluation = replace(evaluation, metrics=tuple(metric.spec for metric in metrics))
    budget = Budget.of(options, panel)
    positions = positions_meant(store, evaluation, options)
    with _opened(store, evaluation, panel, budget) as (asker, results):
        path, total = store.journal_path(evaluation.id), len(positions)
        with StatusFile(path.with_suffix(".status.json"), total, watch, budget) as status:
            work = _Work(metrics, asker, results, status)
            wait_for(work.run(_chosen(store.samples(run_id), positions), options.concurrency))
            spending = spent(asker.journal, panel, options.prices, options.expected)
            results.spent(spending)
            results.close()
            asker.journal.sync()
            if work.covered and not (asker.tally.asked or asker.tally.replayed or asker.tally.cached):
                evaluation = replace(evaluation, judge=NOBODY, heuristic=False)
            store.load(
                evaluation,
                results.paths,
                map(describe, metrics),
                tasks=tasks_by_metric(metrics),
                covered=work.covered,
                judging=options.judging,
            )
    return Finished(
        evaluation=evaluation,
        samples=work.covered,
        asked=asker.tally.asked,
        replayed=asker.tally.replayed,
        cached=asker.tally.cached,
        failed=asker.tally.failed,
        unscored=work.unscored,
        unanswered=budget.unanswered,
        unanswered_cost=budget.unanswered_cost,
        over_limit=budget.over_limit,
        spent=spending,
        stopped=budget.stopped,
    )


@contextmanager
def _opened(
    store: Store, evaluation: Evaluation, panel: Panel, budget: Budget
) -> Generator[tuple[TaskRunner, ResultFiles]]:
    """Journal, cache and result files, open for as long as the evaluation runs."""
    options = budget.options
    cached = options.cache and any(isinstance(judge, ModelJudge) for judge in panel.members)
    with ExitStack() as stack:
        path = store.journal_path(evaluation.id)
        journal = stack.enter_context(open_journal(path, header_data(evaluation, options)))
        cache = stack.enter_context(open_cache(store.cache_path, path) if cached else nullcontext())
        results = stack.enter_context(result_files(store.folder / "staging", path))
        yield TaskRunner(panel, journal, budget, cache, retry=options.retry), results


def positions_meant(store: Store, evaluation: Evaluation, options: EvaluationOptions) -> Sequence[int]:
    """The samples to evaluate: all, or those drawn and those that were evaluated before.

    A larger number draws all that a smaller one does. Where nothing new is to be asked nothing is drawn.
    """
    everything = range(store.sample_count(evaluation.run_id))
    if options.retry:
        return sorted(store.covered(evaluation.id))
    if options.sample is None or options.sample >= len(everything):
        return everything
    order = random.Random(options.seed).sample(everything, len(everything))  # noqa: S311 - a sample, not a secret
    return sorted({*order[: options.sample], *store.covered(evaluation.id)})


def _chosen(samples: Iterable[tuple[int, Sample]], positions: Sequence[int]) -> Iterable[tuple[int, Sample]]:
    wanted = positions if isinstance(positions, range) else frozenset(positions)
    return (numbered for numbered in samples if numbered[0] in wanted)


def with_earlier(
    store: Store, evaluation: Evaluation, metrics: Sequence[Metric], known: Mapping[str, Metric] = METRICS
) -> tuple[Metric, ...]:
    """The metrics that the evaluation has already, as far as they are known, and these."""
    earlier = (metric_of(spec, known) for spec in store.evaluation_metrics(evaluation.id))
    kept = [metric for metric in earlier if metric is not None]
    return tuple({metric.spec: metric for metric in (*kept, *metrics)}.values())


def check_roles(panel: Panel, metrics: Sequence[Metric]) -> None:
    """Raise SettingError where no metric was chosen, JudgeError where a role that they need is not filled."""
    if not metrics:
        raise SettingError(f"no metric chosen; there are {', '.join(METRICS)}")
    for metric in metrics:
        for kind in sorted(tasks_for(metric.needs()), key=lambda kind: kind.__name__):
            try:
                panel.for_task(kind)
            except JudgeError as error:
                raise JudgeError(f"{metric.spec}: {error}") from error


class _Work:
    """Judges samples, some at a time, and counts them."""

    def __init__(self, metrics: Sequence[Metric], asker: TaskRunner, results: ResultFiles, status: StatusFile) -> None:
        self._metrics = metrics
        self._needs: tuple[Need[Any], ...] = tuple(dict.fromkeys(need for one in metrics for need in one.needs()))
        self._asker = asker
        self._results = results
        self._status = status
        self.covered = 0
        self.unscored = 0
        self._begun = 0
        self._done = 0

    async def run(self, samples: Iterable[tuple[int, Sample]], concurrency: int) -> None:
        """Judge every sample; once the budget is spent, those whose answers are there."""
        waiting = iter(samples)

        async def work() -> None:
            while not self._begun or self._asker.budget.has_room(self._begun, self._done):
                position, sample = next(waiting, (0, None))
                if sample is None:
                    return
                await self._judge(position, sample)
                await asyncio.sleep(0)

        try:
            async with asyncio.TaskGroup() as group:
                beating = group.create_task(self._beat())
                async with asyncio.TaskGroup() as workers:
                    for _ in range(concurrency):
                        workers.create_task(work())
                beating.cancel()
        except ExceptionGroup as errors:
            raise _first(errors) from errors
        self._status.tell(self._asker.tally)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            self._status.beat(self._asker.tally)

    async def _judge(self, position: int, sample: Sample) -> None:
        self._begun += 1
        places: list[int] = []
        findings = await resolve(sample, self._needs, self._asker.for_sample(sample.id, places), self._asker.knows)
        outcomes: dict[str, Outcome] = {metric.spec: outcome(metric, sample, findings) for metric in self._metrics}
        if self._reached(outcomes.values()):
            self._results.add(position, outcomes, findings, places)
            self.covered += 1
            self.unscored += any(isinstance(found, Unscored) for found in outcomes.values())
            self._status.step(self._asker.tally)
        self._begun -= 1
        self._done += 1

    def _reached(self, outcomes: Iterable[Outcome]) -> bool:
        """Whether everything was asked for a sample, or at least something was found out."""
        missing = [found for found in outcomes if isinstance(found, Unscored) and found.reason == "skipped"]
        stopped = self._asker.budget.stopped
        return not stopped or len(missing) < len(self._metrics) or all(found.detail != stopped for found in missing)


def _first(errors: ExceptionGroup[Exception]) -> Exception:
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error
