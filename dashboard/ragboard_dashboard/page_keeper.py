"""Middleware that prevents a blank page after the user changes pages during an evaluation.

A page that shows a running evaluation redraws a fragment every second. If the user has just opened another page,
Streamlit may still start a run of this fragment, and tell the browser that the previous page has started. The browser
then clears the current page, and nothing redraws it.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

__all__ = ["PageKeeper"]


class PageKeeper:
    """ASGI middleware: if Streamlit announces a fragment run of an earlier page, it names the current page instead."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the app. On a websocket, correct the messages that are sent."""
        await self._app(scope, receive, _with_open_page(send) if scope["type"] == "websocket" else send)


def _with_open_page(send: Send) -> Send:
    page = ""  # the id that Streamlit gives the page opened last

    async def sending(message: MutableMapping[str, Any]) -> None:
        nonlocal page
        forwarded = ForwardMsg.FromString(message.get("bytes") or b"")
        match forwarded.WhichOneof("type"):
            case "navigation":  # the page that a URL without a page name opens
                page = forwarded.navigation.page_script_hash
            case "new_session" if not forwarded.metadata.run.fragment_ids:
                page = forwarded.new_session.page_script_hash
            case "new_session" if page and forwarded.new_session.page_script_hash != page:
                forwarded.new_session.page_script_hash = page
                message["bytes"] = forwarded.SerializeToString()
            case _:
                pass
        await send(message)

    return sending
