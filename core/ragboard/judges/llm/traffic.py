"""Limit the concurrent requests to a server, and the rates of requests and tokens."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Limits", "Traffic"]

RECENT_RESPONSES = 40
"""Number of recent responses from which the share of "too many requests" is computed."""

MAX_OVERLOAD_SHARE = 0.25
"""Share of "too many requests" above which the number of concurrent requests is reduced."""

REDUCTION = 0.7
"""Factor by which the number of concurrent requests is then multiplied."""

BURST_SECONDS = 2.0
"""A burst may use the requests or tokens of this many seconds at once."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of requests to a server. None means no limit."""

    concurrency: int = 32
    """Maximum number of concurrent requests."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Maximum number of tokens of prompts and replies. For a request without a reply, its prompt is estimated."""


class _Bucket:
    """A token bucket. It fills at a constant rate, and can go below 0."""

    def __init__(self, per_minute: float, now: float) -> None:
        self._rate = per_minute / 60
        self._most = max(1.0, self._rate * BURST_SECONDS)
        self._left, self._then = self._most, now

    def take(self, amount: float, now: float) -> None:
        """Remove an amount from the bucket."""
        self._fill(now)
        self._left -= amount

    def wait(self, now: float) -> float:
        """Return the seconds until the bucket is above 0."""
        self._fill(now)
        return 0.0 if self._left > 0 else -self._left / self._rate + 1e-3

    def _fill(self, now: float) -> None:
        self._left = min(self._most, self._left + (now - self._then) * self._rate)
        self._then = now


class _Slot:
    """The context of `Traffic.slot`. A class, because a generator takes twice the CPU time."""

    __slots__ = ("_first", "_tokens", "_traffic")

    def __init__(self, traffic: Traffic, tokens: int, first: bool) -> None:  # noqa: FBT001 - only `slot` calls it
        self._traffic = traffic
        self._tokens = tokens
        self._first = first

    async def __aenter__(self) -> None:
        await self._traffic.enter(self._tokens, first=self._first)

    async def __aexit__(self, *_: object) -> None:
        self._traffic.leave()


class Traffic:
    """Admits requests in order within the limits, in one event loop.

    If more than a quarter of the recent responses say "too many requests", fewer requests run concurrently, and then
    slowly more again.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._most = float(limits.concurrency)
        self._allowed = self._most
        self._in_progress = 0
        self._first: deque[asyncio.Future[None]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._recent: deque[bool] = deque(maxlen=RECENT_RESPONSES)
        rate, tokens = limits.requests_per_minute, limits.tokens_per_minute
        self._requests = None if rate is None else _Bucket(rate, clock())
        self._tokens = None if tokens is None else _Bucket(tokens, clock())
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def allowed(self) -> int:
        """Current maximum number of concurrent requests."""
        return max(1, int(self._allowed))

    def slot(self, tokens: int = 0, *, first: bool = False) -> _Slot:
        """Context for one request of about `tokens` prompt tokens. It begins when the request may be sent.

        With `first`, the request overtakes waiting requests without it.
        """
        return _Slot(self, tokens, first)

    async def enter(self, tokens: int, *, first: bool) -> None:
        """Wait until a request may be sent, as `slot` describes. `leave` ends the request."""
        limited_rate, others = self._requests or self._tokens, self._first or self._waiting
        if not (limited_rate or others) and self._in_progress < self.allowed:
            self._in_progress += 1
            return
        turn = asyncio.get_running_loop().create_future()
        (self._first if first else self._waiting).append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise
        self._charge(tokens)

    def record_tokens(self, tokens: int) -> None:
        """Record that a request used `tokens` more tokens than were passed to `slot`."""
        if self._tokens:
            self._tokens.take(tokens, self._clock())

    def record_response(self, *, too_many: bool) -> None:
        """Record a response of the server. `too_many`: it says "too many requests"."""
        self._recent.append(too_many)
        if not too_many:
            self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        elif len(self._recent) >= RECENT_RESPONSES // 2 and sum(self._recent) > MAX_OVERLOAD_SHARE * len(self._recent):
            self._allowed = max(1.0, self._allowed * REDUCTION)
            self._recent.clear()

    def _charge(self, tokens: int) -> None:
        if self._requests:
            self._requests.take(1, self._clock())
        if self._tokens:
            self._tokens.take(tokens, self._clock())

    def leave(self) -> None:
        """End a request."""
        self._in_progress -= 1
        self._admit()

    def _admit(self) -> None:
        """Admit waiting requests while the limits allow it."""
        while (self._first or self._waiting) and self._in_progress < self.allowed:
            wait = self._until_allowed()
            if wait:
                self._retry_after_seconds(wait)
                return
            turn = (self._first or self._waiting).popleft()
            if not turn.done():
                self._in_progress += 1
                turn.set_result(None)
                if self._requests or self._tokens:
                    self._retry_after_seconds(0.0)
                    return

    def _until_allowed(self) -> float:
        if not (self._requests or self._tokens):
            return 0.0
        now = self._clock()
        return max((bucket.wait(now) for bucket in (self._requests, self._tokens) if bucket), default=0.0)

    def _retry_after_seconds(self, seconds: float) -> None:
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(seconds, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        self._admit()
