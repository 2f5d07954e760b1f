"""Tests of word overlap: by hand, against other implementations, and every empty case."""

from __future__ import annotations

import string
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from tests.core.metrics.tables import SAMPLE

from ragboard import METRICS, Passage, Score, Unscored
from ragboard.metrics import Metric, compute_outcome
from ragboard.metrics.needs import NeedResults
from ragboard.metrics.overlap import (
    Bleu,
    ChrF,
    ContextOverlap,
    ExactMatch,
    LengthRatio,
    RougeL,
    TokenF1,
    bare_words,
    bleu,
    chrf,
    common_subsequence,
    squad_words,
    words,
)
from ragboard.records import Outcome

OF_THE_REFERENCE = [
    metric for metric in METRICS.values() if metric.source == "overlap" and metric.name != "context_overlap"
]


def compared(metric: Metric, answer: str, reference: str) -> Outcome:
    return compute_outcome(metric, replace(SAMPLE, answer=answer, reference=reference), NeedResults({}))


def value(metric: Metric, answer: str, reference: str) -> float:
    found = compared(metric, answer, reference)
    assert isinstance(found, Score), found
    return found.value


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("Paris", "paris", 1.0),
        ("The U.S.", "us", 1.0),
        (" a  well-known  Answer! ", "the wellknown answer", 1.0),
        ("Paris, France", "Paris", 0.0),
    ],
)
def test_exact_match_looks_past_case_punctuation_articles_and_spaces(
    answer: str, reference: str, expected: float
) -> None:
    assert value(ExactMatch(), answer, reference) == expected


def test_punctuation_is_not_only_that_of_english() -> None:
    assert bare_words("¿Dónde está «la» casa?") == ["dónde", "está", "la", "casa"]
    assert value(ExactMatch(), "“Paris”", "Paris") == 1.0


def test_with_compat_punctuation_outside_ascii_stays_as_in_squads_script() -> None:
    assert squad_words("¿Dónde está «la» casa?") == ["¿dónde", "está", "«la»", "casa"]
    assert value(ExactMatch(compat=True), "“Paris”", "Paris") == 0.0
    assert value(TokenF1(compat=True), "in “Paris”", "in Paris") == 0.5
    assert squad_words("Straße a\u2013b") == ["straße", "\u2013b"]


def test_characters_of_japanese_and_chinese_are_words() -> None:
    assert value(TokenF1(), "1890年に開通した。", "1890年") == pytest.approx(2 * 2 / (7 + 2))
    assert value(TokenF1(), "大桥于1890年开通。", "1890年") == pytest.approx(2 * 2 / (7 + 2))
    assert value(TokenF1(compat=True), "1890年に開通した。", "1890年") == 0.0


def test_accents_are_the_same_however_they_are_written() -> None:
    assert value(ExactMatch(), "nai\u0308ve", "na\u00efve") == 1.0


def test_every_mark_that_squads_own_script_leaves_out_is_left_out() -> None:
    for words_of in (squad_words, bare_words):
        assert words_of(f"a{string.punctuation}b $5 c++") == ["ab", "5", "c"]


def test_token_f1_is_that_of_bags_of_words() -> None:
    found = compared(TokenF1(), "the red red house", "A red house, red and big")
    assert found == Score(value=2 * 3 / (3 + 5), counted="3 common, 3 and 5 words")


@pytest.mark.parametrize("metric", [ExactMatch(compat=True), TokenF1(compat=True)], ids=lambda metric: metric.spec)
def test_with_compat_an_empty_reference_is_an_unanswerable_question(metric: Metric) -> None:
    assert value(metric, "", "") == 1.0
    assert value(metric, "The.", "") == 1.0
    assert value(metric, "Paris", "") == 0.0


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [("", "the", 0.0), ("the", "the", 1.0), ("A", "a", 1.0), ("B", "A", 0.0), ("the", "A", 0.0), ("?", "the", 0.0)],
)
def test_a_reference_of_nothing_but_articles_is_still_one(answer: str, reference: str, expected: float) -> None:
    assert value(ExactMatch(), answer, reference) == value(TokenF1(), answer, reference) == expected


def test_with_compat_an_answer_of_articles_is_an_empty_one() -> None:
    for answer, reference in (("", "the"), ("the", "A"), ("?", "the")):
        assert value(ExactMatch(compat=True), answer, reference) == 1.0
        assert value(TokenF1(compat=True), answer, reference) == 1.0


@pytest.mark.parametrize("reference", ["", " ", "?!", "。"])
def test_a_reference_without_a_word_is_undefined_for_both(reference: str) -> None:
    for metric in (ExactMatch(), TokenF1()):
        assert compared(metric, "", reference) == Unscored(reason="undefined", detail="the reference is empty")


WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


@given(st.lists(st.sampled_from("abcd"), min_size=4, max_size=12), WORDS.filter(bool))
def test_bleu_is_that_of_nltk_with_its_third_smoothing(answer: list[str], reference: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = float(sentence_bleu([reference], answer, smoothing_function=SmoothingFunction().method3))
    assert bleu(answer, reference) == pytest.approx(theirs)


def test_bleu_by_hand() -> None:
    """Precisions 4/5, 2/4, then 1/3 and none of 2, which counts as half of one; no penalty."""
    found = value(Bleu(), "The cat sat down quietly", "the cat sat quietly")
    assert found == pytest.approx((4 / 5 * 2 / 4 * 1 / 3 * (1 / 2) / 2) ** 0.25)


def test_words_are_those_of_the_script() -> None:
    assert words("大桥于1890年开通。") == ["大", "桥", "于", "1890", "年", "开", "通"]
    assert words("पुल हिन्दी में।") == ["पुल", "हिन्दी", "में"]
    assert words("It's a_1 - naïve") == ["it", "s", "a_1", "naïve"]
    assert words("nai\u0308ve") == ["na\u00efve"]
    assert len(words("\u0645\u064f\u062d\u064e\u0645\u064e\u0651\u062f")) == 1


def test_bleu_of_a_short_answer_looks_at_as_many_orders_as_it_has_words() -> None:
    assert value(Bleu(), "Paris", "paris") == 1.0
    assert value(Bleu(), "red house", "a red house") == pytest.approx(2.718281828459045 ** (1 - 3 / 2))
    assert value(Bleu(), "blue", "red") == 0.0


@given(WORDS, WORDS)
def test_the_longest_common_subsequence_is_that_of_the_plain_recursion(one: list[str], other: list[str]) -> None:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    assert common_subsequence(one, other) == longest(0, 0)


def test_rouge_l_by_hand() -> None:
    found = compared(RougeL(), "Police killed the gunman.", "police kill the gunman")
    assert found == Score(value=3 / 4, counted="longest common subsequence 3, 4 and 4 words")
    assert value(RougeL(), "the gunman kill police", "police kill the gunman") == 2 / 4


def test_chrf_by_hand() -> None:
    """Of ab and abc: precision 1 and 1, recall 2/3 and 1/2, for n = 1 and 2."""
    recall = (2 / 3 + 1 / 2) / 2
    assert value(ChrF(), "a b", "abc") == pytest.approx(5 * recall / (4 + recall))


@given(st.text("abc", min_size=1, max_size=12), st.text("abc", min_size=1, max_size=12))
def test_chrf_is_its_definition(answer: str, reference: str) -> None:
    shares: list[tuple[float, float]] = []
    for n in range(1, min(6, len(answer), len(reference)) + 1):
        given_grams = [answer[at : at + n] for at in range(len(answer) - n + 1)]
        wanted = [reference[at : at + n] for at in range(len(reference) - n + 1)]
        common = sum(min(given_grams.count(gram), wanted.count(gram)) for gram in set(given_grams))
        shares.append((common / len(given_grams), common / len(wanted)))
    p, r = (sum(column) / len(shares) for column in zip(*shares, strict=True))
    assert chrf(answer, reference) == pytest.approx(5 * p * r / (4 * p + r) if p else 0)


def test_length_is_in_words_of_the_reference() -> None:
    assert compared(LengthRatio(), "one two three", "one two") == Score(value=1.5, counted="3 and 2 words")


def test_context_overlap_is_the_share_of_words_that_some_passage_holds() -> None:
    passages = (Passage(id="a", text="The red house.", rank=1), Passage(id="b", text="It is OLD", rank=2))
    sample = replace(SAMPLE, answer="The old, old house burned!", contexts=passages)
    assert compute_outcome(ContextOverlap(), sample, NeedResults({})) == Score(value=4 / 5, counted="4 of 5 words")
    nothing = compute_outcome(ContextOverlap(), replace(sample, contexts=()), NeedResults({}))
    assert nothing == Score(value=0.0, counted="0 of 5 words")


@pytest.mark.parametrize("metric", OF_THE_REFERENCE, ids=lambda metric: metric.spec)
@pytest.mark.parametrize("reference", ["", " \n", "...", "!"])
def test_an_empty_reference_leaves_nothing_to_compare_with(metric: Metric, reference: str) -> None:
    assert compared(metric, "Paris", reference) == Unscored(reason="undefined", detail="the reference is empty")


@pytest.mark.parametrize("metric", OF_THE_REFERENCE, ids=lambda metric: metric.spec)
@pytest.mark.parametrize("answer", ["", " ", "..."])
def test_an_empty_answer_matches_nothing(metric: Metric, answer: str) -> None:
    assert value(metric, answer, "The capital is Paris") == 0.0


def test_context_overlap_of_an_empty_answer_is_undefined() -> None:
    found = compute_outcome(ContextOverlap(), replace(SAMPLE, answer="…"), NeedResults({}))
    assert found == Unscored(reason="undefined", detail="the answer is empty")


@pytest.mark.parametrize("metric", OF_THE_REFERENCE, ids=lambda metric: metric.spec)
@given(text=st.text(max_size=60), other=st.text(max_size=60))
def test_equal_texts_have_overlap_1_and_all_pairs_are_in_range(metric: Any, text: str, other: str) -> None:
    same = compared(metric, text, text)
    assert isinstance(same, Unscored) or same.value == pytest.approx(1)
    found = compared(metric, text, other)
    assert isinstance(found, Unscored) or metric.range[0] <= found.value <= metric.range[1] + 1e-12
