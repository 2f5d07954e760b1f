"""Pages of a run's samples, and judgements of a sample other than the verdicts on its statements."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ragboard.records import JsonValue
from ragboard.store.queries.draws import FLIPS
from ragboard.store.queries.query import Connection, Query
from ragboard.store.queries.question_sets import question_sets
from ragboard.store.queries.rollups import Rollup, Row, select
from ragboard.store.queries.scores import Positions, Scored, read_positions, read_scored, shown_scores
from ragboard.store.queries.values import column_query
from ragboard.store.run_refs import RunRef

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COPIED_REFERENCES",
    "MIN_COPY_LENGTH",
    "PASSAGE_DIGESTS",
    "REFUSAL_COUNTS",
    "GeneratedQuestion",
    "Judgement",
    "ListedSample",
    "Only",
    "Order",
    "RunPassages",
    "SampleQuery",
    "SampleText",
    "SentenceRow",
    "answers_equal_to_references",
    "answers_to_the_same_questions",
    "generated_questions",
    "judgements",
    "listed_samples",
    "neighbours",
    "passage_counts",
    "passage_digests",
    "passage_set_digests",
    "position_end",
    "position_of",
    "question_count",
    "refusal_counts",
    "refusals",
    "run_passages",
    "sample_frame",
    "sample_positions",
    "sample_sentences",
    "sample_texts",
    "samples_query",
    "samples_with_passages",
]

Order = Literal["file", "lowest", "highest", "worst", "unsure"]
Only = Literal["all", "loose", "refusing", "retrieved nothing", "unscored", "beyond"]
"""Which samples to list. loose: with an unsupported or contradicted statement; beyond: with a value that does not meet
the threshold."""

MAX_SEARCH_WORDS = 8
"""Maximum number of words of a search."""

NEIGHBOUR_REACH = 1_000
"""Number of positions on each side of a sample where its neighbours are looked for first: samples may be deleted."""

MIN_COPY_LENGTH = 40
"""An answer that equals its reference is a copy if it has at least this many characters. A shorter one, such as a name
or a year, may be equal because it is right."""
CHECKED_SAMPLES = 200
"""Number of samples of a run that are checked for copies of references, so that pages with large runs are fast."""


@dataclass(frozen=True, kw_only=True)
class SampleQuery:
    """A page of samples of a run: filters and order."""

    column: str = ""
    """The metric, or `metadata.COLUMN`, that `order`, `between` and `only` refer to."""
    order: Order = "file"
    """worst: most unsupported and contradicted statements first. unsure: most judgements that differ between draws
    first."""
    only: Only = "all"
    between: tuple[float, float] | None = None
    """Lowest and highest value of the column; None for any value."""
    search: str = ""
    """Words that must all occur in the question or the answer."""
    limit: int = 50
    offset: int = 0


class ListedSample(NamedTuple):
    """A sample in a page of results."""

    position: int
    sample_id: str
    question: str
    supported: int
    """Number of statements of the answer with this verdict, checked against all passages together."""
    unsupported: int
    contradicted: int
    refuses: bool
    value: float | None
    """Value of the query's column."""
    total: int
    """Number of samples on all pages of the query."""


class SampleText(NamedTuple):
    """A sample with its id and question."""

    sample_id: str
    question: str


@dataclass(frozen=True, kw_only=True)
class GeneratedQuestion:
    """A question generated from the answer, and its cosine similarity to the sample's question."""

    question: str
    similarity: float


class SentenceRow(NamedTuple):
    """A sentence of a passage, and whether it helps to answer the question."""

    rank: int
    start: int
    end: int
    chosen: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """A judgement of a sample other than a verdict on a statement."""

    about: str
    """What was judged: `useful for the reference`, or the question of an aspect (a criterion that a user defined)."""
    number: int
    """Number of the passage, reply or name that was judged, from 1."""
    of: int
    """Number of judgements of the sample with this `about`."""
    says: str
    """The judgement in words: `yes`."""
    value: float | None
    """The number or probability that the judge gave; None if it gave none."""
    reason: str

    def __str__(self) -> str:
        """Return `useful for the reference 2: yes`, `answer relevance (ARES): yes (0.83)` or `rating: 0.90`."""
        which = f" {self.number}" if self.of > 1 else ""
        if self.value is not None and self.says == f"{self.value:g}":
            return f"{self.about}{which}: {self.value:.2f}"
        value = "" if self.value is None else f" ({self.value:.2f})"
        return f"{self.about}{which}: {self.says}{value}"


_SPACES = " \t\r\n"
_ORDER: dict[Order, str] = {
    "file": "",
    "lowest": "m.value ASC NULLS LAST, ",
    "highest": "m.value DESC NULLS LAST, ",
    "worst": "coalesce(v.unsupported + v.contradicted, 0) DESC, m.value ASC NULLS LAST, ",
    "unsure": "f.flips DESC NULLS LAST, ",
}
_ONLY: dict[Only, str] = {
    "all": "",
    "loose": "\n  AND v.unsupported + v.contradicted > 0",
    "refusing": "\n  AND d.refuses",
    "retrieved nothing": "\n  AND s.has_contexts AND NOT EXISTS"
    " (SELECT 1 FROM passages p WHERE p.run_id = s.run_id AND p.position = s.position)",
    "unscored": "\n  AND m.value IS NULL",
    "beyond": "",
}


def samples_query(
    run: RunRef, query: SampleQuery, threshold: tuple[Literal["below", "above"], float] | None = None
) -> Query:
    """Return the SQL for a page of samples.

    `threshold` is the threshold of the query's column, with the side on which values fail it.
    """
    found = _found(run, query, threshold)
    return Query(
        sql=f"""\
WITH page AS (
SELECT row_number() OVER () AS number, *
FROM (
SELECT s.position, coalesce(v.unsupported, 0) AS unsupported, coalesce(v.contradicted, 0) AS contradicted,
       coalesce(d.refuses, false) AS refuses, m.value, count(*) OVER () AS total
{found.sql}
ORDER BY {_ORDER[query.order]}s.position
LIMIT $limit OFFSET $offset
))
SELECT p.position, s.sample_id, s.question, coalesce(v.supported, 0) AS supported, p.unsupported, p.contradicted,
       p.refuses, p.value, p.total
FROM page p
JOIN samples s ON s.run_id = $run AND s.position = p.position
LEFT JOIN (
  SELECT position, count(*) AS supported FROM answer_verdicts
  WHERE evaluation_id = $evaluation AND together AND verdict = 'supported'
    AND position IN (SELECT position FROM page) GROUP BY position
) v ON v.position = p.position
ORDER BY number""",
        given={**found.given, "limit": query.limit, "offset": query.offset},
    )


def listed_samples(connection: Connection, query: Query) -> list[ListedSample]:
    """Return the samples of a query of `samples_query`."""
    return [ListedSample(*row) for row in query.on(connection).fetchall()]


def sample_frame(
    connection: Connection,
    run: RunRef,
    query: SampleQuery,
    threshold: tuple[Literal["below", "above"], float] | None = None,
) -> pd.DataFrame:
    """Return all samples that match a query, without its limit, with one row per sample and metric."""
    found, shown = _found(run, query, threshold), shown_scores(run)
    return connection.execute(
        f"WITH found AS (SELECT s.position, row_number() OVER (ORDER BY {_ORDER[query.order]}s.position) AS number"
        f" {found.sql}) SELECT s.sample_id, s.question, s.answer, s.reference, c.metric, c.value, c.counted, c.reason,"
        " c.detail FROM found JOIN samples s ON s.run_id = $run AND s.position = found.position"
        f" LEFT JOIN (FROM scores WHERE {shown.sql}) c ON c.position = s.position ORDER BY number, c.metric",
        {**found.given, **shown.given},
    ).df()


def _found(run: RunRef, query: SampleQuery, threshold: tuple[Literal["below", "above"], float] | None) -> Query:
    """Return the FROM and WHERE clauses of a query."""
    values = column_query(run, query.column, "m")
    given = {**values.given, "run": run.run_id, "evaluation": run.evaluation_id}
    sql = f"""\
FROM samples s
LEFT JOIN (
  SELECT position, count(*) FILTER (verdict = 'unsupported') AS unsupported,
         count(*) FILTER (verdict = 'contradicted') AS contradicted
  FROM answer_verdicts WHERE evaluation_id = $evaluation AND together AND verdict <> 'supported' GROUP BY position
) v USING (position)
LEFT JOIN (SELECT position, refuses FROM sides WHERE evaluation_id = $evaluation AND side = 'response') d
  USING (position)
LEFT JOIN ({values.sql}) m USING (position)
{f"LEFT JOIN ({FLIPS}) f USING (position)" if query.order == "unsure" else ""}
WHERE s.run_id = $run{_ONLY[query.only]}"""
    if query.only == "beyond":
        sql += (
            "\n  AND false"
            if threshold is None
            else f"\n  AND m.value {'<' if threshold[0] == 'below' else '>'} $threshold"
        )
        given |= {"threshold": threshold[1]} if threshold else {}
    if query.between:
        sql += "\n  AND m.value BETWEEN $low AND $high"
        given |= {"low": query.between[0], "high": query.between[1]}
    for number, word in enumerate(query.search.split()[:MAX_SEARCH_WORDS]):
        sql += (
            f"\n  AND (contains(lower(s.question), lower($word{number})) OR contains(lower(s.answer),"
            f" lower($word{number})) OR s.sample_id = $word{number})"
        )
        given[f"word{number}"] = word
    return Query(sql=sql, given=given)


def sample_texts(connection: Connection, run_id: str, positions: Sequence[int]) -> dict[int, SampleText]:
    """Return the id and question of the samples at these positions, by position."""
    rows = connection.execute(
        "SELECT position, sample_id, question FROM samples WHERE run_id = ? AND position IN (SELECT unnest(?))"
        " ORDER BY position",
        [run_id, list(positions)],
    ).fetchall()
    return {position: SampleText(sample_id, question) for position, sample_id, question in rows}


def position_of(connection: Connection, run_id: str, sample_id: str) -> int | None:
    """Return the position of a sample in its run; None if there is no such sample."""
    row = connection.execute(
        "SELECT position FROM samples WHERE run_id = ? AND sample_id = ?", [run_id, sample_id]
    ).fetchone()
    return row[0] if row else None


def sample_positions(connection: Connection, run_id: str) -> Positions:
    """Return the positions of the samples of a run, ascending."""
    got = connection.execute("SELECT position FROM samples WHERE run_id = ? ORDER BY 1", [run_id]).fetchnumpy()
    return np.asarray(got["position"], dtype=np.int64)


def position_end(connection: Connection, run_id: str) -> int:
    """Return the position after the last sample of a run, which is the length of an array by position."""
    row = connection.execute("SELECT max(position) + 1 FROM samples WHERE run_id = ?", [run_id]).fetchone()
    return (row[0] if row else None) or 0


def neighbours(connection: Connection, run_id: str, position: int) -> tuple[str | None, str | None]:
    """Return the ids of the samples before and after a position; None at an end of the run."""
    found: tuple[str | None, str | None] = None, None
    for reach in (NEIGHBOUR_REACH, 2**31):
        ((before, after),) = connection.execute(
            "SELECT arg_max(sample_id, position) FILTER (position < $position),"
            " arg_min(sample_id, position) FILTER (position > $position) FROM samples"
            " WHERE run_id = $run AND position BETWEEN $position - $reach AND $position + $reach",
            {"run": run_id, "position": position, "reach": reach},
        ).fetchall()
        found = before, after
        if before is not None and after is not None:
            break
    return found


def passage_counts(connection: Connection, run_id: str) -> Scored:
    """Return the number of passages of each sample, without samples whose passages are unknown."""
    positions = read_positions(
        connection.execute("SELECT position FROM samples WHERE run_id = ? AND has_contexts", [run_id])
    )
    of_passages = connection.execute("SELECT position FROM passages WHERE run_id = ?", [run_id])
    counts = np.bincount(read_positions(of_passages), minlength=1 + int(positions.max(initial=0)))
    return Scored(positions, counts[positions].astype(np.float64))


def passage_digests(connection: Connection, run_id: str) -> Scored:
    """Return a digest of the passages of each sample as a number. It depends on the texts and their order."""
    return read_scored(
        connection.execute(
            "SELECT s.position, coalesce((bit_xor(hash(p.rank, p.text)) >> 12)::DOUBLE, 0) AS value FROM samples s"
            " LEFT JOIN passages p ON p.run_id = s.run_id AND p.position = s.position WHERE s.run_id = ?"
            " AND s.has_contexts GROUP BY s.position",
            [run_id],
        )
    )


def passage_set_digests(connection: Connection, run_id: str) -> Scored:
    """Return a digest of the set of passages of each sample as a number, without samples that have no passages."""
    return read_scored(
        connection.execute(
            "SELECT position, (sum(hash(text)) % (1::HUGEINT << 52))::DOUBLE AS value FROM passages WHERE run_id = ?"
            " GROUP BY position",
            [run_id],
        )
    )


class RunPassages(NamedTuple):
    """Digests of all passages of a run, which tell whether two runs have the same ones."""

    samples: int
    known: int
    """Number of samples whose passages are known."""
    digest: str
    """A digest of positions, ranks and texts."""
    set_digest: str
    """A digest of positions and texts, which does not depend on the order of the passages of a sample."""


PASSAGE_DIGESTS = Rollup(
    name="passage digests 1",
    owner="run",
    query=select("""\
WITH counts AS (
  SELECT run_id, count(*) AS samples, count(*) FILTER (has_contexts) AS known
  FROM samples WHERE run_id IN (SELECT unnest($owners)) GROUP BY run_id
),
digests AS (
  SELECT run_id,
         concat_ws(' ', bit_xor(hash(position, rank, digest)), sum(hash(digest, rank, position))) AS digest,
         concat_ws(' ', bit_xor(hash(position, digest)), sum(hash(digest, position))) AS set_digest
  FROM (SELECT run_id, position, rank, hash(text) AS digest FROM passages WHERE run_id IN (SELECT unnest($owners)))
  GROUP BY run_id
)
SELECT run_id, samples, known, coalesce(digest, ''), coalesce(set_digest, '')
FROM counts LEFT JOIN digests USING (run_id)"""),
)


def run_passages(connection: Connection, runs: Sequence[str]) -> dict[str, RunPassages]:
    """Return {run: digests of its passages}."""
    rows = PASSAGE_DIGESTS.rows(connection, runs)
    return {run: RunPassages(*rows[run][0]) if rows[run] else RunPassages(0, 0, "", "") for run in runs}


def samples_with_passages(connection: Connection, run_id: str) -> Positions:
    """Return the positions of the samples with at least one passage, ascending."""
    found = connection.execute("SELECT position FROM passages WHERE run_id = ?", [run_id])
    return np.flatnonzero(np.bincount(read_positions(found)))


def answers_equal_to_references(connection: Connection, run_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return {run: (number of answers equal to their reference, number of answers with a reference)}.

    Only the first `CHECKED_SAMPLES` samples of each run are read. Case and outer spaces are ignored. Answers of fewer
    than `MIN_COPY_LENGTH` characters do not count as equal.
    """
    rows = COPIED_REFERENCES.rows(connection, run_ids)
    return {run_id: (equal, total) for run_id, found in rows.items() for equal, total in found}


def _copied_reference_rows(connection: Connection, run_ids: Sequence[str]) -> Sequence[Row]:
    given = {"runs": list(run_ids), "first": CHECKED_SAMPLES}
    starts = "SELECT run_id, min(position) AS start FROM samples WHERE run_id IN (SELECT unnest($runs)) GROUP BY run_id"
    ((end,),) = connection.execute(f"SELECT max(start) + $first FROM ({starts})", given).fetchall()
    return connection.execute(  # with the constant `end`, DuckDB skips most texts of large runs
        "SELECT run_id, count(*) FILTER (length(answer) >= $least AND answer = reference), count(*) FROM"
        " (SELECT run_id, lower(trim(answer, $spaces)) AS answer, lower(trim(reference, $spaces)) AS reference"
        f" FROM samples JOIN ({starts}) USING (run_id) WHERE position < start + $first AND position < $end)"
        " WHERE answer <> '' AND reference <> '' GROUP BY run_id",
        {**given, "least": MIN_COPY_LENGTH, "spaces": _SPACES, "end": end},
    ).fetchall()


COPIED_REFERENCES = Rollup(name="copied references 1", owner="run", query=_copied_reference_rows)
REFUSAL_COUNTS = Rollup(
    name="refusals 1",
    owner="evaluation",
    query=select(
        "SELECT evaluation_id, count(*) FILTER (refuses) FROM sides WHERE side = 'response'"
        " AND evaluation_id IN (SELECT unnest($owners)) GROUP BY 1"
    ),
)


def answers_to_the_same_questions(
    connection: Connection, run_id: str, positions: Collection[int]
) -> list[tuple[int, str, Mapping[str, JsonValue]]]:
    """Return (position, question with history, metadata) of all samples with the question of one at `positions`."""
    rows = connection.execute(
        "WITH asked AS (SELECT DISTINCT question, history::VARCHAR AS history FROM samples"
        " WHERE run_id = $run_id AND position IN (SELECT unnest($positions)))"
        " SELECT s.position, concat(s.question, chr(31), a.history), s.metadata FROM samples s"
        " JOIN asked a ON s.question = a.question AND s.history::VARCHAR = a.history"
        " WHERE s.run_id = $run_id ORDER BY s.position",
        {"run_id": run_id, "positions": list(positions)},
    ).fetchall()
    return [(position, question, json.loads(metadata)) for position, question, metadata in rows]


def question_count(connection: Connection, run_id: str) -> int:
    """Return the number of different questions of a run."""
    (found,) = question_sets(connection, [run_id]).values()
    if found.history_digest is None:
        return found.questions
    row = connection.execute("SELECT count(DISTINCT question) FROM samples WHERE run_id = ?", [run_id]).fetchone()
    return row[0] if row else 0


def refusals(connection: Connection, evaluation_id: str | None) -> Scored:
    """Return 1 for each answer that refuses and 0 for each other answer, without answers that were not judged."""
    return read_scored(
        connection.execute(
            "SELECT position, refuses AS value FROM sides WHERE evaluation_id = ? AND side = 'response'",
            [evaluation_id],
        )
    )


def refusal_counts(connection: Connection, evaluations: Sequence[str]) -> dict[str, int]:
    """Return the number of refusals by evaluation, without evaluations that did not judge refusals."""
    rows = REFUSAL_COUNTS.rows(connection, evaluations)
    return {evaluation: count for evaluation, found in rows.items() for (count,) in found}


def generated_questions(
    connection: Connection, evaluation_id: str | None, position: int
) -> tuple[GeneratedQuestion, ...]:
    """Return the questions generated from an answer, in order."""
    rows = connection.execute(
        "SELECT question, similarity FROM questions WHERE evaluation_id = ? AND position = ? ORDER BY number",
        [evaluation_id, position],
    ).fetchall()
    return tuple(GeneratedQuestion(question=question, similarity=near) for question, near in rows)


def sample_sentences(connection: Connection, evaluation_id: str | None, position: int) -> list[SentenceRow]:
    """Return the sentences of a sample's passages, in order; empty if they were not judged."""
    rows = connection.execute(
        "SELECT rank, start, stop, chosen FROM sentences WHERE evaluation_id = ? AND position = ? ORDER BY rank, start",
        [evaluation_id, position],
    ).fetchall()
    return [SentenceRow(*row) for row in rows]


def judgements(connection: Connection, evaluations: Sequence[str], position: int) -> tuple[Judgement, ...]:
    """Return the judgements of a sample. Those with the same `about` are all from the first evaluation that has any."""
    rows = connection.execute(
        "WITH said AS (SELECT *, list_position($evaluations, evaluation_id) AS evaluation_number FROM judgements"
        " WHERE position = $position AND list_contains($evaluations, evaluation_id)"
        " QUALIFY evaluation_number = min(evaluation_number) OVER (PARTITION BY about))"
        " SELECT about, number, count(*) OVER (PARTITION BY about), says, value, reason FROM said"
        " ORDER BY about, number",
        {"evaluations": list(evaluations), "position": position},
    ).fetchall()
    return tuple(
        Judgement(about=about, number=number, of=of, says=says, value=value, reason=reason)
        for about, number, of, says, value, reason in rows
    )
