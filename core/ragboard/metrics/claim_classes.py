"""Classify the claims of an answer, by whether they are correct and which passages support them.

Every claim is in exactly one of six classes. RAGChecker's precision, noise sensitivities, hallucination, self-knowledge
and faithfulness are sums of the shares of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = [
    "CLAIM_CLASSES",
    "CORRECT",
    "FROM_PASSAGES",
    "ClaimClass",
    "classify_claim",
    "classify_claims",
    "relevant_passages",
]

ClaimClass = Literal[
    "right_relevant",
    "right_irrelevant",
    "self_knowledge",
    "wrong_relevant",
    "wrong_irrelevant",
    "hallucination",
]
"""`right` is a correct claim, which the reference supports; `wrong` is any other claim. The second word says which
passages support it.

`relevant`: at least one relevant passage; `irrelevant`: only irrelevant passages. If no passage supports it, a correct
claim is `self_knowledge` and a wrong claim is a `hallucination`.
"""

CLAIM_CLASSES: dict[ClaimClass, str] = {
    "right_relevant": "in the reference, from a relevant passage",
    "right_irrelevant": "in the reference, from an irrelevant passage",
    "self_knowledge": "in the reference, but in no single passage",
    "wrong_relevant": "not in the reference, from a relevant passage",
    "wrong_irrelevant": "not in the reference, from an irrelevant passage",
    "hallucination": "neither in the reference nor in any single passage",
}
"""The description of each class, in the order of reports."""

# The classes of correct claims, and of claims that a passage supports.
CORRECT: frozenset[ClaimClass] = frozenset({"right_relevant", "right_irrelevant", "self_knowledge"})
FROM_PASSAGES: frozenset[ClaimClass] = frozenset(
    {"right_relevant", "right_irrelevant", "wrong_relevant", "wrong_irrelevant"}
)

SupportTable = Sequence[Sequence[bool]]
"""One row per claim, which says for each passage whether it supports the claim."""


def relevant_passages(reference: SupportTable, passage_count: int) -> tuple[bool, ...]:
    """Return, for each passage, whether it supports at least one claim of the reference."""
    return tuple(any(row[index] for row in reference) for index in range(passage_count))


def classify_claim(*, correct: bool, supported_by: Sequence[bool], relevant: Sequence[bool]) -> ClaimClass:
    """Return the class of one claim. `supported_by` and `relevant` have one entry per passage."""
    sources = [is_relevant for supports, is_relevant in zip(supported_by, relevant, strict=True) if supports]
    if not sources:
        return "self_knowledge" if correct else "hallucination"
    if any(sources):
        return "right_relevant" if correct else "wrong_relevant"
    return "right_irrelevant" if correct else "wrong_irrelevant"


def classify_claims(
    correct: Sequence[bool], supported_by: SupportTable, relevant: Sequence[bool]
) -> tuple[ClaimClass, ...]:
    """Return the class of each claim of an answer, in order. `correct` and `supported_by` have one entry per claim."""
    return tuple(
        classify_claim(correct=is_correct, supported_by=row, relevant=relevant)
        for is_correct, row in zip(correct, supported_by, strict=True)
    )
