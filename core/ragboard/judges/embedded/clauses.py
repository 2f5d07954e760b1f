"""The grammar the embedded judge knows: subject and verb by closed word lists, and where a sentence parts.

A rule cuts only where the words leave little doubt; a sentence no rule fits stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragboard.judges.embedded.lexicon import AUXILIARIES, word_set
from ragboard.text.lexicon import PAST
from ragboard.text.sentences import Language, Words, first_words, tokens, words_in

__all__ = ["Clause", "Subject", "clauses", "subject_of"]

LONGEST_SUBJECT = 9
"""Words; a longer beginning is more than a subject."""
READ = 300
"""Characters that are read for a subject and its verb."""
LONGEST_SENTENCE = 1000
"""Characters; no rule of grammar holds for a longer one, and it stays whole."""
NEAR_VERB = 6
"""Words within which a clause must show its verb."""

_NOT_SUBJECT = word_set(
    "when while if although though because since after before during until as in on at by for from with to of "
    "there where what who which how not both either neither according despite unlike however "
    "wenn als während weil da obwohl nachdem bevor in im am an auf bei nach seit mit von vor für es gab dort was wer"
)
_NOT_SUBJECT_DE = _NOT_SUBJECT - {"es"}
_BREAKS_SUBJECT = word_set("that which who whom whose where when if because although or oder der die das dass")
_OPENS_CLAUSE = word_set("it he she they this these the a an its his her their er sie es der die das ein eine")
_AFTER_VERB = word_set(
    "in on at by for from with to into over under through between across as a an the its his her their about until "
    "after before during"
)
_AND = re.compile(r"(,?)\s{1,3}(and|but|while|whereas|und|aber|während)\s", re.IGNORECASE)
_MAY_JOIN = re.compile(r"\s(?:and|but|while|whereas|und|aber|während)\s", re.IGNORECASE)
"""A quick look before it."""
_PARTS = re.compile(r"[,;:()]")
_UNCUT = re.compile(r"[^;]+")
_RELATIVE = re.compile(r",\s+(?:which|who)\s+")
_PARTICIPLE = re.compile(r"\w+(?:t|en)\W*$")


class Clause(NamedTuple):
    """One statement's words: where they stand, and how they read by themselves."""

    text: str
    start: int
    end: int


class Subject(NamedTuple):
    """The beginning of a clause up to its verb."""

    text: str
    verb: str
    after: int
    """Where the text goes on after the verb."""
    verb_at: int


def subject_of(text: str, start: int, end: int, language: Language) -> Subject | None:
    """The subject and the auxiliary or English past tense that follows it, where both are plain."""
    words = first_words(text, start, min(end, start + READ), LONGEST_SUBJECT + 1)
    if not words or words[0].lower() in (_NOT_SUBJECT_DE if language == "de" else _NOT_SUBJECT):
        return None
    auxiliaries = AUXILIARIES[language]
    for at, word in enumerate(words[1:], 1):
        plain = word.lower()
        if plain in auxiliaries:
            return _before_verb(text, Words.of(text, start, words[: at + 1]))
        if language == "en" and _is_past(plain):
            return _past_tense(text, Words.of(text, start, words[: at + 1]), end)
        if plain in _BREAKS_SUBJECT:
            return None
    return None


def _before_verb(text: str, words: Words) -> Subject | None:
    """All these words but the last, which is the verb; none where a mark parts them."""
    subject = text[words.start(0) : words.ends[-2]]
    return None if _PARTS.search(subject) else Subject(subject, words.spelt[-1], words.ends[-1], words.start(-1))


def _past_tense(text: str, words: Words, end: int) -> Subject | None:
    """`The bridge opened in ...`: no auxiliary may follow, or the verb could be a participle."""
    stop = words.ends[-1]
    after = words_in(text, stop, min(end, stop + READ))
    follows = not after or after[0].lower() in _AFTER_VERB or after[0][0].isdigit()
    return None if not follows or _verb_within(after, "en") else _before_verb(text, words)


def clauses(text: str, start: int, end: int, language: Language) -> Iterator[Clause]:
    """The clauses of the sentence `text[start:end]`, in order and apart."""
    for first, last in _parts(text, start, end):
        if last - first > LONGEST_SENTENCE:
            yield Clause(text[first:last], first, last)
        else:
            yield from _coordinated(text, first, last, language)


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentence cut at its semicolons, without the space around them."""
    for part in _UNCUT.finditer(text, start, end):
        piece = part.group()
        left, right = len(piece) - len(piece.lstrip()), len(piece) - len(piece.rstrip())
        if piece.strip():
            yield part.start() + left, part.end() - right


def _coordinated(text: str, start: int, end: int, language: Language) -> Iterator[Clause]:
    for found in _AND.finditer(text, start, end) if _MAY_JOIN.search(text, start, end) else ():
        restated = _second(text, start, found, end, language)
        if restated is None:
            continue
        yield from _relative(text, start, found.start())
        if restated:
            yield Clause(restated, found.end(), end)
        else:
            yield from _coordinated(text, found.end(), end, language)
        return
    yield from _relative(text, start, end)


def _second(text: str, start: int, conjunction: re.Match[str], end: int, language: Language) -> str | None:
    """How what follows the conjunction reads by itself: restated, "" as it stands, None for no cut."""
    subject = subject_of(text, start, conjunction.start(), language)
    words = first_words(text, conjunction.end(), end, NEAR_VERB + 1)
    if subject is None or len(words) < 2:
        return None
    if conjunction[1] and _opens(words) and _verb_within(words[1:], language):
        return ""
    if conjunction[2].lower() not in {"and", "und"}:
        return None
    verb_phrase = text[conjunction.end() : end]
    if language == "de":
        return _german(text, subject, conjunction, verb_phrase)
    if not _complete(text, subject, conjunction.start()):
        return None
    return f"{subject.text} {verb_phrase}" if _is_verb_phrase(words) else None


def _opens(words: Sequence[str]) -> bool:
    return words[0].lower() in _OPENS_CLAUSE or words[0][0].isupper()


def _verb_within(words: Sequence[str], language: Language) -> bool:
    plain = list(map(str.lower, words))
    return not AUXILIARIES[language].isdisjoint(plain) or (language == "en" and any(map(_is_past, plain)))


def _is_past(plain: str) -> bool:
    """Whether the word, in small letters, may be a past tense."""
    return plain in PAST or (plain.endswith("ed") and len(plain) > 4)


def _is_verb_phrase(words: Sequence[str]) -> bool:
    first, second = words[0].lower(), words[1]
    if first in AUXILIARIES["en"]:
        return True
    following = second.lower() in _AFTER_VERB or second[0].isdigit() or second[0].isupper()
    return _is_past(first) and following


def _complete(text: str, subject: Subject, end: int) -> bool:
    """Whether the first verb phrase holds more than its verb, so that nothing said later belongs to both."""
    words = list(map(str.lower, words_in(text, subject.after, end)))
    return len(words) > 2 and not _is_past(words[-1]) and not _AFTER_VERB.isdisjoint(words[:-1])


def _german(text: str, subject: Subject, conjunction: re.Match[str], second: str) -> str | None:
    """`Die Brücke wurde 1990 gebaut und 1995 eröffnet`: both halves end in a participle and hold a figure."""
    first = text[subject.after : conjunction.start()]
    fits = all(_PARTICIPLE.search(half) and re.search(r"\d", half) for half in (first, second))
    return f"{subject.text} {subject.verb} {second}" if fits and not conjunction[1] else None


def _relative(text: str, start: int, end: int) -> Iterator[Clause]:
    """`X, which was A, is B` and `... B by X, which is A`: the side remark becomes a clause of its own."""
    found = _RELATIVE.search(text, start, end)
    noun = _named_before(text, start, found.start()) if found else None
    words = tokens(text, found.end(), end, most=1) if found else ()
    if found is None or noun is None or not words or words[0].text.lower() not in AUXILIARIES["en"]:
        yield Clause(text[start:end], start, end)
        return
    close = text.find(",", found.end(), end)
    if noun == text[start : found.start()]:
        verb = tokens(text, close, end, most=1) if close > 0 else ()
        if not verb or verb[0].text.lower() not in AUXILIARIES["en"]:
            yield Clause(text[start:end], start, end)
            return
        yield Clause(f"{noun} {text[found.end() : close]}", start, close)
        yield Clause(f"{noun} {text[verb[0].start : end]}", verb[0].start, end)
    elif close < 0:
        yield Clause(text[start : found.start()], start, found.start())
        yield Clause(f"{noun} {text[found.end() : end]}", found.start() + 2, end)
    else:
        yield Clause(text[start:end], start, end)


_NAME_AT_END = re.compile(r"(?:[Tt]he )?[A-Z][\w'-]*(?: (?:of |de |von |van )?[A-Z][\w'-]*)*$")


def _named_before(text: str, start: int, end: int) -> str | None:
    found = _NAME_AT_END.search(text[start:end])
    return found.group() if found else None
