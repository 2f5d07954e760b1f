"""Tests of `ragboard alert`: one message for each change of state, to a webhook or a command."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.core.traffic import FAITHFULNESS, Day, add_traffic

from ragboard import Store
from ragboard.analysis import set_threshold
from ragboard.cli import main

CHAT = "chat (production)"


class Webhook(HTTPServer):
    """Keeps the bodies that it gets, and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[str] = []
        self.status = 200

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/secret"


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with Webhook() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ragboard(store: Store, *words: str, **environment: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(store.folder)], env=environment)


def days(first: int, stop: int, mean: float) -> list[Day]:
    return [Day(list((np.random.default_rng(day).random(40) < mean).astype(float)), day) for day in range(first, stop)]


def test_each_change_of_state_is_sent_once(store: Store, webhook: Webhook) -> None:
    def alert() -> str:
        done = ragboard(store, "alert", RAGBOARD_WEBHOOK=webhook.address)
        assert done.exit_code == 0, done.output
        return done.stdout

    add_traffic(store, days(0, 20, 0.9))
    assert alert() == ""
    set_threshold(store, FAITHFULNESS, 0.95)
    assert alert().startswith("Alert: Faithfulness of chat (production) is below the threshold")
    assert alert() == ""
    set_threshold(store, FAITHFULNESS, 0.5)
    assert alert().startswith("Back to normal: Faithfulness of chat (production) is ok")
    assert alert() == ""
    texts = [json.loads(body)["text"] for body in webhook.bodies]
    assert [text.split(":")[0] for text in texts] == ["Alert", "Back to normal"]


def test_a_message_that_was_not_delivered_is_sent_again(store: Store, webhook: Webhook) -> None:
    add_traffic(store, days(0, 20, 0.6))
    set_threshold(store, FAITHFULNESS, 0.9)
    for status in (500, 302):
        webhook.status = status
        failed = ragboard(store, "alert", RAGBOARD_WEBHOOK=webhook.address)
        assert failed.exit_code != 0
        assert f"the webhook at 127.0.0.1 answered {status}" in failed.output
        assert "secret" not in failed.output
    webhook.status = 200
    assert ragboard(store, "alert", RAGBOARD_WEBHOOK=webhook.address).stdout.startswith("Alert")
    assert len(webhook.bodies) == 3
    unreachable = ragboard(Store(store.folder), "alert", RAGBOARD_WEBHOOK="ftp://x/y")
    assert "not an http or https URL" in unreachable.output


def test_an_address_that_does_not_answer_is_reported_in_one_line(store: Store) -> None:
    add_traffic(store, days(0, 20, 0.6))
    set_threshold(store, FAITHFULNESS, 0.9)
    failed = ragboard(store, "alert", RAGBOARD_WEBHOOK="http://127.0.0.1:9/secret")
    assert failed.exit_code != 0
    assert "the webhook at 127.0.0.1 cannot be reached" in failed.output
    assert "secret" not in failed.output
    assert store.alert_states() == {}


def test_names_from_traces_cannot_mention_or_link(store: Store, webhook: Webhook) -> None:
    add_traffic(store, days(0, 20, 0.6), dataset="<!channel> <http://evil|click>\nnext")
    set_threshold(store, FAITHFULNESS, 0.9)
    ragboard(store, "alert", RAGBOARD_WEBHOOK=webhook.address)
    (body,) = webhook.bodies
    text = json.loads(body)["text"]
    assert "&lt;!channel&gt;" in text
    assert not set("<>\n") & set(text)


def test_a_command_gets_the_message_on_standard_input(store: Store, tmp_path: Path) -> None:
    add_traffic(store, days(0, 20, 0.6))
    set_threshold(store, FAITHFULNESS, 0.9)
    script, heard = tmp_path / "tell.py", tmp_path / "heard.json"
    script.write_text(f"import sys; open({str(heard)!r}, 'w').write(sys.stdin.read()); sys.exit({{}})")
    broken = script.read_text()
    script.write_text(broken.format(3))
    failed = ragboard(store, "alert", "--command", f"{sys.executable} {script}")
    assert failed.exit_code != 0
    assert "ended with exit code 3" in failed.output
    script.write_text(broken.format(0))
    assert ragboard(store, "alert", "--command", f"{sys.executable} {script}").exit_code == 0
    assert json.loads(heard.read_text())["text"].startswith("Alert: Faithfulness")


def test_a_dry_run_and_another_dataset_send_nothing(store: Store, webhook: Webhook) -> None:
    add_traffic(store, days(0, 20, 0.6))
    set_threshold(store, FAITHFULNESS, 0.9)
    dry = ragboard(store, "alert", "--dry-run", "--json", RAGBOARD_WEBHOOK=webhook.address)
    report = json.loads(dry.stdout)
    assert (report["sent"], report["changes"][0]["now"]["state"]) == (False, "below threshold")
    assert "nothing changed" in ragboard(store, "alert", "other", RAGBOARD_WEBHOOK=webhook.address).output
    assert webhook.bodies == []
    assert ragboard(store, "alert", CHAT, RAGBOARD_WEBHOOK=webhook.address).stdout.startswith("Alert")


def test_the_webhook_can_be_in_the_settings_file(store: Store, webhook: Webhook, tmp_path: Path) -> None:
    add_traffic(store, days(0, 20, 0.6))
    set_threshold(store, FAITHFULNESS, 0.9)
    settings = tmp_path / "ragboard.toml"
    settings.write_text(f'webhook = "{webhook.address}"\n')
    done = CliRunner().invoke(main, ["--settings", str(settings), "alert", "--store", str(store.folder)])
    assert done.exit_code == 0, done.output
    assert len(webhook.bodies) == 1
