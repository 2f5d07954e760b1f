"""Fit the embedded judge's coefficients, and evaluate them on sources that they were not fitted on.

    RAGBOARD_DATA=/path/to/data python benchmarks/fit_embedded.py           # write both files
    RAGBOARD_DATA=/path/to/data python benchmarks/fit_embedded.py --held-out  # figures by source, nothing written

Support of a statement is fitted on:

- Factcheck-GPT (Apache-2.0): complete support against refuting and irrelevant evidence
- BEGIN (CC BY 4.0)
- MTRAG (Apache-2.0): the statements of an answer with the label of the answer
- the labels of the sample data
- CLAPNQ (Apache-2.0): sentences of passages, against the same sentences with a changed number, date, name or negation,
  with an added personal remark, or with half of another sentence

WiCE is used only for the calibration, because its text is share-alike. Sources have equal weights, and so have the two
classes in each source. Help of a sentence with a question is fitted on the labelled sentences of the sample data
and CLAPNQ, and on MTRAG: sentences that support the reference answer, against other sentences. The sign of each
coefficient is fixed: missing words never increase the support of a claim.

With equal class weights, the score is a probability only if half of the statements are supported. A line through the
log odds is therefore fitted to the sources with their natural shares and equal weights, and merged into the
coefficients. The score is then the probability of support at the mean base rate of the sources. Needs scipy.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sources import SETS, JudgedRow, raw_rows, read_set

from ragboard.human.scorers import word_overlap
from ragboard.judges.embedded.changes import changed_sentences, names_in
from ragboard.judges.embedded.index import Corpus, lookups
from ragboard.judges.embedded.matching import FEATURES, Comparison, Model, best_match, compare, judge_comparison
from ragboard.judges.embedded.select import FEATURES as SENTENCE_FEATURES
from ragboard.judges.embedded.select import sentence_features
from ragboard.judges.embedded.statements import extract
from ragboard.records import Passage, Sample
from ragboard.stats import NoInterval, auroc
from ragboard.stats.auroc_intervals import auroc_difference

FITTED = ("factcheck_gpt", "begin", "mtrag", "sample", "changed_sentences")
HELD_OUT = ("wice", "factcheck_gpt", "begin", "mtrag", "sample")
POSITIVE_FEATURES = {"sentence", "pair", "words", *SENTENCE_FEATURES}
"""Features that increase the score of a claim or sentence; all others decrease it."""
RIDGE, EXAMPLES = 40.0, 1500.0
"""The penalty of the squared standardised coefficients, and the number of examples that it is meant for."""
REMARKS = (
    "I think {}", "I really love this: {}", "My friend told me that {}", "{} I like it very much.",
    "{} Do you know it?", "I am not sure, but {}", "{} I have never been there myself.",
)  # fmt: skip
OUT = Path(__file__).parents[1] / "core" / "ragboard" / "judges" / "embedded"
SCORE_BOUNDS = (0.3, 0.7)
"""Bounds of the ranges of scores that are reported separately."""
MIN_COVERAGE = 0.5
"""Minimum share of a reference statement that a sentence must cover to count as its source."""

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """Statements with one label, each with its comparisons, of which the best one is used."""

    statements: tuple[tuple[Comparison, ...], ...]
    positive: bool
    row: JudgedRow
    text: str


def examples(rows: Sequence[JudgedRow]) -> Iterator[Example]:
    for row in rows:
        corpus = Corpus.from_passages(row.passages, row.sample.question)
        for text, label in zip(row.texts, row.labels, strict=True):
            if label is None:
                continue
            texts = [each.text for each in extract(text).statements] if row.kind == "answers" else [text]
            looks = lookups(corpus, [corpus.claim(each) for each in texts])
            found = tuple(tuple(compare(each, lead, None) for lead in each.candidates(None)) for each in looks)
            if found:
                yield Example(found, label, row, text)


def load_source(name: str, folder: Path, *, fitting: bool) -> list[Example]:
    if name == "changed_sentences":
        return list(examples(list(changed_rows(folder))))
    rows = read_set(name, folder)
    if name == "factcheck_gpt" and fitting:
        rows = (*rows, *irrelevant_rows(folder))
    return list(examples(rows))


def irrelevant_rows(folder: Path, count: int = 700) -> Iterator[JudgedRow]:
    """Yield claims with evidence that annotators called irrelevant, as unsupported."""
    rows = raw_rows(folder / SETS["factcheck_gpt"][0])
    rows = [row for row in rows if row["statements"][0]["label_raw"] == "irrelevant"]
    for row in random.Random(1).sample(rows, count):
        yield make_row(row["statements"][0]["text"], row["contexts"], supported=False, cluster=row["id"])


def make_row(text: str, contexts: Sequence[str], *, supported: bool, cluster: str, question: str = "") -> JudgedRow:
    return JudgedRow(
        kind="statements",
        sample=sample_of(question, contexts),
        texts=(text,),
        labels=(supported,),
        cluster=cluster,
    )


def sample_of(question: str, passages: Sequence[str]) -> Sample:
    contexts = tuple(Passage(id=str(rank), text=text, rank=rank) for rank, text in enumerate(passages, 1))
    return Sample(id="", question=question, contexts=contexts)


def changed_rows(folder: Path, count: int = 250) -> Iterator[JudgedRow]:
    """Yield a sentence from each of `count` passages, unchanged as supported and changed as unsupported."""
    rng = random.Random(3)
    rows = list(read_set("clapnq", folder))
    rng.shuffle(rows)
    names = names_in([" ".join(row.passages) for row in rows[:200]])
    for row in rows[:count]:
        sentences = [text for text in row.texts if 8 < len(text.split()) < 35]
        if len(sentences) < 2:
            continue
        sentence = rng.choice(sentences)
        other = rng.choice(rng.choice(rows).texts).split()
        half = " ".join([*sentence.split()[: 2 * len(sentence.split()) // 3], *other[len(other) // 2 :]])
        spoilt = [text for *_, text in changed_sentences([(sentence, row.passages)], names, seed=rng.randrange(10**6))]
        spoilt += [rng.choice(REMARKS).format(sentence), half]
        yield make_row(sentence, row.passages, supported=True, cluster=row.cluster, question=row.sample.question)
        for text in spoilt:
            yield make_row(text, row.passages, supported=False, cluster=row.cluster, question=row.sample.question)


def fit(sources: dict[str, list[Example]], natural: dict[str, list[Example]]) -> Model:
    """Fit with equal class weights, then calibrate on `natural`, the sources with their natural shares of labels."""
    model = balanced_fit(sources)
    odds, labels, weights = [], [], []
    for found in natural.values():
        odds += [log_odds(score(model, each)) for each in found]
        labels += [each.positive for each in found]
        weights += [1 / len(found)] * len(found)
    x, y, w = np.array(odds), np.array(labels, dtype=np.float64), np.array(weights)

    def loss(line: FloatArray) -> float:
        logit = line[0] + line[1] * x
        return float((w * (np.logaddexp(0, logit) - y * logit)).sum())

    shift, slope = minimize(loss, np.array([0.0, 1.0])).x
    return Model(float(shift + slope * model.constant), tuple(float(slope * each) for each in model.coefficients))


def log_odds(probability: float) -> float:
    held = min(max(probability, 1e-6), 1 - 1e-6)
    return float(np.log(held / (1 - held)))


def balanced_fit(sources: dict[str, list[Example]]) -> Model:
    """Fit alternately the coefficients and the choice of the comparison that supports each statement most."""
    model = Model(0.0, tuple(float(name == "pair") for name in FEATURES))
    for _ in range(3):
        values, labels, weights = best_comparisons(sources, model)
        model = regression(values, labels, weights, tuple(FEATURES))
    return model


def fit_selection(folder: Path, clapnq: Sequence[JudgedRow]) -> Model:
    """Fit the help of sentences on labelled sentences and on the source sentences of MTRAG's references."""
    groups = [
        [
            (values, label)
            for row in rows
            for values, label in zip(sentence_features(row.sample.question, row.texts), row.labels, strict=True)
        ]
        for rows in (read_set("sample_sentences", folder), list(reference_rows(folder)), clapnq)
    ]
    values = np.array([each for group in groups for each, _ in group])
    labels = np.array([label for group in groups for _, label in group], dtype=np.float64)
    weights = np.concatenate([balanced(np.array([label for _, label in group], dtype=np.float64)) for group in groups])
    return regression(values, labels, weights / weights.sum() * EXAMPLES, tuple(SENTENCE_FEATURES))


def balanced(positive: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return weights that give each class a total weight of one half."""
    found = np.ones(len(positive)) if weights is None else weights.copy()
    for label in (0.0, 1.0):
        found[positive == label] *= 0.5 / found[positive == label].sum()
    return found


def reference_rows(folder: Path) -> Iterator[JudgedRow]:
    """Yield the sentences of MTRAG's passages, labelled 1 if they support a statement of the reference best."""
    for row in raw_rows(folder / SETS["mtrag"][0]):
        corpus = Corpus.from_passages(row["contexts"])
        statements = [corpus.claim(each.text) for each in extract(row["answer"]).statements]
        found = [
            match.comparison
            for match in (best_match(each, None) for each in lookups(corpus, statements))
            if match.comparison
        ]
        helps = {number for seen in found if seen.pair_share >= MIN_COVERAGE for number in seen.sentences}
        if row["model"] == "reference" and helps:
            yield JudgedRow(
                kind="sentences",
                sample=sample_of(row["question"], ()),
                texts=tuple(each.text[each.start : each.end] for each in corpus.sentences),
                labels=tuple(number in helps for number in range(len(corpus.sentences))),
                cluster=row["task_id"],
            )


def best_comparisons(sources: dict[str, list[Example]], model: Model) -> tuple[FloatArray, FloatArray, FloatArray]:
    values: list[tuple[float, ...]] = []
    labels: list[float] = []
    weights: list[FloatArray] = []
    for found in sources.values():
        rows = [
            (max((seen.values for seen in looks), key=model), each)
            for each in found
            for looks in each.statements
            if looks
        ]
        values += [best for best, _ in rows]
        positive = np.array([each.positive for _, each in rows], dtype=np.float64)
        each_weight = balanced(positive, np.array([1 / len(each.statements) for _, each in rows]))
        labels += list(positive)
        weights.append(each_weight)
    together = np.concatenate(weights)
    return np.array(values), np.array(labels), together / together.sum() * EXAMPLES


def regression(values: FloatArray, labels: FloatArray, weights: FloatArray, names: Sequence[str]) -> Model:
    """Fit a logistic regression with a ridge penalty and a required sign of every coefficient."""
    centre, spread = values.mean(0), values.std(0)
    spread[spread == 0] = 1.0
    design = np.c_[np.ones(len(values)), (values - centre) / spread]

    def loss(beta: FloatArray) -> tuple[float, FloatArray]:
        logit = design @ beta
        error = weights * (1 / (1 + np.exp(-logit)) - labels)
        slope = design.T @ error
        slope[1:] += RIDGE * beta[1:]
        return float(
            (weights * (np.logaddexp(0, logit) - labels * logit)).sum() + RIDGE / 2 * (beta[1:] ** 2).sum()
        ), slope

    bounds = [(None, None), *((0, None) if name in POSITIVE_FEATURES else (None, 0) for name in names)]
    beta: FloatArray = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
    slopes = beta[1:] / spread
    return Model(float(beta[0] - (slopes * centre).sum()), tuple(map(float, slopes)))


def score(model: Model, example: Example) -> float:
    best = [max((judge_comparison(seen, model).score for seen in looks), default=0.0) for looks in example.statements]
    return sum(best) / len(best)


def evaluate_held_out(folder: Path) -> Iterator[dict[str, Any]]:
    """Evaluate each source with a model that was not fitted or calibrated on it; last, the calibration on all."""
    fitted = {name: load_source(name, folder, fitting=True) for name in FITTED}
    natural = {name: load_source(name, folder, fitting=False) for name in HELD_OUT}
    scores: dict[str, FloatArray] = {}
    labels: dict[str, FloatArray] = {}
    for name, test in natural.items():
        model = fit(*({other: found for other, found in each.items() if other != name} for each in (fitted, natural)))
        scores[name] = np.array([score(model, each) for each in test])
        positive = [each.positive for each in test]
        labels[name] = np.array(positive, dtype=np.float64)
        clusters = [each.row.cluster for each in test]
        overlap = [word_overlap(each.text, each.row.passages) for each in test]
        length = [-float(len(each.text)) for each in test]
        error = calibration_error([scores[name]], [labels[name]])
        yield compare_with_baselines(name, list(scores[name]), overlap, length, positive, clusters) | {
            "base rate": round(float(labels[name].mean()), 3), "calibration error": error,
        }  # fmt: skip
    error = calibration_error(list(scores.values()), list(labels.values()))
    yield {"source": "all, with equal weights", "calibration error": error}
    yield from by_score(list(scores.values()), list(labels.values()))
    yield sentences_held_out(folder)


def calibration_error(scores: Sequence[FloatArray], labels: Sequence[FloatArray], bins: int = 10) -> float:
    """Return the mean difference between score and share of supported statements over equal bins.

    Sources have equal weights.
    """
    together, y = np.concatenate(scores), np.concatenate(labels)
    weights = np.concatenate([np.full(len(each), 1 / len(each) / len(scores)) for each in scores])
    places = np.minimum((together * bins).astype(int), bins - 1)
    gaps = [float((weights * (together - y))[places == place].sum()) for place in range(bins)]
    return round(sum(map(abs, gaps)), 3)


def by_score(scores: Sequence[FloatArray], labels: Sequence[FloatArray]) -> Iterator[dict[str, Any]]:
    """Yield the scores and supported statements in each range of `SCORE_BOUNDS`, then the accuracy by threshold.

    Sources have equal weights.
    """
    bounds = (0.0, *SCORE_BOUNDS, 1.0)
    for place, (low, high) in enumerate(pairwise(bounds)):
        within = [np.digitize(found, SCORE_BOUNDS) == place for found in scores]
        share = np.array([found.mean() for found in within])
        right = np.array([y[found].mean() for found, y in zip(within, labels, strict=True)])
        yield {
            "score": f"{low} to {high}",
            "share": round(float(share.mean()), 3),
            "supported": round(float((share * right).sum() / share.sum()), 3),
            "by source": [round(float(each), 2) for each in right],
        }
    for threshold in (0.35, 0.5, 0.65):
        right = np.array([((found >= threshold) == y).mean() for found, y in zip(scores, labels, strict=True)])
        yield {"supported from": threshold, "accuracy": round(float(right.mean()), 3)}


def sentences_held_out(folder: Path, folds: int = 5) -> dict[str, Any]:
    """Evaluate CLAPNQ's sentences by cross-validation over its rows."""
    rows = list(read_set("clapnq", folder))
    random.Random(1).shuffle(rows)
    scores: list[float] = []
    for fold in range(folds):
        model = fit_selection(folder, [row for at, row in enumerate(rows) if at % folds != fold])
        scores += [
            model(values) for row in rows[fold::folds] for values in sentence_features(row.sample.question, row.texts)
        ]
    rows = [row for fold in range(folds) for row in rows[fold::folds]]
    overlap = [word_overlap(row.sample.question, [text]) for row in rows for text in row.texts]
    length = [float(len(text)) for row in rows for text in row.texts]
    positive = [bool(label) for row in rows for label in row.labels]
    return compare_with_baselines(
        "clapnq", scores, overlap, length, positive, [row.cluster for row in rows for _ in row.texts]
    )


def compare_with_baselines(
    name: str,
    scores: Sequence[float],
    overlap: Sequence[float],
    length: Sequence[float],
    positive: Sequence[bool],
    clusters: Sequence[str],
) -> dict[str, Any]:
    """Return the AUROC of the judge and the baselines, and their difference with a clustered interval."""
    found: dict[str, Any] = {"source": name, "n": len(scores), "clusters": len(set(clusters))}
    found["embedded"] = round(auroc(scores, positive), 3)
    for contender, others in (("word overlap", overlap), ("length", length)):
        found[contender] = round(auroc(others, positive), 3)
        found[f"better than {contender} by"] = interval(auroc_difference(scores, others, positive, clusters))
    return found


def interval(found: Any) -> list[float] | str:
    return (
        found.reason
        if isinstance(found, NoInterval)
        else [round(each, 3) for each in (found.estimate, found.low, found.high)]
    )


def write_model(name: str, model: Model, features: dict[str, str]) -> None:
    lines = [
        "# Written by benchmarks/fit_embedded.py, which names the sources: coefficients of a logistic regression.",
        "# The score is 1 / (1 + exp(-(constant + sum of coefficient * feature))).",
        "",
        f"constant = {model.constant:.4f}",
    ]
    for (feature, meaning), value in zip(features.items(), model.coefficients, strict=True):
        lines += ["", f"# {meaning}", f"{feature} = {value:.4f}"]
    (OUT / f"{name}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGBOARD_DATA"), required="RAGBOARD_DATA" not in os.environ
    )
    parser.add_argument("--held-out", action="store_true")
    args = parser.parse_args()
    folder = Path(args.data)
    if args.held_out:
        for line in evaluate_held_out(folder):
            print(json.dumps(line))
        return
    fitted = {name: load_source(name, folder, fitting=True) for name in FITTED}
    natural = {name: load_source(name, folder, fitting=False) for name in HELD_OUT}
    write_model("support", fit(fitted, natural), FEATURES)
    write_model("selection", fit_selection(folder, read_set("clapnq", folder)), SENTENCE_FEATURES)
    print(f"wrote support.toml and selection.toml in {OUT}")


if __name__ == "__main__":
    main()
