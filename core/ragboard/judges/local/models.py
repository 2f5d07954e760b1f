"""Find and load the files of local models."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from http.client import HTTPException
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

from ragboard.errors import JudgeError

__all__ = ["digest", "load", "model_folder", "read_json", "readable"]

PATIENCE = 5.0
"""Seconds to wait for the server of models."""

_COUNTS = frozenset({".bin", ".json", ".model", ".safetensors", ".txt"})
"""Extensions of the files of a model: weights, settings, vocabulary."""

_NUMBERS_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
"""The variable that makes torch read weights only; it overrides the settings of a model."""
_loading = Lock()

_SURROGATE = re.compile("[\ud800-\udfff]")


def model_folder(name: str) -> Path:
    """Return the folder of a model: the path itself, else the Hugging Face cache, to which it is downloaded if needed.

    Raises JudgeError where sentence-transformers is not installed or the model cannot be had. Without a
    network, or with HF_HUB_OFFLINE set, it says so at once.
    """
    if find_spec("sentence_transformers") is None:
        raise JudgeError(f"{name}: local models need sentence-transformers; pip install 'ragboard[local]'")
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    return _cached(name) or _downloaded(name)


def _cached(name: str) -> Path | None:
    hub = import_module("huggingface_hub")
    errors = import_module("huggingface_hub.errors")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except errors.HFValidationError as error:
        raise JudgeError(f"{name}: no such folder, and no name on Hugging Face; expected OWNER/MODEL") from error
    except errors.LocalEntryNotFoundError:
        return None


def _downloaded(name: str) -> Path:
    hub = import_module("huggingface_hub")
    errors = import_module("huggingface_hub.errors")
    absent = f"{name}: no such folder, and not in the Hugging Face cache"
    if hub.constants.HF_HUB_OFFLINE:
        raise JudgeError(f"{absent}; nothing is downloaded while HF_HUB_OFFLINE is set")
    host = _reached(hub.constants.ENDPOINT, absent)
    try:
        return Path(
            hub.snapshot_download(name, ignore_patterns=["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack"])
        )
    except errors.RepositoryNotFoundError as error:
        raise JudgeError(f"{absent}; {host} has no model of that name, or a private one") from error
    except (OSError, errors.HTTPError) as error:
        raise JudgeError(f"{absent}; the download from {host} failed: {_line(error)}") from error


def _reached(address: str, absent: str) -> str:
    """Return the host of the address if it responds. Raises JudgeError if it does not."""
    host = urlsplit(address).hostname or address
    try:
        with build_opener().open(Request(address, method="HEAD"), timeout=PATIENCE):  # noqa: S310 - the user's choice
            return host
    except HTTPError:
        return host
    except (OSError, HTTPException, ValueError) as error:
        raise JudgeError(
            f"{absent}; {host} cannot be reached to download it ({_line(error)}); name a folder that holds the model"
        ) from error


def read_json(folder: Path, name: str, what: str) -> Any:
    """Read a JSON file of a model. Raises JudgeError if it is missing or not JSON."""
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise JudgeError(f"{folder}: holds no {name}; expected the folder of {what}") from error
    except (OSError, ValueError) as error:
        raise JudgeError(f"{folder / name}: cannot be read: {_line(error)}") from error


def digest(folder: Path, parts: Iterable[str] = ("",)) -> str:
    """Return a digest of the files of a model, in the folder and its subfolders given: 16 hexadecimal digits."""
    total = hashlib.sha256()
    for part in parts:
        for path in sorted((folder / part).glob("*")):
            if path.suffix in _COUNTS and path.is_file():
                with path.open("rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
                total.update(f"{part}/{path.name} {content}\n".encode())
    return total.hexdigest()[:16]


def readable(text: str) -> str:
    """Replace lone surrogates, which tokenizers reject; the length stays the same."""
    return _SURROGATE.sub("\ufffd", text)


def load(kind: str, folder: Path, **settings: Any) -> Any:
    """Load a model of this class of sentence-transformers, from local files and without running their code.

    Raises JudgeError where the files are damaged or of a kind that this version does not know.
    """
    library = import_module("sentence_transformers")
    logging = import_module("transformers.utils.logging")
    damaged = cast("type[Exception]", import_module("safetensors").SafetensorError)
    no_numbers = cast("type[Exception]", import_module("pickle").UnpicklingError)
    shown: bool = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with _numbers_only():
            return getattr(library, kind)(str(folder), local_files_only=True, **settings)
    except (OSError, ValueError, RuntimeError, TypeError, LookupError, ImportError, damaged, no_numbers) as error:
        raise JudgeError(f"{folder}: the model cannot be loaded: {_line(error)}") from error
    finally:
        if shown:
            logging.enable_progress_bar()


@contextmanager
def _numbers_only() -> Generator[None]:
    """Read only numbers from pickled weights; `weights_only: false` in a model's settings would run code."""
    with _loading:
        before = os.environ.get(_NUMBERS_ONLY)
        os.environ[_NUMBERS_ONLY] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_NUMBERS_ONLY]
            else:
                os.environ[_NUMBERS_ONLY] = before


def _line(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:300]
