"""A report as one HTML file: templates over values, all of them escaped; the file runs nothing and loads nothing."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ragboard.analysis import BETTER, JudgedStatement, metric_range, metric_settings
from ragboard.analysis.verdict_style import (
    ARROWS,
    CHANGE_STYLES,
    CHANGES,
    EVIDENCE,
    KINDS,
    MATCHED_BY,
    VERDICTS,
    WORST_FIRST,
    VerdictStyle,
    evidence_style,
    human_verdict_line,
    statement_style,
    what_passages_say,
)
from ragboard.metrics.partition import ORIGINS
from ragboard.records import Passage, Sample, Score
from ragboard.spans import Stretch, inert, layered
from ragboard.stats import Interval, ci_text, range_text

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["LONGEST", "Marked", "answer_marked", "cut", "cut_note", "passage_marked", "readable", "render"]

LONGEST = 20_000
"""Characters of a text that a report shows."""

_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_DATA = {
    "ARROWS": ARROWS,
    "BETTER": BETTER,
    "CHANGES": CHANGES,
    "CHANGE_STYLES": CHANGE_STYLES,
    "KINDS": KINDS,
    "MATCHED_BY": MATCHED_BY,
    "VERDICTS": VERDICTS,
}


def render(template: str, title: str, **values: object) -> str:
    """One of `templates/` over these values, as a whole document.

    A value that a template names and nobody gave raises UndefinedError. Texts that no file in UTF-8 can hold, and
    controls that would reorder what is beside them, are replaced wherever they come from (`readable`).
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
        *(across, answer_marked, ci_text, cut_note, metric_range, metric_settings, passage_marked, range_text),
        *(statement_notes, statement_style, verdict_counts),
    )
    names: Any = environment.globals
    names.update(_DATA, **{function.__name__: function for function in functions})
    return environment


def _version() -> str:
    """The installed version behind a space; nothing in a source tree that was never installed."""
    try:
        return f" {version('ragboard')}"
    except PackageNotFoundError:
        return ""


def readable(text: str) -> str:
    """The text as a file in UTF-8 and a page can hold it; every position stays.

    What no text holds (controls, half of a character) becomes a replacement character, and what would reorder
    its surroundings is taken out.
    """
    return _UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", inert(text))


def _plain(text: str) -> str:
    """A docstring as running text."""
    return " ".join(text.replace("`", "").split())


def cut(text: str) -> str:
    """As much of a text as a report shows."""
    return text[:LONGEST]


def cut_note(text: str) -> str:
    """What to say of the rest of a text; empty where all of it is shown."""
    return f"The first {LONGEST:,} of {len(text):,} characters are shown." if len(text) > LONGEST else ""


def across(place: float, low: float, high: float) -> str:
    """Where a number is on a chart whose scale, from `low` to `high`, goes from x = 6 to x = 234."""
    share = (min(max(place, low), high) - low) / ((high - low) or 1)
    return f"{6 + 228 * share:.1f}"


@dataclass(frozen=True, slots=True)
class Marked:
    """A part of a text, and the statements whose mark ends behind it: number from 1 and style."""

    text: str
    style: VerdictStyle | None = None
    """None where it is not marked."""
    ends: tuple[tuple[int, VerdictStyle], ...] = ()


def answer_marked(answer: str, statements: Sequence[JudgedStatement]) -> list[Marked]:
    """The answer, cut, with its statements marked by their verdicts."""
    return _marked(
        cut(answer),
        [
            ((said.statement.span.start, said.statement.span.end), number, statement_style(said))
            for number, said in enumerate(statements, 1)
            if said.statement.span
        ],
    )


def passage_marked(passage: Passage, statements: Sequence[JudgedStatement]) -> tuple[list[Marked], list[str]]:
    """The passage, cut, with the evidence in it marked by the statement it is of; and how the evidence was found."""
    evidence: list[tuple[Stretch, int, VerdictStyle]] = []
    hows: dict[str, None] = {}
    for number, said in enumerate(statements, 1):
        alone = said.single.get(passage.rank) if said.verdict is None else None
        verdict = said.verdict or (alone if alone and alone.label != "unsupported" else None)
        for mark in verdict.evidence if verdict else ():
            if verdict and mark.rank == passage.rank:
                evidence.append(((mark.start, mark.end), number, evidence_style(verdict, mark)))
                hows[EVIDENCE[mark.how]] = None
    return _marked(cut(passage.text), evidence), list(hows)


def _marked(text: str, marks: Sequence[tuple[Stretch, int, VerdictStyle]]) -> list[Marked]:
    """The text in parts; where marks overlap, the worst verdict is the one to see."""
    parts: list[Marked] = []
    last = 0
    for piece in layered({place: stretch for place, (stretch, _, _) in enumerate(marks)}, len(text)):
        worst = min((marks[member][2] for member in piece.members), key=lambda one: WORST_FIRST.index(one.css))
        ending = [marks[member][1:] for member in piece.members if marks[member][0][1] == piece.end]
        parts.append(Marked(text[last : piece.start]))
        parts.append(Marked(text[piece.start : piece.end], worst, tuple(dict.fromkeys(ending))))
        last = piece.end
    return [*parts, Marked(text[last:])]


def statement_notes(said: JudgedStatement, sample: Sample) -> list[str]:
    """The judge's reason, what the passages say, where the statement comes from, and what people say."""
    reason = said.verdict.reason if said.verdict else ""
    ranks = {passage.rank for passage in sample.contexts or ()}
    notes = [reason, what_passages_say(said, ranks), ORIGINS[said.origin] if said.origin else ""]
    if said.verdict and said.verdict.score is not None:
        notes.append(f"support {said.verdict.score:.2f}")
    return list(dict.fromkeys(filter(None, [*notes, *map(human_verdict_line, said.people)])))


def verdict_counts(statements: Sequence[JudgedStatement]) -> Mapping[VerdictStyle, int]:
    """How many statements have each verdict; of a single passage it counts too, where no other was asked for."""
    icons = [statement_style(said).icon for said in statements]
    return {style: icons.count(style.icon) for style in VERDICTS.values()}
