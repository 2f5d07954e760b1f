"""Tags and headings that separate the texts of a prompt, and texts that imitate them.

A text that holds such a tag could close its own and pass for another passage. Where one does, all tags of the
request carry a mark that stands in none of its texts. The request is then another one than without the mark, so
`task_key` counts the mark in; every other task keeps its key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import blake2b
from itertools import count

__all__ = ["TAGS", "imitates", "mark_for"]

TAGS: Mapping[str, tuple[str, ...]] = {
    "ExtractStatements": ("question", "answer", "turn"),
    "Verify": ("question", "passage", "statement", "turn"),
    "GenerateQuestions": ("answer", "turn"),
    "SelectSentences": ("question", "sentence", "turn"),
    "Critique": ("description", "question", "passage", "answer", "turn"),
    "Rate": ("quality", "question", "passage", "answer", "turn"),
    "Prefer": ("quality", "question", "passage", "candidate", "turn"),
    "JudgePassages": ("question", "answer", "passage", "turn"),
    "ExtractEntities": ("text",),
    "RateAnswer": ("question", "answer", "turn"),
    "WriteQuestions": ("passage",),
    "WriteAnswer": ("question", "passage"),
    "Classify": ("question", "passage", "answer", "turn"),
}
"""By the name of a task type, the tags that its prompts put around texts."""


def imitates(texts: str, tags: Iterable[str]) -> bool:
    """Whether the texts, as JSON, hold one of these tags or the heading under which a prompt shows its texts."""
    return bool(_tag(frozenset(tags)).search(texts) or _HEADING.search(texts))


_HEADING = re.compile(r"#(?:(?<=\\[nrt]#)|(?<=[\s\"]#))#*[ \t]+now[ \t]*(?:\\[nr]|\")", re.IGNORECASE)


@cache
def _tag(names: frozenset[str]) -> re.Pattern[str]:
    listed = "|".join(sorted(map(re.escape, names)))
    return re.compile(rf"<(?:\s*/\s*)?(?:{listed})(?![\w-])", re.IGNORECASE)


def mark_for(texts: str) -> str:
    """A mark that stands nowhere in the texts; the same for the same texts."""
    digests = (blake2b(f"{number}{texts}".encode(), digest_size=4).hexdigest() for number in count())
    return next(digest for digest in digests if digest not in texts)
