"""Rows of a data set on the Hugging Face hub, where `datasets` is installed and the hub can be reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from ragboard.errors import SettingError

__all__ = ["hub_rows", "is_of_hub"]

PREFIX = "hf:"


def is_of_hub(source: str) -> bool:
    """Whether a source names a data set of the hub: `hf:OWNER/NAME`."""
    return source.startswith(PREFIX)


def hub_rows(source: str) -> Iterable[Mapping[str, Any]]:
    """The rows of all splits. Raises SettingError where `datasets` is missing or the hub gives nothing."""
    name = source.removeprefix(PREFIX)
    try:
        datasets = import_module("datasets")
    except ImportError as error:
        raise SettingError(f"{source}: needs the package `datasets` (pip install datasets), or a file") from error
    try:
        splits: Mapping[str, Iterable[Mapping[str, Any]]] = datasets.load_dataset(name)
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SettingError(f"{source}: the hub gives nothing: {reason}; a file of the same columns will do") from error
    return [row for split in splits.values() for row in split]
