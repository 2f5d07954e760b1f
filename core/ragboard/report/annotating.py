"""Queues of samples to be labelled, how far a person has come, and how people agree with the judge and each other."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import duckdb

from ragboard.judges.tasks import Quality
from ragboard.labels import Draw, LabelKind, Queue
from ragboard.labels.draws import newest_draw, partners
from ragboard.records import Label
from ragboard.stats import cohen_kappa
from ragboard.store import RunRef, Store
from ragboard.store.queries.scores import shown_scores

__all__ = ["AnnotationQueue", "Kappa", "QueueItem", "annotation_queue", "annotator_agreement"]

Labels: TypeAlias = dict[tuple[int, int], Label]
"""By position and statement what one says."""

DISAGREEMENTS = 200
"""Samples of the disagreement queue at most, the plainest first."""
APART = 0.3
"""So far apart two metrics of one name disagree."""


@dataclass(frozen=True, kw_only=True)
class QueueItem:
    """A sample to be labelled."""

    sample_id: str
    position: int
    wanted: int
    """Labels that it takes: one for each statement; one for a whole answer or a pair."""
    labelled: int
    """Those of them that this person gave, in this queue."""
    why: str = ""
    """Why it is in the disagreement queue."""
    other_id: str = ""
    """Of a pair: the sample of the other run."""
    swapped: bool = False
    """Of a pair: whether this person sees the other run's answer first; by lot, the same every time."""

    @property
    def done(self) -> bool:
        """Whether nothing is left to say."""
        return self.labelled >= self.wanted


@dataclass(frozen=True, kw_only=True)
class AnnotationQueue:
    """What a person goes through, in order."""

    items: tuple[QueueItem, ...]
    draw: Draw | None
    """How the samples were chosen; None of the disagreement queue, and where nobody drew yet."""

    @property
    def following(self) -> QueueItem | None:
        """The first that is not done."""
        return next((item for item in self.items if not item.done), None)

    @property
    def in_words(self) -> str:
        """`7 of 150 samples, 31 labels`."""
        done, said = sum(item.done for item in self.items), sum(item.labelled for item in self.items)
        return f"{done:,} of {len(self.items):,} samples, {said:,} label{'' if said == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class Kappa:
    """Agreement beyond chance of two who judged the same statements, on samples that the first has finished."""

    first: str
    second: str
    n: int
    """Statements that both gave a verdict on."""
    kappa: float | None
    """Cohen's kappa over the three verdicts, at most 1, 0 is chance; None where `reason` says why."""
    reason: str = ""

    @property
    def in_words(self) -> str:
        """`kappa with bob 0.62 on 31 statements`."""
        said = (
            f"no kappa with {self.second} yet" if self.kappa is None else f"kappa with {self.second} {self.kappa:.2f}"
        )
        return f"{said} on {self.n:,} statement{'' if self.n == 1 else 's'}"


def annotation_queue(
    store: Store,
    run: RunRef,
    queue: Queue,
    *,
    annotator: str,
    kind: LabelKind = "verdict",
    dimension: Quality = "faithfulness",
    against: RunRef | None = None,
) -> AnnotationQueue:
    """The samples that a person is to label, in the order of the draw or the plainest disagreement first."""
    with store.database.read() as connection:
        draw = newest_draw(connection, run, kind, against) if queue == "random" else None
        why = _disagreements(connection, run) if queue == "disagreement" else {}
        order = draw.positions if draw else tuple(why)
        others = partners(connection, run, against) if against else {}
        if against:
            order = tuple(position for position in order if position in others)
        rows = _wanted(connection, run, order, queue, annotator, kind, dimension, against, others)
    items = {
        position: QueueItem(
            sample_id=sample_id,
            position=position,
            wanted=wanted,
            labelled=labelled,
            why=why.get(position, ""),
            other_id=others.get(position, ""),
            swapped=_by_lot(annotator, sample_id),
        )
        for position, sample_id, wanted, labelled in rows
    }
    return AnnotationQueue(items=tuple(items[at] for at in order if at in items), draw=draw)


def annotator_agreement(store: Store, run: RunRef, queue: Queue, *, annotator: str) -> tuple[Kappa, ...]:
    """Kappa of a person with the judge, then with every other annotator, on the samples that this person finished."""
    with store.database.read() as connection:
        said = _said(connection, run, queue)
        whole = _finished(connection, run, said.get(annotator, {}))
        judged = _judged(connection, run, whole)
    mine: Labels = {place: label for place, label in said.get(annotator, {}).items() if place[0] in whole}
    others: dict[str, Labels] = {"the judge": judged} | {name: said[name] for name in sorted(said) if name != annotator}
    return tuple(found for name, labels in others.items() if (found := _kappa(annotator, mine, name, labels)).n)


def _by_lot(annotator: str, sample_id: str) -> bool:
    return random.Random(f"{annotator}\0{sample_id}").random() < 0.5  # noqa: S311 - a lot, not a secret


def _kappa(first: str, ours: Labels, second: str, theirs: Labels) -> Kappa:
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        return Kappa(first=first, second=second, n=0, kappa=None, reason="no statement in common")
    try:
        kappa = cohen_kappa([ours[place] for place in both], [theirs[place] for place in both])
    except ValueError as error:
        return Kappa(first=first, second=second, n=len(both), kappa=None, reason=str(error))
    return Kappa(first=first, second=second, n=len(both), kappa=kappa)


def _said(connection: duckdb.DuckDBPyConnection, run: RunRef, queue: Queue) -> dict[str, Labels]:
    rows = connection.execute(
        "SELECT annotator, position, statement, label FROM human_verdicts WHERE evaluation_id = ? AND queue = ?"
        " ORDER BY number",
        [run.evaluation_id, queue],
    ).fetchall()
    found: dict[str, Labels] = {}
    for annotator, position, statement, label in rows:
        found.setdefault(annotator, {})[position, statement] = label
    return found


def _finished(connection: duckdb.DuckDBPyConnection, run: RunRef, mine: Labels) -> set[int]:
    """The samples of which every statement has a label of this person."""
    rows = connection.execute(
        "SELECT position, count(*) FROM statements WHERE evaluation_id = ? AND side = 'response'"
        " AND position IN (SELECT unnest(?::INTEGER[])) GROUP BY 1",
        [run.evaluation_id, list({position for position, _ in mine})],
    ).fetchall()
    return {position for position, count in rows if count == sum(place[0] == position for place in mine)}


def _judged(connection: duckdb.DuckDBPyConnection, run: RunRef, positions: set[int]) -> Labels:
    rows = connection.execute(
        "SELECT position, statement, label FROM verdicts WHERE evaluation_id = ? AND side = 'response'"
        " AND target = 'joint' AND position IN (SELECT unnest(?::INTEGER[]))",
        [run.evaluation_id, list(positions)],
    ).fetchall()
    return {(position, statement): label for position, statement, label in rows}


def _wanted(
    connection: duckdb.DuckDBPyConnection,
    run: RunRef,
    positions: Sequence[int],
    queue: Queue,
    annotator: str,
    kind: LabelKind,
    dimension: Quality,
    against: RunRef | None,
    others: Mapping[int, str],
) -> list[tuple[Any, ...]]:
    """Position, sample id, labels that it takes and those that the person gave."""
    given = {"run": run.run_id, "positions": list(positions), "queue": queue, "annotator": annotator.strip()}
    if kind == "verdict":
        return connection.execute(
            "SELECT s.position, s.sample_id, count(DISTINCT t.statement), count(DISTINCT h.statement) FROM samples s"
            " JOIN statements t ON t.evaluation_id = $evaluation AND t.position = s.position AND t.side = 'response'"
            " LEFT JOIN human_verdicts h ON h.evaluation_id = t.evaluation_id AND h.position = t.position"
            " AND h.statement = t.statement AND h.queue = $queue AND h.annotator = $annotator"
            " WHERE s.run_id = $run AND s.position IN (SELECT unnest($positions::INTEGER[])) GROUP BY ALL",
            given | {"evaluation": run.evaluation_id},
        ).fetchall()
    join, on = "", "s.answer_key IN (l.answer_key, l.other_key)"
    if against is not None:
        join = (
            " JOIN (SELECT unnest($positions::INTEGER[]) AS position, unnest($others::VARCHAR[]) AS other) p"
            " USING (position) JOIN samples o ON o.run_id = $against AND o.sample_id = p.other"
        )
        on = "l.answer_key = least(s.answer_key, o.answer_key) AND l.other_key = greatest(s.answer_key, o.answer_key)"
        given |= {"against": against.run_id, "others": [others[position] for position in positions]}
    return connection.execute(
        f"SELECT s.position, s.sample_id, 1, count(l.number) > 0 FROM samples s{join}"
        f" LEFT JOIN current_labels l ON {on} AND l.kind = $kind"
        " AND l.dimension = $dimension AND l.queue = $queue AND l.annotator = $annotator"
        " WHERE s.run_id = $run AND s.position IN (SELECT unnest($positions::INTEGER[])) GROUP BY ALL",
        given | {"kind": kind, "dimension": dimension},
    ).fetchall()


def _disagreements(connection: duckdb.DuckDBPyConnection, run: RunRef) -> dict[int, str]:
    """By position, the plainest first, what disagrees: people and the judge, two judges, two metrics of one name."""
    shown = shown_scores(run)
    rows = connection.execute(
        "WITH ours AS (SELECT v.position, v.statement, v.label, t.text FROM verdicts v JOIN statements t"
        " USING (evaluation_id, position, side, statement) WHERE v.evaluation_id = $evaluation"
        " AND v.side = 'response' AND v.target = 'joint'),"
        " people AS (SELECT o.position, 'a person and the judge' AS why, count(DISTINCT o.statement) AS much"
        " FROM ours o JOIN human_verdicts h ON h.evaluation_id = $evaluation AND h.position = o.position"
        " AND h.statement = o.statement WHERE h.label <> o.label AND h.queue <> 'disagreement' GROUP BY 1),"
        " judges AS (SELECT o.position, 'two judges' AS why, count(DISTINCT o.statement) AS much FROM ours o"
        " JOIN evaluations e ON e.run_id = $run AND e.evaluation_id <> $evaluation"
        " JOIN statements t ON t.evaluation_id = e.evaluation_id AND t.position = o.position AND t.side = 'response'"
        " AND t.text = o.text JOIN verdicts v ON v.evaluation_id = t.evaluation_id AND v.position = t.position"
        " AND v.side = 'response' AND v.statement = t.statement AND v.target = 'joint' WHERE v.label <> o.label"
        " GROUP BY 1),"
        " named AS (SELECT position, split_part(split_part(metric, '(', 1), '.', 2) AS name, value FROM scores"
        f" WHERE {shown.sql} AND value BETWEEN 0 AND 1),"
        " metrics AS (SELECT position, 'metrics of ' || name AS why, max(value) - min(value) AS much FROM named"
        " GROUP BY position, name HAVING max(value) - min(value) >= $apart)"
        " SELECT position, string_agg(why, ', ' ORDER BY much DESC), sum(much) AS much FROM (FROM people UNION ALL"
        " FROM judges UNION ALL FROM metrics) WHERE position IN (SELECT position FROM statements"
        " WHERE evaluation_id = $evaluation AND side = 'response')"
        " GROUP BY position ORDER BY much DESC, position LIMIT $limit",
        {**shown.given, "apart": APART, "limit": DISAGREEMENTS},
    ).fetchall()
    return {position: why for position, why, _ in rows}
