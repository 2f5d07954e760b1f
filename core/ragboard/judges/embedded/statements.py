"""An answer taken apart into atomic statements, each with its place in the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragboard.judges.embedded.clauses import Clause, Subject, clauses, subject_of
from ragboard.judges.embedded.phrases import CITATION, CITATION_END, LEAD_WORD, is_filler
from ragboard.judges.embedded.refusals import is_refusal
from ragboard.records import Span
from ragboard.tasks import Extracted, Extraction
from ragboard.text.sentences import Language, language_of, says_something, sentence_spans

__all__ = ["extract"]

LONGEST_MARK, LONGEST_TAIL = 12, 80
"""Characters before a sentence where a heading's mark is looked for; at its end, where citations are."""

_HEADING = re.compile(r"(?:^|[\r\n])[ \t>]*#{1,6}[ \t]+\Z")
_SOMETHING = re.compile(r"[^\s.,*_]")
_BUT = re.compile(r",\s+(?:but|however|though|aber|allerdings|jedoch)\s+", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*\*|__|`")
_NEW_LINE = re.compile(r"[\r\n]")
_EDGE = " \t\r\n*_,;"
_PRONOUNS = {"it": "thing", "he": "person", "she": "person"}
_GERMAN_PRONOUNS = {"er": "der", "sie": "die", "es": "das"}


def extract(text: str) -> Extraction:
    """The statements of `text` in reading order; their spans do not overlap."""
    language = language_of(text)
    refuses = False
    found: list[Extracted] = []
    last: Subject | None = None
    done = 0
    for first, end in _candidates(text, language):
        declines = is_refusal(text[first:end])
        refuses = refuses or declines
        start = _after_but(text, first, end) if declines else first
        if _NEW_LINE.search(text, done, first):
            last = None
        done = end
        for clause in clauses(text, start, end, language):
            statement, last = _statement(text, clause, last, language)
            found += [statement] if statement else []
    return Extraction(statements=tuple(found), refuses=refuses)


def _candidates(text: str, language: Language) -> Iterator[tuple[int, int]]:
    """Sentences that may state something, without citation marks and words of courtesy around them."""
    headed = "#" in text
    for first, last in sentence_spans(text, language):
        if headed and _HEADING.search(text, max(0, first - LONGEST_MARK), first):
            continue
        start, end = _without_lead(text, first, last), _without_citations(text, first, last)
        if start < end and not is_filler(text[start:end]):
            yield start, end


def _without_lead(text: str, start: int, end: int) -> int:
    while found := CITATION.match(text, start, end) or LEAD_WORD.match(text, start, end):
        following = _SOMETHING.search(text, found.end(), end)
        start = following.start() if following else end
    return start


def _without_citations(text: str, start: int, end: int) -> int:
    """`... in 1990 [1].` ends after 1990."""
    while True:
        tail = max(start, end - LONGEST_TAIL)
        last = next(reversed([*CITATION.finditer(text, tail, end)]), None) if _may_cite(text, tail, end) else None
        if last is None or text[last.end() : end].strip(" \t\r\n.,;!*_"):
            return end
        end = last.start()


def _may_cite(text: str, start: int, end: int) -> bool:
    """A quick look before the pattern: every citation mark ends in a bracket."""
    return CITATION_END.search(text, start, end) is not None


def _after_but(text: str, start: int, end: int) -> int:
    """Where a refusal goes on to state something after all."""
    found = _BUT.search(text, start, end)
    if found and not is_refusal(text[found.end() : end]) and is_refusal(text[start : found.start()]):
        return found.end()
    return end


def _statement(
    text: str, clause: Clause, last: Subject | None, language: Language
) -> tuple[Extracted | None, Subject | None]:
    restated = clause.text != text[clause.start : clause.end]
    start, end = _edges(text, clause.start, clause.end)
    said = text[start:end] if not restated else clause.text.strip(_EDGE)
    cited = _may_cite(said, 0, len(said))
    plain = _EMPHASIS.sub("", CITATION.sub("", said) if cited else said)
    if start >= end or not says_something(plain, 0, len(plain)):
        return None, last
    subject = subject_of(plain, 0, len(plain), language)
    resolved = _resolved(plain, subject, last, language)
    span = Span(start=start, end=end, how="verbatim" if resolved == text[start:end] else "aligned")
    if resolved != plain:
        subject = subject_of(resolved, 0, len(resolved), language)
    return Extracted(text=resolved, span=span), subject


def _edges(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip(_EDGE))
    right = len(piece) - len(piece.rstrip(_EDGE))
    return start + left, end - right


def _resolved(plain: str, subject: Subject | None, last: Subject | None, language: Language) -> str:
    """The statement with its leading pronoun replaced by the subject before it, where that is plain."""
    if subject is None or last is None or not _stands_for(subject.text.lower(), last.text, language):
        return plain
    return last.text + plain[len(subject.text) :]


def _stands_for(pronoun: str, subject: str, language: Language) -> bool:
    words = subject.split()
    if language == "de":
        return words[0].lower() == _GERMAN_PRONOUNS.get(pronoun) and len(words) > 1
    article = words[0].lower() in {"the", "a", "an"}
    named = not article and all(word[0].isupper() for word in words)
    match _PRONOUNS.get(pronoun):
        case "person":
            return named and len(words) > 1
        case "thing":
            return (article and any(word[0].isupper() for word in words[1:])) or (
                named and words[0].lower() not in _PRONOUNS
            )
        case _:
            return False
