"""When to stop asking: a limit is reached, nothing succeeds any more, or somebody says so."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from ragboard.errors import SettingError
from ragboard.evaluation.journal import Heard
from ragboard.evaluation.terms import Terms
from ragboard.judges.codec import REPLIES
from ragboard.judges.panel import Panel
from ragboard.judges.tasks import Exchange, Failure, Reply, Sender, Task
from ragboard.prices import Prices, cost

__all__ = ["FAILURES", "Budget"]

FAILURES = 50
"""After so many failures in a row nothing more is asked."""


@dataclass
class Budget:
    """What was spent since the start, and, once that was enough, why nothing more is asked."""

    terms: Terms
    models: dict[type[Task], str] = field(default_factory=dict[type[Task], str])
    """Who is asked each type of task, by the name prices are listed under; nobody outside: not there."""
    clock: Callable[[], float] = time.monotonic
    calls: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None once a call had no known price or size."""
    stopped: str = ""
    """Why nothing more is asked; empty as long as there is no reason."""
    _failures: Counter[str] = field(default_factory=Counter[str])
    """How many tasks in a row each model failed."""
    _started: float = 0.0

    def __post_init__(self) -> None:
        """Minutes count from now."""
        self._started = self.clock()

    @classmethod
    def of(cls, terms: Terms, panel: Panel) -> Budget:
        """A budget of which nothing is spent. Raises SettingError for a limit of cost where a price is not known."""
        models: dict[type[Task], str] = {}
        for kind in REPLIES:
            judge = panel.answering(kind)
            if judge is not None and isinstance(judge, Sender):
                models[kind] = judge.model
        unknown = sorted({model for model in models.values() if model not in terms.prices})
        if terms.max_cost is not None and unknown:
            raise SettingError(f"--max-cost needs the price of {unknown[0]}; give it with --prices FILE")
        return cls(terms, models)

    def allows(self, under_way: int) -> bool:
        """Whether one more task may be asked while so many are."""
        if not self.stopped:
            self.stopped = self._reached(under_way)
        return not self.stopped

    def has_room(self, begun: int, done: int) -> bool:
        """Whether a sample may be begun while so many are, and so many are done, if all are to be finished.

        As the end of the budget comes near, fewer samples are under way, so that calls are not spent on halves.
        """
        terms, after = self.terms, begun + 1
        planned = sum(one.calls for one in terms.expected) / max(1, terms.planned_samples)
        calls = self.calls / done if done else planned
        if terms.max_calls is not None and self.calls + after * calls > terms.max_calls:
            return False
        cost = (self.cost or 0.0) / done if done else 0.0
        return terms.max_cost is None or (self.cost or 0.0) + begun * cost <= terms.max_cost

    def hear(self, task: Task, exchange: Exchange) -> None:
        """A call was answered."""
        self.calls += 1
        self.tokens += (exchange.prompt_tokens or 0) + (exchange.completion_tokens or 0)
        price = _price(self.terms.prices, self.models.get(type(task), ""), exchange)
        self.cost = None if price is None or self.cost is None else self.cost + price

    def note(self, task: Task, reply: Reply | Failure) -> None:
        """A task was asked. That others answer well does not make up for a model that answers nothing."""
        model = self.models.get(type(task), "")
        self._failures[model] = self._failures[model] + 1 if isinstance(reply, Failure) else 0
        if isinstance(reply, Failure) and self._failures[model] >= FAILURES and not self.stopped:
            self.stopped = f"the last {FAILURES} tasks all failed, at last: {reply.detail}"

    def _reached(self, under_way: int) -> str:
        terms = self.terms
        if terms.max_calls is not None and self.calls + under_way >= terms.max_calls:
            return f"the limit of {terms.max_calls} calls is reached"
        if terms.max_cost is not None and self.cost is None:
            return f"the limit of ${terms.max_cost:g} cannot be held: the server does not say the tokens of every call"
        if terms.max_cost is not None and self.cost is not None and self.cost >= terms.max_cost:
            return f"the limit of ${terms.max_cost:g} is reached"
        if terms.max_minutes is not None and self.clock() - self._started >= 60 * terms.max_minutes:
            return f"the limit of {terms.max_minutes:g} minutes is reached"
        return ""


def _price(prices: Prices, model: str, exchange: Exchange) -> float | None:
    heard = Heard()
    heard.add(exchange)
    if heard.uncounted:
        return None
    return cost(
        prices.get(model), prompt=heard.prompt_tokens, completion=heard.completion_tokens, cached=heard.cached_tokens
    )
