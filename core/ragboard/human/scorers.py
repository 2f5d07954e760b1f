"""Scorers to compare with people: metrics, judges, and trivial baselines (word overlap, length, a coin)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import get_args

import numpy as np

from ragboard.human.agreement import Measure
from ragboard.human.pairwise import compared_text
from ragboard.judges.panel import Panel
from ragboard.metrics import DEFAULT_METRICS, Metric, gpt_score, ragchecker
from ragboard.readers.labels import Item, LabelFile
from ragboard.records import Outcome, Sample, Score, Unscored
from ragboard.stats import auroc, binary_agreement, clustered_interval
from ragboard.stats.auroc import auroc_difference, clustered_auroc
from ragboard.stats.bootstrap import Rows
from ragboard.store.queries.agreements import Scorer
from ragboard.tasks import Prefer, Quality, Rate

__all__ = [
    "GPT_RANKING",
    "QUALITIES",
    "LineUp",
    "ScorerFigures",
    "compare_scorers",
    "judge_scorers",
    "line_up",
    "trivial_outcomes",
    "trivial_scores",
    "word_overlap",
]

GPT_SCORE, GPT_RANKING = "GPT Score", "GPT Ranking"
QUALITIES: tuple[Quality, ...] = get_args(Quality)

OWN: Mapping[str, Metric] = {
    **{metric.name: metric for metric in DEFAULT_METRICS},
    "correctness": ragchecker.Precision(),
    "completeness": ragchecker.Recall(),
    "overall": ragchecker.F1(),
}
"""The metric that stands for a dimension where no other is asked for."""

RATED: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (gpt_score.Faithfulness(), gpt_score.AnswerRelevance(), gpt_score.ContextRelevance())
}

TRIVIAL_OF_PAIRS = ("longer", "shorter", "word overlap", "coin")
TRIVIAL_OF_ONE = ("shorter", "word overlap")


@dataclass(frozen=True, kw_only=True)
class LineUp:
    """The scorers, and what it takes to run them."""

    scorers: tuple[Scorer, ...]
    metrics: Mapping[str, tuple[tuple[str, Metric], ...]]
    """By dimension the metrics to count, each with its scorer's name."""
    ranked: frozenset[Quality] = field(default_factory=frozenset[Quality])
    """Dimensions in which GPT Ranking is asked."""
    notes: tuple[str, ...] = ()
    """Who was left out, and why."""


@dataclass(frozen=True, kw_only=True)
class ScorerFigures:
    """The judge, or a trivial baseline, on one set of labels."""

    name: str
    auroc: Measure
    balanced_accuracy: Measure | None
    """Mean of the shares of positives and of negatives that it calls so; 0.5 is a coin."""
    judge_better_by: Measure | None
    """AUROC of the judge minus this one's; None for the judge itself."""


def line_up(labelled: LabelFile, panel: Panel, metrics: Sequence[Metric]) -> LineUp:
    """The scorers: these metrics, else each dimension's own; baselines if a judge answers them; the trivial ones.

    A metric with the name of a dimension is compared in that dimension alone, another in all. Those of one source that
    are each a dimension's own are one scorer, named by the source. For statements the judge's own verdict is a scorer
    in place of metrics.
    """
    ours = {} if labelled.form == "statements" else _ours(labelled.dimensions, metrics)
    qualities: list[Quality] = [name for name in QUALITIES if name in ours]
    rated = qualities if panel.answering(Rate) else []
    ranked: list[Quality] = qualities if labelled.form == "pairs" and panel.answering(Prefer) else []
    counted = {name: (*pairs, *(((GPT_SCORE, RATED[name]),) if name in rated else ())) for name, pairs in ours.items()}
    silent = bool(qualities) and (not rated or (labelled.form == "pairs" and not ranked))
    return LineUp(
        scorers=(
            *(judge_scorers(panel.name) if labelled.form == "statements" else ()),
            *_scorers(counted),
            *([Scorer(name=GPT_RANKING, kind="baseline")] if ranked else []),
            *_published(labelled),
            *(
                Scorer(name=name, kind="trivial")
                for name in (TRIVIAL_OF_PAIRS if labelled.form == "pairs" else TRIVIAL_OF_ONE)
            ),
        ),
        metrics=counted,
        ranked=frozenset(ranked),
        notes=(f"GPT Score and GPT Ranking are left out: {panel.name} does not rate and compare",) if silent else (),
    )


def judge_scorers(judge: str) -> tuple[Scorer, Scorer]:
    """A judge's verdict on statements, yes or no, and the score behind it if it gives one."""
    return Scorer(name=f"{judge}, its verdict", kind="metric"), Scorer(name=f"{judge}, its score", kind="metric")


def _ours(dimensions: Sequence[str], metrics: Sequence[Metric]) -> dict[str, tuple[tuple[str, Metric], ...]]:
    if not metrics:
        return {name: ((OWN[name].source, OWN[name]),) if name in OWN else () for name in dimensions}
    own = [(metric.source, metric.name) for metric in metrics if metric.name in dimensions]
    return {
        name: tuple(
            (metric.source if own.count((metric.source, metric.name)) == 1 else metric.spec, metric)
            for metric in metrics
            if metric.name == name or metric.name not in dimensions
        )
        for name in dimensions
    }


def _scorers(counted: Mapping[str, Sequence[tuple[str, Metric]]]) -> Iterator[Scorer]:
    for wanted in dict.fromkeys(name for pairs in counted.values() for name, _ in pairs):
        found = {dimension: metric for dimension, pairs in counted.items() for name, metric in pairs if name == wanted}
        yield Scorer(
            name=wanted,
            kind="baseline" if wanted == GPT_SCORE else "metric",
            metrics={dimension: metric.spec for dimension, metric in found.items()},
            lower=any(metric.direction == "lower" for metric in found.values()),
        )


def _published(labelled: LabelFile) -> Iterator[Scorer]:
    for name in dict.fromkeys(name for item in labelled.items for name in item.published):
        yield Scorer(name=name, kind="published")


def trivial_outcomes(item: Item, dimension: str, seed: int) -> Iterator[tuple[str, tuple[Outcome, ...]]]:
    """What the trivial baselines make of an item; they look at nothing but words and their number."""
    texts = [compared_text(dimension, sample) for sample in item.sides]
    yield "shorter", tuple(Score(value=-len(text), counted=f"{len(text):,} characters") for text in texts)
    yield "word overlap", tuple(_overlap(sample, dimension) for sample in item.sides)
    if len(texts) == 2:
        yield "longer", tuple(Score(value=len(text), counted=f"{len(text):,} characters") for text in texts)
        heads = blake2b(f"{seed} {dimension} {item.id}".encode(), digest_size=1).digest()[0] % 2
        yield "coin", (Score(value=float(heads), counted="a coin"), Score(value=float(1 - heads), counted="a coin"))


def _overlap(sample: Sample, dimension: str) -> Outcome:
    """The share of one text's words that another has, of what the dimension is about."""
    answer, reference = sample.answer or "", sample.reference
    passages = compared_text("context_relevance", sample)
    if dimension == "context_relevance":
        return _share("of the passages' words are the question's", passages, sample.question)
    if dimension in ("answer_relevance", "helps"):
        return _share("of the question's words are in it", sample.question, answer)
    if dimension == "completeness" and reference:
        return _share("of the reference's words are in the answer", reference, answer)
    if dimension in ("correctness", "overall") and reference:
        return _share("of the answer's words are in the reference", answer, reference)
    if not sample.contexts:
        return Unscored(reason="skipped", detail="there are no passages to share words with")
    return _share("of the words are in the passages", answer, passages)


def _share(what: str, text: str, other: str) -> Score:
    share = word_overlap(text, [other])
    return Score(value=share, counted=f"{share:.0%} {what}")


def word_overlap(text: str, others: Sequence[str]) -> float:
    """The share of the words of `text` that the others have together, in [0, 1]; 0.0 if it has none."""
    words, theirs = (set(re.findall(r"\w+", one.lower())) for one in (text, " ".join(others)))
    return len(words & theirs) / len(words) if words else 0.0


def trivial_scores(question: str, text: str, passages: Sequence[str] | None) -> dict[str, float]:
    """Word overlap and length of a text as scores, more being better.

    A text that should be supported by passages overlaps with them, and is the better the shorter; one that should
    help with the question (no passages) has the question's words, and is the better the longer.
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
    """A judge, the first, beside baselines on the same labels of both classes, with intervals that draw whole groups.

    Balanced accuracy is of those scorers that have a threshold.
    """
    judge = next(iter(scores.values()))
    return tuple(
        ScorerFigures(
            name=name,
            auroc=Measure(value=auroc(values, truth), interval=clustered_auroc(values, truth, groups, seed=seed)),
            balanced_accuracy=_balanced([value >= thresholds[name] for value in values], truth, groups)
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


def _balanced(positive: Sequence[bool], truth: Sequence[bool], groups: Sequence[str]) -> Measure:
    def of(rows: Rows) -> float:
        share = binary_agreement([positive[row] for row in rows], [truth[row] for row in rows]).balanced_accuracy
        if share is None:
            raise ValueError("balanced accuracy needs both classes")
        return share

    return Measure(value=of(np.arange(len(truth))), interval=clustered_interval(of, groups))
