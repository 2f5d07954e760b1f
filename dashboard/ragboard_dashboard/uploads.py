"""Files that a person drops on a page, kept on disk for the readers."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from uuid import uuid4

from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard_dashboard.data import store

__all__ = ["kept_upload", "without_folder"]

LONGEST, ENDING = 150, 20
"""Bytes of a name, and signs of its ending: file systems take 255 bytes, where other systems count signs instead."""


def kept_upload(file: UploadedFile) -> Path:
    """The upload on disk, in a folder named by its content, under its own name."""
    content = file.getvalue()
    path = _folder() / blake2b(content, digest_size=6).hexdigest() / _name(file.name)
    if not path.exists():
        store().require_writable()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{uuid4().hex}.part")
        part.write_bytes(content)
        part.replace(path)  # whole or not at all: what is there is not written again
    return path


def _name(given: str) -> str:
    """The name of an uploaded file, without folders and no longer than a file's may be."""
    path = PurePosixPath(given.replace("\\", "/").replace("\0", ""))
    return f"{path.stem.encode()[:LONGEST].decode(errors='ignore')}{path.suffix[:ENDING]}"


def without_folder(message: str) -> str:
    """A message about an upload without the folder that it is kept in."""
    return re.sub(rf"{re.escape(str(_folder()))}[/\\][0-9a-f]{{12}}[/\\]", "", message)


def _folder() -> Path:
    return store().folder / "uploads"
