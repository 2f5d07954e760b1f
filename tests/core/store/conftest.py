"""The store's tests take the database as it is."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_database() -> None:
    """Nothing is quicker here than for users."""
