"""Sentences of an answer that state nothing about the matter: refusals, greetings, lead-ins, citations."""

from __future__ import annotations

import re

__all__ = ["CITATION", "CITATION_END", "LEAD_WORD", "hedge", "is_filler", "is_refusal"]

CITATION = re.compile(
    r"\s{0,3}(?:\[\^?\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*\]|\u3010[^\u3011]{1,40}\u3011"
    r"|[\[(](?:see\s+)?(?:sources?|passages?|documents?|docs?|contexts?|refs?|quellen?|dokumente?|siehe)\b"
    r"[\s.:#]*\d{1,3}(?:\s*(?:,|and|und|-)\s*\d{1,3})*[\])])",
    re.IGNORECASE,
)
"""A mark such as `[1]`, `[2, 3]` or `(Source 3)`, with the space before it."""

CITATION_END = re.compile(r"[\])\u3011]")

LEAD_WORD = re.compile(
    r"(?:yes|no|sure|certainly|of course|okay|ok|well|ja|nein|gerne?|natürlich"
    r"|klar)\s*[,.!:\u2013-]\s*",
    re.IGNORECASE,
)
"""A word of courtesy or assent before the statement itself."""

LONGEST_REFUSAL = 400
"""Characters of a sentence within which a refusal is looked for."""

_SOURCES = (
    r"(?:the |this |these |any of the |your )?(?:provided |given |retrieved |available |supplied )?"
    r"(?:contexts?|passages?|documents?|texts?|sources?|information|materials?|excerpts?|search results)"
    r"(?: provided| given| available| above)?"
)
_QUELLEN = (
    r"(?:de[mnr]|die|das|diese[mnr]?)? ?(?:vorliegenden |gegebenen |bereitgestellten |vorhandenen )?"
    r"(?:kontext|texte?n?|passagen?|dokumente?n?|quellen?|informationen|unterlagen)"
)
_STEHT = r"\b(?:geht|lässt sich|ergibt sich|ist|wird|steht)\b.{0,40}"
_AUS_QUELLEN = rf"\b(?:aus|in|im) ?{_QUELLEN}\b"

_REFUSAL = re.compile(
    "|".join(
        (
            r"\bI (?:do not|don't|didn't|did not) (?:actually |really )?(?:know|have (?:any |enough "
            r"|sufficient |the |that )?\s*(?:specific )?"
            r"(?:information|details|data|knowledge|answer|access))",
            r"\b(?:I am|I'm|I was|we are|we're) (?:not able|unable) to (?:answer|provide|find|help"
            r"|determine|say|tell|give)",
            r"\bI (?:cannot|can't|can not|could not|couldn't) (?:answer|provide|find|help|determine"
            r"|say|tell|give|assist|locate)",
            r"\bI(?:'m| am) (?:sorry|afraid),? (?:but )?(?:I|there is no|the)\b.{0,40}\b(?:not|no"
            r"|cannot|can't|don't|unable|n't)\b",
            r"\bthere is (?:no|not enough|insufficient) (?:\w+ )?(?:information|mention|evidence|detail|answer)",
            rf"\b{_SOURCES} (?:does not|do not|doesn't|don't|did not|didn't|fails? to) (?:\w+ )?"
            r"(?:say|state|mention|contain|provide|include|specify|answer|tell|give|indicate|address"
            r"|cover|explain|describe|discuss|name|list|report|reveal|settle|support)",
            rf"\b(?:none of|nothing in|no) {_SOURCES} (?:says?|states?|mentions?|names?|gives?|tells?|contains?"
            r"|provides?|answers?|explains?)",
            r"\bI (?:have |could )?(?:found|find|see) (?:no|nothing)\b",
            rf"\b{_SOURCES} (?:has|have|is|are|offers?|contains?|provides?|gives?) "
            r"(?:no|not enough|insufficient|silent|nothing) ?(?:information|details|answer|mention|on"
            r"|about)?",
            r"\b(?:not|n't) (?:be )?(?:mentioned|stated|specified|provided|answered|determined|found"
            r"|given|possible to (?:say|tell|answer))"
            rf" (?:\w+ )?(?:in|from|by|with|on the basis of|based on) {_SOURCES}",
            r"\b(?:no|not enough|insufficient) information (?:is |was )?(?:available|provided|given"
            r"|to answer|about|on)",
            r"\b(?:has|have|had) not (?:yet )?been (?:provided|disclosed|announced|specified|stated|revealed|given"
            r"|released|published|made public)\b",
            r"\b(?:is|are|was|were|remains?) (?:currently |still |largely |as yet )?(?:unknown|unclear|not known"
            r"|not (?:publicly )?(?:available|disclosed|specified|stated|mentioned|provided))\b",
            r"\bich weiß (?:es )?(?:leider )?nicht\b|\bich weiss (?:es )?(?:leider )?nicht\b",
            r"\bich (?:kann|konnte) .{0,60}\b(?:nicht|keine?)\b.{0,60}\b(?:beantworten|finden|sagen"
            r"|geben|helfen)",
            r"\bich habe (?:dazu |darüber |hierzu |leider )*keine (?:\w+ )?(?:informationen|angaben"
            r"|kenntnis)",
            rf"{_STEHT}{_AUS_QUELLEN}.{{0,40}}\bnicht\b",
            rf"{_STEHT}\bnicht\b.{{0,40}}{_AUS_QUELLEN}",
            rf"\b{_QUELLEN} (?:enthält|enthalten|sagt|sagen|nennt|nennen|erwähnt|erwähnen|gibt|geben|liefert|liefern)\b"
            r".{0,40}\b(?:nicht|keine?n?|nichts)\b",
        )
    ),
    re.IGNORECASE,
)

_HEDGE = re.compile(
    r"\b(?:I think|I believe|I guess|I suppose|I assume|I would say|as far as I know"
    r"|not (?:entirely |quite |completely )?(?:sure|certain|clear|well understood)"
    r"|may or may not|might be|could be|may be|perhaps|possibly|presumably"
    r"|it (?:seems|appears)|(?:is|are|was) (?:believed|thought|said|assumed) to|hard to say|it depends"
    r"|ich glaube|ich denke|ich vermute|vermutlich|vielleicht|möglicherweise|wohl|soweit ich weiß|nicht sicher"
    r"|könnte sein|dürfte|angeblich)\b",
    re.IGNORECASE,
)

_FILLER = re.compile(
    r"(?:sure|certainly|of course|great question|good question|here(?:'s| is| are)|below (?:is|are)|let me|"
    r"i hope (?:this|that)|hope this|feel free|let me know|please (?:let|note|feel)|thank you"
    r"|thanks|hello|hi|"
    r"is there anything|gerne|natürlich|hier (?:ist|sind|finden)|hallo|guten tag|vielen dank"
    r"|ich hoffe|bei fragen)\b",
    re.IGNORECASE,
)
_OPENER = re.compile(
    r"(?:hello|hi|hallo|thanks|thank you|sure|certainly|of course|gerne|natürlich)\b[^.]{0,30}[!,]?$", re.I
)
_COURTESY = re.compile(
    r"(?:i hope|hope this|feel free|let me|please (?:let|feel)|ich hoffe|bei fragen|great |good q)", re.I
)
_ASSENT = re.compile(r"(?:yes|no|ja|nein|sure|ok|okay|well)\W*$", re.IGNORECASE)
_LED_IN = re.compile(r":\W*$")


_MAY_DECLINE = (
    *("n't", "n\u2019t", "nicht", "kein", "unable", "fail", "insufficient", "silent", "unknown", "unclear"),
    *("afraid", "sorry"),
)
_NO = re.compile(r"no(?:t\b|thing|ne\b|\b)")
_MAY_HEDGE = (
    *("think", "believ", "guess", "suppos", "assum", "would say", "know", "sure", "certain", "clear", "understood"),
    *("may", "might", "could", "perhaps", "possib", "presum", "seems", "appears", "thought", "said", "hard", "depends"),
    *("glaub", "denke", "vermut", "vielleicht", "möglich", "wohl", "soweit", "sicher", "könnte", "dürfte", "angeblich"),
)
"""Letters without which nothing is declined or taken back: a quick look before the patterns."""


def _any_of(letters: tuple[str, ...], plain: str) -> bool:
    return any(map(plain.__contains__, letters))


def is_refusal(sentence: str) -> bool:
    """Whether it declines to answer, or says that the sources do not."""
    plain = sentence.lower()
    if not _NO.search(plain) and not _any_of(_MAY_DECLINE, plain):
        return False
    return bool(_REFUSAL.search(sentence[:LONGEST_REFUSAL].replace("\u2019", "'")))


def hedge(sentence: str) -> str:
    """The words by which it takes back what it says, as they stand; empty where there are none."""
    found = _any_of(_MAY_HEDGE, sentence.lower()) and _HEDGE.search(sentence[:LONGEST_REFUSAL].replace("\u2019", "'"))
    return found.group() if found else ""


def is_filler(sentence: str) -> bool:
    """Whether it is a question, a greeting, a courtesy or leads in to what follows."""
    plain = sentence.replace("\u2019", "'").strip().strip("*_\"'\u201c\u201d")
    if plain.endswith(("?", "\uff1f")) or _LED_IN.search(plain) or _ASSENT.match(plain):
        return True
    return bool(
        _FILLER.match(plain) and (_COURTESY.match(plain) or _OPENER.match(plain) or "here" in plain[:20].lower())
    )
