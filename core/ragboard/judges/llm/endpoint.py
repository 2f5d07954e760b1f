"""Call an OpenAI-compatible server, with rate limits, retries, and errors that contain no secrets."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from ragboard.errors import JudgeError, SettingError
from ragboard.judges.base import LimitReachedError, RequestMeter
from ragboard.judges.llm.responses import CallFailedError, MalformedResponseError, error_fields, error_message
from ragboard.judges.llm.traffic import Limits, Traffic
from ragboard.judges.llm.transport import Transport, tls_context
from ragboard.judges.redact import NOTHING_REDACTED, Redaction
from ragboard.judges.secrets import MASK, is_credential, public_query, secret_masker, short_secret_pattern
from ragboard.tasks import Task, task_key

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = [
    "FORMAT_NAMED",
    "SECRET_HEADERS",
    "TRANSFER_SECONDS",
    "Endpoint",
    "ErrorResponse",
    "GaveUpError",
    "RefusedError",
    "Send",
    "SendQueue",
    "openai_endpoint",
    "read_headers",
    "require_address",
]

T = TypeVar("T")

Send: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""Sends a request, given its path below the base URL and its body, and returns the body of the response."""

RETRIES = 5
"""Maximum number of times that a request is sent again."""
FIRST_PAUSE = 0.2
"""Seconds before the first retry. Each further pause is twice as long, plus a random part of at most half its length.

There is no pause after a timeout. A timeout, or a pause that the server requests, does not lengthen the next pause. The
five pauses together last six to nine seconds, so an evaluation survives the restart of a server."""
TRANSFER_SECONDS = 3600.0
"""Maximum seconds to send or fetch a file of a batch."""
MAX_PAUSE = 60.0
"""Maximum seconds before a retry. If the server requests a longer pause, the request fails."""
MAX_ERROR_CHARS = 300
"""Maximum characters of an error message."""

_DEPLOYMENT = re.compile(r"/openai/deployments/(?P<name>[^/]+)/?$")
"""Matches the end of a classic Azure address."""

OFFICIAL = "https://api.openai.com/v1"
SECRET_HEADERS = "RAGBOARD_SECRET_HEADERS"  # noqa: S105 - the name of a variable
NO_KEY = "none"
"""The key that is sent to servers that need no key."""

_FATAL_STATUSES = {
    401: "the key is refused",
    402: "the account has no credit, or too little",
    403: "access is denied",
    404: "there is no such model or address",
}
"""Statuses after which no request of the evaluation can succeed, with their meaning."""
_NO_PROVIDER = re.compile(r"no (?:allowed )?(?:endpoints|providers)", re.I)
"""Matches the error (404) of a gateway that has no provider for the model."""

FORMAT_NAMED = re.compile(
    r"response_?format|json_?schema|json_?object|json mode|structured output|guided|grammar|\bschema\b", re.I
)
"""Matches an error that names the requested format of replies."""
_FORMAT_REFUSED_STATUSES = frozenset({404, 405, 415, 500, 501})
"""Statuses of errors about the format of replies, besides 400 and 422."""

_RETRY_STATUSES = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which a request is sent again. After 500 and above, it is always sent again."""
_TIMEOUT_STATUSES = frozenset({408, 502, 504, 524})
"""Statuses of a server that stopped waiting for the model. The model may have replied, so the request may be billed."""
FIRST_ERROR_STATUS = 300
"""The lowest status that is an error. Redirects are followed, so a response with a status below 400 is an error too."""
_OVERLOAD_STATUSES = frozenset({429, 503})
"""Statuses of a server that gets too many requests."""


class RefusedError(CallFailedError):
    """The server rejected the request, with status 400 or 422 or because of the requested format of replies."""

    def __init__(self, message: str, param: str | None) -> None:
        self.param = param
        super().__init__(message)


class GaveUpError(CallFailedError):
    """All attempts of a request failed, or the server requested a long pause. The request can succeed later."""


class ErrorResponse(Exception):  # noqa: N818 - a response; it may become one of several errors
    """A response with status `FIRST_ERROR_STATUS` or above."""

    def __init__(
        self, status: int, message: str, *, code: str | None = None, param: str | None = None, retry_after: str = ""
    ) -> None:
        self.status = status
        self.code = code
        self.param = param
        self.retry_after = retry_after
        super().__init__(f"status {status}: {message or 'no reason given'}")

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], body: str) -> ErrorResponse:
        """Read the response of a server."""
        code, param = error_fields(body)
        return cls(status, error_message(body), code=code, param=param, retry_after=headers.get("retry-after", ""))


class SendQueue(Protocol):
    """Collects requests, sends them together, and returns the body of the response to each."""

    async def send(self, key: str, route: str, body: Mapping[str, Any], /) -> str:
        """Send a request. `key` distinguishes requests with the same body. Raises ErrorResponse for an error status."""
        ...


@dataclass
class _Session:
    """The connections of one event loop."""

    open_client: Callable[..., AsyncOpenAI]
    transport: Transport
    traffic: Traffic
    users: int = 0
    """Number of calls in progress."""
    closed: JudgeError | None = None
    """The error that all calls in progress raise, because no request can succeed; None while requests may be sent."""

    @cached_property
    def client(self) -> AsyncOpenAI:
        """The SDK client, for operations that call no model."""
        from openai import DefaultAioHttpClient

        return self.open_client(http_client=DefaultAioHttpClient(verify=tls_context()))

    async def close(self) -> None:
        await self.transport.close()
        if "client" in self.__dict__:
            await self.client.close()


@dataclass
class Endpoint:
    """A server, with its limits, timeout and retries. Its `repr` has no secrets.

    All calls in an event loop share a client, which is closed when the loop shuts down. Each evaluation runs in a new
    event loop, so it leaves no connection open.
    """

    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secret_headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers that are masked in errors and not part of the identity, like the key."""
    timeout: float = 120.0
    """Seconds per request, until the last byte of the reply."""
    limits: Limits = field(default_factory=Limits)
    redaction: Redaction = NOTHING_REDACTED
    """Masks parts of the samples' texts before they are sent."""
    batch: bool = False
    """Whether an evaluation sends its requests in batches, which cost less but can take hours."""
    batch_interval: float = 60.0
    """Maximum seconds between two checks of a batch's state."""
    retries: int = RETRIES
    """Maximum number of retries of a request."""
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)
    """Waits before a retry. Tests replace it."""
    jitter: Callable[[float, float], float] = field(default=random.uniform, repr=False)
    """Returns a random number between its two arguments, so that simultaneous pauses end at different times."""
    _sessions: dict[asyncio.AbstractEventLoop, tuple[_Session, AsyncGenerator[_Session]]] = field(
        default_factory=dict[asyncio.AbstractEventLoop, tuple[_Session, AsyncGenerator[_Session]]],
        init=False,
        repr=False,
    )
    """The session that the calls of an event loop share, and the generator that closes it."""
    _queue: SendQueue | None = field(default=None, init=False, repr=False)

    @property
    def address(self) -> str:
        """The base URL without user and password, with secrets in its query masked."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), public_query(parts.query), ""))

    @property
    def identity(self) -> str:
        """The address, the headers, and a digest of the redaction. It is part of the identity of judges."""
        headers = (f" {name}={MASK if is_credential(name) else self.headers[name]}" for name in sorted(self.headers))
        return f"{self.address}{''.join(headers)}{self.redaction.suffix}"

    def __repr__(self) -> str:
        return f"Endpoint({self.address!r})"

    async def call(
        self,
        request: Callable[[Send], Awaitable[T]],
        tokens: int = 0,
        *,
        first: bool = False,
        meter: RequestMeter | None = None,
        key: str = "",
    ) -> T:
        """Run `request`, which sends one request of about `tokens` prompt tokens, and return its result.

        The request is retried if that can help. With `first`, and at every retry, it overtakes other waiting requests.
        Before each attempt, `meter` must admit it; afterwards, `meter` counts it if it got no reply. `key` names the
        request in a batch.

        Raises LimitReachedError if the meter admits no more attempts, RefusedError for an invalid request,
        CallFailedError if all attempts fail, JudgeError if no call can succeed because of the key or the address.
        """
        queue = self._queue

        async def operate(session: _Session) -> T:
            try:
                return await request(partial(queue.send, key) if queue else partial(_post, session.transport))
            except LimitReachedError:
                if meter:
                    meter.unanswered(may_be_billed=False)
                raise

        return await self._attempts(operate, tokens, first=first, meter=meter, queued=queue is not None)

    def request_key(self, task: Task, identity: Callable[[type[Task]], str]) -> str:
        """Return the `key` of `call` for the requests of a task; empty if requests are not sent in batches."""
        return task_key(task, identity(type(task))) if self._queue else ""

    async def run_operation(self, operate: Callable[[AsyncOpenAI], Awaitable[T]], timeout: float | None = None) -> T:
        """Run an operation that calls no model, such as sending a file. Retries and errors are as in `call`."""
        from aiohttp import ClientConnectionError
        from openai import APIConnectionError, APIError, APIStatusError

        async def operate_client(session: _Session) -> T:
            try:
                return await operate(session.client)
            except APIStatusError as error:
                raise ErrorResponse.read(error.status_code, error.response.headers, error.response.text) from error
            except APIConnectionError as error:
                raise ClientConnectionError(str(error.__cause__ or error)) from error
            except APIError as error:
                raise CallFailedError(self.safe_message(str(error))) from error

        return await self._attempts(operate_client, timeout=timeout)

    @contextmanager
    def use_queue(self, queue: SendQueue) -> Generator[None]:
        """Context in which `call` sends requests through a queue, without rate limits, timeout and pauses."""
        self._queue = queue
        try:
            yield
        finally:
            self._queue = None

    async def _attempts(
        self,
        operate: Callable[[_Session], Awaitable[T]],
        tokens: int = 0,
        *,
        first: bool = False,
        meter: RequestMeter | None = None,
        queued: bool = False,
        timeout: float | None = None,
    ) -> T:
        seconds = None if queued else timeout or self.timeout
        session = await self._session()
        session.users += 1
        try:
            pause = FIRST_PAUSE
            for retries_left in range(self.retries, -1, -1):
                retry = retries_left < self.retries
                async with nullcontext() if queued else session.traffic.slot(tokens, first=first or retry):
                    if session.closed:
                        raise session.closed
                    if meter:
                        await meter.admit()
                    wait = await self._try(operate, session, retries_left, pause, meter, seconds)
                if not isinstance(wait, _Wait):
                    return wait
                pause *= 2 if wait.lengthens else 1
                if not queued:
                    await self.sleep(wait.seconds)
        finally:
            session.users -= 1
            if not session.users:
                session.closed = None
        raise AssertionError("the last try returns or raises")

    async def _try(
        self,
        operate: Callable[[_Session], Awaitable[T]],
        session: _Session,
        retries_left: int,
        pause: float,
        meter: RequestMeter | None,
        seconds: float | None,
    ) -> T | _Wait:
        import aiohttp

        may_be_billed, timed_out = True, False
        cause: Exception
        try:
            async with asyncio.timeout(seconds):
                result = await operate(session)
        except MalformedResponseError as error:
            problem, cause = str(error), error
        except TimeoutError as error:
            problem, cause, timed_out = f"no reply within {seconds:g} s", error, True
        except ErrorResponse as error:
            session.traffic.record_response(too_many=error.status in _OVERLOAD_STATUSES)
            if meter:
                meter.unanswered(may_be_billed=error.status in _TIMEOUT_STATUSES)
            return self._handle_error_status(error, session, retries_left, self._wait(pause))
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
            problem, cause = f"the connection to {self.address} failed: {error}", error
            may_be_billed = not isinstance(error, aiohttp.ClientConnectorError)
        except (aiohttp.ClientError, ValueError) as error:
            problem, cause = f"the response from {self.address} is not valid HTTP: {error}", error
        else:
            session.traffic.record_response(too_many=False)
            return result
        if meter:
            meter.unanswered(may_be_billed=may_be_billed)
        return self._wait_or_fail(retries_left, _Wait(0.0) if timed_out else self._wait(pause), problem, cause)

    def _wait(self, pause: float) -> _Wait:
        return _Wait(pause + self.jitter(0, pause / 2), lengthens=True)

    def _handle_error_status(self, error: ErrorResponse, session: _Session, retries_left: int, wait: _Wait) -> _Wait:
        problem = str(error)
        status = 402 if error.code == "insufficient_quota" else error.status
        if status in (400, 422) or (status in _FORMAT_REFUSED_STATUSES and FORMAT_NAMED.search(problem)):
            raise RefusedError(self.safe_message(problem), error.param) from error
        if status in _FATAL_STATUSES:
            what = "no provider for this model" if _NO_PROVIDER.search(problem) else _FATAL_STATUSES[status]
            session.closed = JudgeError(f"{self.address}: {what} ({self._fatal_detail(status, problem)})")
            raise session.closed from error
        if status not in _RETRY_STATUSES and status < 500:
            raise CallFailedError(self.safe_message(problem)) from error
        requested = _retry_after(error.retry_after)
        if requested is not None and requested > MAX_PAUSE:
            raise GaveUpError(
                self.safe_message(f"{problem} (the server asks for a pause of {requested:g} s)")
            ) from error
        return self._wait_or_fail(retries_left, wait if requested is None else _Wait(requested), problem, error)

    def _fatal_detail(self, status: int, problem: str) -> str:
        """Describe the error. The server's message about a key is not quoted, because it may contain the key."""
        return "status 401; is OPENAI_API_KEY right?" if status == 401 else self.safe_message(problem)

    def _wait_or_fail(self, retries_left: int, wait: _Wait, problem: str, error: Exception) -> _Wait:
        if retries_left:
            return wait
        raise GaveUpError(self.safe_message(f"{problem}, {self.retries + 1} times")) from error

    def record_tokens(self, tokens: int) -> None:
        """Record that a request in this event loop used `tokens` more tokens than were passed to `call`."""
        session, _ = self._sessions[asyncio.get_running_loop()]
        session.traffic.record_tokens(tokens)

    def mask_secrets(self, text: str) -> str:
        """Mask the secrets of this endpoint in a text."""
        return self._masker(text)

    @cached_property
    def _masker(self) -> Callable[[str], str]:
        return secret_masker(self._credentials)

    @property
    def _credentials(self) -> tuple[str, ...]:
        given = (*self.headers.items(), *self._query.items())
        public = (value for name, value in given if is_credential(name))
        return (self.api_key, *self.secret_headers.values(), *public)

    @property
    def _query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.base_url).query, keep_blank_values=True))

    def safe_message(self, text: str) -> str:
        """Return an error message as one line of at most `MAX_ERROR_CHARS`, without secrets.

        Short secrets, and texts that look like an API key, are masked too.
        """
        text = short_secret_pattern(self._credentials).sub(MASK, self.mask_secrets(text))
        text = re.sub(r"(?i)\bsk-[\w*.-]{4,}|\bbearer\s+(?=[a-z_.-]*[\d*])[\w*.-]{4,}", MASK, text)
        return " ".join(text.split())[:MAX_ERROR_CHARS]

    async def _session(self) -> _Session:
        """Return the session of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            opened = self._open_session(loop)
            self._sessions[loop] = (await anext(opened), opened)
        session, _ = self._sessions[loop]
        return session

    async def _open_session(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[_Session]:
        """Yield a session, which is closed when the loop shuts down and closes its asynchronous generators."""
        session = _Session(self._open_client, Transport(self._open_client), Traffic(self.limits, loop.time))
        try:
            yield session
        finally:
            del self._sessions[loop]
            await session.close()

    def route(self, operation: str, *, deployment: str = "") -> str:
        """Return the path of an operation below the base URL.

        `deployment` replaces the deployment in a classic Azure address.
        """
        named = _DEPLOYMENT.search(urlsplit(self.base_url).path)
        return f"/deployments/{deployment or named['name']}/{operation}" if named else f"/{operation}"

    def _open_client(self, http_client: Any) -> AsyncOpenAI:
        from openai import AsyncAzureOpenAI, AsyncOpenAI

        parts = urlsplit(self.base_url)
        common: dict[str, Any] = {
            "api_key": self.api_key,
            "base_url": urlunsplit(parts._replace(path=_DEPLOYMENT.sub("/openai", parts.path), query="", fragment="")),
            "default_query": self._query,
            "default_headers": {**self.headers, **self.secret_headers},
            "http_client": http_client,
            "max_retries": 0,
            "timeout": self.timeout,
        }
        if _DEPLOYMENT.search(parts.path):
            return AsyncAzureOpenAI(api_version=self._query["api-version"], **common)  # the key as `api-key`
        return AsyncOpenAI(**common)


async def _post(transport: Transport, route: str, body: Mapping[str, Any]) -> str:
    response = await transport.post(route, body)
    if response.status >= FIRST_ERROR_STATUS:
        raise ErrorResponse.read(response.status, response.headers, response.text)
    return response.text


@dataclass(frozen=True, slots=True)
class _Wait:
    """The pause before a retry."""

    seconds: float
    lengthens: bool = False
    """Whether to double the next pause."""


def _retry_after(header: str) -> float | None:
    """Return the seconds to wait that a `Retry-After` header gives as a number or a date; None for other headers."""
    from datetime import UTC, datetime

    header = header.strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", header):
        return float(header)
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def openai_endpoint(base_url: str | None = None, environment: Mapping[str, str] | None = None) -> Endpoint:
    """Return the endpoint at `base_url`, by default at `OPENAI_BASE_URL`, with the key in `OPENAI_API_KEY`.

    The lines of `RAGBOARD_SECRET_HEADERS` become its secret headers. Raises JudgeError if the server is OpenAI's and
    the key is missing, SettingError for an invalid address, key or header.
    """
    known = os.environ if environment is None else environment
    address = _without_operation((base_url or known.get("OPENAI_BASE_URL") or OFFICIAL).strip())
    key = known.get("OPENAI_API_KEY", "").strip()
    require_address(address)
    if not re.fullmatch(r"[!-~]*", key):
        raise SettingError(
            "OPENAI_API_KEY contains a space or another character that no key has; was it copied correctly?"
        )
    if not key and address == OFFICIAL:
        raise JudgeError("OPENAI_API_KEY is not set; set it, or OPENAI_BASE_URL for a server that needs no key")
    lines = known.get(SECRET_HEADERS, "").splitlines()
    headers = read_headers((line for line in lines if line.strip()), ":", "the headers")
    return Endpoint(address, key or NO_KEY, secret_headers=headers)


def read_headers(lines: Iterable[str], separator: str, where: str) -> dict[str, str]:
    """Parse headers, one per line. Raises SettingError, which does not quote values, for an invalid line."""
    headers: dict[str, str] = {}
    for line in lines:
        name, found, value = (part.strip() for part in line.partition(separator))
        if not (found and value and re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII) and value.isascii()):
            shown = "NAME: VALUE, such as X-Team: search" if separator == ":" else "NAME=VALUE, such as X-Team=search"
            raise SettingError(f"{where}: expected {shown}")
        if not value.isprintable():
            raise SettingError(f"{where} {name}: the value contains a control character")
        headers[name] = value
    return headers


def _without_operation(address: str) -> str:
    """Return the address without an operation at its end, such as `/chat/completions`."""
    head, mark, query = address.partition("?")
    return re.sub(r"/(?:chat/completions|embeddings)/?$", "", head) + mark + query


def require_address(address: str) -> None:
    """Raise SettingError for an invalid address. The message does not quote it, because it may contain a password."""
    try:
        parts = urlsplit(address)
        possible = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        possible = False
    if not possible:
        raise SettingError(
            "the base URL (OPENAI_BASE_URL) is not an http(s) URL; expected one such as http://localhost:8000/v1"
        )
    if "@" in urlsplit(address).netloc:
        raise SettingError(
            "the base URL (OPENAI_BASE_URL) contains a user or password, which cannot be sent together with a key;"
            " remove it, and set the key in OPENAI_API_KEY"
        )
    names = [name for name, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingError(f"the base URL (OPENAI_BASE_URL) has the parameter {twice!r} twice; give it once")
    path = urlsplit(_without_operation(address)).path.rstrip("/")
    classic = _DEPLOYMENT.search(path)
    of_azure = (urlsplit(address).hostname or "").endswith(".openai.azure.com") and path != "/openai/v1"
    if (classic or of_azure) and not (classic and "api-version" in names):
        raise SettingError(
            "the base URL (OPENAI_BASE_URL) is not a complete Azure address; expected https://NAME.openai.azure.com/openai/v1,"
            " or https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=2024-10-21"
        )
