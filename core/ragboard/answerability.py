"""Whether a question can be answered, as columns of the run file say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from ragboard.records import JsonValue

__all__ = ["ANSWERABILITY_COLUMNS", "Answerability", "answerability_of"]

Answerability: TypeAlias = Literal["answerable", "partial", "unanswerable", "conversational", "underspecified"]
"""The classes of MTRAG (Katsis et al. 2025, arXiv 2501.03468): whether the collection has the answer, has a part of it,
or has none; whether the message is no question; and whether the question leaves open what is meant."""

CLASSES: tuple[Answerability, ...] = get_args(Answerability)

ANSWERABILITY_COLUMNS = ("answerability", "answerable", "is_impossible")
"""The columns of a run file that say it; the first that a sample has counts. `is_impossible` is SQuAD 2's."""

_WORDS: Mapping[str, bool] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def answerability_of(metadata: Mapping[str, JsonValue]) -> Answerability | None:
    """Return what the columns of a sample say; None if none of them is there, or it is empty.

    `answerability` has one of MTRAG's classes in any case, alone or as a list of one; `answerable` and `is_impossible`
    are true or false, or such a class. Raises ValueError for anything else.
    """
    for column in ANSWERABILITY_COLUMNS:
        value = metadata.get(column)
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = value[0] if len(value) == 1 else None if not value else str(list(value))
        if value is None or value == "":
            continue
        word = str(value).strip().casefold()
        for known in CLASSES:
            if word == known:
                return known
        if word not in _WORDS:
            raise ValueError(f"{column} is {value!r}; expected true, false, or one of {', '.join(CLASSES)}")
        return "answerable" if _WORDS[word] != (column == "is_impossible") else "unanswerable"
    return None
