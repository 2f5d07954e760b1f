"""`ragboard.toml`: what one would type each time, as defaults of the commands' options."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ragboard.errors import SettingError
from ragboard.settings import read_config_file

__all__ = ["SettingsFile", "read_settings_file"]

USUAL = Path("ragboard.toml")
SECRETS = frozenset({"key", "apikey", "token", "secret", "password", "authorization"})


@dataclass(frozen=True, kw_only=True)
class SettingsFile:
    """The file in force, and what it says."""

    path: Path | None = None
    """None where there is none."""
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values of options, by the names of their parameters."""


def read_settings_file(path: Path | None) -> SettingsFile:
    """That file, else `ragboard.toml` of the working directory where there is one.

    Relative paths in it are relative to the file. Raises SettingError for what cannot be read, a setting
    that there is not, a value of another type, a key or password.
    """
    chosen = path or (USUAL if USUAL.exists() else None)
    if chosen is None:
        return SettingsFile()
    given = read_config_file(chosen, kind="toml")
    _check_names(chosen, given)
    defaults = dict(_default(chosen, key, value) for key, value in given.items())
    return SettingsFile(path=chosen.resolve(), defaults=defaults)


def _check_names(path: Path, given: Mapping[str, Any]) -> None:
    parameters = given.get("judge-param")
    inner: Mapping[str, Any] = parameters if isinstance(parameters, dict) else {}
    for key, value in (*given.items(), *inner.items()):
        if _is_secret(key, value):
            raise SettingError(f"{path}: {key} holds a key or password; keep keys in the environment (OPENAI_API_KEY)")
    unknown = [key for key in given if key not in _READ]
    if unknown:
        raise SettingError(f"{path}: unknown setting {unknown[0]!r}; known settings: {', '.join(_READ)}")


def _is_secret(key: str, value: object) -> bool:
    if SECRETS & set(re.split(r"[_-]", key.casefold())):
        return True
    return isinstance(value, str) and (value.startswith("sk-") or _has_password(value))


def _has_password(value: str) -> bool:
    try:
        return bool(urlsplit(value).password)
    except ValueError:
        return False


def _default(path: Path, key: str, value: object) -> tuple[str, Any]:
    parameter, read = _READ[key]
    try:
        return parameter, read(path.parent, value)
    except TypeError as error:
        raise SettingError(f"{path}: {key} is {value!r}, expected {error}") from error


def _text(_folder: Path, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


def _path(folder: Path, value: object) -> str:
    return str(folder / _text(folder, value))


def _texts(_folder: Path, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of texts")
    return value


def _paths(folder: Path, value: object) -> list[str]:
    return [str(folder / name) for name in _texts(folder, value)]


def _number(_folder: Path, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("a number")
    return value


def _joined(folder: Path, value: object) -> str:
    return ",".join(_texts(folder, value))


def _pairs(_folder: Path, value: object) -> list[str]:
    if not isinstance(value, dict):
        raise TypeError("a table of parameters")
    return [f"{key}={json.dumps(given)}" for key, given in value.items()]


_READ: dict[str, tuple[str, Callable[[Path, object], Any]]] = {
    "store": ("store", _path),
    "judge": ("judge", _text),
    "extract": ("extract", _text),
    "verify": ("verify", _text),
    "embed": ("embed", _text),
    "base_url": ("base_url", _text),
    "prompts": ("prompts", _path),
    "examples": ("examples", _path),
    "judge-param": ("judge_param", _pairs),
    "metrics": ("names", _joined),
    "plugins": ("plugins", _paths),
    "prices": ("prices", _path),
    "concurrency": ("concurrency", _number),
    "requests_per_minute": ("requests_per_minute", _number),
    "tokens_per_minute": ("tokens_per_minute", _number),
    "deadline": ("deadline", _number),
}
"""Each setting's option, and how its value is read. A command takes those it has."""
