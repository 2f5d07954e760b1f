"""Measure how often the embedded judge prefers WikiEval's better side, with and without some features.

    python benchmarks/wikieval.py FILE_OF_PAIRS

Each row of FILE_OF_PAIRS has `dimension`, `question`, `contexts`, `a`, `b` and `preferred`. The judge is compared with
itself without one group of features, and with the lengths of the texts. A tie counts as disagreement.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ragboard.judges.embedded.index import Corpus, lookups
from ragboard.judges.embedded.judge import rate_answer
from ragboard.judges.embedded.matching import FEATURES, SUPPORTED, Model, best_match, support_model
from ragboard.judges.embedded.select import FEATURES as HELP
from ragboard.judges.embedded.select import MIN_HELPFUL_SCORE, helpfulness_model, sentence_features
from ragboard.judges.embedded.statements import extract
from ragboard.text.sentences import sentence_spans

Row = dict[str, Any]
ScoreSide = Callable[[Row, Any], float]


def without(model: Model, features: Sequence[str], dropped: set[str]) -> Model:
    """Return a model in which the coefficients of the `dropped` features are 0."""
    pairs = zip(features, model.coefficients, strict=True)
    return Model(model.constant, tuple(0.0 if name in dropped else value for name, value in pairs))


def faithfulness(dropped: set[str]) -> ScoreSide:
    """Return a function that scores an answer by the share of supported statements, then by mean support."""
    model = without(support_model(), tuple(FEATURES), dropped)

    def score(row: Row, answer: str) -> float:
        corpus = Corpus.from_passages(row["contexts"], row["question"])
        claims = [corpus.claim(each.text) for each in extract(answer).statements]
        seen = [best_match(each, None).comparison for each in lookups(corpus, claims)]
        scores = [model(each.values) if each else 0.0 for each in seen]
        return sum((each >= SUPPORTED) + each / 1000 for each in scores) / len(scores) if scores else 0.0

    return score


def context_relevance(dropped: set[str]) -> ScoreSide:
    """Return a function that scores passages by the share of selected sentences."""
    model = without(helpfulness_model(), tuple(HELP), dropped)

    def score(row: Row, contexts: Sequence[str]) -> float:
        sentences = [text[start:end] for text in contexts for start, end in sentence_spans(text)]
        chosen = [model(values) >= MIN_HELPFUL_SCORE for values in sentence_features(row["question"], sentences)]
        return sum(chosen) / len(chosen) if chosen else 0.0

    return score


def length(sign: int) -> ScoreSide:
    return lambda _row, side: float(sign * len("".join(side)))


VARIANTS: dict[str, dict[str, ScoreSide]] = {
    "faithfulness": {
        "the judge": faithfulness(set()),
        "without names and numbers": faithfulness(
            {name for name in FEATURES if name.startswith(("name", "figure", "other"))}
        ),
        "without coverage": faithfulness({"sentence", "pair", "words", "new_words"}),
    },
    "answer_relevance": {"the judge": lambda row, answer: rate_answer(row["question"], answer)[0]},
    "context_relevance": {
        "the judge": context_relevance(set()),
        "without the question's words": context_relevance({"own", "around"}),
        "without the kind asked for": context_relevance({"fits"}),
    },
}


def main() -> None:
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    for dimension, variants in VARIANTS.items():
        pairs = [row for row in rows if row["dimension"] == dimension]
        for name, score in {**variants, "longer": length(1), "shorter": length(-1)}.items():
            right = sum(
                score(row, row[row["preferred"]]) > score(row, row["ab".replace(row["preferred"], "")]) for row in pairs
            )
            print(f"{dimension:<20}{name:<32}{right} of {len(pairs)}")


if __name__ == "__main__":
    main()
