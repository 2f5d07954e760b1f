"""Word-by-word differences of two texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, get_args

__all__ = ["Change", "diff_note", "shared_words", "text_of_side", "word_diff"]

ChangeKind = Literal["same", "gone", "new"]

MIN_SHARED = 0.5
"""Differences are not marked if the texts share less than this share of their words, because most would be marked."""

MAX_WORDS = 4000
"""Longer texts are compared by sentences, because a comparison by words would take too long."""

_WORDS = re.compile(r"\S+\s*|\s+")
_SENTENCES = re.compile(r"[^.!?\n]*[.!?\n]+\s*|[^.!?\n]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Consecutive words that are in both texts (`same`), only in the first (`gone`), or only in the second (`new`)."""

    kind: ChangeKind
    text: str


def word_diff(first: str, second: str) -> tuple[Change, ...]:
    """Return the changes from the first text to the second, in order. Gone words come before new ones.

    Swapping the texts swaps gone and new.
    """
    words_a, words_b = _WORDS.findall(first), _WORDS.findall(second)
    if max(len(words_a), len(words_b)) > MAX_WORDS:
        words_a, words_b = _SENTENCES.findall(first), _SENTENCES.findall(second)
    changes: list[Change] = []
    for kind, text in _diff_pieces(words_a, words_b):
        if changes and changes[-1].kind == kind:
            changes[-1] = Change(kind=kind, text=changes[-1].text + text)
        elif text:
            changes.append(Change(kind=kind, text=text))
    return tuple(changes)


def shared_words(changes: Iterable[Change]) -> float:
    """Return the share of words that are in both texts in the same order, in [0, 1]; 1 for two empty texts."""
    counts = dict.fromkeys(get_args(ChangeKind), 0)
    for change in changes:
        counts[change.kind] += len(change.text.split())
    total = 2 * counts["same"] + counts["gone"] + counts["new"]
    return 2 * counts["same"] / total if total else 1.0


def text_of_side(changes: Sequence[Change], side: Literal["A", "B"]) -> tuple[Change, ...]:
    """Return the text of one side in pieces, or in one piece if differences are not marked (`MIN_SHARED`)."""
    other: ChangeKind = "new" if side == "A" else "gone"
    pieces = tuple(change for change in changes if change.kind != other)
    if not pieces or shared_words(changes) >= MIN_SHARED:
        return pieces
    return (Change(kind="same", text="".join(change.text for change in pieces)),)


def diff_note(changes: Sequence[Change]) -> str:
    """Explain the marks of `text_of_side`, or say why there are none."""
    shared = shared_words(changes)
    if shared < MIN_SHARED:
        return f"The two texts share only {shared:.0%} of their words, so the differences are not marked."
    return "Highlighted: words that only this text has." if shared < 1 else "Both texts are the same."


def _diff_pieces(first: Sequence[str], second: Sequence[str]) -> Iterable[tuple[ChangeKind, str]]:
    # words are compared without white space; equal words are shown as in the second text
    a, b = [word.strip() for word in first], [word.strip() for word in second]
    for equal, start_a, end_a, start_b, end_b in _matching_spans(a, b):
        if equal:
            yield "same", "".join(second[start_b:end_b])
            continue
        yield "gone", "".join(first[start_a:end_a])
        yield "new", "".join(second[start_b:end_b])


def _matching_spans(a: list[str], b: list[str]) -> Iterable[tuple[bool, int, int, int, int]]:
    """Yield spans of equal and of different words: (whether equal, start in a, end in a, start in b, end in b).

    SequenceMatcher is not symmetric, so the texts are compared in sorted order.
    """
    if b < a:
        for equal, start_b, end_b, start_a, end_a in _matching_spans(b, a):
            yield equal, start_a, end_a, start_b, end_b
        return
    for tag, start_a, end_a, start_b, end_b in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        yield tag == "equal", start_a, end_a, start_b, end_b
