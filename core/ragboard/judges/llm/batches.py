"""Send requests in batches (`POST /files`, `POST /batches`), which a server answers within hours at a lower price.

`BatchQueue` collects requests until no new ones arrive, because all samples of the evaluation wait for replies. Then it
submits them as a batch, waits for the batch, and gives each request its response.

`BatchRecord` stores the id of each batch. A restarted process makes the same requests and finds their responses in the
recorded batches by name. A request's name has three parts: the key of its task, a digest of its body, and how many
times this body was sent for this task.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ragboard.errors import JudgeError, SettingError, StoreError
from ragboard.judges.base import Judge, LimitReachedError
from ragboard.judges.llm.endpoint import TRANSFER_SECONDS, Endpoint, ErrorResponse, GaveUpError
from ragboard.judges.llm.responses import CallFailedError, MalformedResponseError

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch

__all__ = ["BatchQueue", "BatchRecord", "batch_endpoint"]

T = TypeVar("T")

MAX_REQUESTS = 50_000
"""Maximum number of requests in a batch. For embeddings, each text counts."""
MAX_BYTES = 190_000_000
"""Maximum size of a batch's file. Servers accept 200 MB."""

QUIET_SECONDS = 0.5
"""Seconds without a new request after which a batch is submitted."""
QUIET_TURNS = 50
"""Turns of the event loop after `QUIET_SECONDS`, in which coroutines that are ready can still add requests."""

FIRST_PAUSE = 2.0
"""Seconds between the first two checks of a batch's state."""
PAUSE_GROWTH = 1.5
"""Each further pause between checks is longer by this factor."""

MAX_LISTED_BATCHES = 500
"""Maximum number of the server's batches that are searched for a batch whose id was not recorded."""

_FINAL_STATES = frozenset({"completed", "failed", "expired", "cancelled"})
_NOT_RUN = frozenset({"batch_expired", "batch_cancelled"})
"""Error codes of requests that were not run, because their batch ended."""
_NO_ENDPOINT = frozenset({404, 405, 501})
"""Statuses of servers that support no batches."""
_TOO_MANY_TOKENS = "token_limit_exceeded"
"""The error code of a batch that the server rejects because too many tokens already wait there."""

BatchResult: TypeAlias = "str | Exception | None"
"""The body of a response, an error, or None if the request was not run."""


@dataclass(frozen=True, kw_only=True)
class _SubmittedBatch:
    """An uploaded file of requests, and its batch."""

    file: str
    batch: str | None
    """The id of the batch; None if the process ended before the id was recorded."""
    requests: tuple[str, ...]
    """Names of the requests that are not answered yet."""
    resumed: bool = False
    """Whether an earlier process submitted it."""


def batch_endpoint(judge: Judge) -> Endpoint | None:
    """Return the judge's endpoint if its requests are sent in batches, else None."""
    endpoint = getattr(judge, "endpoint", None)
    return endpoint if isinstance(endpoint, Endpoint) and endpoint.batch else None


class BatchRecord:
    """A file that records submitted batches. It has a JSON line for each uploaded file and for each batch id.

    `is_answered(key, retry)` returns whether the task with this key has a reply, so its requests are not needed.
    `retry` is True if the request was sent to retry failed tasks.
    """

    def __init__(self, path: Path, *, is_answered: Callable[[str, bool], bool], retry: bool = False) -> None:
        self.path = path
        self._is_answered = is_answered
        self._retry = retry

    def load(self, server: str) -> list[_SubmittedBatch]:
        """Return the batches submitted to a server, with the requests that are still needed.

        A request that is in several batches is listed only in the last of them. Raises StoreError if the file cannot be
        read.
        """
        files: dict[str, tuple[str, ...]] = {}
        batches: dict[str, str] = {}
        for line in self._lines():
            if "batch" in line:
                batches[line["file"]] = line["batch"]
            elif line["server"] == server:
                names = [name for name in line["requests"] if not self._is_obsolete(name, retry=line["retry"])]
                again = set(names)
                files = {file: tuple(name for name in earlier if name not in again) for file, earlier in files.items()}
                files[line["file"]] = tuple(names)
        return [
            _SubmittedBatch(file=file, batch=batches.get(file), requests=requests, resumed=True)
            for file, requests in files.items()
            if requests
        ]

    def _is_obsolete(self, name: str, *, retry: bool) -> bool:
        """Return whether a request is no longer needed, because its task has a reply."""
        return self._is_answered(name.partition("-")[0], retry)

    def add_file(self, server: str, file: str, requests: Sequence[str]) -> None:
        """Record a file of requests before its batch is submitted."""
        self._append({"server": server, "file": file, "retry": self._retry, "requests": requests})

    def add_batch(self, file: str, batch: str) -> None:
        """Record the batch of a file."""
        self._append({"file": file, "batch": batch})

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yield the lines. A line that a killed process left incomplete is skipped."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.path}: cannot read the submitted batches: {error}") from error
        for line in text.split("\n")[:-1]:
            try:
                yield json.loads(line)
            except ValueError:
                continue

    def _append(self, line: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self.path}: cannot record a batch: {error.strerror or error}") from error


@dataclass
class _PendingRequest:
    """A request that waits for its response."""

    route: str
    body: Mapping[str, Any]
    answer: asyncio.Future[str]

    @property
    def group(self) -> tuple[str, str]:
        """Path and model, which must be the same for all requests of a batch."""
        return self.route, str(self.body.get("model"))

    @property
    def size(self) -> int:
        """The number of texts to embed, or 1 for other requests. It counts towards `MAX_REQUESTS`."""
        texts = self.body.get("input")
        return len(texts) if isinstance(texts, list) else 1

    def line(self, name: str) -> bytes:
        """Return the request's line in the file of a batch."""
        line = {"custom_id": name, "method": "POST", "url": f"/v1{self.route}", "body": self.body}
        return json.dumps(line).encode() + b"\n"


@dataclass
class BatchQueue:
    """Sends the requests of one evaluation to a server in batches, in one event loop.

    `on_change` is called with the difference whenever the number of requests at the server changes.
    """

    endpoint: Endpoint
    record: BatchRecord
    on_change: Callable[[int], None] = lambda _: None
    _waiting: dict[str, _PendingRequest] = field(default_factory=dict[str, _PendingRequest])
    """The requests without a response, by name."""
    _unsent: list[str] = field(default_factory=list[str])
    """Names of the requests for the next batch."""
    _at_server: set[str] = field(default_factory=set[str])
    """Names of the requests in submitted batches."""
    _undelivered: dict[str, str | Exception] = field(default_factory=dict[str, "str | Exception"])
    """Responses from batches of an earlier process, by name, to requests that this process has not made yet."""
    _sent: Counter[str] = field(default_factory=Counter[str])
    """How many times each body was sent for each task."""
    _max_requests: int = MAX_REQUESTS
    """Maximum number of requests in a batch. It is halved when the server rejects a batch with too many tokens."""
    _additions: int = 0
    """How many names were added to `_unsent` so far."""
    _open_batches: int = 0
    """Number of batches at the server."""
    _resumed: bool = False
    """Whether the batches of an earlier process have been loaded."""
    _flushing: asyncio.Task[None] | None = None
    """The task that submits the unsent requests; None before the first request."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _closed: Exception | None = None
    """The error that every request raises after the queue is closed; None while it is open."""

    def __post_init__(self) -> None:
        """Raise SettingError if the address has no path for batches."""
        if self.endpoint.route("batches") != "/batches":
            raise SettingError(
                "--batch: a classic Azure address has no batches; use https://NAME.openai.azure.com/openai/v1"
            )

    async def send(self, key: str, route: str, body: Mapping[str, Any]) -> str:
        """Send a request in the next batch, and return the body of its response.

        Raises ErrorResponse for an error response, LimitReachedError after `abandon`, JudgeError if no batch can
        succeed.
        """
        if self._closed:
            raise self._closed
        if not self._resumed:
            self._resume()
        name = self._name(key, route, body)
        pending = _PendingRequest(route, body, asyncio.get_running_loop().create_future())
        self._waiting[name] = pending
        if name in self._undelivered:
            self._deliver(name, self._undelivered.pop(name))
        elif name not in self._at_server:
            self._enqueue(name)
        try:
            return await pending.answer
        finally:
            self._waiting.pop(name, None)

    def abandon(self, reason: str) -> None:
        """Stop waiting. The batches continue at the server, and a restarted process collects their responses."""
        self._close(LimitReachedError(reason))

    def _name(self, key: str, route: str, body: Mapping[str, Any]) -> str:
        digest = blake2b(json.dumps([route, body]).encode(), digest_size=8).hexdigest()
        name = f"{key}-{digest}"
        self._sent[name] += 1
        return f"{name}-{self._sent[name]}"

    def _resume(self) -> None:
        """Collect the batches that an earlier process submitted."""
        self._resumed = True
        for submitted in self.record.load(self.endpoint.address):
            self._add_at_server(submitted.requests)
            self._start_collecting(submitted)

    def _enqueue(self, *names: str) -> None:
        """Add requests to `_unsent`, and start a task that submits them if none is running."""
        self._unsent += names
        self._additions += len(names)
        if self._unsent and (self._flushing is None or self._flushing.done()):
            self._flushing = self._start_task(self._flush())

    async def _flush(self) -> None:
        """Submit batches until no requests are left. Before each round, wait until no new requests arrive."""
        while self._unsent and self._may_submit:
            await self._wait_for_quiet()
            ready, self._unsent = [name for name in self._unsent if name in self._waiting], []
            while ready and self._may_submit:
                taken, content = self._compose_file(ready)
                ready = [name for name in ready if name not in taken]
                await self._submit(list(taken), content)
            self._unsent = ready + self._unsent

    @property
    def _may_submit(self) -> bool:
        """Whether another batch may be submitted. After a batch with too many tokens, only one may be open."""
        return not self._open_batches or self._max_requests == MAX_REQUESTS

    async def _wait_for_quiet(self) -> None:
        """Wait until no new requests arrive."""
        seen = -1
        while seen != self._additions:
            seen = self._additions
            await asyncio.sleep(QUIET_SECONDS)
            for _ in range(QUIET_TURNS):
                await asyncio.sleep(0)

    def _compose_file(self, ready: Sequence[str]) -> tuple[dict[str, None], bytes]:
        """Choose requests for one batch. Return their names and the content of the batch's file."""
        group = self._waiting[ready[0]].group
        lines: dict[str, bytes] = {}
        room, size = self._max_requests, 0
        for name in ready:
            pending = self._waiting.get(name)
            if pending is None or pending.group != group:
                continue
            line = pending.line(name)
            room, size = room - pending.size, size + len(line)
            if lines and (room < 0 or size > MAX_BYTES):
                break
            lines[name] = line
        return dict.fromkeys(lines), b"".join(lines.values())

    async def _submit(self, names: list[str], content: bytes) -> None:
        route = self._waiting[names[0]].route

        async def upload(client: AsyncOpenAI) -> str:
            given = ("requests.jsonl", content)
            return (await client.files.create(file=given, purpose="batch", timeout=TRANSFER_SECONDS)).id

        self._add_at_server(names)
        file = await self._submission_step(upload)
        self.record.add_file(self.endpoint.address, file, names)
        batch = await self._create(file, route)
        self._start_collecting(_SubmittedBatch(file=file, batch=batch, requests=tuple(names)))

    async def _create(self, file: str, route: str) -> str:
        """Submit a batch and return its id. A retry first checks whether the server already has the batch."""
        search = False

        async def create(client: AsyncOpenAI) -> str:
            nonlocal search
            found = await _find_batch(client, file) if search else None
            search = True
            if found is None:
                endpoint: Any = f"/v1{route}"
                batch = await client.batches.create(input_file_id=file, endpoint=endpoint, completion_window="24h")
                found = batch.id
            return found

        batch = await self._submission_step(create)
        self.record.add_batch(file, batch)
        return batch

    async def _submission_step(self, operate: Callable[[AsyncOpenAI], Awaitable[T]]) -> T:
        """Run one step of a submission. Raises JudgeError if the server has no batches or rejects the step."""
        from openai import APIStatusError

        async def guarded(client: AsyncOpenAI) -> T:
            try:
                return await operate(client)
            except APIStatusError as error:
                if error.status_code in _NO_ENDPOINT:
                    raise JudgeError(
                        f"{self.endpoint.address} does not support batches (status {error.status_code});"
                        " leave out --batch"
                    ) from error
                raise

        try:
            return await self.endpoint.run_operation(guarded, TRANSFER_SECONDS)
        except CallFailedError as error:
            raise JudgeError(f"{self.endpoint.address}: the batch cannot be submitted: {error}") from error

    def _start_collecting(self, submitted: _SubmittedBatch) -> None:
        self._open_batches += 1
        self._start_task(self._collect(submitted))

    async def _collect(self, submitted: _SubmittedBatch) -> None:
        """Wait until a batch ends, and give the requests their responses. Requests that were not run are sent again."""
        try:
            ended = await self._wait_until_ended(submitted)
            if ended is None:
                results: dict[str, BatchResult] = {}
            else:
                files = [file for file in (ended.output_file_id, ended.error_file_id) if file]
                results = {name: result for file in files for name, result in await self._fetch_results(file)}
        finally:
            self._open_batches -= 1
        self._remove_at_server(submitted.requests)
        again: list[str] = []
        for name in submitted.requests:
            result = results.get(name)
            if result is None and ended is not None and ended.status == "completed" and name not in results:
                result = MalformedResponseError("the batch has no response to this request")
            if result is not None:
                self._deliver(name, result)
            elif name in self._waiting:
                again.append(name)
        if ended is not None and not submitted.resumed:
            self._raise_if_rejected(ended, submitted)
        self._enqueue(*again)

    def _raise_if_rejected(self, ended: Batch, submitted: _SubmittedBatch) -> None:
        """Raise JudgeError if the batch was cancelled or rejected. If it had too many tokens, halve `_max_requests`."""
        address = self.endpoint.address
        if ended.status == "cancelled":
            raise JudgeError(
                f"{address}: batch {ended.id} was cancelled; run the same command again to submit its open requests"
            )
        if ended.status != "failed":
            return
        errors = ended.errors.data or [] if ended.errors else []
        if errors and errors[0].code == _TOO_MANY_TOKENS and len(submitted.requests) > 1:
            self._max_requests = max(1, min(self._max_requests, len(submitted.requests)) // 2)
            return
        reason = next((error.message for error in errors if error.message), None) or "no reason given"
        line = f" (line {errors[0].line})" if errors and errors[0].line else ""
        raise JudgeError(f"{address}: batch {ended.id} was rejected: {self.endpoint.safe_message(reason)}{line}")

    async def _wait_until_ended(self, submitted: _SubmittedBatch) -> Batch | None:
        """Wait until the batch has ended, and return it; None if only its file was uploaded."""
        from openai import NotFoundError

        batch_id = submitted.batch

        async def retrieve(client: AsyncOpenAI) -> Batch | None:
            nonlocal batch_id
            if batch_id is None:
                batch_id = await _find_batch(client, submitted.file)
                if batch_id is None:
                    return None
                self.record.add_batch(submitted.file, batch_id)
            try:
                return await client.batches.retrieve(batch_id)
            except NotFoundError as error:
                raise JudgeError(
                    f"{self.endpoint.address} does not have batch {batch_id}: use the key that it was submitted with,"
                    f" or delete {self.record.path} to submit its requests again"
                ) from error

        pause = min(FIRST_PAUSE, self.endpoint.batch_interval)
        while True:
            found = await self._retry_until_success(retrieve)
            if found is None or found.status in _FINAL_STATES:
                return found
            await asyncio.sleep(pause)
            pause = min(pause * PAUSE_GROWTH, self.endpoint.batch_interval)

    async def _fetch_results(self, file: str) -> list[tuple[str, BatchResult]]:
        async def fetch(client: AsyncOpenAI) -> bytes:
            return (await client.files.content(file, timeout=TRANSFER_SECONDS)).content

        content = await self._retry_until_success(fetch, TRANSFER_SECONDS)
        return list(_parse_results(content.split(b"\n")))

    async def _retry_until_success(
        self, operate: Callable[[AsyncOpenAI], Awaitable[T]], timeout: float | None = None
    ) -> T:
        """Repeat an operation until it succeeds, because the server may be unreachable for a while."""
        while True:
            try:
                return await self.endpoint.run_operation(operate, timeout)
            except GaveUpError:
                await asyncio.sleep(self.endpoint.batch_interval)
            except CallFailedError as error:
                raise JudgeError(f"{self.endpoint.address}: the batch cannot be collected: {error}") from error

    def _deliver(self, name: str, result: str | Exception) -> None:
        """Give a request its response, or keep the response if this process has not made the request yet."""
        pending = self._waiting.get(name)
        if pending is None:
            self._undelivered[name] = result
        elif pending.answer.done():
            return
        elif isinstance(result, Exception):
            pending.answer.set_exception(result)
        else:
            pending.answer.set_result(result)

    def _add_at_server(self, names: Iterable[str]) -> None:
        before = len(self._at_server)
        self._at_server.update(names)
        self.on_change(len(self._at_server) - before)

    def _remove_at_server(self, names: Iterable[str]) -> None:
        before = len(self._at_server)
        self._at_server.difference_update(names)
        self.on_change(len(self._at_server) - before)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a background task. If it fails, all waiting requests raise its error."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - all waiting requests raise it
                self._close(error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _close(self, error: Exception) -> None:
        if self._closed:
            return
        self._closed = error
        for pending in self._waiting.values():
            if not pending.answer.done():
                pending.answer.set_exception(error)
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()


async def _find_batch(client: AsyncOpenAI, file: str) -> str | None:
    """Return the id of the batch for a file; None if it is not found or the server does not list its batches."""
    from openai import APIStatusError

    seen = 0
    try:
        async for batch in client.batches.list(limit=100):
            if batch.input_file_id == file:
                return batch.id
            seen += 1
            if seen >= MAX_LISTED_BATCHES:
                return None
    except APIStatusError as error:
        if error.status_code not in _NO_ENDPOINT:
            raise
    return None


def _parse_results(lines: Iterable[bytes]) -> Iterator[tuple[str, BatchResult]]:
    """Yield the name and the result of each request. Malformed lines are skipped."""
    for line in lines:
        try:
            data = json.loads(line) if line.strip() else {}
            name = data.get("custom_id")
            if isinstance(name, str):
                yield name, _parse_result(data.get("response"), data.get("error"))
        except (ValueError, AttributeError, RecursionError):
            continue


def _parse_result(response: Any, error: Any) -> BatchResult:
    if not response:
        if isinstance(error, dict) and error.get("code") in _NOT_RUN:
            return None
        return MalformedResponseError(f"the batch has no response to this request: {json.dumps(error)[:200]}")
    body = response.get("body")
    text = body if isinstance(body, str) else json.dumps(body)
    status = response.get("status_code") or 200
    if status < 400:
        return text
    return ErrorResponse.read(status, {}, text)
