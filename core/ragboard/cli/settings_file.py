"""`ragboard.toml`: default values for options of commands."""

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

DEFAULT_PATH = Path("ragboard.toml")
SECRET_NAME_PARTS = frozenset({"key", "apikey", "token", "secret", "password", "authorization"})
"""Parts of a setting's name that mark its value as a secret."""


@dataclass(frozen=True, kw_only=True)
class SettingsFile:
    """The settings file in use, and the option defaults that it sets."""

    path: Path | None = None
    """None if there is no settings file."""
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Default values by parameter name, for click's `default_map`."""


def read_settings_file(path: Path | None) -> SettingsFile:
    """Read a settings file. The default is `ragboard.toml` in the working directory, if it exists.

    Paths in the file are relative to its folder. Raises SettingError for an unreadable file, an unknown setting, a
    value of the wrong type, or a secret.
    """
    chosen = path or (DEFAULT_PATH if DEFAULT_PATH.exists() else None)
    if chosen is None:
        return SettingsFile()
    settings = read_config_file(chosen, kind="toml")
    _check_names(chosen, settings)
    defaults = dict(_option_default(chosen, key, value) for key, value in settings.items())
    return SettingsFile(path=chosen.resolve(), defaults=defaults)


def _check_names(path: Path, settings: Mapping[str, Any]) -> None:
    judge_param = next((value for key, value in settings.items() if _setting_name(key) == "judge_param"), None)
    parameters: Mapping[str, Any] = judge_param if isinstance(judge_param, dict) else {}
    for key, value in (*settings.items(), *parameters.items()):
        if _is_secret(key, value):
            raise SettingError(
                f"{path}: {key} is a key or password. Remove it and keep keys in the environment (OPENAI_API_KEY)"
            )
    _check_headers(path, settings.get("header"))
    unknown = [key for key in settings if _setting_name(key) not in _SETTINGS]
    if unknown:
        raise SettingError(f"{path}: unknown setting {unknown[0]!r}; known settings: {', '.join(_SETTINGS)}")


def _check_headers(path: Path, headers: object) -> None:
    if not isinstance(headers, dict):
        return
    from ragboard.judges.secrets import is_credential  # imported here because `--help` should not load the judges

    for name in headers:
        if is_credential(name):
            raise SettingError(f"{path}: the header {name} is a key or password. Remove it and pass it with --header")


def _setting_name(key: str) -> str:
    """Return the key as in `_SETTINGS`, with `_` instead of `-`."""
    return key.replace("-", "_")


def _is_secret(key: str, value: object) -> bool:
    if SECRET_NAME_PARTS & set(re.split(r"[_-]", key.casefold())):
        return True
    return isinstance(value, str) and (value.startswith("sk-") or _has_password(value))


def _has_password(value: str) -> bool:
    try:
        return bool(urlsplit(value).password)
    except ValueError:
        return False


def _option_default(path: Path, key: str, value: object) -> tuple[str, Any]:
    parameter, parse = _SETTINGS[_setting_name(key)]
    try:
        return parameter, parse(path.parent, value)
    except TypeError as error:
        raise SettingError(f"{path}: {key} is {value!r}, expected {error}") from error


def _text(_folder: Path, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def _path(folder: Path, value: object) -> str:
    return str(folder / _text(folder, value))


def _texts(_folder: Path, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of strings")
    return value


def _paths(folder: Path, value: object) -> list[str]:
    return [str(folder / name) for name in _texts(folder, value)]


def _number(_folder: Path, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("a number")
    return value


def _yes_or_no(_folder: Path, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _joined(folder: Path, value: object) -> str:
    return ",".join(_texts(folder, value))


def _pairs(_folder: Path, value: object) -> list[str]:
    if not isinstance(value, dict):
        raise TypeError("a table of parameters")
    return [f"{key}={json.dumps(item)}" for key, item in value.items()]


def _header_pairs(_folder: Path, value: object) -> list[str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise TypeError("a table of header names and strings")
    return [f"{name}={item}" for name, item in value.items()]


_SETTINGS: dict[str, tuple[str, Callable[[Path, object], Any]]] = {
    "store": ("store", _path),
    "judge": ("judge", _text),
    "extract": ("extract", _text),
    "verify": ("verify", _text),
    "embed": ("embed", _text),
    "base_url": ("base_url", _text),
    "header": ("headers", _header_pairs),
    "prompts": ("prompts", _path),
    "examples": ("examples", _path),
    "judge_param": ("judge_param", _pairs),
    "metrics": ("names", _joined),
    "plugins": ("plugins", _paths),
    "prices": ("prices", _path),
    "concurrency": ("concurrency", _number),
    "requests_per_minute": ("requests_per_minute", _number),
    "tokens_per_minute": ("tokens_per_minute", _number),
    "timeout": ("timeout", _number),
    "deadline": ("timeout", _number),
    "batch": ("batch", _yes_or_no),
    "batch_interval": ("batch_interval", _number),
    "device": ("device", _text),
    "threads": ("threads", _number),
    "backend": ("backend", _text),
    "webhook": ("webhook", _text),
    "alert_command": ("command", _text),
}
"""(parameter of commands, parser of the value) for each setting. Commands without the parameter ignore the setting.
`deadline` is the old name of `timeout`."""
