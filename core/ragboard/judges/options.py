"""Who is to judge, as a person says it: names, and what goes with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ragboard.judges.secrets import is_credential
from ragboard.records import JsonValue

__all__ = ["JudgeOptions", "options_from_json", "options_to_json"]


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Names of judges for the roles, and how models are asked. Holds no key: that is the environment's."""

    judge: str = "embedded"
    """Fills every role that none of the next three does."""
    extract: str | None = None
    """Splits texts into statements."""
    verify: str | None = None
    """Holds statements against passages and texts."""
    embed: str | None = None
    """Says how near two texts are."""
    parameters: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Sent to every chat model as they are: `reasoning_effort`, `max_completion_tokens`, `temperature`."""
    prompts: Path | None = None
    """A folder whose files stand in place of the package's prompts."""
    examples: Path | None = None
    """A tab-separated file of ARES whose labels chat models are shown when they say whether a quality holds."""
    base_url: str | None = None
    """Where the models are; else as the environment or OpenAI has it."""
    concurrency: int = 32
    """Requests under way at a time, to all models together."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    deadline: float = 120.0
    """Seconds for one request; one that takes longer is given up and sent again."""


_FILES = ("prompts", "examples")
_KINDS: Mapping[str, Any] = (
    dict.fromkeys(("judge", "extract", "verify", "embed", "base_url", *_FILES), str | None)
    | dict.fromkeys(("concurrency", "requests_per_minute", "tokens_per_minute", "deadline"), int | float | None)
    | {"parameters": dict}
)
"""What each option is in JSON."""


def options_to_json(options: JudgeOptions) -> dict[str, Any]:
    """The options as JSON-ready data to be kept; what is secret in the address is left out."""
    files = {name: str(path) if (path := getattr(options, name)) else None for name in _FILES}
    return asdict(options) | files | {"base_url": options.base_url and _without_secrets(options.base_url)}


def options_from_json(said: Mapping[str, Any]) -> JudgeOptions:
    """The options that were kept. Raises TypeError for what was not kept by `options_to_json`."""
    for name, given in said.items():
        if not isinstance(given, _KINDS.get(name, object)) or (name == "judge" and given is None):
            raise TypeError(f"{name} is {given!r}")
    files = {name: Path(path) if (path := said.get(name)) else None for name in _FILES}
    options: dict[str, Any] = {**said, **files}
    return JudgeOptions(**options)


def _without_secrets(address: str) -> str:
    parts = urlsplit(address)
    given = parse_qsl(parts.query, keep_blank_values=True)
    public = [(name, value) for name, value in given if not is_credential(name)]
    query = parts.query if public == given else urlencode(public)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))
