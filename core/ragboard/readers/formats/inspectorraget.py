"""InspectorRAGet: tasks, models, and scores of metrics and annotators. Each model becomes a run.

Schema 1 has `evaluations` with `model_response` and `annotations`; schema 2 has `results` with `output` and `scores`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.shapes import as_number, as_object, as_objects, as_text
from ragboard.readers.scores import read_score
from ragboard.records import JsonValue, Outcome, RecordedJudgement, RecordedSample

__all__ = ["FILE_FORMATS"]

READ = {"task_id", "contexts", "input", "targets"}
"""Keys of a task that are read as fields. Other keys become metadata."""
HUMAN_LABELS = "left out: human labels; to use them, write a label file with `grades` and run `ragboard labels import`"


def _is_file(file: ParsedFile) -> bool:
    root = as_object(file.value)
    evaluations = root.get("evaluations", root.get("results"))
    return (
        {"tasks", "models", "metrics"} <= root.keys()
        and isinstance(evaluations, list)
        and isinstance(root["tasks"], list)
    )


def _read(file: ParsedFile) -> ToolFile:
    root = as_object(file.value)
    key = "evaluations" if "evaluations" in root else "results"
    tasks = {f"{task.get('task_id')}": task for task in as_objects(root["tasks"])}
    metrics = {as_text(metric.get("name")): metric for metric in as_objects(root["metrics"])}
    model_names = {f"{model.get('model_id')}": as_text(model.get("name")) for model in as_objects(root["models"])}
    name_counts = Counter(model_names.values())
    models = {model_id: name if name and name_counts[name] == 1 else model_id for model_id, name in model_names.items()}
    documents = {f"{document.get('document_id')}": document for document in as_objects(root.get("documents"))}
    samples: list[ToolSample] = []
    human_metrics: set[str] = set()
    for index, value in enumerate(root[key]):
        evaluation = as_object(value)
        line, location = file.line_in(key, index), f"{key}[{index}]"
        task = tasks.get(f"{evaluation.get('task_id')}")
        if task is None:
            message = f"task {evaluation.get('task_id')!r} is not among the tasks"
            raise RunFileError(file.path, message, line=line, field=f"{location}.task_id")
        scores, judgements, names = _read_annotations(evaluation.get("annotations", evaluation.get("scores")), metrics)
        human_metrics |= names
        passages = evaluation.get("contexts") if evaluation.get("contexts") is not None else task.get("contexts")
        targets = as_objects(task.get("targets"))
        samples.append(
            ToolSample(
                cells={
                    "id": task.get("task_id"),
                    "question": task.get("input"),
                    "answer": evaluation["model_response"]
                    if "model_response" in evaluation
                    else _text_of(evaluation.get("output")),
                    "contexts": _passages(passages, documents),
                    "reference": [target.get("text", target.get("value")) for target in targets] or None,
                    "metadata": {name: cell for name, cell in task.items() if name not in READ},
                },
                line=line,
                location=location,
                run=models.get(f"{evaluation.get('model_id')}", f"{evaluation.get('model_id')}"),
                scores=scores,
                recorded=RecordedSample(judgements=judgements),
            )
        )
    fields = {
        "tasks[].task_id": "id",
        "tasks[].input": "question",
        "tasks[].targets": "reference",
        "tasks[].contexts, documents": "contexts",
        f"{key}[].{'output' if key == 'results' else 'model_response'}": "answer",
        f"{key}[].model_id, models": "run",
        f"{key}[].{'scores' if key == 'results' else 'annotations'}": "score, judgement",
        "documents[].title, models[].owner": "left out: not part of a passage or an answer",
    }
    return ToolFile(
        tool="InspectorRAGet",
        samples=samples,
        name=as_text(root.get("name")),
        configs={run: {"model": model_names[model_id] or model_id} for model_id, run in models.items()},
        fields=fields | ({f"annotations of {', '.join(sorted(human_metrics))}": HUMAN_LABELS} if human_metrics else {}),
    )


def _read_annotations(
    annotations: object, metrics: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Outcome], tuple[RecordedJudgement, ...], set[str]]:
    """Return the scores and judgements of an answer by algorithms, and the names of metrics labelled by persons."""
    scores: dict[str, Outcome] = {}
    texts: list[RecordedJudgement] = []
    human_metrics: set[str] = set()
    for name, by_annotator in as_object(annotations).items():
        metric = metrics.get(name, {})
        if metric.get("author") == "human":
            human_metrics.add(name)
            continue
        numbers = {
            f"{value['value']}": value.get("numeric_value")
            for value in as_objects(metric.get("values"))
            if "value" in value
        }
        for index, (annotator, annotation) in enumerate(as_object(by_annotator).items(), 1):
            value = as_object(annotation).get("value")
            number = as_number(numbers.get(f"{value}", value))
            if isinstance(value, str):
                texts.append(RecordedJudgement(about=name, number=index, says=value, value=number))
            if not isinstance(value, str) or number is not None:
                scores[name if name not in scores else f"{name} ({annotator})"] = read_score(number)
    return scores, tuple(texts), human_metrics


def _passages(passages: object, documents: Mapping[str, Mapping[str, Any]]) -> JsonValue:
    """Return the passages. Texts that are only in the list of documents are filled in by id."""
    if not isinstance(passages, list):
        return None
    result: list[JsonValue] = []
    for item in passages:
        details = {**documents.get(f"{as_object(item).get('document_id')}", {}), **as_object(item)}
        passage = {
            "id": details.get("document_id"),
            "text": details.get("text"),
            "score": as_number(details.get("score")),
        }
        result.append({key: value for key, value in passage.items() if value is not None} if details else item)
    return result


def _text_of(output: object) -> JsonValue:
    """Return the text of the last message or part of an output."""
    messages = as_objects(output)
    last = next(
        (message for message in reversed(messages) if message.get("role", "assistant") in ("assistant", "agent")), None
    )
    return as_text(output) or None if last is None else last.get("content", last.get("value"))


FILE_FORMATS = (FileFormat(name="InspectorRAGet", recognises=_is_file, read=_read),)
