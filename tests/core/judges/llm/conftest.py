"""Fixtures: a local chat server, and judges that call it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.chat_server import ChatServer, chat_server

from ragboard.judges.llm import Endpoint, LlmJudge


@dataclass
class Pauses:
    """In place of sleeping: writes down for how long."""

    seconds: list[float] = field(default_factory=list[float])

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture(scope="module")
def running() -> Iterator[ChatServer]:
    with chat_server() as server:
        yield server


@pytest.fixture
def server(running: ChatServer) -> ChatServer:
    """The running server, with nothing asked and nothing wrong."""
    for memory in (running.asked, running.keys, running.queries, running.faults, running.rules):
        memory.clear()
    return running


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def endpoint(server: ChatServer, pauses: Pauses) -> Endpoint:
    return Endpoint(server.url, "sk-secret-key-123", sleep=pauses, jitter=lambda low, _: low)


@pytest.fixture
def judge(endpoint: Endpoint) -> LlmJudge:
    return LlmJudge("some-model", endpoint)


def texts(asked: list[dict[str, Any]]) -> list[str]:
    """The last message of each request."""
    return [request["messages"][-1]["content"] for request in asked]
