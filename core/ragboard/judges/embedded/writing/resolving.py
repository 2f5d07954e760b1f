"""Statements of a passage with `he`, `she` and `the lake` replaced by the only one that the passage names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragboard.judges.embedded.writing.names import TYPES, is_person
from ragboard.judges.embedded.writing.parsing import parsed
from ragboard.tasks import Extracted

__all__ = ["resolved"]

_NAME = r"[A-Z][\w'-]*(?: [A-Z][\w'-]*)*"
_PRONOUN = re.compile(r"^(?P<lead>(?:In|On|Around) (?:[\w]+ ){1,3})?(?P<pronoun>[Hh]e|[Ss]he)\b(?! and\b)")
_DEFINITE = re.compile(rf"\b[Tt]he (?P<kind>{'|'.join(sorted(TYPES))})\b(?! of\b| [A-Z]|-)")


def resolved(said: Sequence[Extracted], passage: str) -> Iterator[str]:
    """Each statement, in order; a pronoun is replaced where one person alone has been a subject before it."""
    persons: list[str] = []
    for each in said:
        known = _with_names(each.text, passage[: each.span.start if each.span else 0])
        if len(persons) == 1:
            known = _PRONOUN.sub(rf"\g<lead>{persons[0]}", known)
        parts = parsed(known, passage)
        if parts and " " in parts.subject and is_person(parts.subject) and parts.subject not in persons:
            persons.append(parts.subject)
        yield known


def _with_names(text: str, before: str) -> str:
    def name(found: re.Match[str]) -> str:
        kind = found["kind"].capitalize()
        pattern = rf"\b(?:(?:[Tt]he )?{_NAME} {kind}|{kind} {_NAME})\b"
        named = (each.group() for each in re.finditer(pattern, before))
        names = {f"t{each[1:]}" if each.startswith("The ") else each for each in named}
        if len(names) != 1 or any(each.removeprefix("the ") in text for each in names):
            return found.group()
        only = names.pop()
        return only if found.start() else only[:1].upper() + only[1:]

    return _DEFINITE.sub(name, text)
