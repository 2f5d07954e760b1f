"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.quick_database import quick

settings.register_profile("ragboard", deadline=None)  # no test depends on the clock
settings.load_profile("ragboard")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data that some tests read; they skip where `RAGBOARD_DATA` names none."""
    name = os.environ.get("RAGBOARD_DATA")
    if not name:
        pytest.skip("RAGBOARD_DATA names no folder of real data")
    return Path(name)


@pytest.fixture(scope="session")
def made_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first database of the session is copied to, as the others are copies of it."""
    return tmp_path_factory.mktemp("made") / "made.duckdb"


@pytest.fixture(scope="module", autouse=True)
def quick_database(request: pytest.FixtureRequest, made_database: Path) -> Iterator[None]:
    """Stores open quickly, but in a file of tests that is marked `plain_database`."""
    if request.node.get_closest_marker("plain_database"):
        yield
    else:
        with quick(made_database):
            yield
