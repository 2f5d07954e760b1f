"""Tests of PageKeeper: an update of a page that was left does not blank the new page."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.types import Receive, Scope, Send
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ragboard_dashboard.page_keeper import PageKeeper


def begun(page: str, *parts: str) -> bytes:
    """What a browser hears as a run begins: of a whole page, or of some parts of it."""
    message = ForwardMsg()
    message.new_session.page_script_hash = page
    message.metadata.run.fragment_ids.extend(parts)
    return message.SerializeToString()


def led(page: str) -> bytes:
    """What it hears of the page that an address leads to."""
    message = ForwardMsg()
    message.navigation.page_script_hash = page
    return message.SerializeToString()


def drawn() -> bytes:
    message = ForwardMsg()
    message.delta.new_element.text.body = "drawn"
    return message.SerializeToString()


def heard(*said: bytes) -> list[bytes]:
    """What a browser hears of what is said on its socket."""
    reached: list[bytes] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        for message in said:
            await send({"type": "websocket.send", "bytes": message})

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError("nothing is asked")

    async def send(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "websocket.send":
            reached.append(message["bytes"])

    asyncio.run(PageKeeper(app)({"type": "websocket"}, receive, send))
    return reached


def test_a_part_of_the_page_before_is_begun_under_the_page_that_is_open() -> None:
    said = begun("upload"), begun("upload", "panel"), begun("run"), begun("upload", "panel")
    assert heard(*said) == [begun("upload"), begun("upload", "panel"), begun("run"), begun("run", "panel")]


def test_all_else_arrives_as_it_was_said() -> None:
    said = [begun("upload", "panel"), begun("run"), drawn(), begun("run", "panel"), begun("upload"), drawn()]
    said += [begun(""), led("runs"), begun("runs", "lines"), led("runs"), drawn()]
    assert heard(*said) == said
