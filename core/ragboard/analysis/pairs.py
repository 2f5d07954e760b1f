"""List the paired samples of two runs, worst regressions first, and report on one pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np

from ragboard.analysis.alignment import Aligned, align, content_similarity
from ragboard.analysis.comparability import choose_evaluations, different_judges
from ragboard.analysis.metrics import read_descriptions
from ragboard.analysis.samples import SampleReport, sample_report
from ragboard.analysis.word_diff import Change, word_diff
from ragboard.errors import NotFoundError
from ragboard.records import Direction, Outcome, Passage, Unscored
from ragboard.store import RunRef, Store
from ragboard.store.queries.pairs import (
    TOLERANCE,
    PairedRuns,
    PairQuery,
    Which,
    compared_pairs,
    pair_gains,
    pairs_query,
)
from ragboard.store.queries.query import Connection
from ragboard.store.queries.samples import position_of, sample_texts
from ragboard.store.queries.scores import has_scores, outcomes_of_metric
from ragboard.store.queries.statements import JudgedStatement, statement_counts

__all__ = [
    "ChangeKind",
    "MovedPassage",
    "PairPosition",
    "PairReport",
    "PairRow",
    "PairsPage",
    "StatementChange",
    "classify_change",
    "pair_position",
    "pair_report",
    "pair_rows",
    "pairs_sql",
    "statement_changes",
]

ChangeKind = Literal["broken", "still wrong", "added", "fixed", "dropped", "not judged", "kept"]

SAME_CLAIM = 0.7
"""Similar statements with different verdicts make the same claim if the Dice similarity of their content words, in
[0, 1], is at least this."""
RECHUNKED = 0.5
"""Two passages are the same text in different chunks if they overlap by at least this share of the shorter one."""

_KINDS: tuple[ChangeKind, ...] = ("broken", "still wrong", "added", "fixed", "dropped", "not judged", "kept")


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """One question in both runs, with its outcomes on one metric."""

    sample_a: str
    sample_b: str
    question: str
    a: Outcome
    b: Outcome
    difference: float | None
    """B minus A; None if A or B is unscored."""
    change: Literal["better", "worse", "same", "differs", "unscored"]
    """`differs` if the metric has no better direction."""
    statements_a: int
    """Number of statements in A's answer; 0 if they were not extracted."""
    statements_b: int


@dataclass(frozen=True, kw_only=True)
class PairsPage:
    """One page of the pairs that a query selects."""

    rows: tuple[PairRow, ...]
    total: int
    """Number of pairs without the limit of the query."""
    counts: dict[Which, int]
    """Number of pairs for each value of `PairQuery.which`."""


@dataclass(frozen=True, kw_only=True)
class PairPosition:
    """The position of a pair in a query's result."""

    position: int
    """From 1; 0 if the query filters the pair out."""
    total: int
    """Number of pairs in the result."""
    previous: str | None
    """Id of A's sample in the previous pair; None for the first."""
    following: str | None
    """Id of A's sample in the next pair; None for the last."""


@dataclass(frozen=True, kw_only=True)
class StatementChange:
    """A statement of one or both answers, and what changed."""

    kind: ChangeKind
    """For a statement of both answers, `kept`: supported in both; `fixed`: supported only in B; `broken`: supported
    only in A; `still wrong`: supported in neither; `not judged`: a verdict is missing. For a statement of one answer,
    `dropped`: only in A; `added`: only in B."""
    a: JudgedStatement | None
    b: JudgedStatement | None
    number_a: int | None
    """The number of the statement in A's answer, from 1; None if it is only in B's."""
    number_b: int | None
    how: Literal["exact", "normalised", "fuzzy", "unmatched"]
    """How the two statements were matched; `unmatched` if only one answer has it."""


@dataclass(frozen=True, kw_only=True)
class MovedPassage:
    """A passage that both runs retrieved, with its rank in each."""

    passage: Passage
    rank_a: int
    rank_b: int


@dataclass(frozen=True, kw_only=True)
class PairReport:
    """One question in both runs."""

    a: SampleReport
    b: SampleReport
    answers: tuple[Change, ...]
    """The changes from A's answer to B's, word by word."""
    statements: tuple[StatementChange, ...]
    """The statements of both answers, regressions first."""
    shared: tuple[MovedPassage, ...]
    """Passages that both runs retrieved."""
    gained: tuple[Passage, ...]
    """Passages that only B retrieved."""
    lost: tuple[Passage, ...]
    """Passages that only A retrieved."""
    rechunked_a: tuple[Passage, ...]
    """Passages of A whose text B retrieved in other chunks; see `RECHUNKED`."""
    rechunked_b: tuple[Passage, ...]
    """Passages of B whose text A retrieved in other chunks."""


def pair_rows(store: Store, a: RunRef, b: RunRef, paired: PairedRuns, query: PairQuery) -> PairsPage:
    """Return a page of pairs: largest losses first, then unchanged pairs, gains and unscored pairs.

    If the query selects gains, the largest are first. For a metric without a better direction, the largest changes are
    first. Raises NotFoundError if the two evaluations do not share the metric.
    """
    a, b = choose_evaluations(store, a, b)
    with store.database.read() as connection:
        direction = _direction(connection, a, b, query.metric)
        gains = pair_gains(connection, a, b, paired, query.metric, direction)
        counts = gains.counts
        pairs = compared_pairs(connection, a, b, gains, query)
        sides = (a, [pair.a for pair in pairs]), (b, [pair.b for pair in pairs])
        before, after = (outcomes_of_metric(connection, run, query.metric, places) for run, places in sides)
        statements_a, statements_b = (statement_counts(connection, run.evaluation_id, places) for run, places in sides)
    rows = tuple(
        PairRow(
            sample_a=pair.sample_a,
            sample_b=pair.sample_b,
            question=pair.question,
            a=before.get(pair.a, _NOT_EVALUATED),
            b=after.get(pair.b, _NOT_EVALUATED),
            difference=pair.difference,
            change=classify_change(pair.difference, direction),
            statements_a=statements_a.get(pair.a, 0),
            statements_b=statements_b.get(pair.b, 0),
        )
        for pair in pairs
    )
    return PairsPage(rows=rows, total=counts[query.which], counts=counts)


def pairs_sql(store: Store, a: RunRef, b: RunRef, query: PairQuery) -> str:
    """Return the SQL query that selects a page of pairs. Raises NotFoundError if A and B do not share the metric."""
    a, b = choose_evaluations(store, a, b)
    with store.database.read() as connection:
        return str(pairs_query(a, b, query, _direction(connection, a, b, query.metric)))


def pair_position(
    store: Store, a: RunRef, b: RunRef, paired: PairedRuns, query: PairQuery, sample_id: str
) -> PairPosition:
    """Find the position of A's sample in a query's result without its limit, and the samples before and after it.

    If the query filters the sample out, the position is 0, and the next sample is the first of the result. Raises
    NotFoundError if the two evaluations do not share the metric.
    """
    a, b = choose_evaluations(store, a, b)
    with store.database.read() as connection:
        gains = pair_gains(connection, a, b, paired, query.metric, _direction(connection, a, b, query.metric))
        order = paired.a[gains.order(query.which)]
        index = next(iter(np.flatnonzero(order == position_of(connection, a.run_id, sample_id)).tolist()), -1)
        before = int(order[index - 1]) if index > 0 else None
        after = int(order[index + 1]) if index + 1 < order.size else None
        texts = sample_texts(connection, a.run_id, [at for at in (before, after) if at is not None])
    return PairPosition(
        position=index + 1,
        total=order.size,
        previous=None if before is None else texts[before].sample_id,
        following=None if after is None else texts[after].sample_id,
    )


def _direction(connection: Connection, a: RunRef, b: RunRef, spec: str) -> Direction:
    """Return the direction of a shared metric; neutral if different judges scored it in A and B."""
    if not all(has_scores(connection, run, spec) for run in (a, b)):
        raise NotFoundError(f"{a.name!r} and {b.name!r} do not both have scores of {spec!r}")
    metric = read_descriptions(connection).get(spec)
    same_judge = spec not in different_judges(connection, a, b, (spec,))
    return metric.direction if metric and same_judge else "neutral"


def pair_report(store: Store, a: RunRef, b: RunRef, paired: PairedRuns, sample_id: str) -> PairReport:
    """Compare a sample of A with its counterpart in B.

    Raises NotFoundError if A has no such sample or the sample has no counterpart in B.
    """
    a, b = choose_evaluations(store, a, b)
    in_a = sample_report(store, a, sample_id)
    counterpart = paired.b[paired.a == in_a.position].tolist()
    if not counterpart:
        raise NotFoundError(f"sample {sample_id!r} of {a.name!r} has no counterpart in {b.name!r}")
    with store.database.read() as connection:
        (other,) = sample_texts(connection, b.run_id, counterpart).values()
    in_b = sample_report(store, b, other.sample_id)
    before, after = in_a.sample.contexts or (), in_b.sample.contexts or ()
    ranks_a, ranks_b = ({passage.text: passage.rank for passage in reversed(passages)} for passages in (before, after))
    changed_a = [passage for passage in before if passage.text not in ranks_b]
    changed_b = [passage for passage in after if passage.text not in ranks_a]
    rechunked_a, lost = _split_rechunked(changed_a, after)
    rechunked_b, gained = _split_rechunked(changed_b, before)
    return PairReport(
        a=in_a,
        b=in_b,
        answers=word_diff(in_a.sample.answer or "", in_b.sample.answer or ""),
        statements=statement_changes(in_a.statements, in_b.statements),
        shared=tuple(
            MovedPassage(passage=passage, rank_a=ranks_a[passage.text], rank_b=passage.rank)
            for passage in after
            if passage.text in ranks_a
        ),
        gained=gained,
        lost=lost,
        rechunked_a=rechunked_a,
        rechunked_b=rechunked_b,
    )


def statement_changes(a: Sequence[JudgedStatement], b: Sequence[JudgedStatement]) -> tuple[StatementChange, ...]:
    """Match the statements of two answers by similar words, and return them all, regressions first.

    If one of two statements is supported and the other is not, their content words must be similar, too.
    """
    alignment = align([statement.statement.text for statement in a], [statement.statement.text for statement in b])
    aligned = [pair for pair in alignment.aligned if _is_one_claim(pair, a[pair.a], b[pair.b])]
    matched_a, matched_b = {pair.a for pair in aligned}, {pair.b for pair in aligned}
    changes = [
        StatementChange(
            kind=_classify_statement(a[pair.a], b[pair.b]),
            a=a[pair.a],
            b=b[pair.b],
            number_a=pair.a + 1,
            number_b=pair.b + 1,
            how=pair.how,
        )
        for pair in aligned
    ]
    changes += [
        StatementChange(kind="dropped", a=a[place], b=None, number_a=place + 1, number_b=None, how="unmatched")
        for place in range(len(a))
        if place not in matched_a
    ]
    changes += [
        StatementChange(kind="added", a=None, b=b[place], number_a=None, number_b=place + 1, how="unmatched")
        for place in range(len(b))
        if place not in matched_b
    ]
    return tuple(sorted(changes, key=lambda change: _KINDS.index(change.kind)))


def _is_one_claim(pair: Aligned, a: JudgedStatement, b: JudgedStatement) -> bool:
    if pair.how != "fuzzy" or _classify_statement(a, b) not in ("broken", "fixed"):
        return True
    return content_similarity(a.statement.text, b.statement.text) >= SAME_CLAIM


def _classify_statement(a: JudgedStatement, b: JudgedStatement) -> ChangeKind:
    before, after = (
        statement.verdict.label if statement.verdict else statement.separate_verdict for statement in (a, b)
    )
    if before is None or after is None:
        return "not judged"
    if before == "supported":
        return "kept" if after == "supported" else "broken"
    return "fixed" if after == "supported" else "still wrong"


def _split_rechunked(
    passages: Sequence[Passage], others: Sequence[Passage]
) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
    """Split passages into those whose text `others` have in other chunks, and the rest."""
    texts = [" ".join(passage.text.split()) for passage in others]
    rechunked, rest = list[Passage](), list[Passage]()
    for passage in passages:
        text = " ".join(passage.text.split())
        if any(_continues(text, other) or _continues(other, text) for other in texts):
            rechunked.append(passage)
        else:
            rest.append(passage)
    return tuple(rechunked), tuple(rest)


def _continues(first: str, second: str) -> bool:
    """Return whether `second` contains `first`, or begins with the end of `first`; see `RECHUNKED`."""
    if first in second:
        return bool(first)
    least = max(1, ceil(RECHUNKED * min(len(first), len(second))))
    start = second.find(first[-least:])
    while start >= 0:
        if first.endswith(second[: start + least]):
            return True
        start = second.find(first[-least:], start + 1)
    return False


_NOT_EVALUATED = Unscored(reason="skipped", detail="not evaluated")
"""The outcome of a sample that was not evaluated."""


def classify_change(
    difference: float | None, direction: Direction
) -> Literal["better", "worse", "same", "differs", "unscored"]:
    """Classify the difference B minus A of one pair; `differs` if the metric has no better direction."""
    if difference is None:
        return "unscored"
    if abs(difference) <= TOLERANCE:
        return "same"
    if direction == "neutral":
        return "differs"
    return "better" if (difference > 0) == (direction == "higher") else "worse"
