"""The journal: every answered task as one line, written before anything is done with it.

What is in the journal is never asked again. One process writes a journal at a time. Lines are handed
to the operating system one by one and synced to disk in groups, so that a killed process loses
nothing and a power failure loses at most the last group.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from errno import ENOSPC
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from ragboard.errors import StoreBusyError, StoreError
from ragboard.judges.codec import decode_reply, encode
from ragboard.judges.tasks import Exchange, Failure, Reply, Task

__all__ = ["Journal", "open_journal"]

SYNC_SECONDS = 0.5
"""At most this long between two syncs while lines are being written."""


class Journal:
    """Answers by task key, kept in a file; only their places in it are held in memory."""

    def __init__(self, path: Path, reader: BinaryIO, writer: RawIOBase) -> None:
        self._path = path
        self._reader = reader
        self._writer = writer
        self._places: dict[bytes, int] = {}
        self._synced = time.monotonic()
        self._end = self._index()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._places

    def get(self, key: str) -> Reply | Failure | None:
        """The answer kept under this key, or None."""
        place = self._places.get(bytes.fromhex(key))
        if place is None:
            return None
        self._reader.seek(place)
        line = json.loads(self._reader.readline())
        if "failure" in line:
            return Failure(detail=line["failure"])
        return decode_reply(line["task"], line["reply"])

    def put(self, key: str, sample_id: str, task: Task, reply: Reply | Failure, heard: Sequence[Exchange] = ()) -> None:
        """Keep an answer and the calls it took. Raises StoreError where it cannot be written; what was kept stays."""
        head: dict[str, object] = {"key": key, "task": type(task).__name__, "sample": sample_id}
        if heard:
            head["heard"] = [_heard(exchange) for exchange in heard]
        if isinstance(reply, Failure):
            line = json.dumps(head | {"failure": reply.detail}).encode()
        else:
            line = json.dumps(head).encode()[:-1] + b', "reply": ' + encode(reply) + b"}"
        self._append(line + b"\n")
        self._places[bytes.fromhex(key)] = self._end - len(line) - 1

    def sync(self) -> None:
        """Make what was written survive a power failure."""
        os.fsync(self._writer.fileno())
        self._synced = time.monotonic()

    def _append(self, line: bytes) -> None:
        try:
            written = self._writer.write(line)
            if time.monotonic() - self._synced > SYNC_SECONDS:
                self.sync()
        except OSError as error:
            raise StoreError(f"{self._path}: cannot write the journal: {error.strerror or error}") from error
        if written != len(line):
            raise StoreError(f"{self._path}: cannot write the journal: {os.strerror(ENOSPC)}")
        self._end += len(line)

    def _index(self) -> int:
        """Find every whole line, cut off a torn last one, and return where the file ends."""
        end = 0
        for line in self._reader:
            if not line.endswith(b"\n"):
                break
            self._note(line, end)
            end += len(line)
        os.truncate(self._path, end)
        return end

    def _note(self, line: bytes, place: int) -> None:
        try:
            self._places[bytes.fromhex(json.loads(line)["key"])] = place
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{self._path}: damaged at byte {place}; move the file away to evaluate afresh") from error


def _heard(exchange: Exchange) -> dict[str, object]:
    return {
        "said": exchange.said,
        "prompt_tokens": exchange.prompt_tokens,
        "completion_tokens": exchange.completion_tokens,
    }


@contextmanager
def open_journal(path: Path, header: Mapping[str, object]) -> Generator[Journal]:
    """Open or begin the journal at `path`, as its only writer.

    `header` is written beside it, for people and for recovery. Raises StoreBusyError where another
    process writes it, StoreError where it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), timeout=0):
            path.with_suffix(".json").write_text(json.dumps(header, indent=1), encoding="utf-8")
            path.touch()
            with path.open("rb") as reader, path.open("ab", buffering=0) as writer:
                journal = Journal(path, reader, writer)
                yield journal
                journal.sync()
    except Timeout:
        raise StoreBusyError(
            f"{path}: this evaluation is under way in another process; wait for it or stop it"
        ) from None
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from error
