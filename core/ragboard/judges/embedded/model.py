"""The learned part: a logistic regression whose coefficients stand in a file that a person can read."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

__all__ = ["Model", "model"]


@dataclass(frozen=True, slots=True)
class Model:
    """`1 / (1 + exp(-(constant + sum of coefficient * feature)))`: a probability, as far as the fit goes."""

    constant: float
    coefficients: tuple[float, ...]

    def __call__(self, values: Sequence[float]) -> float:
        """The probability, in (0, 1)."""
        total = self.constant
        for coefficient, value in zip(self.coefficients, values, strict=True):
            total += coefficient * value
        return 1.0 / (1.0 + math.exp(-total)) if total > -700 else 0.0


@lru_cache(maxsize=4)
def model(name: str, features: tuple[str, ...]) -> Model:
    """The coefficients in `NAME.toml`, in the order of the features. KeyError names one that is not there."""
    text = files("ragboard.judges.embedded").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    found: Mapping[str, float] = tomllib.loads(text)
    return Model(float(found["constant"]), tuple(float(found[each]) for each in features))
