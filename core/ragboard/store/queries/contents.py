"""Count what the samples of a run contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragboard.store.queries.query import Connection
from ragboard.store.queries.question_sets import question_sets
from ragboard.store.queries.references import dataset_reference_count

__all__ = ["SampleParts", "count_parts"]


@dataclass(frozen=True, kw_only=True)
class SampleParts:
    """The number of samples of a run that have each part, with the references of its dataset."""

    samples: int
    questions: int
    """Number of different questions. Questions with different earlier turns are different."""
    columns: Mapping[str, int]
    """The number of samples with a value, for the fields of `Sample` that can be missing."""
    passages: int
    """Number of passages in all samples."""
    histories: int
    """Number of samples with earlier turns."""
    gold: int
    """Number of samples whose retrieved passages can be compared with gold passages, as in `compare_with_gold`."""
    gold_without_ids: int
    """Number of samples with gold passages by id, but retrieved passages without ids."""


def _has_ids(column: str, *, texts: bool = False) -> str:
    """Return SQL for whether a metadata column is a list of ids, as `compare_with_gold` reads it."""
    path = f"metadata->'{column}'"
    spaces = r" OR regexp_matches(x->>'$', '(?s)\S.* .*\S')" if texts else ""
    others = f"list_filter(({path})::JSON[], lambda x: coalesce(json_type(x), 'NULL') NOT IN {_IDS}{spaces})"
    return (
        f"CASE WHEN contains(metadata::VARCHAR, '\"{column}\"') AND json_type({path}) = 'ARRAY'"
        f" THEN len({others}) = 0 ELSE false END"
    )


_IDS = "('VARCHAR', 'UBIGINT', 'BIGINT', 'BOOLEAN')"
"""The JSON types of ids."""

_MAY_HAVE_GOLD = """\
(reference_contexts IS NOT NULL OR contains(metadata::VARCHAR, '"reference_context_ids"')
  OR contains(metadata::VARCHAR, '"documents"'))"""

_COUNTS = f"""\
SELECT count(*), count(answer), count(*) FILTER (has_contexts),
       count(reference), count(reference_contexts), count(*) FILTER (history::VARCHAR <> '[]'),
       (SELECT count(*) FROM passages WHERE run_id = $run), EXISTS (FROM nugget_lists),
       coalesce(bool_or({_MAY_HAVE_GOLD}), false)
FROM samples WHERE run_id = $run"""

_NUGGETS = """\
SELECT count(*) FROM samples s
JOIN (SELECT DISTINCT question, history::VARCHAR AS history FROM nugget_lists) l
  ON l.question = s.question AND l.history = s.history::VARCHAR
WHERE run_id = $run"""

_GOLD = f"""\
WITH gold AS MATERIALIZED (
  SELECT position, {_has_ids("reference_context_ids")} AS by_id, reference_contexts IS NOT NULL AS by_text,
         {_has_ids("documents", texts=True)} AS by_document,
         {_has_ids("retrieved_context_ids")} AS names, json_array_length(metadata->'retrieved_context_ids') AS named
  FROM samples
  WHERE run_id = $run AND {_MAY_HAVE_GOLD}
),
ranks AS (
  SELECT position, count(*) AS passages, bool_and(passage_id = rank::VARCHAR) AS unnamed
  FROM passages WHERE run_id = $run AND position IN (SELECT position FROM gold WHERE by_id OR by_document)
  GROUP BY position
),
compared AS (
  SELECT (by_id OR NOT by_text) AND NOT (names AND named = coalesce(passages, 0)) AND coalesce(unnamed, false)
           AS without_ids
  FROM gold LEFT JOIN ranks USING (position) WHERE by_id OR by_text OR by_document
)
SELECT count(*) FILTER (NOT without_ids), count(*) FILTER (without_ids) FROM compared"""


def count_parts(connection: Connection, run_id: str) -> SampleParts:
    """Count the parts of the samples of a run."""

    def count(sql: str) -> tuple[int, ...]:
        (row,) = connection.execute(sql, {"run": run_id}).fetchall()
        return row

    samples, answers, contexts, references, gold_texts, histories, passages, *more = count(_COUNTS)
    any_nuggets, may_have_gold = more
    gold, gold_without_ids = count(_GOLD) if may_have_gold else (0, 0)
    return SampleParts(
        samples=samples,
        questions=question_sets(connection, [run_id])[run_id].questions,
        columns={
            "answer": answers,
            "contexts": contexts,
            "reference": references + dataset_reference_count(connection, run_id),
            "reference_contexts": gold_texts,
            "nuggets": count(_NUGGETS)[0] if any_nuggets else 0,
        },
        passages=passages,
        histories=histories,
        gold=gold,
        gold_without_ids=gold_without_ids,
    )
