"""What the Compare page hands to its widgets: the metrics, the pairs, and one pair side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragboard.analysis import (
    Comparison,
    JudgedStatement,
    JudgeNoise,
    MetricComparison,
    PairReport,
    PairRow,
    SampleReport,
    StatementChange,
)
from ragboard.analysis.verdict_style import ARROWS, CHANGE_STYLES, CHANGES, KINDS, MATCHED_BY, statement_style
from ragboard.records import Outcome, Passage, Score
from ragboard.spans import inert
from ragboard.stats import Interval, ci_text
from ragboard_dashboard.components import COMPONENTS, widget
from ragboard_dashboard.components.pairs import changed_words, passage_group
from ragboard_dashboard.links import address

__all__ = ["forest", "forest_data", "pair_data", "pairs_data"]

_draw_forest = widget("forest", "compare", Path(__file__).with_name("forest.js"), COMPONENTS / "pairs.css")

_THICK = " Thick: all values that the unscored samples allow."


def forest(compared: Comparison, noise: Sequence[JudgeNoise], *, key: str) -> None:
    """Draw the difference of each metric, and behind it how far two evaluations of one run differ."""
    _draw_forest(key=key, data=forest_data(compared, noise))


def forest_data(compared: Comparison, noise: Sequence[JudgeNoise] = ()) -> dict[str, Any]:
    """What the component draws, as JSON-ready data."""
    rows: list[dict[str, Any]] = [
        _metric(metric) | {"noise": _noise(metric.metric, noise)} for metric in compared.metrics
    ]
    ends = [abs(row[end]) for row in rows for end in ("low", "high", "difference") if row[end] is not None]
    ends += [abs(band[end]) for row in rows for band in row["noise"] for end in ("low", "high")]
    band = (
        " Pale band: judge noise, the difference between two evaluations of one run by the same judge." if noise else ""
    )
    return {
        "caption": "Difference (B - A) with 95% CI, all on one scale. Dashed: no difference. Grey: not significant."
        f"{band}" + (_THICK if compared.policy == "bounds" else ""),
        "reach": max(ends, default=0.0) or 1.0,
        "titles": {
            "difference": "Difference",
            "change": "Result, p (Holm)",
            "a": "Mean A",
            "b": "Mean B",
            "pairs": "Pairs",
            "won": "B higher / equal / lower",
            "detectable": "Smallest detectable",
        },
        "rows": rows,
    }


def _metric(metric: MetricComparison) -> dict[str, Any]:
    found = metric.pairs
    bounds = found.interval if found and isinstance(found.interval, Interval) else None
    least, most = metric.bounds or (None, None)
    return {
        "metric": inert(metric.metric),
        "least": least,
        "most": most,
        "label": inert(metric.label),
        "arrow": ARROWS[metric.direction],
        "look": CHANGE_STYLES.get(metric.change, "none"),
        "change": CHANGES.get(metric.change, metric.change),
        "difference": found.difference if found else None,
        "low": bounds.low if bounds else None,
        "high": bounds.high if bounds else None,
        "interval": _interval(metric),
        "warning": found.warning if found else "",
        "p": f"p = {metric.p:.2g}" if metric.p is not None else "",
        "a": f"{found.first:.3f}" if found else "–",
        "b": f"{found.second:.3f}" if found else "–",
        "pairs": f"{found.n:,}" if found else "0",
        "unscored": "; ".join(filter(None, [metric.note, _unscored(metric)])),
        "won": f"{found.sign.wins:,} / {found.ties:,} / {found.sign.losses:,}" if found else "–",
        "detectable": f"{found.detectable:.3f}" if found and found.detectable is not None else "–",
    }


def _noise(metric: str, noise: Sequence[JudgeNoise]) -> list[dict[str, Any]]:
    """The bands behind one metric, and what they are."""
    return [
        {"low": one.found.interval.low, "high": one.found.interval.high, "words": inert(f"Noise: {one}.")}
        for one in noise
        if one.metric == metric and isinstance(one.found.interval, Interval)
    ]


def _interval(metric: MetricComparison) -> str:
    found = metric.pairs
    if found is None:
        return "no pair is scored in both runs"
    return f"{found.difference:+.3f}, {ci_text(found.interval, '+.3f')}"


def _unscored(metric: MetricComparison) -> str:
    counts = {"in both": metric.unscored, "in A": metric.scored_b, "in B": metric.scored_a}
    reasons = {
        side: ", ".join(f"{count} {reason}" for reason, count in given.items())
        for side, given in (("A", metric.reasons_a), ("B", metric.reasons_b))
    }
    said = ", ".join(f"{count:,} unscored {where}" for where, count in counts.items() if count)
    named = {side: reason for side, reason in reasons.items() if reason}
    alike = len(set(named.values())) == 1
    why = next(iter(named.values())) if alike else "; ".join(f"{side}: {reason}" for side, reason in named.items())
    return f"{said} ({why})" if why else said


def pairs_data(rows: Sequence[PairRow], compared: Comparison, query: dict[str, str], caption: str) -> dict[str, Any]:
    """The pairs as rows, each a link to the page with `query`."""
    return {
        "caption": caption,
        "titles": {"change": "Change", "a": f"A {inert(compared.a.name)}", "b": f"B {inert(compared.b.name)}"},
        "rows": [_pair_row(row, query) for row in rows],
    }


def _pair_row(row: PairRow, query: dict[str, str]) -> dict[str, Any]:
    difference = "" if row.difference is None or row.change == "same" else f" {row.difference:+.2f}"
    renamed = "" if row.sample_a == row.sample_b else f" and {row.sample_b}"
    return {
        "key": row.sample_a,
        "href": address("compare", query | {"pair": row.sample_a}),
        "question": inert(row.question),
        "where": inert(f"sample {row.sample_a}{renamed}"),
        "change": f"{CHANGES[row.change]}{difference}",
        "look": CHANGE_STYLES.get(row.change, "none"),
        "a": _score(row.a, row.claims_a),
        "b": _score(row.b, row.claims_b),
    }


def _score(outcome: Outcome, claims: int) -> dict[str, str]:
    said = f"{claims} statements" if claims != 1 else "1 statement"
    if isinstance(outcome, Score):
        return {"shown": f"{outcome.value:.2f}", "note": said}
    return {"shown": "unscored", "note": inert(f"{outcome.reason}: {outcome.detail}; {said}")}


def pair_data(found: PairReport) -> dict[str, Any]:
    """What the component draws, as JSON-ready data."""
    return {
        "a": _answer(found, found.a, "A", "new"),
        "b": _answer(found, found.b, "B", "gone"),
        "heading": f"Statements: {len(found.a.statements)} in A, {len(found.b.statements)} in B",
        "statements": [_change(change) for change in found.statements],
        "groups": [
            _passages(f"Lost: {len(found.lost)} passages only in A", "A", found.lost),
            _passages(f"Gained: {len(found.gained)} passages only in B", "B", found.gained),
        ],
    }


def _answer(found: PairReport, report: SampleReport, letter: str, other: str) -> dict[str, Any]:
    note = "The run file has no answer for this question." if report.sample.answer is None else ""
    return {
        "title": inert(f"{letter} · {report.run.name}"),
        "note": note or ("The answer is a refusal, at least in part." if report.refuses else ""),
        "words": changed_words(found.answers, but=other),
    }


def _change(change: StatementChange) -> dict[str, Any]:
    icon, look = KINDS[change.kind]
    return {
        "icon": icon,
        "look": look,
        "kind": change.kind,
        "how": MATCHED_BY[change.how],
        "a": _said(change.a, change.number_a),
        "b": _said(change.b, change.number_b),
    }


def _said(judged: JudgedStatement | None, number: int | None) -> dict[str, Any] | None:
    if judged is None:
        return None
    look = statement_style(judged)
    return {
        "icon": look.icon,
        "word": look.word,
        "look": look.css,
        "number": number,
        "text": inert(judged.statement.text),
        "reason": inert(judged.verdict.reason) if judged.verdict else "",
    }


def _passages(title: str, letter: str, passages: Sequence[Passage]) -> dict[str, Any]:
    return passage_group(title, [(f"rank {one.rank} in {letter} · {one.id}", one.text) for one in passages])
