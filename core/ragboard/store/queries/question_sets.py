"""The sets of questions of runs: their sizes, and digests that tell whether two runs have the same set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import md5
from typing import NamedTuple

from ragboard.store.queries.query import Connection
from ragboard.store.queries.rollups import Rollup, select

__all__ = ["QUESTION_SETS", "DatasetSize", "QuestionSet", "different_sets", "measure_datasets", "question_sets"]


class QuestionSet(NamedTuple):
    """The distinct questions of a run. The same question after other turns of a conversation is another question."""

    questions: int
    """Number of distinct questions."""
    digest: str
    """A digest of the questions, in any order."""
    references: int
    """Number of questions with a reference in this run."""
    reference_digest: str
    """A digest of the questions with a reference in this run."""
    history_digest: str | None
    """A digest of the questions with their histories, as in `run_versions`; None if no question has a history."""

    def version(self, dataset_key: str) -> str:
        """Return the version of the run with this key, the same as the view `run_versions` has."""
        if self.history_digest is None:
            return dataset_key
        return md5(f"{dataset_key}{self.history_digest}".encode(), usedforsecurity=False).hexdigest()


class DatasetSize(NamedTuple):
    """The number of distinct questions that the runs of a dataset have together."""

    questions: int
    references: int
    """Number of questions with a reference in at least one run."""


QUESTION_SETS = Rollup(
    name="question sets 1",
    owner="run",
    query=select("""\
WITH asked AS (
  SELECT run_id, hash(question, history::VARCHAR) AS digest, bool_or(trim(reference) <> '') AS has_reference
  FROM samples WHERE run_id IN (SELECT unnest($owners)) GROUP BY ALL
),
with_turns AS (
  SELECT DISTINCT run_id FROM samples WHERE run_id IN (SELECT unnest($owners)) AND history::VARCHAR <> '[]'
),
histories AS (
  SELECT run_id, bit_xor(md5_number(question || chr(31) || history))::VARCHAR AS history_digest
  FROM (SELECT DISTINCT run_id, question, history::VARCHAR AS history FROM samples SEMI JOIN with_turns USING (run_id))
  GROUP BY run_id
)
SELECT run_id, count(*), concat_ws(' ', bit_xor(digest), sum(digest)), count(*) FILTER (has_reference),
       concat_ws(' ', bit_xor(digest) FILTER (has_reference), sum(digest) FILTER (has_reference)),
       any_value(history_digest)
FROM asked LEFT JOIN histories USING (run_id) GROUP BY run_id"""),
)

_EMPTY = QuestionSet(questions=0, digest="", references=0, reference_digest="", history_digest=None)


def question_sets(connection: Connection, runs: Sequence[str]) -> dict[str, QuestionSet]:
    """Return {run: its set of questions}, in the order of `runs`."""
    rows = QUESTION_SETS.rows(connection, runs)
    return {run: QuestionSet(*rows[run][0]) if rows[run] else _EMPTY for run in runs}


def different_sets(sets: Mapping[str, QuestionSet]) -> list[str]:
    """Return the runs whose set of questions no earlier run has. They have all questions."""
    first: dict[str, str] = {}
    for run, found in sets.items():
        if found.questions:
            first.setdefault(found.digest, run)
    return list(first.values())


def measure_datasets(
    connection: Connection, datasets: Mapping[str, Mapping[str, QuestionSet]]
) -> dict[str, DatasetSize]:
    """Return the size of each dataset. `datasets` has {dataset: {run: its set of questions}}.

    The samples are read only if the runs of a dataset have different questions or references.
    """
    known = {name: _size_by_digests(list(sets.values())) for name, sets in datasets.items()}
    unknown = [name for name, size in known.items() if size is None]
    rows = connection.execute(
        "SELECT dataset, count(*), count(*) FILTER (has_reference) FROM ("
        " SELECT dataset, bool_or(trim(reference) <> '') AS has_reference FROM samples JOIN runs USING (run_id)"
        " WHERE dataset IN (SELECT unnest($datasets)) GROUP BY dataset, hash(question, history::VARCHAR)"
        ") GROUP BY dataset",
        {"datasets": unknown},
    ).fetchall()
    counted = {name: DatasetSize(*counts) for name, *counts in rows}
    return {name: size or counted[name] for name, size in known.items()}


def _size_by_digests(sets: Sequence[QuestionSet]) -> DatasetSize | None:
    """Return the size if all sets have the same questions, and the same questions or all of them have references."""
    questions = {(one.digest, one.questions) for one in sets if one.questions}
    references = {(one.reference_digest, one.references) for one in sets if one.references}
    if not questions:
        return DatasetSize(questions=0, references=0)
    if len(questions) > 1:
        return None
    ((_, size),) = questions
    most = max((count for _, count in references), default=0)
    return DatasetSize(questions=size, references=most) if len(references) < 2 or most == size else None
