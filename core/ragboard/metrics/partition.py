"""Six classes of the claims of an answer: right or wrong, and which passages support them.

Every claim is in exactly one class. RAGChecker's precision, noise sensitivities, hallucination, self-knowledge and
faithfulness are sums of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = ["CORRECT", "FROM_PASSAGES", "ORIGINS", "Origin", "origin", "partition", "relevant_passages"]

Origin = Literal[
    "right_relevant",
    "right_irrelevant",
    "self_knowledge",
    "wrong_relevant",
    "wrong_irrelevant",
    "hallucination",
]
"""Right (the reference supports it) or wrong; supported by a relevant passage, by irrelevant ones only, by none.

`self_knowledge` is right and supported by no passage, `hallucination` is wrong and supported by no passage.
"""

ORIGINS: dict[Origin, str] = {
    "right_relevant": "right, from a relevant passage",
    "right_irrelevant": "right, from an irrelevant passage",
    "self_knowledge": "right, from no passage (self-knowledge)",
    "wrong_relevant": "wrong, from a relevant passage",
    "wrong_irrelevant": "wrong, from an irrelevant passage",
    "hallucination": "wrong, from no passage (hallucination)",
}
"""Each class in words, in the order of reports."""

CORRECT: frozenset[Origin] = frozenset({"right_relevant", "right_irrelevant", "self_knowledge"})
FROM_PASSAGES: frozenset[Origin] = frozenset(
    {"right_relevant", "right_irrelevant", "wrong_relevant", "wrong_irrelevant"}
)

SupportTable = Sequence[Sequence[bool]]
"""One row per claim: whether each passage supports it."""


def relevant_passages(reference: SupportTable, passages: int) -> tuple[bool, ...]:
    """Return whether each passage supports at least one claim of the reference."""
    return tuple(any(row[place] for row in reference) for place in range(passages))


def origin(*, correct: bool, said_by: Sequence[bool], relevant: Sequence[bool]) -> Origin:
    """Return the class of one claim; `said_by` and `relevant` have one entry per passage."""
    sources = [useful for says, useful in zip(said_by, relevant, strict=True) if says]
    if not sources:
        return "self_knowledge" if correct else "hallucination"
    if any(sources):
        return "right_relevant" if correct else "wrong_relevant"
    return "right_irrelevant" if correct else "wrong_irrelevant"


def partition(correct: Sequence[bool], said_by: SupportTable, relevant: Sequence[bool]) -> tuple[Origin, ...]:
    """Return the class of each claim of an answer, in order; the arguments are as in `origin`, one row per claim."""
    return tuple(
        origin(correct=right, said_by=row, relevant=relevant) for right, row in zip(correct, said_by, strict=True)
    )
