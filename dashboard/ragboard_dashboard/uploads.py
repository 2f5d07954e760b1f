"""Files that a person drops on a page: a temporary file for the readers, kept only with what is imported from it."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, gettempdir

from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard.errors import StoreError
from ragboard_dashboard.data import store

__all__ = ["uploaded", "without_folder"]

PREFIX = "ragboard-upload-"
LONGEST, ENDING = 150, 20
"""Bytes of a name, and signs of its ending: file systems take 255 bytes, where other systems count signs instead."""


@contextmanager
def uploaded(file: UploadedFile) -> Generator[Path]:
    """The upload under its own name in a folder of its own, which is deleted at the end of the block."""
    store().require_writable()
    with TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
        path = Path(folder) / _name(file.name)
        try:
            path.write_bytes(file.getvalue())
        except OSError as error:
            raise StoreError(f"{path.name}: cannot be read here: {error.strerror or error}") from error
        yield path


def _name(given: str) -> str:
    """The name of an uploaded file, without folders and no longer than a file's may be."""
    path = PurePosixPath(given.replace("\\", "/").replace("\0", ""))
    return f"{path.stem.encode()[:LONGEST].decode(errors='ignore')}{path.suffix[:ENDING]}"


def without_folder(message: str) -> str:
    """A message about an upload without the folder that it is read in."""
    return re.sub(rf"{re.escape(gettempdir())}[/\\]{PREFIX}[^/\\]*[/\\]", "", message)
