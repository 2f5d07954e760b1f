"""What an evaluation took, by model, from what its journal heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragboard.evaluation.journal import Answers, Heard
from ragboard.judges.base import Sender
from ragboard.judges.panel import Panel
from ragboard.prices import Prices, cost
from ragboard.records import Spend
from ragboard.tasks import TASK_NAMED

__all__ = ["Expected", "spent"]


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What an evaluation is expected to ask of one model."""

    model: str
    embedding: bool
    calls: int
    tokens: int
    """Of prompts and replies together."""


Model = tuple[str, bool]


def spent(journal: Answers, panel: Panel, prices: Prices, expected: Sequence[Expected] = ()) -> tuple[Spend, ...]:
    """What all calls that the journal tells of took, by model; beside it what was expected."""
    heard: dict[Model, Heard] = {(one.model, one.embedding): Heard() for one in expected}
    for task, calls in journal.heard.items():
        judge = panel.for_task(TASK_NAMED[task])
        model = judge.model if isinstance(judge, Sender) else judge.name
        heard.setdefault((model, TASK_NAMED[task].role == "embed"), Heard()).join(calls)
    planned = {(one.model, one.embedding): one for one in expected}
    return tuple(_spend(model, calls, prices, planned.get(model)) for model, calls in heard.items())


def _spend(model: Model, heard: Heard, prices: Prices, planned: Expected | None) -> Spend:
    name, embedding = model
    price = prices.get(name)
    return Spend(
        model=name,
        embedding=embedding,
        calls=heard.calls,
        uncounted=heard.uncounted,
        prompt_tokens=heard.prompt_tokens,
        cached_tokens=heard.cached_tokens,
        completion_tokens=heard.completion_tokens,
        cost=_dollars(heard, prices, name),
        planned_calls=planned.calls if planned else None,
        planned_tokens=planned.tokens if planned else None,
        prompt_price=price.prompt if price else None,
        cached_price=price.cached if price else None,
        completion_price=price.completion if price else None,
    )


def _dollars(heard: Heard, prices: Prices, model: str) -> float | None:
    """Nothing for no call; not known where a call's tokens or the price are not."""
    if not heard.calls:
        return 0.0
    if heard.uncounted:
        return None
    return cost(
        prices.get(model), prompt=heard.prompt_tokens, completion=heard.completion_tokens, cached=heard.cached_tokens
    )
