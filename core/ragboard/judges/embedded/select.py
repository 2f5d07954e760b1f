"""Rate answers, and select the sentences that help to answer, by rules.

Both compare a text with the kinds of information that a question asks for, one by one, and count what is new in it.
Neither asks whether the text is true.
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
from ragboard.judges.embedded.reading import ParsedSentence, read
from ragboard.judges.embedded.refusals import is_refusal
from ragboard.judges.embedded.statements import hedge, is_filler
from ragboard.text.sentences import language_of, sentence_spans

__all__ = ["FEATURES", "HELPS", "helpful_sentences", "question_parts", "rate", "sentence_features"]


Kind = Literal["date", "figure", "person", "place", "reason", "manner", "yes or no", "thing"]

FITS, TOPIC, NEW = 0.4, 0.25, 0.35
"""Weights of three parts of a score: information of the right kind, words of the question, new words; their sum is
1."""
ENOUGH = 4.0
"""The number of new words that gives 63% of their weight in the score; figures and names count as two."""
HEDGED = 0.5
"""Factor for a sentence that hedges."""
DECLINED = 0.2
"""Factor for an answer that declines to answer but says something."""
DECLINES = "It declines to answer, at least in part."
PLAIN_YES = 0.7
"""The score of a bare yes or no to a yes-or-no question."""
SHORT, UNDERSTOOD = 5, 0.7
"""Maximum number of words of a terse sentence, and the share of the question's words that a terse sentence, or one that
begins with a pronoun, counts as containing, at least."""
MENTIONED = 0.7
"""The weight of a word of the question that occurs in another sentence of the answer."""
WRONG_KIND = 0.25
"""The share of the weight `FITS` that a sentence gets for information of a wrong kind."""

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
class QuestionPart:
    """One piece of information that a question asks for."""

    kind: Kind
    about: frozenset[str]
    """Content terms and figure keys of this part of the question."""


@dataclass(frozen=True, slots=True)
class _AnswerSentence:
    """A sentence of an answer, compared with the question."""

    reading: ParsedSentence
    new: frozenset[str]
    """Its terms and figures that are not in the question."""
    certain: bool


def question_parts(question: str) -> tuple[QuestionPart, ...]:
    """Return what the question asks for, in order; at least one part."""
    language = language_of(question)
    if (question.split() or [""])[0].lower() in AUXILIARIES[language] | {"do", "am"}:
        whole = read(question, 0, len(question), language)
        return (QuestionPart("yes or no", whole.everything),)
    return tuple(
        QuestionPart(kind, read(question, start, end, language).everything) for kind, start, end in _parts(question)
    )


def _parts(question: str) -> Iterator[tuple[Kind, int, int]]:
    """Yield the kind, start and end of each part: from the first question word, and from each after `and` or a `?`."""
    found = [
        each for each in _ASKS.finditer(question) if each.start() == 0 or _JOINS.search(question, 0, each.start())
    ] or [each for each in [_ASKS.search(question)] if each]
    if not found:
        yield "thing", 0, len(question)
    for at, each in enumerate(found):
        kind = _KINDS[int((each.lastgroup or "k0")[1:])][0]
        start = 0 if at == 0 else each.start()
        yield kind, start, found[at + 1].start() if at + 1 < len(found) else len(question)


def gives(kind: Kind, sentence: ParsedSentence, known: frozenset[str]) -> bool:
    """Return whether the sentence has information of this kind that is not `known`."""
    text = sentence.text[sentence.start : sentence.end]
    new_figures = [figure for figure in sentence.figures if figure.key not in known]
    new_names = [name for name in sentence.names if not set(name.terms) <= known]
    match kind:
        case "date":
            return any(_dates(figure) for figure in new_figures) or bool(_TIME.search(text))
        case "figure":
            return bool(new_figures) or bool(_COUNT.search(text))
        case "person":
            return bool(new_names) or (len(sentence.spelt) <= SHORT and bool(_capitalised(sentence) - known))
        case "place":
            return bool(new_names) or (bool(_SITE.search(text)) and bool(sentence.content - known))
        case "reason":
            return bool(_CAUSE.search(text)) and bool(sentence.content - known)
        case "manner":
            return bool(_MEANS.search(text)) and bool(sentence.content - known)
        case "yes or no":
            return bool(_YES_NO.match(text)) or bool(sentence.content & known)
        case "thing":
            return bool(sentence.everything - known)


def _dates(figure: Figure) -> bool:
    bare_year = figure.kind == "" and figure.stop == figure.first + 1 and figure.value in range(1000, 2101)
    return bare_year or figure.kind in {"year", "date month", "date day"}


def _capitalised(sentence: ParsedSentence) -> frozenset[str]:
    return frozenset(
        term for word, term in zip(sentence.spelt, sentence.content_terms, strict=True) if term and word[0].isupper()
    )


def rate(question: str, answer: str) -> tuple[float, str]:
    """Rate an answer in [0, 1], with the reason; 0 for an empty answer, a refusal and a copied question."""
    language = language_of(f"{question} {answer}")
    known = read(question, 0, len(question), language).everything
    parts = [answer[start:end] for start, end in sentence_spans(answer)]
    declines = any(is_refusal(part) for part in parts)
    sentences = [
        _AnswerSentence(reading, reading.everything - known, not hedge(part))
        for part in parts
        if not is_refusal(part) and not is_filler(part)
        for reading in [read(part, 0, len(part), language)]
    ]
    wanted = question_parts(question)
    if _plain_yes(wanted, parts):
        return 1.0 if sentences else PLAIN_YES, "It says yes or no."
    if not any(sentence.new for sentence in sentences):
        return 0.0, "It declines to answer." if declines else "It says nothing that the question does not."
    values = [_answered(each, sentences, known) for each in wanted]
    score = math.fsum(value for value, _ in values) / len(values) * _unrepeated(sentences)
    score *= DECLINED if declines else 1.0
    missed: list[Kind] = [each.kind for each, (_, fits) in zip(wanted, values, strict=True) if not fits]
    return round(score, 4), DECLINES if declines else _reason(wanted, missed)


def _plain_yes(wanted: Sequence[QuestionPart], parts: Sequence[str]) -> bool:
    return wanted[0].kind == "yes or no" and any(_YES_NO.match(part) for part in parts)


def _answered(part: QuestionPart, sentences: Sequence[_AnswerSentence], known: frozenset[str]) -> tuple[float, bool]:
    """Return how well the best sentence answers this part, and whether with the right kind of information."""
    around = frozenset[str]().union(*(other.reading.everything for other in sentences))
    return max((_value(part, one, known, around) for one in sentences), default=(0.0, False))


def _value(
    part: QuestionPart, one: _AnswerSentence, known: frozenset[str], around: frozenset[str]
) -> tuple[float, bool]:
    fits = gives(part.kind, one.reading, known)
    here, elsewhere = part.about & one.reading.everything, (part.about & around) - one.reading.everything
    terse = len(one.reading.spelt) <= SHORT or one.reading.refers_back
    topic = (len(here) + MENTIONED * len(elsewhere)) / len(part.about) if part.about else 1.0
    topic = max(topic, UNDERSTOOD) if terse else topic
    value = FITS * (1.0 if fits else WRONG_KIND) + TOPIC * topic + NEW * _news(one)
    return value * (1.0 if one.certain else HEDGED), fits


def _news(one: _AnswerSentence) -> float:
    named = {term for name in one.reading.names for term in name.terms} | one.reading.keys
    return 1.0 - math.exp(-(len(one.new) + len(one.new & named)) / ENOUGH)


def _unrepeated(sentences: Sequence[_AnswerSentence]) -> float:
    """Return the share of sentences that do not repeat an earlier one."""
    return len({sentence.reading.everything for sentence in sentences}) / len(sentences) if sentences else 1.0


def _reason(wanted: Sequence[QuestionPart], missed: Sequence[Kind]) -> str:
    if not missed:
        return f"It gives what was asked for: {_listed([each.kind for each in wanted])}."
    return f"It says something, but not of the kind asked for: {_listed(missed)}."


def _listed(kinds: Sequence[Kind]) -> str:
    return ", ".join(dict.fromkeys(f"a {kind}" if kind != "yes or no" else kind for kind in kinds))


HELPS = 0.6
"""Minimum score of a helpful sentence.

Above one half, because the scores are fitted to classes of equal weight and few sentences help."""
FLOOR, BELOW = 0.2, 0.59
"""A sentence with a share of the question's weight below FLOOR has only frequent words in common with it, so its score
is at most BELOW."""
INHERITED = 0.6
"""The weight of words of the previous sentence in a sentence that begins with a pronoun."""
NEAR = 3
"""Number of sentences before and after a sentence that form its context."""
HEAD = 20
"""Number of sentences that are used to detect the language."""

FEATURES = {
    "own": "share of the question's weight, rare words counting more, that the sentence holds",
    "around": "the same of the three sentences before and after together with it",
    "fits": "share of the things asked for (a date, a person, a reason, ...) of which it holds one that is new",
    "news": "log of 1 + words, names and figures that the question does not have",
}
"""The features, with their descriptions."""


def helpfulness_model() -> Model:
    """Return the model of helpfulness."""
    return model("selection", tuple(FEATURES))


def helpful_sentences(question: str, sentences: Sequence[str]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the positions of the helpful sentences, and the score of each sentence, in [0, 1]."""
    helps = helpfulness_model()
    scored = [(values[0], helps(values)) for values in sentence_features(question, sentences)]
    scores = tuple(round(score if own >= FLOOR else min(score, BELOW), 4) for own, score in scored)
    return tuple(index for index, score in enumerate(scores) if score >= HELPS), scores


def sentence_features(question: str, sentences: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the features of each sentence, in the order of `FEATURES`; all 0 for a question without words."""
    language = language_of(" ".join((question, *sentences[:HEAD])))
    library = Library.of_sentences(sentences, language)
    [lookup] = lookups(library, [library.claim(question)])
    if not lookup.weights:
        return [(0.0,) * len(FEATURES) for _ in sentences]
    held = [lookup.worth(sentence.everything) for sentence in library.sentences]
    own = [lookup.share(_with_inherited(held, index, sentence)) for index, sentence in enumerate(library.sentences)]
    wanted: list[Kind] = [each.kind for each in question_parts(question)]
    known = lookup.claim.reading.everything
    return [
        (
            own[index],
            lookup.share(_together(held[max(index - NEAR, 0) : index + NEAR + 1])),
            math.fsum([gives(kind, sentence, known) for kind in wanted]) / len(wanted),
            math.log1p(len(sentence.everything - known)),
        )
        for index, sentence in enumerate(library.sentences)
    ]


def _with_inherited(held: Sequence[dict[str, float]], index: int, sentence: ParsedSentence) -> dict[str, float]:
    """Return the items of a sentence, and of the previous one with less weight if it refers back to that."""
    own = held[index]
    if not index or not sentence.refers_back:
        return own
    return {item: INHERITED * worth for item, worth in held[index - 1].items()} | own


def _together(held: Sequence[dict[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in held:
        for item, worth in each.items():
            found[item] = max(worth, found.get(item, 0.0))
    return found
