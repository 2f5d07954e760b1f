"""DeepEval: test cases in a table, test runs, and the result of `evaluate`.

Keys are in camel case in a test run (a JSON file, its `testRunData`, or a row in the database of DeepEval's store) and
in snake case in a result of `evaluate`. The log of each metric has the statements and verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NoReturn

from ragboard.errors import RunFileError
from ragboard.readers.files import parse, what_is_wrong
from ragboard.readers.formats.base import FileFormat, Format, ParsedFile, ToolFile, ToolSample, statements_of
from ragboard.readers.formats.shapes import as_number, as_object, as_objects, as_text
from ragboard.readers.formats.sqlite import open_database, table_columns
from ragboard.readers.scores import read_score
from ragboard.records import (
    Direction,
    JsonValue,
    Label,
    Outcome,
    RecordedJudgement,
    RecordedSample,
    Statement,
    Unscored,
    Verdict,
)

__all__ = ["FILE_FORMATS", "FORMATS"]

_SNAKE = {
    "answer": "actual_output",
    "contexts": "retrieval_context",
    "reference": "expected_output",
    "reference_contexts": "context",
}
_CAMEL = {
    "answer": "actualOutput",
    "contexts": "retrievalContext",
    "reference": "expectedOutput",
    "reference_contexts": "context",
}

FORMATS = (
    *(
        Format(name="DeepEval", columns=frozenset(columns), fields=_SNAKE, joined="|")
        for columns in (("input", "actual_output"), ("input", "retrieval_context"))
    ),
    *(
        Format(name="DeepEval", columns=frozenset(columns), fields=_CAMEL, joined="|")
        for columns in (
            ("input", "actualOutput"),
            ("input", "retrievalContext"),
            ("input", "expectedOutput", "context"),
        )
    ),
)

FIELDS = {"name": "id", "input": "question", **{column: field for field, column in _SNAKE.items()}}
USES = {
    **FIELDS,
    "metadata": "metadata",
    "additional_metadata": "metadata",
    "turns": "question, answer, contexts, history",
    "metrics_data": "score",
    "metrics_metadata": "score",
    "trace": "left out: export the traces and import that file",
    **dict.fromkeys(
        ("success", "flaky", "order", "index", "conversational", "multimodal", "run_duration", "evaluation_cost"),
        "",
    ),
}
"""How each key of a test case is used, in snake case; empty if it describes the test run and is not read. Keys that
are not listed become metadata."""
UNNAMED = re.compile(r"(?:conversational_)?test_case_\d+")
"""The name that DeepEval gives to a test case without one."""
LABELS: Mapping[str, Label] = {
    "yes": "supported",
    "no": "contradicted",
    "borderline": "unsupported",
    "idk": "unsupported",
}
ABOUT = {
    "Answer Relevancy": "statement is relevant to the question",
    "Contextual Precision": "useful for the reference",
    "Contextual Recall": "reference sentence is in a passage",
    "Hallucination": "answer agrees with the gold passage",
}
"""The claim that each yes/no verdict of a metric is about."""
DIRECTIONS: dict[str, Direction] = dict.fromkeys(("Hallucination", "Bias", "Toxicity"), "lower")
SECTION = re.compile(r"(?:\A| \n \n)(Truths \(limit=[^)\n]*\)|Claims|Statements|Verdicts):\n")


def _is_test_run(file: ParsedFile) -> bool:
    run = _test_run(file)
    return any(isinstance(run.get(key), list) for key in ("testCases", "conversationalTestCases"))


def _test_run(file: ParsedFile) -> Mapping[str, Any]:
    root = as_object(file.value)
    return as_object(root.get("testRunData", root))


def _read_test_run(file: ParsedFile) -> ToolFile:
    return _tool_file(file, {as_text(_test_run(file).get("identifier")): _test_run(file)})


def _is_list(file: ParsedFile) -> bool:
    return any(isinstance(_case(row).get("metrics_data"), list) for row in file.rows[:20])


def _read_list(file: ParsedFile) -> ToolFile:
    return _tool_file(file, {"": {"testCases": file.rows}})


def _is_result(file: ParsedFile) -> bool:
    cases = as_objects(as_object(file.value).get("test_results"))[:20]
    return any("metrics_data" in _case(case) for case in cases)


def _read_result(file: ParsedFile) -> ToolFile:
    return _tool_file(file, {"": as_object(file.value)})


def _is_store(file: ParsedFile) -> bool:
    return file.kind == "SQLite" and "payload_json" in table_columns(file.path, "test_runs")


def _read_store(file: ParsedFile) -> ToolFile:
    with open_database(file.path) as database:
        payloads = [payload for (payload,) in database.execute("SELECT payload_json FROM test_runs ORDER BY rowid")]
    runs: dict[str, Mapping[str, Any]] = {}
    for number, payload in enumerate(payloads, 1):
        try:
            run = as_object(parse(as_text(payload)))
        except (ValueError, RecursionError) as error:
            message = f"payload_json is not JSON ({what_is_wrong(error)})"
            raise RunFileError(file.path, message, field=f"test_runs row {number}") from error
        name = as_text(run.get("identifier")) or file.path.stem
        runs[f"{name} {number}" if len(payloads) > 1 else name] = run
    return _tool_file(file, runs)


def _tool_file(file: ParsedFile, runs: Mapping[str, Mapping[str, Any]]) -> ToolFile:
    """Return the parsed file. `runs` are the test runs in it, by name."""
    samples: list[ToolSample] = []
    judges: set[str] = set()
    for name, run in runs.items():
        for key, index, case in _cases(run):
            metrics = [_snake(metric) for metric in as_objects(case.get("metrics_data"))]
            judges |= {as_text(metric.get("evaluation_model")) for metric in metrics}
            wrapper = key if key in file.lines_by_key else "testRunData"
            line = file.line(index) if file.rows else file.line_in(wrapper, index)
            template = ToolSample(cells={}, line=line, location=f"{key}[{index}]", run=name)
            samples += (_conversation if isinstance(case.get("turns"), list) else _sample)(case, metrics, template)
    without_passages = sum(sample.cells.get("contexts") is None for sample in samples)
    return ToolFile(
        tool="DeepEval",
        samples=samples,
        configs={name: as_object(run.get("hyperparameters")) for name, run in runs.items()},
        judge=", ".join(sorted(filter(None, judges))),
        fields=_fields(runs.values()),
        directions=DIRECTIONS,
        same_as={"Faithfulness": "ragas.faithfulness"},
        notes=[f"samples without passages: {without_passages}; DeepEval writes no passages if none were retrieved"]
        if without_passages
        else [],
    )


def _cases(run: Mapping[str, Any]) -> list[tuple[str, int, dict[str, Any]]]:
    """Return (key, index, case) for each test case, in the order in which DeepEval received the cases."""
    cases = [
        (key, index, _case(case))
        for key in ("testCases", "test_results", "conversationalTestCases")
        for index, case in enumerate(run[key] if isinstance(run.get(key), list) else [])
        if isinstance(case, Mapping)
    ]
    orders: list[Any] = [case.get("order", case.get("index")) for *_, case in cases]
    if not all(type(order) is int for order in orders):
        return cases
    return [case_with_place for _, case_with_place in sorted(zip(orders, cases, strict=True), key=lambda pair: pair[0])]


def _snake(value: Mapping[str, Any]) -> dict[str, Any]:
    return {re.sub("(?<=[a-z])(?=[A-Z])", "_", str(key)).lower(): inner for key, inner in value.items()}


def _case(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a test case in the current format, in snake case. DeepEval 0 wrote `metricsMetadata`."""
    case = _snake(value)
    if "metrics_metadata" in case:
        old_metrics = as_objects(case.pop("metrics_metadata"))
        case["metrics_data"] = [
            {"name": metric.get("metric"), "threshold": metric.get("minimumScore"), **metric} for metric in old_metrics
        ]
    return case


def _sample(case: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]], template: ToolSample) -> list[ToolSample]:
    cells = {field: case.get(name) for name, field in FIELDS.items()}
    if UNNAMED.fullmatch(str(cells.get("id"))):
        del cells["id"]
    return [_with_metrics({**cells, "metadata": _metadata(case)}, metrics, template)]


def _conversation(
    case: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]], template: ToolSample
) -> list[ToolSample]:
    """Return a sample for each reply to the user. The last one has the scores, which are of the whole conversation."""
    turns = [_snake(turn) for turn in as_objects(case["turns"])]
    messages = [{"role": turn.get("role"), "content": turn.get("content")} for turn in turns]
    name = as_text(case.get("name"))
    samples: list[ToolSample] = []
    for index, (before, turn) in enumerate(pairwise(turns), 1):
        if (before.get("role"), turn.get("role")) == ("user", "assistant"):
            cells = {
                "id": f"{name} turn {index + 1}" if name and not UNNAMED.fullmatch(name) else None,
                "question": before.get("content"),
                "answer": turn.get("content"),
                "contexts": turn.get("retrieval_context"),
                "history": messages[: index - 1],
                "metadata": _metadata(case),
            }
            samples.append(replace(template, cells=cells, location=f"{template.location}.turns[{index}]"))
    if samples:
        samples[-1] = _with_metrics(samples[-1].cells, metrics, samples[-1])
    return samples


def _metadata(case: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {**as_object(case.get("additional_metadata")), **as_object(case.get("metadata"))}
    rest = {name: cell for name, cell in case.items() if cell not in (None, [], {}) and name not in USES}
    return {**rest, **metadata}


def _with_metrics(
    cells: Mapping[str, JsonValue], metrics: Sequence[Mapping[str, Any]], template: ToolSample
) -> ToolSample:
    scores: dict[str, Outcome] = {}
    statements: tuple[tuple[Statement, Verdict | None], ...] = ()
    judgements: list[RecordedJudgement] = []
    unread_logs: dict[str, JsonValue] = {}
    for metric in metrics:
        metric_name = as_text(metric.get("name")) or "score"
        name = metric_name if metric_name not in scores else f"{metric_name} {len(scores) + 1}"
        value, error = as_number(metric.get("score")), as_text(metric.get("error"))
        scores[name] = Unscored(reason="failed", detail=error) if error else read_score(value)
        if metric.get("success") is not None and not error:
            limit = as_number(metric.get("threshold"))
            says = ("pass" if metric["success"] else "fail") + ("" if limit is None else f", threshold {limit:g}")
            reason = as_text(metric.get("reason"))
            judgements.append(RecordedJudgement(about=name, number=1, says=says, value=value, reason=reason))
        log = as_text(metric.get("verbose_logs"))
        rows = _read_log(log)
        if rows is None:
            unread_logs[f"{name} log"] = log
        for number, (text, verdict) in enumerate(rows or (), 1):
            word, reason = as_text(verdict.get("verdict")).lower(), as_text(verdict.get("reason"))
            if name == "Faithfulness" and text:
                label = LABELS.get(word)
                parsed = Verdict(label=label, reason=reason) if label else None
                statements += statements_of("response", cells.get("answer"), [(text, parsed)])
            else:
                about = ABOUT.get(metric_name, f"verdict of {metric_name}")
                reason = f'"{text}" {reason}'.rstrip() if text else reason
                judgements.append(RecordedJudgement(about=about, number=number, says=word, reason=reason))
    return replace(
        template,
        cells={**cells, "metadata": {**as_object(cells.get("metadata")), **unread_logs}},
        scores=scores,
        recorded=RecordedSample(statements=statements, judgements=tuple(judgements)),
        notes=tuple(f"{name}: could not be parsed, kept as metadata" for name in unread_logs),
    )


def _read_log(log: str) -> list[tuple[str, Mapping[str, Any]]] | None:
    """Return the (statement, verdict) pairs in a log; None if it cannot be parsed.

    The verdicts are JSON. The statements look like JSON, but their quotes are not escaped.
    """
    parts = SECTION.split(log)
    sections = {name.partition(" ")[0]: body for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    if "Verdicts" not in sections:
        return []
    try:
        verdicts = parse(sections["Verdicts"].partition(" \n \n")[0])
    except (ValueError, RecursionError):
        return None
    if any("verdicts" in row for row in as_objects(verdicts)):
        verdicts = [inner for row in as_objects(verdicts) for inner in as_objects(row.get("verdicts"))]
    verdict_rows = as_objects(verdicts)
    listing = sections.get("Claims", sections.get("Statements"))
    if listing is None:
        return [(as_text(row.get("statement")), row) for row in verdict_rows]
    texts = listing.strip().removeprefix("[").removesuffix("]").strip("\n").removeprefix('    "').removesuffix('"')
    statements = texts.split('",\n    "') if texts else []
    return list(zip(statements, verdict_rows, strict=True)) if len(statements) == len(verdict_rows) else None


def _fields(runs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for run in runs:
        for key in ("testCases", "test_results", "conversationalTestCases"):
            for case in as_objects(run.get(key)):
                for name in case:
                    use = USES.get(next(iter(_snake({name: None}))), "metadata")
                    if use and case[name] not in (None, [], {}):
                        fields[f"{key}[].{name}"] = use
        if run.get("hyperparameters"):
            fields["hyperparameters"] = "configuration"
    if any(use == "score" for use in fields.values()):
        fields |= {
            "metrics: score": "score",
            "metrics: reason, success, threshold": "judgement",
            "metrics: verboseLogs": "statements",
            "success, order, duration, cost": "left out: about the test run, not the answers",
        }
    return fields


def _is_cache(file: ParsedFile) -> bool:
    return isinstance(as_object(file.value).get("test_cases_lookup_map"), dict)


def _refuse_cache(file: ParsedFile) -> NoReturn:
    raise RunFileError(
        file.path,
        "is DeepEval's cache, which has lost the ranks of the passages; import the test run in the same folder,"
        " .latest_test_run.json",
    )


FILE_FORMATS = (
    FileFormat(name="DeepEval test run", recognises=_is_test_run, read=_read_test_run),
    FileFormat(name="DeepEval evaluation result", recognises=_is_result, read=_read_result),
    FileFormat(name="DeepEval test cases", recognises=_is_list, read=_read_list),
    FileFormat(name="DeepEval store", recognises=_is_store, read=_read_store),
    FileFormat(name="DeepEval cache", recognises=_is_cache, read=_refuse_cache),
)
