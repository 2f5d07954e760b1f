"""Prices of models: the package's list, and a file of the user that overrides it."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from ragboard.errors import SettingError

__all__ = ["Price", "Prices", "cost", "read_prices"]

MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    prompt: float
    completion: float = 0.0
    """Price of completion tokens; 0 for embedding models."""
    cached: float | None = None
    """Price of cached prompt tokens; None: that of other prompt tokens."""
    batch: float = 0.5
    """What a request in a batch costs, as a share of these prices."""
    date: str = ""
    """Date of the price."""
    source: str = ""

    @property
    def in_batch(self) -> Price:
        """The prices of requests in a batch."""
        cached = None if self.cached is None else self.cached * self.batch
        return replace(self, prompt=self.prompt * self.batch, completion=self.completion * self.batch, cached=cached)


_ENTRIES = tuple(field.name for field in fields(Price))

Prices: TypeAlias = Mapping[str, Price]
"""Prices by exact name of the model; a missing model has no known price, which is not 0."""


def read_prices(file: Path | None = None) -> Prices:
    """Return the package's prices, overridden model by model by those of a TOML file.

    A table for each model: `["my-model"]`, `prompt = 0.1`, `completion = 0.4`, and where wished
    `cached`, `batch` (a share), `date`, `source`. Raises SettingError naming what is off.
    """
    own = {} if file is None else _read(str(file), _text(file))
    packaged = files("ragboard").joinpath("prices.toml").read_text("utf-8")
    return _read("prices.toml", packaged) | own


def cost(price: Price | None, *, prompt: float, completion: float, cached: float = 0) -> float | None:
    """Return US dollars for these tokens, of which `cached` are part of `prompt`; None without a price."""
    if price is None:
        return None
    kept = price.prompt if price.cached is None else price.cached
    return ((prompt - cached) * price.prompt + cached * kept + completion * price.completion) / MILLION


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingError(f"{file}: {error.strerror or error}, expected a TOML file of prices") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"{file}: is not UTF-8: {error}") from error


def _read(where: str, text: str) -> dict[str, Price]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{where}: is not TOML: {error}") from error
    return {model: _price(f"{where}: {model}", given) for model, given in tables.items()}


def _price(where: str, given: Any) -> Price:
    if not isinstance(given, dict) or "prompt" not in given:
        raise SettingError(f'{where}: expected a table ["{where.rpartition(": ")[2]}"] with at least `prompt`')
    if unknown := sorted(given.keys() - set(_ENTRIES)):
        raise SettingError(f"{where}: no entry {unknown[0]!r}; there are {', '.join(_ENTRIES)}")
    dollars = {
        key: _dollars(f"{where}: {key}", given[key]) for key in ("prompt", "completion", "cached") if key in given
    }
    return Price(
        prompt=dollars["prompt"],
        completion=dollars.get("completion", 0.0),
        cached=dollars.get("cached"),
        batch=_dollars(f"{where}: batch", given["batch"], "a share of the prices") if "batch" in given else Price.batch,
        date=str(given.get("date", "")),
        source=str(given.get("source", "")),
    )


def _dollars(where: str, value: Any, expected: str = "US dollars per million tokens") -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise SettingError(f"{where}: got {value!r}, expected {expected}, 0 or more")
    return float(value)
