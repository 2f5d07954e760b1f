"""Tests of continuing `synth` after a kill, without repeated calls."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.responses import Response
from tests.chat_server import Asked, ChatServer, chat_server

ROOT = Path(__file__).parents[3]
PATIENCE = 120


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def start(server: ChatServer, out: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "ragboard",
        "synth",
        "sample_data/documents",
        "--out",
        str(out),
        "--passages",
        "20",
    ]
    command += ["--judge", "openai:m", "--base-url", server.url, "--concurrency", "1"]
    environment = os.environ | {"OPENAI_API_KEY": "key", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_a_killed_process_continues_and_repeats_no_call(server: ChatServer, tmp_path: Path) -> None:
    reached = threading.Event()

    def count(_: Asked) -> Response | None:
        if server.count == 40:
            reached.set()
        return None

    server.rules.append(count)
    journal = tmp_path / "part" / "journal" / "answers.jsonl"
    with start(server, tmp_path / "part") as process:
        assert reached.wait(PATIENCE)
        process.kill()
    kept = journal.read_bytes().count(b"\n")
    assert 0 < kept <= server.count
    asked = server.count
    with start(server, tmp_path / "part") as process:
        assert process.wait(PATIENCE) == 0
    rest = server.count - asked
    with start(server, tmp_path / "whole") as process:
        assert process.wait(PATIENCE) == 0
    whole = server.count - asked - rest
    assert kept + rest == whole
    assert (tmp_path / "part" / "synthetic.tsv").read_bytes() == (tmp_path / "whole" / "synthetic.tsv").read_bytes()
