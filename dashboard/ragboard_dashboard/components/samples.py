"""A page of a run's samples as a component: rows of a report in, the sample that was opened out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from streamlit.components.v2 import component

from ragboard.analysis import SampleRow
from ragboard.analysis.verdict_style import VERDICTS
from ragboard.records import Outcome, Score
from ragboard.spans import inert

__all__ = ["sample_list", "samples_data"]

LONGEST = 300
"""Characters of a question that are shown."""
LONGEST_ID = 80

_FILES = files("ragboard_dashboard") / "components"
_mount = component(
    "ragboard_samples",
    html='<div id="samples"></div>',
    css=(_FILES / "samples.css").read_text("utf-8"),
    js=(_FILES / "samples.js").read_text("utf-8"),
)


def sample_list(
    rows: Sequence[SampleRow], titles: Mapping[str, str], run: str, caption: str, *, key: str
) -> str | None:
    """Draw samples with a column for each metric of `titles`. Returns the id of the one just opened, else None."""
    opened: str | None = _mount(
        key=key, data=samples_data(rows, titles, run, caption), on_open_change=lambda: None
    ).open
    return opened


def samples_data(rows: Sequence[SampleRow], titles: Mapping[str, str], run: str, caption: str) -> dict[str, Any]:
    """What the component draws, as JSON-ready data."""
    return {
        "caption": caption,
        "titles": [inert(title) for title in titles.values()],
        "rows": [_row(row, list(titles), run) for row in rows],
    }


def _row(row: SampleRow, specs: Sequence[str], run: str) -> dict[str, Any]:
    outcomes = {**row.scores, **row.file_scores}
    reasons = [outcome.reason for outcome in row.scores.values() if not isinstance(outcome, Score)]
    return {
        "key": row.sample_id,
        "href": f"sample?{urlencode({'run': run, 'sample': row.sample_id})}",
        "question": inert(row.question[:LONGEST]),
        "labels": [
            {"name": label, "icon": look.icon, "count": count}
            for label, look in VERDICTS.items()
            if (count := row.labels.get(label, 0))
        ],
        "scores": [_score(outcomes.get(spec)) for spec in specs],
        "note": ", ".join(dict.fromkeys((["refuses"] if row.refuses else []) + list(reasons))),
        "id": inert(row.sample_id[:LONGEST_ID]),
    }


def _score(outcome: Outcome | None) -> dict[str, str]:
    if isinstance(outcome, Score):
        return {"shown": f"{outcome.value:.2f}", "why": inert(outcome.counted)}
    return {"shown": "–", "why": inert(f"{outcome.reason}: {outcome.detail}") if outcome else "not evaluated"}
