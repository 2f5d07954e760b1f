"""What was spent, and when to stop asking: a limit is reached, nothing succeeds any more, or somebody says so.

A request is counted before it is sent: one call, and under a limit of cost the most that it may cost. What it did
cost takes the place of that once it is known, so that the limits hold whatever is under way.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ragboard.errors import SettingError
from ragboard.evaluation.journal import Answers, Usage
from ragboard.evaluation.options import EvaluationOptions, Expected
from ragboard.judges.base import ModelJudge, NotAskedError, RequestSize
from ragboard.judges.panel import Panel
from ragboard.prices import Prices, cost
from ragboard.records import Spend
from ragboard.tasks import TASK_NAMED, TASKS, Exchange, Failure, Reply, Task

__all__ = ["FAILURES", "Account", "Budget", "spent"]

FAILURES = 50
"""After so many failures in a row nothing more is asked."""

BYTES = 4
"""Bytes of a prompt to a token, as long as the model counted none."""

ROUNDING = 1e-9
"""Share of a limit by which sums of floating-point numbers may miss it."""


@dataclass(frozen=True, kw_only=True)
class _Reservation:
    """What is set aside for a request that is under way."""

    dollars: float
    likely: float
    """What its prompt alone is likely to cost."""
    prompt_bytes: int
    sized: bool
    """Whether that is the most it may cost; else the length of its reply cannot be known."""


@dataclass
class Budget:
    """What was spent since the start, and, once that was enough, why nothing more is asked."""

    options: EvaluationOptions
    models: dict[type[Task], str] = field(default_factory=dict[type[Task], str])
    """Who is asked each type of task, by the name prices are listed under; nobody outside: not there."""
    clock: Callable[[], float] = time.monotonic
    calls: int = 0
    """Requests that were sent, with those that got no reply."""
    tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None once a call had no known price or size."""
    unanswered: int = 0
    """Requests without a reply that may be on the bill all the same."""
    unanswered_cost: float = 0.0
    """The most that these may have cost; known under a limit of cost alone, which it counts towards."""
    stopped: str = ""
    """Why nothing more is asked; empty as long as there is no reason."""
    _failures: Counter[str] = field(default_factory=Counter[str])
    """How many tasks in a row each model failed."""
    _started: float = 0.0
    _reserved: float = 0.0
    _under_way: int = 0
    _unsized: int = 0
    """Requests under way of which nobody knows what they may cost."""
    _waiting: list[asyncio.Future[None]] = field(default_factory=list["asyncio.Future[None]"])
    _tokens_per_byte: dict[str, float] = field(default_factory=dict[str, float])
    """The most prompt tokens to a byte that each model has counted."""
    _longest: dict[type[Task], int] = field(default_factory=dict[type[Task], int])
    """Tokens of the longest reply to each type of task."""

    def __post_init__(self) -> None:
        """Minutes count from now."""
        self._started = self.clock()

    @classmethod
    def of(cls, options: EvaluationOptions, panel: Panel) -> Budget:
        """A budget of which nothing is spent. Raises SettingError for a limit of cost where a price is not known."""
        models: dict[type[Task], str] = {}
        for kind in TASKS:
            judge = panel.answering(kind)
            if judge is not None and isinstance(judge, ModelJudge):
                models[kind] = judge.model
        unknown = sorted({model for model in models.values() if model not in options.prices})
        if options.max_cost is not None and unknown:
            raise SettingError(f"--max-cost needs a price for {unknown[0]}: pass it with --prices FILE")
        return cls(options, models)

    @property
    def over_limit(self) -> float:
        """US dollars by which calls exceeded the limit of cost: they took more than was set aside for them."""
        limit = self.options.max_cost
        over = 0.0 if limit is None else (self.cost or 0.0) - limit
        return over if over > ROUNDING * (limit or 0.0) else 0.0

    def allows(self) -> bool:
        """Whether anything more may be asked."""
        if not self.stopped:
            self.stopped = self._reached()
        return not self.stopped

    def has_room(self, begun: int, done: int) -> bool:
        """Whether a sample may be begun while so many are, and so many are done, if all are to be finished.

        As the end of the budget comes near, fewer samples are under way, so that calls are not spent on halves.
        """
        options, after = self.options, begun + 1
        planned = sum(one.calls for one in options.expected) / max(1, options.planned_samples)
        answered = self.calls - self._under_way
        calls = answered / done if done else planned
        if options.max_calls is not None and answered + after * calls > options.max_calls:
            return False
        cost = (self.cost or 0.0) / done if done else 0.0
        return options.max_cost is None or (self.cost or 0.0) + begun * cost <= options.max_cost

    async def admit(self, task: Task, size: RequestSize) -> _Reservation:
        """Count a request that is to be sent; under a limit of cost, once what it may cost is left.

        Raises NotAskedError where it may not be sent.
        """
        while self.allows():
            reservation = self._reservation(task, size)
            if self._fits(reservation):
                self.calls += 1
                self._under_way += 1
                self._unsized += not reservation.sized
                self._reserved += reservation.dollars
                return reservation
            if not self._under_way:
                self.stopped = self._too_dear(reservation)
                break
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        raise NotAskedError(self.stopped)

    def settle(self, task: Task, exchange: Exchange, reservation: _Reservation | None) -> None:
        """A call was answered; one that was not admitted is counted now."""
        if reservation is None:
            self.calls += 1
        else:
            self._learn(task, exchange, reservation)
        self.tokens += (exchange.prompt_tokens or 0) + (exchange.completion_tokens or 0)
        usage = Usage()
        usage.add(exchange)
        price = usage.cost(self.options.prices.get(self.models.get(type(task), "")))
        self.cost = None if price is None or self.cost is None else self.cost + price
        if reservation:
            self._release(reservation)

    def lose(self, reservation: _Reservation, *, billed: bool) -> None:
        """A request got no reply; `billed` where it may be on the bill all the same."""
        if billed:
            self.unanswered += 1
            self.unanswered_cost += reservation.dollars
        self._release(reservation)

    def note(self, task: Task, reply: Reply | Failure) -> None:
        """A task was asked. That others answer well does not make up for a model that answers nothing."""
        model = self.models.get(type(task), "")
        self._failures[model] = self._failures[model] + 1 if isinstance(reply, Failure) else 0
        if isinstance(reply, Failure) and self._failures[model] >= FAILURES and not self.stopped:
            self.stopped = f"the last {FAILURES} tasks all failed; last error: {reply.detail}"

    def _reached(self) -> str:
        options = self.options
        if options.max_calls is not None and self.calls >= options.max_calls:
            return f"the limit of {options.max_calls} calls is reached"
        if options.max_cost is not None and self.cost is None:
            return f"the limit of ${options.max_cost:g} cannot be enforced: the server does not report all tokens"
        if options.max_cost is not None and self._spent() > options.max_cost * (1 + ROUNDING):
            return f"the limit of ${options.max_cost:g} is reached"
        if options.max_minutes is not None and self.clock() - self._started >= 60 * options.max_minutes:
            return f"the limit of {options.max_minutes:g} minutes is reached"
        return ""

    def _spent(self) -> float:
        """US dollars that are, or may be, on the bill."""
        return (self.cost or 0.0) + self.unanswered_cost

    def _reservation(self, task: Task, size: RequestSize) -> _Reservation:
        """The most that a request may cost, by what the model counted so far.

        Without an output limit it is the longest reply to such a task. As long as there is none it cannot be known.
        """
        kind, model = type(task), self.models.get(type(task), "")
        price = self.options.prices.get(model)
        reply = self._longest.get(kind) if size.reply_tokens is None else size.reply_tokens
        prompt = size.prompt_bytes * self._tokens_per_byte.get(model, 1.0)
        dollars = cost(price, prompt=prompt, completion=reply or 0)
        likely = cost(price, prompt=size.prompt_bytes * self._tokens_per_byte.get(model, 1 / BYTES), completion=0)
        limited = self.options.max_cost is not None and dollars is not None
        return _Reservation(
            dollars=dollars if limited and dollars else 0.0,
            likely=likely or 0.0,
            prompt_bytes=size.prompt_bytes,
            sized=reply is not None or not limited,
        )

    def _fits(self, reservation: _Reservation) -> bool:
        """Whether what it may cost is left; where that cannot be known, what its prompt likely costs: one at a time."""
        limit = self.options.max_cost
        if limit is None:
            return True
        committed = self._spent() + self._reserved
        if not reservation.sized:
            return not self._unsized and committed + reservation.likely < limit
        return committed + reservation.dollars <= limit * (1 + ROUNDING)

    def _too_dear(self, reservation: _Reservation) -> str:
        limit = f"the limit of ${self.options.max_cost:g} is"
        if self.calls:
            return f"{limit} reached"
        return f"{limit} too low: a single call can cost up to ${reservation.dollars:.2g}"

    def _learn(self, task: Task, exchange: Exchange, reservation: _Reservation) -> None:
        kind, model = type(task), self.models.get(type(task), "")
        if exchange.completion_tokens is not None:
            self._longest[kind] = max(self._longest.get(kind, 0), exchange.completion_tokens)
        if exchange.prompt_tokens is not None and reservation.prompt_bytes:
            counted = exchange.prompt_tokens / reservation.prompt_bytes
            self._tokens_per_byte[model] = max(self._tokens_per_byte.get(model, 0.0), counted)

    def _release(self, reservation: _Reservation) -> None:
        self._under_way -= 1
        self._unsized -= not reservation.sized
        self._reserved = self._reserved - reservation.dollars if self._under_way else 0.0
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


@dataclass
class Account:
    """The meter for one task: its requests go one after another."""

    budget: Budget
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    """The calls that were answered."""
    _open: _Reservation | None = None

    def __call__(self, task: Task, exchange: Exchange) -> None:
        """As `Meter`."""
        self.exchanges.append(exchange)
        reservation, self._open = self._open, None
        self.budget.settle(task, exchange, reservation)

    async def admit(self, task: Task, size: RequestSize) -> None:
        """As `Meter.admit`."""
        self._open = await self.budget.admit(task, size)

    def unanswered(self, _task: Task, *, billed: bool) -> None:
        """As `Meter.unanswered`."""
        reservation, self._open = self._open, None
        if reservation:
            self.budget.lose(reservation, billed=billed)

    def close(self, task: Task) -> None:
        """Of a request that nothing was heard of it is not known whether it will be on the bill."""
        self.unanswered(task, billed=True)


def spent(journal: Answers, panel: Panel, prices: Prices, expected: Sequence[Expected] = ()) -> tuple[Spend, ...]:
    """What all calls in the journal took, by model, beside what was expected."""
    usage: dict[tuple[str, bool], Usage] = {(one.model, one.embedding): Usage() for one in expected}
    for task, taken in journal.usage.items():
        judge = panel.for_task(TASK_NAMED[task])
        model = judge.model if isinstance(judge, ModelJudge) else judge.name
        usage.setdefault((model, TASK_NAMED[task].role == "embed"), Usage()).join(taken)
    planned = {(one.model, one.embedding): one for one in expected}
    return tuple(
        Spend(
            model=model,
            embedding=embedding,
            calls=taken.calls,
            uncounted=taken.uncounted,
            prompt_tokens=taken.prompt_tokens,
            cached_tokens=taken.cached_tokens,
            completion_tokens=taken.completion_tokens,
            cost=taken.cost(price := prices.get(model)),
            planned_calls=plan.calls if (plan := planned.get((model, embedding))) else None,
            planned_tokens=plan.tokens if plan else None,
            prompt_price=price.prompt if price else None,
            cached_price=price.cached if price else None,
            completion_price=price.completion if price else None,
        )
        for (model, embedding), taken in usage.items()
    )
