"""Export scores for the tools that runs were exported from, in the formats that their APIs or SDKs accept.

In formats of observability tools, a score belongs to the trace of its sample (a run in LangSmith). The id of the trace
is read from a column of the tool's file; without this column, it is the sample's id. Unscored samples are left out,
because these tools cannot store why a score is missing.
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
"""Maximum number of unsupported statements in a comment."""
MAX_COMMENT = 1000
"""Maximum number of characters of a comment."""
STATEMENT_METRICS = ("ragas.faithfulness", "ragchecker.faithfulness", "ragchecker.hallucination")
"""Metrics whose comments list the statements that the passages do not support."""


@dataclass(frozen=True, kw_only=True)
class SampleScore:
    """One score of one sample, with the fields that tools store."""

    trace: str
    """The tool's id of the sample's trace."""
    metric: str
    score: Score
    comment: str
    judge: str
    rule_based: bool
    key: str
    """Identifies the score. If the tool receives the same key again, it replaces the score."""


@dataclass(frozen=True, kw_only=True)
class FeedbackFormat:
    """The format in which a tool accepts scores."""

    tool: str
    columns: tuple[str, ...]
    """Columns that may contain the id of a sample's trace, in order of precedence."""
    trace: re.Pattern[str]
    """Matches the id of a trace."""
    line: Callable[[SampleScore], Mapping[str, Any]]
    """Converts a score to the object that the tool accepts."""


def _langsmith(sample_score: SampleScore) -> Mapping[str, Any]:
    return {
        "id": str(uuid5(NAMESPACE_URL, sample_score.key)),
        "run_id": sample_score.trace,
        "trace_id": sample_score.trace,
        "key": sample_score.metric,
        "score": sample_score.score.value,
        "comment": sample_score.comment,
        "feedback_source": {
            "type": "api" if sample_score.rule_based else "model",
            "metadata": {"judge": sample_score.judge},
        },
    }


def _langfuse(sample_score: SampleScore) -> Mapping[str, Any]:
    return {
        "id": sample_score.key,
        "traceId": sample_score.trace,
        "name": sample_score.metric,
        "value": sample_score.score.value,
        "dataType": "NUMERIC",
        "comment": sample_score.comment,
        "metadata": {"judge": sample_score.judge},
    }


def _mlflow(sample_score: SampleScore) -> Mapping[str, Any]:
    return {
        "trace_id": sample_score.trace,
        "assessment_name": sample_score.metric,
        "source": {"source_type": "CODE" if sample_score.rule_based else "LLM_JUDGE", "source_id": sample_score.judge},
        "feedback": {"value": sample_score.score.value},
        "rationale": sample_score.comment,
    }


def _phoenix(sample_score: SampleScore) -> Mapping[str, Any]:
    return {
        "trace_id": sample_score.trace,
        "name": sample_score.metric,
        "annotator_kind": "CODE" if sample_score.rule_based else "LLM",
        "result": {"score": sample_score.score.value, "explanation": sample_score.comment},
        "metadata": {"judge": sample_score.judge},
        "identifier": sample_score.key,
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
    """Return the scores of a run as JSON Lines in the format `kind`, a key of `FEEDBACK_FORMATS`.

    Raises SettingError if the run was not evaluated, or if a sample has no trace id of that tool.
    """
    feedback_format = FEEDBACK_FORMATS[kind]
    lines = [
        json.dumps(feedback_format.line(sample_score), ensure_ascii=False)
        for sample_score in _sample_scores(store, run, feedback_format)
    ]
    if not lines:
        raise SettingError(f"{run.name}: no sample has a score; evaluate the run first")
    return "".join(f"{line}\n" for line in lines).encode()


def _sample_scores(store: Store, run: RunRef, feedback_format: FeedbackFormat) -> Iterator[SampleScore]:
    judged = {spec: summary.judged for spec, summary in run_summary(store, run).metrics.items()}
    unsupported = _unsupported_statements(store, run)
    for sample, outcomes in scored_samples(store, run):
        for spec, score in outcomes.items():
            if not isinstance(score, Score):
                continue
            judge_setup = judged[spec]
            statements = unsupported.get(sample.id, ()) if spec.startswith(STATEMENT_METRICS) else ()
            yield SampleScore(
                trace=_trace(sample, run, feedback_format),
                metric=spec,
                score=score,
                comment="\n".join((score.counted, *(f"- {text}" for text in statements)))[:MAX_COMMENT],
                judge=judge_setup.judge if judge_setup else "",
                rule_based=bool(judge_setup and judge_setup.heuristic),
                key=f"ragboard/{judge_setup.evaluation_id if judge_setup else run.run_id}/{spec}/{sample.id}",
            )


def scored_samples(store: Store, run: RunRef) -> Iterator[tuple[Sample, Mapping[str, Outcome]]]:
    """Yield each sample with its outcomes, by metric."""
    rows: dict[int, Mapping[str, Outcome]] = {}
    for position, sample in store.samples(run.run_id):
        if position not in rows:
            page = sample_rows(store, run, SampleQuery(limit=PAGE_SIZE, offset=position)).rows
            rows = {row.position: row.scores for row in page}
        yield sample, rows.get(position, {})


def _trace(sample: Sample, run: RunRef, feedback_format: FeedbackFormat) -> str:
    trace = next(
        (str(sample.metadata[name]) for name in feedback_format.columns if sample.metadata.get(name)), sample.id
    )
    if not feedback_format.trace.fullmatch(trace):
        raise SettingError(
            f"{run.name}: sample {sample.id} has no trace id of {feedback_format.tool}; import a file exported from"
            f" {feedback_format.tool}, or add a column {feedback_format.columns[0]}"
        )
    return trace


def _unsupported_statements(store: Store, run: RunRef) -> dict[str, list[str]]:
    """Return the first unsupported statements of each answer, with their verdicts, by sample id."""
    with store.database.read() as connection:
        frame = statement_frame(connection, run)
    frame = frame[(frame["side"] == "response") & (frame["target"] == "joint") & (frame["label"] != "supported")]
    by_sample: dict[str, list[str]] = {}
    for sample, label, text in zip(frame["sample_id"], frame["label"], frame["statement"], strict=True):
        if len(by_sample.setdefault(sample, [])) < MAX_STATEMENTS:
            by_sample[sample].append(f"{label}: {text}")
    return by_sample


def ragas_bytes(store: Store, run: RunRef) -> bytes:
    """Return the samples as JSON Lines with the columns of ragas and one column per metric; null if unscored.

    Metrics of the RAGAS paper are named as in the ragas library.
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
        columns = {name: value for name, value in row.items() if value is not None}
        lines.append(json.dumps(columns | scores, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode()


def deepeval_bytes(store: Store, run: RunRef) -> bytes:
    """Return the run as a DeepEval test run in JSON: one test case per sample, with its scores and their reasons."""
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
            "metricsData": [_metric_data(spec, outcome, summary) for spec, outcome in outcomes.items()],
        }
        cases.append({name: value for name, value in case.items() if value is not None})
    settings = {name: value if isinstance(value, str) else json.dumps(value) for name, value in summary.config.items()}
    output = {"testFile": summary.source, "identifier": run.name, "testCases": cases, "hyperparameters": settings}
    return json.dumps(output, ensure_ascii=False, indent=1).encode()


def _metric_data(spec: str, outcome: Outcome, summary: RunSummary) -> dict[str, Any]:
    judged = summary.metrics[spec].judged
    data: dict[str, Any] = {"name": spec, "evaluationModel": judged.judge if judged else None}
    if isinstance(outcome, Score):
        return data | {"score": outcome.value, "reason": outcome.counted}
    return data | {"error": f"unscored: {outcome.reason} ({outcome.detail})"}


def _texts(sample: Sample) -> list[str] | None:
    return None if sample.contexts is None else [context.text for context in sample.contexts]


def _value(outcome: Outcome | None) -> float | None:
    return outcome.value if isinstance(outcome, Score) else None


def _ragas_name(spec: str) -> str:
    return {"ragas.answer_relevance": "answer_relevancy"}.get(spec, spec.removeprefix("ragas."))
