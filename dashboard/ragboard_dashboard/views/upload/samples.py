"""Show the first samples of an uploaded file as they will be imported."""

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
MAX_SAMPLES = 3
"""Maximum number of samples shown."""
MAX_ITEMS = 5
"""Maximum number of passages, turns, statements or judgements shown for a sample."""
MAX_CHARACTERS = 400
"""Maximum number of characters of a text."""


def draw_samples(runs: Sequence[Run]) -> None:
    """Draw the first samples with everything that the import will store."""
    st.html(STYLES)
    st.html(samples_html(runs))


def samples_html(runs: Sequence[Run]) -> str:
    """Return the first samples as HTML, side by side, with the run's name if there are several runs."""
    first_samples = [(run, index) for run in runs for index in range(len(run.samples))][:MAX_SAMPLES]
    count = len(first_samples)
    title = f"First {count} samples as they will be read" if count > 1 else "First sample as it will be read"
    articles = "".join(_article(run, index, with_name=len(runs) > 1) for run, index in first_samples)
    return f'<section class="rb-first" aria-label="{title}"><h2>{title}</h2><div>{articles}</div></section>'


def _article(run: Run, index: int, *, with_name: bool) -> str:
    sample = run.samples[index]
    entries = [("Run", _text(run.name))] if with_name else []
    entries += _sample_entries(sample)
    if run.scores:
        recorded = run.scores.recorded[index] if run.scores.recorded else RecordedSample()
        entries += [("Scores", _scores(run.scores, index)), *_tool_entries(recorded)]
    entries += [("Metadata", _text(", ".join(sample.metadata))), (LABELS["id"], _text(sample.id))]
    body = "".join(f"<dt>{label}</dt><dd>{value}</dd>" for label, value in entries if value)
    return f"<article><dl>{body}</dl></article>"


def _sample_entries(sample: Sample) -> list[tuple[str, str]]:
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


def _tool_entries(recorded: RecordedSample) -> list[tuple[str, str]]:
    statements = (
        f"<b>{style_of(verdict).icon} {style_of(verdict).word}</b> {_text(statement.text)}"
        f"{_quiet(' of the reference') if statement.side == 'reference' else ''}"
        for statement, verdict in recorded.statements
    )
    judgements = (
        f"{_text(judgement.about)} {judgement.number}: <b>{_text(judgement.says)}</b>"
        for judgement in recorded.judgements
    )
    return [("Statements", _list(statements)), ("Other judgements", _list(judgements))]


def _nugget(nugget: Nugget) -> str:
    return " ".join(filter(None, (_text(nugget.text), nugget.importance and _quiet(nugget.importance))))


def _passage(passage: Passage) -> str:
    with_name = "" if passage.id == str(passage.rank) else f"<b>{_text(passage.id)}</b>"
    scored = "" if passage.score is None else _quiet(f"score {passage.score:g}")
    return " ".join(filter(None, (with_name, scored, _text(passage.text))))


def _passages(passages: Sequence[str] | None) -> str:
    if passages is None:
        return _missing()
    return _list(passages) or _quiet("an empty list")


def _scores(scores: FileScores, index: int) -> str:
    def score(spec: str, column: str) -> str:
        outcome = scores.outcomes[index][spec]
        if isinstance(outcome, Score):
            return f"{_text(column)} <b>{outcome.value:.2f}</b>"
        return f"{_text(column)} {_quiet(f'unscored: {outcome.detail}')}"

    return f"<ul>{''.join(f'<li>{score(spec, column)}</li>' for spec, column in scores.columns.items())}</ul>"


def _list(items: Iterable[str]) -> str:
    """Return the first items as an HTML list, with the number of other items; empty without items."""
    remaining = iter(items)
    body = "".join(f"<li>{item}</li>" for item in islice(remaining, MAX_ITEMS))
    left_out = sum(1 for _ in remaining)
    return f"<ol>{body}</ol>{_quiet(f'and {left_out:,} more') if left_out else ''}" if body else ""


def _text(text: str) -> str:
    """Return a text as HTML on one line. A long text is cut, and the number of cut characters is shown."""
    text = " ".join(text.split())
    if len(text) <= MAX_CHARACTERS:
        return html_escaped(text)
    return f"{html_escaped(text[:MAX_CHARACTERS])}… {_quiet(f'{len(text) - MAX_CHARACTERS:,} more characters')}"


def _missing() -> str:
    return _quiet("not in the file")


def _quiet(text: str) -> str:
    return f'<span class="rb-quiet">{html_escaped(text)}</span>'
