"""The judges that the user chose, by role, and the settings of their models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ragboard.judges.secrets import is_credential
from ragboard.records import JsonValue

__all__ = ["JudgeOptions", "command_options", "options_from_json", "options_to_json"]


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Names of judges by role, and settings of models. API keys are in the environment instead."""

    judge: str = "embedded"
    """The judge for every role that has no judge of its own below."""
    extract: str | None = None
    """Splits texts into statements."""
    verify: str | None = None
    """Checks statements against passages and texts."""
    embed: str | None = None
    """Compares texts in meaning."""
    parameters: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Parameters for every chat model: `reasoning_effort`, `max_completion_tokens`, `temperature`."""
    prompts: Path | None = None
    """A folder with files that replace the package's prompts."""
    examples: Path | None = None
    """A tab-separated file in ARES's format; its labelled rows are few-shot examples for `Classify`."""
    base_url: str | None = None
    """URL of the model server; None: `OPENAI_BASE_URL`, or OpenAI if that is not set."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """HTTP headers of every request. Secret headers (`Authorization`, `x-api-key`) are never stored."""
    redact: tuple[str, ...] = ()
    """Regular expressions. Text that they match is masked before it is sent to a model server."""
    concurrency: int = 32
    """Maximum number of concurrent requests, over all models."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 120.0
    """Seconds per request. A request that takes longer is cancelled and sent again."""
    batch: bool = False
    """Send the requests of an evaluation in batches, which cost less and are answered within a day."""
    batch_interval: float = 60.0
    """Maximum seconds between two checks whether a batch has finished."""
    device: str | None = None
    """The device of local models: `cuda`, `cuda:1`, `mps` or `cpu`; None: a GPU if there is one."""
    threads: int | None = None
    """CPU threads of local models; None: the default of torch or onnxruntime."""
    backend: str = "torch"
    """Runtime of local models that verify statements: `torch`, or `onnx` for their ONNX export."""


_JSON_NAMES = {"timeout": "deadline"}
"""The names in JSON of fields that were renamed."""
_FILES = ("prompts", "examples")
"""The fields with a path."""
_JSON_TYPES: Mapping[str, Any] = (
    dict.fromkeys(("judge", "extract", "verify", "embed", "base_url", "device", "backend", *_FILES), str | None)
    | dict.fromkeys(
        ("concurrency", "requests_per_minute", "tokens_per_minute", "timeout", "batch_interval", "threads"),
        int | float | None,
    )
    | {"parameters": dict, "headers": dict, "redact": list, "batch": bool}
)
"""The type of each field in JSON."""


def options_to_json(options: JudgeOptions) -> dict[str, Any]:
    """Return the options as JSON data, without the secrets in the URL and the headers."""
    files = {name: str(path) if (path := getattr(options, name)) else None for name in _FILES}
    base_url = options.base_url and _without_secrets(options.base_url)
    headers = {name: value for name, value in options.headers.items() if not is_credential(name)}
    data: dict[str, Any] = asdict(options) | files | {"base_url": base_url}
    data |= {"headers": headers, "redact": list(options.redact)}
    return {
        _JSON_NAMES.get(name, name): value
        for name, value in data.items()
        if value or name not in ("headers", "redact", "batch")
    }


def options_from_json(data: Mapping[str, Any]) -> JudgeOptions:
    """Read options from the data of `options_to_json`. Raises TypeError for an unknown option or a wrong type."""
    field_names = {json_name: name for name, json_name in _JSON_NAMES.items()}
    values = {field_names.get(name, name): value for name, value in data.items()}
    for name, value in values.items():
        if not isinstance(value, _JSON_TYPES.get(name, object)) or (name == "judge" and value is None):
            raise TypeError(f"{name} is {value!r}")
    files = {name: Path(path) if (path := values.get(name)) else None for name in _FILES}
    options: dict[str, Any] = {**values, **files, "redact": tuple(values.get("redact", ()))}
    return JudgeOptions(**options)


def command_options(options: JudgeOptions) -> Iterator[tuple[str, ...]]:
    """Yield the command-line options that select these judges, each with its value if it takes one.

    Options with their default value are left out, except `--judge`. Secret headers and `base_url`, whose query can
    contain a key, are left out too, because other users of the machine can read the command line.
    """
    default = JudgeOptions()
    yield "--judge", options.judge
    for key, parameter in options.parameters.items():
        yield "--judge-param", f"{key}={json.dumps(parameter)}"
    for header, content in options.headers.items():
        if not is_credential(header):
            yield "--header", f"{header}={content}"
    for pattern in options.redact:  # `--redact @FILE` names a file, `--redact @@X` is the pattern `@X`
        yield "--redact", f"@{pattern}" if pattern.startswith("@") else pattern
    for name in (option.name for option in fields(JudgeOptions)):
        value = getattr(options, name)
        if name not in ("judge", "parameters", "headers", "redact", "base_url") and value != getattr(default, name):
            option = (f"--{name.replace('_', '-')}", str(value))
            yield option[:1] if value is True else option


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    parameters = parse_qsl(parts.query, keep_blank_values=True)
    public = [(name, value) for name, value in parameters if not is_credential(name)]
    query = parts.query if public == parameters else urlencode(public)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))
