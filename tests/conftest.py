"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ragboard", deadline=None)  # no test depends on the clock
settings.load_profile("ragboard")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data that some tests read; they skip where `RAGBOARD_DATA` names none."""
    name = os.environ.get("RAGBOARD_DATA")
    if not name:
        pytest.skip("RAGBOARD_DATA names no folder of real data")
    return Path(name)
