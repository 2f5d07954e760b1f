"""What the passages say of a statement, in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ragboard.analysis.looks import VERDICTS, VerdictLook
from ragboard.analysis.nouns import JudgedStatement, passages_named
from ragboard.records import Evidence, Verdict

__all__ = ["HOW", "WORST_FIRST", "evidence_look", "what_passages_say"]

HOW = {
    "quoted": "quoted by the judge",
    "overlap": "shared words, found by overlap",
    "window": "the stretch the model read",
}
"""How a piece of evidence was found."""

WORST_FIRST = (
    "contradicted",
    "contradicted alone",
    "unsupported",
    "unsupported alone",
    "unjudged",
    "supported alone",
    "supported",
)
"""The classes of looks: where statements share a place, the first of them is the one to see."""

_ASKED_ALONE = "Each passage was held against it by itself; nobody judged them together."


def what_passages_say(judged: JudgedStatement, ranks: Collection[int]) -> str:
    """Which passages, of those there are by rank, say a statement or something else."""
    if judged.verdict is None and judged.single:
        return _alone(judged)
    verdict = judged.verdict
    return _together(verdict, [mark for mark in verdict.evidence if mark.rank in ranks] if verdict else [])


def evidence_look(verdict: Verdict, mark: Evidence) -> VerdictLook:
    """Evidence looks like the verdict it speaks for; what is only nearest looks unsupported."""
    if verdict.label == "unsupported":
        return VERDICTS["unsupported"]
    return VERDICTS["supported" if mark.stance == "for" else "contradicted"]


def _alone(judged: JudgedStatement) -> str:
    says = [
        _sentence(judged.ranks("supported"), "says this", "each say this"),
        _sentence(judged.ranks("contradicted"), "says otherwise", "each say otherwise"),
    ]
    return " ".join(filter(None, [*(says if any(says) else ["No single passage says this."]), _ASKED_ALONE]))


def _together(verdict: Verdict | None, evidence: Sequence[Evidence]) -> str:
    if verdict is None:
        return "Not judged."
    ranks = sorted({mark.rank for mark in evidence})
    if verdict.label == "unsupported":
        return "No passage says this." + (f" Nearest: {passages_named(ranks)}." if ranks else "")
    agree = _sentence([mark.rank for mark in evidence if mark.stance == "for"], "says this", "together say this")
    differ = _sentence([mark.rank for mark in evidence if mark.stance == "against"], "says otherwise", "say otherwise")
    if verdict.label == "supported":
        return f"{agree or 'Supported; the judge points to no passage.'} {differ}".strip()
    return f"{differ or 'Contradicted; the judge points to no passage.'} {agree}".strip()


def _sentence(ranks: Sequence[int], one: str, several: str) -> str:
    named = sorted(set(ranks))
    if not named:
        return ""
    return f"{passages_named(named).capitalize()} {one if len(named) == 1 else several}."
