"""The journal: every answered task as one line, written before anything is done with it.

What is in the journal is never asked again. One process writes a journal at a time. Lines are handed
to the operating system one by one and synced to disk in groups, so that a killed process loses
nothing and a power failure loses at most the last group.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from errno import ENOSPC
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from ragboard.errors import StoreBusyError, StoreError
from ragboard.prices import Price, cost
from ragboard.store.journals import GLANCE_SECONDS
from ragboard.tasks import TASK_NAMED, Exchange, Failure, Reply, Task, decode_reply, encode

__all__ = ["Answers", "Journal", "KeptAnswer", "Usage", "is_being_written", "open_journal", "read_answers", "read_kept"]

SYNC_SECONDS = 0.5
"""At most this long between two syncs while lines are being written."""


@dataclass
class Usage:
    """What some calls took, as far as the server said."""

    calls: int = 0
    uncounted: int = 0
    """Calls whose tokens the server did not say."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def add(self, exchange: Exchange) -> None:
        """One call more; embeddings have no completion, and no text either."""
        self.calls += 1
        self.uncounted += exchange.prompt_tokens is None or (exchange.completion_tokens is None and bool(exchange.said))
        self.prompt_tokens += exchange.prompt_tokens or 0
        self.cached_tokens += exchange.cached_tokens or 0
        self.completion_tokens += exchange.completion_tokens or 0

    def cost(self, price: Price | None) -> float | None:
        """US dollars: 0 for no call; None if the tokens of a call or the price is not known."""
        if not self.calls:
            return 0.0
        if self.uncounted:
            return None
        return cost(price, prompt=self.prompt_tokens, completion=self.completion_tokens, cached=self.cached_tokens)

    def join(self, other: Usage) -> None:
        """Count the calls of another too."""
        self.calls += other.calls
        self.uncounted += other.uncounted
        self.prompt_tokens += other.prompt_tokens
        self.cached_tokens += other.cached_tokens
        self.completion_tokens += other.completion_tokens


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    """One line of a journal."""

    key: str
    task: str
    """The name of the task's type."""
    sample: str
    """The id of the sample that it was asked for first."""
    exchanges: tuple[Exchange, ...]
    """The calls that it took; none where no model was asked, or an answer was taken from elsewhere."""
    answer: Reply | Failure


class Answers:
    """Answers by task key, in a file that is only read; their places in it alone are held in memory."""

    def __init__(self, path: Path, reader: BinaryIO) -> None:
        self._path = path
        self._reader = reader
        self._places: dict[bytes, int] = {}
        self.usage: dict[str, Usage] = {}
        """What all calls took, by type of task; those of failed and of repeated tasks too."""
        self._end = self._index()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._places

    def place(self, key: str) -> int | None:
        """The byte at which the line of the answer kept under this key begins, or None."""
        return self._places.get(bytes.fromhex(key))

    def get(self, key: str) -> Reply | Failure | None:
        """The answer kept under this key, or None."""
        place = self.place(key)
        if place is None:
            return None
        with _reading(self._path):
            self._reader.seek(place)
            line = self._reader.readline()
        try:
            return _answer(json.loads(line))
        except _WRONG as error:
            raise self._damaged(place) from error

    def _index(self) -> int:
        """Find every whole line, and return where the last one ends; a torn one after it is not read.

        Of lines that are the same, which a copied file may hold, one counts.
        """
        end, seen = 0, set[int]()
        with _reading(self._path):
            for line in self._reader:
                if not line.endswith(b"\n"):
                    break
                if hash(line) not in seen:
                    seen.add(hash(line))
                    self._note(line, end)
                end += len(line)
        return end

    def _note(self, line: bytes, place: int) -> None:
        try:
            said = json.loads(line)
            key, task, _ = _read_head(said)
            exchanges = _exchanges(said)
        except _WRONG as error:
            raise self._damaged(place) from error
        if "reply" in said or "failure" in said:
            self._places[bytes.fromhex(key)] = place
        self._count(task, exchanges)

    def _damaged(self, place: int) -> StoreError:
        with _reading(self._path):
            self._reader.seek(0)
            number = self._reader.read(place).count(b"\n") + 1
        return StoreError(
            f"{self._path}: line {number} is damaged; delete the line to ask that task again, or move the file away"
            " to evaluate afresh"
        )

    def _count(self, task: str, exchanges: Sequence[Exchange]) -> None:
        for exchange in exchanges:
            self.usage.setdefault(task, Usage()).add(exchange)


class Journal(Answers):
    """Answers, and more to come: the file is cut after its last whole line and written on."""

    def __init__(self, path: Path, reader: BinaryIO, writer: RawIOBase) -> None:
        super().__init__(path, reader)
        os.truncate(path, self._end)
        self._writer = writer
        self._synced = time.monotonic()

    def put(
        self, key: str, sample_id: str, task: Task, reply: Reply | Failure, exchanges: Sequence[Exchange] = ()
    ) -> None:
        """Keep an answer and the calls it took. Raises StoreError where it cannot be written; what was kept stays."""
        head = self._head(key, sample_id, task, exchanges)
        if isinstance(reply, Failure):
            line = json.dumps(head | {"failure": reply.detail}).encode()
        else:
            line = json.dumps(head).encode()[:-1] + b', "reply": ' + encode(reply) + b"}"
        self._places[bytes.fromhex(key)] = self._append(line + b"\n")
        self._count(type(task).__name__, exchanges)

    def put_calls(self, key: str, sample_id: str, task: Task, exchanges: Sequence[Exchange]) -> None:
        """Keep what calls took that led to no answer, where there were any. Raises StoreError as `put` does."""
        if exchanges:
            self._append(json.dumps(self._head(key, sample_id, task, exchanges)).encode() + b"\n")
            self._count(type(task).__name__, exchanges)

    def _head(self, key: str, sample_id: str, task: Task, exchanges: Sequence[Exchange]) -> dict[str, object]:
        """What a line begins with; where calls are in it also its place, so that no two lines are the same."""
        head: dict[str, object] = {"key": key, "task": type(task).__name__, "sample": sample_id}
        if exchanges:
            head["heard"] = [_exchange_data(exchange) for exchange in exchanges]
            head["at"] = self._end
        return head

    def sync(self) -> None:
        """Make what was written survive a power failure. Raises StoreError where the disk refuses."""
        try:
            os.fsync(self._writer.fileno())
        except OSError as error:
            raise self._unwritable(error) from error
        self._synced = time.monotonic()

    def _append(self, line: bytes) -> int:
        """Write a line and return its place; of one that does not fit whole nothing stays."""
        place = self._end
        try:
            whole = self._writer.write(line) == len(line)
            if whole:
                self._end += len(line)
            else:
                os.truncate(self._path, place)
            if time.monotonic() - self._synced > SYNC_SECONDS:
                self.sync()
        except OSError as error:
            raise self._unwritable(error) from error
        if not whole:
            raise self._unwritable(OSError(ENOSPC, os.strerror(ENOSPC)))
        return place

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(f"{self._path}: cannot write the journal: {error.strerror or error}")


@contextmanager
def read_answers(path: Path) -> Generator[Answers | None]:
    """The answers in a journal, also while another process writes it; None where there is no journal yet.

    Raises StoreError where it cannot be read.
    """
    try:
        reader = path.open("rb")
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    with reader:
        yield Answers(path, reader)


@contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: cannot read the journal: {error.strerror or error}") from error


def read_kept(path: Path, places: Iterable[int]) -> tuple[KeptAnswer, ...]:
    """The lines that begin at these bytes of a journal, without reading the others.

    Raises StoreError where the journal is not there or has no line at such a place.
    """
    try:
        with path.open("rb") as reader:
            return tuple(_kept(path, reader, place) for place in places)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def _kept(path: Path, reader: BinaryIO, place: int) -> KeptAnswer:
    reader.seek(place)
    try:
        line = json.loads(reader.readline())
        key, task, sample = _read_head(line)
        return KeptAnswer(key=key, task=task, sample=sample, exchanges=_exchanges(line), answer=_answer(line))
    except _WRONG as error:
        raise StoreError(f"{path}: no answer begins at byte {place}; evaluate again to find them anew") from error


_WRONG = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a line raises that is no JSON or holds something else than a line of a journal."""


def _read_head(line: Mapping[str, Any]) -> tuple[str, str, str]:
    """Key, task type and sample."""
    key, sample = line["key"], line["sample"]
    if not isinstance(sample, str) or bytes.fromhex(key).hex() != key:
        raise TypeError("key or sample")
    return key, TASK_NAMED[line["task"]].__name__, sample


def _answer(line: Mapping[str, Any]) -> Reply | Failure:
    if "failure" not in line:
        return decode_reply(line["task"], line["reply"])
    if not isinstance(line["failure"], str):
        raise TypeError("failure")
    return Failure(detail=line["failure"])


def _exchanges(line: Mapping[str, Any]) -> tuple[Exchange, ...]:
    exchanges: list[dict[str, Any]] = list(line.get("heard", ()))
    if not all(isinstance(one.get("said", ""), str) and isinstance(one.get("cut", False), bool) for one in exchanges):
        raise TypeError("heard")
    return tuple(Exchange(**one) for one in exchanges)


def _exchange_data(exchange: Exchange) -> dict[str, object]:
    """What it was; `cut` only where it was, which is seldom."""
    said = asdict(exchange)
    return said if exchange.cut else {name: value for name, value in said.items() if name != "cut"}


@contextmanager
def open_journal(path: Path, header: Mapping[str, object]) -> Generator[Journal]:
    """Open or begin the journal at `path`, as its only writer.

    `header` is written beside it, for people and for recovery. Raises StoreBusyError where another
    process writes it, StoreError where it cannot be written.
    """
    with ExitStack() as stack:
        journal = _opened(path, header, stack)
        yield journal
        journal.sync()


def _opened(path: Path, header: Mapping[str, object], stack: ExitStack) -> Journal:
    """The journal, locked; the stack lets go of it. What is raised while it is open goes its own way."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(FileLock(path.with_suffix(".lock"), timeout=GLANCE_SECONDS))
        path.with_suffix(".json").write_text(json.dumps(header, indent=1), encoding="utf-8")
        path.touch()
        reader = stack.enter_context(path.open("rb"))
        return Journal(path, reader, stack.enter_context(path.open("ab", buffering=0)))
    except Timeout:
        raise StoreBusyError(f"{path}: this evaluation is running in another process; wait for it or stop it") from None
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from error


def is_being_written(path: Path) -> bool:
    """Whether a process has the journal open to write it. One that was killed has not, whatever its status says."""
    lock = path.with_suffix(".lock")
    try:
        with FileLock(lock, timeout=0, is_singleton=False) if lock.exists() else nullcontext():
            return False
    except (Timeout, PermissionError):
        return True
    except OSError:  # where no file can be made, as on a read-only file system
        return False
