"""Count calls and cost, and stop an evaluation when a limit is reached or every task fails.

With a cost limit, the maximum cost of a request is reserved before it is sent, and the actual cost replaces it when the
reply arrives. So concurrent requests cannot exceed the limit, unless a call costs more than was reserved (see
`Budget.over_limit`).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ragboard.errors import SettingError
from ragboard.evaluation.defaults import WORST
from ragboard.evaluation.journal import JournalReader, Usage
from ragboard.evaluation.options import EvaluationOptions, ModelEstimate
from ragboard.judges.base import LimitReachedError, ModelJudge, RequestSize
from ragboard.judges.panel import Panel
from ragboard.prices import Prices, cost
from ragboard.records import ModelUsage
from ragboard.tasks import TASKS, TASKS_BY_NAME, Exchange, Failure, Reply, Task

__all__ = ["MAX_FAILURES_IN_A_ROW", "Budget", "TaskMeter", "add_usage", "usage_by_model"]

MAX_FAILURES_IN_A_ROW = 50
"""Number of consecutive failed tasks of one model after which the evaluation stops."""

BYTES_PER_TOKEN = 4
"""Bytes of a prompt per token, assumed until the model has reported a token count."""

TOLERANCE = 1e-9
"""Share of a limit by which a sum may exceed it because of floating-point errors."""


@dataclass(frozen=True, kw_only=True)
class _Reservation:
    """The amount that is reserved for a request in progress."""

    dollars: float
    """Maximum cost in US dollars: of the request and its reply if `bounded`, else of the request."""
    likely: float
    """Likely cost of the request without the reply, in US dollars."""
    prompt_bytes: int
    bounded: bool
    """Whether the reply's length is limited or can be estimated from earlier replies."""


@dataclass
class Budget:
    """The calls, tokens and cost since the start, and the limits. When a limit is reached, `stopped` has the reason."""

    options: EvaluationOptions
    models: dict[type[Task], str] = field(default_factory=dict[type[Task], str])
    """The name of the model that answers each task type. Task types that need no model are missing."""
    batched: frozenset[type[Task]] = frozenset()
    """The task types that are sent in batches, at other prices."""
    clock: Callable[[], float] = time.monotonic
    calls: int = 0
    """Requests sent, including those that got no reply."""
    tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None after a call with an unknown price or token count."""
    unanswered: int = 0
    """Requests without a reply that may still be billed."""
    unanswered_cost: float = 0.0
    """Maximum cost of the unanswered requests in US dollars, which counts towards the cost limit. 0 without a limit."""
    at_server: int = 0
    """Requests in batches that wait at a server."""
    stopped: str = ""
    """Why the evaluation stops; empty while tasks may be sent."""
    stopped_by_user: bool = False
    _failures: Counter[str] = field(default_factory=Counter[str])
    """Consecutive failed tasks of each model."""
    _started: float = 0.0
    _reserved: float = 0.0
    _in_progress: int = 0
    _unbounded: int = 0
    """Number of requests in progress whose cost is not bounded."""
    _waiting: list[asyncio.Future[None]] = field(default_factory=list["asyncio.Future[None]"])
    _tokens_per_byte: dict[str, float] = field(default_factory=dict[str, float])
    """The highest number of prompt tokens per byte that each model has reported."""
    _longest_reply: dict[type[Task], int] = field(default_factory=dict[type[Task], int])
    """Tokens of the longest reply so far, by task type."""

    def __post_init__(self) -> None:
        """Start measuring the time for the time limit."""
        self._started = self.clock()

    @classmethod
    def for_panel(cls, options: EvaluationOptions, panel: Panel) -> Budget:
        """Return a new budget for these judges. Raises SettingError if there is a cost limit and a price is unknown."""
        models: dict[type[Task], str] = {}
        for kind in TASKS:
            judge = panel.find_judge(kind)
            if judge is not None and isinstance(judge, ModelJudge):
                models[kind] = judge.model
        unknown = sorted({model for model in models.values() if model not in options.prices})
        if options.max_cost is not None and unknown:
            raise SettingError(f"--max-cost needs a price for {unknown[0]}: pass it with --prices FILE")
        return cls(options, models)

    @property
    def over_limit(self) -> float:
        """US dollars by which the cost exceeds its limit, because calls cost more than the reserved amounts."""
        limit = self.options.max_cost
        over = 0.0 if limit is None else (self.cost or 0.0) - limit
        return over if over > TOLERANCE * (limit or 0.0) else 0.0

    def allows(self) -> bool:
        """Return whether further tasks may be sent. If not, set `stopped`."""
        if not self.stopped:
            self.stopped = self._limit_reached()
        return not self.stopped

    def stop_by_user(self) -> None:
        """Stop the evaluation at the user's request."""
        self.stopped_by_user = True
        self.stopped = self.stopped or "stopped by the user; run the same command to resume"

    def gives_up_batches(self) -> bool:
        """Return whether to stop waiting for batches, because the user or the time limit stopped the evaluation."""
        return self.stopped_by_user or (self._time_is_over() and not self.allows())

    def count_at_server(self, change: int) -> None:
        """Add to the number of requests that wait at a server."""
        self.at_server += change

    def has_room(self, in_progress: int, done: int) -> bool:
        """Return whether to start another sample, with `in_progress` samples started and `done` samples finished.

        Near the end of the budget, fewer samples run concurrently, so fewer calls are wasted on unfinished samples. The
        remaining calls must suffice for all started samples and the new one. The remaining cost must suffice for all
        started samples. With batches, the planned cost per sample is used until a sample is finished.
        """
        options = self.options
        planned = sum(model.calls for model in options.expected) / max(1, options.planned_samples)
        answered_calls = self.calls - self._in_progress
        calls_per_sample = answered_calls / done if done else planned
        if options.max_calls is not None and answered_calls + (in_progress + 1) * calls_per_sample > options.max_calls:
            return False
        cost = self.cost or 0.0
        planned_cost = (options.planned_cost or 0.0) / max(1, options.planned_samples) if self.batched else 0.0
        cost_per_sample = cost / done if done else planned_cost
        return options.max_cost is None or cost + in_progress * cost_per_sample <= options.max_cost

    async def admit(self, task: Task, size: RequestSize) -> _Reservation:
        """Count a request before it is sent. If there is a cost limit, wait until enough of it is free.

        Raises LimitReachedError if the request may not be sent.
        """
        while self.allows():
            reservation = self._reservation(task, size)
            if self._fits(reservation):
                self.calls += 1
                self._in_progress += 1
                self._unbounded += not reservation.bounded
                self._reserved += reservation.dollars
                return reservation
            if not self._in_progress:
                self.stopped = self._too_expensive(reservation)
                break
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        raise LimitReachedError(self.stopped)

    def settle(self, task: Task, exchange: Exchange, reservation: _Reservation | None) -> None:
        """Count the tokens and cost of an answered call, and release its reservation.

        A call without a reservation was not counted by `admit`, so it is counted here.
        """
        if reservation is None:
            self.calls += 1
        else:
            self._update_estimates(task, exchange, reservation)
        self.tokens += (exchange.prompt_tokens or 0) + (exchange.completion_tokens or 0)
        usage = Usage()
        usage.add(exchange)
        price = usage.cost(self.options.prices.get(self.models.get(type(task), "")))
        self.cost = None if price is None or self.cost is None else self.cost + price
        if reservation:
            self._release(reservation)

    def drop(self, reservation: _Reservation, *, may_be_billed: bool) -> None:
        """Release the reservation of a request without a reply. If it may be billed, its cost counts as unanswered."""
        if may_be_billed:
            self.unanswered += 1
            self.unanswered_cost += reservation.dollars
        self._release(reservation)

    def record(self, task: Task, reply: Reply | Failure) -> None:
        """Record the reply to a task. After too many consecutive failures of one model, stop the evaluation."""
        model = self.models.get(type(task), "")
        self._failures[model] = self._failures[model] + 1 if isinstance(reply, Failure) else 0
        if isinstance(reply, Failure) and self._failures[model] >= MAX_FAILURES_IN_A_ROW and not self.stopped:
            self.stopped = f"the last {MAX_FAILURES_IN_A_ROW} tasks all failed; last error: {reply.detail}"

    def _limit_reached(self) -> str:
        options = self.options
        if options.max_calls is not None and self.calls >= options.max_calls:
            return f"the limit of {options.max_calls} calls is reached"
        if options.max_cost is not None and self.cost is None:
            return f"the limit of ${options.max_cost:g} cannot be enforced: the server does not report all tokens"
        if options.max_cost is not None and self._spent() > options.max_cost * (1 + TOLERANCE):
            return f"the limit of ${options.max_cost:g} is reached"
        if self._time_is_over():
            return f"the limit of {options.max_minutes:g} minutes is reached"
        return ""

    def _time_is_over(self) -> bool:
        minutes = self.options.max_minutes
        return minutes is not None and self.clock() - self._started >= 60 * minutes

    def _spent(self) -> float:
        """Return the US dollars that are billed or may be billed."""
        return (self.cost or 0.0) + self.unanswered_cost

    def _reservation(self, task: Task, size: RequestSize) -> _Reservation:
        """Return the maximum cost of a request, from the token counts that the model has reported so far.

        If the request has no output limit, the reply is assumed to be as long as the longest reply so far to this task
        type. Before the first reply, the cost is unbounded. In a batch, the longest reply of an estimate is assumed
        instead, because a whole batch is sent before the first reply. Without a cost limit, nothing is reserved.
        """
        if self.options.max_cost is None:
            return _Reservation(dollars=0.0, likely=0.0, prompt_bytes=size.prompt_bytes, bounded=True)
        kind, model = type(task), self.models.get(type(task), "")
        price = self.options.prices.get(model)
        if price and kind in self.batched:
            price = price.in_batch
        reply = self._longest_reply.get(kind) if size.reply_tokens is None else size.reply_tokens
        if reply is None and kind in self.batched:
            reply = len(task.simulate(WORST)[1].encode()) // BYTES_PER_TOKEN
        prompt = size.prompt_bytes * self._tokens_per_byte.get(model, 1.0)
        dollars = cost(price, prompt=prompt, completion=reply or 0)
        likely = cost(
            price, prompt=size.prompt_bytes * self._tokens_per_byte.get(model, 1 / BYTES_PER_TOKEN), completion=0
        )
        return _Reservation(
            dollars=dollars or 0.0,
            likely=likely or 0.0,
            prompt_bytes=size.prompt_bytes,
            bounded=reply is not None or dollars is None,
        )

    def _fits(self, reservation: _Reservation) -> bool:
        """Return whether enough of the cost limit is free for a request.

        Unbounded requests are sent one at a time, if enough is free for their prompt.
        """
        limit = self.options.max_cost
        if limit is None:
            return True
        committed = self._spent() + self._reserved
        if not reservation.bounded:
            return not self._unbounded and committed + reservation.likely < limit
        return committed + reservation.dollars <= limit * (1 + TOLERANCE)

    def _too_expensive(self, reservation: _Reservation) -> str:
        limit = f"the limit of ${self.options.max_cost:g} is"
        if self.calls:
            return f"{limit} reached"
        return f"{limit} too low: a single call can cost up to ${reservation.dollars:.2g}"

    def _update_estimates(self, task: Task, exchange: Exchange, reservation: _Reservation) -> None:
        kind, model = type(task), self.models.get(type(task), "")
        if exchange.completion_tokens is not None:
            self._longest_reply[kind] = max(self._longest_reply.get(kind, 0), exchange.completion_tokens)
        if exchange.prompt_tokens is not None and reservation.prompt_bytes:
            counted = exchange.prompt_tokens / reservation.prompt_bytes
            self._tokens_per_byte[model] = max(self._tokens_per_byte.get(model, 0.0), counted)

    def _release(self, reservation: _Reservation) -> None:
        self._in_progress -= 1
        self._unbounded -= not reservation.bounded
        self._reserved = self._reserved - reservation.dollars if self._in_progress else 0.0
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


@dataclass
class TaskMeter:
    """The meter of one task. The requests of a task are sent one after another."""

    budget: Budget
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    """The answered calls."""
    _open_reservation: _Reservation | None = None

    def __call__(self, task: Task, exchange: Exchange) -> None:
        """Count an answered call, as `Meter` describes."""
        if type(task) in self.budget.batched:
            exchange = replace(exchange, batch=True)
        self.exchanges.append(exchange)
        reservation, self._open_reservation = self._open_reservation, None
        self.budget.settle(task, exchange, reservation)

    async def admit(self, task: Task, size: RequestSize) -> None:
        """Wait until a request may be sent, as `Meter.admit` describes."""
        self._open_reservation = await self.budget.admit(task, size)

    def unanswered(self, _task: Task, *, may_be_billed: bool) -> None:
        """Release a request without a reply, as `Meter.unanswered` describes."""
        reservation, self._open_reservation = self._open_reservation, None
        if reservation:
            self.budget.drop(reservation, may_be_billed=may_be_billed)

    def close(self, task: Task) -> None:
        """End the task. A request that is still open counts as possibly billed."""
        self.unanswered(task, may_be_billed=True)


def usage_by_model(
    journal: JournalReader, panel: Panel, prices: Prices, expected: Sequence[ModelEstimate] = ()
) -> tuple[ModelUsage, ...]:
    """Return the calls, tokens and cost of each model in the journal, with the planned calls and tokens."""
    planned = {(estimate.model, estimate.embedding): estimate for estimate in expected}
    usage = {model: Usage() for model in planned}
    for task, of_task in journal.usage.items():
        judge = panel.for_task(TASKS_BY_NAME[task])
        model = judge.model if isinstance(judge, ModelJudge) else judge.name
        usage.setdefault((model, TASKS_BY_NAME[task].role == "embed"), Usage()).merge(of_task)
    return tuple(
        ModelUsage(
            model=model,
            embedding=embedding,
            calls=used.calls,
            uncounted=used.uncounted,
            prompt_tokens=used.prompt_tokens,
            cached_tokens=used.cached_tokens,
            completion_tokens=used.completion_tokens,
            cost=used.cost(price := prices.get(model)),
            planned_calls=plan.calls if (plan := planned.get((model, embedding))) else None,
            planned_tokens=plan.tokens if plan else None,
            prompt_price=price.prompt if price else None,
            cached_price=price.cached if price else None,
            completion_price=price.completion if price else None,
        )
        for (model, embedding), used in usage.items()
    )


def add_usage(before: Sequence[ModelUsage], new: Sequence[ModelUsage]) -> tuple[ModelUsage, ...]:
    """Return the sums of the calls, tokens and cost of each model. Planned numbers and prices are those of `new`."""
    total = {(usage.model, usage.embedding): usage for usage in before}
    for usage in new:
        earlier = total.get((usage.model, usage.embedding))
        counts = ("calls", "uncounted", "prompt_tokens", "cached_tokens", "completion_tokens")
        total[usage.model, usage.embedding] = (
            usage
            if earlier is None
            else replace(
                usage,
                **{name: getattr(earlier, name) + getattr(usage, name) for name in counts},
                cost=None if earlier.cost is None or usage.cost is None else earlier.cost + usage.cost,
            )
        )
    return tuple(total.values())
