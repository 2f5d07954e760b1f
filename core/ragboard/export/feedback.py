"""Scores for the tool that a run's file came from: a line per score, as the tool's own API or SDK takes it.

A score goes to the trace (LangSmith: run) of its sample, known by the column that the tool's file has for it, else by
the sample's id. Unscored samples get no line: none of these tools has a score that is missing for a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ragboard.analysis import RunSummary, SampleQuery, run_summary, sample_rows
from ragboard.errors import SettingError
from ragboard.records import Outcome, Sample, Score
from ragboard.store import RunRef, Store
from ragboard.store.queries.statements import statement_frame

__all__ = ["FEEDBACK_FORMATS", "deepeval_bytes", "feedback_bytes", "ragas_bytes", "scored_samples"]

PAGE_SIZE = 1000
MAX_STATEMENTS = 10
"""Most unsupported statements in a comment."""
MAX_COMMENT = 1000
"""Most characters of a comment."""
OF_STATEMENTS = ("ragas.faithfulness", "ragchecker.faithfulness", "ragchecker.hallucination")
"""Metrics whose comments list the statements that the passages do not support."""


@dataclass(frozen=True, kw_only=True)
class ScoredSample:
    """One score of one sample."""

    trace: str
    """The tool's id of the trace."""
    metric: str
    score: Score
    comment: str
    judge: str
    rule_based: bool
    key: str
    """The same for the same score of the same evaluation, so that sending it twice replaces it."""


@dataclass(frozen=True, kw_only=True)
class FeedbackFormat:
    """How a tool takes scores."""

    tool: str
    columns: tuple[str, ...]
    """Columns that hold the tool's id of a sample's trace, the first found counts; else the sample's id."""
    trace: re.Pattern[str]
    """What such an id looks like."""
    line: Callable[[ScoredSample], Mapping[str, Any]]


def _langsmith(one: ScoredSample) -> Mapping[str, Any]:
    return {
        "id": str(uuid5(NAMESPACE_URL, one.key)),
        "run_id": one.trace,
        "trace_id": one.trace,
        "key": one.metric,
        "score": one.score.value,
        "comment": one.comment,
        "feedback_source": {"type": "api" if one.rule_based else "model", "metadata": {"judge": one.judge}},
    }


def _langfuse(one: ScoredSample) -> Mapping[str, Any]:
    return {
        "id": one.key,
        "traceId": one.trace,
        "name": one.metric,
        "value": one.score.value,
        "dataType": "NUMERIC",
        "comment": one.comment,
        "metadata": {"judge": one.judge},
    }


def _mlflow(one: ScoredSample) -> Mapping[str, Any]:
    return {
        "trace_id": one.trace,
        "assessment_name": one.metric,
        "source": {"source_type": "CODE" if one.rule_based else "LLM_JUDGE", "source_id": one.judge},
        "feedback": {"value": one.score.value},
        "rationale": one.comment,
    }


def _phoenix(one: ScoredSample) -> Mapping[str, Any]:
    return {
        "trace_id": one.trace,
        "name": one.metric,
        "annotator_kind": "CODE" if one.rule_based else "LLM",
        "result": {"score": one.score.value, "explanation": one.comment},
        "metadata": {"judge": one.judge},
        "identifier": one.key,
    }


_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
FEEDBACK_FORMATS: Mapping[str, FeedbackFormat] = MappingProxyType(
    {
        "langsmith": FeedbackFormat(tool="LangSmith", columns=("run_id",), trace=re.compile(_UUID), line=_langsmith),
        "langfuse": FeedbackFormat(
            tool="Langfuse", columns=("trace_id",), trace=re.compile(rf"[0-9a-f]{{32}}|{_UUID}"), line=_langfuse
        ),
        "mlflow": FeedbackFormat(
            tool="MLflow", columns=("trace_id",), trace=re.compile(r"tr-\w+|trace:/\S+"), line=_mlflow
        ),
        "phoenix": FeedbackFormat(
            tool="Phoenix",
            columns=("trace_id", "context.trace_id"),
            trace=re.compile(r"[0-9a-f]{32}"),
            line=_phoenix,
        ),
    }
)


def feedback_bytes(store: Store, run: RunRef, kind: str) -> bytes:
    """Return the scores of a run as JSON Lines in the tool's format, `kind` of `FEEDBACK_FORMATS`.

    Raises SettingError if the run was not evaluated, or a sample has no id of that tool.
    """
    form = FEEDBACK_FORMATS[kind]
    lines = [json.dumps(form.line(one), ensure_ascii=False) for one in _scored(store, run, form)]
    if not lines:
        raise SettingError(f"{run.name}: no sample has a score; evaluate the run first")
    return "".join(f"{line}\n" for line in lines).encode()


def _scored(store: Store, run: RunRef, form: FeedbackFormat) -> Iterator[ScoredSample]:
    judged = {spec: one.judged for spec, one in run_summary(store, run).metrics.items()}
    unsupported = _unsupported(store, run)
    for sample, outcomes in scored_samples(store, run):
        for spec, score in outcomes.items():
            if not isinstance(score, Score):
                continue
            by = judged[spec]
            statements = unsupported.get(sample.id, ()) if spec.startswith(OF_STATEMENTS) else ()
            yield ScoredSample(
                trace=_trace(sample, run, form),
                metric=spec,
                score=score,
                comment="\n".join((score.counted, *(f"- {text}" for text in statements)))[:MAX_COMMENT],
                judge=by.judge if by else "",
                rule_based=bool(by and by.heuristic),
                key=f"ragboard/{by.evaluation_id if by else run.run_id}/{spec}/{sample.id}",
            )


def scored_samples(store: Store, run: RunRef) -> Iterator[tuple[Sample, Mapping[str, Outcome]]]:
    """Yield each sample with its outcomes, by metric."""
    rows: dict[int, Mapping[str, Outcome]] = {}
    for position, sample in store.samples(run.run_id):
        if position not in rows:
            page = sample_rows(store, run, SampleQuery(limit=PAGE_SIZE, offset=position)).rows
            rows = {row.position: row.scores for row in page}
        yield sample, rows.get(position, {})


def _trace(sample: Sample, run: RunRef, form: FeedbackFormat) -> str:
    named = next((str(sample.metadata[name]) for name in form.columns if sample.metadata.get(name)), sample.id)
    if not form.trace.fullmatch(named):
        raise SettingError(
            f"{run.name}: sample {sample.id} has no id of {form.tool}, so its scores have nowhere to go; import a file"
            f" of {form.tool}, or one with the column {form.columns[0]}"
        )
    return named


def _unsupported(store: Store, run: RunRef) -> dict[str, list[str]]:
    """Return the statements of each answer that its passages do not support, by sample."""
    with store.database.read() as connection:
        frame = statement_frame(connection, run)
    frame = frame[(frame["side"] == "response") & (frame["target"] == "joint") & (frame["label"] != "supported")]
    found: dict[str, list[str]] = {}
    for sample, label, text in zip(frame["sample_id"], frame["label"], frame["statement"], strict=True):
        if len(found.setdefault(sample, [])) < MAX_STATEMENTS:
            found[sample].append(f"{label}: {text}")
    return found


def ragas_bytes(store: Store, run: RunRef) -> bytes:
    """Return the samples as JSON Lines with ragas's columns, and a column for each metric; null if unscored.

    RAGAS's metrics have ragas's own names.
    """
    specs = tuple(run_summary(store, run).metrics)
    lines: list[str] = []
    for sample, outcomes in scored_samples(store, run):
        row = {
            "user_input": sample.question,
            "response": sample.answer,
            "retrieved_contexts": _texts(sample),
            "reference": sample.reference,
            "reference_contexts": None if sample.reference_contexts is None else list(sample.reference_contexts),
        }
        scores = {_ragas_name(spec): _value(outcomes.get(spec)) for spec in specs}
        given = {name: value for name, value in row.items() if value is not None}
        lines.append(json.dumps(given | scores, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode()


def deepeval_bytes(store: Store, run: RunRef) -> bytes:
    """Return the run as a test run of DeepEval, in JSON: a test case per sample, with its scores and their reasons."""
    summary = run_summary(store, run)
    cases: list[dict[str, Any]] = []
    for order, (sample, outcomes) in enumerate(scored_samples(store, run)):
        case = {
            "name": sample.id,
            "input": sample.question,
            "actualOutput": sample.answer,
            "expectedOutput": sample.reference,
            "retrievalContext": _texts(sample),
            "context": None if sample.reference_contexts is None else list(sample.reference_contexts),
            "order": order,
            "metricsData": [_metric_data(spec, one, summary) for spec, one in outcomes.items()],
        }
        cases.append({name: value for name, value in case.items() if value is not None})
    settings = {name: value if isinstance(value, str) else json.dumps(value) for name, value in summary.config.items()}
    output = {"testFile": summary.source, "identifier": run.name, "testCases": cases, "hyperparameters": settings}
    return json.dumps(output, ensure_ascii=False, indent=1).encode()


def _metric_data(spec: str, outcome: Outcome, summary: RunSummary) -> dict[str, Any]:
    judged = summary.metrics[spec].judged
    found: dict[str, Any] = {"name": spec, "evaluationModel": judged.judge if judged else None}
    if isinstance(outcome, Score):
        return found | {"score": outcome.value, "reason": outcome.counted}
    return found | {"error": f"unscored: {outcome.reason} ({outcome.detail})"}


def _texts(sample: Sample) -> list[str] | None:
    return None if sample.contexts is None else [context.text for context in sample.contexts]


def _value(outcome: Outcome | None) -> float | None:
    return outcome.value if isinstance(outcome, Score) else None


def _ragas_name(spec: str) -> str:
    return {"ragas.answer_relevance": "answer_relevancy"}.get(spec, spec.removeprefix("ragas."))
