"""Test of the LiteLLM recipe: a provider with its own API answers through LiteLLM's proxy.

Skipped without `litellm`. `RAGBOARD_LITELLM` names a `litellm` in another environment.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import uvicorn
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.chat_server import answer

from ragboard.cli import main

LITELLM = os.environ.get("RAGBOARD_LITELLM") or shutil.which("litellm")
KEY = "sk-0123456789abcdef0123456789abcdef"
PAGE = Path(__file__).parents[3] / "docs" / "tasks" / "use-a-chat-model.md"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not LITELLM, reason="litellm is not installed")]


@contextmanager
def anthropic(asked: list[Any]) -> Iterator[str]:
    """A server that speaks Anthropic's API; a tool that it is given, it calls."""

    async def messages(request: Request) -> Response:
        asked.append((request.headers.get("x-api-key"), body := await request.json()))
        prompt = body["messages"][0]["content"]
        good = answer(prompt if isinstance(prompt, str) else prompt[0]["text"])
        content: dict[str, Any] = {"type": "text", "text": good}
        if tools := body.get("tools"):
            content = {"type": "tool_use", "id": "t", "name": tools[0]["name"], "input": json.loads(good)}
        usage = {"input_tokens": 100, "output_tokens": 10}
        return JSONResponse(
            {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": [content]}
            | {"stop_reason": "tool_use" if tools else "end_turn", "stop_sequence": None, "usage": usage}
        )

    app = Starlette(routes=[Route("/v1/messages", messages, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)


@contextmanager
def proxy(folder: Path, provider: str) -> Iterator[str]:
    """LiteLLM's proxy with the configuration of the page, whose provider is the server of this test."""
    shown = re.search(r'```yaml title="litellm.yaml"\n(.*?)```', PAGE.read_text("utf-8"), re.DOTALL)
    assert shown
    config = folder / "litellm.yaml"
    config.write_text(shown[1].replace("      api_key:", f"      api_base: {provider}\n      api_key:"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(LITELLM), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    environment = {"ANTHROPIC_API_KEY": "key-of-the-provider", "LITELLM_MASTER_KEY": KEY}
    environment |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # fetches nothing
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)
        try:
            for _ in range(600):
                assert process.poll() is None, (folder / "proxy.log").read_text()
                try:
                    urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=2).close()
                    break
                except (URLError, OSError):
                    time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(timeout=30)


def test_a_provider_behind_the_proxy_scores(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    row = {"question": "How high is it?", "answer": "It is 30 m high.", "contexts": ["The tower is 30 m high."]}
    file.write_text(json.dumps(row) + "\n")
    asked: list[Any] = []
    with anthropic(asked) as provider, proxy(tmp_path, provider) as url:
        words = ["evaluate", str(file), "--judge", "openai:claude", "--embed", "embedded", "--base-url", url]
        words += ["--metrics", "ragas.faithfulness", "--store", str(tmp_path / "s"), "--json"]
        done = CliRunner().invoke(main, words, env={"OPENAI_API_KEY": KEY}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["runs"][0]["metrics"]["ragas.faithfulness"]["scored"] == 1
    assert {(key, body["model"]) for key, body in asked} == {("key-of-the-provider", "claude-sonnet-4-5")}
