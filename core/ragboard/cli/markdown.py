"""Comparisons and checks as Markdown for pull requests. Texts of users and models are escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragboard.analysis import Comparison, GateResult, MetricComparison, overall_verdict
from ragboard.stats import ci_text

__all__ = ["comparison_markdown", "escaped", "gates_markdown", "markdown_table"]

_SIGNS = {"pass": "✅ pass", "fail": "❌ fail", "inconclusive": "⚪ inconclusive"}
_CHANGES = {"better": "▲ better", "worse": "▼ worse"}
_MARKUP = re.compile(r"([\\`*_\[\]#|~<>&@:]|(?<=www)\.)", re.IGNORECASE)


def comparison_markdown(found: Comparison, shown: Sequence[MetricComparison], gated: Sequence[GateResult]) -> str:
    """Return a comparison as Markdown: gates, summary, cautions, metrics and differences of the configuration."""
    refusals = (f"{found.refusals.warning}.",) if found.refusals and found.refusals.warning else ()
    metric_cautions = (metric.caution for metric in shown if metric.caution and metric.p is not None)
    parts = [
        f"### {escaped(found.b.name)} vs {escaped(found.a.name)}",
        _gates(gated),
        escaped(found.sentence),
        f"Judge: {escaped(found.judged_by)}" if found.judged_by else "",
        "\n".join(f"- ⚠️ {escaped(caution)}" for caution in (*found.cautions, *refusals, *metric_cautions)),
        markdown_table(
            ["metric", "A", "B", "B - A (95% CI)", "p (Holm)", "", "B higher / equal / lower", "pairs"],
            [_metric(metric) for metric in shown],
        ),
        "\n".join(f"- {escaped(one.label)}: {escaped(one.note)}" for one in shown if one.note),
        markdown_table(
            ["setting", "A", "B"],
            [[escaped(one.key), _value(one.a), _value(one.b)] for one in found.config],
        ),
        f"{found.paired:,} pairs; {found.unpaired_a.only + found.unpaired_a.ambiguous:,} of A and"
        f" {found.unpaired_b.only + found.unpaired_b.ambiguous:,} of B are unpaired.",
    ]
    return "\n\n".join(part for part in parts if part)


def gates_markdown(run: str, gated: Sequence[GateResult], clustered: str = "") -> str:
    """Return the quality gates of a run as Markdown. `clustered` names the clusters of its intervals; may be empty."""
    note = f"\n\nIntervals are clustered by {clustered}." if clustered else ""
    return f"### {escaped(run)}\n\n{_gates(gated)}{note}"


def _gates(gated: Sequence[GateResult]) -> str:
    if not gated:
        return ""
    rows = [
        [
            _SIGNS[one.verdict],
            f"{escaped(one.metric)} {'≥' if one.fail == 'below' else '≤'} {one.threshold:g}",
            "nothing scored" if one.estimate is None else f"{one.estimate:.3f}, {ci_text(one.interval)}",
            f"{one.n:,}",
        ]
        for one in gated
    ]
    table = markdown_table(["", "condition", "value (95% CI)", "n"], rows)
    return f"**{_SIGNS[overall_verdict(gated)]}**\n\n{table}"


def _metric(metric: MetricComparison) -> list[str]:
    found = metric.pairs
    if found is None:
        return [escaped(metric.label), "", "", "", "", metric.change, "", "0"]
    return [
        escaped(metric.label),
        f"{found.first:.3f}",
        f"{found.second:.3f}",
        "0" if metric.all_equal else f"{found.difference:+.3f}, {ci_text(found.interval, '+.3f')}",
        "" if metric.p is None or metric.all_equal else f"{metric.p:.2g}",
        "all differences are 0" if metric.all_equal else _CHANGES.get(metric.change, metric.change),
        f"{found.sign.wins} / {found.ties} / {found.sign.losses}",
        f"{found.n:,}",
    ]


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; empty if there are no rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Return the text on one line, with all Markdown and HTML markup escaped."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _value(value: object) -> str:
    return "not set" if value is None else escaped(str(value))
