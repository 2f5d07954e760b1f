"""Sampling of growing runs: an evaluation may cover a random share of the samples."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import duckdb

__all__ = ["SamplingRate", "add_rate", "end_sampling", "read_rates"]


class SamplingRate(NamedTuple):
    """The probability that a sample is evaluated. It applies from `first_position` until that of the next rate."""

    first_position: int
    rate: float
    """Above 0, at most 1."""
    seed: int

    def selects(self, sample_id: str) -> bool:
        """Return whether the sample with this id is evaluated. The result depends only on seed and id."""
        digest = blake2b(f"{self.seed}:{sample_id}".encode(errors="replace"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.rate * 2**64


def read_rates(connection: duckdb.DuckDBPyConnection, evaluation_id: str) -> tuple[SamplingRate, ...]:
    """Return the sampling rates of an evaluation, ordered by first position."""
    rows = connection.execute(
        "SELECT first_position, rate, seed FROM sampling_rates WHERE evaluation_id = ? ORDER BY first_position",
        [evaluation_id],
    ).fetchall()
    return tuple(SamplingRate(*row) for row in rows)


def add_rate(connection: duckdb.DuckDBPyConnection, run_id: str, evaluation_id: str, rate: float, seed: int) -> None:
    """Add a sampling rate for samples that are added from now on. The first rate begins after the evaluated samples."""
    earlier = read_rates(connection, evaluation_id)
    sql = (
        "SELECT coalesce(next_position, samples) FROM runs WHERE run_id = ?"
        if earlier
        else "SELECT coalesce(max(position) + 1, 0) FROM scores WHERE evaluation_id = ?"
    )
    rows = connection.execute(sql, [run_id if earlier else evaluation_id]).fetchall()
    first = rows[0][0] if rows else 0
    connection.execute(
        "DELETE FROM sampling_rates WHERE evaluation_id = ? AND first_position >= ?", [evaluation_id, first]
    )
    connection.execute("INSERT INTO sampling_rates VALUES (?, ?, ?, ?, ?)", [run_id, evaluation_id, first, rate, seed])


def end_sampling(connection: duckdb.DuckDBPyConnection, evaluation_id: str) -> bool:
    """Delete the rates of an evaluation if all samples of its run have results. Return whether any were deleted."""
    ended = connection.execute(
        "DELETE FROM sampling_rates WHERE evaluation_id = $evaluation AND (SELECT covered >= samples"
        " FROM evaluations JOIN runs USING (run_id) WHERE evaluation_id = $evaluation) RETURNING rate",
        {"evaluation": evaluation_id},
    )
    return bool(ended.fetchall())
