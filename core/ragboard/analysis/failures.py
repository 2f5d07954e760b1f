"""What went wrong in an evaluation, by kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragboard.analysis.values import own_scores
from ragboard.problems import kind_of_problem
from ragboard.store import RunRef, Store

__all__ = ["FailureKind", "failed_evaluations", "failures"]


@dataclass(frozen=True, kw_only=True)
class FailureKind:
    """Failures that differ in numbers, names and quoted texts at most."""

    message: str
    """What they have in common."""
    count: int
    """Scores that are missing for it."""
    samples: int
    metrics: tuple[str, ...]
    sample_id: str
    """One of the samples, and its whole message."""
    example: str


def failures(store: Store, run: RunRef) -> tuple[FailureKind, ...]:
    """The kinds of failure behind a run's missing scores, the commonest first."""
    own, given = own_scores(run)
    with store.database.read() as connection:
        rows = connection.execute(
            f"SELECT c.detail, c.metric, s.position, s.sample_id FROM (FROM scores WHERE {own} AND reason = 'failed') c"
            " JOIN samples s ON s.run_id = $run AND s.position = c.position ORDER BY s.position, c.metric",
            given | {"run": run.run_id},
        ).fetchall()
    kinds: dict[str, list[tuple[str, str, int, str]]] = {}
    for row in rows:
        kinds.setdefault(kind_of_problem(row[0]), []).append(row)
    return tuple(sorted((_kind(message, found) for message, found in kinds.items()), key=lambda kind: -kind.count))


def failed_evaluations(store: Store, run: RunRef) -> tuple[RunRef, ...]:
    """The run by each of its evaluations that a missing score is shown from because something failed."""
    own, given = own_scores(run)
    with store.database.read() as connection:
        rows = connection.execute(
            f"SELECT DISTINCT evaluation_id FROM scores WHERE {own} AND reason = 'failed'", given
        ).fetchall()
    failed = {row[0] for row in rows}
    return tuple(
        RunRef(run_id=run.run_id, name=run.name, evaluation_id=one) for one in run.evaluations if one in failed
    )


def _kind(message: str, found: Iterable[tuple[str, str, int, str]]) -> FailureKind:
    rows = list(found)
    example, _, _, sample_id = rows[0]
    return FailureKind(
        message=message,
        count=len(rows),
        samples=len({position for _, _, position, _ in rows}),
        metrics=tuple(dict.fromkeys(metric for _, metric, _, _ in rows)),
        sample_id=sample_id,
        example=example,
    )
