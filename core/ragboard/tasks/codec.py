"""Tasks and replies as JSON and back, and the key under which an answer is kept."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import Any

from pydantic import TypeAdapter

from ragboard.tasks.base import Reply, Task
from ragboard.tasks.markup import imitates

__all__ = ["adapter", "encode", "task_key"]


@cache
def adapter(kind: type[Task | Reply]) -> TypeAdapter[Any]:
    """Reads and writes values of this type."""
    return TypeAdapter(kind)


def encode(value: Task | Reply) -> bytes:
    """The value's JSON: the same value gives the same bytes. A task without history has none there either."""
    absent = {"history"} if getattr(value, "history", None) == () else None
    return adapter(type(value)).dump_json(value, exclude=absent)


def task_key(task: Task, identity: str) -> str:
    """Digest of all that could change the answer: the task, its draw, who is asked, and whether tags are marked."""
    digest = blake2b(digest_size=16)
    encoded = encode(task)
    marked = (b"marked",) if task.tags and imitates(encoded.decode(), task.tags) else ()
    for part in (type(task).__name__.encode(), identity.encode(), encoded, *marked):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
