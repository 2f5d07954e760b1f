"""Write output files atomically, without overwriting files (unless forced) or files of a store."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

from ragboard.errors import SettingError

__all__ = ["check_output", "write_atomically", "write_output"]

STORE_FILE = "ragboard.duckdb"
STORE_FILES = (STORE_FILE, "ragboard.lock", "answers.sqlite")
"""Start of the names of a store's files."""
STORE_FOLDERS = ("journals", "uploads", "staging")


def check_output(path: Path, *, force: bool = False) -> None:
    """Raise SettingError if the file exists (unless `force`) or belongs to a store."""
    if _belongs_to_store(path):
        raise SettingError(f"{path}: this file belongs to a store; choose another path")
    if os.path.isfile(path) and not force:  # noqa: PTH113 - False for a name that is too long
        raise SettingError(f"{path}: the file already exists; pass --force to overwrite it")


def write_output(path: Path, data: bytes, *, force: bool = False) -> None:
    """Write a file. Raises SettingError in the same cases as `check_output`, and if writing fails."""
    check_output(path, force=force)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a pipe or a device
        else:
            write_atomically(path.resolve(), data)
    except OSError as error:
        raise SettingError(f"{path}: cannot write: {error.strerror or error}") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name and rename it, so that nobody reads an incomplete file."""
    temporary = path.with_name(f".{uuid4().hex}.part")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _belongs_to_store(path: Path) -> bool:
    """Return whether the path is a file of a store in one of its parent folders."""
    resolved = path.resolve()
    for folder in resolved.parents:
        if os.path.exists(folder / STORE_FILE):  # noqa: PTH110 - False for a folder without read permission
            name = resolved.relative_to(folder).parts[0].casefold()
            if name in STORE_FOLDERS or name.startswith(STORE_FILES):
                return True
    return False
