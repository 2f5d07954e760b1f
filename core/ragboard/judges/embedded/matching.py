"""The fitted part: a logistic regression with its coefficients in a readable file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from ragboard.judges.embedded.conflicts import Conflict, close, conflict
from ragboard.judges.embedded.index import Claim, Lookup, Scope
from ragboard.judges.embedded.lexicon import FIRST_PERSON, NEGATORS, STRONG
from ragboard.judges.embedded.reading import ParsedSentence
from ragboard.records import Label

__all__ = ["FEATURES", "SUPPORTED", "Match", "Model", "Seen", "best_match", "judged", "look", "model", "supporting"]


@dataclass(frozen=True, slots=True)
class Model:
    """A logistic regression: `1 / (1 + exp(-(constant + sum of coefficient * feature)))`."""

    constant: float
    coefficients: tuple[float, ...]

    def __call__(self, values: Sequence[float]) -> float:
        """Return the probability, in (0, 1)."""
        total = self.constant
        for coefficient, value in zip(self.coefficients, values, strict=True):
            total += coefficient * value
        return 1.0 / (1.0 + math.exp(-total)) if total > -700 else 0.0


@lru_cache(maxsize=4)
def model(name: str, features: tuple[str, ...]) -> Model:
    """Read the coefficients in `NAME.toml`, in the order of the features. Raises KeyError for a missing one."""
    text = files("ragboard.judges.embedded").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    found: Mapping[str, float] = tomllib.loads(text)
    return Model(float(found["constant"]), tuple(float(found[feature]) for feature in features))


FEATURES = {
    "sentence": "share of the claim's weight, rare words counting more, in the best sentence",
    "pair": "the same in that sentence and the one that adds most to it",
    "words": "share of all its words, function words too, in the sentence or two",
    "new_words": "log of 1 + words of any sort, as they stand, that are said nowhere",
    "name_missing": "1 where a word of its names is said nowhere",
    "figure_missing": "1 where a number or date of it is said nowhere",
    "figures_away": "share of its numbers and dates that are not in the sentence or two",
    "other_figure": "1 where the sentence has another number or date in that place",
    "other_name": "1 where the sentence has another name in that place",
    "denial": "1 where one of the two denies what the other says, or says the opposite word",
    "negation": "1 where it denies something and the sentence has no word such as not",
    "strong": "share of its words such as first, only, all, most that the sentence or two lack",
    "personal": "share of its words that speak of me, the passages not doing so",
    "hedged": "share of its words by which it takes back what it says, question marks counting as words",
}
"""The features, with their descriptions."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The comparison of a claim with one or two sentences."""

    values: tuple[float, ...]
    """The features, in the order of `FEATURES`."""
    pair: float
    """The share of the claim's weight in these sentences, in [0, 1]."""
    sentences: tuple[int, ...]
    """Numbers in the library."""
    missing: frozenset[str]
    """Items that these sentences do not contain."""
    conflict: Conflict | None
    missing_key_item: bool
    """Whether a name, number or date of the claim is missing in the scope or, for a short claim, a number or date in
    these sentences."""


SHORT = 10
"""Maximum number of words of a short statement; its figures must be in the sentences themselves."""


def look(lookup: Lookup, lead: int, scope: Scope) -> Seen:
    """Compare the claim with the lead and its best companion."""
    claim, library = lookup.claim, lookup.library
    first = library.sentences[lead]
    held = _with_rough_figures(claim, first, lookup.held(lead))
    second, both = _second(lookup, lead, scope, held)
    sentences = (first,) if second is None else (first, library.sentences[second])
    around = lookup.said(scope) | both.keys()
    against = conflict(claim, first, _meant(claim, first, frozenset(held), around), around)
    name_missing, figure_missing = not claim.named <= around, not claim.counted <= around
    away = claim.counted - both.keys()
    values = (
        lookup.share(held),
        lookup.share(both),
        *_wording(claim.reading, sentences, library.words(scope)),
        float(name_missing),
        float(figure_missing),
        len(away) / len(claim.counted) if away else 0.0,
        *_against(against),
        *_manner(claim.reading, sentences, library.words(scope)),
    )
    missing = claim.items - both.keys()
    missing_key_item = name_missing or figure_missing or bool(away and len(claim.reading.spelt) <= SHORT)
    return Seen(values, values[1], (lead,) if second is None else (lead, second), missing, against, missing_key_item)


def _with_rough_figures(claim: Claim, sentence: ParsedSentence, held: dict[str, float]) -> dict[str, float]:
    if not claim.counted - held.keys():
        return held
    rough = {
        figure.key: 1.0
        for figure in claim.reading.figures
        if figure.key not in held and any(close(figure, other, claim.reading, sentence) for other in sentence.figures)
    }
    return held | rough if rough else held


def _second(lookup: Lookup, lead: int, scope: Scope, held: dict[str, float]) -> tuple[int | None, dict[str, float]]:
    """Return the companion that adds most weight without a conflict, and the items of both sentences.

    A sentence that shares only a number with the claim is about something else.
    """
    told = held.keys() - lookup.claim.counted
    if not told or len(held) == len(lookup.weights):
        return None, held
    gains: list[tuple[float, int, dict[str, float]]] = []
    weights, counted = lookup.weights, lookup.claim.counted
    for number in lookup.companions(lead, scope):
        worth = lookup.held(number)
        if not worth.keys() <= counted:
            gained = math.fsum([weights[item] * part for item, part in worth.items() if item not in held])
            gains.append((-gained, number, worth))
    gained, number, worth = min(gains, default=(0.0, -1, held))
    if not gained or conflict(lookup.claim, lookup.library.sentences[number], frozenset(worth)):
        return None, held
    return number, worth | held


def _meant(claim: Claim, sentence: ParsedSentence, found: frozenset[str], around: AbstractSet[str]) -> frozenset[str]:
    """Return the items of the sentence, with those of its passage that a pronoun may refer to."""
    if sentence.refers_back:
        return found | ((claim.items - claim.counted) & around)
    return found | (claim.named & around) if sentence.has_pronoun else found


def _against(found: Conflict | None) -> tuple[float, float, float]:
    kind = found.kind if found else ""
    return float(kind == "figure"), float(kind == "name"), float(kind in {"opposite", "denial"})


def _wording(
    claim: ParsedSentence, sentences: tuple[ParsedSentence, ...], around: AbstractSet[str]
) -> tuple[float, ...]:
    return (
        _within(claim.words, [sentence.words for sentence in sentences]),
        math.log1p(len(claim.words - around)),
    )


def _within(words: frozenset[str], sentences: list[frozenset[str]]) -> float:
    """Return the share of the words that the sentences contain; 1 without words."""
    return (len(words) - len(words.difference(*sentences))) / len(words) if words else 1.0


def _manner(
    claim: ParsedSentence, sentences: tuple[ParsedSentence, ...], around: AbstractSet[str]
) -> tuple[float, ...]:
    said = sentences[0].words if len(sentences) == 1 else sentences[0].words | sentences[1].words
    strong = claim.words & STRONG
    mine = (claim.words & FIRST_PERSON) - around
    return (
        float(bool(claim.denials) and sentences[0].words.isdisjoint(NEGATORS)),
        len(strong - said) / len(claim.words) if strong else 0.0,
        sum(map(claim.lowered.count, mine)) / len(claim.lowered) if mine else 0.0,
        claim.hedged,
    )


SUPPORTED = 0.5
"""Minimum probability of support of a supported statement."""
AT_MOST = 0.49
"""Maximum probability if a name, number or date is missing, or another one is in its place."""


@dataclass(frozen=True, slots=True)
class Match:
    """The verdict on a claim, by one or two sentences of a scope."""

    label: Label
    score: float
    """The probability that it is supported, in [0, 1]."""
    seen: Seen | None = None
    """The comparison behind the verdict; None if no word is shared."""

    @property
    def sentences(self) -> tuple[int, ...]:
        """The numbers of the sentences in the library."""
        return self.seen.sentences if self.seen else ()

    @property
    def missing(self) -> frozenset[str]:
        """Items that these sentences do not contain."""
        return self.seen.missing if self.seen else frozenset()

    @property
    def conflict(self) -> Conflict | None:
        """The conflict of the sentences with the claim; None without one."""
        return self.seen.conflict if self.seen else None


NOTHING = Match("unsupported", 0.0)
_ORDER: dict[Label, int] = {"supported": 2, "contradicted": 1, "unsupported": 0}


def supporting() -> Model:
    """Return the model of support."""
    return model("support", tuple(FEATURES))


def best_match(lookup: Lookup, scope: Scope) -> Match:
    """Return the best match in a scope; support outweighs a contradiction elsewhere."""
    weigh = supporting()
    looks = [judged(look(lookup, lead, scope), weigh) for lead in lookup.leads(scope)]
    return max(looks, key=lambda match: (_ORDER[match.label], match.score), default=NOTHING)


def judged(seen: Seen, weigh: Model) -> Match:
    """Return the label and probability of a comparison."""
    score = weigh(seen.values)
    if seen.conflict or seen.missing_key_item:
        certain = seen.conflict is not None and seen.conflict.certain
        return Match("contradicted" if certain else "unsupported", min(score, AT_MOST), seen)
    return Match("supported" if score >= SUPPORTED else "unsupported", score, seen)
