"""Tests of the budget: it stops at a limit or after repeated failures, and gives the reason."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.conftest import PlainJudge

from ragboard import Panel, SettingError
from ragboard.evaluation.budget import MAX_FAILURES_IN_A_ROW, Budget
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.base import LimitReachedError, RequestSize
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.prices import Price
from ragboard.tasks import Exchange, Failure, GenerateQuestions, Questions, RateAnswer, Task

TASK = GenerateQuestions(answer="a", n=1)
LOCAL = RateAnswer(question="q", answer="a")
CALL = Exchange(text="x", prompt_tokens=1000, completion_tokens=100)
PRICES = {"m": Price(prompt=1.0, completion=10.0)}
"""A call costs $0.002."""

WELL = Questions(questions=())
ILL = Failure(detail="status 500")


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


SMALL = RequestSize(prompt_bytes=1000, reply_tokens=100)
"""Of what a call of PRICES costs at most."""


def called(spent: Budget, exchange: Exchange = CALL) -> None:
    """A request that was sent and answered."""
    reservation = asyncio.run(spent.admit(TASK, SMALL))
    spent.settle(TASK, exchange, reservation)


def admitted(spent: Budget, size: RequestSize = SMALL) -> bool:
    """Whether a request may be sent now; it is under way then."""

    async def admit() -> bool:
        try:
            async with asyncio.timeout(0):
                await spent.admit(TASK, size)
        except (TimeoutError, LimitReachedError):
            return False
        return True

    return asyncio.run(admit())


def budget(clock: Clock | None = None, **limits: float) -> Budget:
    options = EvaluationOptions(prices=PRICES, **limits)  # type: ignore[arg-type]
    return Budget(options, {GenerateQuestions: "m"}, clock=clock or Clock())


def test_without_limits_nothing_stops_it() -> None:
    spent = budget()
    for _ in range(1000):
        called(spent)
    assert all(admitted(spent) for _ in range(1000))
    assert (spent.calls, spent.tokens, spent.cost) == (2000, 1_100_000, pytest.approx(2.0))


def test_every_request_counts_towards_the_limit_of_calls_answered_or_not() -> None:
    spent = budget(max_calls=4)
    called(spent)
    lost = asyncio.run(spent.admit(TASK, SMALL))
    spent.drop(lost, may_be_billed=False)
    assert admitted(spent)
    assert admitted(spent)
    assert not admitted(spent)
    assert spent.stopped == "the limit of 4 calls is reached"


def test_what_a_request_may_cost_is_set_aside_before_it_is_sent() -> None:
    spent = budget(max_cost=0.005)
    assert [admitted(spent) for _ in range(3)] == [True, True, False]
    assert spent.stopped == ""


def test_what_a_reply_did_not_take_is_there_for_the_next_request() -> None:
    spent = budget(max_cost=0.005)
    reservations = [asyncio.run(spent.admit(TASK, SMALL)) for _ in range(2)]
    assert not admitted(spent)
    spent.settle(TASK, Exchange(text="x", prompt_tokens=1000, completion_tokens=0), reservations[0])
    assert admitted(spent)


def test_a_limit_of_cost_is_never_exceeded_and_reached_to_the_last_call() -> None:
    spent = budget(max_cost=0.006)
    for _ in range(3):
        called(spent)
    assert not admitted(spent)
    assert (spent.stopped, spent.cost) == ("the limit of $0.006 is reached", pytest.approx(0.006))
    assert spent.over_limit == 0


def test_without_an_output_limit_one_call_is_under_way_until_a_reply_tells_how_long_they_are() -> None:
    spent, unlimited = budget(max_cost=0.007), RequestSize(prompt_bytes=1000, reply_tokens=None)
    first = asyncio.run(spent.admit(TASK, unlimited))
    assert not admitted(spent, unlimited)
    spent.settle(TASK, CALL, first)
    assert [admitted(spent, unlimited) for _ in range(3)] == [True, True, False]


def test_who_waits_continues_as_soon_as_enough_is_left() -> None:
    async def work() -> list[str]:
        order: list[str] = []
        first = await spent.admit(TASK, SMALL)

        async def second() -> None:
            await spent.admit(TASK, SMALL)
            order.append("admitted")

        waiting = asyncio.ensure_future(second())
        await asyncio.sleep(0)
        order.append("answered")
        spent.settle(TASK, Exchange(text="x", prompt_tokens=0, completion_tokens=0), first)
        await waiting
        return order

    spent = budget(max_cost=0.003)
    assert asyncio.run(work()) == ["answered", "admitted"]


def test_a_request_without_a_reply_counts_as_what_it_may_have_cost_where_it_may_be_billed() -> None:
    spent = budget(max_cost=0.005)
    for may_be_billed in (True, True, False):
        if not may_be_billed:
            assert not admitted(spent)
            break
        spent.drop(asyncio.run(spent.admit(TASK, SMALL)), may_be_billed=may_be_billed)
    assert (spent.unanswered, spent.unanswered_cost, spent.cost) == (2, pytest.approx(0.004), 0)


def test_by_how_much_a_reply_longer_than_was_set_aside_exceeded_the_limit_is_reported() -> None:
    spent = budget(max_cost=0.003)
    called(spent, Exchange(text="x", prompt_tokens=1000, completion_tokens=500))
    assert spent.over_limit == pytest.approx(0.003)


def test_a_limit_below_one_call_is_reported() -> None:
    spent = budget(max_cost=0.001)
    assert not admitted(spent)
    assert spent.stopped == "the limit of $0.001 is too low: a single call can cost up to $0.002"


def test_a_limit_of_cost_that_cannot_be_held_stops_rather_than_is_ignored() -> None:
    spent = budget(max_cost=1)
    called(spent, Exchange(text="x"))
    assert spent.cost is None
    assert not admitted(spent)
    assert "cannot be enforced" in spent.stopped


def test_an_unknown_cost_stops_nothing_where_no_limit_is_set_on_it() -> None:
    spent = budget(max_calls=10)
    called(spent, Exchange(text="x"))
    assert admitted(spent)
    assert spent.cost is None


def test_minutes_count_from_the_start() -> None:
    clock = Clock()
    spent = budget(clock, max_minutes=2)
    clock.now += 119.9
    assert spent.allows()
    clock.now += 0.1
    assert not spent.allows()
    assert spent.stopped == "the limit of 2 minutes is reached"


def test_once_stopped_it_stays_so_for_the_same_reason() -> None:
    spent = budget(max_calls=1)
    called(spent)
    assert not spent.allows()
    first = spent.stopped
    for _ in range(MAX_FAILURES_IN_A_ROW):
        spent.record(TASK, ILL)
    assert not spent.allows()
    assert spent.stopped == first


def test_it_stops_after_fifty_failures_in_a_row_and_says_the_last() -> None:
    spent = budget()
    for _ in range(MAX_FAILURES_IN_A_ROW - 1):
        spent.record(TASK, ILL)
    spent.record(TASK, WELL)
    for _ in range(MAX_FAILURES_IN_A_ROW - 1):
        spent.record(TASK, ILL)
    assert spent.allows()
    spent.record(TASK, ILL)
    assert not spent.allows()
    assert spent.stopped == "the last 50 tasks all failed; last error: status 500"


def test_who_answers_at_home_does_not_hide_that_a_model_never_does() -> None:
    spent = budget()
    for _ in range(MAX_FAILURES_IN_A_ROW):
        spent.record(TASK, ILL)
        spent.record(LOCAL, WELL)
    assert not spent.allows()


def test_a_limit_of_cost_needs_the_price_of_every_model_and_names_the_missing_one() -> None:
    panel = Panel(judge=LlmJudge("unheard-of", Endpoint("http://127.0.0.1:9/v1", "key")))
    with pytest.raises(SettingError, match=r"^--max-cost needs a price for unheard-of: pass it with --prices FILE$"):
        Budget.for_panel(EvaluationOptions(max_cost=1), panel)
    assert Budget.for_panel(EvaluationOptions(max_calls=1), panel).models


def test_a_judge_without_a_server_needs_no_price() -> None:
    kinds: dict[type[Task], str] = Budget.for_panel(EvaluationOptions(max_cost=1), Panel(judge=PlainJudge())).models
    assert kinds == {}


CALLS = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 200), st.sampled_from(["said", "lost", "refused"])))


@given(calls=CALLS, limit=st.floats(0, 0.1), together=st.integers(1, 32))
def test_the_bill_is_within_the_limit_if_no_call_exceeds_its_maximum(
    calls: list[tuple[int, int, str]], limit: float, together: int
) -> None:
    """A lost request is billed in full, as it may be."""
    spent, bill = budget(max_cost=limit), 0.0
    waiting = iter(calls)

    async def work() -> None:
        nonlocal bill
        for prompt, reply, became in waiting:
            reservation = await spent.admit(TASK, RequestSize(prompt_bytes=prompt, reply_tokens=200))
            await asyncio.sleep(0)
            if became == "said":
                exchange = Exchange(text="x", prompt_tokens=prompt, completion_tokens=reply)
                spent.settle(TASK, exchange, reservation)
            else:
                spent.drop(reservation, may_be_billed=became == "lost")
            if became != "refused":
                bill += (prompt + 10 * (reply if became == "said" else 200)) / 1_000_000

    async def all_of_it() -> None:
        await asyncio.gather(*(work() for _ in range(together)), return_exceptions=True)

    asyncio.run(all_of_it())
    assert bill <= limit * (1 + 1e-6)
    assert spent.over_limit == 0
