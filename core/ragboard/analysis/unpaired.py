"""List the samples of two runs that have no counterpart in the other run, and say why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.paired import pair_runs
from ragboard.store import RunRef, Store
from ragboard.store.queries.pairs import PairedRuns, UnpairedRow, unpaired_rows
from ragboard.store.queries.query import Connection
from ragboard.store.queries.values import metadata_columns

__all__ = ["Unpaired", "UnpairedSample", "pairing_warnings", "summarize_unpaired", "unpaired_samples"]

MAX_LISTED_IDS = 20
"""Maximum number of unpaired samples listed by id."""
_HISTORY = re.compile("hist|conv|turn|message|dialog|chat|previous", re.IGNORECASE)
"""Matches names of columns that may contain a conversation history."""


@dataclass(frozen=True, kw_only=True)
class Unpaired:
    """The samples of one run that are in no pair."""

    only: int
    """Number of samples without a counterpart in the other run."""
    ambiguous: int
    """Number of samples without a clear counterpart, because their question occurs several times in a run."""
    ids: tuple[str, ...]
    """The ids of the first 20 of these samples."""
    reasons: Mapping[str, int]
    """Number of samples by reason (`no such question in B`), most frequent first."""


@dataclass(frozen=True, kw_only=True)
class UnpairedSample:
    """A sample that is in no pair."""

    run: Literal["A", "B"]
    sample_id: str
    question: str
    reason: str
    """Why it is in no pair: `no such question in B`."""


def unpaired_samples(
    store: Store, a: RunRef, b: RunRef, paired: PairedRuns | None = None
) -> tuple[UnpairedSample, ...]:
    """List every sample that is in no pair: those of A, then those of B, in the order of their run."""
    paired = paired or pair_runs(store, a, b)
    with store.database.read() as connection:
        rows = unpaired_rows(connection, a.run_id, b.run_id, paired)
    return tuple(
        UnpairedSample(run=row.side, sample_id=row.sample_id, question=row.question, reason=_reason_in_words(row))
        for row in rows
    )


def summarize_unpaired(rows: Sequence[UnpairedRow], run: Literal["A", "B"]) -> Unpaired:
    """Summarise the unpaired samples of A or of B."""
    unpaired = [row for row in rows if row.side == run]
    ambiguous = sum(row.why == "repeated" for row in unpaired)
    return Unpaired(
        only=len(unpaired) - ambiguous,
        ambiguous=ambiguous,
        ids=tuple(row.sample_id for row in unpaired[:MAX_LISTED_IDS]),
        reasons=dict(Counter(map(_reason_in_words, unpaired)).most_common()),
    )


def pairing_warnings(
    connection: Connection, a: RunRef, b: RunRef, rows: Sequence[UnpairedRow], paired: int
) -> Iterator[str]:
    """Yield a warning for each problem that leaves samples unpaired."""
    counts = Counter((row.side, row.why) for row in rows)
    sides: tuple[tuple[Literal["A", "B"], Literal["A", "B"], RunRef], ...] = (("A", "B", b), ("B", "A", a))
    for side, other, other_run in sides:
        count = counts[side, "no history in other"]
        if not count:
            continue
        total = paired + sum(row.side == side for row in rows)
        columns = [
            column.key for column in metadata_columns(connection, other_run.run_id) if _HISTORY.search(column.key)
        ]
        verb = "is" if count == 1 else "are"
        column = columns[0] if columns else "COLUMN"
        yield (
            f"{count:,} of the {total:,} questions of {side} {verb} not paired because {other} has them without a"
            f" conversation history. Import {other} again with its history column: --map history={column}"
        )
    differ = max(counts["A", "history"], counts["B", "history"])
    if differ:
        yield f"Not paired: {_samples(differ)} the same question in A and B after a different conversation history."
    ids = max(counts["A", "id"], counts["B", "id"])
    if ids:
        yield f"Not paired: {_samples(ids)} the same id in A and B but a different question."
    spelling = max(counts["A", "spelling"], counts["B", "spelling"])
    if spelling:
        yield f"Not paired: {_samples(spelling)} a question that differs only in case or white space."


def _samples(count: int) -> str:
    return "1 sample has" if count == 1 else f"{count:,} samples have"


def _reason_in_words(row: UnpairedRow) -> str:
    other = "B" if row.side == "A" else "A"
    match row.why:
        case "missing":
            return f"no such question in {other}"
        case "spelling":
            return f"differs from a question in {other} in case or white space"
        case "id":
            return f"another question with this id in {other}"
        case "taken":
            return f"asked more often in {row.side} than in {other}"
        case "repeated":
            times = sorted([(row.side, row.repeats), (other, row.other_repeats)])
            return " and ".join(f"asked {_times(count)} in {side}" for side, count in times if count > 1)
        case "history":
            return f"another conversation history in {other}"
        case "no history in other":
            return f"no conversation history in {other}"
        case "history only in other":
            return f"no conversation history in {row.side}"


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count:,} times"
