"""An OpenAI-compatible server: connections, retries, and errors without secrets."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
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
"""Sends the body of a request to a path below the base URL, and returns the body of the response."""

RETRIES = 5
"""Maximum number of times that a request is sent again."""
FIRST_PAUSE = 0.2
"""Seconds before the first retry. Each further pause is twice as long, plus a random part of at most half its length.

There is no pause after a timeout. A timeout, or a pause that the server requests, does not lengthen the next pause. All
pauses together last six to nine seconds, so an evaluation survives the restart of a server."""
TRANSFER_SECONDS = 3600.0
"""Maximum seconds to send or fetch a file of a batch."""
MAX_PAUSE = 60.0
"""Maximum seconds before a retry; if the server requests a longer pause, the request fails."""
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
"""Error statuses after which no request of the evaluation can succeed, and their meaning."""
_NO_PROVIDER = re.compile(r"no (?:allowed )?(?:endpoints|providers)", re.I)
"""Matches the error (404) of a gateway that knows the model but has no provider for it."""

FORMAT_NAMED = re.compile(
    r"response_?format|json_?schema|json_?object|json mode|structured output|guided|grammar|\bschema\b", re.I
)
"""Matches the error of a server that does not support the requested format of replies."""
_FORMAT_REFUSED_STATUSES = frozenset({404, 405, 415, 500, 501})
"""Statuses, besides 400 and 422, that may mean that the format of replies is not supported."""

_RETRY_STATUSES = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which a request is sent again. Statuses of 500 and above are retried too."""
_TIMEOUT_STATUSES = frozenset({408, 502, 504, 524})
"""Statuses that mean that a server stopped waiting for the model. The model may have replied, so the request may be
billed."""
FIRST_ERROR_STATUS = 300
"""The lowest status that counts as an error. Redirects are followed, so a status below 400 is one too."""
_OVERLOAD_STATUSES = frozenset({429, 503})
"""Statuses that mean that the server gets too many requests."""


class RefusedError(CallFailedError):
    """The server rejected the request: status 400 or 422, or an error about the requested format of replies."""

    def __init__(self, message: str, param: str | None) -> None:
        self.param = param
        super().__init__(message)


class GaveUpError(CallFailedError):
    """All attempts of a request failed, or the server requested a long pause; the request can succeed later."""


class ErrorResponse(Exception):  # noqa: N818 - a response; it may become one of several errors
    """A response with an error status: `FIRST_ERROR_STATUS` or above."""

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
        """Send a request; `key` distinguishes requests with the same body. Raises ErrorResponse for an error."""
        ...


@dataclass
class _Session:
    client: AsyncOpenAI
    transport: Transport
    traffic: Traffic
    users: int = 0
    closed: JudgeError | None = None
    """The error that all open calls raise, because no request can succeed; None while requests may be sent."""


@dataclass
class Endpoint:
    """A server with its limits, timeout and retries. Its `repr` hides the key and secrets in the address.

    Calls in one event loop share a client, which is closed when the loop shuts down. Each evaluation runs in a new
    event loop, so it has one client and leaves no connection open.
    """

    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secret_headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers that are treated like the key: masked in errors, and not part of the identity."""
    timeout: float = 120.0
    """Seconds per request, to the last byte of the reply."""
    limits: Limits = field(default_factory=Limits)
    redaction: Redaction = NOTHING_REDACTED
    """Masks parts of the samples' texts before they are sent."""
    batch: bool = False
    """Whether an evaluation sends its requests in batches (`POST /batches`), which is cheaper but can take hours."""
    batch_interval: float = 60.0
    """Maximum seconds between two requests for the state of a batch."""
    retries: int = RETRIES
    """Maximum number of retries of a request."""
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)
    """Waits before a retry; tests replace it."""
    jitter: Callable[[float, float], float] = field(default=random.uniform, repr=False)
    """Returns a random number between its two arguments; it spreads the ends of simultaneous pauses."""
    _sessions: dict[asyncio.AbstractEventLoop, tuple[_Session, AsyncGenerator[_Session]]] = field(
        default_factory=dict[asyncio.AbstractEventLoop, tuple[_Session, AsyncGenerator[_Session]]],
        init=False,
        repr=False,
    )
    """The session that the calls of an event loop share, and the generator that closes it."""
    _queue: SendQueue | None = field(default=None, init=False, repr=False)

    @property
    def address(self) -> str:
        """The base URL without user and password, and with secrets in its query masked."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), public_query(parts.query), ""))

    @property
    def identity(self) -> str:
        """The address, headers and a digest of what is redacted: a part of the identity of judges and embedders."""
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
        """Send a request of about `tokens` prompt tokens, retry it if that can help, and return its result.

        With `first`, and at every retry, the request goes before other waiting requests. While it pauses before a
        retry, other requests are sent. `meter` must admit every attempt, and counts attempts that end without a
        result. `key` names the request in a batch.

        Raises LimitReachedError if the meter admits no more attempts, RefusedError for an invalid request,
        CallFailedError if all retries fail, JudgeError if no call can succeed (key, access, address).
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
        """Return the `key` for the requests of a task, with the judge's identity; empty if requests are not queued."""
        return task_key(task, identity(type(task))) if self._queue else ""

    async def control(self, operate: Callable[[AsyncOpenAI], Awaitable[T]], timeout: float | None = None) -> T:
        """Run an operation that calls no model, such as sending a file; retries and raises as `call` does."""
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
                raise CallFailedError(self.plain(str(error))) from error

        return await self._attempts(operate_client, timeout=timeout)

    @contextmanager
    def queued(self, queue: SendQueue) -> Generator[None]:
        """In the block, send the requests of `call` through a queue, without rate limits, timeout and pauses."""
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
        async with self._session() as session:
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
        from aiohttp import ClientConnectionError, ClientConnectorError, ClientError, ClientPayloadError

        wait = _Wait(pause + self.jitter(0, pause / 2), lengthens=True)
        may_be_billed = True
        cause: Exception
        try:
            async with asyncio.timeout(seconds):
                result = await operate(session)
        except MalformedResponseError as error:
            problem, cause = str(error), error
        except TimeoutError as error:
            problem, cause, wait = f"no reply within {seconds:g} s", error, _Wait(0.0)
        except ErrorResponse as error:
            session.traffic.record_response(too_many=error.status in _OVERLOAD_STATUSES)
            if meter:
                meter.unanswered(may_be_billed=error.status in _TIMEOUT_STATUSES)
            return self._handle_error_status(error, session, retries_left, wait)
        except (ClientConnectionError, ClientPayloadError) as error:
            problem, cause = f"the connection to {self.address} failed: {error}", error
            may_be_billed = not isinstance(error, ClientConnectorError)
        except (ClientError, ValueError) as error:
            problem, cause = f"what {self.address} sent is not an HTTP response: {error}", error
        else:
            session.traffic.record_response(too_many=False)
            return result
        if meter:
            meter.unanswered(may_be_billed=may_be_billed)
        return self._wait_or_fail(retries_left, wait, problem, cause)

    def _handle_error_status(self, error: ErrorResponse, session: _Session, retries_left: int, wait: _Wait) -> _Wait:
        problem = str(error)
        status = 402 if error.code == "insufficient_quota" else error.status
        if status in (400, 422) or (status in _FORMAT_REFUSED_STATUSES and FORMAT_NAMED.search(problem)):
            raise RefusedError(self.plain(problem), error.param) from error
        if status in _FATAL_STATUSES:
            what = "no provider for this model" if _NO_PROVIDER.search(problem) else _FATAL_STATUSES[status]
            session.closed = JudgeError(f"{self.address}: {what} ({self._fatal_detail(status, problem)})")
            raise session.closed from error
        if status not in _RETRY_STATUSES and status < 500:
            raise CallFailedError(self.plain(problem)) from error
        requested = _retry_after(error.retry_after)
        if requested is not None and requested > MAX_PAUSE:
            raise GaveUpError(self.plain(f"{problem} (the server asks for a pause of {requested:g} s)")) from error
        return self._wait_or_fail(retries_left, wait if requested is None else _Wait(requested), problem, error)

    def _fatal_detail(self, status: int, problem: str) -> str:
        """Describe the error. The server's message about a refused key is left out, because it may quote the key."""
        return "status 401; is OPENAI_API_KEY right?" if status == 401 else self.plain(problem)

    def _wait_or_fail(self, retries_left: int, wait: _Wait, problem: str, error: Exception) -> _Wait:
        if retries_left:
            return wait
        raise GaveUpError(self.plain(f"{problem}, {self.retries + 1} times")) from error

    def record_tokens(self, tokens: int) -> None:
        """Record that a request of this event loop used `tokens` more tokens than announced in `call`."""
        session, _ = self._sessions[asyncio.get_running_loop()]
        session.traffic.record_tokens(tokens)

    def masked(self, text: str) -> str:
        """Return the text with the secrets of this endpoint masked."""
        return self._mask_secrets(text)

    @cached_property
    def _mask_secrets(self) -> Callable[[str], str]:
        return secret_masker(self._credentials)

    @property
    def _credentials(self) -> tuple[str, ...]:
        given = (*self.headers.items(), *self._query.items())
        public = (value for name, value in given if is_credential(name))
        return (self.api_key, *self.secret_headers.values(), *public)

    @property
    def _query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.base_url).query, keep_blank_values=True))

    def plain(self, text: str) -> str:
        """Return an error message as one line of at most `MAX_ERROR_CHARS`, with secrets masked.

        Short secrets and any text that looks like an API key are masked too.
        """
        text = short_secret_pattern(self._credentials).sub(MASK, self.masked(text))
        text = re.sub(r"(?i)\bsk-[\w*.-]{4,}|\bbearer\s+(?=[a-z_.-]*[\d*])[\w*.-]{4,}", MASK, text)
        return " ".join(text.split())[:MAX_ERROR_CHARS]

    @asynccontextmanager
    async def _session(self) -> AsyncGenerator[_Session]:
        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            opened = self._open_in(loop)
            self._sessions[loop] = (await anext(opened), opened)
        session, _ = self._sessions[loop]
        session.users += 1
        try:
            yield session
        finally:
            session.users -= 1
            if not session.users:
                session.closed = None

    async def _open_in(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[_Session]:
        """Yield a session, and close its client when the loop shuts down and closes its asynchronous generators."""
        from openai import DefaultAioHttpClient

        tls = tls_context()
        client = self._open_client(http_client=DefaultAioHttpClient(verify=tls))
        transport = Transport(self._open_client, tls)
        try:
            yield _Session(client, transport, Traffic(self.limits, loop.time))
        finally:
            del self._sessions[loop]
            await transport.close()
            await client.close()

    def route(self, operation: str, *, deployment: str = "") -> str:
        """Return the path of an operation below the base URL.

        A classic Azure address contains the name of a deployment, which `deployment` replaces if it is given.
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
    """Whether the next pause is longer."""


def _retry_after(header: str) -> float | None:
    """Return the seconds to wait from a `Retry-After` header, a number or a date; None if it has neither."""
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
    """Return the endpoint at `base_url` or, without one, at `OPENAI_BASE_URL`, with the key in `OPENAI_API_KEY`.

    The lines of `RAGBOARD_SECRET_HEADERS` are headers that are treated like the key. OpenAI's own server needs a key;
    other servers may not. Raises JudgeError if OpenAI's key is missing, SettingError for an address that is not an
    http(s) URL and for invalid headers.
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
    """Parse headers, one per line. Raises SettingError, which does not quote values, because they can be secret."""
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
    """Return the base URL of an address that ends with an operation, as copied from a provider's console."""
    head, mark, query = address.partition("?")
    return re.sub(r"/(?:chat/completions|embeddings)/?$", "", head) + mark + query


def require_address(address: str) -> None:
    """Raise SettingError for an invalid address.

    The message does not quote the address, which may contain a password.
    """
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
