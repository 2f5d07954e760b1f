"""The tables of the Compare page: metrics, pairs, and one pair side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ragboard.analysis import (
    ChangedQuestion,
    Comparison,
    JudgedStatement,
    JudgeNoise,
    MetricComparison,
    PairReport,
    PairRow,
    SampleReport,
    StatementChange,
    cost_texts,
)
from ragboard.analysis.verdict_style import (
    ARROWS,
    CHANGE_CLASSES,
    CHANGE_TEXTS,
    MATCHED_BY,
    STATEMENT_CHANGES,
    statement_style,
    verdict_words,
)
from ragboard.records import Outcome, Passage, Score
from ragboard.spans import strip_bidi_controls
from ragboard.stats import Interval, ci_text
from ragboard.tasks.base import count_in_words
from ragboard_dashboard.components import COMPONENTS, widget
from ragboard_dashboard.components.pairs import changed_words, passage_group
from ragboard_dashboard.links import address
from ragboard_dashboard.text import UNSCORED_REASONS, shortened

__all__ = [
    "changed_data",
    "cost_data",
    "cost_table",
    "forest",
    "forest_data",
    "grades_data",
    "grades_table",
    "pair_data",
    "pairs_data",
    "unscored_in_words",
]

_draw_forest = widget("forest", "compare", Path(__file__).with_name("forest.js"), COMPONENTS / "pairs.css")

_TITLES = {
    "metric": "Metric",
    "change": "Result, p (Holm)",
    "difference": "Difference (B - A)",
    "a": "Mean A",
    "b": "Mean B",
    "pairs": "Questions",
}
_OR_EXPLAINED = ", or the number of passages can explain it"
_THICK = "Thick: all values that the difference can have, depending on the scores of unscored samples."
_MEANS = "Means are over the questions scored in both runs. The Runs page shows means over all scored samples of a run."


def forest(
    compared: Comparison, noise: Sequence[JudgeNoise], *, key: str, shown: Collection[str] | None = None
) -> None:
    """Draw the difference of each metric in `shown`, and behind it the judge noise. Cautions link to their metric."""
    _draw_forest(key=key, data=forest_data(compared, noise, shown))


def cost_table(compared: Comparison, *, key: str) -> None:
    """Draw cost and time per answer."""
    _draw_forest(key=key, data=cost_data(compared))


def grades_table(compared: Comparison, *, key: str) -> None:
    """Draw the human grades, separate from the judge's metrics."""
    _draw_forest(key=key, data=grades_data(compared))


def forest_data(
    compared: Comparison, noise: Sequence[JudgeNoise] = (), shown: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the differences as data for JSON. The scale fits all metrics, also those not in `shown`."""
    warnings = Counter(one.pairs.warning for one in compared.metrics if one.pairs and one.pairs.ties < one.pairs.n)
    shared = [warning for warning, count in warnings.items() if warning and count > 1]
    few = {warning for warning in warnings if warning.startswith("fewer than") and compared.few}  # above the table
    rows = [
        _metric(metric, _noise(metric.metric, noise), compared.tested, {*shared, *few}) for metric in compared.metrics
    ]
    ends = [abs(row[end]) for row in rows for end in ("low", "high", "difference") if row[end] is not None]
    ends += [abs(band[end]) for row in rows for band in row["noise"] for end in ("low", "high")]
    left_out = any(metric.pairs and _left_out(metric) for metric in compared.metrics)
    explained = any(one.change == "explained by passages" for one in compared.metrics)
    caption = (
        f"Dotted line: no difference. Grey: not significant{_OR_EXPLAINED if explained else ''}.",
        "Pale band: how much two evaluations of one run by the same judge differ." if noise else "",
        _THICK if compared.policy == "bounds" else "",
        _MEANS if left_out or compared.unpaired_a.only or compared.unpaired_b.only else "",
        *(f"⚠ {warning[0].upper()}{warning[1:]}." for warning in shared if warning not in few),
    )
    return {
        "caption": " ".join(filter(None, caption)),
        "reach": max(ends, default=0.0) or 1.0,
        "titles": _TITLES,
        "rows": [row for one, row in zip(compared.metrics, rows, strict=True) if shown is None or one.metric in shown],
    }


def cost_data(compared: Comparison) -> dict[str, Any]:
    """Return cost and time as data for JSON, without a common scale, because units differ."""
    caption = "Cost and time per answer, from the run files. Lower is better."
    return _columns_data(compared.costs, "Column", caption)


def grades_data(compared: Comparison) -> dict[str, Any]:
    """Return the human grades as data for JSON, without a common scale, because their ranges are unknown."""
    caption = (
        "Human grades from the run files, not from the judge. If there are several annotators: their mean. Higher is"
        " better."
    )
    return _columns_data([_without_warning(one) for one in compared.grades], "Grade", caption)


def _without_warning(one: MetricComparison) -> MetricComparison:
    """Return a comparison of grades without the warning about missing bounds, which does not apply to a short scale."""
    return replace(one, pairs=one.pairs and replace(one.pairs, warning=""))


def _columns_data(columns: Sequence[MetricComparison], title: str, caption: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for column in columns:
        row = _metric(column, [], sum(one.counts_as_comparison for one in columns))
        if column.pairs:
            row["a"], row["b"], difference, interval = cost_texts(column.pairs)
            row["interval"] = f"{difference}, {interval}"
        rows.append(row)
    return {"caption": caption, "reach": None, "titles": _TITLES | {"metric": title}, "rows": rows}


def _metric(
    metric: MetricComparison, noise: list[dict[str, Any]], tested: int, shared: Collection[str] = ()
) -> dict[str, Any]:
    """Return one row of the table. If no question differs, it has no interval.

    `tested` is the number of comparisons that p is adjusted for. Warnings in `shared` are already in the caption.
    """
    found = metric.pairs
    bounds = found.interval if found and isinstance(found.interval, Interval) and found.ties < found.n else None
    warning = found.warning if found and bounds and found.warning not in shared else ""
    least, most = metric.bounds or (None, None)
    beyond = metric.change == "no significant difference" and bounds is not None and not bounds.low <= 0 <= bounds.high
    adjusted = f"The CI excludes 0, but p is adjusted for {tested} distinct comparisons (Holm)." if beyond else ""
    same = f"Same scores as {metric.same_as}: counted once." if metric.same_as else ""
    notes = [adjusted, same, warning, metric.note, *(one["words"] for one in noise)]
    return {
        "metric": strip_bidi_controls(metric.metric),
        "least": least,
        "most": most,
        "label": strip_bidi_controls(metric.label),
        "arrow": ARROWS[metric.direction],
        "look": CHANGE_CLASSES.get(metric.change, "none"),
        "change": _result(metric),
        "difference": found.difference if found else None,
        "low": bounds.low if bounds else None,
        "high": bounds.high if bounds else None,
        "interval": _interval(metric),
        "caution": strip_bidi_controls(metric.caution and f"⚠ {metric.caution}"),
        "href": address("metrics", {"q": metric.metric}),
        "notes": [strip_bidi_controls(note) for note in notes if note],
        "noise": noise,
        "p": f"p = {metric.p:.2g}" if metric.p is not None and not metric.all_equal else "",
        "a": f"{found.first:.2f}" if found else "–",
        "b": f"{found.second:.2f}" if found else "–",
        "pairs": _pair_count(metric),
    }


def _result(metric: MetricComparison) -> str:
    if metric.change == "explained by passages" and metric.pairs:
        return f"{'lower' if metric.pairs.difference < 0 else 'higher'}, number of passages can explain it"
    return "no difference" if metric.all_equal else CHANGE_TEXTS.get(metric.change, metric.change)


def _noise(metric: str, noise: Sequence[JudgeNoise]) -> list[dict[str, Any]]:
    """Return the bands of judge noise behind one metric, with their descriptions."""
    return [
        {
            "low": one.paired.interval.low,
            "high": one.paired.interval.high,
            "words": strip_bidi_controls(f"Noise: {one}."),
        }
        for one in noise
        if one.metric == metric and isinstance(one.paired.interval, Interval)
    ]


def _interval(metric: MetricComparison) -> str:
    found = metric.pairs
    if found is None:
        return "no sample is scored in both runs"
    if metric.same_passages:
        return "cannot differ: both runs have the same passages"
    if found.ties == found.n:  # the CI then depends only on the number of questions
        return "no question differs"
    return f"{found.difference:+.2f}, {ci_text(found.interval, '+.2f')}"


def _pair_count(metric: MetricComparison) -> str:
    """Return the number of pairs that count: `60`, or `58 of 60` if some do not."""
    n = metric.pairs.n if metric.pairs else 0
    left_out = _left_out(metric)
    return f"{n:,} of {n + left_out:,}" if left_out else f"{n:,}"


def _left_out(metric: MetricComparison) -> int:
    return 0 if metric.note else metric.scored_only_a + metric.scored_only_b + metric.scored_in_neither


def unscored_in_words(metric: MetricComparison) -> str:
    """Count the unscored pairs: `1 unscored in B (1 refused in full)`. Empty if all are scored."""
    counts = {"in both": metric.scored_in_neither, "in A": metric.scored_only_b, "in B": metric.scored_only_a}
    reasons = {
        side: ", ".join(f"{count} {UNSCORED_REASONS.get(reason, reason)}" for reason, count in given.items())
        for side, given in (("A", metric.reasons_a), ("B", metric.reasons_b))
    }
    unscored = ", ".join(f"{count:,} unscored {where}" for where, count in counts.items() if count)
    named = {side: reason for side, reason in reasons.items() if reason}
    alike = len(set(named.values())) == 1
    why = next(iter(named.values())) if alike else "; ".join(f"{side}: {reason}" for side, reason in named.items())
    return f"{unscored} ({why})" if why else unscored


def changed_data(found: Sequence[ChangedQuestion], compared: Comparison, query: dict[str, str]) -> dict[str, Any]:
    """Return a table of the largest changes, whose links have the parameters `query`. Rows show the largest change."""
    caption = f"{_largest_caption(found)} Click a question to see both answers."
    return pairs_data((), compared, query, caption) | {"rows": [_changed_row(one, query) for one in found]}


def _largest_caption(found: Sequence[ChangedQuestion]) -> str:
    """Return the caption: `The 3 questions that changed most, all for the better.`."""
    count = f"The {len(found)} questions" if len(found) > 1 else "The question"
    changes = {one.scores[0].change if one.scores else "" for one in found}
    only = {"better": ", all for the better", "worse": ", all for the worse"} if len(found) > 1 else {}
    return f"{count} that changed most{only.get(next(iter(changes)), '') if len(changes) == 1 else ''}."


def _changed_row(one: ChangedQuestion, query: dict[str, str]) -> dict[str, Any]:
    row = {
        "href": address("compare", query | {"pair": one.sample_a}),
        "question": strip_bidi_controls(one.question),
        "where": strip_bidi_controls(" · ".join(filter(None, [*map(str, one.scores[1:]), str(one)]))),
    }
    if one.refuses and not (one.in_part and one.scores):  # neither better nor worse: a refusal can be right
        refuses = "refuses in part" if one.in_part else "refuses"
        sides = {side: {"shown": refuses if one.refuses == side.upper() else "answers", "note": ""} for side in "ab"}
        others = str(one).removeprefix(one.refusal).removeprefix("; ")
        where = strip_bidi_controls(" · ".join(filter(None, [*map(str, one.scores), others])))
        return row | {"change": f"≠ {one.refusal}", "look": "", "where": where} | sides
    first = one.scores[0]
    return row | {
        "change": strip_bidi_controls(
            f"{CHANGE_TEXTS[first.change].split()[0]} {first.label} {first.b - first.a:+.2f}"
        ),
        "look": CHANGE_CLASSES.get(first.change, "none"),
        "a": {"shown": f"{first.a:.2f}", "note": ""},
        "b": {"shown": f"{first.b:.2f}", "note": ""},
    }


def pairs_data(rows: Sequence[PairRow], compared: Comparison, query: dict[str, str], caption: str) -> dict[str, Any]:
    """Return a table of pairs, whose links have the parameters `query`."""
    a, b = (strip_bidi_controls(shortened(run.name)) for run in (compared.a, compared.b))
    return {
        "caption": caption,
        "titles": {"change": "Change", "a": f"A {a}", "b": f"B {b}"},
        "rows": [_pair_row(row, query) for row in rows],
    }


def _pair_row(row: PairRow, query: dict[str, str]) -> dict[str, Any]:
    difference = "" if row.difference is None or row.change == "same" else f" {row.difference:+.2f}"
    renamed = "" if row.sample_a == row.sample_b else f" and {row.sample_b}"
    return {
        "href": address("compare", query | {"pair": row.sample_a}),
        "question": strip_bidi_controls(row.question),
        "where": strip_bidi_controls(f"sample {row.sample_a}{renamed}"),
        "change": f"{CHANGE_TEXTS[row.change]}{difference}",
        "look": CHANGE_CLASSES.get(row.change, "none"),
        "a": _score(row.a, row.statements_a),
        "b": _score(row.b, row.statements_b),
    }


def _score(outcome: Outcome, statements: int) -> dict[str, str]:
    note = f"{statements} statements" if statements != 1 else "1 statement"
    if isinstance(outcome, Score):
        return {"shown": f"{outcome.value:.2f}", "note": note}
    return {"shown": "unscored", "note": strip_bidi_controls(f"{outcome.reason}: {outcome.detail}; {note}")}


def pair_data(found: PairReport) -> dict[str, Any]:
    """Return one pair side by side, for the browser component."""
    moved = (
        (f"Lost: {count_in_words(found.lost, 'passage')} only in A", "A", found.lost),
        (f"Gained: {count_in_words(found.gained, 'passage')} only in B", "B", found.gained),
    )
    rechunked = (
        (
            f"Re-chunked: {count_in_words(found.rechunked_a, 'passage')} of A, split differently in B",
            "A",
            found.rechunked_a,
        ),
        (
            f"Re-chunked: {count_in_words(found.rechunked_b, 'passage')} of B, split differently in A",
            "B",
            found.rechunked_b,
        ),
    )
    return {
        "a": _answer(found, found.a, "A"),
        "b": _answer(found, found.b, "B"),
        "heading": f"Statements: {len(found.a.statements)} in A, {len(found.b.statements)} in B",
        "statements": [_change(change, found) for change in found.statements],
        "groups": [
            *(_passages(title, letter, passages) for title, letter, passages in (*moved, *rechunked) if passages),
        ],
        "opened": True,
    }


def _answer(found: PairReport, report: SampleReport, letter: Literal["A", "B"]) -> dict[str, Any]:
    note = "The run file has no answer for this question." if report.sample.answer is None else ""
    return {
        "title": strip_bidi_controls(f"{letter} · {shortened(report.run.name)}"),
        "note": note or ("The answer refuses, in full or in part." if report.refuses else ""),
        "words": changed_words(found.answers, letter),
    }


def _change(change: StatementChange, found: PairReport) -> dict[str, Any]:
    icon, look = STATEMENT_CHANGES[change.kind]
    return {
        "icon": icon,
        "look": look,
        "kind": change.kind,
        "how": MATCHED_BY[change.how],
        "a": _statement(change.a, change.number_a, found.a),
        "b": _statement(change.b, change.number_b, found.b),
    }


def _statement(judged: JudgedStatement | None, number: int | None, report: SampleReport) -> dict[str, Any] | None:
    if judged is None:
        return None
    style = statement_style(judged)
    return {
        "icon": style.icon,
        "word": verdict_words(judged, rule_based=report.judged is not None and report.judged.heuristic),
        "look": style.css,
        "number": number,
        "text": strip_bidi_controls(judged.statement.text),
        "reason": strip_bidi_controls(judged.verdict.reason) if judged.verdict else "",
    }


def _passages(title: str, letter: str, passages: Sequence[Passage]) -> dict[str, Any]:
    return passage_group(
        title, [(f"rank {passage.rank} in {letter} · {passage.id}", passage.text) for passage in passages]
    )
