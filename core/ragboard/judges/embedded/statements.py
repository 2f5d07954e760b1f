"""Extract the statements of a text, without greetings, lead-ins and citation marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragboard.judges.embedded.lexicon import AUXILIARIES, word_set
from ragboard.judges.embedded.refusals import is_refusal
from ragboard.records import Span
from ragboard.tasks import ExtractedStatement, Extraction
from ragboard.text.lexicon import FUNCTION_WORDS, PAST
from ragboard.text.sentences import (
    Language,
    Words,
    first_words,
    has_token,
    language_of,
    sentence_spans,
    tokens,
    words_in,
)

__all__ = ["Subject", "extract", "hedging_words", "is_filler", "subject_of"]


CITATION = re.compile(
    r"\s{0,3}(?:\[\^?\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*\]|\u3010[^\u3011]{1,40}\u3011"
    r"|[\[(](?:see\s+)?(?:sources?|passages?|documents?|docs?|contexts?|refs?|quellen?|dokumente?|siehe)\b"
    r"[\s.:#]*\d{1,3}(?:\s*(?:,|and|und|-)\s*\d{1,3})*[\])])",
    re.IGNORECASE,
)
"""A mark such as `[1]`, `[2, 3]` or `(Source 3)`, with the space before it."""

CITATION_END = re.compile(r"[\])\u3011]")

LEAD_WORD = re.compile(
    r"(?:yes|no|sure|certainly|of course|okay|ok|well|ja|nein|gerne?|natürlich"
    r"|klar)\s*[,.!:\u2013-]\s*",
    re.IGNORECASE,
)
"""Matches a word of courtesy or assent before the statement of a sentence."""

HEDGE_SEARCH_CHARS = 400
"""Number of characters at the start of a sentence that are searched for a hedge."""

_HEDGE = re.compile(
    r"\b(?:I think|I believe|I guess|I suppose|I assume|I would say|as far as I know"
    r"|not (?:entirely |quite |completely )?(?:sure|certain|clear|well understood)"
    r"|may or may not|might be|could be|may be|perhaps|possibly|presumably"
    r"|it (?:seems|appears)|(?:is|are|was) (?:believed|thought|said|assumed) to|hard to say|it depends"
    r"|ich glaube|ich denke|ich vermute|vermutlich|vielleicht|möglicherweise|wohl|soweit ich weiß|nicht sicher"
    r"|könnte sein|dürfte|angeblich)\b",
    re.IGNORECASE,
)

_FILLER = re.compile(
    r"(?:sure|certainly|of course|great question|good question|here(?:'s| is| are)|below (?:is|are)|let me|"
    r"(?:i'm|i am|we're|we are) sorry (?:to hear|that you)|"
    r"i hope (?:this|that)|hope this|feel free|let me know|please (?:let|note|feel)|thank you"
    r"|thanks|hello|hi|"
    r"is there anything|gerne|natürlich|hier (?:ist|sind|finden)|hallo|guten tag|vielen dank"
    r"|ich hoffe|bei fragen)\b",
    re.IGNORECASE,
)
_OPENER = re.compile(
    r"(?:hello|hi|hallo|thanks|thank you|sure|certainly|of course|gerne|natürlich)\b[^.]{0,30}[!,]?$", re.I
)
_COURTESY = re.compile(
    r"(?:(?:i'm|i am|we're|we are) sorry|i hope|hope this|feel free|let me|please (?:let|feel)|ich hoffe|bei fragen"
    r"|great |good q)",
    re.I,
)
_POLITE = re.compile(
    r"(?:you(?:'re| are) (?:very |most )?welcome|(?:i'm |i am )?(?:glad|happy) (?:to help|i could help)|my pleasure"
    r"|have a (?:great|good|nice|lovely|wonderful) (?:day|evening|weekend|trip|time)|good luck"
    r"|gern geschehen|keine ursache|viel (?:erfolg|glück|spaß)|schönen tag(?: noch)?)\W*",
    re.IGNORECASE,
)
"""Matches whole sentences of courtesy."""
_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
"""Matches a block of code between fences, the last of which may be missing."""
_ASSENT = re.compile(r"(?:yes|no|ja|nein|sure|ok|okay|well)\W*$", re.IGNORECASE)
_ENDS_IN_COLON = re.compile(r":(?:\s+\(?1[.)])?\W*$")
"""Matches the end of a lead-in, which may include the number of the first list item: `such as: 1.`"""
_ABOUT_THE_QUESTION = re.compile(
    r"\W*(?:well, |so, )?(?:it|that|this|the answer)\s+(?:really |all |mostly )?depends"
    r"(?:\s+on (?:what|which|how|whom?|whether|where|when)\b[^,;:]{0,60})?\W*$"
    r"|.{0,60}\b(?:typo|mistake|confusion)\b.{0,20}\byour (?:question|query)\b"
    r"|.{0,60}\byour (?:question|query|request)\b.{0,40}\b(?:unclear|ambiguous|clarif|incomplete)",
    re.IGNORECASE,
)
"""Matches sentences about the question or the answer: `It depends on which one you mean.`"""
_NUMERAL = re.compile(r"\W*\d{1,3}[.)]\W*")
"""Matches the number of a list item, which the sentence splitter may return as a sentence."""


_MAY_HEDGE = (
    *("think", "believ", "guess", "suppos", "assum", "would say", "know", "sure", "certain", "clear", "understood"),
    *("may", "might", "could", "perhaps", "possib", "presum", "seems", "appears", "thought", "said", "hard", "depends"),
    *("glaub", "denke", "vermut", "vielleicht", "möglich", "wohl", "soweit", "sicher", "könnte", "dürfte", "angeblich"),
)
"""Substrings for a quick check: every sentence with a hedge contains at least one."""


def _contains_any(substrings: tuple[str, ...], text: str) -> bool:
    return any(map(text.__contains__, substrings))


def hedging_words(sentence: str) -> str:
    """Return the hedging words of a sentence; empty if there are none."""
    match = _contains_any(_MAY_HEDGE, sentence.lower()) and _HEDGE.search(
        sentence[:HEDGE_SEARCH_CHARS].replace("\u2019", "'")
    )
    return match.group() if match else ""


def is_filler(sentence: str) -> bool:
    """Return whether the sentence states nothing: a question, greeting, courtesy, lead-in or remark on the question."""
    plain = sentence.replace("\u2019", "'").strip().strip("*_\"'\u201c\u201d")
    if (
        plain.endswith(("?", "\uff1f"))
        or _ENDS_IN_COLON.search(plain)
        or _ASSENT.match(plain)
        or _POLITE.fullmatch(plain)
        or _ABOUT_THE_QUESTION.match(plain)
    ):
        return True
    return bool(
        _FILLER.match(plain) and (_COURTESY.match(plain) or _OPENER.match(plain) or "here" in plain[:20].lower())
    )


MAX_SUBJECT_WORDS = 9
"""Maximum number of words of a subject."""
SUBJECT_SEARCH_CHARS = 300
"""Number of characters at the start of a clause that are searched for its subject and verb."""
MAX_SPLIT_CHARS = 1000
"""Maximum number of characters of a sentence that is split into clauses. A longer sentence is not split."""
VERB_SEARCH_WORDS = 6
"""Number of words after a conjunction that are searched for the verb of the second clause."""

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
_CONJUNCTION = re.compile(r"(,?)\s{1,3}(and|but|while|whereas|und|aber|während)\s", re.IGNORECASE)
_MAY_JOIN = re.compile(r"\s(?:and|but|while|whereas|und|aber|während)\s", re.IGNORECASE)
"""A quick check before `_CONJUNCTION`."""
_SUBJECT_BREAK = re.compile(r"[,;:()]")
_BETWEEN_SEMICOLONS = re.compile(r"[^;]+")
_RELATIVE = re.compile(r",\s+(?:which|who)\s+")
_PARTICIPLE = re.compile(r"\w+(?:t|en)\W*$")


class Clause(NamedTuple):
    """The text of one statement, and the span that it comes from."""

    text: str
    start: int
    end: int


class Subject(NamedTuple):
    """The beginning of a clause up to its verb."""

    text: str
    verb: str
    after: int
    """The position after the verb."""
    verb_at: int
    """The position of the verb."""


def subject_of(text: str, start: int, end: int, language: Language) -> Subject | None:
    """Return the subject and its verb; None if either is unclear. The verb is an auxiliary or an English past tense."""
    words = first_words(text, start, min(end, start + SUBJECT_SEARCH_CHARS), MAX_SUBJECT_WORDS + 1)
    if not words or words[0].lower() in (_NOT_SUBJECT_DE if language == "de" else _NOT_SUBJECT):
        return None
    auxiliaries = AUXILIARIES[language]
    for index, word in enumerate(words[1:], 1):
        lowered = word.lower()
        if lowered in auxiliaries:
            return _subject_before_verb(text, Words.locate(text, start, words[: index + 1]))
        if language == "en" and _is_past(lowered):
            return _subject_of_past_tense(text, Words.locate(text, start, words[: index + 1]), end)
        if lowered in _BREAKS_SUBJECT:
            return None
    return None


def _subject_before_verb(text: str, words: Words) -> Subject | None:
    """Return the last word as the verb and the words before it as the subject; None if these contain punctuation."""
    subject = text[words.start(0) : words.ends[-2]]
    return (
        None if _SUBJECT_BREAK.search(subject) else Subject(subject, words.spelt[-1], words.ends[-1], words.start(-1))
    )


def _subject_of_past_tense(text: str, words: Words, end: int) -> Subject | None:
    """Return the subject of `The bridge opened in ...`; None for a participle, as in `The bridge opened in 1890 is`."""
    stop = words.ends[-1]
    after = words_in(text, stop, min(end, stop + SUBJECT_SEARCH_CHARS))
    follows = not after or after[0].lower() in _AFTER_VERB or after[0][0].isdigit()
    return None if not follows or _verb_within(after, "en") else _subject_before_verb(text, words)


def clauses(text: str, start: int, end: int, language: Language) -> Iterator[Clause]:
    """Yield the clauses of the sentence `text[start:end]`, in order, without overlap."""
    for first, last in _parts(text, start, end):
        if last - first > MAX_SPLIT_CHARS:
            yield Clause(text[first:last], first, last)
        else:
            yield from _split_coordination(text, first, last, language)


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of the sentence between semicolons, without surrounding space."""
    for part in _BETWEEN_SEMICOLONS.finditer(text, start, end):
        piece = part.group()
        left, right = len(piece) - len(piece.lstrip()), len(piece) - len(piece.rstrip())
        if piece.strip():
            yield part.start() + left, part.end() - right


def _split_coordination(text: str, start: int, end: int, language: Language) -> Iterator[Clause]:
    for conjunction in _CONJUNCTION.finditer(text, start, end) if _MAY_JOIN.search(text, start, end) else ():
        restated = _second_clause(text, start, conjunction, end, language)
        if restated is None:
            continue
        yield from _split_relative_clause(text, start, conjunction.start())
        if restated:
            yield Clause(restated, conjunction.end(), end)
        else:
            yield from _split_coordination(text, conjunction.end(), end, language)
        return
    yield from _split_relative_clause(text, start, end)


def _second_clause(text: str, start: int, conjunction: re.Match[str], end: int, language: Language) -> str | None:
    """Return the clause after the conjunction with the first clause's subject; None if no clause follows.

    An empty string if the second clause has its own subject.
    """
    subject = subject_of(text, start, conjunction.start(), language)
    words = first_words(text, conjunction.end(), end, VERB_SEARCH_WORDS + 1)
    if subject is None or len(words) < 2:
        return None
    if conjunction[1] and _opens_clause(words) and _verb_within(words[1:], language):
        return ""
    if conjunction[2].lower() not in {"and", "und"}:
        return None
    verb_phrase = text[conjunction.end() : end]
    if language == "de":
        return _german_second_clause(text, subject, conjunction, verb_phrase)
    if not _is_complete(text, subject, conjunction.start()):
        return None
    return f"{subject.text} {verb_phrase}" if _is_verb_phrase(words) else None


def _opens_clause(words: Sequence[str]) -> bool:
    return words[0].lower() in _OPENS_CLAUSE or words[0][0].isupper()


def _verb_within(words: Sequence[str], language: Language) -> bool:
    plain = list(map(str.lower, words))
    return not AUXILIARIES[language].isdisjoint(plain) or (language == "en" and any(map(_is_past, plain)))


def _is_past(plain: str) -> bool:
    """Return whether the word, in lower case, may be a past tense."""
    return plain in PAST or (plain.endswith("ed") and len(plain) > 4)


def _is_verb_phrase(words: Sequence[str]) -> bool:
    first, second = words[0].lower(), words[1]
    if first in AUXILIARIES["en"]:
        return True
    following = second.lower() in _AFTER_VERB or second[0].isdigit() or second[0].isupper()
    return _is_past(first) and following


def _is_complete(text: str, subject: Subject, end: int) -> bool:
    """Return whether the first verb phrase is complete, and shares no words with the one after the conjunction."""
    words = list(map(str.lower, words_in(text, subject.after, end)))
    return len(words) > 2 and not _is_past(words[-1]) and not _AFTER_VERB.isdisjoint(words[:-1])


def _german_second_clause(text: str, subject: Subject, conjunction: re.Match[str], second: str) -> str | None:
    """Return the second clause of a sentence like `Die Brücke wurde 1990 gebaut und 1995 eröffnet`, else None.

    Both halves must end in a participle and contain a number.
    """
    first = text[subject.after : conjunction.start()]
    fits = all(_PARTICIPLE.search(half) and re.search(r"\d", half) for half in (first, second))
    return f"{subject.text} {subject.verb} {second}" if fits and not conjunction[1] else None


def _split_relative_clause(text: str, start: int, end: int) -> Iterator[Clause]:
    """Yield the main clause and the relative clause of `X, which was A, is B` or `... B by X, which is A`.

    A clause of another form is not split.
    """
    relative = _RELATIVE.search(text, start, end)
    noun = _name_before(text, start, relative.start()) if relative else None
    words = tokens(text, relative.end(), end, most=1) if relative else ()
    if relative is None or noun is None or not words or words[0].text.lower() not in AUXILIARIES["en"]:
        yield Clause(text[start:end], start, end)
        return
    comma = text.find(",", relative.end(), end)
    if noun == text[start : relative.start()]:
        verb = tokens(text, comma, end, most=1) if comma > 0 else ()
        if not verb or verb[0].text.lower() not in AUXILIARIES["en"]:
            yield Clause(text[start:end], start, end)
            return
        yield Clause(f"{noun} {text[relative.end() : comma]}", start, comma)
        yield Clause(f"{noun} {text[verb[0].start : end]}", verb[0].start, end)
    elif comma < 0:
        yield Clause(text[start : relative.start()], start, relative.start())
        yield Clause(f"{noun} {text[relative.end() : end]}", relative.start() + 2, end)
    else:
        yield Clause(text[start:end], start, end)


_NAME_AT_END = re.compile(r"(?:[Tt]he )?[A-Z][\w'-]*(?: (?:of |de |von |van )?[A-Z][\w'-]*)*$")


def _name_before(text: str, start: int, end: int) -> str | None:
    match = _NAME_AT_END.search(text[start:end])
    return match.group() if match else None


HEADING_MARK_CHARS, CITATION_TAIL_CHARS = 12, 80
"""Number of characters that are searched before a sentence for the `#` of a heading, and at its end for citations."""

_HEADING = re.compile(r"(?:^|[\r\n])[ \t>]*#{1,6}[ \t]+\Z")
_FIRST_TEXT = re.compile(r"[^\s.,*_]")
_BUT = re.compile(r",\s+(?:but|however|though|aber|allerdings|jedoch)\s+", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*\*|__|`")
_NEW_LINE = re.compile(r"[\r\n]")
_EDGE_CHARS = " \t\r\n*_,;"
_REACTION = re.compile(
    r"\W*(?:indeed|absolutely|exactly|definitely|correct|right|true|genau|stimmt"
    r"|(?:that|this|it)(?:'s| is| was| would be) (?:not |quite |absolutely )*"
    r"(?:true|accurate|correct|right|wrong|possible))\W*$",
    re.IGNORECASE,
)
"""Matches a whole sentence that only agrees or disagrees: `That is not correct.`"""
_PRONOUNS = {"it": "thing", "he": "person", "she": "person"}
_GERMAN_PRONOUNS = {"er": "der", "sie": "die", "es": "das"}


def extract(text: str) -> Extraction:
    """Extract the statements of `text` in reading order; their spans do not overlap."""
    language = language_of(text)
    refuses = False
    statements: list[ExtractedStatement] = []
    previous: Subject | None = None
    done = 0
    for first, end in _candidate_sentences(text, language):
        declines = is_refusal(text[first:end])
        refuses = refuses or declines
        start = _after_but(text, first, end) if declines else first
        if _NEW_LINE.search(text, done, first):
            previous = None
        done = end
        for clause in clauses(text, start, end, language):
            statement, previous = _statement(text, clause, previous, language)
            statements += [statement] if statement else []
    return Extraction(statements=tuple(statements), refuses=refuses)


def _candidate_sentences(text: str, language: Language) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences that may contain a statement, without citation marks and courtesies around them."""
    headed = "#" in text
    code = [match.span() for match in _CODE.finditer(text)] if "```" in text or "~~~" in text else []
    for first, last in sentence_spans(text, language):
        if any(start < last and first < end for start, end in code):
            continue
        if headed and _HEADING.search(text, max(0, first - HEADING_MARK_CHARS), first):
            continue
        start, end = _without_lead(text, first, last), _without_citations(text, first, last)
        numeral = _NUMERAL.fullmatch(text, start, end) and (start, end) != (0, len(text.strip()))
        if start < end and not numeral and not is_filler(text[start:end]):
            yield start, end


def _without_lead(text: str, start: int, end: int) -> int:
    while lead := CITATION.match(text, start, end) or LEAD_WORD.match(text, start, end):
        following = _FIRST_TEXT.search(text, lead.end(), end)
        start = following.start() if following else end
    return start


def _without_citations(text: str, start: int, end: int) -> int:
    """Return the end without citation marks: `... in 1990 [1].` ends after 1990."""
    while True:
        tail = max(start, end - CITATION_TAIL_CHARS)
        last = next(reversed([*CITATION.finditer(text, tail, end)]), None) if _may_cite(text, tail, end) else None
        if last is None or text[last.end() : end].strip(" \t\r\n.,;!*_"):
            return end
        end = last.start()


def _may_cite(text: str, start: int, end: int) -> bool:
    """Return whether there is a closing bracket, with which every citation mark ends: a quick check for `CITATION`."""
    return CITATION_END.search(text, start, end) is not None


def _after_but(text: str, start: int, end: int) -> int:
    """Return the position after `but` if a refusal is followed by a statement, else `end`."""
    but = _BUT.search(text, start, end)
    if but and not is_refusal(text[but.end() : end]) and is_refusal(text[start : but.start()]):
        return but.end()
    return end


def _statement(
    text: str, clause: Clause, previous: Subject | None, language: Language
) -> tuple[ExtractedStatement | None, Subject | None]:
    """Return the statement of a clause, or None if it states nothing, and the subject for a following pronoun."""
    restated = clause.text != text[clause.start : clause.end]
    start, end = _edges(text, clause.start, clause.end)
    clause_text = text[start:end] if not restated else clause.text.strip(_EDGE_CHARS)
    cited = _may_cite(clause_text, 0, len(clause_text))
    plain = _EMPHASIS.sub("", CITATION.sub("", clause_text) if cited else clause_text)
    if start >= end or not has_token(plain, 0, len(plain)) or _REACTION.match(plain.replace("\u2019", "'")):
        return None, previous
    words = map(str.lower, words_in(plain, 0, len(plain)))
    if (start, end) != (0, len(text)) and all(word in FUNCTION_WORDS[language] for word in words):
        return None, previous
    subject = subject_of(plain, 0, len(plain), language)
    resolved = _resolve_pronoun(plain, subject, previous, language)
    span = Span(start=start, end=end, how="verbatim" if resolved == text[start:end] else "aligned")
    if resolved != plain:
        subject = subject_of(resolved, 0, len(resolved), language)
    return ExtractedStatement(text=resolved, span=span), subject


def _edges(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip(_EDGE_CHARS))
    right = len(piece) - len(piece.rstrip(_EDGE_CHARS))
    return start + left, end - right


def _resolve_pronoun(plain: str, subject: Subject | None, previous: Subject | None, language: Language) -> str:
    """Replace a pronoun at the start by the subject of the previous statement, if it clearly refers to this subject."""
    if subject is None or previous is None or not _can_refer_to(subject.text.lower(), previous.text, language):
        return plain
    return previous.text + plain[len(subject.text) :]


def _can_refer_to(pronoun: str, subject: str, language: Language) -> bool:
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
