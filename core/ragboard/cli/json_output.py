"""Print JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import click

__all__ = ["print_json"]


def print_json(value: Any) -> None:
    """Print a value as indented JSON. Dataclasses become objects, times ISO 8601 texts in UTC."""
    click.echo(json.dumps(value, default=_jsonable, indent=2, ensure_ascii=False, allow_nan=False))


def _jsonable(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"cannot print {type(value).__name__} as JSON")
