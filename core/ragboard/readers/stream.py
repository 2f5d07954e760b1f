"""Read a large JSONL file in blocks, because all its samples may not fit in memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from ragboard.errors import RagboardError
from ragboard.readers.files import (
    decode_line,
    file_lines,
    is_folder,
    kind_of,
    numbered_lines,
    open_file,
    through_line_end,
)
from ragboard.readers.formats import ParsedFile, file_format_of, format_of
from ragboard.readers.formats.base import Format
from ragboard.readers.packed import unpacked
from ragboard.readers.report import ImportReport
from ragboard.readers.runs import RowNotes, match_table, read_row, report_notes, report_of, require_samples
from ragboard.readers.tables import BadRow, RawRow, Table, clean_row, columns_of, line_row, run_line
from ragboard.records import Run, Sample

__all__ = ["BLOCK_BYTES", "MIN_BYTES", "Block", "BlockSamples", "RowPlan", "RunStream", "run_stream"]

MIN_BYTES = 32 * 2**20
"""Minimum size of a file that is read in blocks."""
BLOCK_BYTES = 8 * 2**20
"""Minimum size of a block; it ends at the next end of a line."""
FIRST_ROWS = 1000
"""Number of lines that are read to recognise the format of a file."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Consecutive lines of a file, as an offset and a size in bytes."""

    offset: int
    size: int
    line: int
    """The number of the first line."""


@dataclass(frozen=True, kw_only=True)
class BlockSamples:
    """The samples of a block, and the notes on its rows."""

    samples: list[Sample]
    """The samples, with the ids of the file: they may repeat or be empty."""
    lines: list[int]
    """The line of each sample."""
    notes: RowNotes
    new_columns: tuple[str, ...]
    """Columns that are not in the plan, in order of first appearance."""


@dataclass(frozen=True, kw_only=True)
class RowPlan:
    """How to read the rows of a file. Can be sent to another process."""

    path: Path
    encoding: str
    columns: tuple[str, ...]
    """The known columns of the file."""
    matched: Mapping[str, str]
    """The column of each field of a sample."""
    run_line: int | None
    """The number of the line that describes the run; None if the file has no such line."""
    skip_bad: bool
    """Whether to skip bad rows instead of raising an error."""

    def read(self, block: Block) -> BlockSamples:
        """Read a block. Raises RunFileError at the first bad row, unless `skip_bad`."""
        notes, known = RowNotes(), frozenset(self.columns)
        samples: list[Sample] = []
        lines: list[int] = []
        new: dict[str, None] = {}
        for number, line in self._lines(block):
            if number == self.run_line:
                continue
            row = clean_row(number, line) or line_row(number, decode_line(self.path, number, line, self.encoding))
            if row is None:
                continue
            if isinstance(row, RawRow) and not row.cells.keys() <= known:
                new |= dict.fromkeys(column for column in row.cells if column not in known)
            found = read_row(self.path, row, self.matched, notes, skip_bad=self.skip_bad)
            if found:
                samples.append(found[1])
                lines.append(number)
        return BlockSamples(samples=samples, lines=lines, notes=notes, new_columns=tuple(new))

    def _lines(self, block: Block) -> Iterator[tuple[int, bytes]]:
        with open_file(self.path) as file:
            file.seek(block.offset)
            content = io.BytesIO(file.read(block.size))
        return numbered_lines(self.path, content, block.line)


@dataclass(frozen=True, kw_only=True)
class RunStream:
    """A file with one run, whose samples are read in blocks."""

    run: Run
    """The run, with no samples yet."""
    plan: RowPlan
    shown: Path
    """The path in error messages."""
    first: Table
    """The first rows, with the columns of the plan."""
    mapping: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    """The columns that the user chose for fields of a sample."""

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the file, each of whole lines."""
        with open_file(self.plan.path) as file:
            offset, line = 0, 1
            while content := file.read(BLOCK_BYTES):
                content += through_line_end(file, content)
                yield Block(offset=offset, size=len(content), line=line)
                offset += len(content)
                line += content.count(b"\n")

    def with_columns(self, columns: Sequence[str]) -> RunStream | None:
        """Return the stream to use after new columns were found in the file.

        - This stream, if the new columns do not change where the fields are read from: continue reading.
        - Another stream, if they do: read the file again with it.
        - None, if the file with these columns cannot be read in blocks.
        """
        matched = _matched(self.shown, replace(self.first, columns=tuple(columns)), self.mapping)
        if matched is None or matched == self.plan.matched:
            return None if matched is None else self
        first = replace(self.first, columns=tuple(columns))
        return replace(self, plan=replace(self.plan, matched=matched, columns=tuple(columns)), first=first)

    def report(self, row_notes: RowNotes, columns: Sequence[str]) -> ImportReport:
        """Return the import report, given the notes on all rows and all columns.

        Raises RunFileError if no row could be read, or if all passages are file names or URLs.
        """
        matched, table = self.plan.matched, replace(self.first, columns=tuple(columns))
        require_samples(self.shown, table, matched, row_notes)
        other = [column for column in columns if column not in matched.values()]
        notes = tuple(report_notes(table, matched, other, None, row_notes, ()))
        report = report_of(self.shown, table, matched, None, other, row_notes, notes, rows_read=row_notes.rows_read)
        return replace(report, path=self.run.source)


@contextmanager
def run_stream(
    path: Path,
    base: Callable[[Path, Table], Run],
    *,
    mapping: Mapping[str, str | None],
    skip_bad: bool,
    min_bytes: int = MIN_BYTES,
) -> Generator[RunStream | None]:
    """Yield a stream of a large JSONL file; None if the file cannot be read in blocks.

    These are not read in blocks: files of less than `min_bytes`, files of other tools, and files with scores, nuggets
    or a field mapped to a path. `base` returns the run of a table, with no samples.
    """
    if is_folder(path) or any(name and PATH_CHARACTERS.intersection(name) for name in mapping.values()):
        yield None
        return
    with unpacked(path) as file:
        large = file.stat().st_size >= min_bytes
        yield _stream(path, file, base, mapping, skip_bad=skip_bad) if large else None


PATH_CHARACTERS = frozenset(".[")
"""A mapped name with one of these is a path into a column."""


def _stream(
    path: Path,
    file: Path,
    base: Callable[[Path, Table], Run],
    mapping: Mapping[str, str | None],
    *,
    skip_bad: bool,
) -> RunStream | None:
    kind, encoding = kind_of(file)
    if kind != "JSONL" or encoding not in ("utf-8", "utf-8-sig"):
        return None
    rows: list[RawRow | BadRow] = []
    run: RawRow | None = None
    for number, text in islice(file_lines(file, encoding), FIRST_ROWS):
        if run is None and not rows:
            run = run_line(path, number, text)
            if run:
                continue
        row = line_row(number, text)
        if row:
            rows.append(row)
    table = Table(
        kind=kind,
        encoding=encoding,
        rows=tuple(rows),
        columns=columns_of(path, rows),
        run=run,
        ours=run is not None,
        notes=(f"unpacked from {path.name}",) if file != path else (),
    )
    read = [row.cells for row in rows if isinstance(row, RawRow)]
    tool_format = file_format_of(ParsedFile(path=file, kind=kind, value=read)) if read and not run else None
    matched = None if tool_format else _matched(path, table, mapping)
    if matched is None:
        return None
    plan = RowPlan(
        path=file,
        encoding=encoding,
        columns=table.columns,
        matched=matched,
        run_line=run.line if run else None,
        skip_bad=skip_bad,
    )
    return RunStream(run=base(path, table), plan=plan, shown=path, first=table, mapping=mapping)


def _matched(path: Path, table: Table, mapping: Mapping[str, str | None]) -> dict[str, str] | None:
    """Return the column of each field; None if the file must be read whole to match them."""
    known = format_of(table.columns)
    try:
        matched = match_table(path, table, mapping, None)
    except RagboardError:
        return None
    free = [column for column in table.columns if column not in matched.values()]
    rows = [row.cells for row in table.rows if isinstance(row, RawRow)]
    needs_all = known and (_changes_rows(known) or (not table.ours and known.scores(free, rows)))
    return None if needs_all or "nuggets" in matched else matched


def _changes_rows(known: Format) -> bool:
    return bool(known.refused or known.passage_rows or known.joined)
