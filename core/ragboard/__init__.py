"""Evaluate RAG runs: which sentence of which answer no passage supports."""

from __future__ import annotations

from ragboard.api import Evaluated, aevaluate, evaluate, log
from ragboard.errors import (
    JudgeError,
    NotFoundError,
    RagboardError,
    RunExistsError,
    RunFileError,
    RunFileWarning,
    SettingError,
    StoreBusyError,
    StoreError,
)
from ragboard.evaluation.engine import Finished, evaluate_run
from ragboard.evaluation.plan import Assumptions, Plan, plan_run
from ragboard.evaluation.terms import Terms
from ragboard.judges import (
    EmbeddedJudge,
    Judge,
    JudgeOptions,
    LlmJudge,
    OpenAiEmbedder,
    Panel,
    RecordingJudge,
    ReplayJudge,
    judge_from,
)
from ragboard.metrics import DEFAULT_METRICS, METRICS, Metric
from ragboard.prices import Price, read_prices
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
    "Assumptions",
    "EmbeddedJudge",
    "Evaluated",
    "Evaluation",
    "Evidence",
    "Finished",
    "ImportReport",
    "Interval",
    "Judge",
    "JudgeError",
    "JudgeOptions",
    "LlmJudge",
    "Metric",
    "NotFoundError",
    "OpenAiEmbedder",
    "Outcome",
    "Panel",
    "Passage",
    "Plan",
    "Preview",
    "Price",
    "RagboardError",
    "ReadResult",
    "RecordingJudge",
    "ReplayJudge",
    "Run",
    "RunExistsError",
    "RunFileError",
    "RunFileWarning",
    "RunRef",
    "Sample",
    "Score",
    "SettingError",
    "Span",
    "Statement",
    "Store",
    "StoreBusyError",
    "StoreError",
    "Terms",
    "Turn",
    "Unscored",
    "Verdict",
    "aevaluate",
    "evaluate",
    "evaluate_run",
    "judge_from",
    "log",
    "plan_run",
    "preview",
    "read_prices",
    "read_runs",
    "sample_runs",
]
