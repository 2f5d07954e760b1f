"""Which samples people label: random draws, their progress, disagreements, and the samples labelled in full."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from ragboard.records import Label
from ragboard.store.nouns import RunRef
from ragboard.store.queries.labels import LabelKind, Queue
from ragboard.store.queries.query import Connection
from ragboard.store.queries.scores import shown_scores

__all__ = [
    "Draw",
    "VerdictsByPlace",
    "answer_places",
    "disagreements",
    "graded_samples",
    "judge_scores",
    "judge_verdicts",
    "keep_draw",
    "labelled_verdicts",
    "newest_draw",
    "other_evaluations",
    "partners",
    "positions_to_label",
    "queue_progress",
    "samples_with_verdicts",
    "statement_counts",
]

VerdictsByPlace: TypeAlias = dict[tuple[int, int], Label]
"""Verdicts by position and statement."""
LabelledRows: TypeAlias = Sequence[tuple[int, str, float, list[str], list[str]]]
"""Position, sample id, outcome in [0, 1], annotators and designs of samples that are labelled in full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """A simple random sample without replacement of a run's samples, to be labelled in this order.

    A larger draw of the same seed begins with the smaller one, unless the run grew meanwhile.
    """

    id: str
    kind: LabelKind
    run_id: str
    evaluation_id: str
    """Whose statements are labelled; empty where whole answers are."""
    other_run_id: str
    """Of preferences: the run that the first is compared with."""
    seed: int
    population: int
    """Samples that could have been drawn: those with a statement, with an answer, or with a partner."""
    positions: tuple[int, ...]
    """Those that were drawn, in order, by their position in the run."""
    drawn: datetime
    """UTC."""


def newest_draw(connection: Connection, run: RunRef, kind: LabelKind, against: RunRef | None = None) -> Draw | None:
    """The largest draw of that kind, which begins with all others of the same samples; None where nobody drew yet."""
    drawn_from = _drawn_from(run, kind, against)
    row = connection.execute(
        "SELECT draw_id, seed, population, positions, drawn FROM draws WHERE kind = ? AND run_id = ?"
        " AND evaluation_id = ? AND other_run_id = ? ORDER BY len(positions) DESC LIMIT 1",
        [kind, *drawn_from],
    ).fetchone()
    if row is None:
        return None
    run_id, evaluation_id, other_run_id = drawn_from
    draw_id, seed, population, positions, drawn = row
    return Draw(
        id=draw_id,
        kind=kind,
        run_id=run_id,
        evaluation_id=evaluation_id,
        other_run_id=other_run_id,
        seed=seed,
        population=population,
        positions=tuple(positions),
        drawn=drawn,
    )


def keep_draw(
    connection: Connection,
    run: RunRef,
    kind: LabelKind,
    against: RunRef | None,
    *,
    seed: int,
    population: int,
    positions: Sequence[int],
) -> None:
    """Keep a draw, unless it is there."""
    drawn_from = _drawn_from(run, kind, against)
    identity = json.dumps([kind, *drawn_from, seed, population, len(positions)])
    connection.execute(
        "INSERT OR IGNORE INTO draws VALUES (?, ?, ?, ?, ?, ?, ?, ?, now() AT TIME ZONE 'UTC')",
        [
            blake2b(identity.encode(), digest_size=6).hexdigest(),
            kind,
            *drawn_from,
            seed,
            population,
            list(positions),
        ],
    )


def positions_to_label(
    connection: Connection, run: RunRef, kind: LabelKind, against: RunRef | None = None
) -> list[int]:
    """The samples that can be labelled so: with a statement, an answer, or a partner that has one."""
    if kind == "preference" and against is not None:
        return list(partners(connection, run, against))
    if kind == "verdict":
        sql = "SELECT DISTINCT position FROM statements WHERE evaluation_id = ? AND side = 'response' ORDER BY 1"
        rows = connection.execute(sql, [run.evaluation_id]).fetchall()
    else:
        sql = "SELECT position FROM samples WHERE run_id = ? AND trim(coalesce(answer, '')) <> '' ORDER BY 1"
        rows = connection.execute(sql, [run.run_id]).fetchall()
    return [row[0] for row in rows]


def partners(connection: Connection, run: RunRef, against: RunRef) -> dict[int, str]:
    """By position the sample of the other run that asks the same; pairs with an empty answer are left out."""
    return dict(
        connection.execute(
            "SELECT p.a, t.sample_id FROM paired_questions($run, $against) p"
            " JOIN samples s ON s.run_id = $run AND s.position = p.a"
            " JOIN samples t ON t.run_id = $against AND t.position = p.b"
            " WHERE p.paired_by IN ('id', 'question') AND trim(coalesce(s.answer, '')) <> ''"
            " AND trim(coalesce(t.answer, '')) <> '' ORDER BY p.a",
            {"run": run.run_id, "against": against.run_id},
        ).fetchall()
    )


def samples_with_verdicts(connection: Connection, run: RunRef, queue: str) -> LabelledRows:
    """The samples whose statements all have a person's verdict; the outcome is the share that is supported."""
    return connection.execute(
        "WITH said AS (SELECT position, statement, avg((label = 'supported')::INTEGER) AS share,"
        " list(annotator) AS annotators, list(design) AS designs FROM human_verdicts"
        " WHERE evaluation_id = $evaluation AND queue = $queue GROUP BY ALL),"
        " whole AS (SELECT position, avg(share) AS outcome, list_sort(list_distinct(flatten(list(annotators)))) AS who,"
        " list_distinct(flatten(list(designs))) AS designs, count(*) AS labelled FROM said GROUP BY position)"
        " SELECT w.position, s.sample_id, w.outcome, w.who, w.designs FROM whole w"
        " JOIN samples s ON s.run_id = $run AND s.position = w.position"
        " WHERE w.labelled = (SELECT count(*) FROM statements t WHERE t.evaluation_id = $evaluation"
        " AND t.position = w.position AND t.side = 'response') ORDER BY w.position",
        {"run": run.run_id, "evaluation": run.evaluation_id, "queue": queue},
    ).fetchall()


def graded_samples(
    connection: Connection, run: RunRef, queue: str, dimension: str, *, low: int, high: int
) -> LabelledRows:
    """The samples with a grade in a dimension; the outcome is the mean grade, `low` to `high` mapped onto 0 to 1."""
    return connection.execute(
        "SELECT s.position, s.sample_id, avg((l.value::DOUBLE - $low) / ($high - $low)),"
        " list_sort(list_distinct(list(l.annotator))), list_distinct(list(l.design)) FROM current_labels l"
        " JOIN samples s ON s.answer_key = l.answer_key WHERE s.run_id = $run AND l.kind = 'grade'"
        " AND l.dimension = $dimension AND l.queue = $queue GROUP BY ALL ORDER BY s.position",
        {"run": run.run_id, "queue": queue, "dimension": dimension, "low": low, "high": high},
    ).fetchall()


def labelled_verdicts(connection: Connection, run: RunRef, queue: str) -> dict[str, VerdictsByPlace]:
    """Every annotator's verdicts in a queue."""
    rows = connection.execute(
        "SELECT annotator, position, statement, label FROM human_verdicts WHERE evaluation_id = ? AND queue = ?"
        " ORDER BY number",
        [run.evaluation_id, queue],
    ).fetchall()
    found: dict[str, VerdictsByPlace] = {}
    for annotator, position, statement, label in rows:
        found.setdefault(annotator, {})[position, statement] = label
    return found


def statement_counts(connection: Connection, run: RunRef, positions: Sequence[int]) -> dict[int, int]:
    """How many statements the answers of some samples have."""
    return dict(
        connection.execute(
            "SELECT position, count(*) FROM statements WHERE evaluation_id = ? AND side = 'response'"
            " AND position IN (SELECT unnest(?::INTEGER[])) GROUP BY 1",
            [run.evaluation_id, list(positions)],
        ).fetchall()
    )


def judge_verdicts(connection: Connection, run: RunRef, positions: Sequence[int]) -> VerdictsByPlace:
    """The judge's verdicts on some samples, given all the passages together."""
    rows = connection.execute(
        "SELECT position, statement, label FROM verdicts WHERE evaluation_id = ? AND side = 'response'"
        " AND target = 'joint' AND position IN (SELECT unnest(?::INTEGER[]))",
        [run.evaluation_id, list(positions)],
    ).fetchall()
    return {(position, statement): label for position, statement, label in rows}


def queue_progress(
    connection: Connection,
    run: RunRef,
    positions: Sequence[int],
    queue: Queue,
    annotator: str,
    kind: LabelKind,
    dimension: str,
    against: RunRef | None,
    others: Mapping[int, str],
) -> list[tuple[int, str, int, int]]:
    """Position and sample id, the labels that it takes, and how many of them the person gave."""
    given = {"run": run.run_id, "positions": list(positions), "queue": queue, "annotator": annotator}
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


def disagreements(connection: Connection, run: RunRef, *, apart: float, limit: int) -> dict[int, str]:
    """By position, the largest first, what disagrees: people and the judge, two judges, two metrics of one name."""
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
        {**shown.given, "apart": apart, "limit": limit},
    ).fetchall()
    return {position: why for position, why, _ in rows}


def other_evaluations(connection: Connection, run: RunRef) -> list[tuple[str, str]]:
    """Judge and id of the other evaluations of a run."""
    return connection.execute(
        "SELECT e.judge, e.evaluation_id FROM evaluations e WHERE e.run_id = ? AND e.evaluation_id <> ? ORDER BY 2",
        [run.run_id, run.evaluation_id],
    ).fetchall()


def judge_scores(connection: Connection, run: RunRef, metric: str) -> dict[int, tuple[str, float]]:
    """By position a key that runs share if they ask the same, and the judge's score.

    A question that a run asks several times has no certain partner, and a key of its own each time.
    """
    found = connection.execute(
        "WITH asked AS (SELECT position, md5(question || history::VARCHAR) AS question,"
        " count(*) OVER (PARTITION BY question, history::VARCHAR) AS times FROM samples WHERE run_id = $run)"
        " SELECT c.position, CASE WHEN a.times = 1 THEN a.question ELSE $run || ' ' || a.position END AS key, c.value"
        " FROM scores c JOIN asked a USING (position)"
        " WHERE c.evaluation_id = $evaluation AND c.metric = $metric AND c.value IS NOT NULL ORDER BY c.position",
        {"run": run.run_id, "evaluation": run.evaluation_of(metric), "metric": metric},
    ).fetchnumpy()
    return {
        int(position): (str(key), float(value))
        for position, key, value in zip(found["position"], found["key"], np.asarray(found["value"]), strict=True)
    }


def answer_places(connection: Connection, run: RunRef) -> list[tuple[int, str, str, str, str]]:
    """Position, answer key, question, answer and passages (as one text) of each sample."""
    return connection.execute(
        "SELECT s.position, s.answer_key, s.question, coalesce(s.answer, ''), coalesce(p.texts, '') FROM samples s"
        " LEFT JOIN (SELECT position, string_agg(text, ' ' ORDER BY rank) AS texts FROM passages"
        " WHERE run_id = $run GROUP BY position) p USING (position) WHERE s.run_id = $run ORDER BY s.position",
        {"run": run.run_id},
    ).fetchall()


def _drawn_from(run: RunRef, kind: LabelKind, against: RunRef | None) -> tuple[str, str, str]:
    """The run, evaluation and other run that a draw of that kind is from."""
    evaluation = (run.evaluation_id or "") if kind == "verdict" else ""
    return run.run_id, evaluation, against.run_id if against else ""
