"""The journal of an evaluation: one line for each answered task, written before the reply is used.

A task with a reply in the journal is not sent again. Only one process at a time writes a journal. A killed process
loses no lines. A power failure can lose the lines since the last sync to disk.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from errno import ENOSPC
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from filelock import FileLock, Timeout

from ragboard.errors import StoreBusyError, StoreError
from ragboard.evaluation.key_index import KeyIndex
from ragboard.prices import Price, cost
from ragboard.store.journals import LOCK_TIMEOUT
from ragboard.tasks import TASKS_BY_NAME, Exchange, Failure, Reply, Task, decode_reply, encode

__all__ = [
    "Journal",
    "JournalEntry",
    "JournalReader",
    "Usage",
    "is_being_written",
    "open_journal",
    "open_reader",
    "read_entries",
    "write_header",
]

SYNC_SECONDS = 0.5
"""Minimum seconds between two syncs."""


@dataclass
class Usage:
    """The number of answered calls, and their tokens as reported by the server."""

    calls: int = 0
    uncounted: int = 0
    """Calls for which the server reported no token usage."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    in_batches: Usage | None = None
    """The part of this usage that was in batches."""

    def add(self, exchange: Exchange) -> None:
        """Add a call. A call without a text is for embeddings, which have no completion tokens."""
        self.calls += 1
        self.uncounted += exchange.prompt_tokens is None or (exchange.completion_tokens is None and bool(exchange.text))
        self.prompt_tokens += exchange.prompt_tokens or 0
        self.cached_tokens += exchange.cached_tokens or 0
        self.completion_tokens += exchange.completion_tokens or 0
        if exchange.batch:
            self.in_batches = self.in_batches or Usage()
            self.in_batches.add(replace(exchange, batch=False))

    def cost(self, price: Price | None) -> float | None:
        """Return the cost in US dollars: 0 without calls, None if the price or a token count is unknown."""
        if not self.calls:
            return 0.0
        if self.uncounted:
            return None
        whole = cost(price, prompt=self.prompt_tokens, completion=self.completion_tokens, cached=self.cached_tokens)
        if price is None or whole is None or self.in_batches is None:
            return whole
        return whole - (1 - price.batch) * (self.in_batches.cost(price) or 0.0)

    def merge(self, other: Usage) -> None:
        """Add the calls of `other`."""
        self.calls += other.calls
        self.uncounted += other.uncounted
        self.prompt_tokens += other.prompt_tokens
        self.cached_tokens += other.cached_tokens
        self.completion_tokens += other.completion_tokens
        if other.in_batches:
            self.in_batches = self.in_batches or Usage()
            self.in_batches.merge(other.in_batches)


@dataclass(frozen=True, kw_only=True)
class JournalEntry:
    """An answered task: one line of a journal."""

    key: str
    task: str
    """The name of the task type."""
    sample: str
    """The id of the sample for which the task was first sent."""
    exchanges: tuple[Exchange, ...]
    """The answered calls; empty if no model was called or the answer is from the cache."""
    answer: Reply | Failure


class JournalReader:
    """Reads answers by task key. Only the byte offsets of the lines are in memory."""

    def __init__(self, path: Path, reader: BinaryIO, start: int = 0) -> None:
        """Read the lines from the byte `start`, or all lines if no line begins there."""
        self._path = path
        self._reader = reader
        self._offsets = KeyIndex()
        self.usage: dict[str, Usage] = {}
        """Calls by task type, including those of failed and repeated tasks."""
        self._end = self._index(start)

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._offsets

    def offset(self, key: str) -> int | None:
        """Return the byte offset of the line with this task key; None if there is no such line."""
        return self._offsets.get(bytes.fromhex(key))

    def get(self, key: str) -> Reply | Failure | None:
        """Return the answer to the task with this key, or None. Raises StoreError if its line is damaged."""
        offset = self.offset(key)
        if offset is None:
            return None
        with _reading(self._path):
            self._reader.seek(offset)
            line = self._reader.readline()
        try:
            return _answer(json.loads(line))
        except _MALFORMED as error:
            raise self._damaged(offset) from error

    def keys_by_offset(self) -> dict[int, bytes]:
        """Return the key of each answer by the byte offset of its line."""
        return {offset: key for key, offset in self._offsets.items()}

    def offsets_by_sample(self) -> dict[str, list[int]]:
        """Return the byte offsets of the answers, by the id of the sample for which the task was first sent."""
        offsets: dict[str, list[int]] = {}
        with _reading(self._path), self._path.open("rb") as reader:
            for offset in sorted(offset for _, offset in self._offsets.items()):
                reader.seek(offset)
                offsets.setdefault(json.loads(reader.readline())["sample"], []).append(offset)
        return offsets

    def lines_at(self, offsets: Iterable[int]) -> Iterator[bytes]:
        """Yield the lines at these byte offsets."""
        with _reading(self._path), self._path.open("rb") as reader:
            for offset in offsets:
                reader.seek(offset)
                yield reader.readline()

    def index_lines(self, offsets: Iterable[int]) -> None:
        """Index the lines at these byte offsets too. Raises StoreError if a line is damaged."""
        for offset in offsets:
            with _reading(self._path):
                self._reader.seek(offset)
                line = self._reader.readline()
            self._index_line(line, offset)

    def line_hashes(self) -> set[int]:
        """Return the hash of every line."""
        with _reading(self._path), self._path.open("rb") as reader:
            return {hash(line) for line in reader}

    def _index(self, start: int) -> int:
        """Index every complete line from `start`, and return the offset at which the last one ends.

        Identical lines count once.
        """
        end, seen = 0, set[int]()
        with _reading(self._path):
            if start:
                self._reader.seek(start - 1)
                end = start if self._reader.read(1) == b"\n" else 0
                self._reader.seek(end)
            for line in self._reader:
                if not line.endswith(b"\n"):
                    break
                if hash(line) not in seen:
                    seen.add(hash(line))
                    self._index_line(line, end)
                end += len(line)
        return end

    def _index_line(self, line: bytes, offset: int) -> None:
        try:
            entry = json.loads(line)
            key, task, _ = _read_head(entry)
            exchanges = _exchanges(entry)
        except _MALFORMED as error:
            raise self._damaged(offset) from error
        if "reply" in entry or "failure" in entry:
            self._offsets[bytes.fromhex(key)] = offset
        self._count(task, exchanges)

    def _damaged(self, offset: int) -> StoreError:
        with _reading(self._path):
            self._reader.seek(0)
            number = self._reader.read(offset).count(b"\n") + 1
        return StoreError(
            f"{self._path}: line {number} is damaged; delete the line to send this task again, or move the file away"
            " to evaluate from the start"
        )

    def _count(self, task: str, exchanges: Sequence[Exchange]) -> None:
        for exchange in exchanges:
            self.usage.setdefault(task, Usage()).add(exchange)


class Journal(JournalReader):
    """A journal that is open for writing. An incomplete line at the end is removed, and new lines are appended."""

    def __init__(self, path: Path, reader: BinaryIO, writer: RawIOBase, start: int = 0) -> None:
        super().__init__(path, reader, start)
        os.truncate(path, self._end)
        self._writer = writer
        self._synced = time.monotonic()

    def put(
        self,
        key: str,
        sample_id: str,
        task: Task,
        reply: Reply | Failure,
        exchanges: Sequence[Exchange] = (),
        encoded: bytes | None = None,
    ) -> None:
        """Append an answer and its calls. Raises StoreError if it cannot be written; earlier lines are not affected.

        `encoded` is the result of `encode(reply)`, if it is known.
        """
        head = self._entry_head(key, sample_id, task, exchanges)
        if isinstance(reply, Failure):
            line = _json(head | {"failure": reply.detail})
        else:
            line = _json(head)[:-1] + b',"reply":' + (encoded or encode(reply)) + b"}"
        self._offsets[bytes.fromhex(key)] = self._append(line + b"\n")
        self._count(type(task).__name__, exchanges)

    def put_calls(self, key: str, sample_id: str, task: Task, exchanges: Sequence[Exchange]) -> None:
        """Append calls that led to no answer, if there are any. Raises StoreError as `put` does."""
        if exchanges:
            self._append(_json(self._entry_head(key, sample_id, task, exchanges)) + b"\n")
            self._count(type(task).__name__, exchanges)

    def extend(self, lines: Iterable[bytes]) -> None:
        """Append lines of other journals of the same evaluation.

        Raises StoreError if a line is damaged or cannot be written.
        """
        for line in lines:
            self._index_line(line, self._append(line))

    def _entry_head(self, key: str, sample_id: str, task: Task, exchanges: Sequence[Exchange]) -> dict[str, object]:
        """Return the first fields of a line. A line with calls has its offset, so no two such lines are identical."""
        head: dict[str, object] = {"key": key, "task": type(task).__name__, "sample": sample_id}
        if exchanges:
            head["heard"] = [_exchange_data(exchange) for exchange in exchanges]
            head["at"] = self._end
        return head

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self._end

    def sync(self) -> None:
        """Sync all lines to disk, so they survive a power failure. Raises StoreError if that fails."""
        try:
            os.fsync(self._writer.fileno())
        except OSError as error:
            raise self._unwritable(error) from error
        self._synced = time.monotonic()

    def _append(self, line: bytes) -> int:
        """Write a line and return its offset. If the disk is full, an incomplete line is removed again."""
        offset = self._end
        try:
            whole = self._writer.write(line) == len(line)
            if whole:
                self._end += len(line)
            else:
                os.truncate(self._path, offset)
            if time.monotonic() - self._synced > SYNC_SECONDS:
                self.sync()
        except OSError as error:
            raise self._unwritable(error) from error
        if not whole:
            raise self._unwritable(OSError(ENOSPC, os.strerror(ENOSPC)))
        return offset

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(f"{self._path}: cannot write the journal: {error.strerror or error}")


@contextmanager
def open_reader(path: Path, start: int = 0) -> Generator[JournalReader | None]:
    """Open a journal to read its lines from the byte `start`, even while another process writes it.

    Yields None if there is no journal yet. Raises StoreError if it cannot be read.
    """
    try:
        reader = path.open("rb")
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    with reader:
        yield JournalReader(path, reader, start)


@contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: cannot read the journal: {error.strerror or error}") from error


def read_entries(path: Path, offsets: Iterable[int]) -> tuple[JournalEntry, ...]:
    """Return the entries at these byte offsets of a journal, without reading other entries.

    Raises StoreError if the journal does not exist, or no entry begins at an offset.
    """
    try:
        with path.open("rb") as reader:
            return tuple(_read_entry(path, reader, offset) for offset in offsets)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def _read_entry(path: Path, reader: BinaryIO, offset: int) -> JournalEntry:
    reader.seek(offset)
    try:
        line = json.loads(reader.readline())
        key, task, sample = _read_head(line)
        return JournalEntry(key=key, task=task, sample=sample, exchanges=_exchanges(line), answer=_answer(line))
    except _MALFORMED as error:
        raise StoreError(
            f"{path}: no answer begins at byte {offset}; evaluate the run again to record its calls"
        ) from error


def _json(line: Mapping[str, object]) -> bytes:
    try:
        return orjson.dumps(line)
    except TypeError:  # a text with a lone surrogate
        return json.dumps(line).encode()


_FIELDS = {"said": "text", "cut": "truncated"}
"""The fields of `Exchange` that have another name in the journal, by that name."""

_KEYS = {
    next((key for key, renamed in _FIELDS.items() if renamed == each.name), each.name): each.name
    for each in fields(Exchange)
}
"""All fields of `Exchange` by their names in the journal."""

_FLAGS = ("cut", "batch")
"""Keys of an exchange that are only written if they are true."""

_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""The errors that parsing an invalid line can raise."""


def _read_head(line: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the key, the task type's name and the sample id of a line."""
    key, sample = line["key"], line["sample"]
    if not isinstance(sample, str) or bytes.fromhex(key).hex() != key:
        raise TypeError("key or sample")
    return key, TASKS_BY_NAME[line["task"]].__name__, sample


def _answer(line: Mapping[str, Any]) -> Reply | Failure:
    if "failure" not in line:
        return decode_reply(line["task"], line["reply"])
    if not isinstance(line["failure"], str):
        raise TypeError("failure")
    return Failure(detail=line["failure"])


def _exchanges(line: Mapping[str, Any]) -> tuple[Exchange, ...]:
    exchanges: list[dict[str, Any]] = list(line.get("heard", ()))
    for data in exchanges:
        if not (isinstance(data.get("said", ""), str) and {type(data.get(name, False)) for name in _FLAGS} == {bool}):
            raise TypeError("heard")
    return tuple(
        Exchange(**{_FIELDS.get(key, key): value for key, value in exchange.items()}) for exchange in exchanges
    )


def _exchange_data(exchange: Exchange) -> dict[str, object]:
    """Return the fields of an exchange by their names in the journal."""
    data = {key: getattr(exchange, name) for key, name in _KEYS.items()}
    return {key: value for key, value in data.items() if value or key not in _FLAGS}


@contextmanager
def open_journal(path: Path, header: Mapping[str, object], start: int = 0) -> Generator[Journal]:
    """Open or create the journal at `path`, as its only writer. Only the lines from the byte `start` are read.

    `header` is written to a JSON file next to it. Raises StoreBusyError if another process writes the journal,
    StoreError if it cannot be written.
    """
    with ExitStack() as stack:
        journal = _lock_and_open(path, header, stack, start)
        yield journal
        journal.sync()


def _lock_and_open(path: Path, header: Mapping[str, object], stack: ExitStack, start: int) -> Journal:
    """Lock and open the journal. The stack closes it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(FileLock(path.with_suffix(".lock"), timeout=LOCK_TIMEOUT))
        write_header(path, header)
        path.touch()
        reader = stack.enter_context(path.open("rb"))
        return Journal(path, reader, stack.enter_context(path.open("ab", buffering=0)), start)
    except Timeout:
        raise StoreBusyError(f"{path}: this evaluation is running in another process; wait for it or stop it") from None
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from error


def write_header(path: Path, header: Mapping[str, object]) -> None:
    """Write the header file of the journal at `path`, atomically, because other processes may be reading it."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(header, indent=1), encoding="utf-8")
    draft.replace(path.with_suffix(".json"))


def is_being_written(path: Path) -> bool:
    """Return whether a living process has the journal open for writing."""
    lock = path.with_suffix(".lock")
    try:
        with FileLock(lock, timeout=0, is_singleton=False) if lock.exists() else nullcontext():
            return False
    except (Timeout, PermissionError):
        return True
    except OSError:  # no lock file can be created, as on a read-only file system
        return False
