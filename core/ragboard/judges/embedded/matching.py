"""The learned part: a logistic regression whose coefficients stand in a file that a person can read."""

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
from ragboard.judges.embedded.reading import Reading
from ragboard.records import Label

__all__ = ["FEATURES", "SUPPORTED", "Match", "Model", "Seen", "best_match", "judged", "look", "model", "supporting"]


@dataclass(frozen=True, slots=True)
class Model:
    """`1 / (1 + exp(-(constant + sum of coefficient * feature)))`: a probability, as far as the fit goes."""

    constant: float
    coefficients: tuple[float, ...]

    def __call__(self, values: Sequence[float]) -> float:
        """The probability, in (0, 1)."""
        total = self.constant
        for coefficient, value in zip(self.coefficients, values, strict=True):
            total += coefficient * value
        return 1.0 / (1.0 + math.exp(-total)) if total > -700 else 0.0


@lru_cache(maxsize=4)
def model(name: str, features: tuple[str, ...]) -> Model:
    """The coefficients in `NAME.toml`, in the order of the features. KeyError names one that is not there."""
    text = files("ragboard.judges.embedded").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    found: Mapping[str, float] = tomllib.loads(text)
    return Model(float(found["constant"]), tuple(float(found[each]) for each in features))


FEATURES = {
    "sentence": "share of the claim's weight, rare words counting more, in the best sentence",
    "pair": "the same in that sentence and the one that adds most to it",
    "words": "share of all its words, function words too, in the sentence or two",
    "new_words": "log of 1 + words of any sort, as they stand, that are said nowhere",
    "names_away": "share of its names' words that are not in the sentence or two",
    "names_missing": "share of its names' words said nowhere",
    "figures_away": "share of its numbers and dates that are not in the sentence or two",
    "figures_missing": "share of its numbers and dates said nowhere",
    "other_figure": "1 where the sentence has another number or date in that place",
    "other_name": "1 where the sentence has another name in that place",
    "denial": "1 where one of the two denies what the other says, or says the opposite word",
    "negation": "1 where it denies something and the sentence has no word such as not",
    "strong": "share of its words such as first, only, all, most that the sentence or two lack",
    "personal": "share of its words that speak of me, the passages not doing so",
    "hedged": "share of its words by which it takes back what it says, question marks counting as words",
}
"""Every feature, and what it says."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One close look."""

    values: tuple[float, ...]
    """In the order of `FEATURES`."""
    pair: float
    sentences: tuple[int, ...]
    """Numbers in the library."""
    missing: frozenset[str]
    """Items that these sentences do not say."""
    conflict: Conflict | None

    @property
    def lacks_figure(self) -> bool:
        """Whether a number or date of the claim is not in these sentences."""
        return any(item[0] == "#" for item in self.missing)


def look(lookup: Lookup, lead: int, scope: Scope) -> Seen:
    """The lead and its best companion, held against the claim within a scope."""
    claim, library = lookup.claim, lookup.library
    first = library.sentences[lead]
    held = _with_rough_figures(claim, first, lookup.held(lead))
    second, both = _second(lookup, lead, scope, held)
    sentences = (first,) if second is None else (first, library.sentences[second])
    around = lookup.said(scope) | both.keys()
    against = conflict(claim, first, _meant(claim, first, frozenset(held), around))
    values = (
        lookup.share(held),
        lookup.share(both),
        *_wording(claim.reading, sentences, library.words(scope)),
        *_absent(claim.named, both, around),
        *_absent(claim.counted, both, around),
        *_against(against),
        *_manner(claim.reading, sentences, library.words(scope)),
    )
    missing = claim.items - both.keys()
    return Seen(values, values[1], (lead,) if second is None else (lead, second), missing, against)


def _with_rough_figures(claim: Claim, sentence: Reading, held: dict[str, float]) -> dict[str, float]:
    if not claim.counted - held.keys():
        return held
    rough = {
        figure.key: 1.0
        for figure in claim.reading.figures
        if figure.key not in held and any(close(figure, other, claim.reading, sentence) for other in sentence.figures)
    }
    return held | rough if rough else held


def _second(lookup: Lookup, lead: int, scope: Scope, held: dict[str, float]) -> tuple[int | None, dict[str, float]]:
    """The companion that adds the most weight and agrees, and what the two hold together.

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


def _meant(claim: Claim, sentence: Reading, found: frozenset[str], around: AbstractSet[str]) -> frozenset[str]:
    """What the sentence says, or may mean by a pronoun: what its passage names."""
    if sentence.refers_back:
        return found | ((claim.items - claim.counted) & around)
    return found | (claim.named & around) if sentence.has_pronoun else found


def _against(found: Conflict | None) -> tuple[float, float, float]:
    kind = found.kind if found else ""
    return float(kind == "figure"), float(kind == "name"), float(kind in {"opposite", "denial"})


def _wording(claim: Reading, sentences: tuple[Reading, ...], around: AbstractSet[str]) -> tuple[float, ...]:
    return (
        _within(claim.words, [sentence.words for sentence in sentences]),
        math.log1p(len(claim.words - around)),
    )


def _within(wanted: frozenset[str], offered: list[frozenset[str]]) -> float:
    """The share of what is wanted that is offered; 1 where nothing is wanted."""
    return (len(wanted) - len(wanted.difference(*offered))) / len(wanted) if wanted else 1.0


def _absent(items: frozenset[str], both: dict[str, float], around: AbstractSet[str]) -> tuple[float, float]:
    if not items:
        return 0.0, 0.0
    return len(items - both.keys()) / len(items), len(items - around) / len(items)


def _manner(claim: Reading, sentences: tuple[Reading, ...], around: AbstractSet[str]) -> tuple[float, ...]:
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
"""The support from which a statement counts as supported.

Where a sentence says otherwise, support is halved; where a number or date is not said there, it stays below."""
AT_MOST = 0.49


@dataclass(frozen=True, slots=True)
class Match:
    """A claim held against one sentence or two of a scope."""

    label: Label
    score: float
    """Support in [0, 1]."""
    seen: Seen | None = None
    """The close look it comes from; None where no word is shared."""

    @property
    def sentences(self) -> tuple[int, ...]:
        """Their numbers in the library."""
        return self.seen.sentences if self.seen else ()

    @property
    def missing(self) -> frozenset[str]:
        """Items that these sentences do not say."""
        return self.seen.missing if self.seen else frozenset()

    @property
    def conflict(self) -> Conflict | None:
        """What they say against the claim."""
        return self.seen.conflict if self.seen else None


NOTHING = Match("unsupported", 0.0)
_ORDER: dict[Label, int] = {"supported": 2, "contradicted": 1, "unsupported": 0}


def supporting() -> Model:
    """The model of support."""
    return model("support", tuple(FEATURES))


def best_match(lookup: Lookup, scope: Scope) -> Match:
    """The best of the close looks at a scope: support outweighs a contradiction elsewhere."""
    weigh = supporting()
    looks = [judged(look(lookup, lead, scope), weigh) for lead in lookup.leads(scope)]
    return max(looks, key=lambda match: (_ORDER[match.label], match.score), default=NOTHING)


def judged(seen: Seen, weigh: Model) -> Match:
    """The label and support of one close look."""
    score = weigh(seen.values)
    if seen.conflict:
        return Match("contradicted", SUPPORTED * score, seen)
    if seen.lacks_figure:
        return Match("unsupported", min(score, AT_MOST), seen)
    return Match("supported" if score >= SUPPORTED else "unsupported", score, seen)
