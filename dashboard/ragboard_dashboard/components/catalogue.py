"""The metrics explained, as HTML: descriptions in, nothing of them read as markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from ragboard.analysis import BETTER, metric_range, metric_settings
from ragboard.records import MetricDescription
from ragboard.spans import inert

__all__ = ["catalogue_html"]

ARROWS = {"higher": "↑", "lower": "↓", "neutral": "↔"}


def catalogue_html(groups: Mapping[str, tuple[MetricDescription, ...]]) -> str:
    """A section for each source, an article for each metric."""
    return "".join(
        f'<section class="rb-source"><h2>{_safe(source)}</h2>'
        f'<div class="rb-metrics">{"".join(map(_article, metrics))}</div></section>'
        for source, metrics in groups.items()
    )


def _article(metric: MetricDescription) -> str:
    facts = {
        "Needs": ", ".join(metric.requires) or "nothing but the question",
        "Asks a judge": metric.calls,
        "Settings": metric_settings(metric),
        "From": metric.paper,
    }
    rows = "".join(f"<dt>{what}</dt><dd>{_safe(text)}</dd>" for what, text in facts.items() if text)
    better = f"{ARROWS[metric.direction]} {BETTER[metric.direction]}"
    return (
        f'<article><header><h3>{_safe(metric.label)}</h3><code class="rb-spec">{_safe(metric.spec)}</code></header>'
        f'<p class="rb-better"><b>{better}</b> {metric_range(metric)}</p>'
        f'<p class="rb-formula">{_safe(metric.formula)}</p>{_paragraphs(metric.text)}<dl>{rows}</dl></article>'
    )


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_code(' '.join(part.split()))}</p>" for part in re.split(r"\n\s*\n", text) if part.strip())


def _code(text: str) -> str:
    """Words between backticks set as code, as docstrings have them."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _safe(text))


def _safe(text: str) -> str:
    return escape(inert(text))
