"""promptfoo: results as JSON, JSONL and CSV. Each pair of provider and prompt is a run.

Question, passages and reference are variables of a test, and users choose their names. Passages may also be in the
response of the provider.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample
from ragboard.readers.formats.shapes import as_number, as_object, as_objects, as_text, decode_json
from ragboard.readers.scores import read_score
from ragboard.records import JsonValue, Outcome, RecordedJudgement, RecordedSample, Unscored

__all__ = ["FILE_FORMATS", "OUTPUT_COLUMNS"]

OUTPUT_COLUMNS = frozenset({"Status", "Score", "Named Scores", "Grader Reason"})
"""Columns that a CSV repeats for each output."""
HEADING = re.compile(r"\[(?P<provider>[^\]]+)\] (?P<prompt>.*)", re.DOTALL)
"""Matches the name of a column with outputs."""
NAMES = {
    field: tuple(names.split())
    for field, names in {
        "question": "query question user_query user_question user_input q input prompt message",
        "contexts": "context contexts retrieved_contexts retrieved_documents documents passages docs chunks",
        "reference": "expected expected_answer expected_output reference reference_answer ground_truth gold_answer"
        " golden_answer ideal target answer",
        "history": "history chat_history conversation messages",
        "id": "id",
    }.items()
}
"""Names of variables that are read as each field, most likely first."""
ANSWERS = ("answer", "output", "text", "response", "result", "content")
"""Keys of the answer in an output that is an object."""
MAX_LABEL = 40
"""Maximum characters of a prompt that is used in the name of a run."""
ONE_TEXT = "contexts: single text read as one passage"
"""The conversion reported for a text that may be several passages."""
ERROR = 2
"""The `failureReason` of a result without an answer. (1 is a failed assertion.)"""


@dataclass(frozen=True, kw_only=True)
class _Output:
    """The output of a provider for one prompt and one test."""

    index: int
    """The index of the pair of provider and prompt."""
    provider: str
    prompt: str
    """The prompt template, or the label of the prompt."""
    sample: ToolSample
    error: str = ""
    """Why there is no answer; empty if there is one."""


def _is_results(file: ParsedFile) -> bool:
    results = as_object(as_object(file.value).get("results"))
    return isinstance(results.get("results"), list) and not {"version", "prompts", "stats"}.isdisjoint(results)


def _read_results(file: ParsedFile) -> ToolFile:
    inner = as_object(file.value["results"])
    templates = [as_text(prompt.get("raw")) for prompt in as_objects(inner.get("prompts"))]
    outputs = [
        _output(
            item, ToolSample(cells={}, line=file.line_in("results", 0), location=f"results.results[{index}]"), templates
        )
        for index, item in enumerate(inner["results"])
        if isinstance(item, Mapping)
    ]
    config = as_object(as_object(file.value).get("config"))
    version = as_text(as_object(file.value.get("metadata")).get("promptfooVersion"))
    judges = {_provider(item) for result in as_objects(inner["results"]) for item in _graders(result)}
    return _tool_file(outputs, judges, name=as_text(config.get("description")), version=version)


def _is_lines(file: ParsedFile) -> bool:
    return bool(file.rows) and {"vars", "provider", "prompt", "namedScores", "success"} <= file.columns


def _read_lines(file: ParsedFile) -> ToolFile:
    outputs = [_output(row, ToolSample(cells={}, line=file.line(index)), ()) for index, row in enumerate(file.rows)]
    return _tool_file(outputs, {_provider(provider) for row in file.rows for provider in _graders(row)})


def _graders(result: Mapping[str, Any]) -> list[object]:
    parts = as_objects(as_object(result.get("gradingResult")).get("componentResults"))
    options = as_object(as_object(result.get("testCase")).get("options"))
    return [options.get("provider"), *(as_object(part.get("assertion")).get("provider") for part in parts)]


def _provider(provider: object) -> str:
    """Return the label of a provider, or its name if it has no label."""
    return as_text(provider) or as_text(as_object(provider).get("label")) or as_text(as_object(provider).get("id"))


def _output(result: Mapping[str, Any], template: ToolSample, templates: Sequence[str]) -> _Output:
    index = result.get("promptIdx")
    index = index if type(index) is int and index >= 0 else 0
    prompt, response = as_object(result.get("prompt")), as_object(result.get("response"))
    failed = result.get("failureReason") == ERROR or ("failureReason" not in result and bool(response.get("error")))
    metadata = as_object(as_object(result.get("testCase")).get("metadata"))
    graded = as_objects(as_object(result.get("gradingResult")).get("componentResults"))
    judged_contexts = [
        context for part in graded if (context := as_object(part.get("metadata")).get("context")) is not None
    ]
    answer, returned = _answer(response.get("output"))
    cells = _cells(as_object(result.get("vars")), metadata, as_text(prompt.get("raw")))
    returned_contexts = [
        _first_named(source, "contexts")[1] for source in (returned, as_object(response.get("metadata")))
    ]
    contexts = next(
        (context for context in (*returned_contexts, cells.get("contexts"), *judged_contexts) if context is not None),
        None,
    )
    cells |= {
        "answer": None if failed else answer,
        "contexts": [contexts] if isinstance(contexts, str) else contexts,
    }
    return _Output(
        index=index,
        provider=_provider(result.get("provider")),
        prompt=templates[index] if index < len(templates) else as_text(prompt.get("label")),
        sample=replace(
            template,
            cells=cells,
            scores=_scores(result, graded),
            recorded=RecordedSample(judgements=tuple(_judgements(graded))),
            notes=(ONE_TEXT,) if isinstance(contexts, str) else (),
        ),
        error=(as_text(result.get("error")) or "no answer") if failed else "",
    )


def _cells(variables: Mapping[str, Any], metadata: Mapping[str, Any], prompt: str) -> dict[str, JsonValue]:
    """Return the fields of a sample in the variables of a test.

    If no variable has a usual name of the question, the question is the only variable, else the whole prompt.
    """
    by_field = {field: _first_named(variables, field) for field in NAMES}
    if not by_field["question"][0]:
        by_field["question"] = next(iter(variables.items())) if len(variables) == 1 else ("", prompt or None)
    used_names = {name for name, _ in by_field.values()}
    rest = {name: value for name, value in variables.items() if name not in used_names}
    test_metadata = {name: value for name, value in metadata.items() if name != "id"}
    cells = {field: value for field, (_, value) in by_field.items()}
    return {**cells, "id": metadata.get("id", cells["id"]), "metadata": {**rest, **test_metadata}}


def _first_named(values: Mapping[str, Any], field: str) -> tuple[str, Any]:
    """Return the first usual name of a field in the values, and its value; ("", None) if there is none."""
    return next(((name, values[name]) for name in NAMES[field] if values.get(name) is not None), ("", None))


def _answer(output: object) -> tuple[JsonValue, Mapping[str, Any]]:
    """Return the answer in an output, and the output if it is an object (else an empty one)."""
    if not isinstance(output, Mapping):
        return (output if output is None or isinstance(output, (str, list)) else json.dumps(output)), {}
    text = next((output[name] for name in ANSWERS if isinstance(output.get(name), str)), None)
    return (json.dumps(output, ensure_ascii=False) if text is None else text), output


def _scores(result: Mapping[str, Any], graded: Sequence[Mapping[str, Any]]) -> dict[str, Outcome]:
    """Return the scores of the test, of its named metrics, and of its other assertions by type."""
    numbers = {"score": as_number(result.get("score"))}
    numbers |= {name: as_number(value) for name, value in as_object(result.get("namedScores")).items()}
    for part in graded:
        assertion = as_object(part.get("assertion"))
        if not assertion.get("metric"):
            name = as_text(assertion.get("type")) or "assertion"
            numbers[name if name not in numbers else f"{name} {len(numbers)}"] = as_number(part.get("score"))
    return {name: read_score(value) for name, value in numbers.items()}


def _judgements(graded: Sequence[Mapping[str, Any]]) -> Iterator[RecordedJudgement]:
    numbers: Counter[str] = Counter()
    for part in graded:
        assertion = as_object(part.get("assertion"))
        name = as_text(assertion.get("metric")) or as_text(assertion.get("type")) or "assertion"
        numbers[name] += 1
        limit = as_number(assertion.get("threshold"))
        says = "pass" if part.get("pass") is True else "fail" if part.get("pass") is False else "no verdict"
        says += "" if limit is None else f", threshold {limit:g}"
        value, reason = as_number(part.get("score")), as_text(part.get("reason"))
        yield RecordedJudgement(about=name, number=numbers[name], says=says, value=value, reason=reason)


def _is_table(file: ParsedFile) -> bool:
    return bool(file.rows) and file.columns >= OUTPUT_COLUMNS and any(map(HEADING.fullmatch, file.columns))


def _read_table(file: ParsedFile) -> ToolFile:
    """Read a CSV, which has columns of variables, then several columns for each output."""
    columns = list(dict.fromkeys(name for row in file.rows for name in row))
    starts = [index for index, name in enumerate(columns) if HEADING.fullmatch(name)]
    outputs: list[_Output] = []
    for row_index, row in enumerate(file.rows):
        variables = {name: row[name] for name in columns[: starts[0]] if row.get(name) is not None}
        for index, (start, stop) in enumerate(pairwise((*starts, len(columns)))):
            heading = HEADING.fullmatch(columns[start])
            cells_of_output = {name.partition("#")[0]: row.get(name) for name in columns[start + 1 : stop]}
            reason, status = as_text(cells_of_output.get("Grader Reason")), as_text(cells_of_output.get("Status"))
            named_scores = {
                name.removeprefix("Metric: "): cell
                for name, cell in cells_of_output.items()
                if name.startswith("Metric: ")
            }
            named_scores |= as_object(decode_json(cells_of_output.get("Named Scores")))
            scores = {"score": cells_of_output.get("Score"), **named_scores}
            value = as_number(decode_json(cells_of_output.get("Score")))
            graded = RecordedJudgement(about="test", number=1, says=status.lower(), value=value, reason=reason)
            answer = as_text(row.get(columns[start]))
            failed = status == "ERROR"
            cells = {**_cells(variables, {}, ""), "answer": None if failed else answer}
            contexts = cells["contexts"]
            sample = ToolSample(
                cells={**cells, "contexts": None if contexts is None else [contexts]},
                line=file.line(row_index),
                scores={name: read_score(as_number(decode_json(cell))) for name, cell in scores.items()},
                recorded=RecordedSample(judgements=(graded,) if status and not failed else ()),
                notes=() if contexts is None else (ONE_TEXT,),
            )
            provider, prompt = (heading["provider"], heading["prompt"]) if heading else ("", "")
            error = (reason or answer or "no answer") if failed else ""
            prompt = prompt.partition("#")[0] if index else prompt
            outputs.append(_Output(index=index, provider=provider, prompt=prompt, sample=sample, error=error))
    return _tool_file(outputs, set(), notes=["scores in a CSV have two decimals; import the JSON for exact scores"])


def _tool_file(
    outputs: Sequence[_Output], judges: set[str], *, name: str = "", version: str = "", notes: Sequence[str] = ()
) -> ToolFile:
    prompts = {output.index: output for output in outputs}
    prompts_per_provider = Counter(output.provider for output in prompts.values())
    runs: dict[int, str] = {}
    for index, output in prompts.items():
        short = len(output.prompt) <= MAX_LABEL and "\n" not in output.prompt
        prompt_label = output.prompt if short and output.prompt else f"prompt {index + 1}"
        runs[index] = (
            f"{output.provider} {prompt_label}" if prompts_per_provider[output.provider] > 1 else output.provider
        )
    metrics = dict.fromkeys(metric for output in outputs for metric in output.sample.scores)
    samples: list[ToolSample] = []
    for output in outputs:
        sample = replace(output.sample, run=runs[output.index])
        if output.error:
            failed = Unscored(reason="failed", detail=output.error)
            sample = replace(sample, scores=dict.fromkeys(metrics, failed), recorded=RecordedSample())
        samples.append(sample)
    return ToolFile(
        tool="promptfoo",
        samples=samples,
        version=version,
        name=name,
        configs={
            runs[index]: {"provider": output.provider, "prompt": output.prompt} for index, output in prompts.items()
        },
        judge=", ".join(sorted(filter(None, judges))),
        fields={
            "vars": "question, contexts, reference, metadata",
            "response.output": "answer",
            "testCase.metadata": "id, metadata",
            "score, namedScores": "score",
            "gradingResult.componentResults": "judgement",
            "provider, prompt": "run",
            "config": "left out: may contain servers and keys",
            "latencyMs, cost, tokenUsage": "left out: about the calls",
        },
        notes=notes,
    )


FILE_FORMATS = (
    FileFormat(name="promptfoo results", recognises=_is_results, read=_read_results),
    FileFormat(name="promptfoo results", recognises=_is_lines, read=_read_lines),
    FileFormat(name="promptfoo table", recognises=_is_table, read=_read_table),
)
