"""Results of samples as rows, collected in one Parquet file a table until they are loaded."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ragboard.errors import StoreError
from ragboard.evaluation.journal import is_being_written
from ragboard.metrics.base import Findings
from ragboard.metrics.partition import Origin
from ragboard.metrics.ragchecker import stored_origins
from ragboard.metrics.statements import Cells, Judged, StatementsFound
from ragboard.records import Evidence, Outcome, Spend, Statement, Target, Unscored, Verdict
from ragboard.store import score_row

__all__ = ["ResultFiles", "result_files"]

FLUSH_ROWS = 20_000
"""Rows of one table held in memory before they go to its file."""

PREFIX = "results-"

_INT, _LONG, _TEXT, _REAL, _BOOL = pa.int32(), pa.int64(), pa.string(), pa.float64(), pa.bool_()

TABLES: dict[str, dict[str, pa.DataType]] = {
    "scores": {
        "position": _INT,
        "metric": _TEXT,
        "value": _REAL,
        "counted": _TEXT,
        "reason": _TEXT,
        "detail": _TEXT,
    },
    "sides": {"position": _INT, "side": _TEXT, "refuses": _BOOL},
    "statements": {
        "position": _INT,
        "side": _TEXT,
        "statement": _INT,
        "text": _TEXT,
        "span_start": _INT,
        "span_end": _INT,
        "span_how": _TEXT,
        "origin": _TEXT,
    },
    "verdicts": {
        "position": _INT,
        "side": _TEXT,
        "statement": _INT,
        "target": _TEXT,
        "label": _TEXT,
        "reason": _TEXT,
        "score": _REAL,
        "evidence": _TEXT,
    },
    "questions": {"position": _INT, "number": _INT, "question": _TEXT, "similarity": _REAL},
    "sentences": {"position": _INT, "rank": _INT, "start": _INT, "stop": _INT, "chosen": _BOOL},
    "spending": {
        "model": _TEXT,
        "embedding": _BOOL,
        "calls": _LONG,
        "uncounted": _LONG,
        "prompt_tokens": _LONG,
        "cached_tokens": _LONG,
        "completion_tokens": _LONG,
        "cost": _REAL,
        "planned_calls": _LONG,
        "planned_tokens": _LONG,
        "prompt_price": _REAL,
        "cached_price": _REAL,
        "completion_price": _REAL,
    },
    "answer_places": {"position": _INT, "place": _LONG},
    "judgements": {
        "position": _INT,
        "about": _TEXT,
        "number": _INT,
        "says": _TEXT,
        "value": _REAL,
        "reason": _TEXT,
    },
}
"""The columns of each table, in order."""

Row = tuple[Any, ...]


class ResultFiles:
    """One growing Parquet file for each table."""

    def __init__(self, folder: Path) -> None:
        self.paths: Mapping[str, Path] = {table: folder / f"{table}.parquet" for table in TABLES}
        self._schemas = {table: pa.schema(list(columns.items())) for table, columns in TABLES.items()}
        with _told(folder):
            self._writers = {table: pq.ParquetWriter(self.paths[table], self._schemas[table]) for table in TABLES}
        self._rows: dict[str, list[Row]] = {table: [] for table in TABLES}

    def add(
        self, position: int, outcomes: Mapping[str, Outcome], findings: Findings, places: Iterable[int] = ()
    ) -> None:
        """Take in what one sample got, and where in the journal the answers stand that it was made of."""
        for metric, outcome in outcomes.items():
            self._put("scores", score_row(position, metric, outcome))
        for table, row in dict.fromkeys(_finding_rows(position, findings)):
            self._put(table, row)
        for place in places:
            self._put("answer_places", (position, place))

    def spent(self, spending: Iterable[Spend]) -> None:
        """Take in what the evaluation took, a row for each model."""
        for spend in spending:
            self._put("spending", astuple(spend))

    def close(self) -> None:
        """Write what is left; the files are whole afterwards."""
        for table in TABLES:
            self._flush(table)
            with _told(self.paths[table]):
                self._writers[table].close()

    def _put(self, table: str, row: Row) -> None:
        self._rows[table].append(row)
        if len(self._rows[table]) >= FLUSH_ROWS:
            self._flush(table)

    def _flush(self, table: str) -> None:
        columns: list[Any] = list(zip(*self._rows[table], strict=True)) or [()] * len(TABLES[table])
        schema = self._schemas[table]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
        with _told(self.paths[table]):
            self._writers[table].write_table(pa.Table.from_arrays(arrays, schema=schema))
        self._rows[table].clear()


@contextmanager
def result_files(folder: Path, journal: Path) -> Generator[ResultFiles]:
    """Result files in a folder of this journal's own inside `folder`, deleted at the end.

    Folders that killed processes left there are deleted first: nobody writes their journals.
    """
    own = folder / f"{PREFIX}{journal.stem}"
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(f"{PREFIX}*"):
            if left == own or not is_being_written(journal.with_name(f"{left.name.removeprefix(PREFIX)}.jsonl")):
                rmtree(left, ignore_errors=True)
        own.mkdir(exist_ok=True)
    try:
        yield ResultFiles(own)
    finally:
        rmtree(own, ignore_errors=True)


@contextmanager
def _told(path: Path) -> Generator[None]:
    """What goes wrong with the files; what a judge raises meanwhile is not about them."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: cannot write results: {error.strerror or error}") from error


def _finding_rows(position: int, findings: Findings) -> Iterator[tuple[str, Row]]:
    origins = stored_origins(findings)
    for need, found in findings.found.items():
        if isinstance(found, Unscored):
            continue
        for table, row in need.rows(found):
            yield table, (position, *row)
        match found:
            case Judged():
                yield from _statement_rows(position, found, origins)
                yield from _verdict_rows(position, found.statements, found.verdicts, Target(kind="joint"))
            case Cells():
                yield from _statement_rows(position, found, origins)
                for place, target in enumerate(found.targets):
                    column = tuple(row[place] for row in found.rows)
                    yield from _verdict_rows(position, found.statements, column, target)
            case StatementsFound():
                yield from _statement_rows(position, found, origins)
            case _:
                pass


def _statement_rows(
    position: int, found: Judged | Cells | StatementsFound, origins: tuple[Origin, ...]
) -> Iterator[tuple[str, Row]]:
    """`origins` has the class of each claim of the answer, or nothing where they were not all judged."""
    if found.refuses is not None:
        yield "sides", (position, found.side, found.refuses)
    for number, said in enumerate(found.statements):
        span = said.span
        place = (span.start, span.end, span.how) if span else (None, None, None)
        origin = origins[number] if origins and said.side == "response" else None
        yield "statements", (position, said.side, number, said.text, *place, origin)


def _verdict_rows(
    position: int, statements: tuple[Statement, ...], verdicts: tuple[Verdict, ...], target: Target
) -> Iterator[tuple[str, Row]]:
    name = target.kind if target.rank is None else f"{target.kind}:{target.rank}"
    for number, (said, verdict) in enumerate(zip(statements, verdicts, strict=True)):
        evidence = json.dumps([_mark(mark) for mark in verdict.evidence]) if verdict.evidence else "[]"
        yield (
            "verdicts",
            (position, said.side, number, name, verdict.label, verdict.reason, verdict.score, evidence),
        )


def _mark(mark: Evidence) -> dict[str, object]:
    return {"rank": mark.rank, "start": mark.start, "end": mark.end, "stance": mark.stance, "how": mark.how}
