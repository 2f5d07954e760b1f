"""Open RAG Eval: answers with a row for each passage, and results of evaluators with columns for each run.

Cells of evaluators are JSON. Their verdicts compare claims with the reference or the answer, not with the passages, so
they are stored as judgements.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.files import encoding_of, file_text, parse
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.shapes import as_list, as_number, as_object, as_objects, as_text, drop_missing
from ragboard.readers.scores import is_score, read_score
from ragboard.records import PASSAGE_GRADE, JsonValue, Outcome, RecordedJudgement, RecordedSample

__all__ = ["FILE_FORMATS"]

NO_ANSWER = {"NO_ANSWER", "API_ERROR"}
"""Texts in place of an answer, if the system gave none."""
QUERIES = "queries.csv"
"""The usual name of the file of queries."""
ANSWER_COLUMNS = {"query_id", "query", "query_run", "passage_id", "passage", "generated_answer"}
OF_RUN = re.compile(
    r"run_(?P<run>\w+?)_(?P<name>generated_answer|retrieved_passages|(?:retrieval|generation)_score_.+|total_\w*tokens)"
)
TOKENS = "left out: tokens of the judge"


def _is_answers(file: ParsedFile) -> bool:
    return file.columns >= ANSWER_COLUMNS


def _read_answers(file: ParsedFile) -> ToolFile:
    """Read the rows with the same query and run as one sample."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, row in enumerate(file.rows):
        groups.setdefault((str(row.get("query_id")), str(row.get("query_run"))), []).append(index)
    several = len({run for _, run in groups}) > 1
    references, note = _references(file)
    samples: list[ToolSample] = []
    for (query, run), indexes in groups.items():
        rows = [file.rows[index] for index in indexes]
        shared = {name: _single_value(file, indexes, name) for name in file.columns - {"passage", "passage_id"}}
        answer = shared["generated_answer"]
        failed = str(answer).strip() in NO_ANSWER
        passages = [
            drop_missing({"id": row.get("passage_id"), "text": row["passage"]})
            for row in rows
            if row.get("passage") is not None
        ]
        metadata = drop_missing(shared, "query_id", "query", "query_run", "generated_answer")
        cells = {
            "id": query if rows[0].get("query_id") is not None else None,
            "question": shared["query"],
            "answer": None if failed else answer,
            "contexts": passages or None,
            "reference": references.get(query),
            "metadata": {**metadata, **({"generated_answer": answer} if failed else {})} or None,
        }
        samples.append(
            ToolSample(
                cells=drop_missing(cells),
                line=file.line(indexes[0]),
                run=f"run_{run}" if several else "",
                notes=(f"answer: {answer} is not an answer",) if failed else (),
            )
        )
    return ToolFile(
        tool="Open RAG Eval",
        samples=samples,
        fields={
            "query_id": "id",
            "query": "question",
            "query_run": "run",
            "passage_id, passage": "contexts",
            "generated_answer": "answer",
            **({f"{QUERIES} expected_answer": "reference"} if references else {}),
            **dict.fromkeys(sorted(file.columns - ANSWER_COLUMNS), "metadata"),
        },
        configs={f"run_{run}": {"query_run": run} for _, run in groups} if several else {},
        notes=(f"{len(file.rows)} rows, one for each passage, read as {len(samples)} samples", *note),
    )


def _references(file: ParsedFile) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the expected answers by query_id from the file of queries, and notes for the report.

    The file of queries is in the folder of the answers or, if this is `results`, in the parent folder. A file without
    expected answers or with other queries is ignored. Raises RunFileError if it cannot be read.
    """
    queries = {str(row.get("query_id")): row.get("query") for row in file.rows}
    folder = file.path.absolute().parent
    for path in (folder / QUERIES, *((folder.parent / QUERIES,) if folder.name == "results" else ())):
        if not path.is_file():
            continue
        try:
            rows = list(csv.DictReader(io.StringIO(file_text(path, encoding_of(path)), newline="")))
        except csv.Error as error:
            raise RunFileError(path, f"not CSV ({error})") from error
        matching = [row for row in rows if row.get("query_id") in queries]
        expected = {str(row["query_id"]): row["expected_answer"] for row in matching if row.get("expected_answer")}
        if not expected:
            continue
        if any(row.get("query") != queries[str(row["query_id"])] for row in matching):
            return {}, (f"{QUERIES} is ignored: it has other queries with the same query_id",)
        return expected, (f"references are from {QUERIES}, matched by query_id",)
    return {}, ()


def _single_value(file: ParsedFile, indexes: Sequence[int], column: str) -> Any:
    """Return the value of a column that all rows of a sample share. Raises RunFileError if they differ."""
    values = [(index, value) for index in indexes if (value := file.rows[index].get(column)) is not None]
    for index, value in values:
        if value != values[0][1]:
            message = f"column {column!r} has several values in the rows of one sample (same query_id and query_run)"
            raise RunFileError(file.path, message, line=file.line(index), field=column)
    return values[0][1] if values else None


@dataclass(frozen=True, kw_only=True)
class _RunCells:
    """The cells of one run in one row, by column name without the prefix of the run. JSON is parsed."""

    path: Path
    line: int
    run: str
    row: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        column = f"run_{self.run}_{name}"
        cell = self.row.get(column)
        if not isinstance(cell, str) or not cell.lstrip().startswith(("{", "[")):
            return cell
        try:
            return parse(cell)
        except (ValueError, RecursionError) as error:
            raise RunFileError(
                self.path, "not JSON, expected what the evaluator wrote", line=self.line, field=column
            ) from error


def _names(file: ParsedFile) -> dict[str, list[str]]:
    """Return the names of the columns of each run, in order."""
    by_run: dict[str, list[str]] = {}
    for column in dict.fromkeys(name for row in file.rows[:1] for name in row):
        of_run = OF_RUN.fullmatch(column)
        if of_run:
            by_run.setdefault(of_run["run"], []).append(of_run["name"])
    return by_run


def _is_evaluation(file: ParsedFile) -> bool:
    return {"query_id", "query"} <= file.columns and any("generated_answer" in names for names in _names(file).values())


def _read_evaluation(file: ParsedFile) -> ToolFile:
    runs = _names(file)
    samples: list[ToolSample] = []
    for index, row in enumerate(file.rows):
        for run, names in runs.items():
            cells_of_run = _RunCells(path=file.path, line=file.line(index), run=run, row=row)
            parts = cells_of_run["generated_answer"]
            if parts is None and len(runs) > 1:
                continue
            samples.append(
                ToolSample(
                    cells=_sample_cells(row, cells_of_run),
                    line=file.line(index),
                    run=f"run_{run}" if len(runs) > 1 else "",
                    scores=dict(_scores(cells_of_run, names)),
                    recorded=RecordedSample(judgements=tuple(_judgements(cells_of_run))),
                    notes=("answer: joined from its parts; text after the last citation is not in the file",)
                    if isinstance(parts, list)
                    else (),
                )
            )
    kinds = dict.fromkeys(name for names in runs.values() for name in names)
    return ToolFile(
        tool="Open RAG Eval",
        samples=samples,
        fields={"query_id": "id", "query": "question"} | {f"run_N_{name}": _use(name, samples) for name in kinds},
        configs={f"run_{run}": {"query_run": run} for run in runs} if len(runs) > 1 else {},
        notes=("the file does not name the judge model",),
    )


FIELDS = {
    "generated_answer": "answer",
    "retrieved_passages": "contexts",
    "generation_score_expected_answer": "reference",
}


def _use(name: str, samples: Sequence[ToolSample]) -> str:
    if name in FIELDS:
        return FIELDS[name]
    if name.startswith("total_") or name.endswith("token_usage"):
        return TOKENS
    if name == "generation_score_expected_claims":
        return "left out: repeated by the verdicts"
    plain = _score_name(name)
    if any(plain in sample.scores for sample in samples) or name in (
        "retrieval_score_precision_metrics",
        "generation_score_citation_scores",
    ):
        return "score"
    return "judgement"


def _sample_cells(row: Mapping[str, Any], run_cells: _RunCells) -> dict[str, JsonValue]:
    parts = run_cells["generated_answer"]
    answer = "".join(as_text(part.get("text")) for part in as_objects(parts)) if isinstance(parts, list) else parts
    passages = run_cells["retrieved_passages"]
    citations: list[JsonValue] = [
        {"text": as_text(part.get("text")), "citations": part.get("citations")} for part in as_objects(parts)
    ]
    return drop_missing(
        {
            "id": row.get("query_id"),
            "question": row.get("query"),
            "answer": None if str(answer).strip() in NO_ANSWER else answer,
            "contexts": [{"id": key, "text": text} for key, text in passages.items()]
            if isinstance(passages, Mapping)
            else passages,
            "reference": run_cells["generation_score_expected_answer"],
            "metadata": {"citations": citations} if any(part.get("citations") for part in as_objects(parts)) else None,
        }
    )


def _score_name(column: str) -> str:
    return re.sub(r"^(?:retrieval|generation)_score_", "", column)


def _scores(run_cells: _RunCells, names: Sequence[str]) -> Iterator[tuple[str, Outcome]]:
    for name in names:
        value = run_cells[name]
        if "_score_" in name and not name.endswith(("token_usage", "expected_answer")) and is_score(value):
            yield _score_name(name), read_score(value)
    ranks = as_object(run_cells["retrieval_score_precision_metrics"])
    for measure, values in ranks.items():
        for k, value in values.items() if isinstance(values, Mapping) else [("", values)]:
            yield f"{measure}{k}", read_score(value)
    nuggets = as_object(as_object(run_cells["generation_score_autonugget_scores"]).get("nuggetizer_scores"))
    for name, value in nuggets.items():
        yield f"Nuggets {name}", read_score(value)
    cited = as_object(run_cells["generation_score_citation_scores"])
    for name in ("weighted_precision", "weighted_recall"):
        if name in cited:
            yield f"citation_{name}", read_score(cited[name])


def _judgements(run_cells: _RunCells) -> Iterator[RecordedJudgement]:
    """Yield a judgement for each passage, nugget, citation and claim, numbered as in the file."""
    relevance, cited = run_cells["retrieval_score_umbrela_scores"], run_cells["generation_score_citation_scores"]
    for rank, passage in enumerate(as_object(run_cells["retrieved_passages"]), 1):
        for about, value in (
            (PASSAGE_GRADE, as_object(relevance).get(passage)),
            ("passage supports the text that cites it", as_object(cited).get(f"citation_score_{passage}")),
        ):
            if (score := as_number(value)) is not None:
                yield RecordedJudgement(about=about, number=rank, says=f"{score:g}", value=score)
    nuggets = as_object(run_cells["generation_score_autonugget_scores"])
    columns = (as_list(nuggets.get(name)) for name in ("nuggets", "labels", "assignments", "assignment_scores"))
    for number, (text, label, assigned, value) in enumerate(zip(*columns, strict=False), 1):
        yield RecordedJudgement(
            about="nugget in the answer",
            number=number,
            says=as_text(assigned),
            value=as_number(value),
            reason=f"{as_text(label)}: {as_text(text)}",
        )
    for column, about in (
        ("generation_score_precision_verdicts", "answer claim, checked against the reference"),
        ("generation_score_recall_verdicts", "reference claim, checked against the answer"),
    ):
        for number, row in enumerate(as_objects(run_cells[column]), 1):
            claim, verdict = as_text(row.get("claim")), as_text(row.get("verdict"))
            yield RecordedJudgement(about=about, number=number, says=verdict, reason=claim)
    answered = as_text(as_object(run_cells["generation_score_no_answer_score"]).get("query_answered"))
    if answered:
        yield RecordedJudgement(about="query answered", number=1, says=answered)


FILE_FORMATS = (
    FileFormat(name="Open RAG Eval answers", recognises=_is_answers, read=_read_answers),
    FileFormat(name="Open RAG Eval evaluation", recognises=_is_evaluation, read=_read_evaluation),
)
