"""Labels to and from files, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from ragboard.errors import RunFileError
from ragboard.human.label_file_rows import RowRead, read_ares_row, read_row
from ragboard.human.labels import NewLabel, add_labels
from ragboard.readers.ares import read_ares
from ragboard.readers.files import file_lines, kind_of
from ragboard.store import RunRef, Store
from ragboard.store.queries.labels import Design

__all__ = ["ImportedLabels", "export_labels", "import_labels", "label_rows"]


@dataclass(frozen=True, kw_only=True)
class ImportedLabels:
    """What became of a file of labels."""

    rows: int
    added: int
    unchanged: int
    """Labels that were there already, word for word."""
    undecided: int
    """Statements on which the file says null; nothing is kept of them."""
    without_a_run: int
    """Labels on answers that no run of the store gives (yet); they are kept all the same."""


def export_labels(store: Store, run: RunRef | None = None) -> Iterator[str]:
    """What people say now, of a run's answers or of all, as lines of JSON; `docs/labels.md` has the format."""
    with store.database.read() as connection:
        contexts = _contexts(connection)
        rows = connection.execute(
            "SELECT l.kind, l.annotator, l.queue, l.answer_key, l.other_key, l.dimension, l.statement, l.span_start,"
            " l.span_end, l.value, l.note, l.design, l.said, r.name, l.sample_id FROM current_labels l"
            " LEFT JOIN runs r ON r.run_id = l.run_id WHERE $run IS NULL OR EXISTS (FROM samples s"
            " WHERE s.run_id = $run AND s.answer_key IN (l.answer_key, l.other_key))"
            " ORDER BY l.kind = 'preference', l.kind = 'grade', l.answer_key, l.annotator, l.queue, l.design,"
            " l.span_start NULLS LAST, l.number",
            {"run": run.run_id if run else None},
        ).fetchall()
    for same, group in groupby(rows, key=_together):
        yield json.dumps(_exported(same[0], list(group), contexts), ensure_ascii=False)


def import_labels(
    store: Store, path: Path, *, annotator: str = "unknown", design: Design | None = None
) -> ImportedLabels:
    """Keep the labels of a file in the open format, or in ARES's; the same file twice changes nothing.

    `annotator` speaks where a row names nobody. `design` says how the answers were chosen (`random`: a simple
    random sample of their run's); else each row's own word counts, else unknown: estimates need a random one.
    Raises RunFileError at the first row that cannot be read; then nothing is kept.
    """
    read = list(label_rows(path, annotator=annotator, design=design))
    given = [label for row in read for label in row.labels]
    with store.database.read() as connection:
        there = _there(connection)
        known = {row[0] for row in connection.execute("SELECT DISTINCT answer_key FROM samples").fetchall()}
    new = [label for label in dict.fromkeys(given) if _identity(label) not in there]
    add_labels(store, {answer.key: answer for row in read for answer in row.answers}.values(), new)
    return ImportedLabels(
        rows=len(read),
        added=len(new),
        unchanged=len(given) - len(new),
        undecided=sum(row.undecided for row in read),
        without_a_run=sum(label.answer_key not in known for label in given),
    )


def label_rows(path: Path, *, annotator: str, design: Design | None) -> Iterator[RowRead]:
    """The rows of a file of labels: JSONL in the open format, TSV or CSV as ARES has them. Raises RunFileError."""
    kind, encoding = kind_of(path)
    if kind in ("TSV", "CSV"):
        for row in read_ares(path):
            yield read_ares_row(row, annotator=annotator, design=design)
    elif kind == "JSONL":
        yield from _lines(path, encoding, annotator, design)
    else:
        raise RunFileError(path, f"is {kind}, expected labels as JSONL, or as ARES's TSV")


def _lines(path: Path, encoding: str, annotator: str, design: Design | None) -> Iterator[RowRead]:
    for line, text in file_lines(path, encoding):
        if not text.strip():
            continue
        try:
            yield read_row(json.loads(text), annotator=annotator, design=design)
        except json.JSONDecodeError as error:
            raise RunFileError(path, f"is not JSON: {error.msg}", line=line) from error
        except RecursionError as error:
            raise RunFileError(path, "is not JSON: nested too deeply", line=line) from error
        except KeyError as error:
            raise RunFileError(path, f"has no `{error.args[0]}`, which a label needs", line=line) from error
        except (TypeError, ValueError, AttributeError) as error:
            raise RunFileError(path, f"is no label: {error}", line=line) from error


def _identity(label: NewLabel) -> tuple[Any, ...]:
    span = label.span
    place = (span.start, span.end) if span else (None, None)
    subject = (label.annotator.strip(), label.kind, label.answer_key, label.other_key, label.dimension)
    return (*subject, label.statement, *place, label.value, label.note.strip(), label.design)


def _there(connection: duckdb.DuckDBPyConnection) -> set[tuple[Any, ...]]:
    return set(
        connection.execute(
            "SELECT annotator, kind, answer_key, other_key, dimension, statement, span_start, span_end, value, note,"
            " design FROM current_labels WHERE queue = 'imported'"
        ).fetchall()
    )


def _contexts(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """By key the question, history, answer and passages that labels hang on."""
    rows = connection.execute("SELECT answer_key, question, history, answer, contexts FROM labelled_answers").fetchall()
    return {
        key: {"question": question, "contexts": contexts, "answer": answer} | _some("history", json.loads(history))
        for key, question, history, answer, contexts in rows
    }


def _together(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the labels of one exported object have in common: verdicts of a person on an answer are one."""
    kind, annotator, queue, key, *rest = row
    design = row[11]
    return (kind, annotator, queue, key, design) if kind == "verdict" else (kind, annotator, queue, key, design, *rest)


def _exported(kind: str, rows: list[tuple[Any, ...]], contexts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    first = rows[-1]
    _, annotator, queue, key, other, dimension, *_, value, note, design, said, run, sample = first
    answer = contexts[key]
    by = {
        "annotator": annotator,
        "queue": queue,
        "design": design or ("random" if queue == "random" else "not random"),
        "said": said.isoformat(timespec="seconds") + "Z",
    }
    where = _some("run", run) | _some("sample", sample)
    if kind == "verdict":
        return where | answer | {"statements": [_statement(row) for row in rows]} | by
    if kind == "grade":
        return where | answer | {"grades": {dimension: int(value)}} | _some("note", note) | by
    return (
        where
        | _sides(answer, contexts[other])
        | {"dimension": dimension, "preferred": value}
        | _some("note", note)
        | by
    )


def _statement(row: tuple[Any, ...]) -> dict[str, Any]:
    text, start, end, value, note = row[6:11]
    place = {} if start is None else {"start": start, "end": end}
    label = {"label": int(value == "supported"), "verdict": value}
    return {"text": text} | place | label | _some("note", note)


def _sides(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    sides = {"question": a["question"], "a": a["answer"], "b": b["answer"]} | _some("history", a.get("history"))
    if a["contexts"] == b["contexts"]:
        return sides | {"contexts": a["contexts"]}
    return sides | {"a_contexts": a["contexts"], "b_contexts": b["contexts"]}


def _some(name: str, value: Any) -> dict[str, Any]:
    return {name: value} if value else {}
