"""Find and load the files of local models."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

from ragboard.errors import JudgeError, SettingError

__all__ = [
    "ANY_HARDWARE",
    "Hardware",
    "digest",
    "is_downloaded",
    "load",
    "load_layers",
    "load_parts",
    "loading_from",
    "model_folder",
    "one_line",
    "onnx_export",
    "read_json",
    "replace_surrogates",
    "running_on",
]

SERVER_TIMEOUT = 5.0
"""Seconds to wait for a response of Hugging Face before a download."""

_MODEL_FILES = frozenset({".bin", ".json", ".model", ".safetensors", ".txt"})
"""File extensions of a model's weights, settings and vocabulary."""

_WEIGHTS = frozenset({".bin", ".safetensors"})

_EXPORTS = ("onnx/model.onnx", "model.onnx")
"""Possible paths of a model's ONNX export. Files with large weights have longer names that begin with this path."""

_WEIGHTS_ONLY_VARIABLE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
"""The environment variable that makes torch load only weights and no pickled code, whatever a model's settings say."""
_NO_EXPORT = f"has no ONNX export ({' or '.join(_EXPORTS)}); use --backend torch"

_loading = Lock()
"""Held while the environment variable is changed."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_DOWNLOADS: Mapping[str, Mapping[str, list[str]]] = {
    "torch": {"ignore_patterns": ["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack"]},
    "onnx": {
        "allow_patterns": ["*.json", "*.txt", "*.model", *(f"{export}*" for export in _EXPORTS)],
        "ignore_patterns": ["*/*.json", "*/*.txt", "*/*.model"],
    },
}
"""Patterns of the files that are downloaded for each backend."""


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """The device, threads and runtime of local models."""

    device: str | None = None
    """`cuda`, `cuda:1`, `mps` or `cpu`; None: a GPU if there is one."""
    threads: int | None = None
    """CPU threads; None: the default of torch or onnxruntime."""
    backend: str = "torch"
    """The runtime of models that verify statements: `torch`, or `onnx` for their ONNX export. Embedders use torch."""

    def __post_init__(self) -> None:
        """Raise SettingError for an invalid device, number of threads or backend."""
        if self.device is not None and not re.fullmatch(r"cpu|mps|cuda(:[0-9]+)?", self.device):
            raise SettingError(f"no device is called {self.device!r}; use cpu, cuda, cuda:NUMBER or mps")
        if self.threads is not None and self.threads < 1:
            raise SettingError(f"threads is {self.threads}, expected at least 1")
        if self.backend not in _DOWNLOADS:
            raise SettingError(f"no backend is called {self.backend!r}; use {' or '.join(_DOWNLOADS)}")


ANY_HARDWARE = Hardware()


def model_folder(name: str, backend: str = "torch") -> Path:
    """Return the folder of a model. `name` is a folder, or a name on Hugging Face; the model is downloaded if needed.

    Raises SettingError if there is no such model, JudgeError if the model cannot be downloaded, or if
    sentence-transformers (for the backend onnx, also onnxruntime) is not installed.
    """
    if find_spec("sentence_transformers") is None:
        raise JudgeError(f"{name}: local models need sentence-transformers; pip install 'ragboard[local]'")
    if backend == "onnx" and find_spec("onnxruntime") is None:
        raise JudgeError(f"{name}: the backend onnx needs onnxruntime; pip install 'ragboard[onnx]'")
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    return _cached(name, backend) or _download(name, backend)


def is_downloaded(name: str) -> bool:
    """Return whether a model can be used without a download. False if sentence-transformers is not installed."""
    if find_spec("sentence_transformers") is None:
        return False
    return Path(name).expanduser().is_dir() or _cached(name) is not None


def _cached(name: str, backend: str = "torch") -> Path | None:
    hub = import_module("huggingface_hub")
    errors = import_module("huggingface_hub.errors")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True, **_DOWNLOADS[backend]))
    except errors.HFValidationError as error:
        raise SettingError(f"{name}: no such folder, and not a Hugging Face name; expected OWNER/MODEL") from error
    except errors.LocalEntryNotFoundError:
        return None


def _download(name: str, backend: str) -> Path:
    hub = import_module("huggingface_hub")
    errors = import_module("huggingface_hub.errors")
    absent = f"{name}: no such folder, and not in the Hugging Face cache"
    if "/" not in name:
        raise SettingError(f"{absent}; expected a folder or OWNER/MODEL")
    if hub.constants.HF_HUB_OFFLINE:
        raise JudgeError(
            f"{absent}; HF_HUB_OFFLINE is set, so nothing is downloaded; on a machine with a network, run"
            f" hf download {name} --local-dir FOLDER"
        )
    host = _check_reachable(hub.constants.ENDPOINT, absent)
    try:
        parts = hub.HfApi().model_info(name, files_metadata=True).siblings
        if backend == "onnx" and not any(part.rfilename in _EXPORTS for part in parts):
            raise JudgeError(f"{name}: {_NO_EXPORT}")
        wanted = hub.utils.filter_repo_objects(parts, **_DOWNLOADS[backend], key=lambda part: part.rfilename)
        sizes = [part.size or 0 for part in wanted]
        print(f"{name}: downloading {_gigabytes(sum(sizes))} from {host}, once", file=sys.stderr)
        return Path(hub.snapshot_download(name, **_DOWNLOADS[backend]))
    except errors.RepositoryNotFoundError as error:
        raise SettingError(f"{absent}; {host} has no public model of that name") from error
    except (OSError, errors.HTTPError) as error:
        raise JudgeError(f"{absent}; the download from {host} failed: {one_line(error)}") from error


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


def _check_reachable(address: str, absent: str) -> str:
    """Return the host of the address. Raises JudgeError if it does not respond."""
    host = urlsplit(address).hostname or address
    try:
        with build_opener().open(Request(address, method="HEAD"), timeout=SERVER_TIMEOUT):  # noqa: S310 - the user's choice
            return host
    except HTTPError:
        return host
    except (OSError, HTTPException, ValueError) as error:
        raise JudgeError(
            f"{absent}; {host} cannot be reached ({one_line(error)}); give a folder with the model"
        ) from error


def read_json(folder: Path, name: str, model_kind: str) -> Any:
    """Read the JSON file `name` of a model. Raises JudgeError if it is missing or not JSON."""
    try:
        return json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise JudgeError(f"{folder}: contains no {name}; expected the folder of {model_kind}") from error
    except (OSError, ValueError) as error:
        raise JudgeError(f"{folder / name}: cannot be read: {one_line(error)}") from error


def onnx_export(folder: Path) -> Path:
    """Return the ONNX export in the folder of a model. Raises JudgeError if there is none."""
    for name in _EXPORTS:
        if (folder / name).is_file():
            return folder / name
    raise JudgeError(f"{folder}: {_NO_EXPORT}")


def digest(folder: Path, parts: Iterable[str] = ("",), *, backend: str = "torch") -> str:
    """Return a digest of a model's files: 16 hexadecimal digits. `parts` are subfolders; "" is the folder itself.

    For the backend onnx, the digest covers the ONNX export instead of the weights. Raises JudgeError if there is no
    export.
    """
    files = [
        (part, path) for part in parts for path in sorted((folder / part).glob("*")) if path.suffix in _MODEL_FILES
    ]
    if backend == "onnx":
        export = onnx_export(folder)
        files = [(part, path) for part, path in files if path.suffix not in _WEIGHTS]
        files += [("onnx", path) for path in sorted(export.parent.glob(f"{export.name}*"))]
    total = hashlib.sha256()
    for part, path in files:
        if path.is_file():
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            total.update(f"{part}/{path.name} {content}\n".encode())
    return total.hexdigest()[:16]


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which tokenizers reject. The length stays the same."""
    return _SURROGATE.sub("\ufffd", text)


def load(kind: str, folder: Path, hardware: Hardware = ANY_HARDWARE, **settings: Any) -> Any:
    """Load a model with the sentence-transformers class `kind`. No code in its files is run.

    Raises JudgeError if the files are damaged, the library cannot load this kind of model, or the device is missing.
    """
    library = import_module("sentence_transformers")
    with loading_from(folder):
        return getattr(library, kind)(str(folder), device=_device(hardware), local_files_only=True, **settings)


def load_parts(kind: str, folder: Path, hardware: Hardware = ANY_HARDWARE) -> tuple[Any, Any]:
    """Load a model with the transformers class `kind`, and its tokenizer. Raises JudgeError as `load` does."""
    library = import_module("transformers")
    with loading_from(folder):
        model = getattr(library, kind).from_pretrained(str(folder), local_files_only=True)
        tokenizer = library.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        return model.to(_device(hardware)).eval(), tokenizer


def load_layers(folder: Path, layers: int, hardware: Hardware = ANY_HARDWARE) -> tuple[Any, Any]:
    """Load the first layers of an encoder, without a task head, and its tokenizer.

    Raises JudgeError as `load` does, and if weights are missing in the files.
    """
    library = import_module("transformers")
    logging = import_module("transformers.utils.logging")
    level = logging.get_verbosity()
    logging.set_verbosity_error()  # it would warn about the other layers
    try:
        with loading_from(folder):
            model, found = library.AutoModel.from_pretrained(
                str(folder), num_hidden_layers=layers, local_files_only=True, output_loading_info=True
            )
            tokenizer = library.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            model = model.to(_device(hardware)).eval()
    finally:
        logging.set_verbosity(level)
    missing = sorted(name for name in found["missing_keys"] if "pooler" not in name)
    if missing:
        raise JudgeError(f"{folder}: the weights of {missing[0]} are missing")
    return model, tokenizer


def _device(hardware: Hardware) -> str:
    torch = import_module("torch")
    if hardware.device is None:
        device: str = import_module("sentence_transformers.util").get_device_name()
        return device
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available[hardware.device.partition(":")[0]]:
        raise JudgeError(f"device {hardware.device}: torch finds no such device on this machine; use --device cpu")
    return hardware.device


@contextmanager
def running_on(hardware: Hardware) -> Generator[None]:
    """Context for running a model without gradients, with the threads of `hardware`."""
    torch = import_module("torch")
    if hardware.threads:
        torch.set_num_threads(hardware.threads)
    with torch.inference_mode():
        yield


@contextmanager
def loading_from(folder: Path) -> Generator[None]:
    """Context for loading a model, without progress bars and pickled code. Loading errors become JudgeError."""
    logging = import_module("transformers.utils.logging")
    safetensors_error = cast("type[Exception]", import_module("safetensors").SafetensorError)
    unpickling_error = cast("type[Exception]", import_module("pickle").UnpicklingError)
    shown: bool = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with _weights_only():
            yield
    except (
        OSError,
        ValueError,
        RuntimeError,
        TypeError,
        LookupError,
        ImportError,
        safetensors_error,
        unpickling_error,
    ) as error:
        if "trust_remote_code" in str(error):
            raise JudgeError(f"{folder}: the model contains Python code, which ragboard never runs") from error
        raise JudgeError(f"{folder}: the model cannot be loaded: {one_line(error)}") from error
    finally:
        if shown:
            logging.enable_progress_bar()


@contextmanager
def _weights_only() -> Generator[None]:
    """Context in which torch loads no pickled code, even if a model sets `weights_only: false`."""
    with _loading:
        before = os.environ.get(_WEIGHTS_ONLY_VARIABLE)
        os.environ[_WEIGHTS_ONLY_VARIABLE] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_WEIGHTS_ONLY_VARIABLE]
            else:
                os.environ[_WEIGHTS_ONLY_VARIABLE] = before


def one_line(error: BaseException) -> str:
    """Return the message of a library's error as one line of at most 300 characters."""
    return (" ".join(str(error).split()) or type(error).__name__)[:300]
