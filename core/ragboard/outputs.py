"""Write output files atomically, without overwriting files (unless forced) or files of a store."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

from ragboard.errors import SettingError

__all__ = ["check_output", "write_output", "write_whole"]

STORE_FILE = "ragboard.duckdb"
STORE_FILES = (STORE_FILE, "ragboard.lock", "answers.sqlite")
"""Prefixes of a store's own files."""
STORE_FOLDERS = ("journals", "uploads", "staging")


def check_output(path: Path, *, force: bool = False) -> None:
    """Raise SettingError if the file exists (unless `force`) or belongs to a store."""
    if _of_store(path):
        raise SettingError(f"{path}: this file belongs to a store; write to another one")
    if os.path.isfile(path) and not force:  # noqa: PTH113 - False for a name that is too long
        raise SettingError(f"{path}: the file already exists; --force overwrites it")


def write_output(path: Path, data: bytes, *, force: bool = False) -> None:
    """Write a file. Raises SettingError in the same cases as `check_output`, and if it cannot be written."""
    check_output(path, force=force)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a pipe or a device
        else:
            write_whole(path.resolve(), data)
    except OSError as error:
        raise SettingError(f"{path}: cannot write: {error.strerror or error}") from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under a temporary name and rename it, so that no reader sees a part of it."""
    part = path.with_name(f".{uuid4().hex}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _of_store(path: Path) -> bool:
    """Return whether a store in any folder uses this name."""
    resolved = path.resolve()
    return any(
        os.path.exists(folder / STORE_FILE) and _is_ours(resolved.relative_to(folder).parts[0].casefold())  # noqa: PTH110 - False where nobody may look
        for folder in resolved.parents
    )


def _is_ours(name: str) -> bool:
    return name in STORE_FOLDERS or name.startswith(STORE_FILES)
