"""Questions for a number: how many, how long, what percentage."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragboard.judges.embedded.lexicon import NUMBER_WORDS, SCALES, word_set
from ragboard.judges.embedded.writing.nouns import Ask
from ragboard.judges.embedded.writing.parsing import Parsed
from ragboard.judges.embedded.writing.verbs import form_of
from ragboard.judges.embedded.writing.wording import asked, inverted, late, predicate

__all__ = ["how_long", "how_many", "how_many_subjects"]

_NUMBER = r"(?:\d[\d,.]*\d|\d|" + "|".join(sorted(NUMBER_WORDS, key=len, reverse=True)) + ")"
_AMOUNT = re.compile(
    rf"(?P<rough>(?:about|some|around|nearly|almost|over|roughly|at least|more than|only)\s)?"
    rf"(?P<number>{_NUMBER}(?:-\w+)?(?:\s(?:{'|'.join(SCALES)}))?)\s(?P<of>[^\W\d].*)",
    re.IGNORECASE,
)
_NO_NOUN = word_set("of other more further additional less fewer times")
_SHARE = "per cent of "
_UNITS = {
    "km": "kilometres",
    "m": "metres",
    "cm": "centimetres",
    "mm": "millimetres",
    "km²": "square kilometres",
    "m²": "square metres",
    "km³": "cubic kilometres",
    "m³": "cubic metres",
    "kg": "kilograms",
    "kW": "kilowatts",
    "ha": "hectares",
}
_MEASURED = re.compile(
    rf"(?:(?:about|some|only|over|nearly|almost|roughly|more than)\s)?{_NUMBER}\s(?:k?m|cm|mm|metres|meters|feet|miles"
    r"|kilometres|kilometers|years)\s(?P<how>long|wide|deep|high|tall|thick|old)(?P<tail>\b.*)"
)
_AFTER_NOUN = (
    "in on at for with from by to into over under across through between until after before as than a an and or per "
    "above below round beneath within that west east north south away apart one each last off"
).replace(" ", "|")
_WORD = r"[^\W\d_][\w'\u00b2\u00b3-]*"
_NOUN = re.compile(rf"(?P<noun>{_WORD}(?:\s{_WORD})*?)(?P<tail>(?:\s(?:{_AFTER_NOUN})\b.*)?)$")
_WITH_LENGTHS = word_set("pass lie stand rise run flow fall drop sink carry go come become reach")
"""Verbs beside which a length says where, not how much: `lies 3 km off`."""


def how_long(parts: Parsed) -> Iterator[Ask]:
    """`How wide are the Rhine Falls?`."""
    found = _MEASURED.fullmatch(parts.rest)
    if found and parts.verb in {"is", "was", "are", "were"} and " and " not in found["tail"]:
        said = f"How {found['how']} {parts.verb} {parts.subject}{found['tail']}{late(parts)}"
        yield asked("how long", said, parts.rest[: found.end("how")], parts)


def how_many_subjects(parts: Parsed) -> Iterator[Ask]:
    """`How many bridges have crossed the Tay?`: the number stands in the subject."""
    found = _AMOUNT.fullmatch(parts.subject)
    if found and found["of"].split()[0] not in _NO_NOUN:
        counted = f"{found['rough'] or ''}{found['number']} {found['of']}"
        yield asked("how many", f"How many {found['of']} {predicate(parts)}", counted, parts)


def how_many(parts: Parsed) -> Iterator[Ask]:
    """`How many bridges did Fowler build?`: the number stands right behind the verb."""
    found = _AMOUNT.fullmatch(parts.rest)
    form = None if parts.auxiliary else form_of(parts.verb)
    if found is None or form is None or (form.base in _WITH_LENGTHS and _is_length(found["of"])):
        return
    share = found["of"].startswith(_SHARE)
    noun = _NOUN.match(found["of"].removeprefix(_SHARE))
    if noun is None or noun["noun"].split()[0] in _NO_NOUN:
        return
    unit, space, others = noun["noun"].partition(" ")
    counted = f"{_UNITS.get(unit, unit)}{space}{others}"
    said = f"{'What percentage of' if share else 'How many'} {counted} {inverted(parts, noun['tail'])}{late(parts)}"
    short = f"{found['rough'] or ''}{found['number']} {'per cent' if share else noun['noun']}"
    yield asked("how many", said, short, parts)


def _is_length(of: str) -> bool:
    return of.split(maxsplit=1)[0] in {*_UNITS, *_UNITS.values()}
