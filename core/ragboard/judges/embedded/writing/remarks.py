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


def remarks(statement: str) -> Iterator[Ask]:
    """`Who was Thomas Newcomen?` to `Thomas Newcomen, an ironmonger from Devon, ...`."""
    for found in _WHO_IS.finditer(statement):
        name, what = found["name"], found["what"]
        if is_person(name) and not points_elsewhere(what, own=True):
            said = f"{name} was {what}."
            yield Ask("who", f"Who was {name}?", what, said, said, name)
    for found in _WHAT_IS.finditer(statement):
        name, what = found["name"], found["what"]
        if has_name(what) and not points_elsewhere(what, own=True):
            said = f"{name} is {what}."
            yield Ask("what", f"What is {what}?", name, said, said, name)
