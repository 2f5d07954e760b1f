"""Waiting for asynchronous work from synchronous code, wherever that is."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["wait_for"]

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; in a thread of its own where this one has an event loop already, as notebooks do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()
