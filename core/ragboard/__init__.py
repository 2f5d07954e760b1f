"""Evaluate RAG runs: which sentence of which answer no passage supports."""

from __future__ import annotations

from ragboard.api import Evaluated, aevaluate, evaluate
from ragboard.errors import (
    JudgeError,
    NotFoundError,
    RagboardError,
    RunExistsError,
    RunFileError,
    SettingError,
    StoreBusyError,
    StoreError,
)
from ragboard.evaluation.engine import Finished, evaluate_run
from ragboard.judges import (
    EmbeddedJudge,
    Judge,
    LlmJudge,
    OpenAiEmbedder,
    Panel,
    RecordingJudge,
    ReplayJudge,
    judge_from,
)
from ragboard.metrics import DEFAULT_METRICS, METRICS, Metric
from ragboard.readers import ImportReport, Preview, ReadResult, preview, read_runs
from ragboard.records import (
    Evaluation,
    Evidence,
    Outcome,
    Passage,
    Run,
    Sample,
    Score,
    Span,
    Statement,
    Turn,
    Unscored,
    Verdict,
)
from ragboard.samples import sample_runs
from ragboard.stats import Interval
from ragboard.store import RunRef, Store

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "EmbeddedJudge",
    "Evaluated",
    "Evaluation",
    "Evidence",
    "Finished",
    "ImportReport",
    "Interval",
    "Judge",
    "JudgeError",
    "LlmJudge",
    "Metric",
    "NotFoundError",
    "OpenAiEmbedder",
    "Outcome",
    "Panel",
    "Passage",
    "Preview",
    "RagboardError",
    "ReadResult",
    "RecordingJudge",
    "ReplayJudge",
    "Run",
    "RunExistsError",
    "RunFileError",
    "RunRef",
    "Sample",
    "Score",
    "SettingError",
    "Span",
    "Statement",
    "Store",
    "StoreBusyError",
    "StoreError",
    "Turn",
    "Unscored",
    "Verdict",
    "aevaluate",
    "evaluate",
    "evaluate_run",
    "judge_from",
    "preview",
    "read_runs",
    "sample_runs",
]
