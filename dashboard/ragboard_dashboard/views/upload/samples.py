"""Shows the first samples of an uploaded file as they would be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import streamlit as st

from ragboard.analysis.verdict_style import style_of
from ragboard.records import FileScores, Nugget, Passage, RecordedSample, Run, Sample, Score
from ragboard_dashboard.text import html_escaped
from ragboard_dashboard.views.upload.columns import LABELS

__all__ = ["draw_samples", "samples_html"]

STYLES = Path(__file__).with_name("samples.css")
SHOWN = 3
"""Samples that are shown."""
ITEMS = 5
"""Most passages, turns, statements or judgements that are shown of a sample."""
TEXT = 400
"""Most characters that are shown of a text."""


def draw_samples(runs: Sequence[Run]) -> None:
    """Draw the first samples with all that would be kept of them."""
    st.html(STYLES)
    st.html(samples_html(runs))


def samples_html(runs: Sequence[Run]) -> str:
    """The first samples of the runs, side by side; the name of its run above each if there are several."""
    found = [(run, place) for run in runs for place in range(len(run.samples))][:SHOWN]
    title = f"First {len(found)} samples as they will be read" if len(found) > 1 else "First sample as it will be read"
    articles = "".join(_article(run, place, named=len(runs) > 1) for run, place in found)
    return f'<section class="rb-first" aria-label="{title}"><h2>{title}</h2><div>{articles}</div></section>'


def _article(run: Run, place: int, *, named: bool) -> str:
    sample = run.samples[place]
    entries = [("Run", _text(run.name))] if named else []
    entries += _of_sample(sample)
    if run.scores:
        recorded = run.scores.recorded[place] if run.scores.recorded else RecordedSample()
        entries += [("Scores", _scores(run.scores, place)), *_of_tool(recorded)]
    entries += [("Kept as metadata", _text(", ".join(sample.metadata))), (LABELS["id"], _text(sample.id))]
    shown = "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in entries if value)
    return f"<article><dl>{shown}</dl></article>"


def _of_sample(sample: Sample) -> list[tuple[str, str]]:
    gold = None if sample.reference_contexts is None else [_text(text) for text in sample.reference_contexts]
    return [
        (LABELS["history"], _list(f"<b>{turn.role}</b> {_text(turn.text)}" for turn in sample.history)),
        (LABELS["question"], _text(sample.question)),
        (LABELS["answer"], _missing() if sample.answer is None else _text(sample.answer) or _quiet("empty")),
        (LABELS["contexts"], _passages(None if sample.contexts is None else list(map(_passage, sample.contexts)))),
        (LABELS["reference"], "" if sample.reference is None else _text(sample.reference) or _quiet("empty")),
        (LABELS["reference_contexts"], "" if gold is None else _passages(gold)),
        (LABELS["nuggets"], _list(_nugget(nugget) for nugget in sample.nuggets or ())),
    ]


def _of_tool(recorded: RecordedSample) -> list[tuple[str, str]]:
    statements = (
        f"<b>{style_of(verdict).icon} {style_of(verdict).word}</b> {_text(statement.text)}"
        f"{_quiet(' of the reference') if statement.side == 'reference' else ''}"
        for statement, verdict in recorded.statements
    )
    judgements = (f"{_text(one.about)} {one.number}: <b>{_text(one.says)}</b>" for one in recorded.judgements)
    return [("Statements", _list(statements)), ("Other judgements", _list(judgements))]


def _nugget(nugget: Nugget) -> str:
    return " ".join(filter(None, (_text(nugget.text), nugget.importance and _quiet(nugget.importance))))


def _passage(passage: Passage) -> str:
    named = "" if passage.id == str(passage.rank) else f"<b>{_text(passage.id)}</b>"
    scored = "" if passage.score is None else _quiet(f"score {passage.score:g}")
    return " ".join(filter(None, (named, scored, _text(passage.text))))


def _passages(passages: Sequence[str] | None) -> str:
    if passages is None:
        return _missing()
    return _list(passages) or _quiet("an empty list")


def _scores(scores: FileScores, place: int) -> str:
    def score(spec: str, column: str) -> str:
        outcome = scores.outcomes[place][spec]
        if isinstance(outcome, Score):
            return f"{_text(column)} <b>{outcome.value:.2f}</b>"
        return f"{_text(column)} {_quiet(f'unscored: {outcome.detail}')}"

    return f"<ul>{''.join(f'<li>{score(spec, column)}</li>' for spec, column in scores.columns.items())}</ul>"


def _list(items: Iterable[str]) -> str:
    """The first items as a list, with the number of those left out; empty without items."""
    rest = iter(items)
    shown = "".join(f"<li>{item}</li>" for item in islice(rest, ITEMS))
    left = sum(1 for _ in rest)
    return f"<ol>{shown}</ol>{_quiet(f'and {left:,} more') if left else ''}" if shown else ""


def _text(text: str) -> str:
    """A text of the file on one line, escaped, cut with the number of characters left out."""
    text = " ".join(text.split())
    if len(text) <= TEXT:
        return html_escaped(text)
    return f"{html_escaped(text[:TEXT])}… {_quiet(f'{len(text) - TEXT:,} more characters')}"


def _missing() -> str:
    return _quiet("not in the file")


def _quiet(text: str) -> str:
    return f'<span class="rb-quiet">{html_escaped(text)}</span>'
