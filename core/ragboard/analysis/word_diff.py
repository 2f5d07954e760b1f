"""Two texts word by word: what both have, what only the first, what only the second."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

__all__ = ["Change", "word_diff"]

Kind = Literal["same", "gone", "new"]

MOST_WORDS = 4000
"""Texts with more words on a side are compared sentence by sentence: words would take too long."""

_WORDS = re.compile(r"\S+\s*|\s+")
_SENTENCES = re.compile(r"[^.!?\n]*[.!?\n]+\s*|[^.!?\n]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A stretch of words. The first text is all that is not new, the second all that is not gone."""

    kind: Kind
    text: str


def word_diff(first: str, second: str) -> tuple[Change, ...]:
    """The changes from the first text to the second, in order; what is gone stands before what is new."""
    ours, theirs = _WORDS.findall(first), _WORDS.findall(second)
    if max(len(ours), len(theirs)) > MOST_WORDS:
        ours, theirs = _SENTENCES.findall(first), _SENTENCES.findall(second)
    changes: list[Change] = []
    for kind, text in _pieces(ours, theirs):
        if changes and changes[-1].kind == kind:
            changes[-1] = Change(kind=kind, text=changes[-1].text + text)
        elif text:
            changes.append(Change(kind=kind, text=text))
    return tuple(changes)


def _pieces(ours: Sequence[str], theirs: Sequence[str]) -> Iterable[tuple[Kind, str]]:
    # Words are the same whatever white space follows them; what is shown is then the second's.
    a, b = [word.strip() for word in ours], [word.strip() for word in theirs]
    for tag, start, end, there, until in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            yield "same", "".join(theirs[there:until])
            continue
        yield "gone", "".join(ours[start:end])
        yield "new", "".join(theirs[there:until])
