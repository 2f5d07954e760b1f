"""Whether a question is plain without its passage, and reads as one."""

from __future__ import annotations

import re

from ragboard.judges.embedded.reading import read
from ragboard.judges.embedded.writing.names import has_name, is_person
from ragboard.judges.embedded.writing.nouns import Ask
from ragboard.judges.embedded.writing.parsing import MONTH, Parsed

__all__ = ["points_elsewhere", "stands_alone"]

FEWEST, FEWER = 3, 2
"""Content words and figures that a question names at least; of a person, place or length fewer are plain."""
SHORTEST, LONGEST = 4, 26
"""Words of a question."""
_UNNAMED = re.compile(r"(?:the|an?) [^A-Z]+$")
"""A subject without a name."""
_POINTS = re.compile(
    r"\b(?:it|they|them|he|him|she|this|these|those|such|latter|former|here|there|then|ones?|another|both|others?"
    r"|itself|themselves|himself|above|below|instead|too|so|even|else|later|earlier|again|either"
    r"|that)\b",
    re.IGNORECASE,
)
_ONLY_ONE = (
    "sun moon earth sea world ground sky north south east west air war public pole poles king queen pope emperor press "
    "end coast ocean equator mainland tsar sultan right left"
).replace(" ", "|")
_AFTER = (
    "in on to at for with as a an the by from until and after before around off into over under "
    "were was are is has had public"
).replace(" ", "|")
_SITUATED = rf" (?:at|in|near|on|from|under) (?:the )?(?!{MONTH})[A-Z]"
_DANGLING = re.compile(rf"\bthe (?!(?:{_ONLY_ONE})\b)[a-z-]++(?!{_SITUATED})(?= (?:{_AFTER})\b|$)|\bthe [a-z]+'s\b")
"""A noun with nothing but its article: which one, only the passage tells."""
_FIRST = re.compile(r"\bthe (?:first|\w{2,}est)\b")
_TIMES = {"year", "date month", "date day", "th"}
SMALL = 12
"""A number up to this tells little."""
MUCH = 5
"""Words and figures that make a question plain where they name nothing."""
_OWN = re.compile(r"\b(?:its|his|her|their)\b")
_HANGING = re.compile(
    r"\b(?:in|on|at|by|for|from|with|to|into|of|and|or|the|a|an|its|his|their|as|than|also|not|about|some)$"
)
_MAY_HANG = (" go to", " belong to", " for")


def points_elsewhere(said: str, *, own: bool = False) -> bool:
    """Whether a word in it stands for something said elsewhere; with `own`, words such as `his` among them."""
    return _POINTS.search(said) is not None or (own and _OWN.search(said) is not None)


def stands_alone(ask: Ask, parts: Parsed) -> bool:
    """Whether the question names what it is about, and hangs on nothing that only the passage tells."""
    said = ask.question[:-1]
    for_subject = ask.kind in {"who", "which"}
    if not _reads_well(said) or points_elsewhere(said, own=not (for_subject or has_name(parts.subject))):
        return False
    if not for_subject and _UNNAMED.match(parts.subject) and (parts.subject.startswith("the ") or not _names(said)):
        return False
    return _tells(ask) and (not _DANGLING.search(said) or (not for_subject and _names_enough(said, parts)))


def _reads_well(said: str) -> bool:
    hangs = _HANGING.search(said) and not said.endswith(_MAY_HANG)
    return not hangs and SHORTEST <= len(said.split()) <= LONGEST


def _names_enough(said: str, parts: Parsed) -> bool:
    """Whether a person does something to what else is named, so that `the lake` is understood."""
    person = " " in parts.subject and is_person(parts.subject)
    return person and _names(said) > 1


def _names(said: str) -> int:
    return len(read(said, 0, len(said), "en").names)


def _tells(ask: Ask) -> bool:
    """Whether it names what it is about, and enough of it; a time alone names nothing."""
    said, for_name = ask.question[:-1], ask.kind in {"who", "which"}
    reading = read(said, 0, len(said), "en")
    telling = for_name and any(each.kind not in _TIMES and each.value > SMALL for each in reading.figures)
    said_much = len(reading.content) + len(reading.figures)
    unique = said_much >= MUCH and (for_name or _FIRST.search(said) is not None)
    named = bool(reading.names) or telling or unique
    few = ask.kind in {"which", "how long"} or (ask.kind == "where" and " " in ask.subject)
    return named and said_much >= (FEWER if few else FEWEST)
