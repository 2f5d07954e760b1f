"""Import a large run in blocks, through Parquet files.

Several processes convert each block to Parquet files with database rows, and one transaction loads these files. Memory
holds only the blocks in progress and a hash of each sample id. The database is not locked while the run file is read.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
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
from ragboard.store.text_hashes import TextHashes
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


TABLES = ("samples", "passages")


@dataclass(frozen=True, kw_only=True)
class _PreparedBlock:
    """A block of samples, whose database rows are in a Parquet file for each table.

    The positions in these files start at 0. Ids may repeat those of other blocks until `_StagedRun` makes them unique.
    """

    files: dict[str, Path]
    """The file for each table."""
    ids: list[str]
    content: bytes
    """One line for each sample, for the digest of the run."""
    keys: list[str | None]
    """The `question_key` of each sample without an id in the file; None for samples with an id."""
    lines: list[int]
    rows: RowNotes
    new_columns: tuple[str, ...]


def _prepare(plan: RowPlan, folder: Path, block: Block) -> _PreparedBlock:
    """Read a block, and write its database rows to files in the folder."""
    read = plan.read(block)
    keys = [None if sample.id else question_key(sample) for sample in read.samples]
    samples = [
        sample if key is None else replace(sample, id=SampleIds().derive(key))
        for sample, key in zip(read.samples, keys, strict=True)
    ]
    rows = {
        "samples": [sample_row("", *numbered) for numbered in enumerate(samples)],
        "passages": [row for numbered in enumerate(samples) for row in passage_rows("", *numbered)],
    }
    files = {table: folder / f"{table}-{block.offset}.parquet" for table in TABLES}
    for table, file in files.items():
        _write_parquet(arrow_table(table, rows[table]).drop_columns(["run_id"]), file)
    return _PreparedBlock(
        files=files,
        ids=[sample.id for sample in samples],
        content=b"".join(map(content_line, samples)),
        keys=keys,
        lines=read.lines,
        rows=read.notes,
        new_columns=read.new_columns,
    )


def _write_parquet(table: Any, file: Path) -> None:
    pq.write_table(table, file, compression="lz4", use_dictionary=False, write_statistics=False)


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
                staged.add_all(map_in_order(partial(_prepare, stream.plan, staging), stream.blocks(), pool))
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
        self.files: dict[str, list[Path]] = {table: [] for table in TABLES}
        """The files of each table, in the order of their blocks."""
        self.first_positions: list[int] = []
        """The position of the first sample of each block."""
        self.digest = new_digest()
        self.digest.update(head_line(run.name, run.config, run.dataset))
        self.rows = RowNotes()
        if stream.first.run:
            self.rows.add_conversions(stream.first.run.line, stream.first.run.notes)
        self.columns = dict.fromkeys(plan.columns)
        self.count = 0
        self._ids = SampleIds(used=TextHashes())

    def add_all(self, blocks: Iterable[_PreparedBlock]) -> None:
        """Add all blocks, with ids that are unique in the run."""
        with _store_errors(self.folder):
            for block in blocks:
                self._add(block)

    def _add(self, block: _PreparedBlock) -> None:
        self._check_columns(block.new_columns)
        self.rows.merge(block.rows)
        if not block.ids:
            return
        ids = [self._id(*given) for given in zip(block.ids, block.keys, block.lines, strict=True)]
        content = block.content
        if ids != block.ids:
            _replace_ids(block.files["samples"], ids)
            content = b"".join(map(_with_id, content.splitlines(), ids))
        self.digest.update(content)
        self.first_positions.append(self.count)
        self.count += len(ids)
        for table, file in block.files.items():
            self.files[table].append(file)

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


def _replace_ids(file: Path, ids: Sequence[str]) -> None:
    samples = pq.read_table(file)
    _write_parquet(samples.set_column(samples.schema.get_field_index("sample_id"), "sample_id", pa.array(ids)), file)


def _load(database: Database, stream: RunStream, staged: _StagedRun) -> AddedRun:
    run, run_id = stream.run, staged.digest.hexdigest()
    questions, key = _questions(staged)

    def add(connection: duckdb.DuckDBPyConnection) -> tuple[str, str] | None:
        existing = existing_run(connection, run.name, run_id)
        if existing is None:
            insert_run_row(connection, run, run_id, staged.count, questions, key)
            for table, files in staged.files.items():
                connection.execute(
                    f"INSERT INTO {table} BY NAME SELECT $run AS run_id, * REPLACE"
                    " (position + $first_positions[file_index::INTEGER + 1] AS position) FROM read_parquet($files)",
                    {"run": run_id, "first_positions": staged.first_positions, "files": list(map(str, files))},
                )
            connection.execute("RESET memory_limit; RESET threads")  # clusters of a million samples can need 3 GB
            mark_clusters(connection, run_id)
            refresh_rollups(connection)
        return existing

    existing = database.write_within(LOAD_MEMORY, add)
    stored_id, name = existing or (run_id, run.name)
    return AddedRun(id=stored_id, name=name, samples=staged.count, added=existing is None)


def _questions(staged: _StagedRun) -> tuple[int, str]:
    """Return the number of distinct questions, and their `questions_key`."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": LOAD_MEMORY,
        "threads": 1,
        "temp_directory": str(staged.folder),
    }
    number = 0
    with duckdb.connect(config=settings) as connection:
        found = connection.execute(
            "SELECT DISTINCT question FROM read_parquet(?) ORDER BY question", [list(map(str, staged.files["samples"]))]
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
