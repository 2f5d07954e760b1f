"""Convert tasks and replies to JSON and back, and compute the key of a task."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any, cast

import orjson
from pydantic import TypeAdapter

from ragboard.tasks.base import Reply, Task
from ragboard.tasks.markup import contains_tag

__all__ = ["adapter", "encode", "task_json", "task_key"]

NOT_IN_PROMPT = {"against"}
"""Task fields that are in no prompt and no task key. They change only the wording of the embedded judge's reasons."""


@cache
def adapter(kind: type[Task | Reply]) -> TypeAdapter[Any]:
    """Return the pydantic adapter that validates and serializes values of this type."""
    return TypeAdapter(kind)


def encode(value: Task | Reply) -> bytes:
    """Return the value as JSON, without the fields in `NOT_IN_PROMPT` and without an empty history."""
    if isinstance(value, Task):
        given = {name: getattr(value, name) for name in _encoded_fields(type(value))}
        if given.get("history") == ():
            del given["history"]
        with suppress(TypeError):  # pydantic encodes what orjson cannot, such as an integer above 64 bits
            return orjson.dumps(given)
    excluded = {*NOT_IN_PROMPT, "history"} if getattr(value, "history", None) == () else NOT_IN_PROMPT
    return adapter(type(value)).dump_json(value, exclude=excluded)


@cache
def _encoded_fields(kind: type[Task]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast("Any", kind)) if field.name not in NOT_IN_PROMPT)


@lru_cache(maxsize=256)
def task_json(task: Task) -> str:
    """Return the result of `encode` as text. Cached, because both the task's key and its prompt need it."""
    return encode(task).decode()


@lru_cache(maxsize=256)
def task_key(task: Task, identity: str) -> str:
    """Return a digest of everything that can change the reply: 32 hexadecimal digits.

    It covers the task, the judge's identity, and whether the prompt marks its tags (see `markup`).
    """
    encoded = task_json(task)
    marked = (b"marked",) if task.tags and contains_tag(encoded, task.tags) else ()
    parts = (type(task).__name__.encode(), identity.encode(), encoded.encode(), *marked)
    return blake2b(b"".join([len(part).to_bytes(8, "big") + part for part in parts]), digest_size=16).hexdigest()
