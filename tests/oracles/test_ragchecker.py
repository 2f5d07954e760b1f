"""Tests of RAGChecker's metrics through `evaluate`, against the paper's definitions in numpy.

r: which claims of the answer the reference supports; R: the same for each passage. c: which claims of the reference the
answer supports; C: the same for each passage (Ru et al. 2024, section 3). A metric with denominator 0 has no score, or
0 with `compat`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ragboard import Score, Unscored, evaluate

LABELS = ("Entailment", "Neutral", "Contradiction")
Flags = NDArray[np.bool_]


def table(rng: np.random.Generator, *shape: int) -> list[Any]:
    likely = float(rng.choice([0.1, 0.5, 0.9]))
    return rng.choice(LABELS, shape, p=[likely, (1 - likely) / 2, (1 - likely) / 2]).tolist()


def row(rng: np.random.Generator, number: int) -> dict[str, Any]:
    """Up to 6 claims a side and up to 5 passages, now and then none of either."""
    answer, reference, passages = (int(rng.integers(0, most)) for most in (7, 7, 6))
    return {
        "id": str(number),
        "question": f"{number}?",
        "answer": "An answer.",
        "reference": "A reference.",
        "contexts": [f"Passage {place}." for place in range(passages)],
        "response_claims": [f"claim {place}" for place in range(answer)],
        "gt_answer_claims": [f"gold {place}" for place in range(reference)],
        "answer2response": table(rng, answer),
        "response2answer": table(rng, reference),
        "retrieved2response": table(rng, answer, passages),
        "retrieved2answer": table(rng, reference, passages),
    }


def entailed(given: list[Any], *shape: int) -> Flags:
    return (np.array(given, dtype=object) == "Entailment").reshape(shape)


def divided(part: float, whole: float) -> float | None:
    return float(part) / float(whole) if whole else None


def eleven(given: dict[str, Any]) -> dict[str, float | None]:
    """None where the denominator is 0."""
    claims, gold, passages = (len(given[name]) for name in ("response_claims", "gt_answer_claims", "contexts"))
    r, c = entailed(given["answer2response"], claims), entailed(given["response2answer"], gold)
    by, covers = (
        entailed(given["retrieved2response"], claims, passages),
        entailed(given["retrieved2answer"], gold, passages),
    )
    relevant = covers.any(axis=0)
    borne, found = by.any(axis=1), covers.any(axis=1)
    from_relevant = (by & relevant).any(axis=1)
    precision, recall = divided(r.sum(), claims), divided(c.sum(), gold)
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "claim_recall": divided(found.sum(), gold),
        "context_precision": divided(relevant.sum(), passages) if gold else None,
        "context_utilization": divided((found & c).sum(), found.sum()),
        "noise_sensitivity_in_relevant": divided((~r & from_relevant).sum(), claims),
        "noise_sensitivity_in_irrelevant": divided((~r & borne & ~from_relevant).sum(), claims),
        "hallucination": divided((~r & ~borne).sum(), claims),
        "self_knowledge": divided((r & ~borne).sum(), claims),
        "faithfulness": divided(borne.sum(), claims),
    }


@pytest.mark.parametrize("seed", range(4))
def test_the_eleven_are_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [row(rng, number) for number in range(120)]
    found = evaluate(rows, metrics=["ragchecker"])
    counted = 0
    for number, given in enumerate(rows):
        whole = bool(given["response_claims"] and given["gt_answer_claims"] and given["contexts"])
        for name, expected in eleven(given).items():
            outcome = found.outcomes(f"ragchecker.{name}")[number]
            if isinstance(outcome, Score):
                assert expected is not None, (name, given)
                assert outcome.value == pytest.approx(expected, abs=1e-12), (name, given)
                counted += 1
            else:
                assert isinstance(outcome, Unscored)
                assert expected is None or not whole, (name, given)
    assert counted > 120 * 11 / 2
