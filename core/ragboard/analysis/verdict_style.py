"""How a verdict looks and reads: one language on every page and in every report.

The icon, the word and the style of a line carry the verdict; colour only repeats it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ragboard.records import Evidence, Label, Verdict
from ragboard.store.queries.labels import HumanVerdict
from ragboard.store.queries.statements import JudgedStatement, passages_named

__all__ = [
    "ALONE",
    "ARROWS",
    "CHANGES",
    "CHANGE_STYLES",
    "EVIDENCE",
    "KINDS",
    "MATCHED_BY",
    "NOT_JUDGED",
    "VERDICTS",
    "WORST_FIRST",
    "VerdictStyle",
    "evidence_style",
    "human_verdict_line",
    "statement_style",
    "style_of",
    "what_passages_say",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictStyle:
    """An icon, a word, and the class that the stylesheets colour and underline."""

    icon: str
    word: str
    css: str


VERDICTS: Mapping[Label, VerdictStyle] = MappingProxyType(
    {
        "supported": VerdictStyle(icon="✓", word="supported", css="supported"),
        "unsupported": VerdictStyle(icon="?", word="unsupported", css="unsupported"),
        "contradicted": VerdictStyle(icon="✕", word="contradicted", css="contradicted"),
    }
)
"""Every label with its look, in the order in which counts are given."""

ALONE: Mapping[Label, VerdictStyle] = MappingProxyType(
    {
        "supported": VerdictStyle(icon="✓", word="supported by one passage", css="supported alone"),
        "unsupported": VerdictStyle(icon="?", word="supported by no single passage", css="unsupported alone"),
        "contradicted": VerdictStyle(icon="✕", word="contradicted by one passage", css="contradicted alone"),
    }
)
"""The look of a statement that was judged against single passages, and not against all together."""

NOT_JUDGED = VerdictStyle(icon="\N{EN DASH}", word="not judged", css="unjudged")
"""The look of a statement that has no verdict."""


def style_of(verdict: Verdict | None) -> VerdictStyle:
    """The look of a verdict; of its absence where there is none."""
    return NOT_JUDGED if verdict is None else VERDICTS[verdict.label]


def statement_style(judged: JudgedStatement) -> VerdictStyle:
    """The look of a statement: by the passages together, else by what each says alone."""
    alone = judged.alone
    return ALONE[alone] if judged.verdict is None and alone else style_of(judged.verdict)


def human_verdict_line(one: HumanVerdict) -> str:
    """A label in a line: `✕ contradicted, label by ada: the passage has 1983`."""
    look = VERDICTS[one.label]
    return f"{look.icon} {look.word}, label by {one.annotator}" + (f": {one.note}" if one.note else "")


ARROWS = MappingProxyType({"higher": "↑", "lower": "↓", "neutral": ""})
"""The direction in which a metric gets better."""

CHANGES = MappingProxyType(
    {"better": "▲ better", "worse": "▼ worse", "differs": "≠ differs", "same": "= same", "unscored": "unscored"}
)
"""How a difference is shown; other values are shown as they are."""

CHANGE_STYLES = MappingProxyType({"better": "better", "worse": "worse", "differs": ""})
"""The class of a difference; `none` for all others."""

KINDS = MappingProxyType(
    {
        "broken": ("▼", "worse"),
        "still wrong": ("=", ""),
        "added": ("+", ""),
        "fixed": ("▲", "better"),
        "dropped": ("\N{MINUS SIGN}", ""),
        "not judged": ("\N{EN DASH}", "none"),
        "kept": ("=", "none"),
    }
)
"""For what became of a statement its icon and class."""

MATCHED_BY = MappingProxyType({"exact": "", "normalised": "same words", "fuzzy": "similar words", "alone": ""})
"""How two statements were found to say the same."""

EVIDENCE = {
    "quoted": "quoted by the judge",
    "overlap": "found by word overlap",
    "window": "text the model read",
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

_ASKED_ALONE = "Judged against each passage on its own, not against all together."


def what_passages_say(judged: JudgedStatement, ranks: Collection[int]) -> str:
    """Which passages, of those there are by rank, say a statement or something else."""
    if judged.verdict is None and judged.single:
        return _alone(judged)
    verdict = judged.verdict
    return _together(verdict, [mark for mark in verdict.evidence if mark.rank in ranks] if verdict else [])


def evidence_style(verdict: Verdict, mark: Evidence) -> VerdictStyle:
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
        return f"{agree or 'Supported; the judge names no passage.'} {differ}".strip()
    return f"{differ or 'Contradicted; the judge names no passage.'} {agree}".strip()


def _sentence(ranks: Sequence[int], one: str, several: str) -> str:
    named = sorted(set(ranks))
    if not named:
        return ""
    return f"{passages_named(named).capitalize()} {one if len(named) == 1 else several}."
