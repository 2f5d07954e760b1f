"""Browser test of several users, an evaluation and imports at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from benchmarks.users import soak


@pytest.mark.slow
def test_no_user_sees_an_exception_a_lock_or_an_old_page(chromium_path: str, tmp_path: Path) -> None:
    found = asyncio.run(soak(tmp_path, minutes=1, people=3, chromium=chromium_path))
    assert found.problems == []
    assert found.done["page"] > 5
    assert found.done["import"] > 2
    assert found.done["evaluate"] > 0
