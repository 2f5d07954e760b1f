"""Questions for a name: who, by whom, to whom, which lake, where."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragboard.judges.embedded.lexicon import word_set
from ragboard.judges.embedded.writing.names import EVENTS, NAME, is_person, type_of
from ragboard.judges.embedded.writing.nouns import Ask
from ragboard.judges.embedded.writing.parsing import Parsed
from ragboard.judges.embedded.writing.verbs import HUMAN, LOOSELY_HUMAN, form_of, is_participle, past_of
from ragboard.judges.embedded.writing.wording import asked, inverted, late, predicate

__all__ = ["by_whom", "to_whom", "where", "which", "who"]

_AGENT = re.compile(
    rf"(?P<done>[a-z]+)(?P<between>(?: .*?)?) by (?P<agent>{NAME}(?: and {NAME})?)"
    r"(?P<tail>$| (?:in|on|at|with|for|from|to|around)\b.*)"
)
_SITE = re.compile(
    rf"(?P<before>^|.*?[a-z)] )(?P<site>(?:in|at|near) (?:the |(?:the|a) (?:[\w'-]+ ){{1,3}}of (?:the )?)?{NAME}"
    rf"(?:,? (?:in|near) (?:the )?{NAME})*)(?P<tail>$| (?:in|on|around) .*\d.*)"
)
_MAKING = word_set("open build found establish erect write sign meet publish hold die settle marry paint present")
"""Verbs whose object comes into being, or is seen, in the place that is named after it."""


def who(parts: Parsed) -> Iterator[Ask]:
    """`Who wrote Emma?`: the subject is a person, and the verb is what persons do."""
    form = form_of(parts.rest.split()[0] if parts.verb in {"has", "had"} and parts.auxiliary else parts.verb)
    if form and form.base in HUMAN and is_person(parts.subject) and _does(parts.subject, form.base):
        yield asked("who", f"Who {predicate(parts)}", parts.subject, parts)


def _does(subject: str, base: str) -> bool:
    """Whether what bears a name of one word does what things do too: a city becomes, a ship begins."""
    return " " in subject or base not in LOOSELY_HUMAN


def by_whom(parts: Parsed) -> Iterator[Ask]:
    """The same of a passive: `Emma was written by Jane Austen`."""
    found = _AGENT.match(parts.rest)
    past = past_of(found["done"]) if found and parts.verb in {"was", "were"} else None
    if found and past and not EVENTS.search(found["agent"]):
        said = f"Who {past} {parts.subject}{found['between']}{found['tail']}{late(parts)}"
        yield asked("who", said, found["agent"], parts)


def to_whom(parts: Parsed) -> Iterator[Ask]:
    """`Who did the prize go to?`."""
    found = re.fullmatch(rf"to (?P<whom>{NAME}(?: and {NAME})?)(?P<tail>| in .*\d)", parts.rest)
    if found and parts.verb in {"went", "belongs"}:
        left = f"to{found['tail']}"
        yield asked("who", f"Who {inverted(parts, left)}{late(parts)}", found["whom"], parts)


def which(parts: Parsed) -> Iterator[Ask]:
    """`Which lake lies in Siberia?`: the name says what its bearer is."""
    kind = type_of(parts.subject)
    if kind:
        yield asked("which", f"Which {kind} {predicate(parts)}", parts.subject, parts)


def where(parts: Parsed) -> Iterator[Ask]:
    """`Where did Bessemer open works?`."""
    found = _SITE.fullmatch(parts.rest)
    if found and not EVENTS.search(found["site"]) and _happens(parts, found["before"].split()):
        left = f"{found['before']}{found['tail']}"
        yield asked("where", f"Where {inverted(parts, left)}{late(parts)}", found["site"], parts)


def _happens(parts: Parsed, between: list[str]) -> bool:
    """Whether a place belongs to the verb: no noun stands between, or it is a verb of making something somewhere."""
    if parts.verb in {"is", "are", "was", "were"} and not between:
        return True
    if parts.auxiliary:
        return len(between) == 1 and is_participle(between[0])
    form = form_of(parts.verb)
    return not between or (form is not None and form.base in _MAKING)
