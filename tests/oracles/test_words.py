"""Tests of word overlap through `evaluate`, against SQuAD's script, nltk, sacrebleu and rouge_score."""

from __future__ import annotations

import math
import re
import string
import warnings
from collections import Counter
from functools import cache

import numpy as np
import pytest
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from ragboard import Outcome, Score, Unscored, evaluate

WORDS = ["Paris", "the", "A", "an", "red", "house", "in", "1890", "U.S.", "well-known", "(big)", "$5", "it's", "Red!"]
FOREIGN = ["“Paris”", "«la»", "¿casa?", "東京。", "Straße", "naïve", "a…", "—", "the"]
ROWS = 400


def texts(rng: np.random.Generator, vocabulary: list[str]) -> list[str]:
    return [" ".join(rng.choice(vocabulary, int(rng.integers(0, 9)))) for _ in range(ROWS)]


@cache
def scored(*metrics: str, foreign: bool = False) -> tuple[list[tuple[str, str]], dict[str, tuple[Outcome, ...]]]:
    """Random answers and references, and what each metric makes of them."""
    rng = np.random.default_rng(7)
    vocabulary = [*WORDS, *FOREIGN] if foreign else WORDS
    pairs = list(zip(texts(rng, vocabulary), texts(rng, vocabulary), strict=True))
    pairs += [(text, text) for text in texts(rng, vocabulary)[:40]]
    rows = [
        {"id": str(n), "question": f"{n}?", "answer": answer, "reference": reference}
        for n, (answer, reference) in enumerate(pairs)
    ]
    found = evaluate(rows, metrics=list(metrics))
    return pairs, {metric: found.outcomes(metric) for metric in metrics}


def squad(text: str) -> list[str]:
    """As `normalize_answer` of SQuAD's evaluate-v2.0.py, divided at its spaces."""
    lowered = "".join(mark for mark in text.lower() if mark not in set(string.punctuation))
    return re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", lowered).split()


def squad_exact(answer: str, reference: str) -> float:
    return float(squad(answer) == squad(reference))


def squad_f1(answer: str, reference: str) -> float:
    """As `compute_f1` of that script."""
    given, gold = squad(answer), squad(reference)
    if not given or not gold:
        return float(given == gold)
    same = (Counter(given) & Counter(gold)).total()
    if not same:
        return 0.0
    precision, recall = same / len(given), same / len(gold)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("foreign", [False, True])
def test_with_compat_exact_match_and_token_f1_equal_squads_for_any_text(foreign: bool) -> None:
    pairs, found = scored("overlap.exact_match(compat=True)", "overlap.token_f1(compat=True)", foreign=foreign)
    exact, f1 = found.values()
    for (answer, reference), whole, part in zip(pairs, exact, f1, strict=True):
        assert isinstance(whole, Score)
        assert isinstance(part, Score)
        assert whole.value == squad_exact(answer, reference)
        assert part.value == pytest.approx(squad_f1(answer, reference), abs=1e-12)


def test_without_compat_they_are_squads_of_ascii_texts_that_hold_more_than_articles() -> None:
    """What is left: no word in the reference is undefined; a text of nothing but articles keeps them."""
    pairs, found = scored("overlap.exact_match", "overlap.token_f1")
    exact, f1 = found.values()
    alike = 0
    for (answer, reference), whole, part in zip(pairs, exact, f1, strict=True):
        if not reference:
            assert whole == part == Unscored(reason="undefined", detail="the reference is empty")
        elif squad(answer) and squad(reference):
            assert isinstance(whole, Score)
            assert isinstance(part, Score)
            assert whole.value == squad_exact(answer, reference)
            assert part.value == pytest.approx(squad_f1(answer, reference), abs=1e-12)
            alike += 1
    assert alike > ROWS / 2


def plain(rng: np.random.Generator, least: int = 1) -> list[str]:
    """Texts of words that every tokenizer divides alike."""
    return [
        " ".join(rng.choice(["cat", "sat", "mat", "on", "dog", "b2"], int(rng.integers(least, 12))))
        for _ in range(ROWS)
    ]


@cache
def of_plain_words(*metrics: str) -> tuple[list[tuple[str, str]], dict[str, list[float]]]:
    rng = np.random.default_rng(8)
    pairs = list(zip(plain(rng), plain(rng), strict=True))
    rows = [{"question": f"{n}?", "answer": one, "reference": other} for n, (one, other) in enumerate(pairs)]
    found = evaluate(rows, metrics=list(metrics))
    values = {
        metric: [outcome.value for outcome in found.outcomes(metric) if isinstance(outcome, Score)]
        for metric in metrics
    }
    return pairs, values


def test_bleu_is_that_of_nltk_and_sacrebleu() -> None:
    """Of short answers nltk counts 4 orders all the same, ours and sacrebleu as many as there are words."""
    sacrebleu = pytest.importorskip("sacrebleu")
    bleu = sacrebleu.BLEU(smooth_method="exp", effective_order=True, tokenize="none", lowercase=True)
    pairs, found = of_plain_words("overlap.bleu")
    for (answer, reference), ours in zip(pairs, found["overlap.bleu"], strict=True):
        assert ours == pytest.approx(bleu.sentence_score(answer, [reference]).score / 100, abs=1e-9)
        if len(answer.split()) >= 4:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = sentence_bleu(
                    [reference.split()], answer.split(), smoothing_function=SmoothingFunction().method3
                )
            assert ours == pytest.approx(float(theirs), abs=1e-9)


def test_chrf_is_that_of_sacrebleu() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    chrf = sacrebleu.CHRF(char_order=6, word_order=0, beta=2, eps_smoothing=False)
    pairs, found = of_plain_words("overlap.chrf")
    for (answer, reference), ours in zip(pairs, found["overlap.chrf"], strict=True):
        assert ours == pytest.approx(chrf.sentence_score(answer, [reference]).score / 100, abs=1e-9)


def test_rouge_l_is_that_of_rouge_score() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    pairs, found = of_plain_words("overlap.rouge_l")
    for (answer, reference), ours in zip(pairs, found["overlap.rouge_l"], strict=True):
        assert ours == pytest.approx(scorer.score(reference, answer)["rougeL"].fmeasure, abs=1e-9)


def test_length_and_overlap_with_the_passages_are_plain_counts() -> None:
    rng = np.random.default_rng(9)
    rows = [
        {"question": f"{n}?", "answer": one, "reference": other, "contexts": [passage, other]}
        for n, (one, other, passage) in enumerate(zip(plain(rng), plain(rng), plain(rng, 0), strict=True))
    ]
    found = evaluate(rows, metrics=["overlap.length_ratio", "overlap.context_overlap"])
    for row, ratio, shared in zip(
        rows, found.outcomes("overlap.length_ratio"), found.outcomes("overlap.context_overlap"), strict=True
    ):
        answer, there = str(row["answer"]).split(), set(" ".join(row["contexts"]).split())
        assert isinstance(ratio, Score)
        assert isinstance(shared, Score)
        assert ratio.value == len(answer) / len(str(row["reference"]).split())
        assert shared.value == pytest.approx(math.fsum(word in there for word in answer) / len(answer), abs=1e-12)
