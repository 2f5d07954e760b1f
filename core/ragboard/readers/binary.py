"""Read the rows of Parquet, Arrow and Excel files, within a memory limit."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ragboard.errors import RunFileError
from ragboard.readers.packed import expansion_limit

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

__all__ = ["arrow_rows", "parquet_rows", "sheet_rows"]

BATCH_ROWS = 1024
"""Number of rows that are read at a time."""
BYTES_PER_VALUE = 64
"""Approximate memory of a value in bytes, without its text."""
UNREADABLE = (OSError, ValueError, OverflowError, KeyError, NotImplementedError)
"""Errors, in addition to `ArrowException`, that pyarrow raises for a damaged file."""


def parquet_rows(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and rows of a Parquet file. Raises RunFileError if it is damaged or needs too much memory."""
    import pyarrow as pa

    try:
        return _parquet_rows(path)
    except (pa.ArrowException, *UNREADABLE) as error:
        reason = " ".join(str(error).split())[:200]
        raise RunFileError(path, f"not readable as Parquet ({reason})") from error


def _parquet_rows(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Do the work of `parquet_rows`, but let the errors of pyarrow through."""
    import pyarrow.parquet as pq

    size = path.stat().st_size
    limit = expansion_limit(size)
    with pq.ParquetFile(path) as file:
        columns = [file.metadata.schema.column(index) for index in range(file.metadata.num_columns)]
        _check_memory(path, _declared_memory(file), size, limit)
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    rows: list[dict[str, Any]] = []
    memory = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            memory += sum(_size(column) for column in batch.columns)
            _check_memory(path, memory, size, limit)
            rows.extend(batch.to_pylist())
        return list(file.schema_arrow.names), rows


def arrow_rows(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and rows of an Arrow stream or file, the format of Hugging Face datasets.

    Raises RunFileError if it is damaged or compressed, or needs too much memory.
    """
    import pyarrow as pa

    size = path.stat().st_size
    limit = expansion_limit(size)
    rows: list[dict[str, Any]] = []
    memory = 0
    try:
        with pa.memory_map(str(path)) as source:
            file = source.read(6) == b"ARROW1"
            source.seek(8 if file else 0)
            for message in pa.ipc.MessageReader.open_stream(source):
                if message.type != "schema" and _is_compressed(message.metadata.to_pybytes(), message.type):
                    raise RunFileError(path, "is a compressed Arrow file; write it as Parquet, or without compression")
            source.seek(0)
            reader = pa.ipc.open_file(source) if file else pa.ipc.open_stream(source)
            batches = (reader.get_batch(at) for at in range(reader.num_record_batches)) if file else reader
            for batch in batches:
                memory += sum(_size(column) for column in batch.columns)
                _check_memory(path, memory, size, limit)
                rows.extend(batch.to_pylist())
            return list(reader.schema.names), rows
    except (pa.ArrowException, *UNREADABLE) as error:
        reason = " ".join(str(error).split())[:200]
        raise RunFileError(path, f"not readable as Arrow ({reason})") from error


def _is_compressed(metadata: bytes, kind: str) -> bool:
    """Return whether an Arrow message is compressed, and may need much more memory than its size in the file.

    Reads the flatbuffer of the message: `compression` is the fourth field of the `RecordBatch` in `Message.header` (for
    a dictionary, in the header's `data`).
    """

    def number(at: int, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(metadata[at : at + size], "little", signed=signed)

    def field(table: int, index: int) -> int:
        vtable = table - number(table, 4, signed=True)
        offset = number(vtable + 4 + 2 * index, 2) if 4 + 2 * index < number(vtable, 2) else 0
        return table + offset if offset else 0

    def target(at: int) -> int:
        return at + number(at, 4)

    batch = target(field(target(0), 2))
    return field(target(field(batch, 1)) if kind == "dictionary" else batch, 3) != 0


def sheet_rows(path: Path, sheet: str | None) -> tuple[str, list[str], list[tuple[int, Sequence[Any]]]]:
    """Return the name of the chosen sheet, the names of all sheets, and the non-empty rows with their numbers."""
    import openpyxl

    size = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            _check_memory(path, sum(member.file_size for member in archive.infolist()), size, expansion_limit(size))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about styles and extensions, which are not read
            book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
            with closing(book):
                titles = [worksheet.title for worksheet in book.worksheets]
                chosen = book.worksheets[_sheet_number(path, sheet, titles)]
                chosen.reset_dimensions()  # the size that the file states may be wrong
                lines = [
                    (number, cast("Sequence[Any]", row))
                    for number, row in enumerate(chosen.iter_rows(values_only=True), 1)
                    if any(cell is not None and str(cell).strip() for cell in row)
                ]
                return chosen.title, titles, lines
    except RunFileError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise RunFileError(path, f"not readable as Excel ({reason})") from error


def _sheet_number(path: Path, sheet: str | None, titles: Sequence[str]) -> int:
    if not titles:
        raise RunFileError(path, "has no worksheet")
    if sheet is None:
        return 0
    if sheet not in titles:
        raise RunFileError(path, f"has no sheet {sheet!r}; it has {', '.join(titles)[:200]}")
    return titles.index(sheet)


def _check_memory(path: Path, needed: int, size: int, limit: int) -> None:
    if needed > limit:
        raise RunFileError(
            path,
            f"has {size:,} bytes but needs more than {limit // 2**20:,} MiB of memory; save it as JSONL,"
            " or remove columns that you do not need",
        )


def _declared_memory(file: ParquetFile) -> int:
    """Return the minimum memory of the values in bytes, computed from the metadata of the file."""
    groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
    chunks = [group.column(index) for group in groups for index in range(group.num_columns)]
    values = sum(int(chunk.num_values) for chunk in chunks) + int(file.metadata.num_rows)
    return BYTES_PER_VALUE * values + sum(int(chunk.total_uncompressed_size) for chunk in chunks)


def _size(array: Any) -> int:
    """Return the memory, in bytes, that the values of an array need as Python objects."""
    import pyarrow as pa

    size = BYTES_PER_VALUE * len(array)
    if isinstance(array, pa.DictionaryArray):
        return size + _size_of_texts(array)
    if isinstance(array, pa.StructArray):
        return size + sum(_size(inner) for inner in array.flatten())
    if isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return size + _size(array.flatten())
    return size + int(array.nbytes)


def _size_of_texts(array: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute

    compute: Any = pyarrow.compute
    kind = array.type.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)):
        return 0
    lengths = compute.binary_length(array.dictionary).take(array.indices)
    return int(compute.sum(lengths).as_py() or 0)
