"""Classify the claims of an answer into six classes: right or wrong, and by which passages support them.

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
"""A right claim is supported by the reference, a wrong one is not. The second word says which passages support it.

`relevant`: a relevant passage; `irrelevant`: only irrelevant passages. A right claim that no passage supports is
`self_knowledge`, a wrong one `hallucination`.
"""

CLAIM_CLASSES: dict[ClaimClass, str] = {
    "right_relevant": "in the reference, from a relevant passage",
    "right_irrelevant": "in the reference, from an irrelevant passage",
    "self_knowledge": "in the reference, but in no single passage",
    "wrong_relevant": "not in the reference, from a relevant passage",
    "wrong_irrelevant": "not in the reference, from an irrelevant passage",
    "hallucination": "neither in the reference nor in any single passage",
}
"""The name of each class on pages, in the order in which reports show them."""

CORRECT: frozenset[ClaimClass] = frozenset({"right_relevant", "right_irrelevant", "self_knowledge"})
FROM_PASSAGES: frozenset[ClaimClass] = frozenset(
    {"right_relevant", "right_irrelevant", "wrong_relevant", "wrong_irrelevant"}
)

SupportTable = Sequence[Sequence[bool]]
"""One row per claim: whether each passage supports it."""


def relevant_passages(reference: SupportTable, passage_count: int) -> tuple[bool, ...]:
    """Return whether each passage supports at least one claim of the reference; `reference` has a row per claim."""
    return tuple(any(row[index] for row in reference) for index in range(passage_count))


def claim_class(*, correct: bool, supported_by: Sequence[bool], relevant: Sequence[bool]) -> ClaimClass:
    """Return the class of one claim; `supported_by` and `relevant` have one entry per passage."""
    sources = [is_relevant for supports, is_relevant in zip(supported_by, relevant, strict=True) if supports]
    if not sources:
        return "self_knowledge" if correct else "hallucination"
    if any(sources):
        return "right_relevant" if correct else "wrong_relevant"
    return "right_irrelevant" if correct else "wrong_irrelevant"


def partition(correct: Sequence[bool], supported_by: SupportTable, relevant: Sequence[bool]) -> tuple[ClaimClass, ...]:
    """Return the class of each claim of an answer, in order; arguments as in `claim_class`, one row per claim."""
    return tuple(
        claim_class(correct=right, supported_by=row, relevant=relevant)
        for right, row in zip(correct, supported_by, strict=True)
    )
