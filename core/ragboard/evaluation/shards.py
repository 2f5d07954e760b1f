"""Evaluate a shard, which is a part of a run's samples, on any machine.

A shard has a folder, local or at an address that fsspec supports. Replies are written there as they arrive, and results
at the end. If the shard is evaluated again, perhaps on another machine, it continues from these files.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from ragboard.errors import StoreError
from ragboard.evaluation.budget import Budget
from ragboard.evaluation.draws import Draws
from ragboard.evaluation.engine import ResultFiles, SampleLoop
from ragboard.evaluation.journal import Journal, open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.progress import HEARTBEAT_SECONDS
from ragboard.evaluation.runner import Tally, TaskRunner
from ragboard.judges.base import LimitReachedError, RequestSize
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric
from ragboard.records import Sample
from ragboard.tasks import Exchange, Task

__all__ = ["KEYS", "KNOWN", "ShardCounts", "ShardFolder", "ShardLimits", "ShardWork", "evaluate_shard"]

UPLOAD_SECONDS = 1.0
"""Minimum seconds between two writes of replies to the shard's folder. A machine that dies loses newer replies."""

KNOWN = "0-known"
"""The name of a shard's file with the replies that the evaluation already had. In alphabetical order, it is first."""

KEYS = "answer_keys"
"""The table with the task keys of each sample, which become journal offsets when the journals are joined."""


class ShardFolder:
    """The folder of one shard."""

    def __init__(self, address: str) -> None:
        import fsspec

        self._address = address.rstrip("/")
        self._files, self._root = fsspec.core.url_to_fs(self._address)

    def add_lines(self, name: str, lines: bytes) -> None:
        """Write journal lines to a new file with this name. Raises StoreError if it cannot be written."""
        self._put(f"{self._root}/lines/{name}.jsonl", lines)

    def lines(self, *, known: bool = True) -> Iterator[bytes]:
        """Yield every complete journal line in this folder and its subfolders.

        With `known`, this includes the replies that the evaluation already had. Raises StoreError if a file cannot be
        read.
        """
        with self._errors("read"):
            for path in self._line_files():
                if path.endswith(f"/{KNOWN}.jsonl") and not known:
                    continue
                complete, _, _ = self._files.cat_file(path).rpartition(b"\n")
                yield from (line + b"\n" for line in complete.split(b"\n") if line)

    def line_files(self) -> int:
        """Return the number of files with journal lines."""
        with self._errors("read"):
            return len(self._line_files())

    def put_results(self, paths: Mapping[str, Path]) -> None:
        """Write the shard's result files, by table. Raises StoreError if they cannot be written."""
        for table, path in paths.items():
            self._put(f"{self._root}/results/{table}.parquet", path.read_bytes())

    def get_results(self, folder: Path) -> None:
        """Copy the shard's result files to a new local folder. Raises StoreError if they cannot be read."""
        with self._errors("read"):
            self._files.get(f"{self._root}/results/", f"{folder}/", recursive=True)

    def delete(self) -> None:
        """Delete the folder and everything in it."""
        with self._errors("delete"), suppress(FileNotFoundError):
            self._files.rm(self._root, recursive=True)

    def _line_files(self) -> list[str]:
        self._files.invalidate_cache()
        found = self._files.find(self._root) if self._files.exists(self._root) else []
        return sorted(path for path in found if path.endswith(".jsonl"))

    def _put(self, path: str, data: bytes) -> None:
        with self._errors("write"):
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, data)

    def _errors(self, verb: str) -> _FolderErrors:
        return _FolderErrors(f"{self._address}: cannot {verb} the files of this shard")


@dataclass(frozen=True)
class _FolderErrors:
    """Turns the exceptions of a file system into StoreError."""

    message: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, (StoreError, FileNotFoundError)):
            raise StoreError(f"{self.message}: {error}") from error


class ShardLimits(Protocol):
    """The limits that apply to all shards together."""

    async def admit(self, task: Task, size: RequestSize) -> int:
        """Wait until a request may be sent, and return its number. Raises LimitReachedError if it may not be sent."""
        ...

    def settle(self, number: int, exchange: Exchange) -> None:
        """Report the tokens of an answered request."""
        ...

    def drop(self, number: int, *, may_be_billed: bool) -> None:
        """Report that a request got no reply."""
        ...

    def report(self, counts: ShardCounts) -> str:
        """Report the progress of this shard. Return the reason if all shards should stop, else an empty string."""
        ...


@dataclass(frozen=True, kw_only=True)
class ShardCounts:
    """The progress of a shard."""

    done: int = 0
    """Number of samples with results."""
    unscored: int = 0
    tally: Tally = field(default_factory=Tally)
    calls: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None if unknown."""
    unanswered: int = 0
    unanswered_cost: float = 0.0
    stopped: str = ""

    def after(self, earlier: ShardCounts) -> ShardCounts:
        """Return these counts, including the calls of an earlier attempt whose machine died."""
        costs = (self.cost, earlier.cost)
        tasks = self.tally.asked + self.tally.replayed
        # Replies of the earlier attempt were replayed, but count as asked.
        asked = min(self.tally.asked + earlier.tally.asked, tasks)
        return replace(
            self,
            tally=replace(self.tally, asked=asked, replayed=tasks - asked),
            calls=self.calls + earlier.calls,
            tokens=self.tokens + earlier.tokens,
            cost=None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
            unanswered=self.unanswered + earlier.unanswered,
            unanswered_cost=self.unanswered_cost + earlier.unanswered_cost,
        )


@dataclass(frozen=True, kw_only=True)
class ShardWork:
    """Everything that a machine needs to evaluate a shard, except the samples."""

    address: str
    """The shard's folder."""
    metrics: tuple[Metric, ...]
    draw_counts: Mapping[str, int]
    options: EvaluationOptions
    limited: bool
    """Whether each request must be admitted by the limits for all shards."""
    version: str
    """The version of ragboard on the machine that joins the shards."""


def evaluate_shard(
    work: ShardWork, samples: Sequence[tuple[int, Sample]], panel: Panel, limits: ShardLimits
) -> ShardCounts:
    """Evaluate samples, given with their positions, and write replies and results to the shard's folder.

    Replies that are already in the folder are reused. Raises JudgeError if no call can succeed, StoreError if the
    folder cannot be read or written.
    """
    folder = ShardFolder(work.address)
    with tempfile.TemporaryDirectory(prefix="ragboard-shard-") as local:
        path = Path(local) / "shard.jsonl"
        path.write_bytes(b"".join(folder.lines()))
        upload = _Upload(folder, path, number=folder.line_files(), sent=path.stat().st_size)
        budget = _ShardBudget.for_shard(work, panel, limits)
        with open_journal(path, {}) as journal:
            runner = TaskRunner(panel, journal, budget, retry=work.options.retry)
            results = ResultFiles(Path(local))
            status = _ShardStatus(budget, limits, upload)
            draws = Draws(work.metrics, work.draw_counts, panel)
            loop = SampleLoop(draws, runner, results, status)
            asyncio.run(loop.run(samples, work.options.samples_at_a_time))
            upload.send()
            results.finish_part(())
            files = {table: parts[-1] for table, parts in results.finished().items() if parts}
            files[KEYS] = _key_table(files.pop("answer_places", None), Path(local), journal)
        folder.put_results(files)
        counts = replace(status.counts(runner.tally), done=loop.covered, unscored=loop.unscored)
        limits.report(counts)
        return counts


@dataclass
class _Upload:
    """Copies new lines of a journal to the shard's folder."""

    folder: ShardFolder
    journal: Path
    number: int
    """Number of files with lines in the folder."""
    sent: int
    """Number of bytes of the journal that are already in the folder."""
    attempt: str = field(default_factory=lambda: uuid4().hex)

    def send(self) -> None:
        """Write the new lines to a new file."""
        with self.journal.open("rb") as reader:
            reader.seek(self.sent)
            new = reader.read()
        complete = new[: new.rfind(b"\n") + 1]
        if complete:
            self.folder.add_lines(f"{self.number:08}-{self.attempt}", complete)
            self.number += 1
            self.sent += len(complete)


class _ShardStatus:
    """Reports progress and uploads replies while samples are judged, in place of a `StatusFile`."""

    def __init__(self, budget: _ShardBudget, limits: ShardLimits, upload: _Upload) -> None:
        self._budget = budget
        self._limits = limits
        self._upload = upload
        self._done = 0
        self._uploaded = time.monotonic()
        self._background: asyncio.Task[None] | None = None
        self._tally = Tally()

    def counts(self, tally: Tally) -> ShardCounts:
        """Return the progress of the shard."""
        budget = self._budget
        return ShardCounts(
            done=self._done,
            tally=tally,
            calls=budget.calls,
            tokens=budget.tokens,
            cost=budget.cost,
            unanswered=budget.unanswered,
            unanswered_cost=budget.unanswered_cost,
            stopped=budget.stopped,
        )

    def step(self, tally: Tally) -> None:
        """Count a sample as done."""
        self._done += 1
        self.beat(tally)

    def beat(self, tally: Tally) -> None:
        """Start to report and upload in the background, unless this is in progress."""
        self._tally = tally
        if self._background is None or self._background.done():
            if self._background:
                self._background.result()
            self._background = asyncio.get_running_loop().create_task(self._report_and_upload())

    def update(self, tally: Tally) -> None:
        """Store the counts. The last report is made at the end of the shard."""
        self._tally = tally

    async def _report_and_upload(self) -> None:
        stopped = await asyncio.to_thread(self._limits.report, self.counts(self._tally))
        self._budget.stopped = self._budget.stopped or stopped
        if time.monotonic() - self._uploaded >= UPLOAD_SECONDS:
            self._uploaded = time.monotonic()
            await asyncio.to_thread(self._upload.send)
        await asyncio.sleep(HEARTBEAT_SECONDS)


@dataclass
class _ShardBudget(Budget):
    """Counts the calls of a shard. The limits are those of all shards together, in `limits`."""

    limits: ShardLimits | None = None
    """None: there are no limits."""
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    """The number of each request in progress, by `id()` of its reservation."""

    @classmethod
    def for_shard(cls, work: ShardWork, panel: Panel, limits: ShardLimits) -> _ShardBudget:
        unlimited = replace(work.options, max_calls=None, max_cost=None, max_minutes=None)
        models = Budget.for_panel(unlimited, panel).models
        return cls(unlimited, models, limits=limits if work.limited else None)

    async def admit(self, task: Task, size: RequestSize) -> Any:
        number = None
        if self.limits and self.allows():
            try:
                number = await self.limits.admit(task, size)
            except LimitReachedError as error:
                self.stopped = self.stopped or str(error)
                raise
        reservation = await super().admit(task, size)
        if number is not None:
            self.numbers[id(reservation)] = number
        return reservation

    def settle(self, task: Task, exchange: Exchange, reservation: Any) -> None:
        super().settle(task, exchange, reservation)
        number = self.numbers.pop(id(reservation), None)
        if self.limits and number is not None:
            # Only whether the text is empty matters (see `Usage.add`), so the rest is not sent.
            self.limits.settle(number, replace(exchange, text=exchange.text[:1]))

    def drop(self, reservation: Any, *, may_be_billed: bool) -> None:
        super().drop(reservation, may_be_billed=may_be_billed)
        number = self.numbers.pop(id(reservation), None)
        if self.limits and number is not None:
            self.limits.drop(number, may_be_billed=may_be_billed)


def _key_table(places: Path | None, folder: Path, journal: Journal) -> Path:
    """Write a table with the task key of each journal offset in the file `places`, and return its path.

    If `places` is None, the table is empty.
    """
    table = pq.read_table(places) if places else pa.table({name: [] for name in ("position", "place")})
    keys = journal.keys_by_offset()
    column = pa.array([keys[offset] for offset in table["place"].to_pylist()], pa.binary())
    path = folder / f"{KEYS}.parquet"
    pq.write_table(pa.table({"position": table["position"].cast(pa.int32()), "key": column}), path)
    return path
