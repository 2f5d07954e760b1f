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
    """ASGI middleware that replaces the page in Streamlit's announcement of a fragment run by the page opened last."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or handle one socket."""
        await self._app(scope, receive, _with_open_page(send) if scope["type"] == "websocket" else send)


def _with_open_page(send: Send) -> Send:
    page = ""

    async def sending(message: MutableMapping[str, Any]) -> None:
        nonlocal page
        forwarded = ForwardMsg.FromString(message.get("bytes") or b"")
        match forwarded.WhichOneof("type"):
            case "navigation":  # the page of a URL without a page name
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
