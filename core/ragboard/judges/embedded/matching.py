"""Decide by a logistic regression whether sentences of the passages support a claim.

The scope of a claim is one passage or, if None, all passages.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from ragboard.judges.embedded.conflicts import Conflict, agree_roughly, find_conflict
from ragboard.judges.embedded.index import Claim, Lookup, Scope
from ragboard.judges.embedded.lexicon import FIRST_PERSON, NEGATORS, STRONG
from ragboard.judges.embedded.reading import ParsedSentence
from ragboard.records import Label

__all__ = [
    "FEATURES",
    "SUPPORTED",
    "Comparison",
    "Match",
    "Model",
    "best_match",
    "compare",
    "judge_comparison",
    "load_model",
    "support_model",
]


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
def load_model(name: str, features: tuple[str, ...]) -> Model:
    """Read the model in `NAME.toml`, which has a coefficient for each of `features`."""
    text = files("ragboard.judges.embedded").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    coefficients: Mapping[str, float] = tomllib.loads(text)
    return Model(float(coefficients["constant"]), tuple(float(coefficients[feature]) for feature in features))


FEATURES = {
    "sentence": "share of the claim's weight that the candidate sentence covers; rare words weigh more",
    "pair": "share of the claim's weight that this sentence and its best companion cover together",
    "words": "share of the claim's words, including function words, that these two sentences have",
    "new_words": "log of 1 + number of words of the claim that are not in the scope",
    "name_missing": "1 if a word of a name in the claim is not in the scope, else 0",
    "figure_missing": "1 if a number or date of the claim is not in the scope, else 0",
    "figures_away": "share of the claim's numbers and dates that are not in these sentences",
    "other_figure": "1 if the sentence has a different number or date where the claim has its own, else 0",
    "other_name": "1 if the sentence has a different name where the claim has its own, else 0",
    "denial": "1 if sentence and claim say opposite things or one denies the other, else 0",
    "negation": "1 if the claim has a negation and the sentence has no negating word, else 0",
    "strong": "words such as first, only, all, most that these sentences lack, as a share of the claim's words",
    "personal": "first-person words that are not in the scope, as a share of the claim's words",
    "hedged": "share of the claim's words that hedge; a question mark counts as a word",
}
"""The features, with their descriptions."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A claim compared with one or two sentences."""

    values: tuple[float, ...]
    """The features, in the order of `FEATURES`."""
    pair_share: float
    """The share of the claim's weight that these sentences cover, in [0, 1]."""
    sentences: tuple[int, ...]
    """The numbers of the sentences in the corpus."""
    missing: frozenset[str]
    """Items of the claim that these sentences do not contain."""
    conflict: Conflict | None
    missing_key_item: bool
    """Whether a name, number or date of the claim is missing in the scope. For a short claim, also whether a number or
    date is missing in these sentences."""


MAX_SHORT_WORDS = 10
"""Maximum number of words of a short claim. Its figures must be in the compared sentences, not only in the scope."""


def compare(lookup: Lookup, candidate: int, scope: Scope) -> Comparison:
    """Compare the claim with the candidate sentence and its best companion."""
    claim, corpus = lookup.claim, lookup.corpus
    first = corpus.sentences[candidate]
    items = _with_rough_figures(claim, first, lookup.items_of_sentence(candidate))
    second, all_items = _companion(lookup, candidate, scope, items)
    sentences = (first,) if second is None else (first, corpus.sentences[second])
    scope_items = lookup.items_in(scope) | all_items.keys()
    found_conflict = find_conflict(
        claim, first, _with_referents(claim, first, frozenset(items), scope_items), scope_items
    )
    name_missing, figure_missing = not claim.name_terms <= scope_items, not claim.figure_keys <= scope_items
    figures_not_in_sentences = claim.figure_keys - all_items.keys()
    values = (
        lookup.share(items),
        lookup.share(all_items),
        *_wording_features(claim.parsed, sentences, corpus.words(scope)),
        float(name_missing),
        float(figure_missing),
        len(figures_not_in_sentences) / len(claim.figure_keys) if figures_not_in_sentences else 0.0,
        *_conflict_features(found_conflict),
        *_manner_features(claim.parsed, sentences, corpus.words(scope)),
    )
    missing = claim.items - all_items.keys()
    missing_key_item = (
        name_missing or figure_missing or bool(figures_not_in_sentences and len(claim.parsed.spelt) <= MAX_SHORT_WORDS)
    )
    return Comparison(
        values,
        values[1],
        (candidate,) if second is None else (candidate, second),
        missing,
        found_conflict,
        missing_key_item,
    )


def _with_rough_figures(claim: Claim, sentence: ParsedSentence, items: dict[str, float]) -> dict[str, float]:
    """Return the items, and the claim's figures that roughly agree with a figure of the sentence."""
    if not claim.figure_keys - items.keys():
        return items
    rough = {
        figure.key: 1.0
        for figure in claim.parsed.figures
        if figure.key not in items
        and any(agree_roughly(figure, other, claim.parsed, sentence) for other in sentence.figures)
    }
    return items | rough if rough else items


def _companion(
    lookup: Lookup, candidate: int, scope: Scope, items: dict[str, float]
) -> tuple[int | None, dict[str, float]]:
    """Return the companion that adds most weight, and the items of both sentences.

    The companion is None if no sentence adds weight, or if the best has a conflict with the claim. A sentence that
    shares only figures with the claim is no companion, because it is about something else.
    """
    non_figures = items.keys() - lookup.claim.figure_keys
    if not non_figures or len(items) == len(lookup.weights):
        return None, items
    gains: list[tuple[float, int, dict[str, float]]] = []
    weights, figures = lookup.weights, lookup.claim.figure_keys
    for number in lookup.companions(candidate, scope):
        added = lookup.items_of_sentence(number)
        if not added.keys() <= figures:
            gained = math.fsum([weights[item] * weight for item, weight in added.items() if item not in items])
            gains.append((-gained, number, added))
    gained, number, added = min(gains, default=(0.0, -1, items))
    if not gained or find_conflict(lookup.claim, lookup.corpus.sentences[number], frozenset(added)):
        return None, items
    return number, added | items


def _with_referents(
    claim: Claim, sentence: ParsedSentence, items: frozenset[str], scope_items: AbstractSet[str]
) -> frozenset[str]:
    """Return the sentence's items, and items of the scope that its pronouns may refer to."""
    if sentence.refers_back:
        return items | ((claim.items - claim.figure_keys) & scope_items)
    return items | (claim.name_terms & scope_items) if sentence.has_pronoun else items


def _conflict_features(found_conflict: Conflict | None) -> tuple[float, float, float]:
    kind = found_conflict.kind if found_conflict else ""
    return float(kind == "figure"), float(kind == "name"), float(kind in {"opposite", "denial"})


def _wording_features(
    claim: ParsedSentence, sentences: tuple[ParsedSentence, ...], scope_words: AbstractSet[str]
) -> tuple[float, ...]:
    return (
        _share_within(claim.words, [sentence.words for sentence in sentences]),
        math.log1p(len(claim.words - scope_words)),
    )


def _share_within(words: frozenset[str], sentences: list[frozenset[str]]) -> float:
    """Return the share of the words that the sentences contain, in [0, 1]; 1 if there are no words."""
    return (len(words) - len(words.difference(*sentences))) / len(words) if words else 1.0


def _manner_features(
    claim: ParsedSentence, sentences: tuple[ParsedSentence, ...], scope_words: AbstractSet[str]
) -> tuple[float, ...]:
    sentence_words = sentences[0].words if len(sentences) == 1 else sentences[0].words | sentences[1].words
    strong = claim.words & STRONG
    first_person = (claim.words & FIRST_PERSON) - scope_words
    return (
        float(bool(claim.denials) and sentences[0].words.isdisjoint(NEGATORS)),
        len(strong - sentence_words) / len(claim.words) if strong else 0.0,
        sum(map(claim.lowered.count, first_person)) / len(claim.lowered) if first_person else 0.0,
        claim.hedged,
    )


SUPPORTED = 0.5
"""A statement is supported if its probability of support is at least this."""
MAX_WITH_CONFLICT = 0.49
"""Maximum probability of support if there is a conflict, or a name, number or date is missing."""


@dataclass(frozen=True, slots=True)
class Match:
    """The verdict on a claim, based on one or two sentences of the scope."""

    label: Label
    score: float
    """The probability that the claim is supported, in [0, 1]."""
    comparison: Comparison | None = None
    """The comparison behind the verdict; None if no sentence shares a word with the claim."""

    @property
    def sentences(self) -> tuple[int, ...]:
        """The numbers of the compared sentences in the corpus."""
        return self.comparison.sentences if self.comparison else ()

    @property
    def missing(self) -> frozenset[str]:
        """Items of the claim that these sentences do not contain."""
        return self.comparison.missing if self.comparison else frozenset()

    @property
    def conflict(self) -> Conflict | None:
        """The conflict of the sentences with the claim, if there is one."""
        return self.comparison.conflict if self.comparison else None


NOTHING = Match("unsupported", 0.0)
_ORDER: dict[Label, int] = {"supported": 2, "contradicted": 1, "unsupported": 0}


def support_model() -> Model:
    """Return the model for the probability that a claim is supported."""
    return load_model("support", tuple(FEATURES))


def best_match(lookup: Lookup, scope: Scope) -> Match:
    """Return the best match in a scope: by label (supported, contradicted, unsupported), then by score."""
    support = support_model()
    matches = [judge_comparison(compare(lookup, number, scope), support) for number in lookup.candidates(scope)]
    return max(matches, key=lambda match: (_ORDER[match.label], match.score), default=NOTHING)


def judge_comparison(comparison: Comparison, support: Model) -> Match:
    """Return the verdict and the probability of support for a comparison."""
    score = support(comparison.values)
    if comparison.conflict or comparison.missing_key_item:
        certain = comparison.conflict is not None and comparison.conflict.certain
        return Match("contradicted" if certain else "unsupported", min(score, MAX_WITH_CONFLICT), comparison)
    return Match("supported" if score >= SUPPORTED else "unsupported", score, comparison)
