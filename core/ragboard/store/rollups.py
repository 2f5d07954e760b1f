"""All rollups of the store."""

from __future__ import annotations

import duckdb

from ragboard.store.queries.annotation import METRIC_DISAGREEMENTS, SAMPLES_TO_LABEL
from ragboard.store.queries.pairs import QUESTION_DIGESTS
from ragboard.store.queries.quantities import QUANTITY_MOMENTS
from ragboard.store.queries.question_sets import QUESTION_SETS
from ragboard.store.queries.rollups import has_large_runs
from ragboard.store.queries.samples import COPIED_REFERENCES, PASSAGE_DIGESTS, REFUSAL_COUNTS
from ragboard.store.queries.scores import METRIC_MOMENTS, METRIC_NAMES, UNSCORED_COUNTS
from ragboard.store.queries.statements import (
    LABEL_COUNTS,
    ORIGIN_COUNTS,
    SEPARATELY_JUDGED,
    STATEMENT_GROUPS,
    WORST_STATEMENTS,
    WRONG_PASSAGES,
)
from ragboard.store.queries.values import METADATA_COLUMNS

__all__ = ["ROLLUPS", "refresh_rollups"]

ROLLUPS = (
    METADATA_COLUMNS,
    QUESTION_DIGESTS,
    QUESTION_SETS,
    COPIED_REFERENCES,
    PASSAGE_DIGESTS,
    METRIC_NAMES,
    METRIC_MOMENTS,
    UNSCORED_COUNTS,
    LABEL_COUNTS,
    ORIGIN_COUNTS,
    SEPARATELY_JUDGED,
    WORST_STATEMENTS,
    *STATEMENT_GROUPS.values(),
    WRONG_PASSAGES,
    QUANTITY_MOMENTS,
    REFUSAL_COUNTS,
    SAMPLES_TO_LABEL,
    METRIC_DISAGREEMENTS,
)


def refresh_rollups(connection: duckdb.DuckDBPyConnection) -> None:
    """Compute the rollups that are missing or out of date, and delete those of deleted runs and evaluations."""
    if not has_large_runs(connection):
        return
    connection.execute(
        "DELETE FROM rollups WHERE owner NOT IN"
        " (SELECT run_id FROM runs UNION ALL SELECT evaluation_id FROM evaluations)"
    )
    for rollup in ROLLUPS:
        rollup.refresh(connection)
