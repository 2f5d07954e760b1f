"""Evaluate a run on a Ray cluster. A shard, which is a part of the samples, is a Ray task.

The machine that starts the evaluation has the store. It sends samples to the shards, and joins their journals and
results at the end. If a machine dies, its shards restart elsewhere. If the starting machine dies, the next evaluation
continues from the shards' files.
"""

from __future__ import annotations

import logging
import socket
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from ragboard.errors import JudgeError, RagboardError, SettingError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.draws import Draws
from ragboard.evaluation.engine import ResultFiles
from ragboard.evaluation.journal import Journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.progress import HEARTBEAT_SECONDS, StatusFile
from ragboard.evaluation.runner import Tally, TaskRunner
from ragboard.evaluation.shards import KEYS, KNOWN, ShardCounts, ShardFolder, ShardWork, evaluate_shard
from ragboard.judges.base import BatchJudge, ComputingJudge, LimitReachedError, RequestSize
from ragboard.judges.llm.traffic import Limits, Traffic
from ragboard.judges.options import JudgeOptions
from ragboard.judges.panel import Panel
from ragboard.judges.registry import panel_named
from ragboard.records import Sample
from ragboard.tasks import Exchange, Task

__all__ = ["ClusterResults", "delete_shards", "evaluate_on_cluster"]

SHARDS_PER_SLOT = 4
"""Shards per slot (`_Slots`). With small shards, fast machines do more, and a machine that dies loses little work."""

MAX_SHARD_SAMPLES = 5_000

CONNECT_SECONDS = 10.0
"""Seconds without a response after which a cluster counts as unreachable."""

BYTES_PER_TOKEN = 4
"""Bytes of a prompt per token, assumed until the server reports its tokens."""


@dataclass(frozen=True, kw_only=True)
class ClusterResults:
    """The joined results of all shards."""

    covered: int
    """Samples with results."""
    unscored: int


@dataclass(frozen=True, kw_only=True)
class _Slots:
    """The number of shards that run concurrently, and the cores and GPUs of each."""

    count: int
    cpus: float = 1
    gpus: float = 0


def evaluate_on_cluster(
    samples: Iterable[tuple[int, Sample]],
    total: int,
    draws: Draws,
    runner: TaskRunner,
    status: StatusFile,
    address: str,
    results: ResultFiles,
) -> ClusterResults:
    """Evaluate `total` samples, given with their positions, in shards whose files are below `address`.

    Updates `status`, and the journal, tally and budget of `runner`. The shards' result files become parts of `results`.
    Raises SettingError if Ray is not installed, if the cluster cannot be reached, or if an option does not work on a
    cluster, JudgeError if no call can succeed, StoreError if files cannot be read or written.
    """
    options = runner.budget.options
    if options.judge_options and options.judge_options.batch:
        raise SettingError("--batch and --ray cannot be combined; leave out one of them")
    _collect_leftovers(ShardFolder(address), runner.journal)
    with _connected(options.ray) as ray:
        slots = _slots(ray, draws.panel, options.judge_options)
        shards = min(total, options.shards or max(SHARDS_PER_SLOT * slots.count, ceil(total / MAX_SHARD_SAMPLES)))
        cluster = _Cluster(ray, slots, draws, options, address)
        counts = cluster.run(_chunks(samples, ceil(total / max(1, shards))), runner, status)
    _join(counts, address, runner.journal, results)
    return ClusterResults(
        covered=sum(shard.done for shard in counts.values()), unscored=sum(shard.unscored for shard in counts.values())
    )


def delete_shards(address: str) -> None:
    """Delete the files of all shards of an evaluation, after its results are in the store."""
    ShardFolder(address).delete()


def _collect_leftovers(root: ShardFolder, journal: Journal) -> None:
    """Move the replies in the shards' files of a killed evaluation to the journal, without duplicates."""
    if root.line_files():
        present = journal.line_hashes()
        journal.extend(line for line in root.lines(known=False) if hash(line) not in present)
        journal.sync()
    root.delete()


def _chunks(samples: Iterable[tuple[int, Sample]], size: int) -> Iterator[list[tuple[int, Sample]]]:
    chunk: list[tuple[int, Sample]] = []
    for numbered in samples:
        chunk.append(numbered)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _update_totals(counts: Mapping[str, ShardCounts], runner: TaskRunner, status: StatusFile) -> None:
    """Set the counts of the evaluation to the sums over all shards."""
    tally = Tally()
    for shard in counts.values():
        tally.add(shard.tally)
    vars(runner.tally).update(vars(tally))
    budget = runner.budget
    costs = [shard.cost for shard in counts.values()]
    known = [cost for cost in costs if cost is not None]
    budget.calls = sum(shard.calls for shard in counts.values())
    budget.tokens = sum(shard.tokens for shard in counts.values())
    budget.cost = sum(known) if len(known) == len(costs) else None
    budget.unanswered = sum(shard.unanswered for shard in counts.values())
    budget.unanswered_cost = sum(shard.unanswered_cost for shard in counts.values())
    status.set_done(sum(shard.done for shard in counts.values()), runner.tally)


class _Cluster:
    """Submits shards to Ray, as many at a time as there are slots."""

    def __init__(self, ray: Any, slots: _Slots, draws: Draws, options: EvaluationOptions, address: str) -> None:
        self._ray = ray
        self._slots = slots
        self._address = address
        judge_options = options.judge_options
        paced = judge_options and (judge_options.requests_per_minute or judge_options.tokens_per_minute)
        self._shard_options = replace(options, known={}, expected=(), judge_options=_without_rate_limits(judge_options))
        self._draws = draws
        self._limited = bool(paced) or options.max_calls is not None or options.max_cost is not None
        self._limits = _limits_on_this_machine(
            ray,
            replace(options, known={}, judge_options=None),
            Budget.for_panel(options, draws.panel).models,
            judge_options,
        )
        for metric in draws.metrics:
            _send_by_value(ray, type(metric).__module__)
        self._evaluate = ray.remote(max_calls=0)(_evaluate).options(
            num_cpus=slots.cpus, num_gpus=slots.gpus, max_retries=-1, scheduling_strategy="SPREAD"
        )
        self._judges = _Judges(uuid4().hex, ray.put(_without_rate_limits(judge_options) or draws.panel))

    def run(
        self, chunks: Iterator[list[tuple[int, Sample]]], runner: TaskRunner, status: StatusFile
    ) -> dict[str, ShardCounts]:
        """Evaluate each chunk of samples as a shard, and return the counts of each shard, in order.

        If a limit or the user stops the evaluation, the shards end early.
        """
        budget = runner.budget
        known = _StoredReplies(runner.journal)
        under_way: dict[Any, str] = {}
        finished: dict[str, ShardCounts] = {}
        numbered = enumerate(chunks)
        try:
            while True:
                while len(under_way) < self._slots.count and (chunk := next(numbered, None)):
                    number, samples = chunk
                    shard = f"{number:06}"
                    known.write(ShardFolder(f"{self._address}/{shard}"), samples)
                    under_way[self._start(shard, samples)] = shard
                if not under_way:
                    break
                done, _ = self._ray.wait(list(under_way), timeout=HEARTBEAT_SECONDS)
                for reference in done:
                    finished[under_way.pop(reference)] = self._result(reference)
                counts = self._ray.get(self._limits.counts.remote())
                _update_totals(counts, runner, status)
                stopped = next((shard.stopped for shard in counts.values() if shard.stopped), "")
                budget.stopped = budget.stopped or stopped
                if budget.stopped:
                    self._ray.get(self._limits.stop.remote(budget.stopped))
        except BaseException:
            for reference in under_way:
                self._ray.cancel(reference, force=True)
            raise
        return dict(sorted(finished.items()))

    def _start(self, shard: str, samples: list[tuple[int, Sample]]) -> Any:
        work = ShardWork(
            address=f"{self._address}/{shard}",
            metrics=self._draws.metrics,
            draw_counts=dict(self._draws.counts),
            options=self._shard_options,
            limited=self._limited,
            version=version("ragboard"),
        )
        return self._evaluate.remote(shard, work, samples, self._judges, self._limits)

    def _result(self, reference: Any) -> ShardCounts:
        """Return the counts of a finished shard. Raises the error that ended it."""
        try:
            counts: ShardCounts = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, RagboardError):
                raise error.cause from error
            raise JudgeError(f"a shard failed on the cluster: {error.cause or error}") from error
        return counts


def _limits_on_this_machine(ray: Any, *given: Any) -> Any:
    """Return an actor of `_Limits` on this machine, where it survives the death of other machines.

    If the cluster has just started, it may not know this machine yet. The actor is then created again.
    """
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    actor = ray.remote(_Limits).options(num_cpus=0, max_concurrency=10_000, scheduling_strategy=here)
    give_up = time.monotonic() + CONNECT_SECONDS
    while True:
        limits = actor.remote(*given)
        try:
            ray.get(limits.counts.remote())
        except ray.exceptions.ActorUnschedulableError as error:
            if time.monotonic() > give_up:
                raise JudgeError(f"this machine is not part of the cluster: {error}") from error
            time.sleep(0.2)
        else:
            return limits


def _without_rate_limits(options: JudgeOptions | None) -> JudgeOptions | None:
    """Return the judge options without rate limits, because these apply to all shards together."""
    return options and replace(options, requests_per_minute=None, tokens_per_minute=None)


def _send_by_value(ray: Any, module: str) -> None:
    """Make Ray send the code of a plugin's classes, because other machines do not have the plugin's file."""
    if module.partition(".")[0] != "ragboard":
        ray.cloudpickle.register_pickle_by_value(sys.modules[module])


class _StoredReplies:
    """The replies in the evaluation's journal, by sample."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._offsets = journal.offsets_by_sample() if len(journal) else {}

    def write(self, folder: ShardFolder, samples: Iterable[tuple[int, Sample]]) -> None:
        """Write the replies of these samples to a shard's folder."""
        offsets = [offset for _, sample in samples for offset in self._offsets.get(sample.id, ())]
        if offsets:
            folder.add_lines(KNOWN, b"".join(self._journal.lines_at(offsets)))


@contextmanager
def _connected(address: str | None) -> Generator[Any]:
    """Yield the module `ray`, connected to the cluster. Raises SettingError if Ray or the cluster is unavailable."""
    try:
        import ray
    except ImportError as error:
        raise SettingError("--ray needs Ray: pip install 'ragboard[ray]'") from error
    if ray.is_initialized():
        yield ray
        return
    host, _, port = (address or "").rpartition(":")
    try:
        if host and port.isdecimal():  # Ray would try for a minute, and then end the process
            socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError) as error:
        raise SettingError(f"--ray {address}: cannot reach the Ray cluster: {error}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _slots(ray: Any, panel: Panel, options: JudgeOptions | None) -> _Slots:
    """Return the number of shards that run concurrently, with their resources.

    With local models, each shard has a GPU, or as many cores as `threads`. With judges that compute in Python, each
    shard has a core. Judges that call a server mostly wait, so each machine runs one shard, with the usual concurrency.
    """
    resources = ray.cluster_resources()
    cores, gpus = int(resources.get("CPU", 1)), int(resources.get("GPU", 0))
    if any(isinstance(judge, BatchJudge) for judge in panel.members):
        if gpus and not (options and options.device and options.device.startswith("cpu")):
            return _Slots(count=gpus, gpus=1)
        threads = (options and options.threads) or 1
        return _Slots(count=max(1, cores // threads), cpus=threads)
    if all(isinstance(judge, ComputingJudge) for judge in panel.members):
        return _Slots(count=cores)
    return _Slots(count=max(1, sum(node["Alive"] and node["Resources"].get("CPU", 0) >= 1 for node in ray.nodes())))


_panels: dict[str, Panel] = {}
"""The judges of this worker process, by `_Judges.key`. They load a model once for all shards of the process."""


@dataclass(frozen=True)
class _Judges:
    """The judges of an evaluation, or the options that name them, in Ray's object store."""

    key: str
    reference: Any

    def panel(self) -> Panel:
        """Return the judges of this process."""
        import ray

        if self.key not in _panels:
            judges: JudgeOptions | Panel = ray.get(self.reference)
            _panels[self.key] = judges if isinstance(judges, Panel) else panel_named(judges)
        return _panels[self.key]


def _evaluate(
    shard: str, work: ShardWork, samples: Sequence[tuple[int, Sample]], judges: _Judges, limits: Any
) -> ShardCounts:
    """Evaluate a shard in a worker process of Ray."""
    if work.version != version("ragboard"):
        raise JudgeError(
            f"the cluster has ragboard {version('ragboard')}, this machine {work.version}; install the same version"
        )
    return evaluate_shard(work, samples, judges.panel(), _SharedLimits(shard, limits))


class _SharedLimits:
    """Passes the requests of a shard to the actor with the shared limits (`_Limits`)."""

    def __init__(self, shard: str, limits: Any) -> None:
        self._shard = shard
        self._limits = limits
        self._attempt: int = self._wait(limits.begin.remote(shard))

    async def admit(self, task: Task, size: RequestSize) -> int:
        answer: int | str = await self._limits.admit.remote(self._shard, self._attempt, task, size)
        if isinstance(answer, str):
            raise LimitReachedError(answer)
        return answer

    def settle(self, number: int, exchange: Exchange) -> None:
        self._limits.settle.remote(number, exchange)

    def drop(self, number: int, *, may_be_billed: bool) -> None:
        self._limits.drop.remote(number, may_be_billed)

    def report(self, counts: ShardCounts) -> str:
        stopped: str = self._wait(self._limits.report.remote(self._shard, self._attempt, counts))
        return stopped

    @staticmethod
    def _wait(reference: Any) -> Any:
        import ray

        return ray.get(reference)


@dataclass
class _OpenRequest:
    """A request that was admitted and has no reply yet."""

    shard: str
    task: Task
    size: RequestSize
    reservation: Any


class _Limits:
    """A Ray actor that admits the requests of all shards. If it dies, no further requests are sent."""

    def __init__(
        self, options: EvaluationOptions, models: dict[type[Task], str], judge_options: JudgeOptions | None
    ) -> None:
        self._budget = Budget(options, models)
        paced = judge_options or JudgeOptions()
        rates = Limits(
            concurrency=sys.maxsize,
            requests_per_minute=paced.requests_per_minute,
            tokens_per_minute=paced.tokens_per_minute,
        )
        self._traffic = Traffic(rates, time.monotonic)
        self._open: dict[int, _OpenRequest] = {}
        self._admitted = 0
        self._attempts: dict[str, int] = {}
        self._counts: dict[tuple[str, int], ShardCounts] = {}

    async def begin(self, shard: str) -> int:
        """Begin an attempt at a shard, and return its number. Open requests of earlier attempts may be billed."""
        self._attempts[shard] = self._attempts.get(shard, -1) + 1
        for number in [number for number, request in self._open.items() if request.shard == shard]:
            await self.drop(number, may_be_billed=True)
        return self._attempts[shard]

    async def admit(self, shard: str, attempt: int, task: Task, size: RequestSize) -> int | str:
        """Return the number of the admitted request, or the reason why no further requests are sent."""
        if attempt != self._attempts[shard]:
            return "this shard was restarted on another machine"
        tokens = size.prompt_bytes // BYTES_PER_TOKEN
        async with self._traffic.slot(tokens):
            try:
                reservation = await self._budget.admit(task, size)
            except LimitReachedError as error:
                return str(error)
        self._admitted += 1
        self._open[self._admitted] = _OpenRequest(shard, task, size, reservation)
        return self._admitted

    async def settle(self, number: int, exchange: Exchange) -> None:
        """Count the tokens of an answered request."""
        request = self._open.pop(number, None)
        if request:
            used = (exchange.prompt_tokens or 0) + (exchange.completion_tokens or 0)
            self._traffic.record_tokens(used - request.size.prompt_bytes // BYTES_PER_TOKEN)
            self._budget.settle(request.task, exchange, request.reservation)

    async def drop(self, number: int, may_be_billed: bool) -> None:  # noqa: FBT001 - Ray passes it by position
        """Count a request without a reply."""
        request = self._open.pop(number, None)
        if request:
            self._budget.drop(request.reservation, may_be_billed=may_be_billed)

    async def report(self, shard: str, attempt: int, counts: ShardCounts) -> str:
        """Store the counts of a shard. Return the reason if all shards should stop, else an empty string."""
        self._counts[shard, attempt] = counts
        self._budget.allows()
        return self._budget.stopped

    async def stop(self, why: str) -> None:
        """Admit no further requests."""
        self._budget.stopped = self._budget.stopped or why

    async def counts(self) -> dict[str, ShardCounts]:
        """Return the counts of each shard, including the calls of its earlier attempts."""
        shards: dict[str, ShardCounts] = {}
        for (shard, _), counts in sorted(self._counts.items()):
            shards[shard] = counts.after(shards[shard]) if shard in shards else counts
        return shards


def _join(counts: Mapping[str, ShardCounts], address: str, journal: Journal, results: ResultFiles) -> None:
    """Append the shards' journals to the evaluation's journal, and copy their result files to this machine."""
    for shard in counts:
        files = ShardFolder(f"{address}/{shard}")
        local = results.folder / shard
        journal.extend(files.lines(known=False))
        files.get_results(local)
        keys = local / f"{KEYS}.parquet"
        _write_offsets(keys, local / "answer_places.parquet", journal)
        keys.unlink()
        results.add_parts({path.stem: [path] for path in local.glob("*.parquet")})


def _write_offsets(keys: Path, places: Path, journal: Journal) -> None:
    """Replace the task keys of each sample by their offsets in the joined journal."""
    table = pq.read_table(keys)
    offsets = pa.array([journal.offset(key.hex()) for key in table["key"].to_pylist()], pa.int64())
    pq.write_table(pa.table({"position": table["position"], "place": offsets}), places)
