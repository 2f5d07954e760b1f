"""How well an answer answers its question: by the kind of thing asked for, and by what it says that is new.

Whether it is true is not asked. A question may ask for several things; each is looked for by itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.judges.embedded.figures import Figure
from ragboard.judges.embedded.index import Library, lookups
from ragboard.judges.embedded.lexicon import AUXILIARIES
from ragboard.judges.embedded.matching import Model, model
from ragboard.judges.embedded.reading import Reading, read
from ragboard.judges.embedded.refusals import is_refusal
from ragboard.judges.embedded.statements import hedge, is_filler
from ragboard.text.sentences import language_of, sentence_spans

__all__ = ["FEATURES", "HELPS", "asked", "helping", "marks", "rate"]


Kind = Literal["date", "figure", "person", "place", "reason", "manner", "yes or no", "thing"]

FITS, TOPIC, NEW = 0.4, 0.25, 0.35
"""What the right kind of thing, the words of the question, and new words make of a score; together 1."""
ENOUGH = 4.0
"""New words, figures and names counting twice, that make about two thirds of what new words can."""
HEDGED = 0.5
"""What is left of a sentence that takes back what it says."""
DECLINED = 0.2
"""What is left of an answer that declines to answer and yet says something."""
DECLINES = "It declines to answer, at least in part."
PLAIN_YES = 0.7
"""What a bare yes or no is worth to a question that asks for one."""
SHORT, UNDERSTOOD = 5, 0.7
"""So many words make a whole answer by themselves, and so does a sentence about `it`; the question's are understood."""
MENTIONED = 0.7
"""What a word of the question is worth that stands in the answer, but in another sentence."""
WRONG_KIND = 0.25
"""What is left of the part for the right kind where a sentence says something, but not of that kind."""

_KINDS: Sequence[tuple[Kind, str]] = (
    ("date", r"when|(?:what|which|in what|in which|on what|on which) (?:year|date|day|month|century|time)"
             r"|wann|in welchem jahr|seit wann|an welchem tag"),
    ("figure", r"how (?:many|much|long|high|deep|far|old|big|large|tall|often|fast|wide|heavy|hot|cold|late|early)"
               r"|what (?:percentage|share|number|proportion|size|height|length|depth|speed|price|amount)"
               r"|wie (?:viele?|lang|lange|hoch|tief|weit|alt|groß|oft|schnell|schwer|breit|teuer)"),
    ("reason", r"why|what (?:is|was|were|are) the (?:purpose|reason|cause|aim|objective|goal|motive)s?"
               r"|what (?:made|causes?|caused)"
               r"|for what reason|how come|warum|weshalb|wieso|wozu"),
    ("place", r"where|(?:what|which|in what|in which) (?:city|country|town|place|state|village|continent|region)"
              r"|what is (?:its|the|their) (?:headquarters )?location|wohin|woher|wo\b"),
    ("person", r"who|whom|whose|which (?:man|woman|person|people)|wer|wen|wem|wessen"),
    ("manner", r"how|wie|wodurch|auf welche weise"),
    ("thing", r"what|which|was|welche[mnrs]?|worin|woraus"),
)  # fmt: skip
_ASKS = re.compile("|".join(f"(?P<k{at}>\\b(?:{words})\\b)" for at, (_, words) in enumerate(_KINDS)), re.IGNORECASE)
_JOINS = re.compile(
    r"(?:,|;)?\s(?:and|or|und|sowie)\s+(?:also\s+)?(?:in |on |at |for |to |by )?$|[?;]\s*$", re.IGNORECASE
)

_TIME = re.compile(
    r"\b(?:centur(?:y|ies)|ago|today|yesterday|spring|summer|autumn|winter|morning|evening|noon|midnight|before|after"
    r"|during|jahrhundert|gestern|heute|frühling|sommer|herbst|morgens?|abends?|mittags?)\b",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\b(?:because|since|due|owing|thanks|reasons?|therefore|purpose|aim(?:s|ed)?|caused?|mistake|result(?:s|ed)?|led"
    r"|so that|in order|to \w+|for|when|weil|denn|da|wegen|damit|um|deshalb|daher|aufgrund|dank)\b",
    re.IGNORECASE,
)
_MEANS = re.compile(
    r"\b(?:by|through|using|via|with|from|first|then|if|into|as|means?|durch|mit|indem|mittels|aus|zuerst|dann)\b",
    re.IGNORECASE,
)
_SITE = re.compile(r"\b(?:in|at|on|near|from|under|off|along|to|im|am|bei|aus|nach|an|auf|unter)\b", re.IGNORECASE)
_COUNT = re.compile(
    r"\b(?:none|once|twice|one|half|dozens?|several|hundreds|thousands|keine|einmal|zweimal|ein|halb)\b", re.IGNORECASE
)
_YES_NO = re.compile(
    r"\W*(?:yes|no|not|ja|nein|nicht|it (?:could|can|does|did|is|was|has|had|would|will))\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that a question asks for."""

    kind: Kind
    about: frozenset[str]
    """Content terms and figure keys of that part of the question."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence of an answer, beside the question."""

    reading: Reading
    new: frozenset[str]
    """What it says that the question does not."""
    certain: bool


def asked(question: str) -> tuple[Asked, ...]:
    """What the question asks for, in its order; at least one thing."""
    language = language_of(question)
    if (question.split() or [""])[0].lower() in AUXILIARIES[language] | {"do", "am"}:
        whole = read(question, 0, len(question), language)
        return (Asked("yes or no", whole.everything),)
    return tuple(Asked(kind, read(question, start, end, language).everything) for kind, start, end in _parts(question))


def _parts(question: str) -> Iterator[tuple[Kind, int, int]]:
    """The first asking word, and each that follows an `and` or another question."""
    found = [
        each for each in _ASKS.finditer(question) if each.start() == 0 or _JOINS.search(question, 0, each.start())
    ] or [each for each in [_ASKS.search(question)] if each]
    if not found:
        yield "thing", 0, len(question)
    for at, each in enumerate(found):
        kind = _KINDS[int((each.lastgroup or "k0")[1:])][0]
        start = 0 if at == 0 else each.start()
        yield kind, start, found[at + 1].start() if at + 1 < len(found) else len(question)


def gives(kind: Kind, said: Reading, known: frozenset[str]) -> bool:
    """Whether the sentence says something of that kind that is not among what is `known`."""
    text = said.text[said.start : said.end]
    new_figures = [figure for figure in said.figures if figure.key not in known]
    new_names = [name for name in said.names if not set(name.terms) <= known]
    match kind:
        case "date":
            return any(_dates(figure) for figure in new_figures) or bool(_TIME.search(text))
        case "figure":
            return bool(new_figures) or bool(_COUNT.search(text))
        case "person":
            return bool(new_names) or (len(said.spelt) <= SHORT and bool(_capitalised(said) - known))
        case "place":
            return bool(new_names) or (bool(_SITE.search(text)) and bool(said.content - known))
        case "reason":
            return bool(_CAUSE.search(text)) and bool(said.content - known)
        case "manner":
            return bool(_MEANS.search(text)) and bool(said.content - known)
        case "yes or no":
            return bool(_YES_NO.match(text)) or bool(said.content & known)
        case "thing":
            return bool(said.everything - known)


def _dates(figure: Figure) -> bool:
    bare_year = figure.kind == "" and figure.stop == figure.first + 1 and figure.value in range(1000, 2101)
    return bare_year or figure.kind in {"year", "date month", "date day"}


def _capitalised(said: Reading) -> frozenset[str]:
    return frozenset(place for word, place in zip(said.spelt, said.places, strict=True) if place and word[0].isupper())


def rate(question: str, answer: str) -> tuple[float, str]:
    """A score in [0, 1], higher answers better, and why; 0 for no answer, a refusal and a copied question."""
    language = language_of(f"{question} {answer}")
    known = read(question, 0, len(question), language).everything
    parts = [answer[start:end] for start, end in sentence_spans(answer)]
    declines = any(is_refusal(part) for part in parts)
    said = [
        _Said(reading, reading.everything - known, not hedge(part))
        for part in parts
        if not is_refusal(part) and not is_filler(part)
        for reading in [read(part, 0, len(part), language)]
    ]
    wanted = asked(question)
    if _plain_yes(wanted, parts):
        return 1.0 if said else PLAIN_YES, "It says yes or no."
    if not any(each.new for each in said):
        return 0.0, "It declines to answer." if declines else "It says nothing that the question does not."
    found = [_answered(each, said, known) for each in wanted]
    score = math.fsum(value for value, _ in found) / len(found) * _unrepeated(said) * (DECLINED if declines else 1.0)
    missed: list[Kind] = [each.kind for each, (_, fits) in zip(wanted, found, strict=True) if not fits]
    return round(score, 4), DECLINES if declines else _reason(wanted, missed)


def _plain_yes(wanted: Sequence[Asked], parts: Sequence[str]) -> bool:
    return wanted[0].kind == "yes or no" and any(_YES_NO.match(part) for part in parts)


def _answered(each: Asked, said: Sequence[_Said], known: frozenset[str]) -> tuple[float, bool]:
    """How well the sentence that does it best answers this, and whether with the right kind of thing."""
    around = frozenset[str]().union(*(other.reading.everything for other in said))
    return max((_value(each, one, known, around) for one in said), default=(0.0, False))


def _value(each: Asked, one: _Said, known: frozenset[str], around: frozenset[str]) -> tuple[float, bool]:
    fits = gives(each.kind, one.reading, known)
    here, elsewhere = each.about & one.reading.everything, (each.about & around) - one.reading.everything
    terse = len(one.reading.spelt) <= SHORT or one.reading.refers_back
    topic = (len(here) + MENTIONED * len(elsewhere)) / len(each.about) if each.about else 1.0
    topic = max(topic, UNDERSTOOD) if terse else topic
    value = FITS * (1.0 if fits else WRONG_KIND) + TOPIC * topic + NEW * _news(one)
    return value * (1.0 if one.certain else HEDGED), fits


def _news(one: _Said) -> float:
    named = {term for name in one.reading.names for term in name.terms} | one.reading.keys
    return 1.0 - math.exp(-(len(one.new) + len(one.new & named)) / ENOUGH)


def _unrepeated(said: Sequence[_Said]) -> float:
    """The share of sentences that are not the same as one before."""
    return len({each.reading.everything for each in said}) / len(said) if said else 1.0


def _reason(wanted: Sequence[Asked], missed: Sequence[Kind]) -> str:
    if not missed:
        return f"It gives what was asked for: {_listed([each.kind for each in wanted])}."
    return f"It says something, but not of the kind asked for: {_listed(missed)}."


def _listed(kinds: Sequence[Kind]) -> str:
    return ", ".join(dict.fromkeys(f"a {kind}" if kind != "yes or no" else kind for kind in kinds))


HELPS = 0.6
"""The score from which a sentence counts as helping.

Above one half, because the scores are fitted to classes of equal weight and sentences that help are few."""
INHERITED = 0.6
"""What a word of the sentence before is worth to one that begins with a pronoun."""
NEAR = 3
"""Sentences before and after that a sentence stands among."""
HEAD = 20
"""Sentences from which the language is told."""

FEATURES = {
    "own": "share of the question's weight, rare words counting more, that the sentence holds",
    "around": "the same of the three sentences before and after together with it",
    "fits": "share of the things asked for (a date, a person, a reason, ...) of which it holds one that is new",
    "news": "log of 1 + words, names and figures that the question does not have",
}
"""Every feature, and what it says."""


def selecting() -> Model:
    """The model of help."""
    return model("selection", tuple(FEATURES))


def helping(question: str, sentences: Sequence[str]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Places of the sentences that help, which may be none, and how much each sentence helps, in [0, 1]."""
    scores = tuple(round(selecting()(values), 4) for values in marks(question, sentences))
    return tuple(place for place, score in enumerate(scores) if score >= HELPS), scores


def marks(question: str, sentences: Sequence[str]) -> list[tuple[float, ...]]:
    """The features of each sentence, in their order; for a question without a word all are 0."""
    language = language_of(" ".join((question, *sentences[:HEAD])))
    library = Library.of_sentences(sentences, language)
    [lookup] = lookups(library, [library.claim(question)])
    if not lookup.weights:
        return [(0.0,) * len(FEATURES) for _ in sentences]
    held = [lookup.worth(sentence.everything) for sentence in library.sentences]
    own = [lookup.share(_with_inherited(held, place, sentence)) for place, sentence in enumerate(library.sentences)]
    wanted: list[Kind] = [each.kind for each in asked(question)]
    known = lookup.claim.reading.everything
    return [
        (
            own[place],
            lookup.share(_together(held[max(place - NEAR, 0) : place + NEAR + 1])),
            math.fsum([gives(kind, sentence, known) for kind in wanted]) / len(wanted),
            math.log1p(len(sentence.everything - known)),
        )
        for place, sentence in enumerate(library.sentences)
    ]


def _with_inherited(held: Sequence[dict[str, float]], place: int, sentence: Reading) -> dict[str, float]:
    """What a sentence holds, with part of what the one before holds where it refers back to it."""
    own = held[place]
    if not place or not sentence.refers_back:
        return own
    return {item: INHERITED * worth for item, worth in held[place - 1].items()} | own


def _together(held: Sequence[dict[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in held:
        for item, worth in each.items():
            found[item] = max(worth, found.get(item, 0.0))
    return found
