"""Fixtures of the store tests: the database without the shortcuts of other tests."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_database() -> None:
    """Nothing is quicker here than for users."""
