"""Scorers to compare with labels: metrics, judges, and trivial baselines (word overlap, length, a coin)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import get_args

import numpy as np

from ragboard.evaluation.defaults import default_metrics
from ragboard.human.agreement import Measure
from ragboard.human.pairwise import compared_text
from ragboard.judges.panel import Panel
from ragboard.metrics import Metric, gpt_score, ragchecker
from ragboard.readers.labels import PASSAGE_RELEVANCE, LabelFile, LabelledItem
from ragboard.records import Outcome, Sample, Score, Unscored
from ragboard.stats import auroc, clustered_interval
from ragboard.stats.auroc_intervals import auroc_difference, clustered_auroc
from ragboard.stats.bootstrap import Rows
from ragboard.store.queries.agreements import Scorer
from ragboard.tasks import Prefer, Quality, Rate

__all__ = [
    "GPT_RANKING",
    "QUALITIES",
    "ScorerFigures",
    "ScorerSelection",
    "balanced_accuracy_of_rows",
    "compare_scorers",
    "grade_scorer",
    "judge_scorers",
    "select_scorers",
    "trivial_outcomes",
    "trivial_scores",
    "word_overlap",
]

GPT_SCORE, GPT_RANKING = "GPT Score", "GPT Ranking"
QUALITIES: tuple[Quality, ...] = get_args(Quality)

METRIC_OF_DIMENSION: Mapping[str, Metric] = {
    "correctness": ragchecker.Precision(),
    "completeness": ragchecker.Recall(),
    "overall": ragchecker.F1(),
}
"""The default metric for dimensions whose names are not names of metrics."""
SAME_AS: Mapping[str, str] = {"appropriateness": "answer_relevance", "relevance": "answer_relevance"}
"""The metric that measures each of these dimensions, which label files name differently."""

DIRECT_RATINGS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (gpt_score.Faithfulness(), gpt_score.AnswerRelevance(), gpt_score.ContextRelevance())
}
"""The metrics of GPT Score, by dimension."""

TRIVIAL_FOR_PAIRS = ("longer", "shorter", "word overlap", "coin")
TRIVIAL_FOR_ANSWERS = ("shorter", "word overlap")


@dataclass(frozen=True, kw_only=True)
class ScorerSelection:
    """The scorers of an agreement, and the metrics and tasks to run for them."""

    scorers: tuple[Scorer, ...]
    metrics: Mapping[str, tuple[tuple[str, Metric], ...]]
    """{dimension: (name of the scorer, metric) pairs}, for the metrics to compute."""
    ranked: frozenset[Quality] = field(default_factory=frozenset[Quality])
    """The dimensions in which GPT Ranking compares pairs."""
    notes: tuple[str, ...] = ()
    """Which scorers are left out, and why."""


@dataclass(frozen=True, kw_only=True)
class ScorerFigures:
    """How well the judge or a trivial baseline agrees with one set of labels."""

    name: str
    auroc: Measure
    balanced_accuracy: Measure | None
    """Mean of sensitivity and specificity; 0.5 is chance level."""
    judge_better_by: Measure | None
    """AUROC of the judge minus AUROC of this baseline; None for the judge itself."""


def select_scorers(labelled: LabelFile, panel: Panel, metrics: Sequence[Metric]) -> ScorerSelection:
    """Choose the scorers: metrics (default: one per dimension), GPT Score and GPT Ranking, and trivial baselines.

    A metric with the name of a dimension is compared in this dimension, other metrics are compared in all dimensions.
    Metrics of one source that are named like dimensions form one scorer, named like the source. If the labels are
    verdicts or grades of passages, the scorers are the judge's verdicts or grades instead of metrics.
    """
    chosen = {} if labelled.compares_verdicts else _metrics_by_dimension(labelled.dimensions, metrics, panel)
    qualities: list[Quality] = [name for name in QUALITIES if name in chosen]
    rated = qualities if panel.find_judge(Rate) else []
    ranked: list[Quality] = qualities if labelled.form == "pairs" and panel.find_judge(Prefer) else []
    by_dimension = {
        name: (*pairs, *(((GPT_SCORE, DIRECT_RATINGS[name]),) if name in rated else ()))
        for name, pairs in chosen.items()
    }
    left_out = bool(qualities) and (not rated or (labelled.form == "pairs" and not ranked))
    return ScorerSelection(
        scorers=(
            *_judge_scorers(labelled, panel.name),
            *_metric_scorers(by_dimension),
            *([Scorer(name=GPT_RANKING, kind="baseline")] if ranked else []),
            *_published_scorers(labelled),
            *(
                Scorer(name=name, kind="trivial")
                for name in (TRIVIAL_FOR_PAIRS if labelled.form == "pairs" else TRIVIAL_FOR_ANSWERS)
            ),
        ),
        metrics=by_dimension,
        ranked=frozenset(ranked),
        notes=(f"GPT Score and GPT Ranking are left out: {panel.name} does not support their tasks",)
        if left_out
        else (),
    )


def _judge_scorers(labelled: LabelFile, judge: str) -> tuple[Scorer, ...]:
    """Return the scorers for a judge's own verdicts or grades; empty if metrics are compared."""
    if labelled.form == "passages":
        return (grade_scorer(judge),)
    return judge_scorers(judge) if labelled.compares_verdicts else ()


def grade_scorer(judge: str) -> Scorer:
    """Return the scorer that stands for a judge's grades of passages."""
    return Scorer(name=f"{judge}, its grade", kind="metric")


def judge_scorers(judge: str) -> tuple[Scorer, Scorer]:
    """Return the scorers that stand for a judge's verdicts and for its scores. Not all judges give scores."""
    return Scorer(name=f"{judge}, its verdict", kind="metric"), Scorer(name=f"{judge}, its score", kind="metric")


def _metrics_by_dimension(
    dimensions: Sequence[str], metrics: Sequence[Metric], panel: Panel
) -> dict[str, tuple[tuple[str, Metric], ...]]:
    if not metrics:  # use the default metrics of an evaluation by these judges
        defaults = {**{metric.name: metric for metric in default_metrics(panel)}, **METRIC_OF_DIMENSION}
        chosen = {name: defaults.get(SAME_AS.get(name, name)) for name in dimensions}
        return {name: ((metric.source, metric),) if metric else () for name, metric in chosen.items()}
    names = [(metric.source, metric.name) for metric in metrics if metric.name in dimensions]
    return {
        name: tuple(
            (metric.source if names.count((metric.source, metric.name)) == 1 else metric.spec, metric)
            for metric in metrics
            if metric.name == name or metric.name not in dimensions
        )
        for name in dimensions
    }


def _metric_scorers(by_dimension: Mapping[str, Sequence[tuple[str, Metric]]]) -> Iterator[Scorer]:
    for scorer in dict.fromkeys(name for pairs in by_dimension.values() for name, _ in pairs):
        scorer_metrics = {
            dimension: metric for dimension, pairs in by_dimension.items() for name, metric in pairs if name == scorer
        }
        yield Scorer(
            name=scorer,
            kind="baseline" if scorer == GPT_SCORE else "metric",
            metrics={dimension: metric.spec for dimension, metric in scorer_metrics.items()},
            lower=any(metric.direction == "lower" for metric in scorer_metrics.values()),
        )


def _published_scorers(labelled: LabelFile) -> Iterator[Scorer]:
    for name in dict.fromkeys(name for item in labelled.items for name in item.published):
        yield Scorer(name=name, kind="published")


def trivial_outcomes(item: LabelledItem, dimension: str, seed: int) -> Iterator[tuple[str, tuple[Outcome, ...]]]:
    """Score an item with the trivial baselines; yield (baseline, outcomes), with one outcome per side."""
    texts = [compared_text(dimension, sample) for sample in item.samples]
    yield "shorter", tuple(Score(value=-len(text), counted=f"{len(text):,} characters") for text in texts)
    yield "word overlap", tuple(_overlap(sample, dimension) for sample in item.samples)
    if len(texts) == 2:
        yield "longer", tuple(Score(value=len(text), counted=f"{len(text):,} characters") for text in texts)
        heads = blake2b(f"{seed} {dimension} {item.id}".encode(), digest_size=1).digest()[0] % 2
        yield "coin", (Score(value=float(heads), counted="a coin"), Score(value=float(1 - heads), counted="a coin"))


def _overlap(sample: Sample, dimension: str) -> Outcome:
    """Return the word overlap of the two texts that the dimension compares."""
    answer, reference = sample.answer or "", sample.reference
    passages = compared_text("context_relevance", sample)
    if dimension == "context_relevance":
        return _share("of the passages' words are in the question", passages, sample.question)
    if SAME_AS.get(dimension, dimension) in ("answer_relevance", "helps", PASSAGE_RELEVANCE):
        return _share("of the question's words are in the text", sample.question, answer)
    if dimension == "completeness" and reference:
        return _share("of the reference's words are in the answer", reference, answer)
    if dimension in ("correctness", "overall") and reference:
        return _share("of the answer's words are in the reference", answer, reference)
    if not sample.contexts:
        return Unscored(reason="skipped", detail="there are no passages to compare with")
    return _share("of the words are in the passages", answer, passages)


def _share(description: str, text: str, other: str) -> Score:
    share = word_overlap(text, [other])
    return Score(value=share, counted=f"{share:.0%} {description}")


def word_overlap(text: str, others: Sequence[str]) -> float:
    """Return the share of the words of `text` that occur in `others`, in [0, 1]; 0 if `text` has no words."""
    words = set(re.findall(r"\w+", text.lower()))
    other_words = set(re.findall(r"\w+", " ".join(others).lower()))
    return len(words & other_words) / len(words) if words else 0.0


def trivial_scores(question: str, text: str, passages: Sequence[str] | None) -> dict[str, float]:
    """Score a text by word overlap and length; higher is better.

    With passages, the overlap is the share of the text's words that are in the passages, and a shorter text scores
    higher. Without passages, it is the share of the question's words that are in the text, and a longer text scores
    higher.
    """
    if passages is None:
        return {"word overlap": word_overlap(question, [text]), "length": float(len(text))}
    return {"word overlap": word_overlap(text, passages), "length": -float(len(text))}


def compare_scorers(
    scores: Mapping[str, Sequence[float]],
    truth: Sequence[bool],
    groups: Sequence[str],
    *,
    thresholds: Mapping[str, float] | None = None,
    seed: int = 0,
) -> tuple[ScorerFigures, ...]:
    """Compare a judge (the first scorer) with baselines on the same labels, with bootstrap intervals over groups.

    Scorers in `thresholds` also get a balanced accuracy. `truth` must contain both classes.
    """
    judge = next(iter(scores.values()))
    return tuple(
        ScorerFigures(
            name=name,
            auroc=Measure(value=auroc(values, truth), interval=clustered_auroc(values, truth, groups, seed=seed)),
            balanced_accuracy=_balanced_accuracy([value >= thresholds[name] for value in values], truth, groups)
            if thresholds and name in thresholds
            else None,
            judge_better_by=None
            if values is judge
            else Measure(
                value=auroc(judge, truth) - auroc(values, truth),
                interval=auroc_difference(judge, values, truth, groups, seed=seed),
            ),
        )
        for name, values in scores.items()
    )


def _balanced_accuracy(positive: Sequence[bool], truth: Sequence[bool], groups: Sequence[str]) -> Measure:
    statistic = balanced_accuracy_of_rows(positive, truth)
    return Measure(value=statistic(np.arange(len(truth))), interval=clustered_interval(statistic, groups))


def balanced_accuracy_of_rows(positive: Sequence[bool], truth: Sequence[bool]) -> Callable[[Rows], float]:
    """Return a function that computes the balanced accuracy of rows, or raises ValueError if a class is missing."""
    decisions, labels = np.array(positive, dtype=bool), np.array(truth, dtype=bool)

    def balanced_accuracy(rows: Rows) -> float:
        called, positives = decisions[rows], labels[rows]
        correct = called[positives], ~called[~positives]
        if not all(map(len, correct)):
            raise ValueError("balanced accuracy needs both classes")
        return float(sum(rate.mean() for rate in correct)) / 2

    return balanced_accuracy
