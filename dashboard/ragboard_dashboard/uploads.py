"""Files that a person drops on a page, kept on disk for the readers."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path, PurePosixPath

from streamlit.runtime.uploaded_file_manager import UploadedFile

from ragboard_dashboard.data import store

__all__ = ["kept_upload", "without_folder"]


def kept_upload(file: UploadedFile) -> Path:
    """The upload on disk, in a folder named by its content, under its own name."""
    content = file.getvalue()
    path = _folder() / blake2b(content, digest_size=6).hexdigest() / PurePosixPath(file.name.replace("\\", "/")).name
    if not path.exists():
        store().require_writable()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path


def without_folder(message: str) -> str:
    """A message about an upload without the folder that it is kept in."""
    return message.replace(str(_folder()), "").lstrip("/\\")


def _folder() -> Path:
    return store().folder / "uploads"
