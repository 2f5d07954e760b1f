"""The pairs of two runs, worst regressions first, and one pair with all that changed in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.analysis.alignment import align
from ragboard.analysis.comparability import comparable_refs, different_judges
from ragboard.analysis.metrics import described
from ragboard.analysis.samples import SampleReport, sample_report
from ragboard.analysis.word_diff import Change, word_diff
from ragboard.errors import NotFoundError
from ragboard.records import Direction, Outcome, Passage, Unscored
from ragboard.store import RunRef, Store
from ragboard.store.queries.pairs import (
    SAME,
    PairedRuns,
    PairQuery,
    Which,
    compared_pairs,
    create_pairs,
    pair_counts,
    pair_order,
    pairs_query,
)
from ragboard.store.queries.query import Connection
from ragboard.store.queries.samples import position_of, sample_texts
from ragboard.store.queries.scores import has_scores, outcomes_of_metric
from ragboard.store.queries.statements import JudgedStatement, statement_counts

__all__ = [
    "MovedPassage",
    "PairPlace",
    "PairReport",
    "PairRow",
    "PairsPage",
    "StatementChange",
    "pair_place",
    "pair_report",
    "pair_rows",
    "pairs_sql",
    "statement_changes",
]

ChangeKind = Literal["broken", "still wrong", "added", "fixed", "dropped", "not judged", "kept"]

_KINDS: tuple[ChangeKind, ...] = ("broken", "still wrong", "added", "fixed", "dropped", "not judged", "kept")


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """One question in both runs, by one metric."""

    sample_a: str
    sample_b: str
    question: str
    a: Outcome
    b: Outcome
    difference: float | None
    """B minus A; None where a side is unscored."""
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
        direction = _direction(connection, a, b, query.metric)
        create_pairs(connection, a, b, paired, query.metric, direction)
        counts = pair_counts(connection)
        found = compared_pairs(connection, a, b, query)
        sides = (a, [one.a for one in found]), (b, [one.b for one in found])
        before, after = (outcomes_of_metric(connection, run, query.metric, places) for run, places in sides)
        claims_a, claims_b = (statement_counts(connection, run.evaluation_id, places) for run, places in sides)
    rows = tuple(
        PairRow(
            sample_a=one.sample_a,
            sample_b=one.sample_b,
            question=one.question,
            a=before.get(one.a, _NOT_THERE),
            b=after.get(one.b, _NOT_THERE),
            difference=one.difference,
            change=_change(one.difference, direction),
            claims_a=claims_a.get(one.a, 0),
            claims_b=claims_b.get(one.b, 0),
        )
        for one in found
    )
    return PairsPage(rows=rows, total=counts[query.which], counts=counts)


def pairs_sql(store: Store, a: RunRef, b: RunRef, query: PairQuery) -> str:
    """The SQL behind a page of pairs. Raises NotFoundError where the two evaluations do not share the metric."""
    a, b = comparable_refs(store, a, b)
    with store.database.read() as connection:
        return str(pairs_query(a, b, query, _direction(connection, a, b, query.metric)))


def pair_place(store: Store, a: RunRef, b: RunRef, paired: PairedRuns, query: PairQuery, sample_id: str) -> PairPlace:
    """Where a sample of A stands among the pairs that a query means, whatever its limit; its neighbours there.

    A sample that the query leaves out stands before the first. Raises NotFoundError where the two evaluations do not
    share the metric.
    """
    a, b = comparable_refs(store, a, b)
    with store.database.read() as connection:
        create_pairs(connection, a, b, paired, query.metric, _direction(connection, a, b, query.metric))
        ours = pair_order(connection, query)
        position = position_of(connection, a.run_id, sample_id)
        at = ours.index(position) if position in ours else -1
        near = {place: ours[place] for place in (at - 1, at + 1) if 0 <= place < len(ours)}
        texts = sample_texts(connection, a.run_id, list(near.values()))
    before, after = (texts[near[place]].sample_id if place in near else None for place in (at - 1, at + 1))
    return PairPlace(place=at + 1, total=len(ours), previous=before, following=after)


def _direction(connection: Connection, a: RunRef, b: RunRef, spec: str) -> Direction:
    """Which way a metric is better that both runs have: neither where different judges scored it."""
    if not all(has_scores(connection, run, spec) for run in (a, b)):
        raise NotFoundError(f"{a.name!r} and {b.name!r} do not both have scores of {spec!r}")
    metric = described(connection).get(spec)
    alike = spec not in different_judges(connection, a, b, (spec,))
    return metric.direction if metric and alike else "neutral"


def pair_report(store: Store, a: RunRef, b: RunRef, paired: PairedRuns, sample_id: str) -> PairReport:
    """A sample of A beside its partner in B. Raises NotFoundError where it is not there or has no partner."""
    a, b = comparable_refs(store, a, b)
    ours = sample_report(store, a, sample_id)
    partner = paired.b[paired.a == ours.position].tolist()
    if not partner:
        raise NotFoundError(f"sample {sample_id!r} of {a.name!r} has no partner in {b.name!r}")
    with store.database.read() as connection:
        (other,) = sample_texts(connection, b.run_id, partner).values()
    theirs = sample_report(store, b, other.sample_id)
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


_NOT_THERE = Unscored(reason="skipped", detail="not evaluated")


def _change(
    difference: float | None, direction: Direction
) -> Literal["better", "worse", "same", "differs", "unscored"]:
    if difference is None:
        return "unscored"
    if abs(difference) <= SAME:
        return "same"
    if direction == "neutral":
        return "differs"
    return "better" if (difference > 0) == (direction == "higher") else "worse"
