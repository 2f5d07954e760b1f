"""Sources of run files: a path, a URL to download, or a stream such as standard input."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from ragboard.errors import RunFileError
from ragboard.readers.cells import storable
from ragboard.readers.files import KINDS
from ragboard.readers.packed import MAX_UNPACKED, copy_bounded, ending_of, packed_name, shown_as
from ragboard.readers.report import ReadResult

__all__ = ["FileSource", "Source", "is_address", "opened"]

FileSource: TypeAlias = "Path | str | BinaryIO | Sequence[Path]"
"""A path, a URL (`https://...`, `s3://...`), a stream of bytes, or the paths of the parts of one file."""

SCHEMES = ("http://", "https://", "s3://")
STREAM = "stdin"
ADDRESS = re.compile(r"\w+://[^\s'\"]+")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A local file to read, and its name in messages and the report."""

    path: Path
    shown: str = ""
    """Name in messages. Empty if the source is a path: messages then show the path."""
    parts: tuple[Path, ...] = ()
    """The files to read if the source is several files. `path` is then only a name for messages."""

    def with_source_name(self, result: ReadResult) -> ReadResult:
        """Return the result with the name of the source in its runs and report."""
        if not self.shown:
            return result
        runs = tuple(replace(run, source=storable(self.shown)) for run in result.runs)
        return ReadResult(runs=runs, report=replace(result.report, path=storable(self.shown)))


def is_address(source: object) -> bool:
    """Return whether a source is a URL that can be downloaded."""
    return isinstance(source, str) and source.lower().startswith(SCHEMES)


@contextmanager
def opened(source: FileSource) -> Generator[Source]:
    """Yield the file of a source. Downloads and streams are saved in a temporary folder.

    Raises RunFileError if a download fails or is too large. Errors raised inside the `with` block mention the source.
    """
    if isinstance(source, Path) or (isinstance(source, str) and not is_address(source)):
        yield Source(path=Path(source))
        return
    if isinstance(source, Sequence) and not isinstance(source, str):
        yield Source(path=Path(f"{source[0].name} to {source[-1].name}"), parts=tuple(source))
        return
    if isinstance(source, str):
        parts = urlsplit(source)
        host = parts.netloc.rpartition("@")[2]
        shown = f"{parts.scheme}://{host}{parts.path}"  # the rest of the URL may be a password or a key
        name = PurePosixPath(unquote(parts.path)).name.replace("\\", "_") or parts.hostname or "download"
    else:
        shown = name = STREAM
    with TemporaryDirectory(prefix="ragboard-", ignore_cleanup_errors=True) as folder, shown_as(shown):
        path = Path(folder) / name[-100:].replace("\0", "_")
        with path.open("wb") as target:
            is_complete = (
                _download(source, shown, target)
                if isinstance(source, str)
                else copy_bounded(source, target, MAX_UNPACKED)
            )
        if not is_complete:
            raise RunFileError(shown, f"is larger than {MAX_UNPACKED // 2**30} GiB")
        if Path(packed_name(path.name)).suffix.lower() not in KINDS:
            path = path.rename(path.with_name(f"{path.stem}{ending_of(path, path.name)}"))
        yield Source(path=path, shown=shown)


def _download(address: str, shown: str, target: BinaryIO) -> bool:
    """Download a file. Returns False if it is too large.

    Raises RunFileError if a package is missing, or if the server returns an error.
    """
    if "::" in address:
        raise RunFileError(shown, "has several URLs; expected one")
    try:
        import fsspec

        options: dict[str, Any] = {} if address.lower().startswith("s3://") else {"block_size": 0}  # one HTTP request
        with fsspec.open(address, "rb", expand=False, **options) as source:
            return copy_bounded(cast("BinaryIO", source), target, MAX_UNPACKED)
    except ImportError as error:
        raise RunFileError(shown, "is a URL; to read URLs, run: pip install 'ragboard[remote]'") from error
    except Exception as error:
        cause: BaseException = error
        while isinstance(cause, FileNotFoundError) and cause.__cause__:  # fsspec raises it for connection errors too
            cause = cause.__cause__
        if isinstance(cause, FileNotFoundError):
            raise RunFileError(shown, "no such file") from error
        reason = " ".join(ADDRESS.sub(shown, str(cause)).split())[:200] or type(cause).__name__
        raise RunFileError(shown, f"cannot be downloaded ({reason})") from error
