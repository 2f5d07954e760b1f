"""What a subject's capitals say of it: a person, a lake, a treaty."""

from __future__ import annotations

import re

from ragboard.judges.embedded.lexicon import word_set

__all__ = ["CAPITAL", "EVENTS", "NAME", "TYPES", "has_name", "is_person", "type_of"]

CAPITAL = r"[A-Z\u00c0-\u00de][\w'\u2019-]*"
NAME = rf"{CAPITAL}(?: (?:(?:of|de|van|von|der|des|of the|d'|la|le) )?{CAPITAL})*"
_PERSONS = re.compile(rf"{NAME}(?: and {NAME})?(?: of (?:the )?{NAME})?(?: in {NAME})?")
EVENTS = re.compile(
    r"\b(?:War|Revolution|Treaty|Peace|Prize|Act|Times|Games|Olympics|Congress|Cup|Conference|World)\b|"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
"""Names in which nothing is, but in the course of which."""
TYPES = word_set(
    "article section chapter department club team force corps council house "
    "lake sea river tunnel bridge treaty island dam canal war museum company university city mountain league "
    "committee commission court society party army palace church cathedral castle railway district province "
    "republic empire kingdom union organisation organization act law prize award festival school college hospital "
    "library theatre symphony expedition mission comet moon planet star telescope process engine ship steamer "
    "tower wall gate park forest desert ocean strait bay gulf glacier volcano valley cheese album film novel bank "
    "board conservatoire gallery county region pine tern godwit redwood convention agreement congress probe "
    "airport station road street square peninsula"
)
"""What names say of their bearers, as their first word or their last."""
_MANY = word_set("records series awards brothers studios games news states angeles")
"""Words of names that are no person's, and of which one does not ask `which`."""


def is_person(subject: str) -> bool:
    """Whether it is one person's name or those of two, by its letters."""
    words = subject.partition(" of ")[0].lower().split()
    return _PERSONS.fullmatch(subject) is not None and type_of(subject) is None and TYPES.union(_MANY).isdisjoint(words)


def has_name(subject: str) -> bool:
    """Whether any of its words has a capital."""
    return any(word[0].isupper() for word in subject.split())


def type_of(subject: str) -> str | None:
    """What kind of thing a name says it is: `tunnel` for the Seikan Tunnel, `treaty` for the Treaty of Paris."""
    words = subject.removeprefix("the ").split()
    if not words or any(mark in subject for mark in (" and ", "'s ")):
        return None
    first, last = words[0].lower(), words[-1].lower()
    named = [word for word in words if word[0].isupper()]
    if first in TYPES and len(named) > 1 and words[0][0].isupper():
        return first
    whole = last in TYPES and all(word[0].isupper() for word in words[:-1]) and len(words) > 1
    return last if whole else None
