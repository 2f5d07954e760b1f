"""Sentences of an answer that state nothing about the matter: greetings, lead-ins, citations."""

from __future__ import annotations

import re

__all__ = ["CITATION", "CITATION_END", "LEAD_WORD", "hedge", "is_filler"]

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

LONGEST_HEDGED = 400
"""Characters of a sentence within which a hedge is looked for."""

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


_MAY_HEDGE = (
    *("think", "believ", "guess", "suppos", "assum", "would say", "know", "sure", "certain", "clear", "understood"),
    *("may", "might", "could", "perhaps", "possib", "presum", "seems", "appears", "thought", "said", "hard", "depends"),
    *("glaub", "denke", "vermut", "vielleicht", "möglich", "wohl", "soweit", "sicher", "könnte", "dürfte", "angeblich"),
)
"""Letters without which nothing is taken back: a quick look before the pattern."""


def _any_of(letters: tuple[str, ...], plain: str) -> bool:
    return any(map(plain.__contains__, letters))


def hedge(sentence: str) -> str:
    """The words by which it takes back what it says, as they stand; empty where there are none."""
    found = _any_of(_MAY_HEDGE, sentence.lower()) and _HEDGE.search(sentence[:LONGEST_HEDGED].replace("\u2019", "'"))
    return found.group() if found else ""


def is_filler(sentence: str) -> bool:
    """Whether it is a question, a greeting, a courtesy or leads in to what follows."""
    plain = sentence.replace("\u2019", "'").strip().strip("*_\"'\u201c\u201d")
    if plain.endswith(("?", "\uff1f")) or _LED_IN.search(plain) or _ASSENT.match(plain):
        return True
    return bool(
        _FILLER.match(plain) and (_COURTESY.match(plain) or _OPENER.match(plain) or "here" in plain[:20].lower())
    )
