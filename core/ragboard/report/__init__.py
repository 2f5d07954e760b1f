"""What the command line and the pages show: frozen objects read from the store."""

from __future__ import annotations

from ragboard.report.failures import FailureKind, failures
from ragboard.report.harmonic import ragas_score
from ragboard.report.metrics import BETTER, metric_descriptions, metric_groups, metric_range, metric_settings
from ragboard.report.nouns import (
    GeneratedQuestion,
    JudgedBy,
    JudgedStatement,
    Judgement,
    LooseStatement,
    MetricSummary,
    Only,
    Order,
    RunSummary,
    SamplePage,
    SampleQuery,
    SampleReport,
    SampleRow,
    Spending,
    passages_named,
)
from ragboard.report.runs import leaderboard, run_summary
from ragboard.report.samples import loose_statements, sample_report, sample_rows
from ragboard.report.shapes import (
    Bin,
    Columns,
    Distribution,
    Group,
    Point,
    Scatter,
    breakdown,
    columns,
    distribution,
    scatter,
)

__all__ = [
    "BETTER",
    "Bin",
    "Columns",
    "Distribution",
    "FailureKind",
    "GeneratedQuestion",
    "Group",
    "JudgedBy",
    "JudgedStatement",
    "Judgement",
    "LooseStatement",
    "MetricSummary",
    "Only",
    "Order",
    "Point",
    "RunSummary",
    "SamplePage",
    "SampleQuery",
    "SampleReport",
    "SampleRow",
    "Scatter",
    "Spending",
    "breakdown",
    "columns",
    "distribution",
    "failures",
    "leaderboard",
    "loose_statements",
    "metric_descriptions",
    "metric_groups",
    "metric_range",
    "metric_settings",
    "passages_named",
    "ragas_score",
    "run_summary",
    "sample_report",
    "sample_rows",
    "scatter",
]
