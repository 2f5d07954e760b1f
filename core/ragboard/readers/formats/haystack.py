"""Haystack: evaluation reports (tables), results of evaluators, and outputs of pipelines.

In a report, `answer` is the reference. Statements are only in the results of evaluators.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, Format, ParsedFile, ToolFile, ToolSample, statements_of
from ragboard.readers.formats.shapes import as_list, as_object, as_objects, as_text, drop_missing
from ragboard.readers.scores import FileRow, ScoreColumns, is_score, read_score
from ragboard.records import JsonValue, Outcome, RecordedJudgement, RecordedSample, Unscored, Verdict

__all__ = ["FILE_FORMATS", "FORMATS"]


def _scores(columns: Sequence[str], rows: Sequence[FileRow]) -> ScoreColumns | None:
    """Return the trailing columns that have only numbers: in a report, scores follow the inputs under any name."""
    last_columns = takewhile(lambda column: all(is_score(row.get(column)) for row in rows), reversed(columns))
    score_columns = {
        f"haystack-file.{column.strip().lower().replace(' ', '_')}": column for column in reversed([*last_columns])
    }
    return (
        ScoreColumns(tool="Haystack", columns=score_columns, file_columns=frozenset(score_columns.values()))
        if score_columns
        else None
    )


FORMATS = (
    Format(
        name="Haystack evaluation",
        columns=frozenset({"answer", "predicted_answer"}),
        fields={"answer": "predicted_answer", "reference": "answer"},
        scores=_scores,
    ),
)

INPUTS = {
    "question": ("question", "questions", "query", "queries"),
    "answer": ("predicted_answer", "predicted_answers", "response", "responses", "answer", "answers"),
    "contexts": ("contexts", "context", "retrieved_documents", "documents"),
    "reference": ("ground_truth_answers", "ground_truth_answer", "ground_truth", "reference", "answer", "answers"),
    "reference_contexts": ("ground_truth_documents", "ground_truth_contexts"),
    "id": ("id", "ids", "query_id"),
}
"""Usual names of the inputs of an evaluation, most likely first."""
SAVE_RESULTS = (
    'json.dump({"inputs": inputs, "results": pipeline_result}, file), with the lists of questions, contexts and'
    " predicted_answer as inputs"
)


def _is_evaluation(file: ParsedFile) -> bool:
    return {"inputs", "results"} <= file.columns and _are_results(as_object(file.value).get("results"))


def _are_results(value: object) -> bool:
    """Return whether a value has the results of evaluators by name."""
    results = as_object(value)
    return bool(results) and all("individual_scores" in as_object(result) for result in results.values())


def _read_evaluation(file: ParsedFile) -> ToolFile:
    inputs = as_object(file.value["inputs"])
    results: Mapping[str, Mapping[str, Any]] = file.value["results"]
    lists = {name: values for name, values in inputs.items() if isinstance(values, list)}
    fields: dict[str, str] = {}
    for field, names in INPUTS.items():
        name_of_field = next((name for name in names if name in lists and name not in fields), None)
        if name_of_field:
            fields[name_of_field] = field
    question = next((name for name, field in fields.items() if field == "question"), None)
    if question is None:
        expected = ", ".join(INPUTS["question"])
        raise RunFileError(file.path, f"has no list of questions, expected one of {expected}", field="inputs")
    count = len(lists[question])
    for name, values in lists.items():
        if len(values) != count:
            message = f"has {len(values)} values, expected {count}, one for each question"
            raise RunFileError(file.path, message, field=f"inputs.{name}")
    for name, result in results.items():
        scores = as_list(result["individual_scores"])
        if len(scores) != count:
            message = f"has {len(scores)} scores, expected {count}, one for each question"
            raise RunFileError(file.path, message, field=f"results.{name}.individual_scores")
    samples: list[ToolSample] = []
    for index in range(count):
        cells: dict[str, JsonValue] = {field: lists[name][index] for name, field in fields.items()}
        details = {name: _detail(result, index) for name, result in results.items()}
        metadata = {name: values[index] for name, values in lists.items() if name not in fields}
        if metadata:
            cells["metadata"] = metadata
        samples.append(
            ToolSample(
                cells=cells,
                line=index + 1,
                location=f"inputs[{index}]",
                scores={
                    name: _score(result["individual_scores"][index], details[name]) for name, result in results.items()
                },
                recorded=RecordedSample(
                    statements=statements_of("response", cells.get("answer"), _verdicts(details.values())),
                    judgements=tuple(_judgements(details)),
                ),
            )
        )
    with_statements = [name for name, result in results.items() if _has_statements(result)]
    models = {as_text(meta.get("model")) for result in results.values() for meta in as_objects(result.get("meta"))}
    return ToolFile(
        tool="Haystack",
        samples=samples,
        judge=", ".join(sorted(filter(None, models))),
        fields={
            **{f"inputs.{name}": fields.get(name, "metadata") for name in lists},
            **{f"inputs.{name}": "left out: not a list" for name in inputs if name not in lists},
            "results.*.individual_scores": "score",
            **{f"results.{name}.results": "statements" for name in with_statements[:1]},
            **{
                f"results.{name}.results": "judgement"
                for name, result in results.items()
                if any("relevant_statements" in row for row in as_objects(result.get("results")))
            },
            "results.*.score": "left out: the mean of the scores",
        },
        same_as=dict.fromkeys(with_statements[:1], "ragas.faithfulness"),
    )


def _detail(result: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    details = as_list(result.get("results"))
    return as_object(details[index]) if index < len(details) else {}


def _has_statements(result: Mapping[str, Any]) -> bool:
    return any("statement_scores" in row for row in as_objects(result.get("results")))


def _score(value: Any, detail: Mapping[str, Any]) -> Outcome:
    status = as_text(detail.get("status"))
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    if missing and (detail or status):
        return Unscored(reason="failed", detail=f"Haystack's evaluator: {status or 'no score'}")
    return read_score(value)


def _verdicts(details: Iterable[Mapping[str, Any]]) -> list[tuple[str, Verdict | None]]:
    """Return the statements of the first evaluator that has some. The score 1 means supported, 0 unsupported."""
    detail = next((candidate for candidate in details if "statement_scores" in candidate), {})
    scores = as_list(detail.get("statement_scores"))
    verdicts: list[tuple[str, Verdict | None]] = []
    for number, text in enumerate(as_list(detail.get("statements"))):
        score = scores[number] if number < len(scores) else None
        verdict = Verdict(label="supported" if score else "unsupported") if score in (0, 1) else None
        if isinstance(text, str):
            verdicts.append((text, verdict))
    return verdicts


def _judgements(details: Mapping[str, Mapping[str, Any]]) -> Iterator[RecordedJudgement]:
    for name, detail in details.items():
        for number, text in enumerate(as_list(detail.get("relevant_statements")), 1):
            if isinstance(text, str):
                yield RecordedJudgement(about=f"{name}: relevant statement", number=number, says=text)


def _is_results_without_inputs(file: ParsedFile) -> bool:
    value = as_object(file.value)
    is_single_result = {"individual_scores", "results"} <= value.keys() and _has_statements(value)
    return is_single_result or _are_results(value) or _are_results(value.get("results"))


def _refuse_results(file: ParsedFile) -> ToolFile:
    raise RunFileError(
        file.path, f"has results of Haystack's evaluators without the questions and answers; save {SAVE_RESULTS}"
    )


def _is_pipeline(file: ParsedFile) -> bool:
    return any(_answers(row) or _has_replies(row) for row in _outputs(file)[:20])


def _outputs(file: ParsedFile) -> list[dict[str, Any]]:
    """Return the outputs of pipelines: the rows, or a single object."""
    return file.rows or ([file.value] if isinstance(file.value, dict) else [])


def _answers(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the answers of an answer builder, under any name in the pipeline."""
    answer_lists = (as_objects(as_object(part).get("answers")) for part in row.values())
    return [answer for answers in answer_lists for answer in answers if {"data", "query"} <= answer.keys()]


def _has_replies(row: Mapping[str, Any]) -> bool:
    return any({"replies", "meta"} <= as_object(part).keys() for part in row.values())


def _read_pipeline(file: ParsedFile) -> ToolFile:
    rows = _outputs(file)
    samples: list[ToolSample] = []
    for index, row in enumerate(rows):
        answers = _answers(row)
        if not answers:
            raise RunFileError(
                file.path,
                "has no answer with its query; add an AnswerBuilder to the pipeline, or save a file with the question,"
                " the passages and the answer",
                line=file.line(index),
            )
        answer = answers[0]
        contexts = _retrieved(row, answer)
        metadata = drop_missing(as_object(answer.get("meta")), "all_messages")
        cells: dict[str, JsonValue] = {"question": answer["query"], "answer": answer["data"]}
        samples.append(
            ToolSample(
                cells=cells
                | ({} if contexts is None else {"contexts": contexts})
                | ({"metadata": metadata} if metadata else {}),
                line=file.line(index),
                location=f"[{index}]" if file.kind == "JSON" else "",
                notes=("answer: only the first of several was read",) if len(answers) > 1 else (),
            )
        )
    return ToolFile(
        tool="Haystack",
        samples=samples,
        fields={
            "*.answers[].query": "question",
            "*.answers[].data": "answer",
            "*.documents": "contexts",
            "*.answers[].meta": "metadata",
            "*.answers[].meta.all_messages": "left out: the whole prompt",
            "*.documents[].meta": "left out: only the text, id and score of a passage are kept",
        },
    )


def _retrieved(row: Mapping[str, Any], answer: Mapping[str, Any]) -> list[JsonValue] | None:
    """Return the retrieved documents: the shortest list of a component that has all documents of the answer.

    That is the list of the last ranker. The answer may list only documents that it cites.
    """
    answer_documents = as_objects(answer.get("documents"))
    ids = {str(document.get("id")) for document in answer_documents}
    lists = [as_list(as_object(part).get("documents")) for part in row.values() if "documents" in as_object(part)]
    complete = [docs for docs in lists if ids <= {str(document.get("id")) for document in as_objects(docs)}]
    documents = min(complete, key=len, default=answer_documents if answer_documents else None)
    return None if documents is None else [_passage(document) for document in documents]


def _passage(document: Any) -> Any:
    if not isinstance(document, Mapping):
        return document
    text = document.get("content")
    return {"text": "" if text is None else text, **drop_missing(document, *(document.keys() - {"id", "score"}))}


FILE_FORMATS = (
    FileFormat(name="Haystack evaluators", recognises=_is_evaluation, read=_read_evaluation),
    FileFormat(name="Haystack evaluators", recognises=_is_results_without_inputs, read=_refuse_results),
    FileFormat(name="Haystack pipeline", recognises=_is_pipeline, read=_read_pipeline),
)
