"""Delete old samples of growing runs (runs of logged or collected traffic)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import duckdb

from ragboard.store.score_hours import freeze_score_hours
from ragboard.store.writing import delete_samples, grows

__all__ = ["PrunedRun", "prune_run", "runs_to_prune"]

_LABELLED = (
    "(answer_key IN (SELECT answer_key FROM current_labels UNION ALL SELECT other_key FROM current_labels)"
    " OR EXISTS (FROM current_question_labels l WHERE l.question = s.question"
    " AND l.history::VARCHAR = s.history::VARCHAR))"
)
"""Whether the answer or the question of a sample `s` has a human label."""


@dataclass(frozen=True, kw_only=True)
class PrunedRun:
    """What pruning did to a run, or would do."""

    run_id: str
    name: str
    deleted: int
    kept_labelled: int
    """Old samples that were kept because they have human labels."""
    left: int
    """Number of samples after pruning."""


def runs_to_prune(connection: duckdb.DuckDBPyConnection, before: datetime, name: str | None) -> list[str]:
    """Return the ids of growing runs with samples from before a time. `name` limits them to a run or dataset."""
    rows = connection.execute(
        "SELECT run_id FROM runs WHERE ($name IS NULL OR name = $name OR dataset = $name)"
        " AND run_id IN (SELECT run_id FROM samples WHERE time < $before) ORDER BY imported, run_id",
        {"name": name, "before": before},
    ).fetchall()
    return [run_id for (run_id,) in rows if grows(connection, run_id)]


def prune_run(
    connection: duckdb.DuckDBPyConnection, run_id: str, before: datetime, *, keep_labelled: bool, dry_run: bool
) -> PrunedRun:
    """Delete the samples of a run from before a time (UTC), with their results; with `dry_run`, only count them.

    Samples without a time are kept. Trends still show the deleted samples, from their hourly sums.
    """
    labelled = _LABELLED if keep_labelled else "false"
    rows = connection.execute(
        f"SELECT position, {labelled} FROM samples s WHERE run_id = $run AND time < $before",
        {"run": run_id, "before": before},
    ).fetchall()
    positions = [position for position, kept in rows if not kept]
    if positions and not dry_run:
        freeze_score_hours(connection, [run_id], before)
        delete_samples(connection, run_id, positions)
    ((name, samples),) = connection.execute("SELECT name, samples FROM runs WHERE run_id = ?", [run_id]).fetchall()
    return PrunedRun(
        run_id=run_id,
        name=name,
        deleted=len(positions),
        kept_labelled=len(rows) - len(positions),
        left=samples - len(positions) if dry_run else samples,
    )
