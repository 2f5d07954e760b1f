"""A diagnosis as HTML: findings, the interval of a figure against its limit, the table of rules."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from types import MappingProxyType

from ragboard.analysis import QUANTITIES, RULES, Diagnosis, Finding, Silent, condition_of, source_of, why_silent
from ragboard.spans import inert
from ragboard.stats import Interval

__all__ = ["PARTS", "figure_html", "finding_html", "rules_html"]

PARTS: Mapping[str, str] = MappingProxyType(
    {"retriever": "⌕ Retriever", "generator": "✎ Generator", "answers": "❡ Answers"}
)
"""Whom a rule speaks of: an icon and a word."""


def finding_html(found: Finding) -> str:
    """What a rule says, and what to try."""
    return (
        f'<div class="rb-finding"><div class="rb-part">{PARTS[found.rule.part]}</div>'
        f'<p class="rb-says">{_safe(found.sentence)}</p><p>{_safe(found.rule.advice)}</p></div>'
    )


def figure_html(found: Finding) -> str:
    """The figure in words, under a drawing of its interval against the limit of the rule."""
    limit = f"The rule speaks where all of it lies {found.rule.side} {found.rule.limit:g}, the dashed line."
    return (
        f'<div class="rb-finding">{_scale(found)}<p>{_safe(str(found.figure))}</p>'
        f'<p class="rb-note">{_safe(limit)}</p></div>'
    )


def _scale(found: Finding) -> str:
    interval = found.figure.interval
    if not isinstance(interval, Interval):
        return ""
    low, high = QUANTITIES[found.rule.quantity].bounds
    at = {
        name: 100 * (value - low) / (high - low)
        for name, value in (
            ("limit", found.rule.limit),
            ("low", interval.low),
            ("high", interval.high),
            ("estimate", interval.estimate),
        )
    }
    return (
        '<div class="rb-scale" aria-hidden="true"><i class="rb-axis"></i>'
        f'<i class="rb-limit" style="left:{at["limit"]:.1f}%"></i>'
        f'<i class="rb-bar" style="left:{at["low"]:.1f}%;width:{at["high"] - at["low"]:.1f}%"></i>'
        f'<i class="rb-dot" style="left:{at["estimate"]:.1f}%"></i></div>'
    )


def rules_html(found: Diagnosis) -> str:
    """Every rule: its condition, its figure, whether it spoke or why not, where it comes from."""
    every: list[Finding | Silent] = [*found.findings, *found.silent]
    by_rule = {one.rule.id: one for one in every}
    rows = "".join(_row(by_rule[rule.id]) for rule in RULES)
    head = "".join(
        f'<th scope="col">{title}</th>' for title in ("It speaks where", "Figure here", "What it did", "Source")
    )
    return f'<table class="rb-rules"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _row(one: Finding | Silent) -> str:
    spoke = isinstance(one, Finding)
    did = "● spoke" if isinstance(one, Finding) else f"○ silent: {why_silent(one)}"
    quantity = QUANTITIES[one.rule.quantity]
    return (
        f'<tr><th scope="row">{_safe(condition_of(one.rule))}<div class="rb-note">{_safe(quantity.text)}</div></th>'
        f"<td>{_safe(str(one.figure) if one.figure else '–')}</td>"
        f'<td class="{"rb-spoke" if spoke else ""}">{_safe(did)}</td>'
        f'<td class="rb-note">{_safe(source_of(one.rule, quantity.takes))}</td></tr>'
    )


def _safe(text: str) -> str:
    return escape(inert(text))
