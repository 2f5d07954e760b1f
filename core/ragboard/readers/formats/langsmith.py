"""LangSmith: experiments (rows of `evaluate`, or a table of them) and datasets (examples).

Users choose the keys of `inputs` and `outputs`. The outputs of an example are the reference.
"""

from __future__ import annotations

from collections.abc import Mapping

from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.feedback import Feedback, collect_feedback
from ragboard.readers.formats.shapes import as_object, as_objects, drop_missing
from ragboard.readers.formats.spans import (
    ANSWERS,
    PASSAGES,
    QUESTIONS,
    clean_value,
    earlier_turns,
    nanoseconds,
    passages_of,
    pick,
    text_of,
    time_of,
)
from ragboard.records import JsonValue, RecordedSample

__all__ = ["FILE_FORMATS"]

ROW = {
    "run.inputs": "question",
    "run.outputs": "answer",
    "run.outputs.documents": "contexts",
    "example.outputs": "reference",
    "example.id": "id",
    "run.id": "metadata",
    "example.metadata": "metadata",
    "run.error": "metadata",
    "run.start_time": "time, metadata",
    "run.end_time": "metadata",
    "evaluation_results.results": "score",
    "evaluation_results.results.comment": "judgement",
    "run.session_name": "run",
    "run.extra": "left out: may name persons and machines",
}


def _is_rows(file: ParsedFile) -> bool:
    return bool(file.rows) and all(
        isinstance(row.get("run"), dict) and isinstance(row.get("example"), dict) and "evaluation_results" in row
        for row in file.rows[:20]
    )


def _read_rows(file: ParsedFile) -> ToolFile:
    samples: list[ToolSample] = []
    names: list[str] = []
    for index, row in enumerate(as_objects(clean_value(file))):
        run, example = as_object(row.get("run")), as_object(row.get("example"))
        results = as_objects(as_object(row.get("evaluation_results")).get("results"))
        feedback = collect_feedback([_feedback(result) for result in results])
        start, end = nanoseconds(run.get("start_time")), nanoseconds(run.get("end_time"))
        metadata = {
            **as_object(example.get("metadata")),
            "latency_ms": (end - start) / 1e6 if 0 < start <= end else None,
            "error": run.get("error"),
            "run_id": run.get("id") if example.get("id") else None,
            "human_feedback": [*feedback.human_feedback] or None,
        }
        contexts = _contexts(run.get("outputs"))
        cells = {
            "id": example.get("id") or run.get("id"),
            "question": pick(run.get("inputs") or example.get("inputs"), QUESTIONS),
            "history": earlier_turns(run.get("inputs")),
            "answer": _answer(run.get("outputs")),
            "contexts": _retrieved(run) if contexts is None else contexts,
            "reference": _answer(example.get("outputs")),
            "reference_contexts": _contexts(example.get("outputs")),
            "metadata": drop_missing(metadata),
        }
        names.append(text_of(run.get("session_name")))
        samples.append(
            ToolSample(
                cells=drop_missing(cells),
                line=file.line(index),
                location=f"[{index}]" if file.kind == "JSON" else "",
                run=names[-1],
                time=time_of(start),
                scores=feedback.scores,
                recorded=RecordedSample(judgements=feedback.judgements),
            )
        )
    return ToolFile(tool="LangSmith", samples=samples, fields=ROW)


def _feedback(result: Mapping[str, JsonValue]) -> Feedback:
    """Return the feedback in a result of an evaluator. The comment of a failed evaluator is the error."""
    score, comment = result.get("score"), result.get("comment")
    failed = bool(as_object(result.get("extra")).get("error")) and score is None
    return Feedback(
        name=text_of(result.get("key")) or "score",
        value=result.get("value") if score is None else score,
        label=None if score is None else result.get("value"),
        reason=comment,
        error=(comment or "the evaluator failed") if failed else None,
    )


def _answer(outputs: JsonValue) -> JsonValue:
    """Return the answer in the outputs, without the passages that they may have."""
    if not isinstance(outputs, Mapping):
        return outputs
    rest = {key: value for key, value in outputs.items() if key not in PASSAGES}
    return pick(rest, ANSWERS) if rest else None


def _contexts(outputs: JsonValue) -> list[JsonValue] | None:
    return passages_of(outputs) if isinstance(outputs, Mapping) else None


def _retrieved(run: Mapping[str, JsonValue]) -> list[JsonValue] | None:
    """Return the passages of the last retriever below a run; None if there is none."""
    children = as_objects(run.get("child_runs"))
    for child in reversed(children):
        passages = passages_of(child.get("outputs")) if child.get("run_type") == "retriever" else _retrieved(child)
        if passages is not None:
            return passages
    return None


def _is_table(file: ParsedFile) -> bool:
    prefixes = {column.partition(".")[0] for column in file.columns if "." in column}
    return {"inputs", "outputs", "example_id", "execution_time"} <= prefixes | file.columns


def _read_table(file: ParsedFile) -> ToolFile:
    columns = list(dict.fromkeys(column for row in file.rows for column in row))
    inner = {
        side: {column: column.partition(".")[2] for column in columns if column.startswith(f"{side}.")}
        for side in ("inputs", "outputs", "reference", "feedback")
    }
    samples: list[ToolSample] = []
    for index, row in enumerate(as_objects(clean_value(file))):
        inputs, outputs, reference_outputs, scores = (
            {key: row.get(column) for column, key in keys.items()} for keys in inner.values()
        )
        passages = next((outputs[name] for name in PASSAGES if name in outputs), None)
        metadata = {
            "execution_time": _number(row.get("execution_time")),
            "error": row.get("error"),
            "run_id": row.get("id"),
        }
        cells: dict[str, JsonValue] = {
            "id": row.get("example_id"),
            "question": pick(drop_missing(inputs), QUESTIONS),
            "answer": _answer(drop_missing(outputs)),
            "contexts": passages,
            "reference": _answer(drop_missing(reference_outputs)),
            "metadata": drop_missing(metadata),
        }
        results = collect_feedback([Feedback(name=name, value=value) for name, value in scores.items()])
        samples.append(ToolSample(cells=drop_missing(cells), line=file.line(index), scores=results.scores))
    fields = {
        **{column: "contexts" if key in PASSAGES else "answer" for column, key in inner["outputs"].items()},
        **dict.fromkeys(inner["inputs"], "question"),
        **dict.fromkeys(inner["reference"], "reference"),
        **dict.fromkeys(inner["feedback"], "score"),
        "example_id": "id",
        "id": "metadata",
        "execution_time": "metadata",
        "error": "metadata",
    }
    note = "comments of the evaluators are in the rows of evaluate(), not in this table"
    return ToolFile(tool="LangSmith", samples=samples, fields=fields, notes=(note,))


def _number(cell: JsonValue) -> JsonValue:
    try:
        return float(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


EXAMPLE = {
    "inputs": "question",
    "outputs": "reference",
    "id": "id",
    "metadata": "metadata",
    "dataset_id, source_run_id, created_at, modified_at": "left out: not part of a sample",
}


def _is_examples(file: ParsedFile) -> bool:
    return bool(file.rows) and {"dataset_id", "inputs", "outputs", "source_run_id"} <= file.columns


def _read_examples(file: ParsedFile) -> ToolFile:
    samples: list[ToolSample] = []
    for index, row in enumerate(as_objects(clean_value(file))):
        cells = {
            "id": row.get("id"),
            "question": pick(row.get("inputs"), QUESTIONS),
            "reference": _answer(row.get("outputs")),
            "reference_contexts": _contexts(row.get("outputs")),
            "metadata": as_object(row.get("metadata")) or None,
        }
        samples.append(ToolSample(cells=drop_missing(cells), line=file.line(index)))
    return ToolFile(tool="LangSmith", samples=samples, fields=EXAMPLE)


FILE_FORMATS = (
    FileFormat(name="LangSmith experiment", recognises=_is_rows, read=_read_rows),
    FileFormat(name="LangSmith experiment as a table", recognises=_is_table, read=_read_table),
    FileFormat(name="LangSmith examples", recognises=_is_examples, read=_read_examples),
)
