"""Tests of `GET /metrics` for Prometheus."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from tests.core.traffic import Day, add_traffic

from ragboard import Store
from ragboard_dashboard.server import metrics_route
from ragboard_dashboard.settings import ServerSettings, publish_settings


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("RAGBOARD_SERVER", "")
    publish_settings(ServerSettings(store=tmp_path))
    return TestClient(Starlette(routes=[metrics_route]))


def test_each_series_has_its_mean_and_state(client: TestClient, tmp_path: Path) -> None:
    empty = client.get("/metrics")
    assert empty.status_code == 200
    assert empty.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "ragboard_mean{" not in empty.text
    store = Store(tmp_path)
    add_traffic(store, [Day([1.0, 0.5] * 10, day) for day in range(20)], dataset='cha"t\n\\')
    text = client.get("/metrics").text
    labels = r'dataset="cha\"t\n\\",metric="ragas.faithfulness",judge="plain"'
    lines = text.splitlines()
    assert f"ragboard_mean{{{labels}}} 0.75" in lines
    assert f"ragboard_samples{{{labels}}} 140.0" in lines
    assert f'ragboard_state{{{labels},state="ok"}} 1.0' in lines
    assert f'ragboard_state{{{labels},state="dropped"}} 0.0' in lines
    assert all(line.startswith("#") or line.rsplit(" ", 1)[1].replace(".", "").isdigit() for line in lines)


def test_a_store_that_cannot_be_read_is_reported_without_paths(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "ragboard.duckdb").write_bytes(b"no database" * 100)
    failed = client.get("/metrics")
    assert failed.status_code == 503
    assert str(tmp_path) not in failed.text
