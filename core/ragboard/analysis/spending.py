"""What evaluations took: from the store's rows, one a model, to one report an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from ragboard.analysis.nouns import Spending
from ragboard.records import Spend

__all__ = ["spending_of", "spending_read"]

_SQL = (
    "SELECT evaluation_id, model, embedding, calls, uncounted, prompt_tokens, cached_tokens, completion_tokens,"
    " cost, planned_calls, planned_tokens, prompt_price, cached_price, completion_price FROM spending"
    " WHERE evaluation_id IN (SELECT unnest(?)) ORDER BY evaluation_id, embedding, model"
)


def spending_read(connection: duckdb.DuckDBPyConnection, evaluations: Sequence[str]) -> dict[str, Spending]:
    """The spending of each of these evaluations that asked a model."""
    cursor = connection.execute(_SQL, [evaluations])
    names = [column[0] for column in cursor.description or ()][1:]
    found: dict[str, list[Spend]] = {}
    for evaluation, *values in cursor.fetchall():
        found.setdefault(evaluation, []).append(Spend(**dict(zip(names, values, strict=True))))
    return {evaluation: spending_of(spends) for evaluation, spends in found.items()}


def spending_of(spends: Iterable[Spend]) -> Spending:
    """All models together."""
    models = tuple(spends)
    calls, uncounted = sum(one.calls for one in models), sum(one.uncounted for one in models)
    prompt, completion = sum(one.prompt_tokens for one in models), sum(one.completion_tokens for one in models)
    planned_calls = _sum(one.planned_calls for one in models)
    planned_tokens = _sum(one.planned_tokens for one in models)
    unpriced = tuple(dict.fromkeys(one.model for one in models if one.cost is None))
    return Spending(
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=None if unpriced else sum(one.cost or 0.0 for one in models),
        uncounted=uncounted,
        unpriced=unpriced,
        planned_calls=planned_calls,
        planned_tokens=planned_tokens,
        calls_of_plan=calls / planned_calls if planned_calls else None,
        tokens_of_plan=(prompt + completion) / planned_tokens if planned_tokens and not uncounted else None,
        models=models,
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    """The sum, or None where one of them is not known."""
    known = list(numbers)
    return None if None in known else sum(number or 0 for number in known)
