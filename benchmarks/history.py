"""Measure whether the embedded judge rates answers to follow-up questions better if it reads earlier questions, too.

    python benchmarks/history.py mtrag_human_eval_12conv.jsonl

Prints the AUROC of the rating, and of the similarity to generated questions, with human grades of at least the median
as positives, and the gain over reading only the last question. Intervals are clustered by conversation.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping

from ragboard.judges.embedded.judge import generate_questions, rate_answer, similarities
from ragboard.readers.labels import read_labels
from ragboard.records import Sample
from ragboard.stats import Interval, estimate_text
from ragboard.stats.auroc_intervals import auroc_difference, clustered_auroc

DIMENSIONS = ("appropriateness", "completeness")
QUESTIONS = 3


def question_similarity(question: str, answer: str) -> float:
    """Return the mean similarity of the question to questions generated from the answer."""
    found = similarities(question, generate_questions(answer, QUESTIONS))
    return statistics.fmean(found) if found else 0.0


SCORES: Mapping[str, Callable[[str, str], float]] = {
    "rating": lambda q, a: rate_answer(q, a)[0],
    "similarity": question_similarity,
}
READ: Mapping[str, Callable[[tuple[str, ...]], tuple[str, ...]]] = {
    "the question": lambda _: (),
    "and the one before": lambda before: before[-1:],
    "and all before": lambda before: before,
}


def earlier_questions(sample: Sample) -> tuple[str, ...]:
    """Return the user's earlier questions."""
    return tuple(turn.text for turn in sample.history if turn.role == "user")


def main(path: str) -> None:
    """Print a line for each dimension, score, and number of earlier questions that are read."""
    items = [item for item in read_labels(path).items if item.samples[0].history]
    samples, clusters = [item.samples[0] for item in items], [item.cluster for item in items]
    for dimension in DIMENSIONS:
        grades = [
            statistics.fmean(grade for grade in item.human_labels[dimension] if grade is not None) for item in items
        ]
        good = [grade >= statistics.median(grades) for grade in grades]
        for name, score in SCORES.items():
            baseline: list[float] = []
            for read, choose in READ.items():
                found = [
                    score(" ".join((*choose(earlier_questions(one)), one.question)), one.answer or "")
                    for one in samples
                ]
                baseline = baseline or found
                better = auroc_difference(found, baseline, good, clusters, seed=0)
                shown = [format_interval(clustered_auroc(found, good, clusters, seed=0)), format_interval(better)]
                print(f"{dimension:16} {name:10} {read:20} {len(samples):4} {shown[0]:22} {shown[1]}")


def format_interval(interval: object) -> str:
    """Format an estimate with its interval."""
    if not isinstance(interval, Interval):
        return ""
    return estimate_text(interval.estimate, interval)


if __name__ == "__main__":
    main(sys.argv[1])
