"""References that samples without a reference get from other runs of their dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragboard.records import Sample
from ragboard.store.queries.query import Connection

__all__ = ["dataset_reference_count", "dataset_references_digest", "reference_count", "with_dataset_references"]

_FOUND = """\
FROM samples m
JOIN samples s ON s.question = m.question AND s.history::VARCHAR = m.history::VARCHAR
JOIN runs r ON r.run_id = s.run_id
WHERE m.run_id = $run_id AND m.reference IS NULL AND trim(s.reference) <> ''
  AND r.dataset = (SELECT dataset FROM runs WHERE run_id = $run_id)"""
"""SQL that joins samples `m` of a run without a reference and samples `s` of its dataset with the same question and a
reference."""


def with_dataset_references(
    connection: Connection, run_id: str, samples: Sequence[tuple[int, Sample]]
) -> list[tuple[int, Sample]]:
    """Return samples of a run, with missing references filled in from other runs of its dataset.

    A reference is filled in if all runs that have a reference have the same one, ignoring outer spaces.
    `reference_note` names the run of the reference, or says why the reference is missing.
    """
    without = [position for position, sample in samples if sample.reference is None]
    if not without:
        return list(samples)
    rows = connection.execute(
        "SELECT m.position, arg_max(s.reference, (r.imported, r.name)), arg_max(r.name, (r.imported, r.name)),"
        " count(DISTINCT trim(s.reference)), arg_min(r.name, trim(s.reference)), arg_max(r.name, trim(s.reference))"
        f" {_FOUND} AND m.position IN (SELECT unnest($without::INTEGER[])) GROUP BY m.position",
        {"run_id": run_id, "without": without},
    ).fetchall()
    found = {
        position: (None, _conflict(*runs)) if different > 1 else (text, f"reference from run {run}")
        for position, text, run, different, *runs in rows
    }
    return [
        (position, replace(sample, reference=found[position][0], reference_note=found[position][1]))
        if position in found
        else (position, sample)
        for position, sample in samples
    ]


def _conflict(first: str, second: str) -> str:
    where = f"run {first} has" if first == second else f"runs {first} and {second} have"
    return f"the run file has no reference for this sample, and {where} different references for the question"


def reference_count(connection: Connection, run_id: str) -> int:
    """Return the number of samples of a run with a reference, in its file or from its dataset."""
    ((in_file,),) = connection.execute(
        "SELECT count(*) FROM samples WHERE run_id = ? AND trim(reference) <> ''", [run_id]
    ).fetchall()
    return int(in_file) + dataset_reference_count(connection, run_id)


def dataset_reference_count(connection: Connection, run_id: str) -> int:
    """Return the number of samples of a run that get their reference from other runs of its dataset."""
    ((without,),) = connection.execute(
        "SELECT count(*) FROM samples WHERE run_id = ? AND reference IS NULL", [run_id]
    ).fetchall()
    if not without:
        return 0
    ((count,),) = connection.execute(
        f"SELECT count(*) FROM (SELECT m.position {_FOUND} GROUP BY m.position"
        " HAVING count(DISTINCT trim(s.reference)) = 1)",
        {"run_id": run_id},
    ).fetchall()
    return int(count)


def dataset_references_digest(connection: Connection, run_id: str, end: int) -> str:
    """Return a digest of the references that samples before `end` get from other runs; empty if there are none."""
    row = connection.execute(
        "SELECT bit_xor(md5_number(concat_ws(chr(31), question, history, text, run)))::VARCHAR FROM ("
        "SELECT DISTINCT m.question, m.history::VARCHAR AS history, s.reference AS text, r.name AS run"
        f" {_FOUND} AND m.position < $end)",
        {"run_id": run_id, "end": end},
    ).fetchone()
    return row[0] or "" if row else ""
