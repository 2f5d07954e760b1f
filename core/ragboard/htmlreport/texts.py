"""Texts of users and models with places in them marked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ragboard.analysis import JudgedStatement
from ragboard.analysis.verdict_style import WORST_FIRST, VerdictStyle, statement_style
from ragboard.htmlreport.elements import Element, Node, element
from ragboard.spans import Stretch, layered

__all__ = ["LONGEST", "answer_marked", "cut", "passage_marked", "verdict_words"]

LONGEST = 20_000
"""Characters of a text that a report shows."""

Worst = Callable[[int], VerdictStyle]


def cut(text: str) -> tuple[str, str]:
    """As much of a text as is shown, and what to say of the rest."""
    if len(text) <= LONGEST:
        return text, ""
    return text[:LONGEST], f"The first {LONGEST:,} of {len(text):,} characters are shown."


def verdict_words(look: VerdictStyle) -> Element:
    """A verdict as icon and word."""
    return element("span", element("span", look.icon, class_="icon", aria_hidden="true"), look.word, class_=_tone(look))


def answer_marked(answer: str, statements: Sequence[JudgedStatement], place: str) -> list[Node]:
    """The answer; behind each statement its icon, its number and, unless it is supported, the word."""
    spans = {
        number: (said.statement.span.start, said.statement.span.end)
        for number, said in enumerate(statements)
        if said.statement.span
    }
    return _marked(answer, spans, lambda number: statement_style(statements[number]), f"{place}-", worded=True)


def passage_marked(text: str, evidence: Mapping[int, tuple[Stretch, VerdictStyle, int]], place: str) -> list[Node]:
    """A passage; behind each piece of evidence the number of the statement it speaks of.

    `evidence` is numbered as it comes: where, how it looks, and which statement (from 0).
    """
    spans = {number: stretch for number, (stretch, _, _) in evidence.items()}
    statements = {number: of for number, (_, _, of) in evidence.items()}
    return _marked(text, spans, lambda number: evidence[number][1], f"{place}-", numbers=statements)


def _marked(
    text: str,
    spans: Mapping[int, Stretch],
    look: Worst,
    place: str,
    *,
    numbers: Mapping[int, int] | None = None,
    worded: bool = False,
) -> list[Node]:
    nodes: list[Node] = []
    last = 0
    for piece in layered(spans, len(text)):
        nodes.append(text[last : piece.start])
        worst = min((look(member) for member in piece.members), key=lambda one: WORST_FIRST.index(one.css))
        nodes.append(element("mark", text[piece.start : piece.end], class_=_tone(worst)))
        ending = [member for member in piece.members if min(spans[member][1], len(text)) == piece.end]
        shown = dict.fromkeys((numbers[member] if numbers else member, look(member)) for member in ending)
        nodes.extend(_note(number, one, place, worded=worded) for number, one in shown)
        last = piece.end
    return [*nodes, text[last:]]


def _note(number: int, look: VerdictStyle, place: str, *, worded: bool) -> Element:
    word = f" {look.word}" if worded and not look.css.startswith("supported") else ""
    return element("a", f"{look.icon}{number + 1}{word}", class_=f"ref {_tone(look)}", href=f"#{place}{number + 1}")


def _tone(look: VerdictStyle) -> str:
    return f"tone {look.css}"
