"""Giskard: test sets, and reports (folders with a test set, answers and scores)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ragboard.errors import RunFileError
from ragboard.readers.cells import kind_of_value
from ragboard.readers.files import encoding_of, file_text, parse, what_is_wrong
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.shapes import as_number, as_object, as_text, decode_json
from ragboard.readers.scores import read_score
from ragboard.records import Outcome, RecordedJudgement, RecordedSample, Unscored

__all__ = ["FILE_FORMATS"]

TESTSET, ANSWERS = "testset.jsonl", "agent_answer.json"
METRICS, DETAILS = "metrics_results.json", "report_details.json"
DOCUMENT = re.compile(r"(?:\A|\n\n)Document \S+: ")
"""Matches the beginning of each passage in the text of a question's gold passages."""
COLUMNS = {"question", "reference_answer", "reference_context", "conversation_history"}
FIELDS = {
    "id": "id",
    "question": "question",
    "reference_answer": "reference",
    "reference_context": "reference_contexts",
    "conversation_history": "history",
    "metadata": "metadata",
}
REPORT = {
    f"{ANSWERS} message": "answer",
    f"{ANSWERS} documents": "contexts",
    f"{METRICS} correctness, RAGAS metrics": "score",
    f"{METRICS} correctness_reason": "judgement",
    f"knowledge_base.json, {DETAILS}": "left out: about the whole test set",
}
NO_DOCUMENTS = Unscored(reason="skipped", detail="the agent returned no documents, so Giskard wrote 0")


def _is_test_set(file: ParsedFile) -> bool:
    return bool(file.rows) and file.columns >= COLUMNS


def _read_test_set(file: ParsedFile) -> ToolFile:
    """Return the samples. If the file is in the folder of a report, they have the answers and scores of the report."""
    folder = file.path.parent
    in_report = file.path.name == TESTSET and (folder / ANSWERS).is_file()
    answers = (
        _read_json(folder / ANSWERS, list) if in_report else [{"message": row.get("agent_answer")} for row in file.rows]
    )
    metrics = _read_json(folder / METRICS, dict) if in_report and (folder / METRICS).is_file() else {}
    if len(answers) != len(file.rows):
        message = f"has {len(answers)} answers, expected {len(file.rows)}, one for each question of {TESTSET}"
        raise RunFileError(folder / ANSWERS, message)
    ids = {f"{row.get('id')}" for row in file.rows}
    if unknown := next((metric for metric in metrics if metric not in ids), None):
        raise RunFileError(folder / METRICS, f"has scores of the question {unknown!r}, which is not in {TESTSET}")
    samples: list[ToolSample] = []
    for index, (row, answer_row) in enumerate(zip(file.rows, answers, strict=True)):
        answer = as_object(answer_row)
        history = decode_json(row.get("conversation_history"))
        metric_cells = as_object(metrics.get(f"{row.get('id')}")) or {
            name: row[name] for name in row if _is_metric(name)
        }
        gold = DOCUMENT.split(as_text(row.get("reference_context")))
        samples.append(
            ToolSample(
                cells={
                    "id": row.get("id"),
                    "question": row.get("question"),
                    "answer": answer.get("message"),
                    "contexts": answer.get("documents"),
                    "reference": row.get("reference_answer"),
                    "reference_contexts": [text for text in gold if text.strip()] or None,
                    "history": history or None,
                    "metadata": decode_json(row.get("metadata")),
                },
                line=file.line(index),
                scores={
                    name: _score(value, name, has_documents=not in_report or answer.get("documents") is not None)
                    for name, value in metric_cells.items()
                    if _is_metric(name)
                },
                recorded=RecordedSample(judgements=tuple(_judgements(metric_cells))),
            )
        )
    notes = [f"answers are matched to the {len(samples)} questions by position, scores by id"] if in_report else []
    return ToolFile(
        tool="Giskard",
        samples=samples,
        name=folder.resolve().name if in_report else "",
        fields=FIELDS | (REPORT if in_report else {}),
        notes=notes,
    )


def _read_json(path: Path, kind: type) -> Any:
    """Return the value in a file of the report. Raises RunFileError if it has another type."""
    try:
        value = parse(file_text(path, encoding_of(path)))
    except (ValueError, RecursionError) as error:
        raise RunFileError(path, f"not JSON ({what_is_wrong(error)})") from error
    if not isinstance(value, kind):
        raise RunFileError(path, f"has {kind_of_value(value)}, expected what Giskard's RAGReport.save writes")
    return value


def _is_metric(name: str) -> bool:
    return name == "correctness" or name.startswith("RAGAS ")


def _score(value: object, name: str, *, has_documents: bool) -> Outcome:
    """Return the score; unscored for the 0 that Giskard gives a metric of passages if there are no passages."""
    number = as_number({"True": 1, "False": 0}.get(value, decode_json(value)) if isinstance(value, str) else value)
    return NO_DOCUMENTS if name.startswith("RAGAS ") and not has_documents and number == 0 else read_score(number)


def _judgements(metric_cells: Mapping[str, Any]) -> Iterator[RecordedJudgement]:
    reason = as_text(metric_cells.get("correctness_reason"))
    if reason:
        says = "no" if metric_cells.get("correctness") in (False, "False") else "yes"
        yield RecordedJudgement(about="correctness", number=1, says=says, reason=reason)


def _is_part(file: ParsedFile) -> bool:
    if file.path.name == ANSWERS:
        return bool(file.rows) and file.columns <= {"message", "documents"}
    value = as_object(file.value)
    if file.path.name == METRICS:
        return any("correctness" in as_object(metric_values) for metric_values in value.values())
    return file.path.name == DETAILS and set(value) == {"recommendation"}


def _refuse_part(file: ParsedFile) -> NoReturn:
    raise RunFileError(file.path, f"is part of Giskard's report; import {TESTSET} from its folder instead")


FILE_FORMATS = (
    FileFormat(name="Giskard test set", recognises=_is_test_set, read=_read_test_set),
    FileFormat(name="Giskard report", recognises=_is_part, read=_refuse_part),
)
