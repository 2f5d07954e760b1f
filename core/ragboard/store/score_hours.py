"""Update the table `score_hours`: sums of scores by the hour in which questions were asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import duckdb

__all__ = ["freeze_score_hours", "update_score_hours"]

_COLUMNS = "evaluation_id, metric, hour, n, unscored, weight, square_weight, total, squares, cubes"


def update_score_hours(
    connection: duckdb.DuckDBPyConnection, evaluation_id: str, positions: Iterable[int] | None = None
) -> None:
    """Compute the sums of an evaluation from its scores, for all hours or those of the samples at these positions.

    Hours with deleted samples keep their sums.
    """
    given: dict[str, str | list[datetime] | Sequence[int]] = {"evaluation": evaluation_id}
    some_hours = ""
    if positions is not None:
        hours = connection.execute(
            "SELECT DISTINCT date_trunc('hour', time) FROM samples WHERE time IS NOT NULL"
            " AND run_id = (SELECT run_id FROM evaluations WHERE evaluation_id = $evaluation)"
            " AND position IN (SELECT unnest($positions::INTEGER[]))",
            {"evaluation": evaluation_id, "positions": list(positions)},
        ).fetchall()
        given["hours"] = [row[0] for row in hours]
        some_hours = " AND hour IN (SELECT unnest($hours::TIMESTAMP[]))"
    connection.execute(f"DELETE FROM score_hours WHERE evaluation_id = $evaluation AND NOT pruned{some_hours}", given)
    connection.execute(
        f"INSERT INTO score_hours SELECT {_COLUMNS}, false FROM current_score_hours"
        f" WHERE evaluation_id = $evaluation{some_hours}"
        " AND hour NOT IN (SELECT hour FROM score_hours WHERE evaluation_id = $evaluation AND pruned)",
        given,
    )


def freeze_score_hours(connection: duckdb.DuckDBPyConnection, run_ids: Sequence[str], before: datetime) -> None:
    """Freeze the sums of all hours before this time (UTC). Call this before samples of these runs are deleted."""
    connection.execute(
        "UPDATE score_hours SET pruned = true WHERE hour < $before"
        " AND evaluation_id IN (SELECT evaluation_id FROM evaluations WHERE run_id IN (SELECT unnest($runs)))",
        {"before": before, "runs": list(run_ids)},
    )
