"""How prompts show texts: in tags, which a text that imitates one cannot leave.

A text that holds such a tag could close its own and pass for another passage. Where one does, all tags of the
request carry a mark that stands in none of its texts. The request is then another one than without the mark, so
`task_key` counts the mark in; every other task keeps its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from itertools import count, groupby

from ragboard.records import Turn

__all__ = ["HISTORY", "conversation", "imitates", "lines", "mark_for", "material", "numbered"]

HISTORY = 16_000
"""Characters of earlier turns that a prompt shows at most. Task keys do not hold it, and replies depend on it."""

_HEADING = re.compile(r"#(?:(?<=\\[nrt]#)|(?<=[\s\"]#))#*[ \t]+now[ \t]*(?:\\[nr]|\")", re.IGNORECASE)


def imitates(texts: str, tags: Iterable[str]) -> bool:
    """Whether the texts, as JSON, hold one of these tags or the heading under which a prompt shows its texts."""
    return bool(_tag(frozenset(tags)).search(texts) or _HEADING.search(texts))


@cache
def _tag(names: frozenset[str]) -> re.Pattern[str]:
    listed = "|".join(sorted(map(re.escape, names)))
    return re.compile(rf"<(?:\s*/\s*)?(?:{listed})(?![\w-])", re.IGNORECASE)


def mark_for(texts: str) -> str:
    """A mark that stands nowhere in the texts; the same for the same texts."""
    digests = (blake2b(f"{number}{texts}".encode(), digest_size=4).hexdigest() for number in count())
    return next(digest for digest in digests if digest not in texts)


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
            for number in numbers:
                turn = turns[number - 1]
                parts.append(f'<turn{mark} number="{number}" role="{turn.role}">\n{turn.text}\n</turn{mark}>')
        else:
            named = f"turn {numbers[0]}" if len(numbers) == 1 else f"turns {numbers[0]} to {numbers[-1]}"
            parts.append(f"(left out for length: {named})")
    return "\n".join(parts)
