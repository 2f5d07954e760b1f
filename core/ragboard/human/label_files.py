"""Export labels as JSON Lines, import them from label files, and convert them to scores from 0 to 1."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from ragboard.errors import RunFileError
from ragboard.human.labels import GRADES, LabelledAnswer, NewLabel, Preferred, add_labels, swap_preference
from ragboard.readers.cells import BadCellError
from ragboard.readers.labels import HumanLabel, LabelledText, LabelRow, SamplingDesign, read_label_rows
from ragboard.records import Passage, Sample, Span
from ragboard.store import RunRef, Store
from ragboard.store.queries.labels import (
    answer_keys_of_runs,
    current_labels,
    imported_labels,
    labelled_answers,
)
from ragboard.store.rows import answer_key

__all__ = ["LabelImportCounts", "LabelledOutcome", "export_labels", "import_labels", "labelled_outcomes"]


@dataclass(frozen=True, kw_only=True)
class LabelImportCounts:
    """Counts of the labels of an imported file."""

    rows: int
    """Number of rows of the file."""
    added: int
    """Number of new labels."""
    unchanged: int
    """Number of labels that were already stored."""
    undecided: int
    """Number of statements with the label null; they are not stored."""
    without_a_run: int
    """Number of labels of answers that no run in the store has; they are stored, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledOutcome:
    """The labels of one answer, converted to scores from 0 to 1."""

    answer: LabelledAnswer
    run: str
    """The run that the file names; empty if it names none."""
    design: SamplingDesign
    """How the answer was selected."""
    outcomes: Mapping[str, float]
    """Scores in [0, 1], higher is better, averaged over annotators. The key is `verdicts` for the share of supported
    statements, or the name of a quality for its grade, rescaled from 1-5 to 0-1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _LabelledRow:
    """One row of a file, with its labels in the format of the store."""

    row: LabelRow
    answers: tuple[LabelledAnswer, ...]
    labels: tuple[NewLabel, ...]
    undecided: int
    """Number of statements with the label null."""


class _CurrentLabel(NamedTuple):
    """A row of `current_labels`."""

    kind: str
    annotator: str
    queue: str
    answer_key: str
    other_key: str
    dimension: str
    statement: str
    start: int | None
    end: int | None
    value: str
    note: str
    design: str
    labelled_at: datetime
    run: str | None
    sample_id: str


def export_labels(store: Store, run: RunRef | None = None) -> Iterator[str]:
    """Yield the current labels of one run, or of all runs, as JSON lines in the format of label files."""
    with store.database.read() as connection:
        answers = {
            key: {"question": question, "contexts": contexts, "answer": answer}
            | _unless_empty("history", json.loads(history))
            for key, question, history, answer, contexts in labelled_answers(connection)
        }
        labels = [_CurrentLabel(*row) for row in current_labels(connection, run)]
    for _, group in groupby(labels, key=_export_key):
        yield json.dumps(_exported_object(list(group), answers), ensure_ascii=False)


def import_labels(
    store: Store, path: Path, *, annotator: str = "unknown", design: SamplingDesign | None = None
) -> LabelImportCounts:
    """Import the labels of a file in ragboard's format or with ARES's columns; importing it again changes nothing.

    `annotator` is the annotator of rows that do not name one. `design` is how the answers were selected: `random` if
    they were drawn at random from their run, as estimates require; by default, what each row says. Raises RunFileError
    at the first row that cannot be read; nothing is imported then.
    """
    read = list(_read_rows(path, annotator, design))
    labels = [label for labelled_row in read for label in labelled_row.labels]
    with store.database.read() as connection:
        stored, keys_of_runs = imported_labels(connection), answer_keys_of_runs(connection)
    new = [label for label in dict.fromkeys(labels) if _identity(label) not in stored]
    add_labels(store, {answer.key: answer for labelled_row in read for answer in labelled_row.answers}.values(), new)
    return LabelImportCounts(
        rows=len(read),
        added=len(new),
        unchanged=len(labels) - len(new),
        undecided=sum(labelled_row.undecided for labelled_row in read),
        without_a_run=sum(label.answer_key not in keys_of_runs for label in labels),
    )


def labelled_outcomes(path: Path, *, design: SamplingDesign | None = None) -> tuple[LabelledOutcome, ...]:
    """Read the labelled answers of a file, and convert their labels to scores from 0 to 1.

    `design` is how the answers were selected; by default, what each row says. Labels of statements count if every
    statement of the answer has one. Preferences are left out, because they do not rate a single answer. Raises
    RunFileError at the first row that cannot be read.
    """
    by_answer: dict[tuple[str, str, SamplingDesign], list[_LabelledRow]] = {}
    for labelled_row in _read_rows(path, "unknown", design):
        if labelled_row.labels:
            key = (labelled_row.row.run, labelled_row.answers[0].key, design or labelled_row.row.design or "unknown")
            by_answer.setdefault(key, []).append(labelled_row)
    answers: list[LabelledOutcome] = []
    for (run, _, row_design), rows in by_answer.items():
        outcomes: dict[str, list[float]] = {}
        for labelled_row in rows:
            verdicts = [label.value == "supported" for label in labelled_row.labels if label.kind == "verdict"]
            if verdicts and not labelled_row.undecided:
                outcomes.setdefault("verdicts", []).append(fmean(verdicts))
            for label in labelled_row.labels:
                if label.kind == "grade":
                    low, high = GRADES
                    outcomes.setdefault(label.dimension, []).append((int(label.value or low) - low) / (high - low))
        if outcomes:
            means = {name: fmean(values) for name, values in outcomes.items()}
            answers.append(LabelledOutcome(answer=rows[0].answers[0], run=run, design=row_design, outcomes=means))
    return tuple(answers)


def _read_rows(path: Path, annotator: str, design: SamplingDesign | None) -> Iterator[_LabelledRow]:
    for row in read_label_rows(str(path)):
        try:
            yield _convert_row(row, annotator, design)
        except BadCellError as error:
            raise RunFileError(path, str(error), line=row.line, field=error.field or None) from error


def _convert_row(row: LabelRow, annotator: str, design: SamplingDesign | None) -> _LabelledRow:
    """Convert a row to labels. Raises BadCellError for labels that cannot be stored."""
    if row.kind == "passages":
        raise BadCellError("passage_grades", "grades of passages cannot be imported; use ragboard agree")
    if row.kind == "sentences":
        raise BadCellError("sentences", "labels of sentences cannot be imported; use ragboard agree")
    if any(side.answer is None for side in row.samples):
        problem = (
            "only preferences between answers can be imported; for preferences between passages use ragboard agree"
        )
        raise BadCellError(
            "" if row.form == "pairs" else "answer", problem if row.form == "pairs" else "has no `answer`"
        )
    answers = tuple(LabelledAnswer(key=answer_key(side), sample=_labelled_parts(side)) for side in row.samples)
    base = NewLabel(
        annotator=row.annotator or annotator,
        kind="verdict",
        answer_key=answers[0].key,
        value=None,
        queue="imported",
        design=design or row.design or "unknown",
        sample_id=row.sample,
    )
    labels: list[NewLabel] = [
        replace(
            base, value=text.verdict, statement=text.text, note=text.note, span=_read_span(number, text, row.samples[0])
        )
        for number, text in enumerate(row.texts, 1)
        if text.verdict
    ]
    for dimension, ratings in row.human_labels.items():
        for number, rating in enumerate(ratings, 1):
            if rating is None:
                continue
            name = f"{base.annotator} {number}" if dimension in row.list_dimensions else base.annotator
            label = replace(base, annotator=name, dimension=dimension, note=row.note)
            labels.append(
                _read_preference(label, answers, rating) if row.form == "pairs" else _read_grade(label, rating)
            )
    return _LabelledRow(
        row=row, answers=answers, labels=tuple(labels), undecided=sum(text.verdict is None for text in row.texts)
    )


def _labelled_parts(side: Sample) -> Sample:
    """Return a copy of a sample with only its question, history, answer and passages."""
    contexts = tuple(
        Passage(id="", text=passage.text, rank=rank) for rank, passage in enumerate(side.contexts or (), 1)
    )
    return Sample(id="", question=side.question, answer=side.answer, contexts=contexts, history=side.history)


def _read_span(number: int, text: LabelledText, sample: Sample) -> Span | None:
    answer, start, end = sample.answer or "", text.start, text.end
    if start is None or end is None:
        return None
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(answer)):
        raise BadCellError(f"statements[{number}]", f"`start` {start!r} and `end` {end!r} are not a span of the answer")
    return Span(start=start, end=end, how="verbatim" if answer[start:end] == text.text else "aligned")


def _read_grade(label: NewLabel, grade: float) -> NewLabel:
    low, high = GRADES
    if grade not in range(low, high + 1):
        raise BadCellError(f"grades.{label.dimension}", f"got {grade:g}, expected a whole number from {low} to {high}")
    return replace(label, kind="grade", value=str(int(grade)))


def _read_preference(label: NewLabel, answers: Sequence[LabelledAnswer], rating: HumanLabel) -> NewLabel:
    sides: dict[HumanLabel, Preferred] = {-1.0: "a", 1.0: "b", 0.0: "tie"}
    if rating not in sides:
        raise BadCellError("votes", f"got {rating:g}, expected one of a, b, tie")
    preferred, (a, b) = sides[rating], (answer.key for answer in answers)
    if b < a:
        a, b, preferred = b, a, swap_preference(preferred)
    return replace(label, kind="preference", answer_key=a, other_key=b, value=preferred)


def _identity(label: NewLabel) -> tuple[Any, ...]:
    span = label.span
    offsets = (span.start, span.end) if span else (None, None)
    subject = (label.annotator.strip(), label.kind, label.answer_key, label.other_key, label.dimension)
    return (*subject, label.statement, *offsets, label.value, label.note.strip(), label.design)


def _export_key(label: _CurrentLabel) -> tuple[Any, ...]:
    """Return a key that labels share if they are exported as one object, such as the verdicts on one answer."""
    shared = (label.kind, label.annotator, label.queue, label.answer_key, label.design)
    return shared if label.kind == "verdict" else (*shared, *label)


def _exported_object(labels: Sequence[_CurrentLabel], answers: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the verdicts on the statements of one answer, or one grade or preference, as in a label file."""
    label = labels[-1]
    answer = answers[label.answer_key]
    common = {
        "annotator": label.annotator,
        "queue": label.queue,
        "design": label.design or ("random" if label.queue == "random" else "not random"),
        "labelled_at": label.labelled_at.isoformat(timespec="seconds") + "Z",
    }
    origin = _unless_empty("run", label.run) | _unless_empty("sample", label.sample_id)
    if label.kind == "verdict":
        return origin | answer | {"statements": [_statement(verdict) for verdict in labels]} | common
    note = _unless_empty("note", label.note)
    if label.kind == "grade":
        return origin | answer | {"grades": {label.dimension: int(label.value)}} | note | common
    preferred = {"dimension": label.dimension, "preferred": label.value}
    return origin | _sides(answer, answers[label.other_key]) | preferred | note | common


def _statement(label: _CurrentLabel) -> dict[str, Any]:
    offsets = {} if label.start is None else {"start": label.start, "end": label.end}
    verdict = {"label": int(label.value == "supported"), "verdict": label.value}
    return {"text": label.statement} | offsets | verdict | _unless_empty("note", label.note)


def _sides(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    sides = {"question": a["question"], "a": a["answer"], "b": b["answer"]} | _unless_empty("history", a.get("history"))
    if a["contexts"] == b["contexts"]:
        return sides | {"contexts": a["contexts"]}
    return sides | {"a_contexts": a["contexts"], "b_contexts": b["contexts"]}


def _unless_empty(name: str, value: Any) -> dict[str, Any]:
    return {name: value} if value else {}
