"""Render HTML reports and charts. All values are escaped, and the files have no scripts and need no other files."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ragboard.analysis import (
    BETTER,
    MORE_PASSAGES,
    JudgedStatement,
    cost_texts,
    diff_note,
    metric_range,
    metric_settings,
    verdict_in_words,
)
from ragboard.analysis.verdict_style import (
    ARROWS,
    CHANGE_CLASSES,
    CHANGE_TEXTS,
    CSS_CLASSES_WORST_FIRST,
    EVIDENCE_SOURCES,
    MATCHED_BY,
    STATEMENT_CHANGES,
    VERDICT_STYLES,
    VerdictStyle,
    evidence_style,
    human_verdict_line,
    statement_style,
    support_sentence,
)
from ragboard.metrics.claim_classes import CLAIM_CLASSES
from ragboard.records import Passage, Sample, Score
from ragboard.spans import Offsets, covered_pieces, strip_bidi_controls
from ragboard.stats import Interval, ci_text, range_text

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["MAX_CHARACTERS", "TextPart", "cut", "cut_note", "mark_answer", "mark_passage", "readable", "render"]

MAX_CHARACTERS = 20_000
"""Maximum number of characters of a text in a report."""

_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_DATA = {
    "ARROWS": ARROWS,
    "BETTER": BETTER,
    "CHANGE_TEXTS": CHANGE_TEXTS,
    "CHANGE_CLASSES": CHANGE_CLASSES,
    "STATEMENT_CHANGES": STATEMENT_CHANGES,
    "MATCHED_BY": MATCHED_BY,
    "MORE_PASSAGES": MORE_PASSAGES,
    "VERDICT_STYLES": VERDICT_STYLES,
}


def render(template: str, title: str, **values: object) -> str:
    """Fill a template in `templates/` with these values, and replace unreadable characters.

    Raises UndefinedError if the template uses a missing value.
    """
    environment = _environment()
    style = environment.get_template("report.css").render()
    text = environment.get_template(template).render(
        title=" ".join(title.split()),
        style_digest=b64encode(sha256(style.encode()).digest()).decode(),
        version=_version(),
        **values,
    )
    return readable(text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ragboard.export"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["scored"] = lambda value: isinstance(value, Score)
    environment.tests["interval"] = lambda value: isinstance(value, Interval)
    environment.filters.update(cut=cut, thousands="{:,}".format, plain=_plain)
    functions: tuple[Callable[..., object], ...] = (
        *(
            mark_answer,
            chart_x,
            ci_text,
            cost_texts,
            cut_note,
            diff_note,
            metric_range,
            metric_settings,
            mark_passage,
            range_text,
        ),
        *(statement_notes, statement_style, verdict_counts, verdict_in_words),
    )
    names: Any = environment.globals
    names.update(_DATA, **{function.__name__: function for function in functions})
    return environment


def _version() -> str:
    """Return the installed version with a leading space; empty if ragboard is not installed."""
    try:
        return f" {version('ragboard')}"
    except PackageNotFoundError:
        return ""


def readable(text: str) -> str:
    """Replace characters that a UTF-8 file or a page cannot contain, or that reorder text. Offsets do not change."""
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", strip_bidi_controls(text))


def _plain(text: str) -> str:
    """Return a docstring as one line of text without backticks."""
    return " ".join(text.replace("`", "").split())


def cut(text: str) -> str:
    """Shorten a text to `MAX_CHARACTERS`."""
    return text[:MAX_CHARACTERS]


def cut_note(text: str) -> str:
    """Return a note on how much of a text is shown; empty if the whole text is shown."""
    return f"The first {MAX_CHARACTERS:,} of {len(text):,} characters are shown." if len(text) > MAX_CHARACTERS else ""


def chart_x(value: float, low: float, high: float) -> str:
    """Return the x position of a value on a chart whose axis, from `low` to `high`, goes from x = 6 to x = 234."""
    share = (min(max(value, low), high) - low) / ((high - low) or 1)
    return f"{6 + 228 * share:.1f}"


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text that is marked in one style or not marked."""

    text: str
    style: VerdictStyle | None = None
    """None if it is not marked."""
    ends: tuple[tuple[int, VerdictStyle], ...] = ()
    """(number, style) of the statements whose mark ends with this part. Numbers start at 1."""


def mark_answer(answer: str, statements: Sequence[JudgedStatement]) -> list[TextPart]:
    """Shorten the answer, and split it into parts marked with the verdicts of its statements."""
    return _mark(
        cut(answer),
        [
            ((judged.statement.span.start, judged.statement.span.end), number, statement_style(judged))
            for number, judged in enumerate(statements, 1)
            if judged.statement.span
        ],
    )


def mark_passage(passage: Passage, statements: Sequence[JudgedStatement]) -> tuple[list[TextPart], list[str]]:
    """Shorten the passage, and split it into parts in which evidence is marked; also say how the evidence was found."""
    evidence: list[tuple[Offsets, int, VerdictStyle]] = []
    sources: dict[str, None] = {}
    for number, judged in enumerate(statements, 1):
        single = judged.single.get(passage.rank) if judged.verdict is None else None
        verdict = judged.verdict or (single if single and single.label != "unsupported" else None)
        for mark in verdict.evidence if verdict else ():
            if verdict and mark.rank == passage.rank:
                evidence.append(((mark.start, mark.end), number, evidence_style(verdict, mark)))
                sources[EVIDENCE_SOURCES[mark.how]] = None
    return _mark(cut(passage.text), evidence), list(sources)


def _mark(text: str, marks: Sequence[tuple[Offsets, int, VerdictStyle]]) -> list[TextPart]:
    """Split the text into parts; where marks overlap, the worst verdict is shown."""
    parts: list[TextPart] = []
    last = 0
    for piece in covered_pieces({index: span for index, (span, _, _) in enumerate(marks)}, len(text)):
        worst = min(
            (marks[member][2] for member in piece.members), key=lambda style: CSS_CLASSES_WORST_FIRST.index(style.css)
        )
        ending = [marks[member][1:] for member in piece.members if marks[member][0][1] == piece.end]
        parts.append(TextPart(text[last : piece.start]))
        parts.append(TextPart(text[piece.start : piece.end], worst, tuple(dict.fromkeys(ending))))
        last = piece.end
    return [*parts, TextPart(text[last:])]


def statement_notes(judged: JudgedStatement, sample: Sample) -> list[str]:
    """Return notes on a statement: the judge's reason, supporting passages, the claim class, the score, and labels."""
    reason = judged.verdict.reason if judged.verdict else ""
    ranks = {passage.rank for passage in sample.contexts or ()}
    notes = [reason, support_sentence(judged, ranks), CLAIM_CLASSES[judged.origin] if judged.origin else ""]
    if judged.verdict and judged.verdict.score is not None:
        notes.append(f"support {judged.verdict.score:.2f}")
    notes.append(judged.draws_in_words)
    return list(dict.fromkeys(filter(None, [*notes, *map(human_verdict_line, judged.people)])))


def verdict_counts(statements: Sequence[JudgedStatement]) -> Mapping[VerdictStyle, int]:
    """Count the statements by joint verdict or, without one, by their verdict against single passages."""
    icons = [statement_style(statement).icon for statement in statements]
    return {style: icons.count(style.icon) for style in VERDICT_STYLES.values()}
