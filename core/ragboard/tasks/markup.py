"""Format texts for prompts: in tags that a text cannot imitate.

A text that contains such a tag could close its own tag and pretend to be another passage. If any text contains one,
all tags of the request get a mark that occurs in none of the texts. The marked request differs from the unmarked one,
so `task_key` includes the mark; the keys of all other tasks stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from itertools import count, groupby

from ragboard.records import Turn

__all__ = [
    "MAX_HISTORY_CHARACTERS",
    "conversation",
    "imitates",
    "mark_for",
    "numbered",
    "numbered_lines",
    "tagged_sample",
]

MAX_HISTORY_CHARACTERS = 16_000
"""The most characters of earlier turns in a prompt. Replies depend on it, but task keys do not include it."""

# The heading above the texts of a prompt, `# Now`, as it is in JSON: at the start of a line.
_HEADING = re.compile(r"#(?:(?<=\\[nrt]#)|(?<=[\s\"]#))#*[ \t]+now[ \t]*(?:\\[nr]|\")", re.IGNORECASE)


def imitates(texts_json: str, tags: Iterable[str]) -> bool:
    """Return whether the texts, in JSON, contain one of these tags or the heading above the texts of a prompt."""
    return bool(_tag(frozenset(tags)).search(texts_json) or _HEADING.search(texts_json))


@cache
def _tag(names: frozenset[str]) -> re.Pattern[str]:
    listed = "|".join(sorted(map(re.escape, names)))
    return re.compile(rf"<(?:\s*/\s*)?(?:{listed})(?![\w-])", re.IGNORECASE)


def mark_for(texts: str) -> str:
    """Return a mark that occurs nowhere in the texts: 8 hexadecimal digits, the same for equal texts."""
    digests = (blake2b(f"{number}{texts}".encode(), digest_size=4).hexdigest() for number in count())
    return next(digest for digest in digests if digest not in texts)


def tagged_sample(question: str, contexts: tuple[str, ...], answer: str | None, mark: str = "") -> str:
    """Format the question, the passages if there are any, and the answer unless it is None."""
    parts = [f"<question{mark}>\n{question}\n</question{mark}>"]
    if contexts:
        parts.append(numbered("passage", contexts, mark))
    if answer is not None:
        parts.append(f"<answer{mark}>\n{answer}\n</answer{mark}>")
    return "\n".join(parts)


def numbered(tag: str, texts: tuple[str, ...], mark: str = "") -> str:
    """Put each text, unchanged, in a tag with its number, from 1."""
    return "\n".join(f'<{tag}{mark} number="{number}">\n{text}\n</{tag}{mark}>' for number, text in enumerate(texts, 1))


def numbered_lines(tag: str, texts: tuple[str, ...], mark: str = "") -> str:
    """Put each text on one line in a tag with its number, from 1."""
    return "\n".join(
        f'<{tag}{mark} number="{number}">{" ".join(text.split())}</{tag}{mark}>' for number, text in enumerate(texts, 1)
    )


def conversation(turns: Sequence[Turn], mark: str = "") -> str:
    """Format the turns in order, and say which are left out.

    From the newest turn back, each turn that still fits in `MAX_HISTORY_CHARACTERS` is kept, whole.
    """
    left, fitting = MAX_HISTORY_CHARACTERS, set[int]()
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
