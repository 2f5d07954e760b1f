"""Questions with a question word to a plain English statement: the rules, and in what order they are tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ragboard.judges.embedded.lexicon import word_set
from ragboard.judges.embedded.writing.amounts import how_long, how_many, how_many_subjects
from ragboard.judges.embedded.writing.names import NAME, has_name, is_person, type_of
from ragboard.judges.embedded.writing.nouns import Ask
from ragboard.judges.embedded.writing.parsing import WHEN, Parsed, parsed
from ragboard.judges.embedded.writing.people import by_whom, to_whom, where, which, who
from ragboard.judges.embedded.writing.plainness import points_elsewhere, stands_alone
from ragboard.judges.embedded.writing.remarks import remarks
from ragboard.judges.embedded.writing.verbs import form_of, is_participle
from ragboard.judges.embedded.writing.wording import asked, inverted, late, predicate, sentences, without

__all__ = ["askings"]

_OBJECT = re.compile(
    rf"(?P<object>(?:a|an|the|his|her) [^,]*?|{NAME})"
    r"(?P<tail>$| (?:in|on|at|for|with|from|by|to|into|over|under|across|through|around|before|after|during|as)\b.*)"
)
_SUPERLATIVE = re.compile(
    r"the (?:\w+ )?(?:first|last|only|main|capital|seat|winner|inventor|author|founder|home|most|\w{2,}est)\b"
)
_IDIOMS = word_set(
    "become take give get keep put set lay have hold call turn bear make lie come go run stand play mean need let "
    "win measure weigh cost list last cover serve share draw do begin continue reach follow meet"
    " defeat beat marry succeed kill replace appoint elect visit see know teach tell ask support hire fire name murder "
    "arrest spend want"
)
_ENOUGH = word_set("die open end close start retire resign sink collapse reopen begin")
"""Verbs that say something with a subject and a time alone."""
FEWEST = 3
"""Words of a thing that is asked for, unless it has a name: `the patent` tells nothing."""


def askings(statement: str, passage: str) -> tuple[Ask, ...]:
    """Questions that an English statement answers and that are plain by themselves, most telling first."""
    parts = parsed(statement, passage)
    found = [ask for rule in _RULES for ask in rule(parts)] if parts else []
    plain = [ask for ask in found if parts and stands_alone(ask, parts)]
    return (*plain, *(ask for ask in remarks(statement) if not points_elsewhere(ask.question)))


def _when(parts: Parsed) -> Iterator[Ask]:
    if not _has_happened(parts):
        return
    if parts.lead:
        yield asked("when", f"When {inverted(parts, parts.rest)}", parts.lead, parts)
        return
    found = list(WHEN.finditer(parts.rest))
    if len(found) == 1 and "until" not in parts.rest:
        left = without(parts.rest, *found[0].span())
        form = form_of(parts.verb)
        if left.strip() or (form is not None and form.base in _ENOUGH):
            yield asked("when", f"When {inverted(parts, left)}", found[0].group(), parts)


def _has_happened(parts: Parsed) -> bool:
    """Whether the time is that of the verb: `is a band formed in 1990` tells no time of being one."""
    if parts.verb in {"was", "were"}:
        return any(is_participle(word) for word in parts.rest.split()[:2])
    return parts.verb not in {"is", "are", "has", "have"}


def _since(parts: Parsed) -> Iterator[Ask]:
    found = re.search(r"\bsince (?P<date>.*\d{4})$", parts.rest)
    if found and parts.verb in {"has", "have"} and parts.auxiliary and not parts.lead:
        yield asked("when", f"Since when {inverted(parts, without(parts.rest, *found.span()))}", found.group(), parts)


def _superlative(parts: Parsed) -> Iterator[Ask]:
    if parts.verb in {"is", "was"} and _SUPERLATIVE.match(parts.rest) and has_name(parts.subject):
        person = is_person(parts.subject) and type_of(parts.subject) is None and " " in parts.subject
        if person or type_of(parts.subject) or parts.subject.startswith("the "):
            yield asked(
                "who" if person else "what", f"{'Who' if person else 'What'} {predicate(parts)}", parts.subject, parts
            )


def _definition(parts: Parsed) -> Iterator[Ask]:
    if parts.verb == "is" and re.match(r"an? \w+ \w+", parts.rest) and has_name(parts.subject):
        yield Ask("what", f"What is {parts.subject}?", parts.rest, *sentences(parts), parts.subject)


def _known_for(parts: Parsed) -> Iterator[Ask]:
    found = re.fullmatch(
        r"(?P<known>(?:best |well )?(?:remembered|known|famous|noted)) for (?P<what>[^,]+)", parts.rest
    )
    if found and parts.verb in {"is", "was"}:
        yield asked("what", f"What {parts.verb} {parts.subject} {found['known']} for", f"for {found['what']}", parts)


def _what(parts: Parsed) -> Iterator[Ask]:
    form = None if parts.auxiliary else form_of(parts.verb)
    found = _OBJECT.fullmatch(parts.rest)
    if form and found and form.base not in _IDIOMS and not parts.cut and has_name(parts.subject):
        if len(found["object"].split()) < FEWEST and not has_name(found["object"]):
            return
        yield asked("what", f"What {inverted(parts, found['tail'])}{late(parts)}", found["object"], parts)


_RULES: tuple[Callable[[Parsed], Iterator[Ask]], ...] = (
    _superlative,
    by_whom,
    how_long,
    how_many,
    how_many_subjects,
    _since,
    to_whom,
    _known_for,
    _when,
    who,
    where,
    _what,
    which,
    _definition,
)
