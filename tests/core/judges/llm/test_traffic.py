"""Tests of concurrency and rate limits, with a simulated clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragboard.judges.llm.traffic import RECENT_RESPONSES, Limits, Traffic


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while everybody sleeps, and then at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        scheduled: Any = getattr(self, "_scheduled")  # noqa: B009
        ready: Any = getattr(self, "_ready")  # noqa: B009
        if not ready and scheduled:
            self.now = max(self.now, min(handle.when() for handle in scheduled if not handle.cancelled()))
        getattr(super(), "_run_once")()  # noqa: B009


def run(work: Callable[[Traffic, Loop], Coroutine[Any, Any, Any]], **limits: Any) -> Any:
    loop = Loop()
    try:
        return loop.run_until_complete(work(Traffic(Limits(**limits), loop.time), loop))
    finally:
        loop.close()


async def starts(traffic: Traffic, loop: Loop, count: int, seconds: float, tokens: int = 0) -> tuple[list[float], int]:
    """When each of so many requests of that duration started, and how many were under way at most."""
    begun: list[float] = []
    under_way = most = 0

    async def one() -> None:
        nonlocal under_way, most
        async with traffic.slot(tokens):
            begun.append(loop.time())
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(seconds)
            under_way -= 1

    await asyncio.gather(*(one() for _ in range(count)))
    return begun, most


@given(st.integers(1, 8), st.integers(1, 30))
def test_no_more_are_under_way_than_allowed_and_none_waits_needlessly(concurrency: int, count: int) -> None:
    begun, most = run(lambda traffic, loop: starts(traffic, loop, count, 1.0), concurrency=concurrency)
    assert most == min(concurrency, count)
    assert begun == [float(place // concurrency) for place in range(count)]


def test_requests_start_at_the_rate_after_a_burst_of_two_seconds() -> None:
    begun, _ = run(lambda traffic, loop: starts(traffic, loop, 30, 0.0), concurrency=100, requests_per_minute=120)
    within = [time for time in begun if time < 5]
    assert 4 <= sum(time == 0 for time in begun) <= 5
    assert len(within) <= 4 + 2 * 5 + 1
    assert begun[-1] == pytest.approx((30 - 4) / 2, abs=0.6)


def test_tokens_that_turn_out_more_are_made_up_for() -> None:
    async def work(traffic: Traffic, loop: Loop) -> float:
        async with traffic.slot(10):
            traffic.record_tokens(590)
        async with traffic.slot(10):
            return loop.time()

    assert run(work, tokens_per_minute=600) == pytest.approx((600 - 20) / 10, abs=0.1)


def test_now_and_then_too_many_changes_nothing() -> None:
    async def work(traffic: Traffic, _loop: Loop) -> int:
        for place in range(400):
            traffic.record_response(too_many=place % 10 == 0)
        return traffic.allowed

    assert run(work, concurrency=32) == 32


def test_a_server_that_has_too_many_of_a_quarter_is_sent_fewer_and_then_more_again() -> None:
    async def work(traffic: Traffic, _loop: Loop) -> tuple[int, int]:
        for _ in range(RECENT_RESPONSES):
            traffic.record_response(too_many=True)
        fewer = traffic.allowed
        for _ in range(2000):
            traffic.record_response(too_many=False)
        return fewer, traffic.allowed

    fewer, again = run(work, concurrency=32)
    assert fewer < 32
    assert again == 32


def test_there_is_always_room_for_one() -> None:
    async def work(traffic: Traffic, loop: Loop) -> list[float]:
        for _ in range(1000):
            traffic.record_response(too_many=True)
        assert traffic.allowed == 1
        return (await starts(traffic, loop, 3, 1.0))[0]

    assert run(work, concurrency=32) == [0.0, 1.0, 2.0]


def test_who_gives_up_waiting_leaves_its_place_to_the_next() -> None:
    async def work(traffic: Traffic, loop: Loop) -> list[float]:
        first = asyncio.ensure_future(starts(traffic, loop, 1, 1.0))
        await asyncio.sleep(0)
        gone = asyncio.ensure_future(starts(traffic, loop, 1, 1.0))
        last = asyncio.ensure_future(starts(traffic, loop, 1, 1.0))
        await asyncio.sleep(0.5)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        return [*(await first)[0], *(await last)[0]]

    assert run(work, concurrency=1) == [0.0, 1.0]


def test_who_others_wait_for_goes_first() -> None:
    async def work(traffic: Traffic, _loop: Loop) -> list[str]:
        order: list[str] = []

        async def one(name: str, *, first: bool) -> None:
            async with traffic.slot(first=first):
                order.append(name)
                await asyncio.sleep(1)

        await asyncio.gather(one("a", first=False), one("b", first=False), one("c", first=True))
        return order

    assert run(work, concurrency=1) == ["a", "c", "b"]
