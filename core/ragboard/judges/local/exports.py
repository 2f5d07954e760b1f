"""Run the ONNX export of a model by onnxruntime."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ragboard.errors import JudgeError
from ragboard.judges.local.models import Hardware, exported, line, loading_from

__all__ = ["Export", "load_export"]


class Export:
    """The ONNX export of a model, called as a model of transformers is.

    Raises JudgeError if onnxruntime cannot read it or has no such device, or if it is not a model of these outputs.
    """

    def __init__(self, path: Path, outputs: int, hardware: Hardware) -> None:
        runtime = import_module("onnxruntime")
        self.path = path
        self.device = import_module("torch").device("cpu")
        """Where its inputs are expected; onnxruntime copies them to a GPU itself."""
        provider, options = _provider(hardware.device, runtime.get_available_providers())
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads = hardware.threads or 0
        settings.log_severity_level = 3
        try:
            self.session = runtime.InferenceSession(str(path), settings, providers=[(provider, options)])
        except _errors() as error:
            raise JudgeError(f"{path}: onnxruntime cannot load it: {line(error)}") from error
        if provider not in self.session.get_providers():
            raise JudgeError(f"device {hardware.device}: onnxruntime cannot use it on this machine; use --device cpu")
        given = {one.name: one.shape for one in self.session.get_outputs()}
        size = (given.get("logits") or [0])[-1]
        if isinstance(size, int) and size != outputs:
            raise JudgeError(f"{path}: gives {given}; expected logits, of {outputs} outputs")
        self.inputs = [one.name for one in self.session.get_inputs()]

    def __call__(self, **inputs: Any) -> Any:
        """Return an object with `logits`, a tensor on the CPU."""
        try:
            found = self.session.run(["logits"], {name: inputs[name].numpy() for name in self.inputs})
        except KeyError as error:
            raise JudgeError(f"{self.path}: reads {error}, which the tokenizer beside it does not give") from error
        except _errors() as error:
            raise JudgeError(f"{self.path}: onnxruntime cannot run it: {line(error)}") from error
        return SimpleNamespace(logits=import_module("torch").from_numpy(found[0]))


def load_export(folder: Path, outputs: int, hardware: Hardware) -> tuple[Export, Any]:
    """Load the export in the folder of a model with this many outputs, and its tokenizer.

    Raises JudgeError in the same cases as `Export`, and if there is no export or the tokenizer cannot be loaded.
    """
    library = import_module("transformers")
    with loading_from(folder):
        config = library.AutoConfig.from_pretrained(str(folder), local_files_only=True)
        tokenizer = library.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    places = getattr(config, "max_position_embeddings", -1)
    if places > 0:
        tokenizer.model_max_length = min(tokenizer.model_max_length, places)
    return Export(exported(folder), outputs, hardware), tokenizer


def _provider(device: str | None, there: list[str]) -> tuple[str, dict[str, str]]:
    """Return what runs a model on the device, and its settings: the CPU unless another one is asked for."""
    kind, _, number = (device or "cpu").partition(":")
    if kind == "cpu":
        return "CPUExecutionProvider", {}
    if kind == "cuda" and "CUDAExecutionProvider" in there:
        return "CUDAExecutionProvider", {"device_id": number or "0"}
    hint = "; pip install onnxruntime-gpu in place of onnxruntime, or" if kind == "cuda" else ";"
    raise JudgeError(f"device {device}: onnxruntime finds none on this machine{hint} use --device cpu")


def _errors() -> tuple[type[Exception], ...]:
    """Return what onnxruntime raises: classes of its own, which have no base class in common."""
    own = vars(import_module("onnxruntime.capi.onnxruntime_pybind11_state")).values()
    return RuntimeError, ValueError, *(one for one in own if isinstance(one, type) and issubclass(one, Exception))
