"""The pairs of two runs, worst regressions first, and one pair with all that changed in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb
import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.alignment import align
from ragboard.analysis.columns import MetricColumn, metric_columns
from ragboard.analysis.comparability import comparable_refs, different_judges
from ragboard.analysis.metrics import described
from ragboard.analysis.nouns import JudgedStatement, SampleReport
from ragboard.analysis.pairing import PairedRuns, Places
from ragboard.analysis.samples import outcome_of, sample_report
from ragboard.analysis.values import shown_scores
from ragboard.analysis.worddiff import Change, word_diff
from ragboard.errors import NotFoundError
from ragboard.records import Outcome, Passage, Unscored
from ragboard.store import RunRef, Store

__all__ = [
    "MovedPassage",
    "PairPlace",
    "PairQuery",
    "PairReport",
    "PairRow",
    "PairsPage",
    "StatementChange",
    "Which",
    "pair_place",
    "pair_report",
    "pair_rows",
    "statement_changes",
]

Which = Literal["all", "worse", "better", "same", "unscored"]
ChangeKind = Literal["broken", "still wrong", "added", "fixed", "dropped", "not judged", "kept"]

SAME = 1e-9
"""Values nearer than this are the same."""
_KINDS: tuple[ChangeKind, ...] = ("broken", "still wrong", "added", "fixed", "dropped", "not judged", "kept")


@dataclass(frozen=True, kw_only=True)
class PairQuery:
    """Which pairs, by how one metric changed in them."""

    metric: str
    which: Which = "all"
    limit: int = 25
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """One question in both runs, by one metric."""

    sample_a: str
    sample_b: str
    question: str
    a: Outcome
    b: Outcome
    difference: float | None
    """B less A; None where a side is unscored."""
    change: Literal["better", "worse", "same", "differs", "unscored"]
    """differs: of a metric that is better neither way."""
    claims_a: int
    """Statements of the answer; 0 where it was not split."""
    claims_b: int


@dataclass(frozen=True, kw_only=True)
class PairsPage:
    """Pairs that a query found, and how many there are of each kind."""

    rows: tuple[PairRow, ...]
    total: int
    counts: dict[Which, int]


@dataclass(frozen=True, kw_only=True)
class PairPlace:
    """Where a pair stands in a list of pairs."""

    place: int
    """From 1; 0 where the pair is not in the list."""
    total: int
    previous: str | None
    """Samples of A in the pairs before and after."""
    following: str | None


@dataclass(frozen=True, kw_only=True)
class StatementChange:
    """A statement of both answers, or of one."""

    kind: ChangeKind
    """kept: supported in both; fixed: in B only; broken: in A only; still wrong: in neither; not judged: a
    verdict is missing; dropped: in A's answer only; added: in B's answer only."""
    a: JudgedStatement | None
    b: JudgedStatement | None
    number_a: int | None
    """Its place among the statements of A's answer, from 1."""
    number_b: int | None
    how: Literal["exact", "normalised", "fuzzy", "alone"]
    """How the two were found to say the same; alone: there is no other."""


@dataclass(frozen=True, kw_only=True)
class MovedPassage:
    """A passage that both runs retrieved, and its rank in each."""

    passage: Passage
    rank_a: int
    rank_b: int


@dataclass(frozen=True, kw_only=True)
class PairReport:
    """One question in both runs."""

    a: SampleReport
    b: SampleReport
    answers: tuple[Change, ...]
    """From A's answer to B's, word by word."""
    statements: tuple[StatementChange, ...]
    """What got worse first."""
    shared: tuple[MovedPassage, ...]
    gained: tuple[Passage, ...]
    """Passages that only B retrieved; the same text is the same passage."""
    lost: tuple[Passage, ...]


def pair_rows(store: Store, a: RunRef, b: RunRef, paired: PairedRuns, query: PairQuery) -> PairsPage:
    """A page of pairs: the greatest losses first, then what is the same, gains, and the unscored last.

    A query for gains has the greatest first. Of a metric that is better neither way the greatest changes come
    first. Raises NotFoundError where the two evaluations do not share the metric.
    """
    a, b = comparable_refs(store, a, b)
    with store.database.read() as connection:
        column, direction = _column(connection, a, b, paired, query.metric)
        gains = _gains(column, direction)
        order = _order(gains, column, query.which)
        places = order[query.offset : query.offset + query.limit]
        chosen = list(zip(paired.a[places].tolist(), paired.b[places].tolist(), strict=True))
        rows = tuple(_rows(connection, a, b, chosen, query.metric, direction))
    return PairsPage(rows=rows, total=order.size, counts=_counts(gains, column))


def pair_place(store: Store, a: RunRef, b: RunRef, paired: PairedRuns, query: PairQuery, sample_id: str) -> PairPlace:
    """Where a sample of A stands among the pairs that a query means, whatever its limit; its neighbours there.

    A sample that the query leaves out stands before the first. Raises NotFoundError where the two evaluations do not
    share the metric.
    """
    a, b = comparable_refs(store, a, b)
    with store.database.read() as connection:
        column, direction = _column(connection, a, b, paired, query.metric)
        ours = paired.a[_order(_gains(column, direction), column, query.which)]
        found = connection.execute(
            "SELECT position FROM samples WHERE run_id = ? AND sample_id = ?", [a.run_id, sample_id]
        ).fetchone()
        at = next(iter(np.flatnonzero(ours == found[0]).tolist()), -1) if found else -1
        near = {place: int(ours[place]) for place in (at - 1, at + 1) if 0 <= place < ours.size}
        ids = dict(
            connection.execute(
                "SELECT position, sample_id FROM samples WHERE run_id = ? AND position IN (SELECT unnest(?))",
                [a.run_id, list(near.values())],
            ).fetchall()
        )
    before, after = (ids.get(near[place]) if place in near else None for place in (at - 1, at + 1))
    return PairPlace(place=at + 1, total=ours.size, previous=before, following=after)


def pair_report(store: Store, a: RunRef, b: RunRef, paired: PairedRuns, sample_id: str) -> PairReport:
    """A sample of A beside its partner in B. Raises NotFoundError where it is not there or has no partner."""
    a, b = comparable_refs(store, a, b)
    ours = sample_report(store, a, sample_id)
    partner = paired.b[paired.a == ours.position].tolist()
    if not partner:
        raise NotFoundError(f"sample {sample_id!r} of {a.name!r} has no partner in {b.name!r}")
    with store.database.read() as connection:
        (other,) = _texts(connection, b, partner).values()
    theirs = sample_report(store, b, other[0])
    shared, gained, lost = _passages(ours.sample.contexts or (), theirs.sample.contexts or ())
    return PairReport(
        a=ours,
        b=theirs,
        answers=word_diff(ours.sample.answer or "", theirs.sample.answer or ""),
        statements=statement_changes(ours.statements, theirs.statements),
        shared=shared,
        gained=gained,
        lost=lost,
    )


def statement_changes(a: Sequence[JudgedStatement], b: Sequence[JudgedStatement]) -> tuple[StatementChange, ...]:
    """Every statement of both answers once, what got worse first."""
    found = align([one.statement.text for one in a], [one.statement.text for one in b])
    changes = [
        StatementChange(
            kind=_kind(a[pair.a], b[pair.b]),
            a=a[pair.a],
            b=b[pair.b],
            number_a=pair.a + 1,
            number_b=pair.b + 1,
            how=pair.how,
        )
        for pair in found.aligned
    ]
    changes += [
        StatementChange(kind="dropped", a=a[place], b=None, number_a=place + 1, number_b=None, how="alone")
        for place in found.only_a
    ]
    changes += [
        StatementChange(kind="added", a=None, b=b[place], number_a=None, number_b=place + 1, how="alone")
        for place in found.only_b
    ]
    return tuple(sorted(changes, key=lambda change: _KINDS.index(change.kind)))


def _kind(a: JudgedStatement, b: JudgedStatement) -> ChangeKind:
    before, after = (said.verdict.label if said.verdict else said.alone for said in (a, b))
    if before is None or after is None:
        return "not judged"
    if before == "supported":
        return "kept" if after == "supported" else "broken"
    return "fixed" if after == "supported" else "still wrong"


def _passages(
    a: Sequence[Passage], b: Sequence[Passage]
) -> tuple[tuple[MovedPassage, ...], tuple[Passage, ...], tuple[Passage, ...]]:
    ours, theirs = {one.text: one for one in reversed(a)}, {one.text: one for one in reversed(b)}
    shared = tuple(
        MovedPassage(passage=one, rank_a=ours[one.text].rank, rank_b=one.rank) for one in b if one.text in ours
    )
    return shared, tuple(one for one in b if one.text not in ours), tuple(one for one in a if one.text not in theirs)


def _column(
    connection: duckdb.DuckDBPyConnection, a: RunRef, b: RunRef, paired: PairedRuns, spec: str
) -> tuple[MetricColumn, str]:
    """A metric over all pairs, and which way is better: neither where different judges scored it."""
    column = metric_columns(connection, a, b, paired, spec).get(spec)
    if column is None:
        raise NotFoundError(f"{a.name!r} and {b.name!r} do not both have scores of {spec!r}")
    metric = described(connection).get(spec)
    alike = metric is not None and spec not in different_judges(connection, a, b, (spec,))
    return column, metric.direction if metric and alike else "neutral"


def _gains(column: MetricColumn, direction: str) -> NDArray[np.float64]:
    """How much better each pair got; of a metric that is better neither way, how little it changed."""
    difference = column.b - column.a
    if direction == "neutral":
        return -np.abs(difference)
    return difference if direction == "higher" else -difference


def _order(gains: NDArray[np.float64], column: MetricColumn, which: Which) -> Places:
    both = column.both
    kept = {
        "all": np.ones_like(both),
        "worse": both & (gains < -SAME),
        "better": both & (gains > SAME),
        "same": both & (np.abs(gains) <= SAME),
        "unscored": ~both,
    }[which]
    keys = -gains if which == "better" else gains
    order = np.lexsort((keys, ~both))
    return order[kept[order]]


def _counts(gains: NDArray[np.float64], column: MetricColumn) -> dict[Which, int]:
    both = column.both
    return {
        "all": int(both.size),
        "worse": int(np.sum(both & (gains < -SAME))),
        "better": int(np.sum(both & (gains > SAME))),
        "same": int(np.sum(both & (np.abs(gains) <= SAME))),
        "unscored": int(np.sum(~both)),
    }


def _rows(
    connection: duckdb.DuckDBPyConnection,
    a: RunRef,
    b: RunRef,
    pairs: Sequence[tuple[int, int]],
    metric: str,
    direction: str,
) -> Iterator[PairRow]:
    sides = [(a, [pair[0] for pair in pairs]), (b, [pair[1] for pair in pairs])]
    ours, theirs = (_texts(connection, run, positions) for run, positions in sides)
    before, after = (_outcomes(connection, run, positions, metric) for run, positions in sides)
    claims_a, claims_b = (_claims(connection, run, positions) for run, positions in sides)
    for one, other in pairs:
        first, second = before.get(one, _NOT_THERE), after.get(other, _NOT_THERE)
        difference = None
        if not isinstance(first, Unscored) and not isinstance(second, Unscored):
            difference = second.value - first.value
        yield PairRow(
            sample_a=ours[one][0],
            sample_b=theirs[other][0],
            question=ours[one][1],
            a=first,
            b=second,
            difference=difference,
            change=_change(difference, direction),
            claims_a=claims_a.get(one, 0),
            claims_b=claims_b.get(other, 0),
        )


_NOT_THERE = Unscored(reason="skipped", detail="not evaluated")


def _change(difference: float | None, direction: str) -> Literal["better", "worse", "same", "differs", "unscored"]:
    if difference is None:
        return "unscored"
    if abs(difference) <= SAME:
        return "same"
    if direction == "neutral":
        return "differs"
    return "better" if (difference > 0) == (direction == "higher") else "worse"


def _texts(connection: duckdb.DuckDBPyConnection, run: RunRef, positions: Sequence[int]) -> dict[int, tuple[str, str]]:
    rows = connection.execute(
        "SELECT position, sample_id, question FROM samples WHERE run_id = ? AND position IN (SELECT unnest(?))",
        [run.run_id, list(positions)],
    ).fetchall()
    return {position: (sample_id, question) for position, sample_id, question in rows}


def _outcomes(
    connection: duckdb.DuckDBPyConnection, run: RunRef, positions: Sequence[int], metric: str
) -> dict[int, Outcome]:
    shown, given = shown_scores(run)
    rows = connection.execute(
        f"SELECT position, value, counted, reason, detail FROM scores WHERE {shown} AND metric = $metric"
        " AND position IN (SELECT unnest($positions))",
        given | {"metric": metric, "positions": list(positions)},
    ).fetchall()
    return {row[0]: outcome_of(*row[1:]) for row in rows}


def _claims(connection: duckdb.DuckDBPyConnection, run: RunRef, positions: Sequence[int]) -> dict[int, int]:
    rows = connection.execute(
        "SELECT position, count(*) FROM statements WHERE evaluation_id = ? AND side = 'response'"
        " AND position IN (SELECT unnest(?)) GROUP BY 1",
        [run.evaluation_id, list(positions)],
    ).fetchall()
    return dict(rows)
