"""Import a large run in blocks, through Parquet files.

Several processes convert the blocks to database rows, and one transaction loads the files with these rows. Memory holds
only the blocks in progress and the sample ids. The database is not locked while the run file is read.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from ragboard.database import LOAD_MEMORY, Database
from ragboard.errors import RunFileError, StoreError
from ragboard.processes import available_cores, map_in_order, process_pool
from ragboard.readers import ImportReport, Renamed, RunStream
from ragboard.readers.runs import RowNotes, SampleIds, question_key
from ragboard.readers.stream import BLOCK_BYTES, Block, RowPlan
from ragboard.readers.tables import MAX_COLUMNS
from ragboard.store.rollups import refresh_rollups
from ragboard.store.rows import arrow_table, as_json, passage_rows, sample_row
from ragboard.store.run_refs import AddedRun
from ragboard.store.writing import (
    check_description,
    content_line,
    existing_run,
    head_line,
    insert_run_row,
    mark_clusters,
    new_digest,
    questions_key,
)

__all__ = ["ColumnsChangedError", "add_streamed"]

PREFIX = "import-"


class ColumnsChangedError(Exception):
    """New columns in a later row change how the file must be read. `columns` are all columns found so far."""

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(*columns)
        self.columns = tuple(columns)


@dataclass(frozen=True, kw_only=True)
class _PreparedBlock:
    """A block of samples as database rows. Until `_StagedRun` numbers it, positions start at 0 and ids may repeat."""

    samples: pa.Table
    passages: pa.Table
    content: bytes
    """One line for each sample, for the digest of the run."""
    keys: list[str | None]
    """The `question_key` of each sample without an id in the file; None for samples with an id."""
    lines: list[int]
    rows: RowNotes
    new_columns: tuple[str, ...]


def _prepare(plan: RowPlan, block: Block) -> _PreparedBlock:
    read = plan.read(block)
    keys = [None if sample.id else question_key(sample) for sample in read.samples]
    samples = [
        sample if key is None else replace(sample, id=SampleIds().derive(key))
        for sample, key in zip(read.samples, keys, strict=True)
    ]
    passages = [row for position, sample in enumerate(samples) for row in passage_rows("", position, sample)]
    return _PreparedBlock(
        samples=arrow_table("samples", [sample_row("", *numbered) for numbered in enumerate(samples)]),
        passages=arrow_table("passages", passages),
        content=b"".join(map(content_line, samples)),
        keys=keys,
        lines=read.lines,
        rows=read.notes,
        new_columns=read.new_columns,
    )


def add_streamed(database: Database, folder: Path, stream: RunStream) -> tuple[AddedRun, ImportReport]:
    """Add the run of a stream to the database, unless it is stored already. Return it with the import report.

    `folder` is for temporary files. Raises RunFileError if a row cannot be read, RunExistsError if the name is used by
    another run, and ColumnsChangedError if the file must be read again.
    """
    check_description(stream.run)
    with _staging_folder(folder) as staging:
        staged = _StagedRun(stream, staging)
        with process_pool(min(available_cores(), stream.plan.path.stat().st_size // BLOCK_BYTES)) as pool:
            try:
                staged.add_all(map_in_order(partial(_prepare, stream.plan), stream.blocks(), pool))
            except BrokenExecutor as error:
                raise StoreError(
                    "a process that read the file was killed, perhaps because memory ran out; nothing was stored"
                ) from error
        report = stream.report(staged.rows, tuple(staged.columns))
        return _load(database, stream, staged), report


class _StagedRun:
    """A run whose samples are collected in Parquet files, with its digest and the notes on its rows."""

    def __init__(self, stream: RunStream, folder: Path) -> None:
        run, plan = stream.run, stream.plan
        self.stream = stream
        self.folder = folder
        self.paths = {table: folder / f"{table}.parquet" for table in ("samples", "passages")}
        self.digest = new_digest()
        self.digest.update(head_line(run.name, run.config, run.dataset))
        self.rows = RowNotes()
        if stream.first.run:
            self.rows.add_conversions(stream.first.run.line, stream.first.run.notes)
        self.columns = dict.fromkeys(plan.columns)
        self.count = 0
        self._ids = SampleIds()

    def add_all(self, blocks: Iterable[_PreparedBlock]) -> None:
        """Add all blocks. A thread writes each block to the files while the next block is numbered."""
        written: Future[None] | None = None
        with ExitStack() as stack, _store_errors(self.folder):
            writers = {
                table: stack.enter_context(_writer(path, arrow_table(table, ()).schema))
                for table, path in self.paths.items()
            }
            thread = stack.enter_context(ThreadPoolExecutor(max_workers=1))
            for block in blocks:
                numbered = self._numbered(block)
                if written:
                    written.result()
                written = thread.submit(self._write, numbered, writers)
            if written:
                written.result()

    def _write(self, block: _PreparedBlock, writers: dict[str, pq.ParquetWriter]) -> None:
        self.digest.update(block.content)
        writers["samples"].write_table(block.samples.drop_columns(["run_id"]))
        writers["passages"].write_table(block.passages.drop_columns(["run_id"]))

    def _numbered(self, block: _PreparedBlock) -> _PreparedBlock:
        """Return a block with its positions in the run and unique ids."""
        self._check_columns(block.new_columns)
        self.rows.merge(block.rows)
        given_ids = block.samples["sample_id"].to_pylist()
        ids = [self._id(*given) for given in zip(given_ids, block.keys, block.lines, strict=True)]
        first, self.count = self.count, self.count + len(ids)
        samples, content = block.samples, block.content
        if ids != given_ids:
            samples = _with_column(samples, "sample_id", pa.array(ids))
            content = b"".join(map(_with_id, content.splitlines(), ids))
        return replace(
            block,
            samples=_with_later_positions(samples, first),
            passages=_with_later_positions(block.passages, first),
            content=content,
        )

    def _id(self, given: str, key: str | None, line: int) -> str:
        if key is not None:
            self.rows.derived_ids += 1
            return self._ids.derive(key)
        assigned = self._ids.assign(given)
        if assigned != given:
            self.rows.renamed.append(Renamed(line=line, given=given, assigned=assigned))
        return assigned

    def _check_columns(self, new: Sequence[str]) -> None:
        if self.columns.keys() >= set(new):
            return
        self.columns |= dict.fromkeys(new)
        if len(self.columns) > MAX_COLUMNS:
            raise RunFileError(
                self.stream.shown, f"has {len(self.columns):,} columns, expected at most {MAX_COLUMNS:,}"
            )
        if self.stream.with_columns(tuple(self.columns)) is not self.stream:
            raise ColumnsChangedError(tuple(self.columns))


def _with_id(line: bytes, sample_id: str) -> bytes:
    return f"{as_json(json.loads(line) | {'id': sample_id})}\n".encode()


def _with_later_positions(table: Any, first: int) -> Any:
    """Return the table with `first` added to each position."""
    positions = pc.call_function("add", [table["position"], pa.scalar(first, pa.int32())])
    return _with_column(table, "position", positions)


def _with_column(table: Any, name: str, values: Any) -> Any:
    return table.set_column(table.schema.get_field_index(name), name, values)


def _writer(path: Path, schema: Any) -> pq.ParquetWriter:
    columns = schema.remove(schema.get_field_index("run_id"))
    return pq.ParquetWriter(path, columns, compression="lz4", use_dictionary=False, write_statistics=False)


def _load(database: Database, stream: RunStream, staged: _StagedRun) -> AddedRun:
    run, run_id = stream.run, staged.digest.hexdigest()
    questions, key = _questions(staged)
    with database.write() as connection:
        existing = existing_run(connection, run.name, run_id)
        if existing is None:
            connection.execute(f"SET memory_limit = '{LOAD_MEMORY}'")
            insert_run_row(connection, run, run_id, staged.count, questions, key)
            for table, path in staged.paths.items():
                connection.execute(
                    f"INSERT INTO {table} BY NAME SELECT ? AS run_id, * FROM read_parquet(?)", [run_id, str(path)]
                )
            mark_clusters(connection, run_id)
            refresh_rollups(connection)
    stored_id, name = existing or (run_id, run.name)
    return AddedRun(id=stored_id, name=name, samples=staged.count, added=existing is None)


def _questions(staged: _StagedRun) -> tuple[int, str]:
    """Return the number of distinct questions, and their `questions_key`."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": LOAD_MEMORY,
        "temp_directory": str(staged.folder),
    }
    number = 0
    with duckdb.connect(config=settings) as connection:
        found = connection.execute(
            "SELECT DISTINCT question FROM read_parquet(?) ORDER BY question", [str(staged.paths["samples"])]
        )

        def questions() -> Generator[str]:
            nonlocal number
            while rows := found.fetchmany(10_000):
                number += len(rows)
                yield from (row[0] for row in rows)

        key = questions_key(questions())
    return number, key


@contextmanager
def _staging_folder(folder: Path) -> Generator[Path]:
    """Yield a new folder, and delete it at the end. First delete the folders of imports that were killed."""
    staging = folder / f"{PREFIX}{uuid4().hex}"
    with _store_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for lock in folder.glob(f"{PREFIX}*.lock"):
            with suppress(Timeout), FileLock(lock, timeout=0):
                rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink(missing_ok=True)
        staging_lock = FileLock(staging.with_suffix(".lock"), timeout=0)
        staging_lock.acquire()
        staging.mkdir()
    try:
        yield staging
    finally:
        rmtree(staging, ignore_errors=True)
        staging.with_suffix(".lock").unlink(missing_ok=True)
        staging_lock.release()


@contextmanager
def _store_errors(path: Path) -> Generator[None]:
    """Turn an OSError in the block into a StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot write the import: {error.strerror or error}") from error
