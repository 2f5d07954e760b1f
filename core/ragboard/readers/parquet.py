"""Rows of a Parquet file, read in batches, and refused before they take more memory than such a file should."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragboard.errors import RunFileError

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

__all__ = ["read_parquet"]

BATCH = 1024
VALUE = 64
"""About what a value takes in memory, besides its text."""
ALLOWED = 256 * 2**20
EXPANSION = 100
"""Texts that repeat, and zeros, take almost no room in a file: so many times its size is more than honest ones need."""
LARGEST = 4 * 2**30


def read_parquet(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the columns, and the rows. Raises RunFileError where they are too large, pyarrow's own errors."""
    import pyarrow.parquet as pq

    size = path.stat().st_size
    limit = min(ALLOWED + EXPANSION * size, LARGEST)
    with pq.ParquetFile(path) as file:
        columns = [file.metadata.schema.column(place) for place in range(file.metadata.num_columns)]
        _check(path, _declared(file), size, limit)
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    rows: list[dict[str, Any]] = []
    taken = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(BATCH):
            taken += sum(_size(column) for column in batch.columns)
            _check(path, taken, size, limit)
            rows.extend(batch.to_pylist())
        return list(file.schema_arrow.names), rows


def _check(path: Path, needed: int, size: int, limit: int) -> None:
    if needed > limit:
        raise RunFileError(
            path,
            f"has {size:,} bytes but takes more than {limit // 2**20:,} MiB when it is read; write it as JSONL,"
            " or leave out the columns that are not needed",
        )


def _declared(file: ParquetFile) -> int:
    """What the file's own table of contents says that its values take, at the least."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    values = sum(int(chunk.num_values) for chunk in chunks) + int(file.metadata.num_rows)
    return VALUE * values + sum(int(chunk.total_uncompressed_size) for chunk in chunks)


def _size(array: Any) -> int:
    """What the values of an array take as Python objects; a text that they share is counted each time."""
    import pyarrow as pa

    own = VALUE * len(array)
    if isinstance(array, pa.DictionaryArray):
        return own + _size_of_texts(array)
    if isinstance(array, pa.StructArray):
        return own + sum(_size(inner) for inner in array.flatten())
    if isinstance(array, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return own + _size(array.flatten())
    return own + int(array.nbytes)


def _size_of_texts(array: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute

    compute: Any = pyarrow.compute
    kind = array.type.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)):
        return 0
    lengths = compute.binary_length(array.dictionary).take(array.indices)
    return int(compute.sum(lengths).as_py() or 0)
