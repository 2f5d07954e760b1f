"""Annotation queues: random samples and disagreements to label, progress, and completely labelled samples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragboard.records import Label
from ragboard.store.queries.labels import LabelKind, LabelQueue
from ragboard.store.queries.pairs import ANSWERED, answered_pairs
from ragboard.store.queries.query import Connection
from ragboard.store.queries.rollups import Rollup, select
from ragboard.store.queries.scores import Positions, Scored, read_scored, shown_scores
from ragboard.store.run_refs import RunRef

__all__ = [
    "METRIC_DISAGREEMENTS",
    "SAMPLES_TO_LABEL",
    "LabelledStatement",
    "SampleDraw",
    "SamplesToLabel",
    "VerdictsByStatement",
    "answers_of_run",
    "count_samples_to_label",
    "disagreements",
    "graded_samples",
    "judge_scores",
    "judge_verdicts",
    "label_times",
    "labelled_verdicts",
    "largest_disagreements",
    "largest_draw",
    "other_evaluations",
    "partners",
    "positions_to_label",
    "question_numbers",
    "queue_progress",
    "runs_with_labels",
    "samples_with_verdicts",
    "scored_samples",
    "statement_counts",
    "statements_with_labels",
    "store_draw",
]

MAX_DISAGREEMENTS = 200
"""Maximum number of samples in the disagreement queue, largest disagreement first."""
MIN_DISAGREEMENT = 0.3
"""Two metrics of the same name, from other tools or with other settings, disagree if their scores differ by this or
more."""

VerdictsByStatement: TypeAlias = dict[tuple[int, int], Label]
"""Verdicts by position of the sample and number of the statement, both from 0."""
LabelledRows: TypeAlias = Sequence[tuple[int, str, float, list[str], list[str]]]
"""(position, sample id, outcome from 0 to 1, annotators, designs) of completely labelled samples. A design is how the
samples of an imported label file were chosen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleDraw:
    """A random sequence of samples of a run, which annotators label in this order.

    A larger draw with the same seed begins with the smaller one, unless the run grew in between.
    """

    id: str
    kind: LabelKind
    run_id: str
    evaluation_id: str
    """The evaluation whose statements are labelled; empty if whole answers are labelled."""
    other_run_id: str
    """For preferences, the run that `run_id` is compared with; else empty."""
    seed: int
    population: int
    """Number of samples that could be drawn (`positions_to_label`)."""
    positions: tuple[int, ...]
    """Positions of the drawn samples in the run, in the order to label them."""
    drawn: datetime
    """UTC."""


class SamplesToLabel(NamedTuple):
    """How many samples can be labelled, and how many labels they need."""

    samples: int
    labels: int
    """For verdicts, the number of their statements; else one per sample."""


class LabelledStatement(NamedTuple):
    """A statement with the judge's verdict, and the labels of annotators who did not see that verdict."""

    position: int
    statement: int
    """Its number in the answer, from 0."""
    sample_id: str
    cluster: str
    """The cluster of the sample; if the sample is independent, its position."""
    question: str
    text: str
    label: Label
    """The judge's verdict."""
    score: float | None
    """The score behind the verdict; None if the judge gives no score."""
    ratings: list[float]
    """One number for each annotator: 1 for supported, else 0."""
    labelled: datetime
    """Time of the latest label, UTC."""
    passages: list[str]
    """The passages of the sample, by rank."""


def largest_draw(
    connection: Connection, run: RunRef, kind: LabelKind, against: RunRef | None = None
) -> SampleDraw | None:
    """Return the largest stored draw of this kind; None if there is none."""
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
    return SampleDraw(
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


def store_draw(
    connection: Connection,
    run: RunRef,
    kind: LabelKind,
    against: RunRef | None,
    *,
    seed: int,
    population: int,
    positions: Sequence[int],
) -> None:
    """Store a draw, unless it is stored already."""
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
    """Return the positions of the samples that can be labelled.

    For verdicts, samples with a statement; for grades, with an answer; for preferences, with an answer in both runs.
    """
    if kind == "preference" and against is not None:
        return list(partners(connection, run, against))
    if kind == "verdict":
        sql = "SELECT DISTINCT position FROM statements WHERE evaluation_id = ? AND side = 'response' ORDER BY 1"
        rows = connection.execute(sql, [run.evaluation_id]).fetchall()
    else:
        sql = f"SELECT position FROM samples WHERE run_id = ? AND {ANSWERED} ORDER BY 1"
        rows = connection.execute(sql, [run.run_id]).fetchall()
    return [row[0] for row in rows]


def count_samples_to_label(
    connection: Connection, run: RunRef, kind: LabelKind, against: RunRef | None = None
) -> SamplesToLabel:
    """Count the samples of `positions_to_label`, and the labels that they need."""
    if kind == "preference" and against is not None:
        pairs = answered_pairs(connection, run.run_id, against.run_id)
        return SamplesToLabel(pairs, pairs)
    counts = _counts_to_label(connection, run, None)
    if counts is None:
        samples = len(positions_to_label(connection, run, kind))
        return SamplesToLabel(samples, samples)
    statements, with_statement, answered = counts
    return SamplesToLabel(with_statement, statements) if kind == "verdict" else SamplesToLabel(answered, answered)


def scored_samples(connection: Connection, run: RunRef, metric: str, kind: LabelKind) -> Scored:
    """Return the scores of the samples of `positions_to_label`, without unscored samples, in the order of the run."""
    sql = "SELECT position, value FROM scores WHERE evaluation_id = $evaluation AND metric = $metric"
    sql += " AND value IS NOT NULL"
    given = {"evaluation": run.evaluation_of(metric), "metric": metric}
    counts = _counts_to_label(connection, run, metric)
    if counts is None or counts[0] > counts[1 if kind == "verdict" else 2]:  # some samples cannot be labelled
        if kind == "verdict":
            labelable = "SELECT position FROM statements WHERE evaluation_id = $owner AND side = 'response'"
        else:
            labelable = f"SELECT position FROM samples WHERE run_id = $owner AND {ANSWERED}"
        sql += f" AND position IN ({labelable})"
        given["owner"] = run.evaluation_id if kind == "verdict" else run.run_id
    found = read_scored(connection.execute(sql, given))
    order = np.argsort(found.positions, kind="stable")
    return Scored(found.positions[order], found.values[order])


def _counts_to_label(connection: Connection, run: RunRef, metric: str | None) -> tuple[int, int, int] | None:
    """Return the numbers of `SAMPLES_TO_LABEL` for a metric or, with None, for all samples; None if there are none."""
    evaluation = run.evaluation_id
    if evaluation is None or (metric and run.evaluation_of(metric) != evaluation):
        return None
    rows = SAMPLES_TO_LABEL.rows(connection, [evaluation])[evaluation]
    return next(((first, second, third) for name, first, second, third in rows if name == metric), None)


SAMPLES_TO_LABEL = Rollup(
    name="samples to label 1",
    owner="evaluation",
    query=select(
        "WITH said AS (SELECT evaluation_id, position, count(*) AS statements FROM statements WHERE side = 'response'"
        " AND evaluation_id IN (SELECT unnest($owners)) GROUP BY evaluation_id, position),"
        " answered AS (SELECT evaluation_id, position, true AS answered FROM samples JOIN evaluations USING (run_id)"
        f" WHERE evaluation_id IN (SELECT unnest($owners)) AND {ANSWERED}),"
        " labelable AS MATERIALIZED (FROM said FULL JOIN answered USING (evaluation_id, position))"
        " SELECT evaluation_id, NULL AS metric, coalesce(sum(statements), 0)::BIGINT, count(statements),"
        " count(answered) FROM labelable GROUP BY evaluation_id"
        " UNION ALL SELECT evaluation_id, metric, count(*), count(statements), count(answered) FROM scores"
        " LEFT JOIN labelable USING (evaluation_id, position) WHERE value IS NOT NULL"
        " AND evaluation_id IN (SELECT unnest($owners)) GROUP BY evaluation_id, metric"
    ),
)
"""(None, number of statements, number of samples with a statement, number of samples with an answer), and for each
metric (metric, number of samples with a score, how many of them have a statement, how many an answer)."""


def partners(connection: Connection, run: RunRef, against: RunRef) -> dict[int, str]:
    """Return {position: id of the sample in `against` with the same question}, without pairs with an empty answer."""
    return dict(
        connection.execute(
            "SELECT p.a, t.sample_id FROM paired_questions($run, $against) p"
            f" JOIN (SELECT position FROM samples WHERE run_id = $run AND {ANSWERED}) s ON s.position = p.a"
            f" JOIN (SELECT position, sample_id FROM samples WHERE run_id = $against AND {ANSWERED}) t"
            " ON t.position = p.b WHERE p.paired_by IN ('id', 'question') ORDER BY p.a",
            {"run": run.run_id, "against": against.run_id},
        ).fetchall()
    )


def samples_with_verdicts(connection: Connection, run: RunRef, queue: str) -> LabelledRows:
    """Return the samples whose statements all have labels. The outcome is the share labelled as supported."""
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
    """Return the samples with a grade in a dimension. The outcome is the mean grade, scaled from 0 to 1."""
    return connection.execute(
        "SELECT s.position, s.sample_id, avg((l.value::DOUBLE - $low) / ($high - $low)),"
        " list_sort(list_distinct(list(l.annotator))), list_distinct(list(l.design)) FROM current_labels l"
        " JOIN samples s ON s.answer_key = l.answer_key WHERE s.run_id = $run AND l.kind = 'grade'"
        " AND l.dimension = $dimension AND l.queue = $queue GROUP BY ALL ORDER BY s.position",
        {"run": run.run_id, "queue": queue, "dimension": dimension, "low": low, "high": high},
    ).fetchall()


_BLIND = "queue IN ('random', 'imported')"
"""SQL condition for labels of randomly drawn samples and labels from files: their annotators did not see the judge's
verdicts, and the samples were not chosen because judges disagree on them."""


def statements_with_labels(connection: Connection, run: RunRef) -> list[LabelledStatement]:
    """Return the statements of an evaluation that have labels from a random draw or a file, in order."""
    rows = connection.execute(
        "WITH said AS MATERIALIZED (SELECT position, statement,"
        " list((label = 'supported')::DOUBLE ORDER BY annotator, queue) AS ratings, max(said) AS labelled"
        f" FROM human_verdicts WHERE evaluation_id = $evaluation AND {_BLIND} GROUP BY position, statement),"
        " texts AS (SELECT position, list(text ORDER BY rank) AS passages FROM passages WHERE run_id = $run"
        " AND position IN (SELECT position FROM said) GROUP BY position)"
        " SELECT position, statement, s.sample_id, coalesce(s.cluster, position::VARCHAR), s.question, t.text, v.label,"
        " v.score, h.ratings, h.labelled, coalesce(p.passages, []) FROM said h"
        " JOIN statements t USING (position, statement)"
        " JOIN verdicts v USING (evaluation_id, position, side, statement)"
        " JOIN samples s USING (position) LEFT JOIN texts p USING (position)"
        " WHERE t.evaluation_id = $evaluation AND t.side = 'response' AND v.target = 'joint' AND s.run_id = $run"
        " ORDER BY position, statement",
        {"run": run.run_id, "evaluation": run.evaluation_id},
    ).fetchall()
    return [LabelledStatement(*row) for row in rows]


def runs_with_labels(connection: Connection) -> list[str]:
    """Return the runs whose evaluation on pages has labels from a random draw or a file, latest label first."""
    rows = connection.execute(
        f"SELECT run FROM human_verdicts JOIN shown_evaluations USING (evaluation_id) WHERE {_BLIND}"
        " GROUP BY run ORDER BY max(said) DESC, run"
    ).fetchall()
    return [row[0] for row in rows]


def label_times(
    connection: Connection, run: RunRef, queue: LabelQueue, annotator: str, kind: LabelKind
) -> list[datetime]:
    """Return the times (UTC, ascending) of an annotator's current labels of this kind in a queue of a run."""
    rows = connection.execute(
        "SELECT said FROM current_labels WHERE run_id = ? AND queue = ? AND annotator = ? AND kind = ? ORDER BY said",
        [run.run_id, queue, annotator, kind],
    ).fetchall()
    return [row[0] for row in rows]


def labelled_verdicts(connection: Connection, run: RunRef, queue: str) -> dict[str, VerdictsByStatement]:
    """Return the human verdicts in a queue, by annotator."""
    rows = connection.execute(
        "SELECT annotator, position, statement, label FROM human_verdicts WHERE evaluation_id = ? AND queue = ?"
        " ORDER BY number",
        [run.evaluation_id, queue],
    ).fetchall()
    found: dict[str, VerdictsByStatement] = {}
    for annotator, position, statement, label in rows:
        found.setdefault(annotator, {})[position, statement] = label
    return found


def statement_counts(connection: Connection, run: RunRef, positions: Sequence[int]) -> dict[int, int]:
    """Count the statements of the answers at these positions, by position."""
    return dict(
        connection.execute(
            "SELECT position, count(*) FROM statements WHERE evaluation_id = ? AND side = 'response'"
            " AND position IN (SELECT unnest(?::INTEGER[])) GROUP BY 1",
            [run.evaluation_id, list(positions)],
        ).fetchall()
    )


def judge_verdicts(connection: Connection, run: RunRef, positions: Sequence[int]) -> VerdictsByStatement:
    """Return the judge's joint verdicts on the samples at these positions."""
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
    queue: LabelQueue,
    annotator: str,
    kind: LabelKind,
    dimension: str,
    against: RunRef | None,
    others: Mapping[int, str],
) -> list[tuple[int, str, int, int]]:
    """Return (position, sample id, number of labels to give, number of labels given) for each sample.

    `others` are the ids of the samples in `against`, by position.
    """
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


def disagreements(connection: Connection, run: RunRef) -> dict[int, str]:
    """Return {position: who disagrees}, largest disagreement first, at most `MAX_DISAGREEMENTS`.

    Disagreements are between a person and the judge, two judges, or metrics of the same name whose scores differ by at
    least `MIN_DISAGREEMENT`.
    """
    if run.evaluation_id is None:
        return {}
    people = [
        row[0]
        for row in connection.execute(
            "SELECT DISTINCT position FROM human_verdicts WHERE evaluation_id = ? AND queue <> 'disagreement'",
            [run.evaluation_id],
        ).fetchall()
    ]
    among = None
    if not _other_sources(connection, run):
        metrics = METRIC_DISAGREEMENTS.rows(connection, [run.evaluation_id])[run.evaluation_id]
        among = [*people, *(position for (position,) in metrics)]
    return largest_disagreements(connection, run, among)


def _other_sources(connection: Connection, run: RunRef) -> bool:
    """Return whether verdicts or scores of another evaluation can disagree with those of the evaluation of `run`."""
    if run.other_evaluations:
        return True
    return bool(
        connection.execute(
            "SELECT 1 FROM evaluations WHERE run_id = ? AND evaluation_id <> ? LIMIT 1",
            [run.run_id, run.evaluation_id],
        ).fetchall()
    )


def largest_disagreements(connection: Connection, run: RunRef, among: Sequence[int] | None) -> dict[int, str]:
    """Return the largest disagreements in the whole run or, if it has no other evaluation, at these positions."""
    shown = shown_scores(run)
    chosen = "" if among is None else " AND position IN (SELECT unnest($among::INTEGER[]))"
    judges = " UNION ALL FROM judges" if among is None else ""
    rows = connection.execute(
        "WITH people AS (SELECT position, 'a person and the judge' AS why, count(DISTINCT statement) AS much"
        " FROM verdicts v JOIN human_verdicts h USING (evaluation_id, position, statement)"
        " WHERE evaluation_id = $evaluation AND v.side = 'response' AND v.target = 'joint' AND h.label <> v.label"
        f" AND h.queue <> 'disagreement'{chosen} GROUP BY position),"
        " ours AS (SELECT v.position, v.statement, v.label, t.text FROM verdicts v JOIN statements t"
        " USING (evaluation_id, position, side, statement) WHERE v.evaluation_id = $evaluation"
        " AND v.side = 'response' AND v.target = 'joint'),"
        " judges AS (SELECT o.position, 'two judges' AS why, count(DISTINCT o.statement) AS much FROM ours o"
        " JOIN evaluations e ON e.run_id = $run AND e.evaluation_id <> $evaluation"
        " JOIN statements t ON t.evaluation_id = e.evaluation_id AND t.position = o.position AND t.side = 'response'"
        " AND t.text = o.text JOIN verdicts v ON v.evaluation_id = t.evaluation_id AND v.position = t.position"
        " AND v.side = 'response' AND v.statement = t.statement AND v.target = 'joint' WHERE v.label <> o.label"
        " GROUP BY 1),"
        f" named AS (SELECT position, {_METRIC_NAME} AS name, value FROM scores"
        f" WHERE {shown.sql} AND value BETWEEN 0 AND 1{chosen}),"
        " metrics AS (SELECT position, 'metrics of ' || name AS why, max(value) - min(value) AS much FROM named"
        " GROUP BY position, name HAVING max(value) - min(value) >= $apart)"
        f" SELECT position, string_agg(why, ', ' ORDER BY much DESC), sum(much) AS much FROM (FROM people{judges}"
        " UNION ALL FROM metrics) WHERE position IN (SELECT position FROM statements"
        f" WHERE evaluation_id = $evaluation AND side = 'response'{chosen})"
        " GROUP BY position ORDER BY much DESC, position LIMIT $limit",
        {
            **shown.given,
            "apart": MIN_DISAGREEMENT,
            "limit": MAX_DISAGREEMENTS,
            **({} if among is None else {"among": list(among)}),
        },
    ).fetchall()
    return {position: why for position, why, _ in rows}


_METRIC_NAME = "split_part(split_part(metric, '(', 1), '.', 2)"
"""SQL for the name of a metric without its source and settings."""

METRIC_DISAGREEMENTS = Rollup(
    name="metric disagreements 1",
    owner="evaluation",
    query=lambda connection, owners: connection.execute(
        f"WITH named AS (SELECT evaluation_id, metric, {_METRIC_NAME} AS name FROM"
        " (SELECT DISTINCT evaluation_id, metric FROM scores WHERE evaluation_id IN (SELECT unnest($owners)))),"
        " several AS (SELECT * FROM named QUALIFY count(*) OVER (PARTITION BY evaluation_id, name) > 1),"
        " apart AS (SELECT evaluation_id, position, max(value) - min(value) AS much"
        " FROM scores JOIN several USING (evaluation_id, metric) WHERE value BETWEEN 0 AND 1"
        " GROUP BY evaluation_id, position, name HAVING max(value) - min(value) >= $apart)"
        " SELECT evaluation_id, position FROM apart WHERE (evaluation_id, position) IN"
        " (SELECT evaluation_id, position FROM statements WHERE side = 'response'"
        " AND evaluation_id IN (SELECT unnest($owners))) GROUP BY evaluation_id, position"
        " QUALIFY row_number() OVER (PARTITION BY evaluation_id ORDER BY sum(much) DESC, position) <= $kept",
        {"owners": list(owners), "apart": MIN_DISAGREEMENT, "kept": MAX_DISAGREEMENTS},
    ).fetchall(),
)
"""The samples with the largest disagreements of metrics of the same name. Any other sample in the queue has labels, if
the run has no other evaluation."""


def other_evaluations(connection: Connection, run: RunRef) -> list[tuple[str, str]]:
    """Return (judge, id) of each evaluation of the run except the one in `run`."""
    return connection.execute(
        "SELECT e.judge, e.evaluation_id FROM evaluations e WHERE e.run_id = ? AND e.evaluation_id <> ? ORDER BY 2",
        [run.run_id, run.evaluation_id],
    ).fetchall()


def judge_scores(connection: Connection, run: RunRef, metric: str) -> dict[int, tuple[str, float]]:
    """Return {position: (key, score)}. The keys match samples of two runs with the same question.

    The key of a question that a run asks several times matches no sample of another run.
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


def question_numbers(connection: Connection, run: RunRef, positions: Positions) -> NDArray[np.uint64]:
    """Return a number for each sample, the same number for samples of two runs with the same question.

    The number of a question that a run asks several times matches no sample of another run.
    """
    found = connection.execute(
        "SELECT position, hash(question, history::VARCHAR) AS question, hash(run_id, position) AS sample FROM samples"
        " WHERE run_id = ?",
        [run.run_id],
    ).fetchnumpy()
    _, places, times = np.unique(found["question"], return_inverse=True, return_counts=True)
    numbers = np.zeros(int(np.max(found["position"], initial=0)) + 1, dtype=np.uint64)
    numbers[found["position"]] = np.where(times[places] == 1, found["question"], found["sample"])
    return numbers[positions]


def answers_of_run(connection: Connection, run: RunRef) -> list[tuple[int, str, str, str, str]]:
    """Return (position, answer key, question, answer, passages as one text) of each sample."""
    return connection.execute(
        "SELECT s.position, s.answer_key, s.question, coalesce(s.answer, ''), coalesce(p.texts, '') FROM samples s"
        " LEFT JOIN (SELECT position, string_agg(text, ' ' ORDER BY rank) AS texts FROM passages"
        " WHERE run_id = $run GROUP BY position) p USING (position) WHERE s.run_id = $run ORDER BY s.position",
        {"run": run.run_id},
    ).fetchall()


def _drawn_from(run: RunRef, kind: LabelKind, against: RunRef | None) -> tuple[str, str, str]:
    """Return the ids of the run, evaluation and other run that identify a draw; empty if they do not apply."""
    evaluation = (run.evaluation_id or "") if kind == "verdict" else ""
    return run.run_id, evaluation, against.run_id if against else ""
