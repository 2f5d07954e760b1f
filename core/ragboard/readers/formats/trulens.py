"""TruLens: the database of a session (OpenTelemetry spans), and its table of records and feedback.

Groundedness gives each statement a number from 0 to 1 and no threshold: statements have no verdict, their numbers are
kept as judgements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ragboard.errors import RunFileError
from ragboard.readers.formats.base import FileFormat, ParsedFile, ToolFile, ToolSample, statements_of
from ragboard.readers.formats.shapes import as_number, as_object, as_objects, as_text, as_texts, decoded, without
from ragboard.readers.formats.sqlite import columns, opened
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
"""Arguments of a feedback function that hold the right answer."""
NOT_SCORED = -1.0
"""The score of a metric that TruLens had nothing to call with."""
SAVE = "json.dump or to_json(orient='records') of session.get_records_and_feedback()[0]"


@dataclass
class _Call:
    """One call of a feedback function."""

    arguments: Mapping[str, Any]
    score: float | None
    explanation: str = ""
    reasons: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])


@dataclass
class _Metric:
    """What a metric said of a record."""

    score: float | None = None
    error: str = ""
    calls: list[_Call] = field(default_factory=list[_Call])


@dataclass
class _Record:
    """One question to an app."""

    cells: dict[str, JsonValue]
    run: tuple[str, str, str]
    """App, version, and name of the run."""
    metrics: dict[str, _Metric] = field(default_factory=dict[str, _Metric])


def _is_database(file: ParsedFile) -> bool:
    return file.kind == "SQLite" and any(columns(file.path, name) for name in ("trulens_events", "trulens_records"))


def _read_database(file: ParsedFile) -> ToolFile:
    if not columns(file.path, "trulens_events"):
        raise RunFileError(file.path, f"is a TruLens database without OpenTelemetry events; save {SAVE}")
    with opened(file.path) as database:
        events = database.execute(
            "SELECT event_id, record_attributes, resource_attributes FROM trulens_events"
            " ORDER BY start_timestamp, timestamp"
        ).fetchall()
    spans: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for event, written, _ in events:
        attributes = {str(key).removeprefix(PREFIX): value for key, value in as_object(decoded(written)).items()}
        spans.setdefault(as_text(attributes.get("span_type")), []).append((as_text(event), attributes))
    records = {as_text(said.get("record_id")): _record(said) for _, said in spans.get("record_root", [])}
    for _, said in spans.get("retrieval", []):
        if record := records.get(as_text(said.get("record_id"))):
            found = said.get("retrieval.retrieved_contexts", said.get("call.return"))
            known = record.cells.setdefault("contexts", [])
            if isinstance(known, list):
                known += [one for one in (found if isinstance(found, list) else [found]) if one not in known]
    directions = _add_metrics(records, spans.get("eval_root", []), spans.get("eval", []))
    judges = {as_text(said.get("cost.model")) for _, said in spans.get("eval", [])}
    versions = {as_text(as_object(decoded(resource)).get("service.version")) for *_, resource in events}
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
            "app_name, app_version, run.name": "run",
            "eval_root.score": "score",
            "eval.score, eval.explanation": "judgement",
            "eval.metadata.reasons": "statements",
            "trulens_apps.app_json, resource_attributes": "left out: of the machine and the code of the app",
        },
    )


def _add_metrics(
    records: Mapping[str, _Record],
    roots: Sequence[tuple[str, Mapping[str, Any]]],
    evals: Sequence[tuple[str, Mapping[str, Any]]],
) -> dict[str, Direction]:
    """Add to each record what metrics said of it, of a metric the latest; which way is better, where it is lower."""
    directions: dict[str, Direction] = {}
    metrics: dict[str, _Metric] = {}
    for span, said in roots:
        if record := records.get(as_text(said.get("eval.target_record_id"))):
            name = as_text(said.get("eval_root.metric_name")) or as_text(said.get("eval.metric_name"))
            score, error = as_number(said.get("eval_root.score")), as_text(said.get("eval.error"))
            metrics[span] = record.metrics[name] = _Metric(score=score, error=error)
            if said.get("eval_root.higher_is_better") is False:
                directions[name] = "lower"
    for _, said in evals:
        if metric := metrics.get(as_text(said.get("eval.eval_root_id"))):
            error = as_text(said.get("eval.error"))
            metric.error = metric.error or error
            metric.calls.append(
                _Call(
                    arguments={key.removeprefix(ARGUMENT): one for key, one in said.items() if ARGUMENT in key},
                    score=as_number(said.get("eval.score")),
                    explanation=as_text(said.get("eval.explanation")) or error,
                    reasons=as_objects(decoded(said.get("eval.metadata.reasons"))),
                )
            )
    for metric in metrics.values():
        if metric.score == NOT_SCORED and not metric.calls:
            metric.score = None
    return directions


def _record(said: Mapping[str, Any]) -> _Record:
    cells: dict[str, JsonValue] = {
        "id": said.get("input_id") or None,
        "question": said.get("record_root.input"),
        "answer": said.get("record_root.output"),
        "reference": said.get("record_root.ground_truth_output"),
        "metadata": without({name: said.get(name) or None for name in ("record_id", "conversation_id")}),
    }
    run = (as_text(said.get("app_name")), as_text(said.get("app_version")), as_text(said.get("run.name")))
    return _Record(cells=cells, run=run)


def _is_table(file: ParsedFile) -> bool:
    return {"record_id", "input", "output", "record_json", "perf_json"} <= file.columns and bool(file.rows)


def _read_table(file: ParsedFile) -> ToolFile:
    """Return a row for each record; passages are the source that groundedness was given, or what each call judged."""
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
            record.metrics[name] = _Metric(score=as_number(decoded(row.get(name))), calls=calls)
            if row.get(f"{name} direction") in (False, "False"):
                directions[name] = "lower"
        records.append((file.line(index), record))
    written = any(isinstance(row.get(f"{name}_calls"), str) for row in file.rows for name in metrics)
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
            "app_json, record_json, cost_json, perf_json": "left out: of the machine and the code of the app",
        },
        notes=[f"passages, statements and reasons were left out: they are Python text in this file; save {SAVE}"]
        if written
        else ["the table has no retriever's passages: those that were judged are read"],
    )


def _decoded_texts(cells: Sequence[object]) -> Sequence[Any]:
    """Inputs or outputs; the first versions wrote them as JSON, in quotes."""
    quoted = all(isinstance(cell, str) and cell.startswith('"') and decoded(cell) != cell for cell in cells if cell)
    return list(map(decoded, cells)) if quoted else cells


def _reasons(meta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what groundedness says of each statement: written as JSON, and in the first versions as it is."""
    inner = as_object(meta.get("metadata")) or meta
    return as_objects(decoded(inner.get("reasons")))


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
        said = zip(("app_name", "app_version", "run_name"), record.run, strict=True)
        configs[run] = {key: value for key, value in said if value}
        calls = [call for metric in record.metrics.values() for call in metric.calls]
        if "contexts" not in record.cells:
            record.cells |= _judged_passages(calls)
        references = (call.arguments.get(name) for call in calls for name in REFERENCES)
        reference = next((one for one in references if isinstance(one, str)), None)
        if record.cells["reference"] is None:
            record.cells["reference"] = reference
        samples.append(
            ToolSample(cells=record.cells, line=line, run=run, scores=_scores(record), recorded=_recorded(record))
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
    """The passages of a record whose retriever was not recorded: as one call had them all, or as calls had one each."""
    sources = [call.arguments["source"] for call in calls if "source" in call.arguments]
    if sources:
        whole = sources[0]
        nested = isinstance(whole, list) and bool(whole) and all(isinstance(one, list) for one in whole)
        return {"contexts": list(chain(*whole)) if nested else whole}
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
            for said in call.reasons if "source" in call.arguments else ():
                if text := as_text(said.get("criteria")):
                    statements += statements_of("response", record.cells.get("answer"), [(text, None)])
                    reason = as_text(said.get("supporting_evidence"))
                    judgements.append(_judgement(SUPPORT, len(statements), as_number(said.get("score")), reason))
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
