"""Texts in their tags, as prompts show them. `mark` ends the name of every tag of a prompt; most prompts have none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ragboard.records import Turn

__all__ = ["HISTORY", "conversation", "lines", "material", "numbered"]

HISTORY = 16_000
"""Characters of earlier turns that a prompt shows at most. Task keys do not hold it, and replies depend on it."""


def material(question: str, contexts: tuple[str, ...], answer: str | None, mark: str = "") -> str:
    """The question, the passages where there are any, and the answer where it is not None."""
    parts = [f"<question{mark}>\n{question}\n</question{mark}>"]
    if contexts:
        parts.append(numbered("passage", contexts, mark))
    if answer is not None:
        parts.append(f"<answer{mark}>\n{answer}\n</answer{mark}>")
    return "\n".join(parts)


def numbered(tag: str, texts: tuple[str, ...], mark: str = "") -> str:
    """Each text as it stands in a tag with its number, from 1."""
    return "\n".join(f'<{tag}{mark} number="{number}">\n{text}\n</{tag}{mark}>' for number, text in enumerate(texts, 1))


def lines(tag: str, texts: tuple[str, ...], mark: str = "") -> str:
    """Each text on a line of its own in a tag with its number, from 1."""
    return "\n".join(
        f'<{tag}{mark} number="{number}">{" ".join(text.split())}</{tag}{mark}>' for number, text in enumerate(texts, 1)
    )


def conversation(turns: Sequence[Turn], mark: str = "") -> str:
    """The turns in order, each whole or not at all: the newest first as long as they fit; it says which do not."""
    left, fitting = HISTORY, set[int]()
    for number in range(len(turns), 0, -1):
        length = len(turns[number - 1].text)
        if length <= left:
            fitting.add(number)
            left -= length
    parts: list[str] = []
    for shown, group in groupby(range(1, len(turns) + 1), key=fitting.__contains__):
        numbers = list(group)
        if shown:
            parts += (_turn(number, turns[number - 1], mark) for number in numbers)
        else:
            parts.append(f"(left out for length: {_named(numbers[0], numbers[-1])})")
    return "\n".join(parts)


def _turn(number: int, turn: Turn, mark: str) -> str:
    return f'<turn{mark} number="{number}" role="{turn.role}">\n{turn.text}\n</turn{mark}>'


def _named(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first} to {last}"
