"""Six classes of the claims of an answer: right or wrong, and which passages support them.

Every claim is in exactly one class. RAGChecker's precision, noise sensitivities, hallucination, self-knowledge and
faithfulness are sums of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = ["CLAIM_CLASSES", "CORRECT", "FROM_PASSAGES", "ClaimClass", "claim_class", "partition", "relevant_passages"]

ClaimClass = Literal[
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

CLAIM_CLASSES: dict[ClaimClass, str] = {
    "right_relevant": "in the reference, from a relevant passage",
    "right_irrelevant": "in the reference, from another passage",
    "self_knowledge": "in the reference, from no single passage",
    "wrong_relevant": "not in the reference, from a relevant passage",
    "wrong_irrelevant": "not in the reference, from another passage",
    "hallucination": "not in the reference, from no single passage",
}
"""Each class in words, in the order of reports."""

CORRECT: frozenset[ClaimClass] = frozenset({"right_relevant", "right_irrelevant", "self_knowledge"})
FROM_PASSAGES: frozenset[ClaimClass] = frozenset(
    {"right_relevant", "right_irrelevant", "wrong_relevant", "wrong_irrelevant"}
)

SupportTable = Sequence[Sequence[bool]]
"""One row per claim: whether each passage supports it."""


def relevant_passages(reference: SupportTable, passages: int) -> tuple[bool, ...]:
    """Return whether each passage supports at least one claim of the reference."""
    return tuple(any(row[place] for row in reference) for place in range(passages))


def claim_class(*, correct: bool, said_by: Sequence[bool], relevant: Sequence[bool]) -> ClaimClass:
    """Return the class of one claim; `said_by` and `relevant` have one entry per passage."""
    sources = [useful for says, useful in zip(said_by, relevant, strict=True) if says]
    if not sources:
        return "self_knowledge" if correct else "hallucination"
    if any(sources):
        return "right_relevant" if correct else "wrong_relevant"
    return "right_irrelevant" if correct else "wrong_irrelevant"


def partition(correct: Sequence[bool], said_by: SupportTable, relevant: Sequence[bool]) -> tuple[ClaimClass, ...]:
    """Return the class of each claim of an answer, in order; arguments as in `claim_class`, one row per claim."""
    return tuple(
        claim_class(correct=right, said_by=row, relevant=relevant) for right, row in zip(correct, said_by, strict=True)
    )
