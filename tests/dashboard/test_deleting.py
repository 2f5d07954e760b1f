"""Tests of deleting runs: refused with a reason while a run is evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from tests.core.conftest import make_run

from ragboard import Store
from ragboard.evaluation.journal import open_journal
from ragboard_dashboard import settings as served
from ragboard_dashboard.settings import ServerSettings, publish_settings

DIALOG = """
from ragboard.analysis import run_summary
from ragboard_dashboard.data import store
from ragboard_dashboard.controls import edit_run
edit_run(run_summary(store(), store().resolve("run")), back=True)
"""


def test_a_run_that_is_being_evaluated_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    run = store.add_runs([make_run()])[0]
    monkeypatch.setenv(served.VARIABLE, "")
    publish_settings(ServerSettings(store=tmp_path))
    page = AppTest.from_string(DIALOG, default_timeout=60).run()
    page.checkbox[0].check().run()
    with open_journal(store.journal_path("e"), {"evaluation": "e", "run": run.id, "metrics": ["m"]}):
        next(button for button in page.button if button.label == "Delete").click().run()
    assert [one.value for one in page.error] == ["The change was not saved."]
    said = " ".join(str(getattr(one, "value", "")) for one in page.get("html"))
    assert "evaluation e of this run is running; stop it" in said
    assert store.resolve("run").run_id == run.id
