"""Metrics of word and character overlap, without a judge: trivial baselines for all other metrics.

The score is undefined for an empty reference, and usually 0 for an empty answer.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragboard.metrics.base import Category, Column, Direction, Metric, Need, NeedResults
from ragboard.records import Outcome, Sample, Score, Unscored

__all__ = ["Bleu", "ChrF", "ContextOverlap", "ExactMatch", "LengthRatio", "RougeL", "TokenF1"]

_UNSPACED = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SIGNS = (
    r"\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
)
"""Accents and vowel signs of Latin, Hebrew, Arabic, Indic scripts and Thai, which Python does not count as letters."""
WORD = re.compile(rf"[{_UNSPACED}]|(?:[^\W{_UNSPACED}]|[{_SIGNS}])+")
"""A sequence of letters, digits and vowel signs, or a single Chinese or Japanese character."""
SPACED = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
"""A sequence of characters between spaces, or a single Chinese or Japanese character."""
ARTICLES = frozenset({"a", "an", "the"})
SQUAD_ARTICLES = re.compile(r"\b(a|an|the)\b")
SQUAD = "Rajpurkar et al. 2016, arXiv 1606.05250, section 6.1"
BLEU_ORDER = 4
CHRF_ORDER = 6
CHRF_BETA = 2


@dataclass(frozen=True)
class OverlapMetric(Metric):
    """Base class of metrics that compare the words or characters of answer and reference."""

    source: ClassVar[str] = "overlap"
    category: ClassVar[Category] = "correctness"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "reference")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "none"

    def needs(self) -> tuple[Need[Any], ...]:
        return ()

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        """Compare answer and reference; undefined if the reference is empty."""
        answer, reference = sample.answer or "", sample.reference or ""
        if not self.comparable(reference):
            return Unscored(reason="undefined", detail="the reference is empty")
        return self.compare(answer, reference)

    def comparable(self, reference: str) -> bool:
        """Return whether the reference contains a word."""
        return WORD.search(reference) is not None

    @abstractmethod
    def compare(self, answer: str, reference: str) -> Outcome:
        """Compute the score. It is called only if `comparable(reference)` is true."""


@dataclass(frozen=True)
class SquadMetric(OverlapMetric):
    """Base class of metrics that compare texts as SQuAD does, ignoring case, punctuation, articles and spaces.

    They work for any language. `compat=True` reproduces SQuAD 2.0's script, which removes only ASCII punctuation and
    splits words only at spaces. Two texts without remaining words are then equal.
    """

    source_label: ClassVar[str] = "SQuAD"
    compat: bool = False

    def comparable(self, reference: str) -> bool:
        """Return whether the reference contains a word; always True with `compat`."""
        return self.compat or bool(self.tokens(reference))

    def tokens(self, text: str) -> list[str]:
        """Return the words to compare."""
        return squad_words(text) if self.compat else bare_words(text)


@dataclass(frozen=True)
class ExactMatch(SquadMetric):
    """1 if the answer equals the reference, ignoring case, punctuation, articles and spaces; else 0."""

    name: ClassVar[str] = "exact_match"
    title: ClassVar[str] = "Exact match"
    formula: ClassVar[str] = "1 if answer and reference have the same words in the same order, else 0"
    paper: ClassVar[str] = SQUAD

    def compare(self, answer: str, reference: str) -> Outcome:
        """Compare the words in order."""
        same = self.tokens(answer) == self.tokens(reference)
        return Score(value=float(same), counted="same words" if same else "different words")


@dataclass(frozen=True)
class TokenF1(SquadMetric):
    """The F1 of the words that answer and reference have in common, in any order."""

    name: ClassVar[str] = "token_f1"
    title: ClassVar[str] = "Token F1"
    formula: ClassVar[str] = "2 x common words / (words of the answer + words of the reference)"
    paper: ClassVar[str] = SQUAD

    def compare(self, answer: str, reference: str) -> Outcome:
        """Compare the two bags of words."""
        in_answer, in_reference = self.tokens(answer), self.tokens(reference)
        common = (Counter(in_answer) & Counter(in_reference)).total()
        total = len(in_answer) + len(in_reference)
        value = 2 * common / total if total else 1.0
        return Score(value=value, counted=f"{common} common, {len(in_answer)} and {len(in_reference)} words")


@dataclass(frozen=True)
class Bleu(OverlapMetric):
    """The geometric mean of n-gram precisions up to n = 4, times a penalty for brevity.

    For an answer of fewer than 4 words, n goes only up to its number of words. Smoothing: the first n without a match
    counts as half a match, the next as a quarter, and so on. Without a common word, the score is 0.
    """

    name: ClassVar[str] = "bleu"
    title: ClassVar[str] = "BLEU"
    formula: ClassVar[str] = "exp(min(0, 1 - r / c)) x (product of n-gram precisions, n = 1 to 4) ^ (1/4)"
    paper: ClassVar[str] = "Papineni et al. 2002; smoothing 3 of Chen and Cherry 2014"
    source_label: ClassVar[str] = "BLEU"

    def compare(self, answer: str, reference: str) -> Outcome:
        """Compare the words, ignoring case."""
        in_answer, in_reference = words(answer), words(reference)
        return Score(value=bleu(in_answer, in_reference), counted=f"{len(in_answer)} and {len(in_reference)} words")


@dataclass(frozen=True)
class RougeL(OverlapMetric):
    """The harmonic mean of two shares: the part of each text that is in the longest common subsequence of words."""

    name: ClassVar[str] = "rouge_l"
    title: ClassVar[str] = "ROUGE-L"
    formula: ClassVar[str] = "2 x longest common subsequence / (words of the answer + words of the reference)"
    paper: ClassVar[str] = "Lin 2004"
    source_label: ClassVar[str] = "ROUGE"

    def compare(self, answer: str, reference: str) -> Outcome:
        """Compare the words, ignoring case."""
        in_answer, in_reference = words(answer), words(reference)
        common = common_subsequence(in_answer, in_reference)
        counted = f"longest common subsequence {common}, {len(in_answer)} and {len(in_reference)} words"
        return Score(value=2 * common / (len(in_answer) + len(in_reference)), counted=counted)


@dataclass(frozen=True)
class ChrF(OverlapMetric):
    """The F2 score of character n-grams, n = 1 to 6, without spaces: recall weighs twice as much as precision."""

    name: ClassVar[str] = "chrf"
    title: ClassVar[str] = "chrF"
    formula: ClassVar[str] = "5 PR / (4 P + R) of the mean precision and recall of character n-grams"
    paper: ClassVar[str] = "Popović 2015"
    source_label: ClassVar[str] = "chrF"

    def compare(self, answer: str, reference: str) -> Outcome:
        """Compare the characters; case counts."""
        in_answer, in_reference = "".join(answer.split()), "".join(reference.split())
        return Score(
            value=chrf(in_answer, in_reference), counted=f"{len(in_answer)} and {len(in_reference)} characters"
        )


@dataclass(frozen=True)
class LengthRatio(OverlapMetric):
    """The number of words of the answer divided by the number of words of the reference: 2 means twice as long."""

    name: ClassVar[str] = "length_ratio"
    title: ClassVar[str] = "Length"
    formula: ClassVar[str] = "words of the answer / words of the reference"
    paper: ClassVar[str] = "ragboard"
    source_label: ClassVar[str] = "ragboard"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    direction: ClassVar[Direction] = "neutral"

    def compare(self, answer: str, reference: str) -> Outcome:
        """Compare the numbers of words."""
        in_answer, in_reference = len(words(answer)), len(words(reference))
        return Score(value=in_answer / in_reference, counted=f"{in_answer} and {in_reference} words")


@dataclass(frozen=True)
class ContextOverlap(Metric):
    """The share of the answer's words that occur in any passage; 0 if nothing was retrieved."""

    source: ClassVar[str] = "overlap"
    name: ClassVar[str] = "context_overlap"
    title: ClassVar[str] = "Word overlap with the passages"
    formula: ClassVar[str] = "words of the answer that occur in a passage / all words of the answer"
    paper: ClassVar[str] = "ragboard"
    category: ClassVar[Category] = "grounding"
    source_label: ClassVar[str] = "ragboard"
    requires: ClassVar[tuple[Column, ...]] = ("answer", "contexts")
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"
    calls: ClassVar[str] = "none"

    def needs(self) -> tuple[Need[Any], ...]:
        return ()

    def score(self, sample: Sample, results: NeedResults) -> Outcome:
        """Words in a passage / all words of the answer; undefined for an answer without words."""
        in_answer = words(sample.answer or "")
        if not in_answer:
            return Unscored(reason="undefined", detail="the answer is empty")
        in_passages = {word for passage in sample.contexts or () for word in words(passage.text)}
        shared = sum(word in in_passages for word in in_answer)
        return Score(value=shared / len(in_answer), counted=f"{shared} of {len(in_answer)} words")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, as `WORD` matches them."""
    return WORD.findall(unicodedata.normalize("NFC", text.casefold()))


def squad_words(text: str) -> list[str]:
    """Return the words that SQuAD 2.0's script compares: without ASCII punctuation and articles."""
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return SQUAD_ARTICLES.sub(" ", bare).split()


def bare_words(text: str) -> list[str]:
    """Return the words of a text in any language without punctuation (`U.S.` is `us`) and articles, as SQuAD does.

    Unicode punctuation is removed too. Each Chinese or Japanese character is a word (as in MLQA, Lewis et al. 2020). If
    a text has only articles, they stay: the answer `A` is not empty.
    """
    folded = unicodedata.normalize("NFC", text.casefold())
    bare = "".join(character for character in folded if not _is_punctuation(character))
    words_with_articles = SPACED.findall(bare)
    return [word for word in words_with_articles if word not in ARTICLES] or words_with_articles


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def bleu(answer: Sequence[str], reference: Sequence[str]) -> float:
    """Return the sentence BLEU of a list of words against one reference, in [0, 1]; 0 for an answer without words."""
    orders = min(BLEU_ORDER, len(answer))
    if not orders:
        return 0.0
    total, missing = 0.0, 0
    for n in range(1, orders + 1):
        grams = _grams(answer, n)
        matched = (grams & _grams(reference, n)).total()
        if not matched:
            if n == 1:
                return 0.0
            missing += 1
        total += math.log((matched or 0.5**missing) / grams.total())
    brevity = min(0.0, 1 - len(reference) / len(answer))
    return math.exp(brevity + total / orders)


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, computed with bit vectors (Hyyrö 2004)."""
    positions: dict[str, int] = {}
    for index, word in enumerate(first):
        positions[word] = positions.get(word, 0) | 1 << index
    all_positions = (1 << len(first)) - 1
    unmatched = all_positions
    for word in second:
        matched = unmatched & positions.get(word, 0)
        unmatched = (unmatched + matched | unmatched - matched) & all_positions
    return len(first) - unmatched.bit_count()


def chrf(answer: str, reference: str) -> float:
    """Return the chrF of two texts without spaces, in [0, 1]. No n is longer than the shorter text."""
    orders = min(CHRF_ORDER, len(answer), len(reference))
    if not orders:
        return 0.0
    precision = recall = 0.0
    for n in range(1, orders + 1):
        in_answer, in_reference = _grams(answer, n), _grams(reference, n)
        common = (in_answer & in_reference).total()
        precision += common / in_answer.total() / orders
        recall += common / in_reference.total() / orders
    if not precision:
        return 0.0
    square = CHRF_BETA * CHRF_BETA
    return (1 + square) * precision * recall / (square * precision + recall)


def _grams(items: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(items[start : start + n]) for start in range(len(items) - n + 1))
