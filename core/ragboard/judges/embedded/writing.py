"""Write questions about a passage, and answers to them, by a few simple rules.

A question about a simple English statement begins with When, Where, By whom, or Who or what. For another statement
with a name and a number, the question is the statement with a gap for its last number. A chat model writes better
questions.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from zlib import crc32

from ragboard.judges.embedded.changes import CHANGES, names_in
from ragboard.judges.embedded.lexicon import NUMBER_WORDS
from ragboard.judges.embedded.reading import read
from ragboard.judges.embedded.refusals import is_refusal
from ragboard.judges.embedded.select import helpful_sentences
from ragboard.judges.embedded.statements import extract
from ragboard.tasks import Failure, WriteAnswer, WrittenText
from ragboard.text.lexicon import FUNCTION_WORDS
from ragboard.text.sentences import Language, language_of, sentence_spans

__all__ = ["write_answer", "write_questions"]

SHORTEST, LONGEST = 5, 30
"""Minimum and maximum number of words of the statements and sentences that are used."""
GAP = "____"
GAP_QUESTION = {"en": 'What fills the gap: "{}"?', "de": "Was fehlt in der Lücke: „{}“?"}
INVENTED = ("Alder Merrow", "Calder", "Edgar Holm", "Torvik", "Selden Varga", "Linden")
"""Invented names for false answers, used if the passage has no other name."""

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_NAME = rf"(?!(?:{_MONTH})\b)[A-Z][\w'-]+(?: [A-Z][\w'-]+)*"
_COMPLEX = re.compile(
    r"[:;()\"“”—]|,\s(?:and|or|but)\b|\b(?:that|which|whose|whom?|where|when|while|until|because|although|though|if|but"
    r"|whereas|as|so|than|later|then|there|another|others?|its?|his|her|their|they|them|he|she|this|these|those)\b",
    re.IGNORECASE,
)
"""Matches punctuation and words that join clauses or refer to other sentences."""
_BE = re.compile(
    r"(?P<subject>(?!(?:in|on|at|by|from|after|before|for|with|of|to)\b)\S+(?: [^\s,]+){0,7}?)"
    r" (?P<be>was|were|is|are) (?P<rest>.+)",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(r"(?:\w+ly |first )?\w+(?:ed|en|wn|lt|ld|rn|ght|ade|ound|put|set)\b")
_WHEN = re.compile(
    rf"\b(?:in|on) (?:(?:early|late|the (?:spring|summer|autumn|winter) of) )?(?:\d\d? )?(?:(?:{_MONTH}) )?"
    r"(?:\d\d?, )?(?:1\d|20)\d\d\b(?!s|[.,]\d|\S*\d| (?:and|or|to) \d)",
    re.IGNORECASE,
)
_WHERE = re.compile(rf"(?<!^)\b(?:in|at|near) (?:the )?{_NAME}(?:, {_NAME})?(?![\w,])")
_BY = re.compile(rf"\bby (?P<short>(?:the )?{_NAME})(?![\w,]| (?:and|or|of)\b)")
_ACTIVE_CLAUSE = re.compile(
    rf"(?P<short>(?:The )?{_NAME}) (?P<rest>(?:was|is|had|has|[a-z]{{2,}}ed) (?!an?\b|one\b)\S+ \S+ .+)"
)
_VERB_OR_NAME = re.compile(r"[^a-z]|(?:was|is|had|has|were|are)\b|[a-z]+ed\b|$")
_FINITE_VERB = re.compile(r"\b(?:is|are|was|were|had|[a-z]{2,}ed)\b")
_PAST = re.compile(r"(?!.*\b(?:has|have)\b).*\b(?:was|were|had|[a-z]{2,}ed)\b")
_LAST_PHRASE = re.compile(r",?\s+(?:in|on|at|by|from|since|with|for|to|of|im|am|von|durch|seit|bei|mit)\s")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b(?!,\d)")
_FIGURE = re.compile(r"\d[\d.,]*\d|\d")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a passage: a question, its short answer, and the sentence that states it."""

    question: str
    short: str
    sentence: str


def write_questions(passage: str, n: int) -> tuple[str, ...]:
    """Return at most `n` questions about the passage, from as many different statements as possible."""
    return tuple(dict.fromkeys(fact.question for fact in _facts(passage)))[: max(n, 0)]


def write_answer(task: WriteAnswer) -> WrittenText | Failure:
    """Write an answer from the statement that the question is about, or else from the most helpful statement.

    The text is empty if no rule can write an answer of this kind. Returns a Failure for the kind `unaided`.
    """
    if task.kind == "unaided":
        return Failure(detail="the embedded judge cannot answer without a passage")
    fact = next((fact for fact in _facts(task.passage) if fact.question == task.question), None)
    sentence = fact.sentence if fact else _most_helpful_statement(task)
    rng = random.Random(f"{task.draw}\0{task.question}")  # noqa: S311 - no secret
    if task.kind == "incomplete":
        starts = [match.start() for match in _LAST_PHRASE.finditer(sentence)]
        shortened = sentence[: starts[-1]] if starts else ""
        return WrittenText(text=f"{shortened}." if len(shortened.split()) >= SHORTEST - 1 else "")
    length = rng.choices(("short", "sentence", "two sentences"), (3, 5, 5))[0]
    words = set(sentence.split())
    others = [other for other in _plain_sentences(task.passage) if 2 * len(words & set(other.split())) < len(words)]
    second_sentence = f" {rng.choice(others)}" if length == "two sentences" and others else ""
    if task.kind == "contradictory":
        false_fact = _falsify(fact, task.passage, rng, is_short=length == "short") if fact else None
        if false_fact is None:
            return WrittenText(text=_change(sentence, task.passage, rng))
        fact, sentence = false_fact, false_fact.sentence
    if fact and length == "short":
        return WrittenText(text=_as_sentence(fact.short))
    return WrittenText(text=f"{sentence}{second_sentence}" if fact else sentence)


# Facts


@lru_cache(maxsize=64)
def _facts(passage: str) -> tuple[Fact, ...]:
    """Return the first fact of every statement, then the second fact of every statement, and so on.

    A digest of a statement decides which of its facts is first, so the kinds of questions vary.
    """
    language = language_of(passage)
    groups: list[list[Fact]] = []
    for statement in extract(passage).statements:
        text = statement.text.strip(" .")
        if is_refusal(statement.text) or not SHORTEST <= len(text.split()) <= LONGEST:
            continue
        facts = [] if language != "en" or _COMPLEX.search(text) else [*_simple_facts(text)]
        facts = [fact for fact in facts if _is_self_contained(fact.question)]
        facts = facts or [*(_gap_questions(text, language) if text in passage else ())]
        start = crc32(text.encode("utf-8", "replace")) % (len(facts) or 1)
        groups.append([*facts[start:], *facts[:start]])
    return tuple(fact for nth in zip_longest(*groups) for fact in nth if fact)


def _simple_facts(text: str) -> Iterator[Fact]:
    """Yield the facts of an English statement that has one clause."""
    sentence = _as_sentence(text)
    if match := _ACTIVE_CLAUSE.fullmatch(text):
        yield Fact(f"Who or what {match['rest']}?", match["short"], sentence)
    for word, pattern in (("When", _WHEN), ("Where", _WHERE), ("By whom", _BY)):
        match = pattern.search(text)
        if match is None or pattern.search(text, match.end()):
            continue
        before, short, after = text[: match.start()].strip(), match.group(), text[match.end() :]
        if word == "Where" and (not _FINITE_VERB.search(before) or before.split()[-1].istitle()):
            continue  # the place belongs to another phrase: `the lighthouse at Fara was`, `to Aberdeen in Maryland`
        remainder = _lowercase_start(f"{before}{after}" if before else after.strip(" ,"))
        if (before and after.startswith(",")) or re.search(r",(?: \w+)?$", remainder):
            continue
        if parts := _BE.fullmatch(remainder):
            if _PARTICIPLE.match(parts["rest"]):
                yield Fact(f"{word} {parts['be']} {parts['subject']} {parts['rest']}?", short, sentence)
        elif word != "By whom" and _PAST.search(remainder):
            yield Fact(f"{word} was it that {remainder}?", short, sentence)


def _is_self_contained(question: str) -> bool:
    """Return whether the question names what it is about."""
    body = question.split(" ", 1)[1]
    return len(body.split()) >= SHORTEST - 1 and bool(read(f"- {body}", 2, len(body) + 1, "en").names)


def _gap_questions(text: str, language: Language) -> Iterator[Fact]:
    parsed = read(text, 0, len(text), language)
    if parsed.figures and parsed.names and not parsed.has_pronoun:
        last = parsed.figures[-1]
        cut = f"{text[: last.start]}{GAP}{text[last.end :]}"
        yield Fact(GAP_QUESTION.get(language, "{}?").format(cut), text[last.start : last.end], _as_sentence(text))


def _lowercase_start(text: str) -> str:
    """Return the text with a lower-case first letter, unless it begins with a name."""
    first, following, *_ = [*text.split(maxsplit=2), "", ""]
    plain = {first.lower()} & (FUNCTION_WORDS["en"] | NUMBER_WORDS.keys()) or not _VERB_OR_NAME.match(following)
    return text[:1].lower() + text[1:] if plain else text


def _as_sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


@lru_cache(maxsize=64)
def _plain_sentences(passage: str) -> tuple[str, ...]:
    """Return the sentences without pronouns, which can be understood without their context."""
    sentences = (passage[start:end] for start, end in sentence_spans(passage))
    return tuple(
        sentence
        for sentence in sentences
        if SHORTEST <= len(sentence.split()) <= LONGEST and sentence.endswith(".") and not is_refusal(sentence)
        if not read(sentence, 0, len(sentence), language_of(passage)).has_pronoun
    )


def _most_helpful_statement(task: WriteAnswer) -> str:
    statements = [statement.text for statement in extract(task.passage).statements if not is_refusal(statement.text)]
    _, scores = helpful_sentences(task.question, statements)
    best = max(range(len(statements)), key=lambda index: scores[index], default=None)
    return "" if best is None else _as_sentence(statements[best])


# False answers


def _falsify(fact: Fact, passage: str, rng: random.Random, *, is_short: bool) -> Fact | None:
    """Return the fact with another figure or name; None if it has neither.

    `is_short`: the answer is only the new figure or name, so it must not occur in the passage.
    """
    if match := _YEAR.search(fact.short) or _FIGURE.search(fact.short):
        old = match.group()
        others_in_passage = {
            other for other in match.re.findall(passage) if len(other) == len(old) and other not in fact.sentence
        }
        moved_year = str(int(old) + rng.choice((-31, -12, -4, 3, 9, 26))) if match.re is _YEAR else ""
        new = (
            rng.choice(sorted(others_in_passage))
            if others_in_passage and not is_short
            else moved_year or f"{int(old[0]) % 9 + 1}{old[1:]}"
        )
    elif match := re.search(_NAME, fact.short):
        old = match.group()
        others = [name for name in names_in([passage]) if not set(name.split()) & set(fact.sentence.split())]
        new = rng.choice(INVENTED if is_short or not others else others)
    elif match := _NUMBER_WORD.search(fact.short):
        old = match.group()
        new = rng.choice([other for other in ("three", "five", "seven", "eight", "twelve") if other != old.lower()])
    else:
        return None
    short = fact.short.replace(old, new, 1)
    if is_short and short in passage:
        return None
    start = fact.sentence.lower().rfind(fact.short.lower())
    end = start + len(fact.short)
    return replace(fact, short=short, sentence=_as_sentence(f"{fact.sentence[:start]}{short}{fact.sentence[end:]}"))


def _change(sentence: str, passage: str, rng: random.Random) -> str:
    """Return the sentence with a changed figure, date, name or negation; empty if no change is possible."""
    changed_sentences = (change(sentence, names_in([passage]), rng) for change in CHANGES.values())
    return next((text for text in changed_sentences if text and text != sentence and text not in passage), "")
