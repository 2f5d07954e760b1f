"""TruLens: the database of a session (OpenTelemetry spans), and its table of records and feedback.

Groundedness gives each statement a number from 0 to 1. TruLens has no threshold for a verdict, so these numbers are
stored as judgements and the statements have no verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample, statements_of
from ragboard.readers.formats.shapes import (
    as_number,
    as_object,
    as_objects,
    as_text,
    as_texts,
    decode_json,
    drop_missing,
)
from ragboard.readers.formats.spans import nanoseconds, time_of
from ragboard.readers.formats.sqlite import open_database, table_columns
from ragboard.readers.scores import read_score
from ragboard.records import (
    Direction,
    JsonValue,
    Outcome,
    RecordedJudgement,
    RecordedSample,
    Statement,
    Unscored,
    Verdict,
)

__all__ = ["FILE_FORMATS"]

PREFIX, ARGUMENT = "ai.observability.", "call.kwargs."
SUPPORT = "TruLens support of statement"
REFERENCES = ("ground_truth", "ground_truth_response", "expected_response", "expected_output", "reference")
"""Arguments of feedback functions that may have the reference."""
NOT_SCORED = -1.0
"""The score that TruLens writes for a metric if an input is missing."""
SAVE = "session.get_records_and_feedback()[0] with to_json(orient='records')"


@dataclass
class _Call:
    """One call of a feedback function."""

    arguments: Mapping[str, Any]
    score: float | None
    explanation: str = ""
    reasons: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])


@dataclass
class _Metric:
    """The result of a metric for a record."""

    score: float | None = None
    error: str = ""
    calls: list[_Call] = field(default_factory=list[_Call])


@dataclass
class _Record:
    """One question to an app, with its answer and metrics."""

    cells: dict[str, JsonValue]
    run: tuple[str, str, str]
    """The app, its version, and the name of the run."""
    time: datetime | None = None
    metrics: dict[str, _Metric] = field(default_factory=dict[str, _Metric])


def _is_database(file: ParsedFile) -> bool:
    return file.kind == "SQLite" and any(
        table_columns(file.path, name) for name in ("trulens_events", "trulens_records")
    )


def _read_database(file: ParsedFile) -> ToolFile:
    if not table_columns(file.path, "trulens_events"):
        raise RunFileError(file.path, f"is a TruLens database without OpenTelemetry events; save {SAVE}")
    with open_database(file.path) as database:
        events = database.execute(
            "SELECT event_id, record_attributes, resource_attributes, start_timestamp FROM trulens_events"
            " ORDER BY start_timestamp, timestamp"
        ).fetchall()
    spans: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    times: dict[str, datetime | None] = {}
    for event, record_attributes, _, start in events:
        attributes = {
            str(key).removeprefix(PREFIX): value for key, value in as_object(decode_json(record_attributes)).items()
        }
        spans.setdefault(as_text(attributes.get("span_type")), []).append((as_text(event), attributes))
        times.setdefault(as_text(attributes.get("record_id")), time_of(nanoseconds(start)))
    records = {
        record: _record(attributes_of_span, times[record])
        for _, attributes_of_span in spans.get("record_root", [])
        for record in [as_text(attributes_of_span.get("record_id"))]
    }
    for _, attributes_of_span in spans.get("retrieval", []):
        if record := records.get(as_text(attributes_of_span.get("record_id"))):
            retrieved = attributes_of_span.get("retrieval.retrieved_contexts", attributes_of_span.get("call.return"))
            contexts = record.cells.setdefault("contexts", [])
            if isinstance(contexts, list):
                contexts += [
                    passage
                    for passage in (retrieved if isinstance(retrieved, list) else [retrieved])
                    if passage not in contexts
                ]
    directions = _add_metrics(records, spans.get("eval_root", []), spans.get("eval", []))
    judges = {as_text(attributes_of_span.get("cost.model")) for _, attributes_of_span in spans.get("eval", [])}
    versions = {as_text(as_object(decode_json(resource)).get("service.version")) for _, _, resource, _ in events}
    return _tool_file(
        list(enumerate(records.values(), 1)),
        version=", ".join(sorted(filter(None, versions))),
        judge=", ".join(sorted(filter(None, judges))),
        directions=directions,
        fields={
            "record_root.input": "question",
            "record_root.output": "answer",
            "retrieval.retrieved_contexts": "contexts",
            "input_id": "id",
            "record_id, conversation_id": "metadata",
            "start_timestamp": "time",
            "app_name, app_version, run.name": "run",
            "eval_root.score": "score",
            "eval.score, eval.explanation": "judgement",
            "eval.metadata.reasons": "statements",
            "trulens_apps.app_json, resource_attributes": "left out: about the machine and the code of the app",
        },
        notes=["times have no time zone; they are read as UTC"] if any(times.values()) else (),
    )


def _add_metrics(
    records: Mapping[str, _Record],
    roots: Sequence[tuple[str, Mapping[str, Any]]],
    evals: Sequence[tuple[str, Mapping[str, Any]]],
) -> dict[str, Direction]:
    """Add the latest result of each metric to its record. Returns `lower` for metrics where lower is better."""
    directions: dict[str, Direction] = {}
    metrics: dict[str, _Metric] = {}
    for span, attributes in roots:
        if record := records.get(as_text(attributes.get("eval.target_record_id"))):
            name = as_text(attributes.get("eval_root.metric_name")) or as_text(attributes.get("eval.metric_name"))
            score, error = as_number(attributes.get("eval_root.score")), as_text(attributes.get("eval.error"))
            metrics[span] = record.metrics[name] = _Metric(score=score, error=error)
            if attributes.get("eval_root.higher_is_better") is False:
                directions[name] = "lower"
    for _, attributes in evals:
        if metric := metrics.get(as_text(attributes.get("eval.eval_root_id"))):
            error = as_text(attributes.get("eval.error"))
            metric.error = metric.error or error
            metric.calls.append(
                _Call(
                    arguments={
                        key.removeprefix(ARGUMENT): value for key, value in attributes.items() if ARGUMENT in key
                    },
                    score=as_number(attributes.get("eval.score")),
                    explanation=as_text(attributes.get("eval.explanation")) or error,
                    reasons=as_objects(decode_json(attributes.get("eval.metadata.reasons"))),
                )
            )
    for metric in metrics.values():
        if metric.score == NOT_SCORED and not metric.calls:
            metric.score = None
    return directions


def _record(attributes: Mapping[str, Any], time: datetime | None = None) -> _Record:
    cells: dict[str, JsonValue] = {
        "id": attributes.get("input_id") or None,
        "question": attributes.get("record_root.input"),
        "answer": attributes.get("record_root.output"),
        "reference": attributes.get("record_root.ground_truth_output"),
        "metadata": drop_missing({name: attributes.get(name) or None for name in ("record_id", "conversation_id")}),
    }
    run = (
        as_text(attributes.get("app_name")),
        as_text(attributes.get("app_version")),
        as_text(attributes.get("run.name")),
    )
    return _Record(cells=cells, run=run, time=time)


def _is_table(file: ParsedFile) -> bool:
    return {"record_id", "input", "output", "record_json", "perf_json"} <= file.columns and bool(file.rows)


def _read_table(file: ParsedFile) -> ToolFile:
    """Read a table with one row for each record. The passages are those that metrics judged."""
    records: list[tuple[int, _Record]] = []
    texts = {name: _decoded_texts([row.get(name) for row in file.rows]) for name in ("input", "output")}
    metrics = list(dict.fromkeys(name.removesuffix("_calls") for name in chain(*file.rows) if name.endswith("_calls")))
    directions: dict[str, Direction] = {}
    for index, row in enumerate(file.rows):
        record = _record(
            {
                "record_root.input": texts["input"][index],
                "record_root.output": texts["output"][index],
                "app_name": row.get("app_name") or row.get("app_id"),
                **{key: row.get(key) for key in ("record_id", "conversation_id", "input_id", "app_version")},
            }
        )
        for name in metrics:
            calls = [
                _Call(
                    arguments=as_object(call.get("args")),
                    score=as_number(call.get("ret")),
                    explanation=as_text(as_object(call.get("meta")).get("explanation")),
                    reasons=_reasons(as_object(call.get("meta"))),
                )
                for call in as_objects(row.get(f"{name}_calls"))
                if call.get("span_type") != "eval_root"
            ]
            record.metrics[name] = _Metric(score=as_number(decode_json(row.get(name))), calls=calls)
            if row.get(f"{name} direction") in (False, "False"):
                directions[name] = "lower"
        records.append((file.line(index), record))
    calls_are_text = any(isinstance(row.get(f"{name}_calls"), str) for row in file.rows for name in metrics)
    return _tool_file(
        records,
        directions=directions,
        fields={
            "input": "question",
            "output": "answer",
            "*_calls[].args.source, .context": "contexts",
            "input_id": "id",
            "record_id, conversation_id": "metadata",
            "app_name, app_version": "run",
            **dict.fromkeys(metrics, "score"),
            "*_calls[].ret, .meta.explanation": "judgement",
            "*_calls[].meta.metadata.reasons": "statements",
            "app_json, record_json, cost_json, perf_json": "left out: about the machine and the code of the app",
        },
        notes=[f"passages, statements and reasons dropped: this file has them as Python text; instead, save {SAVE}"]
        if calls_are_text
        else ["passages are those that metrics judged: the table does not have the retriever's"],
    )


def _decoded_texts(cells: Sequence[object]) -> Sequence[Any]:
    """Return the texts of inputs or outputs. Old versions of TruLens wrote them as JSON."""
    quoted = all(isinstance(cell, str) and cell.startswith('"') and decode_json(cell) != cell for cell in cells if cell)
    return list(map(decode_json, cells)) if quoted else cells


def _reasons(meta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the reasons of groundedness for each statement. Newer versions write them as a text with JSON."""
    inner = as_object(meta.get("metadata")) or meta
    return as_objects(decode_json(inner.get("reasons")))


def _tool_file(
    records: Sequence[tuple[int, _Record]],
    *,
    fields: Mapping[str, str],
    directions: Mapping[str, Direction],
    version: str = "",
    judge: str = "",
    notes: Sequence[str] = (),
) -> ToolFile:
    samples: list[ToolSample] = []
    configs: dict[str, Mapping[str, JsonValue]] = {}
    for line, record in records:
        run = " ".join(filter(None, record.run))
        run_parts = zip(("app_name", "app_version", "run_name"), record.run, strict=True)
        configs[run] = {key: value for key, value in run_parts if value}
        calls = [call for metric in record.metrics.values() for call in metric.calls]
        if "contexts" not in record.cells:
            record.cells |= _judged_passages(calls)
        references = (call.arguments.get(name) for call in calls for name in REFERENCES)
        reference = next((reference_text for reference_text in references if isinstance(reference_text, str)), None)
        if record.cells["reference"] is None:
            record.cells["reference"] = reference
        samples.append(
            ToolSample(
                cells=record.cells,
                line=line,
                run=run,
                time=record.time,
                scores=_scores(record),
                recorded=_recorded(record),
            )
        )
    return ToolFile(
        tool="TruLens",
        samples=samples,
        version=version,
        configs=configs,
        judge=judge,
        fields=fields,
        directions=directions,
        notes=notes,
    )


def _judged_passages(calls: Iterable[_Call]) -> dict[str, JsonValue]:
    """Return the passages that the metrics of a record judged, from the arguments of their calls."""
    sources = [call.arguments["source"] for call in calls if "source" in call.arguments]
    if sources:
        source = sources[0]
        nested = isinstance(source, list) and bool(source) and all(isinstance(part, list) for part in source)
        return {"contexts": list(chain(*source)) if nested else source}
    single = list(dict.fromkeys(text for call in calls for text in as_texts(call.arguments.get("context"))))
    return {"contexts": list(single)} if single else {}


def _scores(record: _Record) -> dict[str, Outcome]:
    return {
        name: Unscored(reason="failed", detail=metric.error)
        if metric.error and metric.score is None
        else read_score(metric.score)
        for name, metric in record.metrics.items()
    }


def _recorded(record: _Record) -> RecordedSample:
    passages = record.cells.get("contexts")
    texts = passages if isinstance(passages, list) else []
    statements: list[tuple[Statement, Verdict | None]] = []
    judgements: list[RecordedJudgement] = []
    for name, metric in record.metrics.items():
        for number, call in enumerate(metric.calls, 1):
            for reason_cells in call.reasons if "source" in call.arguments else ():
                if text := as_text(reason_cells.get("criteria")):
                    statements += statements_of("response", record.cells.get("answer"), [(text, None)])
                    reason = as_text(reason_cells.get("supporting_evidence"))
                    judgements.append(
                        _judgement(SUPPORT, len(statements), as_number(reason_cells.get("score")), reason)
                    )
            if "source" not in call.arguments or not call.reasons:
                passage = call.arguments.get("context")
                index = texts.index(passage) + 1 if passage in texts else number
                judgements.append(_judgement(name, index, call.score, call.explanation))
    return RecordedSample(statements=tuple(statements), judgements=tuple(judgements))


def _judgement(about: str, number: int, value: float | None, reason: str) -> RecordedJudgement:
    says = "no number" if value is None else f"{value:.3g}"
    return RecordedJudgement(about=about, number=number, says=says, value=value, reason=reason)


FILE_FORMATS = (
    FileFormat(name="TruLens database", recognises=_is_database, read=_read_database),
    FileFormat(name="TruLens records", recognises=_is_table, read=_read_table),
)
