"""Questions to what a remark between commas says of the name before it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragboard.judges.embedded.writing.names import CAPITAL, has_name, is_person
from ragboard.judges.embedded.writing.nouns import Ask
from ragboard.judges.embedded.writing.plainness import points_elsewhere

__all__ = ["remarks"]

_APART = r"(?:^|(?<=\b[a-z]{2} )|(?<=[a-z]{3} )|(?<=\d{4} ))"
_WHO_IS = re.compile(rf"{_APART}(?P<name>{CAPITAL}(?: {CAPITAL})+), (?P<what>an? \w[^,;:()]+?)(?:,|[.]?$)")
_WHAT_IS = re.compile(
    rf"{_APART}(?P<name>{CAPITAL}(?: {CAPITAL})*), "
    r"(?P<what>the (?:[a-z]{2,}est|main|capital|highest|only) [^,;:()]+?)(?:,|[.]?$)"
)

_HEAD = re.compile(r"^an? (?P<head>[\w' -]*?)(?= (?:of|from|at|in|on|with|without|by|who|and|for|to|working|near)\b|$)")
_TRADE = re.compile(
    r"(?:(?<!cent)(?<!numb)(?<!riv)(?<!tow)(?<!pap)(?<!ord)(?<!comput)er|or|ist|ian|cian|m[ae]n|woman|smith|eon|eer|ant"
    r"|girl|boy|cook|king|queen|nurse|monk|priest|poet|clerk|student|sweep|general|judge|mason|nun|spy|chef|pilot|scribe)$"
)


def remarks(statement: str) -> Iterator[Ask]:
    """`Who was Thomas Newcomen?` to `Thomas Newcomen, an ironmonger from Devon, ...`."""
    for found in _WHO_IS.finditer(statement):
        name, what = found["name"], found["what"]
        if is_person(name) and _is_trade(what) and not points_elsewhere(what, own=True):
            said = f"{name} was {what}."
            yield Ask("who", f"Who was {name}?", what, said, said, name)
    for found in _WHAT_IS.finditer(statement):
        name, what = found["name"], found["what"]
        if has_name(what) and not points_elsewhere(what, own=True):
            said = f"{name} is {what}."
            yield Ask("what", f"What is {what}?", name, said, said, name)


def _is_trade(what: str) -> bool:
    """Whether it says what a person is or does, by its noun."""
    found = _HEAD.match(what)
    return found is not None and _TRADE.search(found["head"]) is not None
