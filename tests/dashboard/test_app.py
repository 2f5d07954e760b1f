"""Tests of the messages for missing prerequisites."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from ragboard import Run, Sample, Store
from ragboard.evaluation.progress import Progress, write_progress
from ragboard_dashboard import settings as served
from ragboard_dashboard.server import APP
from ragboard_dashboard.settings import ServerSettings, publish_settings


def test_a_store_that_cannot_be_read_is_reported_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ragboard.duckdb").write_bytes(b"no database" * 1000)
    monkeypatch.setenv(served.VARIABLE, "")
    publish_settings(ServerSettings(store=tmp_path))
    page = AppTest.from_file(APP, default_timeout=60).run()
    assert not page.exception
    assert [one.value for one in page.error] == ["This page cannot be shown now."]


def test_a_store_that_no_lock_can_be_made_in_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    (run,) = store.add_runs([Run(name="kept", samples=(Sample(id="s", question="What?", answer="It."),))])
    journal = store.journal_path("e")
    journal.parent.mkdir()
    said = {"evaluation": "e", "run": run.id, "judge": "judge", "metrics": ["m"], "judging": None, "identity": {}}
    journal.with_suffix(".json").write_text(json.dumps(said), encoding="utf-8")
    running = Progress(state="running", pid=1, done=1, total=2, started=0, updated=0)
    write_progress(journal.with_suffix(".status.json"), running)
    for lock in (store.database.lock_path, journal.with_suffix(".lock")):
        lock.unlink(missing_ok=True)
        lock.mkdir()
    monkeypatch.setenv(served.VARIABLE, "")
    publish_settings(ServerSettings(store=tmp_path, read_only=True))
    page = AppTest.from_file(APP, default_timeout=60).run()
    assert not page.exception
    assert not page.error
    assert any("kept" in str(one.proto) for one in page.main)
