"""A plain English statement taken apart into subject, verb, rest and time; one that is not plain is left alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragboard.judges.embedded.lexicon import NUMBER_WORDS, word_set
from ragboard.judges.embedded.writing.cutting import COMMA, JOINT, cut
from ragboard.judges.embedded.writing.verbs import (
    HUMAN,
    LOOSELY_HUMAN,
    MODALS,
    SAME_AS_BASE,
    form_of,
    is_participle,
    past_only,
)
from ragboard.text.sentences import Token, tokens

__all__ = ["MONTH", "WHEN", "Parsed", "parsed"]

LONGEST_SUBJECT = 9
"""Words."""
LONGEST = 400
"""Characters of a statement that is looked at."""

MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1\d{3}|20\d\d)(?!\d|[.,]\d)"
_DAY_OR_YEAR = rf"(?:{MONTH} \d{{1,2}}, {_YEAR}|(?:\d{{1,2}} )?(?:{MONTH} )?{_YEAR})"
_PART = "(?:spring|summer|autumn|winter|end|middle|beginning|night|evening|morning)"
_DATE = (
    rf"(?:the (?:early |late |mid-)?(?:1\d|20)\d0s|the {_PART} of {_DAY_OR_YEAR}|(?:early |late |mid-){_DAY_OR_YEAR}"
    rf"|{_DAY_OR_YEAR})"
)
_ALONE = rf"(?! (?:and|to|until) (?:\d|{MONTH})|[\u2013/-]\d)"
"""No second time is joined to it."""
WHEN = re.compile(rf"\b(?:in|on|around) {_DATE}{_ALONE}(?: BC\b)?")
"""A time at which something happened once."""

_LEAD = re.compile(rf"(?:In|On|Around) {_DATE}{_ALONE},? (?=\w)")
_ASIDE = re.compile(r"\s\([^()]*\)")
_UNFIT = re.compile(r"[:;()\[\]\"\u201c\u201d\u201e?|\n]|\.\s|\bnor\b")
_LIMIT = re.compile(r",\s|\s(?:that|which|who|whose|where|when|why|how|what|whether)\s")
_DENIAL = word_set("not never no nobody none nothing neither hardly scarcely seldom rarely only n't cannot without")
_OPENERS = word_set(
    "amongst amid throughout towards toward beside besides upon via it its he his him she her they their them "
    "this these those that such another other others both one ones some many most each all any every nobody no "
    "none neither not there here what who when where part half much more less fewer two-thirds then so even only "
    "still perhaps nearly almost everyone nothing something anyone yet also just among in on at by from for with "
    "to of after before during until since as while if although because though between near under over below "
    "above off along around without within like unlike according despite how why which whose whom and but or "
    "either former latter again today now once later months years two's i we you our your my"
)
_BREAKS = word_set("that which who whom whose where when if because although whether")
_ADVERBS = word_set(
    "soon later once then already still now long largely roughly finally nearly eventually again meanwhile "
    "therefore simply merely first thus often usually mostly probably perhaps all each alone together even "
    "however himself themselves"
)
_ARTICLES = word_set("the a an")
_BESIDE_PARTICIPLE = word_set("by there here twice once as")
"""What shows that a word such as `built` goes with the noun before it."""
_BEFORE_OBJECT = word_set(
    "a an the his her its their in on at by for from with to into over under through between across as about "
    "around some nearly almost up out off down away back more less only just and within beneath beyond near"
)
_NAMED_BY_REMARK = re.compile(
    r"(?:The|A|An|Its|His|Her|Their|the|a|an|its|his|her|their) [^,A-Z]+, "
    r"(?P<name>(?:the )?[A-Z][\w'-]*(?: [A-Z][\w'-]*)*)"
    r", (?:(?:who|which) [^,]+, )?(?=[a-z])"
)
"""`The largest island, Olkhon, ...` is about Olkhon."""
_OF_A_PLACE = re.compile(r"(?:n|sh|se|ch|ic|ek|ss|et|[aeiou]|'s)$")
"""How words such as Russian, French or Swiss end."""
_DONE_BY = re.compile(r"\bby (?:[a-z]+ )*[A-Z]")
"""Behind a word such as `discovered` it shows a participle."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement by its parts, each as it reads within a sentence."""

    subject: str
    verb: str
    """The finite verb: an auxiliary, a past tense or a third person."""
    rest: str
    """What follows the verb, up to where something else is said."""
    lead: str
    """A time that stood in front: `in 1960`; else empty."""
    cut: bool
    """Whether more followed."""

    @property
    def auxiliary(self) -> bool:
        """Whether the verb asks by itself; `had` followed by no participle does not."""
        if self.verb in {"has", "have", "had"}:
            return any(is_participle(word) for word in self.rest.split()[:2]) or self.rest.startswith("been ")
        return self.verb in MODALS


def parsed(statement: str, passage: str) -> Parsed | None:
    """The parts of a statement, where its words leave little doubt; `passage` tells names from common words."""
    text = _ASIDE.sub("", statement).strip().rstrip(".!")
    if len(text) > LONGEST or _UNFIT.search(text):
        return None
    found = _LEAD.match(text)
    lead = found.group().strip(" ,") if found else ""
    text = text[found.end() :] if found else text
    words = tokens(text, most=40)
    at = _verb(text, words)
    if at is None:
        return None
    head = _head(text[: words[at].start].rstrip())
    subject = _inner(head, passage, human=_human(words[at].text)) if not lead else head
    if subject is None or not _may_be_subject(head):
        return None
    after = text[words[at].end :]
    rest = cut(after)
    if rest is None or _DENIAL & set(rest.lower().split()[:3]):
        return None
    in_sentence = lead[:1].lower() + lead[1:]
    return Parsed(subject, words[at].text, rest, in_sentence, rest != after.strip())


def _verb(text: str, words: tuple[Token, ...]) -> int | None:
    """Which word is the verb of the subject with which the text begins."""
    comma = COMMA.search(text)
    if named := _NAMED_BY_REMARK.match(text):
        place = next((place for place, each in enumerate(words) if each.start == named.end()), None)
        return place if place is not None and _is_verb(text, words, place) else None
    for at, word in enumerate(words):
        plain = word.text.lower()
        if comma and word.start > comma.start():
            return _after_remark(text, words, at)
        if at > LONGEST_SUBJECT or plain in _BREAKS:
            return None
        if at and words[at - 1].text.lower() in _ARTICLES:
            continue
        if at and word.text == plain and _is_verb(text, words, at):
            return at
        if at and word.text == plain and is_participle(plain):
            return None
    return None


def _after_remark(text: str, words: tuple[Token, ...], first: int) -> int | None:
    """The verb after a remark between commas: `Newcomen, an ironmonger from Devon, built ...`."""
    if words[first].text.lower() in {"and", "or"} or words[first].text[0].isupper():
        return None
    for at in range(first, len(words)):
        if text[words[at - 1].end : words[at].start].strip() == "," and at > first:
            return at if _is_verb(text, words, at) else None
    return None


def _is_verb(text: str, words: tuple[Token, ...], at: int) -> bool:
    plain = words[at].text
    if plain in MODALS:
        return True
    form = form_of(plain)
    if form is None:
        return False
    following = words[at + 1].text if at + 1 < len(words) else ""
    opens = not following or following.lower() in _BEFORE_OBJECT or following[0].isdigit() or following[0].isupper()
    opens = opens or following.lower() in NUMBER_WORDS
    if form.support == "does":
        return opens and _singular(words[at - 1].text)
    if plain in SAME_AS_BASE:
        return opens and _singular(words[at - 1].text) and text[: words[at].start].count(" and ") == 0
    if past_only(plain):
        return True
    beside = following in _BESIDE_PARTICIPLE or following.endswith("ly")
    return not beside and not _another_verb(text, words[at].end) and not _DONE_BY.search(text, words[at].end)


def _human(verb: str) -> bool:
    form = form_of(verb)
    return form is not None and form.base in HUMAN - LOOSELY_HUMAN


def _singular(word: str) -> bool:
    return not word.endswith("s") or word[0].isupper()


def _another_verb(text: str, start: int) -> bool:
    """Whether another finite verb follows in the same clause, so that the first may be a participle."""
    stretch = text[start:]
    limit = _LIMIT.search(stretch) or JOINT.search(stretch)
    said = stretch[: limit.start()] if limit else stretch
    return any(word in MODALS or (form_of(word) is not None and not word.endswith("s")) for word in said.split())


def _head(before: str) -> str:
    """The subject without a remark between commas and without `also`; the name where the remark is one."""
    named = _NAMED_BY_REMARK.match(f"{before} x")
    head = named["name"] if named else COMMA.split(before, maxsplit=1)[0].rstrip(",")
    return re.sub(r"\s(?:also|itself)$", "", head)


def _may_be_subject(head: str) -> bool:
    words = head.split()
    if not words or len(words) > LONGEST_SUBJECT or words[0].lower() in _OPENERS or words[-1].endswith(("'s", "s'")):
        return False
    return words[-1].lower() not in _ADVERBS | _DENIAL | {"and", "or"} and not any(
        word.endswith("ing") for word in words[:1]
    )


def _inner(head: str, passage: str, *, human: bool) -> str | None:
    """The subject as it reads within a sentence; None where a capital may be a name's or only the sentence's."""
    first, _, others = head.partition(" ")
    plain = first.lower()
    if plain in _ARTICLES or plain in NUMBER_WORDS or plain in {"about", "around", "nearly", "almost", "over"}:
        return f"{plain} {others}".strip()
    if not first[0].isupper() or others[:1].isupper() or first.isupper():
        return head
    if re.match(r"(?:of|and) (?:the )?[A-Z]", others) or _is_name(first, passage):
        return head
    if re.search(rf"\b{re.escape(plain)}\b", passage) or (others and not _OF_A_PLACE.search(plain)):
        return f"{plain} {others}".strip()
    return head if not others and human else None


def _is_name(word: str, passage: str) -> bool:
    """Whether the passage writes it with a capital where no sentence begins, or twice and never without."""
    found = rf"\b{re.escape(word)}\b"
    often = len(re.findall(found, passage)) > 1 and not re.search(rf"\b{re.escape(word.lower())}\b", passage)
    return often or re.search(rf"(?<=[a-z,;] ){re.escape(word)}\b", passage) is not None
