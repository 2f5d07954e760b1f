"""LlamaIndex: responses with source nodes, results of evaluators, datasets and predictions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.files import file_text, parse
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.shapes import as_list, as_number, as_object, as_objects, as_text, drop_missing
from ragboard.readers.scores import read_score
from ragboard.records import JsonValue, Outcome, RecordedJudgement, RecordedSample, Unscored

__all__ = ["FILE_FORMATS"]

PRINTED = re.compile(r"Node ID: (?P<id>\S+)\nText: (?P<text>.*?)(?:\nScore: +(?P<score>\S+))?\s*", re.DOTALL)
"""Matches the `str()` of a node. It wraps lines at 70 characters, replaces line breaks by spaces, and cuts the text
after 350 characters."""
MAX_PRINTED_CHARS = 350
SAVE_NODES = "save node.get_content() of each source node instead"
SOURCES = "> Source (Doc id:"
"""The beginning of the output of `get_formatted_sources()`, which cuts each text after 100 characters."""
DATASET = "rag_dataset.json"
"""The file with the questions that predictions answer, in the datasets that LlamaIndex distributes."""


def _is_responses(file: ParsedFile) -> bool:
    return {"response", "source_nodes"} <= file.columns and any(
        _is_node(node) for row in file.rows[:20] for node in as_list(row.get("source_nodes"))
    )


def _is_node(node: object) -> bool:
    return "node" in as_object(node) or PRINTED.fullmatch(as_text(node)) is not None


def _read_responses(file: ParsedFile) -> ToolFile:
    samples: list[ToolSample] = []
    for index, row in enumerate(file.rows):
        nodes = row.get("source_nodes")
        notes: list[str] = []
        cells = {
            "question": row.get("query") or row.get("question"),
            "answer": row.get("response"),
            "contexts": [_passage(node, notes) for node in nodes] if isinstance(nodes, list) else nodes,
            "reference": row.get("reference"),
            "id": row.get("id"),
            "metadata": drop_missing(
                row, "query", "question", "response", "source_nodes", "reference", "id", "metadata"
            ),
        }
        samples.append(
            ToolSample(
                cells=drop_missing(cells, *(() if cells["metadata"] else ("metadata",))),
                line=file.line(index),
                location=f"[{index}]" if file.kind == "JSON" else "",
                notes=tuple(notes),
            )
        )
    question = "query" if "query" in file.columns else "question"
    if question not in file.columns:
        raise RunFileError(file.path, 'has responses without questions; add a "query" to each')
    return ToolFile(
        tool="LlamaIndex",
        samples=samples,
        fields={
            question: "question",
            "response": "answer",
            "source_nodes": "contexts",
            "source_nodes[].node.metadata": "left out: only the text, id and score of a passage are kept",
            "metadata": "left out: repeated in the nodes",
        },
    )


def _passage(node: Any, notes: list[str]) -> JsonValue:
    if not isinstance(node, str):
        inner = as_object(node)
        text = as_object(inner.get("node"))
        passage = {
            "id": text.get("id_"),
            "text": text.get("text") or as_object(text.get("text_resource")).get("text"),
            "score": as_number(inner.get("score")),
        }
        return drop_missing(passage) if passage["text"] is not None else node
    printed = PRINTED.fullmatch(node)
    if printed is None:
        return node
    unwrapped = re.sub(r"\s*\n", " ", printed["text"])
    notes.append(f"contexts: read from the str() of a LlamaIndex node, without line breaks ({SAVE_NODES})")
    if len(unwrapped) >= MAX_PRINTED_CHARS - 3 and unwrapped.endswith("..."):
        notes.append(f"contexts: passage cut off after {MAX_PRINTED_CHARS} characters by str() of a LlamaIndex node")
    try:
        score = as_number(json.loads(printed["score"] or "null"))
    except ValueError:
        score = None
    return drop_missing({"id": printed["id"], "text": unwrapped, "score": score})


def _is_formatted(file: ParsedFile) -> bool:
    return any(as_text(cell).startswith(SOURCES) for row in file.rows[:20] for cell in row.values())


def _refuse_formatted(file: ParsedFile) -> ToolFile:
    raise RunFileError(
        file.path,
        f"has the output of LlamaIndex's get_formatted_sources(), cut off after 100 characters; {SAVE_NODES}",
    )


def _is_batch(file: ParsedFile) -> bool:
    lists = list(as_object(file.value).values())
    return bool(lists) and all(
        isinstance(results, list)
        and results
        and all(
            {"query", "response", "passing", "feedback", "score"} <= as_object(result).keys() for result in results[:3]
        )
        for results in lists
    )


def _read_batch(file: ParsedFile) -> ToolFile:
    results: Mapping[str, Sequence[Any]] = file.value
    first = next(iter(results))
    samples: list[ToolSample] = []
    for name, evaluator_results in results.items():
        if len(evaluator_results) != len(results[first]):
            message = f"has {len(evaluator_results)} results, expected {len(results[first])} as in {first!r}"
            raise RunFileError(file.path, message, field=name)
    for index in range(len(results[first])):
        by_evaluator = {name: as_object(evaluator_results[index]) for name, evaluator_results in results.items()}
        for name, result in by_evaluator.items():
            if (result.get("query"), result.get("response")) != (
                by_evaluator[first].get("query"),
                by_evaluator[first].get("response"),
            ):
                message = f"has a different question or answer than {first}[{index}]"
                raise RunFileError(file.path, message, field=f"{name}[{index}]")
        contexts = next(
            (result["contexts"] for result in by_evaluator.values() if result.get("contexts") is not None), None
        )
        samples.append(
            ToolSample(
                cells=drop_missing(
                    {
                        "question": by_evaluator[first].get("query"),
                        "answer": by_evaluator[first].get("response"),
                        "contexts": contexts,
                    }
                ),
                line=index + 1,
                location=f"{first}[{index}]",
                scores={name: _score(result) for name, result in by_evaluator.items()},
                recorded=RecordedSample(
                    judgements=tuple(
                        RecordedJudgement(
                            about=name,
                            number=1,
                            says="passing" if result["passing"] else "not passing",
                            reason=as_text(result.get("feedback")),
                        )
                        for name, result in by_evaluator.items()
                        if isinstance(result.get("passing"), bool)
                    )
                ),
            )
        )
    return ToolFile(
        tool="LlamaIndex",
        samples=samples,
        fields={
            "*[].query": "question",
            "*[].response": "answer",
            "*[].contexts": "contexts",
            "*[].score": "score",
            "*[].passing, feedback": "judgement",
        },
        notes=("the results of the evaluators are matched by position", "the file does not name the judge model"),
    )


def _score(result: Mapping[str, Any]) -> Outcome:
    if result.get("invalid_result"):
        return Unscored(reason="failed", detail=as_text(result.get("invalid_reason")) or "invalid result")
    return read_score(result.get("score"))


def _is_dataset(file: ParsedFile) -> bool:
    examples = as_objects(as_object(file.value).get("examples"))
    return bool(examples) and {"query", "reference_answer"} <= examples[0].keys()


def _read_dataset(file: ParsedFile) -> ToolFile:
    return _dataset(file.value["examples"], None)


def _dataset(examples: Sequence[Any], predictions: Sequence[Any] | None) -> ToolFile:
    samples: list[ToolSample] = []
    for index, value in enumerate(examples):
        example = as_object(value)
        prediction = as_object(predictions[index]) if predictions else {}
        cells = {
            "question": example.get("query"),
            "answer": prediction.get("response"),
            "contexts": prediction.get("contexts"),
            "reference": example.get("reference_answer"),
            "reference_contexts": example.get("reference_contexts"),
        }
        samples.append(ToolSample(cells=drop_missing(cells), line=index + 1, location=f"examples[{index}]"))
    return ToolFile(
        tool="LlamaIndex",
        samples=samples,
        fields={
            "examples[].query": "question",
            "examples[].reference_answer": "reference",
            "examples[].reference_contexts": "reference_contexts",
            "examples[].query_by, reference_answer_by": "left out: who wrote them",
        }
        | ({"predictions[].response": "answer", "predictions[].contexts": "contexts"} if predictions else {}),
    )


def _is_predictions(file: ParsedFile) -> bool:
    predictions = as_objects(as_object(file.value).get("predictions"))
    return bool(predictions) and {"response", "contexts"} <= predictions[0].keys()


def _read_predictions(file: ParsedFile) -> ToolFile:
    """Return the predictions with the questions of the dataset in the same folder, matched by position."""
    dataset_path = file.path.parent / DATASET
    if not dataset_path.is_file():
        raise RunFileError(
            file.path,
            f"has LlamaIndex's predictions without questions; save the dataset as {DATASET} in the same folder",
        )
    predictions = file.value["predictions"]
    examples = _examples(dataset_path)
    if len(examples) != len(predictions):
        message = f"has {len(predictions)} predictions, but {DATASET} in the same folder has {len(examples)} examples"
        raise RunFileError(file.path, message)
    dataset = _dataset(examples, predictions)
    return ToolFile(
        tool=dataset.tool,
        samples=dataset.samples,
        fields=dataset.fields,
        notes=(f"questions and references are from {DATASET} in the same folder, matched by position",),
    )


def _examples(path: Path) -> Sequence[Any]:
    try:
        value = parse(file_text(path, "utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunFileError(path, "not JSON, expected LlamaIndex's dataset") from error
    if not isinstance(value, dict) or not isinstance(value.get("examples"), list):
        raise RunFileError(path, "has no list of examples, expected LlamaIndex's dataset")
    return as_list(value["examples"])


FILE_FORMATS = (
    FileFormat(name="LlamaIndex evaluation", recognises=_is_batch, read=_read_batch),
    FileFormat(name="LlamaIndex dataset", recognises=_is_dataset, read=_read_dataset),
    FileFormat(name="LlamaIndex predictions", recognises=_is_predictions, read=_read_predictions),
    FileFormat(name="LlamaIndex sources", recognises=_is_formatted, read=_refuse_formatted),
    FileFormat(name="LlamaIndex responses", recognises=_is_responses, read=_read_responses),
)
