"""InspectorRAGet: tasks, models and what metrics and people say of each answer (schemas 1 and 2); a run for each model.

Schema 2 calls an evaluation a result, its response an output and its annotations scores.
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
"""Keys of a task that fields are read from; the others become metadata."""
PEOPLE = "left out: they are labels of people; write them as `grades` of a label file for `ragboard labels import`"


def _is_file(file: ParsedFile) -> bool:
    whole = as_object(file.value)
    found = whole.get("evaluations", whole.get("results"))
    return (
        {"tasks", "models", "metrics"} <= whole.keys() and isinstance(found, list) and isinstance(whole["tasks"], list)
    )


def _read(file: ParsedFile) -> ToolFile:
    whole = as_object(file.value)
    key = "evaluations" if "evaluations" in whole else "results"
    tasks = {f"{task.get('task_id')}": task for task in as_objects(whole["tasks"])}
    metrics = {as_text(metric.get("name")): metric for metric in as_objects(whole["metrics"])}
    called = {f"{model.get('model_id')}": as_text(model.get("name")) for model in as_objects(whole["models"])}
    several = Counter(called.values())
    models = {one: name if name and several[name] == 1 else one for one, name in called.items()}
    documents = {f"{one.get('document_id')}": one for one in as_objects(whole.get("documents"))}
    samples: list[ToolSample] = []
    people: set[str] = set()
    for index, found in enumerate(whole[key]):
        said = as_object(found)
        line, where = file.line_in(key, index), f"{key}[{index}]"
        task = tasks.get(f"{said.get('task_id')}")
        if task is None:
            message = f"task {said.get('task_id')!r} is not among the tasks"
            raise RunFileError(file.path, message, line=line, field=f"{where}.task_id")
        scores, judgements, opinions = _said(said.get("annotations", said.get("scores")), metrics)
        people |= opinions
        passages = said.get("contexts") if said.get("contexts") is not None else task.get("contexts")
        targets = as_objects(task.get("targets"))
        samples.append(
            ToolSample(
                cells={
                    "id": task.get("task_id"),
                    "question": task.get("input"),
                    "answer": said["model_response"] if "model_response" in said else _text_of(said.get("output")),
                    "contexts": _passages(passages, documents),
                    "reference": [target.get("text", target.get("value")) for target in targets] or None,
                    "metadata": {name: one for name, one in task.items() if name not in READ},
                },
                line=line,
                location=where,
                run=models.get(f"{said.get('model_id')}", f"{said.get('model_id')}"),
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
        "documents[].title, models[].owner": "left out: no part of a passage or an answer",
    }
    return ToolFile(
        tool="InspectorRAGet",
        samples=samples,
        name=as_text(whole.get("name")),
        configs={run: {"model": called[one] or one} for one, run in models.items()},
        fields=fields | ({f"annotations of {', '.join(sorted(people))}": PEOPLE} if people else {}),
    )


def _said(
    annotations: object, metrics: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Outcome], tuple[RecordedJudgement, ...], set[str]]:
    """Scores and texts of algorithms about an answer, and the names of the metrics that people gave values for."""
    scores: dict[str, Outcome] = {}
    texts: list[RecordedJudgement] = []
    people: set[str] = set()
    for name, given in as_object(annotations).items():
        metric = metrics.get(name, {})
        if metric.get("author") == "human":
            people.add(name)
            continue
        numbers = {
            f"{value['value']}": value.get("numeric_value")
            for value in as_objects(metric.get("values"))
            if "value" in value
        }
        for index, (annotator, annotation) in enumerate(as_object(given).items(), 1):
            value = as_object(annotation).get("value")
            number = as_number(numbers.get(f"{value}", value))
            if isinstance(value, str):
                texts.append(RecordedJudgement(about=name, number=index, says=value, value=number))
            if not isinstance(value, str) or number is not None:
                scores[name if name not in scores else f"{name} ({annotator})"] = read_score(number)
    return scores, tuple(texts), people


def _passages(given: object, documents: Mapping[str, Mapping[str, Any]]) -> JsonValue:
    """Return the passages with the texts of the documents that they name."""
    if not isinstance(given, list):
        return None
    found: list[JsonValue] = []
    for one in given:
        said = {**documents.get(f"{as_object(one).get('document_id')}", {}), **as_object(one)}
        passage = {"id": said.get("document_id"), "text": said.get("text"), "score": as_number(said.get("score"))}
        found.append({key: value for key, value in passage.items() if value is not None} if said else one)
    return found


def _text_of(output: object) -> JsonValue:
    """Return the text of the last message or part of an output."""
    said = as_objects(output)
    last = next((one for one in reversed(said) if one.get("role", "assistant") in ("assistant", "agent")), None)
    return as_text(output) or None if last is None else last.get("content", last.get("value"))


FILE_FORMATS = (FileFormat(name="InspectorRAGet", recognises=_is_file, read=_read),)
