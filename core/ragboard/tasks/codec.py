"""Convert tasks and replies to JSON and back, and compute the key of a task."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import Any

from pydantic import TypeAdapter

from ragboard.tasks.base import Reply, Task
from ragboard.tasks.markup import imitates

__all__ = ["adapter", "encode", "task_key"]

UNASKED = {"against"}
"""Fields of tasks that are in no prompt: only words of the embedded judge's reasons depend on them."""


@cache
def adapter(kind: type[Task | Reply]) -> TypeAdapter[Any]:
    """Return the pydantic adapter that reads and writes values of this type."""
    return TypeAdapter(kind)


def encode(value: Task | Reply) -> bytes:
    """Encode a value as JSON; equal values give equal bytes. An empty history is left out, and what is in no prompt."""
    absent = {*UNASKED, "history"} if getattr(value, "history", None) == () else UNASKED
    return adapter(type(value)).dump_json(value, exclude=absent)


def task_key(task: Task, identity: str) -> str:
    """Return a digest of everything that can change the reply: 32 hexadecimal digits.

    That is the task with its draw, the identity of the judge, and whether the prompt marks its tags.
    """
    digest = blake2b(digest_size=16)
    encoded = encode(task)
    marked = (b"marked",) if task.tags and imitates(encoded.decode(), task.tags) else ()
    for part in (type(task).__name__.encode(), identity.encode(), encoded, *marked):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
