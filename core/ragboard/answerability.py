"""Whether a question is answerable, read from columns of the run file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from ragboard.records import Answerability, JsonValue

__all__ = ["ANSWERABILITY_CLASSES", "ANSWERABILITY_COLUMNS", "READ_COLUMNS", "answerability_of"]

ANSWERABILITY_CLASSES: tuple[Answerability, ...] = get_args(Answerability)

ANSWERABILITY_COLUMNS = ("answerability", "answerable", "is_impossible")
"""Columns of a run file that say whether a question is answerable. The first one with a value counts. `is_impossible`
is from SQuAD 2."""

READ_COLUMNS = ("answerability", "Answerability", "answerable", "Answerable", "is_impossible")
"""`ANSWERABILITY_COLUMNS` and the capitalised names in MTRAG."""

_TRUE, _FALSE = ("true", "yes", "y", "t", "1", "1.0"), ("false", "no", "n", "f", "0", "0.0")
_EMPTY = ("", "null", "none", "nan", "n/a", "na")


def answerability_of(metadata: Mapping[str, JsonValue], *, compat: bool = False) -> Answerability | None:
    """Return the answerability of a sample's question from its metadata; None if no column has a value.

    A value is one of MTRAG's classes, a list with one of them, true or false. Raises ValueError for any other value.
    With `compat`, do as MTRAG's program does: read the first item of a longer list, and return None for other values.
    """
    for column in READ_COLUMNS:
        value = metadata.get(column)
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = (value[0] if len(value) == 1 or compat else str(list(value))) if value else None
        word = "" if value is None else str(value).strip().casefold()
        if word in _EMPTY:
            continue
        for known in ANSWERABILITY_CLASSES:
            if word == known:
                return known
        if word in (*_TRUE, *_FALSE):
            return "answerable" if (word in _TRUE) != (column == "is_impossible") else "unanswerable"
        if not compat:
            expected = f"true, false, or one of {', '.join(ANSWERABILITY_CLASSES)}"
            raise ValueError(f"{column} is {value!r:.80}; expected {expected}")
        return None
    return None
