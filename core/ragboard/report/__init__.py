"""What the command line and the pages show: frozen objects read from the store."""

from __future__ import annotations

from ragboard.report.harmonic import ragas_score
from ragboard.report.nouns import (
    GeneratedQuestion,
    JudgedBy,
    JudgedStatement,
    LooseStatement,
    MetricSummary,
    Only,
    Order,
    RunSummary,
    SamplePage,
    SampleQuery,
    SampleReport,
    SampleRow,
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
    "Bin",
    "Columns",
    "Distribution",
    "GeneratedQuestion",
    "Group",
    "JudgedBy",
    "JudgedStatement",
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
    "breakdown",
    "columns",
    "distribution",
    "leaderboard",
    "loose_statements",
    "ragas_score",
    "run_summary",
    "sample_report",
    "sample_rows",
    "scatter",
]
