"""Questions on a passage, and answers to them, written by a few safe rules of the embedded judge.

A rule asks for a time, place, maker, number or name of a simple statement without conjugating a verb; for other
statements the question is a gap to fill. A chat model writes better questions.
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

__all__ = ["questions_to", "write_answer"]

SHORTEST, LONGEST = 5, 30
"""Minimum and maximum number of words of a statement or sentence to use."""
GAP = "____"
GAPPED = {"en": 'What fills the gap: "{}"?', "de": "Was fehlt in der Lücke: „{}“?"}
INVENTED = ("Alder Merrow", "Calder", "Edgar Holm", "Torvik", "Selden Varga", "Linden")
"""Replacements of names, if the passage has no other name."""

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_NAME = rf"(?!(?:{_MONTH})\b)[A-Z][\w'-]+(?: [A-Z][\w'-]+)*"
_COMPLEX = re.compile(
    r"[:;()\"“”—]|,\s(?:and|or|but)\b|\b(?:that|which|whose|whom?|where|when|while|until|because|although|though|if|but"
    r"|whereas|as|so|than|later|then|there|another|others?|its?|his|her|their|they|them|he|she|this|these|those)\b",
    re.IGNORECASE,
)
"""Matches words that join clauses or refer to other sentences."""
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
_ACTS = re.compile(rf"(?P<short>(?:The )?{_NAME}) (?P<rest>(?:was|is|had|has|[a-z]{{2,}}ed) (?!an?\b|one\b)\S+ \S+ .+)")
_VERB_OR_NAME = re.compile(r"[^a-z]|(?:was|is|had|has|were|are)\b|[a-z]+ed\b|$")
_ASSERTS = re.compile(r"\b(?:is|are|was|were|had|[a-z]{2,}ed)\b")
_PAST = re.compile(r"(?!.*\b(?:has|have)\b).*\b(?:was|were|had|[a-z]{2,}ed)\b")
_LAST_PHRASE = re.compile(r",?\s+(?:in|on|at|by|from|since|with|for|to|of|im|am|von|durch|seit|bei|mit)\s")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b(?!,\d)")
_FIGURE = re.compile(r"\d[\d.,]*\d|\d")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """A question, its short answer, and the sentence that contains the answer."""

    question: str
    short: str
    sentence: str


def questions_to(passage: str, n: int) -> tuple[str, ...]:
    """Return at most `n` questions, on as many different statements as possible."""
    return tuple(dict.fromkeys(fact.question for fact in _facts(passage)))[: max(n, 0)]


def write_answer(task: WriteAnswer) -> WrittenText | Failure:
    """Write an answer from the statement behind the question or, if it is unknown, from the most helpful sentence.

    Empty if no rule writes an answer of this kind.
    """
    if task.kind == "unaided":
        return Failure(detail="the embedded judge knows nothing without a passage")
    fact = next((each for each in _facts(task.passage) if each.question == task.question), None)
    sentence = fact.sentence if fact else _best(task)
    rng = random.Random(f"{task.draw}\0{task.question}")  # noqa: S311 - no secret
    if task.kind == "incomplete":
        starts = [found.start() for found in _LAST_PHRASE.finditer(sentence)]
        shortened = sentence[: starts[-1]] if starts else ""
        return WrittenText(text=f"{shortened}." if len(shortened.split()) >= SHORTEST - 1 else "")
    shape = rng.choices(("short", "sentence", "two"), (3, 5, 5))[0]
    words = set(sentence.split())
    others = [each for each in _plain_sentences(task.passage) if 2 * len(words & set(each.split())) < len(words)]
    added = f" {rng.choice(others)}" if shape == "two" and others else ""
    if task.kind == "contradictory":
        false = _falsified(fact, task.passage, rng, bare=shape == "short") if fact else None
        if false is None:
            return WrittenText(text=_changed(sentence, task.passage, rng))
        fact, sentence = false, false.sentence
    if fact and shape == "short":
        return WrittenText(text=_sentence(fact.short))
    return WrittenText(text=f"{sentence}{added}" if fact else sentence)


# Facts


@lru_cache(maxsize=64)
def _facts(passage: str) -> tuple[QuestionAnswer, ...]:
    """Return the facts of all statements: the first fact of each statement, then the second, and so on.

    A digest of the statement decides which of its facts is first, so that kinds of question vary.
    """
    language = language_of(passage)
    groups: list[list[QuestionAnswer]] = []
    for each in extract(passage).statements:
        text = each.text.strip(" .")
        if is_refusal(each.text) or not SHORTEST <= len(text.split()) <= LONGEST:
            continue
        facts = [] if language != "en" or _COMPLEX.search(text) else [*_simple_facts(text)]
        facts = [fact for fact in facts if _is_self_contained(fact.question)]
        facts = facts or [*(_gapped(text, language) if text in passage else ())]
        start = crc32(text.encode("utf-8", "replace")) % (len(facts) or 1)
        groups.append([*facts[start:], *facts[:start]])
    return tuple(fact for turn in zip_longest(*groups) for fact in turn if fact)


def _simple_facts(text: str) -> Iterator[QuestionAnswer]:
    """Yield the facts of an English statement of one clause."""
    sentence = _sentence(text)
    if found := _ACTS.fullmatch(text):
        yield QuestionAnswer(f"Who or what {found['rest']}?", found["short"], sentence)
    for word, pattern in (("When", _WHEN), ("Where", _WHERE), ("By whom", _BY)):
        found = pattern.search(text)
        if found is None or pattern.search(text, found.end()):
            continue
        before, short, after = text[: found.start()].strip(), found.group(), text[found.end() :]
        if word == "Where" and (not _ASSERTS.search(before) or before.split()[-1].istitle()):
            continue  # a part of another phrase: `the lighthouse at Fara was`, `to Aberdeen in Maryland`
        remainder = _lowercase_start(f"{before}{after}" if before else after.strip(" ,"))
        if (before and after.startswith(",")) or re.search(r",(?: \w+)?$", remainder):
            continue
        if parts := _BE.fullmatch(remainder):
            if _PARTICIPLE.match(parts["rest"]):
                yield QuestionAnswer(f"{word} {parts['be']} {parts['subject']} {parts['rest']}?", short, sentence)
        elif word != "By whom" and _PAST.search(remainder):
            yield QuestionAnswer(f"{word} was it that {remainder}?", short, sentence)


def _is_self_contained(question: str) -> bool:
    """Return whether the question names what it is about."""
    body = question.split(" ", 1)[1]
    return len(body.split()) >= SHORTEST - 1 and bool(read(f"- {body}", 2, len(body) + 1, "en").names)


def _gapped(text: str, language: Language) -> Iterator[QuestionAnswer]:
    reading = read(text, 0, len(text), language)
    if reading.figures and reading.names and not reading.has_pronoun:
        last = reading.figures[-1]
        cut = f"{text[: last.start]}{GAP}{text[last.end :]}"
        yield QuestionAnswer(GAPPED.get(language, "{}?").format(cut), text[last.start : last.end], _sentence(text))


def _lowercase_start(text: str) -> str:
    """Return the text as it reads within a sentence: without the capital of a sentence's beginning."""
    first, following, *_ = [*text.split(maxsplit=2), "", ""]
    plain = {first.lower()} & (FUNCTION_WORDS["en"] | NUMBER_WORDS.keys()) or not _VERB_OR_NAME.match(following)
    return text[:1].lower() + text[1:] if plain else text


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


@lru_cache(maxsize=64)
def _plain_sentences(passage: str) -> tuple[str, ...]:
    """Return the sentences without pronouns, which can be read on their own."""
    sentences = (passage[start:end] for start, end in sentence_spans(passage))
    return tuple(
        sentence
        for sentence in sentences
        if SHORTEST <= len(sentence.split()) <= LONGEST and sentence.endswith(".") and not is_refusal(sentence)
        if not read(sentence, 0, len(sentence), language_of(passage)).has_pronoun
    )


def _best(task: WriteAnswer) -> str:
    statements = [statement.text for statement in extract(task.passage).statements if not is_refusal(statement.text)]
    _, scores = helpful_sentences(task.question, statements)
    best = max(range(len(statements)), key=lambda place: scores[place], default=None)
    return "" if best is None else _sentence(statements[best])


# False answers


def _falsified(fact: QuestionAnswer, passage: str, rng: random.Random, *, bare: bool) -> QuestionAnswer | None:
    """Return the fact with another figure or name; None if it has neither.

    With `bare`, the replacement is not from the passage, as a bare answer could then be a true one.
    """
    if found := _YEAR.search(fact.short) or _FIGURE.search(fact.short):
        was = found.group()
        others_here = {
            each for each in found.re.findall(passage) if len(each) == len(was) and each not in fact.sentence
        }
        moved = str(int(was) + rng.choice((-31, -12, -4, 3, 9, 26))) if found.re is _YEAR else ""
        instead = (
            rng.choice(sorted(others_here)) if others_here and not bare else moved or f"{int(was[0]) % 9 + 1}{was[1:]}"
        )
    elif found := re.search(_NAME, fact.short):
        was = found.group()
        others = [name for name in names_in([passage]) if not set(name.split()) & set(fact.sentence.split())]
        instead = rng.choice(INVENTED if bare or not others else others)
    elif found := _NUMBER_WORD.search(fact.short):
        was = found.group()
        instead = rng.choice([each for each in ("three", "five", "seven", "eight", "twelve") if each != was.lower()])
    else:
        return None
    short = fact.short.replace(was, instead, 1)
    if bare and short in passage:
        return None
    start = fact.sentence.lower().rfind(fact.short.lower())
    end = start + len(fact.short)
    return replace(fact, short=short, sentence=_sentence(f"{fact.sentence[:start]}{short}{fact.sentence[end:]}"))


def _changed(sentence: str, passage: str, rng: random.Random) -> str:
    """Return the sentence with one change: a figure, date, name or negation; empty if none is possible."""
    found = (change(sentence, names_in([passage]), rng) for change in CHANGES.values())
    return next((text for text in found if text and text != sentence and text not in passage), "")
