"""The health route: whether the server stands and the store answers."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ragboard.errors import StoreBusyError, StoreError
from ragboard.store import Store
from ragboard_dashboard.settings import settings

__all__ = ["health_route"]

WAIT_SECONDS = 5.0
"""For others that have the store; then it is busy."""


def _health(_request: Request) -> JSONResponse:
    """`{"status": "ok"}`, or 503 with a reason that names no file."""
    try:
        Store(settings().store, wait=WAIT_SECONDS).check()
    except StoreBusyError:
        return _ill("the store is busy: another process has kept it open")
    except StoreError:
        return _ill("the store cannot be read: see the server's log, or run `ragboard doctor`")
    return JSONResponse({"status": "ok"})


def _ill(reason: str) -> JSONResponse:
    return JSONResponse({"status": "unavailable", "reason": reason}, status_code=503)


health_route = Route("/health", _health, methods=["GET"])
