"""The words of a question and of its answer, put together from the parts of a statement."""

from __future__ import annotations

from ragboard.judges.embedded.writing.nouns import Ask, Asking
from ragboard.judges.embedded.writing.parsing import WHEN, Parsed
from ragboard.judges.embedded.writing.verbs import form_of

__all__ = ["asked", "inverted", "late", "predicate", "sentences", "without"]


def asked(kind: Asking, question: str, short: str, parts: Parsed) -> Ask:
    """The question with its mark, beside what answers it."""
    return Ask(kind, f"{' '.join(question.split())}?", short, *sentences(parts), "" if parts.lead else parts.subject)


def inverted(parts: Parsed, rest: str) -> str:
    """Verb, subject and rest as they follow a question word: `did the bridge open ...`."""
    form = None if parts.auxiliary else form_of("had" if parts.verb == "have" else parts.verb)
    verb, base = (form.support, f"{form.base} ") if form else (parts.verb, "")
    return f"{verb} {parts.subject} {base}{rest}"


def predicate(parts: Parsed) -> str:
    """Verb and rest, for a question that asks for the subject."""
    return f"{parts.verb} {parts.rest}{late(parts)}"


def late(parts: Parsed) -> str:
    """The time that stood in front, at the end."""
    return f" {parts.lead}" if parts.lead else ""


def sentences(parts: Parsed) -> tuple[str, str]:
    """The statement with its time where it stood, and with its time at the other end."""
    said = f"{parts.subject} {parts.verb} {parts.rest}"
    found = list(WHEN.finditer(parts.rest))
    if parts.lead:
        return _sentence(f"{parts.lead} {said}"), _sentence(f"{said} {parts.lead}")
    if len(found) == 1:
        left = without(parts.rest, *found[0].span())
        return _sentence(said), _sentence(" ".join(f"{found[0].group()} {parts.subject} {parts.verb} {left}".split()))
    return _sentence(said), _sentence(said)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip()}."


def without(rest: str, start: int, end: int) -> str:
    """What is left where that stretch is taken out."""
    return f"{rest[:start].rstrip()} {rest[end:].lstrip()}"
