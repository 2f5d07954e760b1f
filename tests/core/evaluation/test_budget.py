"""A budget says stop when a limit is reached, when nothing succeeds any more, and why."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.core.conftest import PlainJudge

from ragboard import Panel, SettingError
from ragboard.evaluation.budget import FAILURES, Budget
from ragboard.evaluation.terms import Terms
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.judges.tasks import Exchange, Failure, GenerateQuestions, Questions, RateAnswer, Task
from ragboard.prices import Price

TASK = GenerateQuestions(answer="a", n=1)
LOCAL = RateAnswer(question="q", answer="a")
CALL = Exchange(said="x", prompt_tokens=1000, completion_tokens=100)
PRICES = {"m": Price(prompt=1.0, completion=10.0)}
"""A call costs $0.002."""

WELL = Questions(questions=())
ILL = Failure(detail="status 500")


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def budget(clock: Clock | None = None, **limits: float) -> Budget:
    terms = Terms(prices=PRICES, **limits)  # type: ignore[arg-type]
    return Budget(terms, {GenerateQuestions: "m"}, clock=clock or Clock())


def test_without_limits_nothing_stops_it() -> None:
    spent = budget()
    for _ in range(1000):
        spent.hear(TASK, CALL)
    assert spent.allows(1000)
    assert (spent.calls, spent.tokens, spent.cost) == (1000, 1_100_000, pytest.approx(2.0))


def test_calls_under_way_count_towards_the_limit_of_calls() -> None:
    spent = budget(max_calls=5)
    for _ in range(3):
        spent.hear(TASK, CALL)
    assert spent.allows(1)
    assert not spent.allows(2)
    assert spent.stopped == "the limit of 5 calls is reached"


def test_cost_is_what_calls_that_were_answered_cost() -> None:
    spent = budget(max_cost=0.005)
    for _ in range(2):
        spent.hear(TASK, CALL)
    assert spent.allows(0)
    spent.hear(TASK, CALL)
    assert not spent.allows(0)
    assert spent.stopped == "the limit of $0.005 is reached"


def test_a_limit_of_cost_that_cannot_be_held_stops_rather_than_is_ignored() -> None:
    spent = budget(max_cost=1)
    spent.hear(TASK, Exchange(said="x"))
    assert spent.cost is None
    assert not spent.allows(0)
    assert "cannot be held" in spent.stopped


def test_an_unknown_cost_stops_nothing_where_no_limit_is_set_on_it() -> None:
    spent = budget(max_calls=10)
    spent.hear(TASK, Exchange(said="x"))
    assert spent.allows(0)
    assert spent.cost is None


def test_minutes_count_from_the_start() -> None:
    clock = Clock()
    spent = budget(clock, max_minutes=2)
    clock.now += 119.9
    assert spent.allows(0)
    clock.now += 0.1
    assert not spent.allows(0)
    assert spent.stopped == "the limit of 2 minutes is reached"


def test_once_stopped_it_stays_so_for_the_same_reason() -> None:
    spent = budget(max_calls=1)
    assert not spent.allows(1)
    first = spent.stopped
    for _ in range(FAILURES):
        spent.note(TASK, ILL)
    assert not spent.allows(0)
    assert spent.stopped == first


def test_it_stops_after_fifty_failures_in_a_row_and_says_the_last() -> None:
    spent = budget()
    for _ in range(FAILURES - 1):
        spent.note(TASK, ILL)
    spent.note(TASK, WELL)
    for _ in range(FAILURES - 1):
        spent.note(TASK, ILL)
    assert spent.allows(0)
    spent.note(TASK, ILL)
    assert not spent.allows(0)
    assert spent.stopped == "the last 50 tasks all failed, at last: status 500"


def test_who_answers_at_home_does_not_hide_that_a_model_never_does() -> None:
    spent = budget()
    for _ in range(FAILURES):
        spent.note(TASK, ILL)
        spent.note(LOCAL, WELL)
    assert not spent.allows(0)


def test_a_limit_of_cost_needs_the_price_of_every_model_and_names_the_missing_one() -> None:
    panel = Panel(judge=LlmJudge("unheard-of", Endpoint("http://127.0.0.1:9/v1", "key")))
    with pytest.raises(SettingError, match=r"^--max-cost needs the price of unheard-of; give it with --prices FILE$"):
        Budget.of(Terms(max_cost=1), panel)
    assert Budget.of(Terms(max_calls=1), panel).models


def test_who_asks_nobody_outside_needs_no_price() -> None:
    kinds: dict[type[Task], str] = Budget.of(Terms(max_cost=1), Panel(judge=PlainJudge())).models
    assert kinds == {}
