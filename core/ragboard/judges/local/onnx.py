"""Run the ONNX export of a model with onnxruntime."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ragboard.errors import JudgeError
from ragboard.judges.local.models import Hardware, loading_from, one_line, onnx_export

__all__ = ["OnnxModel", "load_onnx_model"]


class OnnxModel:
    """The ONNX export of a model. It is called like a model of transformers.

    Raises JudgeError if onnxruntime cannot load it, if the device is missing, or if it does not have `outputs` outputs.
    """

    def __init__(self, path: Path, outputs: int, hardware: Hardware) -> None:
        runtime = import_module("onnxruntime")
        self.path = path
        self.device = import_module("torch").device("cpu")
        """The device of its inputs: always the CPU, because onnxruntime copies them to the GPU."""
        provider, options = _provider(hardware.device, runtime.get_available_providers())
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads = hardware.threads or 0
        settings.log_severity_level = 3
        try:
            self.session = runtime.InferenceSession(str(path), settings, providers=[(provider, options)])
        except _errors() as error:
            raise JudgeError(f"{path}: onnxruntime cannot load it: {one_line(error)}") from error
        if provider not in self.session.get_providers():
            raise JudgeError(f"device {hardware.device}: onnxruntime cannot use this device; use --device cpu")
        shapes = {output.name: output.shape for output in self.session.get_outputs()}
        size = (shapes.get("logits") or [0])[-1]
        if isinstance(size, int) and size != outputs:
            raise JudgeError(f"{path}: its outputs are {shapes}; expected logits with {outputs} values")
        self.inputs = [node.name for node in self.session.get_inputs()]

    def __call__(self, **inputs: Any) -> Any:
        """Run the model. Return an object with `logits`, a tensor on the CPU."""
        try:
            outputs = self.session.run(["logits"], {name: inputs[name].numpy() for name in self.inputs})
        except KeyError as error:
            raise JudgeError(f"{self.path}: needs the input {error}, which its tokenizer does not give") from error
        except _errors() as error:
            raise JudgeError(f"{self.path}: onnxruntime cannot run it: {one_line(error)}") from error
        return SimpleNamespace(logits=import_module("torch").from_numpy(outputs[0]))


def load_onnx_model(folder: Path, outputs: int, hardware: Hardware) -> tuple[OnnxModel, Any]:
    """Load the ONNX export and the tokenizer in a model's folder. The export must have `outputs` outputs.

    Raises JudgeError as `OnnxModel` does, and if there is no export or the tokenizer cannot be loaded.
    """
    library = import_module("transformers")
    with loading_from(folder):
        config = library.AutoConfig.from_pretrained(str(folder), local_files_only=True)
        tokenizer = library.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    max_length = getattr(config, "max_position_embeddings", -1)
    if max_length > 0:
        tokenizer.model_max_length = min(tokenizer.model_max_length, max_length)
    return OnnxModel(onnx_export(folder), outputs, hardware), tokenizer


def _provider(device: str | None, available: list[str]) -> tuple[str, dict[str, str]]:
    """Return onnxruntime's provider for the device and its options; for None, those for the CPU."""
    kind, _, number = (device or "cpu").partition(":")
    if kind == "cpu":
        return "CPUExecutionProvider", {}
    if kind == "cuda" and "CUDAExecutionProvider" in available:
        return "CUDAExecutionProvider", {"device_id": number or "0"}
    hint = "; pip install onnxruntime-gpu in place of onnxruntime, or" if kind == "cuda" else ";"
    raise JudgeError(f"device {device}: onnxruntime finds no such device on this machine{hint} use --device cpu")


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that onnxruntime raises. They have no common base class."""
    members = vars(import_module("onnxruntime.capi.onnxruntime_pybind11_state")).values()
    library_errors = (member for member in members if isinstance(member, type) and issubclass(member, Exception))
    return RuntimeError, ValueError, *library_errors
