"""The samples of a run: filters, the list, and its pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from ragboard.analysis import Only, Order, RunSummary, SampleQuery, SampleRow, headline, sample_table
from ragboard.analysis.verdict_style import VERDICT_STYLES
from ragboard.records import Outcome, Score, UnscoredReason
from ragboard.spans import strip_bidi_controls
from ragboard.store import RunRef
from ragboard_dashboard.components import widget
from ragboard_dashboard.controls import (
    export_control,
    first_page,
    offer_sql,
    page_number,
    pager,
)
from ragboard_dashboard.data import (
    get_sample_rows,
    get_samples_sql,
    get_self_agreement,
    store,
)
from ragboard_dashboard.links import address
from ragboard_dashboard.text import column_title
from ragboard_dashboard.views.run.charts import Range

__all__ = ["ONLY", "ORDERS", "list_samples", "sample_list", "samples_data"]

PAGE_SIZE = 25
ORDERS: dict[Order, str] = {
    "worst": "Most unsupported first",
    "lowest": "Lowest first",
    "highest": "Highest first",
    "file": "File order",
    "unsure": "Judge least sure first",
}
ONLY: dict[Only, str] = {
    "all": "All samples",
    "loose": "With unsupported statements",
    "refusing": "Refusals",
    "retrieved nothing": "Without passages",
    "unscored": "Unscored",
    "beyond": "Missing the threshold",
}
NOTES: Mapping[UnscoredReason, str] = {
    "undefined": "nothing to judge",
    "refusal": "refused in full",
    "failed": "the judge failed",
    "skipped": "a column is missing",
}
"""Short reasons why a sample has no score."""
MAX_QUESTION = 300
"""Maximum number of characters of a question."""
MAX_ID = 80
"""Maximum number of characters of a sample id."""
MAX_NAMED = 2
"""Maximum number of metrics named in a note."""

_HERE = Path(__file__).parent
_draw = widget("samples", "samples", _HERE / "samples.js", _HERE / "samples.css")


def list_samples(run: RunRef, summary: RunSummary, column: str, between: Range | None) -> None:
    """Draw the filters and the list of samples. `between` limits the samples to a range of `column`."""
    with st.container():  # in this container, phones show the list before the filters
        _list_samples(run, summary, column, between)


def _list_samples(run: RunRef, summary: RunSummary, column: str, between: Range | None) -> None:
    query = _query(run, column, between)
    found = get_sample_rows(run, query)
    if query.offset and not found.rows:
        query = replace(query, offset=0)
        found = get_sample_rows(run, query)
    if not found.rows:
        st.info("No sample matches these filters.", icon=":material/filter_alt_off:")
        return
    titles = {spec: column_title(spec) for spec in (*summary.metrics, *summary.file_scores)}
    caption = f"{found.total:,} of {summary.samples:,} samples. Click a question to open it."
    name = st.query_params["run"]  # it may name an evaluation
    with st.container(key="first-on-phones-samples"):
        sample_list(found.rows, titles, name, caption, key=f"samples-{run.run_id}")
    offer_sql(get_samples_sql(run, query), "samples")
    pager(found.total, PAGE_SIZE, query.offset // PAGE_SIZE + 1)


def _query(run: RunRef, column: str, between: Range | None) -> SampleQuery:
    with st.container(key="beside-on-phones"):
        search, only, order, export = st.columns([3, 2, 2, 1])
    in_url: dict[str, Any] = {"bind": "query-params", "label_visibility": "collapsed", "on_change": first_page}
    words = search.text_input("Search", placeholder="Search questions and answers", key="q", **in_url)
    chosen = only.selectbox("Show", list(ONLY), format_func=ONLY.__getitem__, key="only", **in_url)
    orders = [one for one in ORDERS if one != "unsure" or get_self_agreement(run)]
    sort = order.selectbox("Order", orders, format_func=ORDERS.__getitem__, key="order", **in_url)
    query = SampleQuery(
        column=column,
        order=sort,
        only=chosen,
        between=between,
        search=words or "",
        limit=PAGE_SIZE,
        offset=(page_number() - 1) * PAGE_SIZE,
    )
    with export:
        export_control(f"{run.name} samples", lambda: sample_table(store(), run, query))
    return query


def sample_list(rows: Sequence[SampleRow], titles: Mapping[str, str], run: str, caption: str, *, key: str) -> None:
    """Draw samples with a column for each metric in `titles`."""
    _draw(key=key, data=samples_data(rows, titles, run, caption))


def samples_data(rows: Sequence[SampleRow], titles: Mapping[str, str], run: str, caption: str) -> dict[str, Any]:
    """Return the list of samples for the browser component. With several draws, it has a column of flips."""
    has_flips = any(row.flips for row in rows)
    return {
        "caption": caption,
        "titles": [*(strip_bidi_controls(title) for title in titles.values()), *(["Flips"] if has_flips else [])],
        "first": [*(spec in headline(list(titles)) for spec in titles), *([True] if has_flips else [])],
        "rows": [_row(row, titles, run, has_flips=has_flips) for row in rows],
    }


def _row(row: SampleRow, titles: Mapping[str, str], run: str, *, has_flips: bool) -> dict[str, Any]:
    outcomes = {**row.scores, **row.file_scores}
    reasons: dict[UnscoredReason, list[str]] = {}
    for spec, outcome in row.scores.items():
        if not isinstance(outcome, Score):
            reasons.setdefault(outcome.reason, []).append(titles.get(spec, spec))
    unscored = [_note(reason, names) for reason, names in reasons.items()]
    refuses = "" if "refusal" in reasons or not row.refuses else "refuses, in full or in part"
    return {
        "href": address("sample", {"run": run, "sample": row.sample_id}),
        "question": strip_bidi_controls(row.question[:MAX_QUESTION]),
        "labels": [
            {"name": label, "icon": look.icon, "count": count}
            for label, look in VERDICT_STYLES.items()
            if (count := row.labels.get(label, 0))
        ],
        "scores": [*(_score(outcomes.get(spec)) for spec in titles), *([_flips(row)] if has_flips else [])],
        "note": strip_bidi_controls("; ".join(filter(None, [refuses, *unscored]))),
        "id": strip_bidi_controls(row.sample_id[:MAX_ID]),
    }


def _flips(row: SampleRow) -> dict[str, str]:
    return {
        "shown": f"{row.flips[0]} of {row.flips[1]}" if row.flips else "–",
        "why": row.flips_in_words or "judged once",
    }


def _note(reason: UnscoredReason, names: Sequence[str]) -> str:
    """Return a note: `no score for Context relevance: nothing to judge`. For full refusals, it is only the reason."""
    if reason == "refusal":
        return NOTES[reason]
    return f"no score for {', '.join(names) if len(names) <= MAX_NAMED else f'{len(names)} metrics'}: {NOTES[reason]}"


def _score(outcome: Outcome | None) -> dict[str, str]:
    if isinstance(outcome, Score):
        return {"shown": f"{outcome.value:.2f}", "why": strip_bidi_controls(outcome.counted)}
    return {
        "shown": "–",
        "why": strip_bidi_controls(f"{outcome.reason}: {outcome.detail}") if outcome else "not evaluated",
    }
