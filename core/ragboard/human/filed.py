"""A file of labels as numbers: what people found of whole answers, in each quality."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import cast

from ragboard.human.label_file_rows import RowRead
from ragboard.human.label_files import label_rows
from ragboard.human.labels import GRADES, LabelledAnswer, NewLabel
from ragboard.store.queries.labels import Design

__all__ = ["FiledAnswer", "filed_answers"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FiledAnswer:
    """What a file says of one answer."""

    answer: LabelledAnswer
    run: str
    """The run that gave it, by the file's word; empty where the file does not say."""
    design: Design
    """How this answer was chosen."""
    outcomes: Mapping[str, float]
    """In [0, 1], higher is better: under `verdicts` the share of its statements that are supported, under the name of a
    quality its grade, 1 to 5 mapped onto 0 to 1. Where several people speak, their mean."""


def filed_answers(path: Path, *, design: Design | None = None) -> tuple[FiledAnswer, ...]:
    """The answers of a file of labels: the open format as JSONL, or ARES's columns as TSV or CSV.

    `design` says how the answers were chosen; else each row's own word counts, else unknown. A row on statements counts
    for the whole of its answer, unless one of them is undecided; preferences say nothing of one answer and are passed
    over. Raises RunFileError at the first row that cannot be read.
    """
    found: dict[tuple[str, str, str], list[RowRead]] = {}
    for row in label_rows(path, annotator="unknown", design=design):
        if row.labels:
            found.setdefault((row.run, row.answers[0].key, row.labels[0].design), []).append(row)
    filed = (_filed(rows) for rows in found.values())
    return tuple(one for one in filed if one.outcomes)


def _filed(rows: Sequence[RowRead]) -> FiledAnswer:
    first = rows[0]
    said = [each for row in rows for each in _outcomes(row)]
    return FiledAnswer(
        answer=first.answers[0],
        run=first.run,
        design=cast("Design", first.labels[0].design),
        outcomes={measured: fmean(value for name, value in said if name == measured) for measured, _ in said},
    )


def _outcomes(row: RowRead) -> Iterator[tuple[str, float]]:
    verdicts = [label.value == "supported" for label in row.labels if label.kind == "verdict"]
    if verdicts and not row.undecided:
        yield "verdicts", fmean(verdicts)
    yield from ((label.dimension, _unit(label)) for label in row.labels if label.kind == "grade")


def _unit(grade: NewLabel) -> float:
    low, high = GRADES
    return (int(grade.value or low) - low) / (high - low)
