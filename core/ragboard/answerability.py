"""Whether a question is answerable, read from columns of the run file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from ragboard.records import JsonValue

__all__ = ["ANSWERABILITY_COLUMNS", "Answerability", "answerability_of"]

Answerability: TypeAlias = Literal["answerable", "partial", "unanswerable", "conversational", "underspecified"]
"""The classes of MTRAG (Katsis et al. 2025, arXiv 2501.03468): the collection contains the answer (answerable), a part
of it (partial) or none (unanswerable); the message is not a question (conversational) or is unclear
(underspecified)."""

CLASSES: tuple[Answerability, ...] = get_args(Answerability)

ANSWERABILITY_COLUMNS = ("answerability", "answerable", "is_impossible")
"""Columns of a run file with the answerability of a question, in order of precedence; `is_impossible` is SQuAD 2's."""

_BOOLEANS: Mapping[str, bool] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def answerability_of(metadata: Mapping[str, JsonValue]) -> Answerability | None:
    """Read the answerability of a sample's question from its metadata; None if no column has a value.

    A value is one of MTRAG's classes (in any case, also as a list of one), or true or false. Raises ValueError for
    anything else.
    """
    for column in ANSWERABILITY_COLUMNS:
        value = metadata.get(column)
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = value[0] if len(value) == 1 else None if not value else str(list(value))
        if value is None or value == "":
            continue
        word = str(value).strip().casefold()
        for answerability in CLASSES:
            if word == answerability:
                return answerability
        if word not in _BOOLEANS:
            raise ValueError(f"{column} is {value!r}; expected true, false, or one of {', '.join(CLASSES)}")
        negated = column == "is_impossible"
        return "answerable" if _BOOLEANS[word] != negated else "unanswerable"
    return None
