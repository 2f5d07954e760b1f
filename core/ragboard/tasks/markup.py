"""Put texts in tags for prompts, so that a text cannot imitate a tag.

A text that contains such a tag could end early and continue as another passage. If any text of a prompt contains such a
tag, all tags of the prompt get a mark that occurs in no text. A marked prompt is another question, so `task_key` covers
whether there is a mark.
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
"""Maximum number of characters of earlier turns in a prompt. Replies depend on it, but task keys do not include it."""

# Matches the heading `# Now`, which precedes the texts of a prompt, at the start of a line in a JSON string.
_HEADING = re.compile(r"#(?:(?<=\\[nrt]#)|(?<=[\s\"]#))#*[ \t]+now[ \t]*(?:\\[nr]|\")", re.IGNORECASE)


def imitates(texts_json: str, tags: Iterable[str]) -> bool:
    """Return whether the texts, given as JSON, contain one of these tags or the heading `# Now`."""
    return bool(_tag_pattern(frozenset(tags)).search(texts_json) or _HEADING.search(texts_json))


@cache
def _tag_pattern(names: frozenset[str]) -> re.Pattern[str]:
    any_name = "|".join(sorted(map(re.escape, names)))
    return re.compile(rf"<(?:\s*/\s*)?(?:{any_name})(?![\w-])", re.IGNORECASE)


def mark_for(texts: str) -> str:
    """Return a mark that does not occur in the texts: 8 hexadecimal digits. Equal texts have equal marks."""
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
    """Format the turns in order. If they are too long, some are replaced by a note.

    From the newest turn to the oldest, a turn is shown in full if it fits into the rest of `MAX_HISTORY_CHARACTERS`.
    """
    budget, fitting = MAX_HISTORY_CHARACTERS, set[int]()
    for number in range(len(turns), 0, -1):
        length = len(turns[number - 1].text)
        if length <= budget:
            fitting.add(number)
            budget -= length
    parts: list[str] = []
    for fits, group in groupby(range(1, len(turns) + 1), key=fitting.__contains__):
        numbers = list(group)
        if fits:
            for number in numbers:
                turn = turns[number - 1]
                parts.append(f'<turn{mark} number="{number}" role="{turn.role}">\n{turn.text}\n</turn{mark}>')
        else:
            omitted = f"turn {numbers[0]}" if len(numbers) == 1 else f"turns {numbers[0]} to {numbers[-1]}"
            parts.append(f"(left out for length: {omitted})")
    return "\n".join(parts)
