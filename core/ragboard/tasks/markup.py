"""Put the texts of a prompt in tags that no text can imitate.

A passage that contains `</passage>` could make the model read the rest as instructions or as another passage. If a text
contains a tag of the prompt, every tag of the prompt gets a mark that occurs in no text: `<passage-1f0c9a2b>`. A marked
prompt can get another reply, so `task_key` depends on whether there is a mark.
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
    "contains_tag",
    "mark_for",
    "tagged_lines",
    "tagged_sample",
    "tagged_texts",
    "tagged_turns",
]

MAX_HISTORY_CHARACTERS = 16_000
"""Maximum number of characters of earlier turns in a prompt. If it is changed, task keys stay the same."""

# Matches `# Now`, the heading before the texts in every prompt, at the start of a line in a JSON string.
_HEADING = re.compile(r"#(?:(?<=\\[nrt]#)|(?<=[\s\"]#))#*[ \t]+now[ \t]*(?:\\[nr]|\")", re.IGNORECASE)


def contains_tag(texts_json: str, tags: Iterable[str]) -> bool:
    """Return whether the JSON text contains one of these tags or the heading `# Now`."""
    # Both patterns begin with a fixed character. Few texts contain it, and `in` is much faster than a search.
    if "<" in texts_json and _tag_pattern(frozenset(tags)).search(texts_json):
        return True
    return "#" in texts_json and _HEADING.search(texts_json) is not None


@cache
def _tag_pattern(names: frozenset[str]) -> re.Pattern[str]:
    any_name = "|".join(sorted(map(re.escape, names)))
    return re.compile(rf"<(?:\s*/\s*)?(?:{any_name})(?![\w-])", re.IGNORECASE)


def mark_for(texts: str) -> str:
    """Return 8 hexadecimal digits that do not occur in the texts. Equal texts get equal digits."""
    digests = (blake2b(f"{number}{texts}".encode(), digest_size=4).hexdigest() for number in count())
    return next(digest for digest in digests if digest not in texts)


def tagged_sample(question: str, contexts: tuple[str, ...], answer: str | None, mark: str = "") -> str:
    """Put question, passages and answer in tags. An answer of None and missing passages are left out."""
    parts = [f"<question{mark}>\n{question}\n</question{mark}>"]
    if contexts:
        parts.append(tagged_texts("passage", contexts, mark))
    if answer is not None:
        parts.append(f"<answer{mark}>\n{answer}\n</answer{mark}>")
    return "\n".join(parts)


def tagged_texts(tag: str, texts: tuple[str, ...], mark: str = "") -> str:
    """Put each text in a tag with its number, from 1."""
    return "\n".join(f'<{tag}{mark} number="{number}">\n{text}\n</{tag}{mark}>' for number, text in enumerate(texts, 1))


def tagged_lines(tag: str, texts: tuple[str, ...], mark: str = "") -> str:
    """Put each text in a tag with its number, from 1, with line breaks replaced by spaces."""
    return "\n".join(
        f'<{tag}{mark} number="{number}">{" ".join(text.split())}</{tag}{mark}>' for number, text in enumerate(texts, 1)
    )


def tagged_turns(turns: Sequence[Turn], mark: str = "") -> str:
    """Put each turn in a tag with its number and role, in order.

    If the turns are longer than `MAX_HISTORY_CHARACTERS`, the newest turns that fit are kept, and a note replaces the
    others.
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
