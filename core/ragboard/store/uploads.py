"""Uploaded files, each in a folder of what was imported from it: it goes when that goes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from ragboard.errors import StoreError

__all__ = ["drop_uploads", "keep_upload"]


def keep_upload(folder: Path, owners: Iterable[str], file: Path) -> None:
    """Keep a copy of a file for each owner; the copies share their content. Raises StoreError where they cannot be."""
    first: Path | None = None
    try:
        for owner in owners:
            kept = folder / owner / file.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            if first is None:
                first = _copied(file, kept)
            elif not kept.exists():
                _linked(first, kept)
    except OSError as error:
        raise StoreError(f"{file.name}: the file itself is not kept: {error.strerror or error}") from error


def drop_uploads(folder: Path, owners: Iterable[str]) -> None:
    """Delete the files of these owners."""
    for owner in owners:
        shutil.rmtree(folder / owner, ignore_errors=True)


def _copied(file: Path, to: Path) -> Path:
    part = to.with_name(f"{to.name}.part")
    try:
        shutil.copyfile(file, part)
        return part.replace(to)
    finally:
        part.unlink(missing_ok=True)


def _linked(first: Path, to: Path) -> None:
    try:
        os.link(first, to)
    except OSError:  # a file system without links
        _copied(first, to)
