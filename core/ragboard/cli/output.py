"""Print tables and JSON. Control characters in texts of users and models are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from shutil import get_terminal_size
from typing import Any

import click

from ragboard.analysis import STATUS_LABELS, MetricSummary, RunSummary, ragas_score
from ragboard.cli.json_output import print_json
from ragboard.display import one_line, plain, text_table
from ragboard.records import Outcome, Score
from ragboard.stats import estimate_text, interval_text, range_text

__all__ = [
    "MARKS",
    "one_line",
    "outcome_text",
    "plain",
    "print_json",
    "print_table",
    "print_transposed",
    "run_json",
    "summary_text",
]

MARKS = {"supported": "✓", "unsupported": "?", "contradicted": "✕"}


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with left-aligned columns."""
    click.echo(text_table(head, rows))


def print_transposed(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with rows and columns exchanged, in parts that fit the width of the terminal."""
    room = get_terminal_size().columns - max(map(len, head))
    part: list[Sequence[str]] = []
    for row in rows:
        if part and room < sum(2 + max(map(len, cells)) for cells in (*part, row)):
            _print_part(head, part)
            click.echo()
            part = []
        part.append(row)
    _print_part(head, part)


def _print_part(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    first, *others = zip(head, *rows, strict=True)
    print_table(first, others)


def summary_text(summary: MetricSummary | None, judge: str = "") -> str:
    """Return a mean in words, with notes on unscored samples and the judge.

    `0.74 (0.67 to 0.80) 55/60`, or `unscored 0/60` if no sample has a score.
    """
    if summary is None:
        return "not evaluated"
    counted = f"{summary.scored}/{summary.total}"
    note = "".join(f", {text}" for text in (summary.note, summary.caution, judge) if text)
    note += f", {STATUS_LABELS[summary.threshold_status]}: {summary.threshold}" if summary.threshold_status else ""
    if summary.bounds:
        interval = interval_text(summary.interval, ".2f")
        return f"{range_text(*summary.bounds, '.2f')}{interval and f' ({interval})'} {counted}{note}"
    if summary.mean is None:
        return f"unscored {counted}"
    return f"{estimate_text(summary.mean, summary.interval, '.2f')} {counted}{note}"


def outcome_text(outcome: Outcome) -> str:
    """Return an outcome in words: `0.57 (4 of 7 statements)`, or `unscored: refusal (the answer only refuses)`."""
    if isinstance(outcome, Score):
        return f"{outcome.value:.2f} ({outcome.counted})"
    return f"unscored: {outcome.reason} ({outcome.detail})"


def run_json(run: RunSummary) -> Mapping[str, Any]:
    """Return a summary of a run as data for `print_json`."""
    data = asdict(run)
    data["metrics"] = {metric: asdict(summary) for metric, summary in run.metrics.items()}
    score = ragas_score(run.metrics)
    data["ragas_score"] = score.value if isinstance(score, Score) else None
    return data
