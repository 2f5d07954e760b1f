"""An OpenAI-compatible server: connections, retries, and errors without secrets."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from ragboard.errors import JudgeError, SettingError
from ragboard.judges.base import RequestMeter
from ragboard.judges.llm.traffic import Limits, Traffic
from ragboard.judges.secrets import MASK, is_credential, masking, public_query

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI

__all__ = [
    "CallFailedError",
    "Endpoint",
    "MalformedResponseError",
    "RefusedError",
    "openai_endpoint",
    "require_address",
]

T = TypeVar("T")

RETRIES = 4
FIRST_PAUSE = 0.5
"""Seconds before the second try; each further pause is twice as long, plus up to half of it at random."""
LONGEST_PAUSE = 60.0
"""The longest pause in seconds; if a server asks for more, the request is not sent again."""

OFFICIAL = "https://api.openai.com/v1"
NO_KEY = "none"
"""The key for servers that need none."""

_SETUP = {
    401: "the key is refused",
    402: "the account has no credit",
    403: "access is denied",
    404: "there is no such model or address",
}
_LATER = frozenset({408, 409, 425, 429})
_GIVEN_UP = frozenset({408, 502, 504, 524})
"""The status of a server that gave up waiting for a model, which may still have replied."""
_TOO_MANY = frozenset({429, 503})


class CallFailedError(Exception):
    """A call failed, after retries if these could help. The message contains no secret."""


class MalformedResponseError(CallFailedError):
    """The response does not follow the protocol; another try can succeed."""


class RefusedError(CallFailedError):
    """The server rejected the request as invalid (status 400 or 422)."""

    def __init__(self, message: str, param: str | None) -> None:
        self.param = param
        super().__init__(message)


@dataclass
class _Lease:
    client: AsyncOpenAI
    traffic: Traffic
    users: int = 0
    closed: JudgeError | None = None
    """Why no further request is sent: no call can succeed."""


@dataclass
class Endpoint:
    """A server with its limits, timeout and retries. Its `repr` shows neither the key nor details of the address.

    A client lives as long as calls are under way in an event loop, and is closed with the last, so
    that nothing is left open between evaluations.
    """

    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout: float = 120.0
    """Seconds per request, to the last byte of the reply."""
    limits: Limits = field(default_factory=Limits)
    retries: int = RETRIES
    """The most times that a request is sent again."""
    pause: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False)
    chance: Callable[[float, float], float] = field(default=random.uniform, repr=False)
    """Draws a number between two, so that pauses do not all end at once."""
    _leases: dict[asyncio.AbstractEventLoop, _Lease] = field(
        default_factory=dict[asyncio.AbstractEventLoop, _Lease], repr=False
    )
    _traffic: WeakKeyDictionary[asyncio.AbstractEventLoop, Traffic] = field(
        default_factory=WeakKeyDictionary[asyncio.AbstractEventLoop, Traffic], repr=False
    )

    @property
    def address(self) -> str:
        """The base URL without user and password, and with secrets in its query masked."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), public_query(parts.query), ""))

    def __repr__(self) -> str:
        return f"Endpoint({self.address!r})"

    async def call(
        self,
        request: Callable[[AsyncOpenAI], Awaitable[T]],
        tokens: int = 0,
        *,
        first: bool = False,
        meter: RequestMeter | None = None,
    ) -> T:
        """Send a request of about `tokens` prompt tokens, again if that can help, and return what it gets.

        `first` goes before others that wait. Who waits to send again leaves its place to others. `meter` admits the
        request each time it is sent, and is told where it got no reply.

        Raises NotAskedError where the meter admits no more, RefusedError for a 400 or 422, CallFailedError for what
        lasted through the retries, JudgeError where no call can succeed (key, access, address).
        """
        async with self._lease() as lease:
            for left in range(self.retries, -1, -1):
                async with lease.traffic.slot(tokens, first=first):
                    if lease.closed:
                        raise lease.closed
                    if meter:
                        await meter.admit()
                    wait = await self._try(request, lease, left, meter)
                if not isinstance(wait, _Wait):
                    return wait
                await self.pause(wait.seconds)
        raise AssertionError("the last try returns or raises")

    async def _try(
        self, request: Callable[[AsyncOpenAI], Awaitable[T]], lease: _Lease, left: int, meter: RequestMeter | None
    ) -> T | _Wait:
        from aiohttp import ClientConnectorError, ClientError
        from openai import APIConnectionError, APIError, APIStatusError

        pause = FIRST_PAUSE * 2 ** (self.retries - left)
        pause += self.chance(0, pause / 2)
        billed = True
        cause: Exception
        try:
            async with asyncio.timeout(self.timeout):
                found = await request(lease.client)
        except MalformedResponseError as error:
            said, cause = str(error), error
        except TimeoutError as error:
            said, cause = f"no reply within {self.timeout:g} s", error
        except APIStatusError as error:
            lease.traffic.record_response(too_many=error.status_code in _TOO_MANY)
            if meter:
                meter.unanswered(billed=error.status_code in _GIVEN_UP)
            return self._after(error, lease, left, pause)
        except APIConnectionError as error:
            said, cause = f"the connection to {self.address} failed: {error.__cause__ or error}", error
            billed = not isinstance(getattr(error.__cause__, "__cause__", None), ClientConnectorError)
        except APIError as error:
            raise CallFailedError(self.plain(str(error))) from error
        except (ClientError, ValueError) as error:
            said, cause = f"what {self.address} sent is not an HTTP response: {error}", error
        else:
            lease.traffic.record_response(too_many=False)
            return found
        if meter:
            meter.unanswered(billed=billed)
        return self._again(left, pause, said, cause)

    def _after(self, error: APIError, lease: _Lease, left: int, pause: float) -> _Wait:
        status = int(getattr(error, "status_code", 0))
        said = f"status {status}: {error.message}"
        if error.code == "insufficient_quota":
            status = 402
        if status in _SETUP:
            lease.closed = JudgeError(f"{self.address}: {_SETUP[status]} ({self._setup_detail(status, said)})")
            raise lease.closed from error
        if status in (400, 422):
            raise RefusedError(self.plain(said), error.param) from error
        if status not in _LATER and status < 500:
            raise CallFailedError(self.plain(said)) from error
        asked = _retry_after(getattr(error, "response", None))
        if asked is not None and asked > LONGEST_PAUSE:
            raise CallFailedError(self.plain(f"{said} (to be asked again after {asked:g} s)")) from error
        return self._again(left, pause if asked is None else asked, said, error)

    def _setup_detail(self, status: int, said: str) -> str:
        """Describe the error. A server's message about a refused key can quote it, so it is left out."""
        return "status 401; is OPENAI_API_KEY right?" if status == 401 else self.plain(said)

    def _again(self, left: int, pause: float, said: str, error: Exception) -> _Wait:
        if left:
            return _Wait(pause)
        raise CallFailedError(self.plain(f"{said}, {self.retries + 1} times")) from error

    def record_tokens(self, tokens: int) -> None:
        """Record that a request used so many tokens more than announced in `call`."""
        self._traffic_in(asyncio.get_running_loop()).record_tokens(tokens)

    def _traffic_in(self, loop: asyncio.AbstractEventLoop) -> Traffic:
        return self._traffic.setdefault(loop, Traffic(self.limits, loop.time))

    def masked(self, text: str) -> str:
        """Return the text with the secrets masked that were sent to the server."""
        return self._secrets.sub(MASK, text)

    @cached_property
    def _secrets(self) -> re.Pattern[str]:
        headers = (value for name, value in self.headers.items() if is_credential(name))
        query = (value for name, value in self._query.items() if is_credential(name))
        return masking((self.api_key, *headers, *query))

    @property
    def _query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.base_url).query, keep_blank_values=True))

    def plain(self, text: str) -> str:
        """Return the text as one short line, with secrets masked."""
        text = self.masked(text)
        for secret in (self.api_key, *self.headers.values()):
            if len(secret) > len(NO_KEY):
                text = text.replace(secret, MASK)
        text = re.sub(r"(?i)\b(sk-|bearer\s+)[\w*.-]{4,}", MASK, text)
        return " ".join(text.split())[:300]

    @asynccontextmanager
    async def _lease(self) -> AsyncGenerator[_Lease]:
        loop = asyncio.get_running_loop()
        lease = self._leases.get(loop)
        if lease is None:
            lease = self._leases[loop] = _Lease(self._open(), self._traffic_in(loop))
        lease.users += 1
        try:
            yield lease
        finally:
            lease.users -= 1
            if not lease.users:
                del self._leases[loop]
                await lease.client.close()

    def _open(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        return AsyncOpenAI(
            api_key=self.api_key,
            base_url=urlunsplit(urlsplit(self.base_url)._replace(query="", fragment="")),
            default_query=self._query,
            default_headers=dict(self.headers),
            http_client=DefaultAioHttpClient(),
            max_retries=0,
            timeout=self.timeout,
        )


@dataclass(frozen=True, slots=True)
class _Wait:
    seconds: float


def _retry_after(response: object) -> float | None:
    """Return the seconds that the server asks to wait, from a number or a date; None if it does not say."""
    from datetime import UTC, datetime

    headers: Mapping[str, str] = getattr(response, "headers", {})
    given = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", given):
        return float(given)
    try:
        when = parsedate_to_datetime(given)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def openai_endpoint(base_url: str | None = None, environment: Mapping[str, str] | None = None) -> Endpoint:
    """Return the endpoint at `base_url`, else `OPENAI_BASE_URL`, with the key in `OPENAI_API_KEY`.

    A server of one's own may need no key; OpenAI does. Raises JudgeError where it is missing,
    SettingError for an address that is no http(s) URL.
    """
    known = os.environ if environment is None else environment
    address = (base_url or known.get("OPENAI_BASE_URL") or OFFICIAL).strip()
    key = known.get("OPENAI_API_KEY", "").strip()
    require_address(address)
    if not re.fullmatch(r"[!-~]*", key):
        raise SettingError("OPENAI_API_KEY holds a space or a sign that no key has; was it copied whole?")
    if not key and address == OFFICIAL:
        raise JudgeError("OPENAI_API_KEY is not set; set it, or OPENAI_BASE_URL for a server that needs no key")
    return Endpoint(address, key or NO_KEY)


def require_address(address: str) -> None:
    """Raise SettingError for an invalid address. The message does not quote it, as it can contain a password."""
    try:
        parts = urlsplit(address)
        possible = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        possible = False
    if not possible:
        raise SettingError(
            "the base URL (OPENAI_BASE_URL) is no http(s) address; expected one such as http://localhost:8000/v1"
        )
    if "@" in urlsplit(address).netloc:
        raise SettingError(
            "the base URL (OPENAI_BASE_URL) holds a user or password, which cannot be sent beside a key; "
            "expected the address alone, and the key in OPENAI_API_KEY"
        )
    names = [name for name, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingError(f"the base URL (OPENAI_BASE_URL) has the parameter {twice!r} twice; give it once")
