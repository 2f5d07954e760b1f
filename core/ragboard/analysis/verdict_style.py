"""How verdicts are shown: the same icons, words and CSS classes on every page and in every report.

Icon, word and line style show the verdict without colour.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ragboard.metrics.claim_classes import CORRECT, FROM_PASSAGES
from ragboard.records import Evidence, Label, Verdict
from ragboard.store.queries.citations import SampleCitation
from ragboard.store.queries.labels import HumanVerdict
from ragboard.store.queries.statements import JudgedStatement, passages_named
from ragboard.tasks import Support

__all__ = [
    "ARROWS",
    "CHANGE_CLASSES",
    "CHANGE_TEXTS",
    "CSS_CLASSES_WORST_FIRST",
    "EVIDENCE_SOURCES",
    "LIKELY_FROM",
    "MATCHED_BY",
    "NOT_JUDGED",
    "NUGGET_STYLES",
    "SINGLE_PASSAGE_STYLES",
    "STATEMENT_CHANGES",
    "VERDICT_STYLES",
    "VerdictStyle",
    "certainty",
    "citation_sentence",
    "citation_style",
    "evidence_style",
    "human_verdict_line",
    "origin_words",
    "question_words_note",
    "statement_style",
    "style_of",
    "support_sentence",
    "verdict_words",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictStyle:
    """An icon, a word, and the CSS class that the stylesheets colour and underline."""

    icon: str
    word: str
    css: str


NUGGET_STYLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "support": ("●", "stated"),
        "partial_support": ("◐", "stated in part"),
        "not_support": ("○", "missing"),
        "failed": ("?", "no usable reply"),
    }
)
"""Whether an answer states a nugget, by the label of the judge: an icon and words."""

VERDICT_STYLES: Mapping[Label, VerdictStyle] = MappingProxyType(
    {
        "supported": VerdictStyle(icon="✓", word="supported", css="supported"),
        "unsupported": VerdictStyle(icon="?", word="unsupported", css="unsupported"),
        "contradicted": VerdictStyle(icon="✕", word="contradicted", css="contradicted"),
    }
)
"""The style of each verdict, in the order of counts on pages."""

SINGLE_PASSAGE_STYLES: Mapping[Label, VerdictStyle] = MappingProxyType(
    {
        "supported": VerdictStyle(icon="✓", word="supported by one passage", css="supported alone"),
        "unsupported": VerdictStyle(icon="?", word="supported by no single passage", css="unsupported alone"),
        "contradicted": VerdictStyle(icon="✕", word="contradicted by one passage", css="contradicted alone"),
    }
)
"""Styles of statements that were judged against single passages, but not against all passages together."""

NOT_JUDGED = VerdictStyle(icon="\N{EN DASH}", word="not judged", css="unjudged")
"""The style of a statement without a verdict."""


def style_of(verdict: Verdict | None) -> VerdictStyle:
    """Return the style of a verdict; `NOT_JUDGED` if there is none."""
    return NOT_JUDGED if verdict is None else VERDICT_STYLES[verdict.label]


def statement_style(judged: JudgedStatement) -> VerdictStyle:
    """Return the style of a statement's joint verdict or, without one, of its verdicts against single passages."""
    separate = judged.separate_verdict
    return SINGLE_PASSAGE_STYLES[separate] if judged.verdict is None and separate else style_of(judged.verdict)


LIKELY_FROM = 0.7
"""A rule-based verdict with at least this probability, in [0, 1], is `likely`; others are `possibly`."""


def certainty(verdict: Verdict | None, *, rule_based: bool) -> Literal["", "likely", "possibly"]:
    """Return how certain a rule-based verdict is. Its score is the probability, in [0, 1], of `supported`.

    `contradicted` is always likely. Empty for verdicts without a score and for other judges.
    """
    if not rule_based or verdict is None or verdict.score is None:
        return ""
    if verdict.label == "contradicted":
        return "likely"
    probability = verdict.score if verdict.label == "supported" else 1 - verdict.score
    return "likely" if probability >= LIKELY_FROM else "possibly"


def verdict_words(judged: JudgedStatement | Verdict, *, rule_based: bool) -> str:
    """Return the verdict in words: `unsupported`, or `possibly unsupported` from a rule-based judge."""
    verdict = judged if isinstance(judged, Verdict) else judged.verdict
    word = style_of(judged).word if isinstance(judged, Verdict) else statement_style(judged).word
    return f"{certainty(verdict, rule_based=rule_based)} {word}".strip()


CITATION_WORDS: Mapping[Support | None, str] = MappingProxyType(
    {
        "full": "supports this sentence",
        "partial": "supports part of this sentence",
        "none": "does not support this sentence",
        None: "is cited here, in a sentence without statements",
    }
)


def citation_style(citation: SampleCitation, statements: Sequence[JudgedStatement]) -> VerdictStyle:
    """Return the style of a citation. Its `word` completes a sentence about the passage: `supports this sentence`."""
    if citation.rank is not None and citation.support is None:
        return VerdictStyle(icon="", word=CITATION_WORDS[None], css=NOT_JUDGED.css)
    verdicts = [statements[place].single.get(citation.rank or 0) for place in citation.statements]
    label: Label = "supported" if citation.support in ("full", "partial") else "unsupported"
    if citation.support == "none" and any(verdict and verdict.label == "contradicted" for verdict in verdicts):
        label = "contradicted"
    icon = "\N{CIRCLE WITH LEFT HALF BLACK}" if citation.support == "partial" else VERDICT_STYLES[label].icon
    return VerdictStyle(icon=icon, word=CITATION_WORDS[citation.support], css=label)


def citation_sentence(citation: SampleCitation, *, rule_based: bool) -> str:
    """Say whether the cited passage supports its sentence, with `likely` for a rule-based judge."""
    if citation.rank is None:
        return f"No retrieved passage has the number or id {citation.name}."
    likely = "likely " if rule_based and citation.support else ""
    return f"Passage {citation.rank} {likely}{CITATION_WORDS[citation.support]}."


def human_verdict_line(label: HumanVerdict) -> str:
    """Format a label: `✕ contradicted, label by ada: the passage has 1983`."""
    style = VERDICT_STYLES[label.label]
    return f"{style.icon} {style.word}, label by {label.annotator}" + (f": {label.note}" if label.note else "")


ARROWS = MappingProxyType({"higher": "↑", "lower": "↓", "neutral": ""})
"""An arrow in the direction in which a metric gets better; empty if neither direction is better."""

CHANGE_TEXTS = MappingProxyType(
    {"better": "▲ better", "worse": "▼ worse", "differs": "≠ differs", "same": "= same", "unscored": "unscored"}
)
"""Texts for the change of a metric or sample between two runs. Other changes are shown by their own name."""

CHANGE_CLASSES = MappingProxyType({"better": "better", "worse": "worse", "differs": ""})
"""CSS classes of changes; other changes have the class `none`."""

STATEMENT_CHANGES = MappingProxyType(
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
"""Icon and CSS class for each change of a statement between two runs."""

MATCHED_BY = MappingProxyType({"exact": "", "normalised": "same words", "fuzzy": "similar words", "unmatched": ""})
"""How two statements were matched, in words; empty if pages show nothing."""

EVIDENCE_SOURCES = {
    "quoted": "quoted by the judge",
    "overlap": "found by word overlap",
    "window": "text the model read",
}
"""How a piece of evidence was found."""

CSS_CLASSES_WORST_FIRST = (
    "contradicted",
    "contradicted alone",
    "unsupported",
    "unsupported alone",
    "unjudged",
    "supported alone",
    "supported",
)
"""CSS classes of verdicts, worst first. Where statements overlap in a text, the worst class is shown."""

_JUDGED_SEPARATELY = "Judged against each passage separately, not against all together."


def support_sentence(judged: JudgedStatement, ranks: Collection[int]) -> str:
    """Say which passages support or contradict a statement.

    `ranks` are the passages that are shown: the sentence names no other passage for a joint verdict.
    """
    if judged.verdict is None and judged.single:
        return _single_sentence(judged)
    verdict = judged.verdict
    return _joint_sentence(verdict, [mark for mark in verdict.evidence if mark.rank in ranks] if verdict else [])


def origin_words(judged: JudgedStatement) -> str:
    """Say whether the reference contains a statement, and whether the passages support it only together.

    Empty if this was not judged.
    """
    if judged.origin is None:
        return ""
    right = judged.origin in CORRECT
    if judged.origin in FROM_PASSAGES:
        return "Also in the reference." if right else "Not in the reference."
    if judged.verdict is not None and judged.verdict.label == "supported":
        together = "The passages support it together, but none does alone."
        return f"{'Also in' if right else 'Not in'} the reference. {together}"
    return "In the reference, but in no passage." if right else "Not in the reference either."


_QUOTED = re.compile(r"'([^']+)'")


def question_words_note(reason: str, asked: Sequence[str]) -> str:
    """Name the words that a judge found in no passage, but that are in the question or an earlier turn.

    `reason` is the reason for a verdict. It quotes such words only if it ends with `in no passage.`. `asked` are the
    question, then the texts of earlier turns. Empty if there are no such words.
    """
    if not reason.endswith("in no passage."):
        return ""
    words_by_place: dict[str, list[str]] = {}
    for word in dict.fromkeys(_QUOTED.findall(reason)):
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
        places = [place for place, text in enumerate(asked) if pattern.search(text)]
        if places:
            words_by_place.setdefault("the question" if places[0] == 0 else "an earlier turn", []).append(f"'{word}'")
    return " ".join(
        f"{' and '.join(words)} {'is' if len(words) == 1 else 'are'} in {place}."
        for place, words in words_by_place.items()
    )


def evidence_style(verdict: Verdict, mark: Evidence) -> VerdictStyle:
    """Return the style of a piece of evidence: that of its stance, or `unsupported` if its statement is unsupported."""
    if verdict.label == "unsupported":
        return VERDICT_STYLES["unsupported"]
    return VERDICT_STYLES["supported" if mark.stance == "for" else "contradicted"]


def _single_sentence(judged: JudgedStatement) -> str:
    parts = [
        _sentence(judged.ranks("supported"), "says this", "each say this"),
        _sentence(judged.ranks("contradicted"), "says otherwise", "each say otherwise"),
    ]
    return " ".join(filter(None, [*(parts if any(parts) else ["No single passage says this."]), _JUDGED_SEPARATELY]))


def _joint_sentence(verdict: Verdict | None, evidence: Sequence[Evidence]) -> str:
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


def _sentence(ranks: Sequence[int], singular: str, plural: str) -> str:
    cited = sorted(set(ranks))
    if not cited:
        return ""
    return f"{passages_named(cited).capitalize()} {singular if len(cited) == 1 else plural}."
