"""Prices of models: the list included in ragboard, and a user's file that overrides it."""

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
    """The prices of a model, in US dollars per million tokens."""

    prompt: float
    """Price of prompt tokens."""
    completion: float = 0.0
    """Price of completion tokens; 0 for embedding models."""
    cached: float | None = None
    """Price of cached prompt tokens; None: the price of other prompt tokens."""
    batch: float = 0.5
    """Price of a request in a batch, as a share of these prices."""
    date: str = ""
    """When the price was looked up."""
    source: str = ""
    """Where the price was looked up."""

    @property
    def in_batch(self) -> Price:
        """The prices of requests in a batch."""
        cached = None if self.cached is None else self.cached * self.batch
        return replace(self, prompt=self.prompt * self.batch, completion=self.completion * self.batch, cached=cached)


_KEYS = tuple(field.name for field in fields(Price))

Prices: TypeAlias = Mapping[str, Price]
"""Prices by the exact name of the model. The price of a model that is not included is unknown, not 0."""


def read_prices(file: Path | None = None) -> Prices:
    """Return the prices included in ragboard; for models in a TOML file, the prices in that file.

    The file has a table for each model: `["my-model"]` with `prompt = 0.1` and optionally `completion`, `cached`,
    `batch` (a share), `date` and `source`. Raises SettingError for an invalid file.
    """
    overrides = {} if file is None else _read(str(file), _text(file))
    packaged = files("ragboard").joinpath("prices.toml").read_text("utf-8")
    return _read("prices.toml", packaged) | overrides


def cost(price: Price | None, *, prompt: float, completion: float, cached: float = 0) -> float | None:
    """Return the cost of these numbers of tokens in US dollars; `prompt` includes `cached`. None without a price."""
    if price is None:
        return None
    cached_price = price.prompt if price.cached is None else price.cached
    return ((prompt - cached) * price.prompt + cached * cached_price + completion * price.completion) / MILLION


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingError(f"{file}: {error.strerror or error}, expected a TOML file of prices") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"{file}: not UTF-8: {error}") from error


def _read(where: str, text: str) -> dict[str, Price]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{where}: invalid TOML: {error}") from error
    return {model: _price(f"{where}: {model}", table) for model, table in tables.items()}


def _price(where: str, table: Any) -> Price:
    if not isinstance(table, dict) or "prompt" not in table:
        raise SettingError(f'{where}: expected a table ["{where.rpartition(": ")[2]}"] with at least `prompt`')
    if unknown := sorted(table.keys() - set(_KEYS)):
        raise SettingError(f"{where}: unknown key {unknown[0]!r}; expected one of {', '.join(_KEYS)}")
    dollars = {
        key: _number(f"{where}: {key}", table[key]) for key in ("prompt", "completion", "cached") if key in table
    }
    return Price(
        prompt=dollars["prompt"],
        completion=dollars.get("completion", 0.0),
        cached=dollars.get("cached"),
        batch=_number(f"{where}: batch", table["batch"], "a share of the prices") if "batch" in table else Price.batch,
        date=str(table.get("date", "")),
        source=str(table.get("source", "")),
    )


def _number(where: str, value: Any, expected: str = "US dollars per million tokens") -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise SettingError(f"{where}: got {value!r}, expected {expected}, 0 or more")
    return float(value)
