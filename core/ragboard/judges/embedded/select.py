"""Rate answers, and select the sentences that help to answer a question, by rules.

The rules look for the kind of information that the question asks for, and for words that are not in the question. They
do not check whether a text is true.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragboard.judges.embedded.figures import Figure
from ragboard.judges.embedded.index import Corpus, lookups
from ragboard.judges.embedded.lexicon import AUXILIARIES
from ragboard.judges.embedded.matching import Model, load_model
from ragboard.judges.embedded.reading import ParsedSentence, read
from ragboard.judges.embedded.refusals import is_refusal
from ragboard.judges.embedded.statements import hedging_words, is_filler
from ragboard.text.sentences import language_of, sentence_spans

__all__ = ["FEATURES", "MIN_HELPFUL_SCORE", "helpful_sentences", "question_parts", "rate", "sentence_features"]


Kind = Literal["date", "figure", "person", "place", "reason", "manner", "yes or no", "thing"]

KIND_WEIGHT, TOPIC_WEIGHT, NEWS_WEIGHT = 0.4, 0.25, 0.35
"""The weights of the three parts of a score: the right kind of information, words of the question, and new words."""
NEWS_SCALE = 4.0
"""Number of new words that give 63% of `NEWS_WEIGHT`. Words of figures and names count twice."""
HEDGED_FACTOR = 0.5
"""Factor for the score of a sentence that hedges."""
DECLINED_FACTOR = 0.2
"""Factor for the score of an answer that declines to answer but also says something."""
DECLINES = "It declines to answer, at least in part."
PLAIN_YES_SCORE = 0.7
"""The score of a bare yes or no to a yes-or-no question."""
SHORT, MIN_SHORT_TOPIC = 5, 0.7
"""Maximum number of words of a short sentence. In a short sentence, or one that begins with a pronoun, at least this
share of the question's words counts as present."""
ELSEWHERE_WEIGHT = 0.7
"""The weight of the question's words that occur only in another sentence of the answer."""
WRONG_KIND_SHARE = 0.25
"""The share of `KIND_WEIGHT` that a sentence gets if it lacks the right kind of information."""

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
    """The content terms and figure keys in this part of the question."""


@dataclass(frozen=True, slots=True)
class _AnswerSentence:
    """A sentence of an answer, compared with the question."""

    parsed: ParsedSentence
    new: frozenset[str]
    """The terms and figure keys that are not in the question."""
    certain: bool
    """Whether the sentence does not hedge."""


def question_parts(question: str) -> tuple[QuestionPart, ...]:
    """Return the parts of the question, in order; at least one."""
    language = language_of(question)
    if (question.split() or [""])[0].lower() in AUXILIARIES[language] | {"do", "am"}:
        parsed = read(question, 0, len(question), language)
        return (QuestionPart("yes or no", parsed.everything),)
    return tuple(
        QuestionPart(kind, read(question, start, end, language).everything) for kind, start, end in _parts(question)
    )


def _parts(question: str) -> Iterator[tuple[Kind, int, int]]:
    """Yield the kind, start and end of each part. A part begins at a question word after `and`, `or`, `;` or `?`."""
    question_words = [
        match for match in _ASKS.finditer(question) if match.start() == 0 or _JOINS.search(question, 0, match.start())
    ] or [match for match in [_ASKS.search(question)] if match]
    if not question_words:
        yield "thing", 0, len(question)
    for number, match in enumerate(question_words):
        kind = _KINDS[int((match.lastgroup or "k0")[1:])][0]
        start = 0 if number == 0 else match.start()
        yield kind, start, question_words[number + 1].start() if number + 1 < len(question_words) else len(question)


def has_new_information(kind: Kind, sentence: ParsedSentence, known: frozenset[str]) -> bool:
    """Return whether the sentence has information of this kind besides the question's terms and keys (`known`)."""
    text = sentence.text[sentence.start : sentence.end]
    new_figures = [figure for figure in sentence.figures if figure.key not in known]
    new_names = [name for name in sentence.names if not set(name.terms) <= known]
    match kind:
        case "date":
            return any(_is_date(figure) for figure in new_figures) or bool(_TIME.search(text))
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


def _is_date(figure: Figure) -> bool:
    bare_year = figure.kind == "" and figure.stop == figure.first + 1 and figure.value in range(1000, 2101)
    return bare_year or figure.kind in {"year", "date month", "date day"}


def _capitalised(sentence: ParsedSentence) -> frozenset[str]:
    """Return the terms of the capitalised content words."""
    return frozenset(
        term for word, term in zip(sentence.spelt, sentence.content_terms, strict=True) if term and word[0].isupper()
    )


def rate(question: str, answer: str) -> tuple[float, str]:
    """Return a rating of the answer, in [0, 1], and its reason. Empty answers, refusals and copied questions get 0."""
    language = language_of(f"{question} {answer}")
    known = read(question, 0, len(question), language).everything
    parts = [answer[start:end] for start, end in sentence_spans(answer)]
    declines = any(is_refusal(part) for part in parts)
    sentences = [
        _AnswerSentence(parsed, parsed.everything - known, not hedging_words(part))
        for part in parts
        if not is_refusal(part) and not is_filler(part)
        for parsed in [read(part, 0, len(part), language)]
    ]
    wanted = question_parts(question)
    if _says_yes_or_no(wanted, parts):
        return 1.0 if sentences else PLAIN_YES_SCORE, "It says yes or no."
    if not any(sentence.new for sentence in sentences):
        return 0.0, "It declines to answer." if declines else "It says nothing that is not in the question."
    values = [_score_part(part, sentences, known) for part in wanted]
    score = math.fsum(value for value, _ in values) / len(values) * _share_of_distinct(sentences)
    score *= DECLINED_FACTOR if declines else 1.0
    missed: list[Kind] = [part.kind for part, (_, right_kind) in zip(wanted, values, strict=True) if not right_kind]
    return round(score, 4), DECLINES if declines else _reason(wanted, missed)


def _says_yes_or_no(wanted: Sequence[QuestionPart], parts: Sequence[str]) -> bool:
    return wanted[0].kind == "yes or no" and any(_YES_NO.match(part) for part in parts)


def _score_part(part: QuestionPart, sentences: Sequence[_AnswerSentence], known: frozenset[str]) -> tuple[float, bool]:
    """Return the score of the best sentence for this part, and whether it has the right kind of information."""
    in_answer = frozenset[str]().union(*(sentence.parsed.everything for sentence in sentences))
    return max((_score_sentence(part, sentence, known, in_answer) for sentence in sentences), default=(0.0, False))


def _score_sentence(
    part: QuestionPart, sentence: _AnswerSentence, known: frozenset[str], in_answer: frozenset[str]
) -> tuple[float, bool]:
    right_kind = has_new_information(part.kind, sentence.parsed, known)
    in_sentence = part.about & sentence.parsed.everything
    elsewhere = (part.about & in_answer) - sentence.parsed.everything
    brief = len(sentence.parsed.spelt) <= SHORT or sentence.parsed.refers_back
    topic = (len(in_sentence) + ELSEWHERE_WEIGHT * len(elsewhere)) / len(part.about) if part.about else 1.0
    topic = max(topic, MIN_SHORT_TOPIC) if brief else topic
    kind = 1.0 if right_kind else WRONG_KIND_SHARE
    value = KIND_WEIGHT * kind + TOPIC_WEIGHT * topic + NEWS_WEIGHT * _news_score(sentence)
    return value * (1.0 if sentence.certain else HEDGED_FACTOR), right_kind


def _news_score(sentence: _AnswerSentence) -> float:
    named = {term for name in sentence.parsed.names for term in name.terms} | sentence.parsed.keys
    return 1.0 - math.exp(-(len(sentence.new) + len(sentence.new & named)) / NEWS_SCALE)


def _share_of_distinct(sentences: Sequence[_AnswerSentence]) -> float:
    """Return the share of sentences that do not repeat an earlier sentence; 1 if there are no sentences."""
    return len({sentence.parsed.everything for sentence in sentences}) / len(sentences) if sentences else 1.0


def _reason(wanted: Sequence[QuestionPart], missed: Sequence[Kind]) -> str:
    if not missed:
        return f"It seems to give what the question asks for: {_with_articles([part.kind for part in wanted])}."
    return f"It says something, but the question asks for {_with_articles(missed)}."


def _with_articles(kinds: Sequence[Kind]) -> str:
    return ", ".join(dict.fromkeys(f"a {kind}" if kind != "yes or no" else kind for kind in kinds))


MIN_HELPFUL_SCORE = 0.6
"""Minimum score of a helpful sentence.

It is above 0.5 because few sentences help, and the model was fitted with equal weights for both classes."""
MIN_OWN_SHARE, MAX_BELOW_SHARE = 0.2, 0.59
"""A sentence with less than this share of the question's weight shares only frequent words with it. Its score is then
at most `MAX_BELOW_SHARE`."""
INHERITED_WEIGHT = 0.6
"""The weight of the previous sentence's words for a sentence that begins with a pronoun."""
CONTEXT_SENTENCES = 3
"""Number of sentences before and after a sentence that form its context."""
LANGUAGE_SAMPLE_SENTENCES = 20
"""Number of sentences from which the language is detected."""

FEATURES = {
    "own": "share of the question's weight that the sentence covers; rare words weigh more",
    "around": "share that the sentence covers together with the three sentences before and after it",
    "fits": "share of the kinds asked for (date, person, reason, ...) of which the sentence has new information",
    "news": "log of 1 + number of words, names and figures in the sentence that are not in the question",
}
"""The features, with their descriptions."""


def helpfulness_model() -> Model:
    """Return the model for the probability that a sentence helps to answer a question."""
    return load_model("selection", tuple(FEATURES))


def helpful_sentences(question: str, sentences: Sequence[str]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the indices of the helpful sentences, and the score of each sentence, in [0, 1]."""
    helps = helpfulness_model()
    scored = [(values[0], helps(values)) for values in sentence_features(question, sentences)]
    scores = tuple(round(score if own >= MIN_OWN_SHARE else min(score, MAX_BELOW_SHARE), 4) for own, score in scored)
    return tuple(index for index, score in enumerate(scores) if score >= MIN_HELPFUL_SCORE), scores


def sentence_features(question: str, sentences: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the features of each sentence, in the order of `FEATURES`; all 0 for a question without words."""
    language = language_of(" ".join((question, *sentences[:LANGUAGE_SAMPLE_SENTENCES])))
    corpus = Corpus.from_sentences(sentences, language)
    [lookup] = lookups(corpus, [corpus.claim(question)])
    if not lookup.weights:
        return [(0.0,) * len(FEATURES) for _ in sentences]
    items_by_sentence = [lookup.match_weights(sentence.everything) for sentence in corpus.sentences]
    own = [
        lookup.share(_with_inherited(items_by_sentence, index, sentence))
        for index, sentence in enumerate(corpus.sentences)
    ]
    wanted: list[Kind] = [part.kind for part in question_parts(question)]
    known = lookup.claim.parsed.everything
    return [
        (
            own[index],
            lookup.share(
                _best_weights(items_by_sentence[max(index - CONTEXT_SENTENCES, 0) : index + CONTEXT_SENTENCES + 1])
            ),
            math.fsum([has_new_information(kind, sentence, known) for kind in wanted]) / len(wanted),
            math.log1p(len(sentence.everything - known)),
        )
        for index, sentence in enumerate(corpus.sentences)
    ]


def _with_inherited(
    items_by_sentence: Sequence[dict[str, float]], index: int, sentence: ParsedSentence
) -> dict[str, float]:
    """Return the items of a sentence. After a pronoun at its start, add those of the previous sentence."""
    items = items_by_sentence[index]
    if not index or not sentence.refers_back:
        return items
    return {item: INHERITED_WEIGHT * weight for item, weight in items_by_sentence[index - 1].items()} | items


def _best_weights(items_by_sentence: Sequence[dict[str, float]]) -> dict[str, float]:
    best: dict[str, float] = {}
    for items in items_by_sentence:
        for item, weight in items.items():
            best[item] = max(weight, best.get(item, 0.0))
    return best
