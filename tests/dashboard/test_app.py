"""What no page can do without is missed in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ragboard_dashboard import settings as served
from ragboard_dashboard.server import APP
from ragboard_dashboard.settings import ServerSettings, keep_settings


def test_a_store_that_cannot_be_read_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ragboard.duckdb").write_bytes(b"no database" * 1000)
    monkeypatch.setenv(served.VARIABLE, "")
    keep_settings(ServerSettings(store=tmp_path))
    page = AppTest.from_file(APP, default_timeout=60).run()
    assert not page.exception
    assert [one.value for one in page.error] == ["This page cannot be shown now."]
