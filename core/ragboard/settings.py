"""Settings that users write: `key=value` pairs and files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from ragboard.errors import SettingError
from ragboard.records import JsonValue

__all__ = ["read_config_file", "read_pairs", "split_pair"]


def split_pair(text: str, *, expected: str = "KEY=VALUE") -> tuple[str, str]:
    """Split `key=value` into key and value. Raises SettingError for anything else."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingError(f"{text!r}: expected {expected}")
    return key.strip(), value.strip()


def read_pairs(pairs: Iterable[str]) -> dict[str, JsonValue]:
    """Read `key=value` pairs as a configuration. Values that are valid JSON (`3`, `true`) are parsed."""
    return {key: _json_or_text(value) for key, value in map(split_pair, pairs)}


def read_config_file(path: Path, *, kind: Literal["toml"] | None = None) -> dict[str, JsonValue]:
    """Read a file with one object of settings: TOML if it is named `.toml` or `kind` is `toml`, else JSON.

    Raises SettingError for an unreadable or invalid file.
    """
    import tomllib

    toml = kind == "toml" or path.suffix == ".toml"
    try:
        text = path.read_text(encoding="utf-8-sig")
        config: Any = tomllib.loads(text) if toml else json.loads(text, parse_constant=str)  # NaN is text
    except OSError as error:
        raise SettingError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        wrong = "invalid TOML" if toml else "invalid JSON (for TOML, name the file .toml)"
        raise SettingError(f"{path}: {wrong}: {error}") from error
    if not isinstance(config, dict):
        raise SettingError(f"{path}: expected an object of settings, got {type(config).__name__}")
    return {str(key): value for key, value in config.items()}


def _json_or_text(value: str) -> JsonValue:
    try:
        parsed: JsonValue = json.loads(value, parse_constant=str)
    except ValueError:
        return value
    return parsed
