"""Fixtures of the oracle tests: reproducible random data."""

from __future__ import annotations

import numpy as np
import pytest

DRAWS = 25
"""Data sets for each claim."""


@pytest.fixture(params=range(DRAWS))
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of its own for each of the data sets."""
    return np.random.default_rng([20, request.param])
