"""Unpack a file in gzip, Zstandard or zip, with a limit on the unpacked size."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

from ragboard.errors import RunFileError
from ragboard.readers.cells import QUESTION_KEYS
from ragboard.readers.files import KINDS, MAX_ROW, PROTOBUF, TOOL_FILE_SIGNATURES, is_folder, open_file, parse

__all__ = [
    "MAX_UNPACKED",
    "copy_bounded",
    "ending_of",
    "expansion_limit",
    "packed_name",
    "shown_as",
    "stem_of",
    "unpacked",
]

MIN_LIMIT = 256 * 2**20
"""The size limit, in bytes, for the content of a very small packed file."""
EXPANSION = 100
"""Bytes by which each byte of the packed file raises the limit."""
MAX_UNPACKED = 4 * 2**30
"""Maximum size of any unpacked or downloaded file, in bytes."""

PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "zip"}
"""Kinds of packed files, by their first bytes."""
PACKED_ENDINGS = (".gz", ".gzip", ".zst", ".zstd", ".zip")
UNREADABLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError)
"""Errors that unpacking raises for a damaged or encrypted file."""


def expansion_limit(size: int) -> int:
    """Return the maximum size of the unpacked content of a file of this size, in bytes."""
    return min(MIN_LIMIT + EXPANSION * size, MAX_UNPACKED)


def packed_name(name: str) -> str:
    """Return a file name without the extension of the packed format: `answers.jsonl` for `answers.jsonl.gz`."""
    path = Path(name)
    return path.stem if path.suffix.lower() in PACKED_ENDINGS else name


def stem_of(path: Path) -> str:
    """Return a file name without its extensions: `answers` for `answers.jsonl.gz`. A folder keeps its whole name."""
    return path.resolve().name if is_folder(path) else Path(packed_name(path.name)).stem


@contextmanager
def unpacked(path: Path) -> Generator[Path]:
    """Yield the path of the unpacked file. A file that is not packed is yielded unchanged.

    The content of a gzip, Zstandard or zip file (with one file in it) is saved in a temporary file. Raises RunFileError
    if the file is damaged or its content too large. Errors raised in the block name the packed file.
    """
    with open_file(path) as file:
        start = file.read(4)
    packing = next((name for sign, name in PACKED.items() if start.startswith(sign)), "")
    member = _only_member(path) if packing == "zip" else None
    if not packing or (packing == "zip" and member is None):
        yield path
        return
    inner_name = member.filename if member else packed_name(path.name)
    with TemporaryDirectory(prefix="ragboard-", ignore_cleanup_errors=True) as folder, shown_as(path):
        content = Path(folder) / "content"
        limit = expansion_limit(path.stat().st_size)
        try:
            with _unpacking(path, packing, member) as source, content.open("wb") as target:
                is_complete = copy_bounded(source, target, limit)
        except UNREADABLE as error:
            raise RunFileError(path, f"cannot be unpacked as {packing} ({error})") from error
        if not is_complete:
            size = f"{path.stat().st_size:,} bytes but unpacks to more than {limit // 2**20:,} MiB"
            raise RunFileError(path, f"has {size}; unpack it before the import, or remove data that you do not need")
        yield content.rename(content.with_name(f"content{ending_of(content, inner_name)}"))


@contextmanager
def _unpacking(path: Path, packing: str, member: zipfile.ZipInfo | None) -> Generator[IO[bytes]]:
    """Yield the content of a packed file as a stream."""
    if member:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            yield file
    elif packing == "gzip":
        with gzip.open(path) as file:
            yield cast("IO[bytes]", file)
    else:
        import pyarrow as pa

        with pa.input_stream(str(path), compression="zstd") as file:
            yield file


def _only_member(path: Path) -> zipfile.ZipInfo | None:
    """Return the only file in a zip archive, ignoring files that macOS adds.

    None if there are several files, or the archive is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            members = [info for info in infos if not info.is_dir() and "__MACOSX/" not in info.filename]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None
    return members[0] if len(members) == 1 else None


def copy_bounded(source: IO[bytes], target: IO[bytes], limit: int) -> bool:
    """Copy a stream; stop at `limit` bytes. Returns whether the whole stream was copied."""
    size = 0
    while block := source.read(2**20):
        size += len(block)
        if size > limit:
            return False
        target.write(block)
    return True


def ending_of(path: Path, name: str) -> str:
    """Return the extension of the name if it is known, else an extension that fits the content.

    Empty for packed and SQLite files, which are recognised by their first bytes.
    """
    extension = Path(name).suffix.lower()
    if extension in KINDS or extension in PROTOBUF:
        return extension
    with open_file(path) as file:
        first = file.readline(MAX_ROW)
        while first and not first.strip():
            first = file.readline(MAX_ROW)
        more = bool(file.read(MAX_ROW).strip())
    if first.startswith(b"PAR1"):
        return ".parquet"
    if first.startswith((*PACKED, *TOOL_FILE_SIGNATURES)):
        return ""
    text = first.decode("utf-16" if first[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", errors="replace").strip()
    if not text.startswith(("{", "[")):
        return ".tsv" if "\t" in text and "," not in text else ".csv"
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return ".json"
    single = isinstance(value, dict) and any(isinstance(value.get(key), str) for key in QUESTION_KEYS)
    return ".jsonl" if isinstance(value, dict) and (more or single) else ".json"


@contextmanager
def shown_as(shown: object) -> Generator[None]:
    """Make errors in the block name `shown` instead of the file that is read."""
    try:
        yield
    except RunFileError as error:
        raise RunFileError(shown, error.message, line=error.line, field=error.field, remedy=error.remedy) from error
