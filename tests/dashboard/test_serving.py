"""Tests of access to the server: only this machine by default, and only known host names and origins."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import streamlit
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from ragboard import Store, StoreError
from ragboard.cli import main
from ragboard.errors import SettingError
from ragboard.evaluation.background import start_evaluation, start_retry
from ragboard.evaluation.identity import Choice
from ragboard.evaluation.progress import stop_evaluation
from ragboard.store import RunRef
from ragboard_dashboard import data, server
from ragboard_dashboard.security import (
    SERVER_ADDRESS,
    RequestGuard,
    accepted_host_names,
    content_policy,
    security_headers,
)
from ragboard_dashboard.server import health_route
from ragboard_dashboard.settings import ServerSettings, publish_settings, settings

SOCKET = "ws://127.0.0.1:8501/socket"


async def answer(_request: Request) -> PlainTextResponse:
    return PlainTextResponse("here")


async def load_agreement(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("here")
    await socket.close()


@pytest.fixture
def client() -> TestClient:
    names = accepted_host_names(ServerSettings(store=Path("s"), allowed_hosts=("evals.example.org",)))
    app = Starlette(
        routes=[Route("/", answer, methods=["GET", "PUT"]), WebSocketRoute("/socket", load_agreement)],
        middleware=[Middleware(RequestGuard, names=names, headers=security_headers())],
    )
    return TestClient(app, base_url="http://127.0.0.1:8501")


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "localhost", "LOCALHOST:80", "[::1]:8501", "evals.example.org."])
def test_its_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).text == "here"


@pytest.mark.parametrize("host", ["evil.com", "127.0.0.1.evil.com", "localhost@evil.com", "", "[", "10.0.0.1", "evil"])
def test_a_foreign_name_is_rejected(client: TestClient, host: str) -> None:
    refused = client.get("/", headers={"Host": host})
    assert refused.status_code == 403
    assert "--allowed-host" in refused.text
    assert "Content-Security-Policy" in refused.headers
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket", headers={"Host": host}):
        pass


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.com",
        "null",
        "http://localhost.evil.com",
        "http://127.0.0.1:9999",
        "http://localhost",
        "https://evals.example.org:99",
    ],
)
def test_a_page_of_another_site_cannot_write_or_listen(client: TestClient, origin: str) -> None:
    assert client.put("/", headers={"Origin": origin}).status_code == 403
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(SOCKET, headers={"Origin": origin}):
        pass


def test_our_own_pages_can(client: TestClient) -> None:
    assert client.put("/", headers={"Origin": "https://evals.example.org"}).text == "here"
    with client.websocket_connect(SOCKET, headers={"Origin": "http://127.0.0.1:8501"}) as socket:
        assert socket.receive_text() == "here"


def test_the_policy_names_the_two_inline_scripts_of_a_page_and_allows_no_other() -> None:
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    script = page.split("<script>")[1].split("</script>")[0]
    digests = " ".join(
        f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in (SERVER_ADDRESS, script)
    )
    rules = dict(rule.split(" ", 1) for rule in content_policy().split("; "))
    assert rules["script-src"] == f"'self' blob: 'wasm-unsafe-eval' {digests}"
    assert rules["default-src"] == "'none'"
    assert "'unsafe-inline'" not in rules["script-src"]


def test_a_wider_address_accepts_only_this_machines_names() -> None:
    names = accepted_host_names(ServerSettings(store=Path("s"), host="0.0.0.0"))
    assert {"127.0.0.1", "localhost", "::1"} < names
    assert "evil.com" not in names
    assert "10.1.2.3" in accepted_host_names(ServerSettings(store=Path("s"), host="10.1.2.3"))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[ServerSettings]:
    """What the command would serve."""
    found: list[ServerSettings] = []

    def note(given: ServerSettings, **_others: Any) -> None:
        found.append(given)

    monkeypatch.setattr(server, "serve", note)
    return found


def serve(*words: str) -> int:
    return CliRunner().invoke(main, ["serve", *words], catch_exceptions=False).exit_code


def test_by_default_it_is_for_this_machine(told: list[ServerSettings]) -> None:
    assert serve() == 0
    assert (told[0].host, told[0].read_only, told[0].evaluates, told[0].max_upload) == ("127.0.0.1", False, True, 200)


def test_a_wider_address_takes_two_words_and_a_third_to_evaluate(told: list[ServerSettings]) -> None:
    refused = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0"])
    assert refused.exit_code == 2
    assert refused.stderr.count("\n") == 1
    assert "--unsafe-bind" in refused.stderr
    assert not told
    assert serve("--host", "0.0.0.0", "--unsafe-bind") == 0
    assert (
        serve("--host", "0.0.0.0", "--unsafe-bind", "--allow-evaluate", "--allowed-host", "a", "--allowed-host", "b")
        == 0
    )
    assert [one.evaluates for one in told] == [False, True]
    assert told[1].allowed_hosts == ("a", "b")


def test_settings_reach_the_pages_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBOARD_SERVER", "")
    given = ServerSettings(
        store=tmp_path / "s",
        plugins=(tmp_path / "a.py", tmp_path / "b.py"),
        prices=tmp_path / "p.toml",
        host="::1",
        allowed_hosts=("a",),
        read_only=True,
        evaluates=False,
        max_upload=3,
    )
    publish_settings(given)
    assert settings() == given
    assert (data.writable(), data.evaluates(), data.plugins()) == (False, False, given.plugins)
    assert not data.launch_context().may_start


def test_what_a_file_of_streamlit_s_settings_may_not_loosen() -> None:
    options = server.server_options(ServerSettings(store=Path("s"), max_upload=7))
    assert options["server.maxUploadSize"] == 7
    assert options["server.address"] == "127.0.0.1"
    assert options["server.enableXsrfProtection"]
    assert options["server.enableCORS"]
    assert not options["browser.gatherUsageStats"]
    assert not options["server.enableAgentApi"]


def test_nothing_is_changed_or_started_on_a_read_only_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBOARD_SERVER", "")
    Store(tmp_path).check()
    publish_settings(ServerSettings(store=tmp_path, read_only=True))
    store, run = data.store(), RunRef(run_id="r", name="r", evaluation_id="e")
    for change in (
        lambda: store.add_runs([]),
        lambda: store.remove_runs([]),
        lambda: store.rename_run("r", "s"),
        lambda: store.set_tags("r", []),
        lambda: store.set_notes("r", ""),
        lambda: store.change_tags("r", add=[], drop=[]),
        lambda: stop_evaluation(store, "e"),
        lambda: start_evaluation(store, run, Choice(metrics=("ragas.faithfulness",)), data.launch_context()),
        lambda: start_retry(store, run, data.launch_context()),
    ):
        with pytest.raises(StoreError, match="the store is read-only"):
            change()
    assert store.runs_tagged("x") == ()


def test_a_server_for_others_starts_no_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBOARD_SERVER", "")
    publish_settings(ServerSettings(store=tmp_path, evaluates=False))
    run = RunRef(run_id="r", name="r", evaluation_id=None)
    with pytest.raises(SettingError, match="--allow-evaluate"):
        start_evaluation(data.store(), run, Choice(metrics=("ragas.faithfulness",)), data.launch_context())


def test_health_says_whether_the_store_answers_and_names_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGBOARD_SERVER", "")
    client = TestClient(Starlette(routes=[health_route]))
    publish_settings(ServerSettings(store=tmp_path / "good"))
    assert (client.get("/health").status_code, client.get("/health").json()) == (200, {"status": "ok"})
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "ragboard.duckdb").write_bytes(b"no database" * 1000)
    publish_settings(ServerSettings(store=tmp_path / "bad"))
    ill = client.get("/health")
    assert ill.status_code == 503
    assert ill.json()["status"] == "unavailable"
    assert str(tmp_path) not in ill.text


def test_a_page_has_its_name_and_a_first_line_before_any_script_is_loaded(tmp_path: Path) -> None:
    app = server.build_app(ServerSettings(store=tmp_path))
    for path in ("/", "/compare", "/sample?run=x"):
        page = TestClient(app, base_url="http://127.0.0.1:8501").get(path).text
        assert "<title>ragboard</title>" in page
        assert '<div class="loading"><b>ragboard</b>' in page
        assert "Streamlit app" not in page
