"""How a verdict looks and reads: one language on every page and in every report.

The icon, the word and the style of a line carry the verdict; colour only repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ragboard.analysis.nouns import JudgedStatement
from ragboard.records import Label, Verdict
from ragboard.store.queries.labels import HumanVerdict

__all__ = [
    "ALONE",
    "ARROWS",
    "CHANGES",
    "CHANGE_LOOKS",
    "KINDS",
    "NOT_JUDGED",
    "SAID_ALIKE",
    "VERDICTS",
    "VerdictLook",
    "look_of",
    "said_by",
    "statement_look",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictLook:
    """An icon, a word, and the class that the stylesheets colour and underline."""

    icon: str
    word: str
    css: str


VERDICTS: Mapping[Label, VerdictLook] = MappingProxyType(
    {
        "supported": VerdictLook(icon="✓", word="supported", css="supported"),
        "unsupported": VerdictLook(icon="?", word="unsupported", css="unsupported"),
        "contradicted": VerdictLook(icon="✕", word="contradicted", css="contradicted"),
    }
)
"""Every label with its look, in the order in which counts are given."""

ALONE: Mapping[Label, VerdictLook] = MappingProxyType(
    {
        "supported": VerdictLook(icon="✓", word="by a single passage", css="supported alone"),
        "unsupported": VerdictLook(icon="?", word="by no single passage", css="unsupported alone"),
        "contradicted": VerdictLook(icon="✕", word="contradicted by a single passage", css="contradicted alone"),
    }
)
"""The look of a statement that each passage was held against by itself, and nobody judged on all together."""

NOT_JUDGED = VerdictLook(icon="\N{EN DASH}", word="not judged", css="unjudged")
"""The look of a statement that has no verdict."""


def look_of(verdict: Verdict | None) -> VerdictLook:
    """The look of a verdict; of its absence where there is none."""
    return NOT_JUDGED if verdict is None else VERDICTS[verdict.label]


def statement_look(judged: JudgedStatement) -> VerdictLook:
    """The look of a statement: by the passages together, else by what each says alone."""
    alone = judged.alone
    return ALONE[alone] if judged.verdict is None and alone else look_of(judged.verdict)


def said_by(one: HumanVerdict) -> str:
    """What a person says, in a line: `✕ contradicted, says ada: the passage has 1983`."""
    look = VERDICTS[one.label]
    return f"{look.icon} {look.word}, says {one.annotator}" + (f": {one.note}" if one.note else "")


ARROWS = MappingProxyType({"higher": "↑", "lower": "↓", "neutral": ""})
"""The way a metric gets better."""

CHANGES = MappingProxyType(
    {"better": "▲ better", "worse": "▼ worse", "differs": "≠ differs", "same": "= same", "unscored": "unscored"}
)
"""How a difference reads; what is not there reads as it is called."""

CHANGE_LOOKS = MappingProxyType({"better": "better", "worse": "worse", "differs": ""})
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

SAID_ALIKE = MappingProxyType({"exact": "", "normalised": "same words", "fuzzy": "similar words", "alone": ""})
"""How two statements were found to say the same."""
