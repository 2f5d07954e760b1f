"""How good a judge is beside trivial baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragboard.evaluation.judge_report import word_overlap
from ragboard.judges.tasks import AresQuality
from ragboard.stats import Interval, NoInterval, auroc, best_cut, binary_agreement, clustered_interval, roc
from ragboard.stats.bootstrap import Rows
from ragboard.stats.clustered import auroc_difference, clustered_auroc
from ragboard.training.examples import Example

__all__ = ["PEOPLE", "Estimate", "ScoreSet", "ScorerResult", "cuts_of", "score", "trivial"]

PEOPLE = "people's labels"
"""What a set of examples is called that people labelled."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number and, where there is one, its interval."""

    value: float
    interval: Interval | NoInterval


@dataclass(frozen=True, kw_only=True)
class ScorerResult:
    """The judge or a trivial baseline on one set of examples."""

    name: str
    auroc: Estimate
    balanced_accuracy: Estimate
    """Mean of the shares of positives and of negatives that it calls so; 0.5 is a coin."""
    judge_better_by: Estimate | None
    """AUROC of the judge less this one's; None of the judge itself."""


@dataclass(frozen=True, kw_only=True)
class ScoreSet:
    """One set of examples that nothing was learnt from."""

    on: str
    n: int
    positive: int
    clusters: int
    contenders: tuple[ScorerResult, ...]
    """The judge first."""


def trivial(quality: AresQuality, example: Example) -> dict[str, float]:
    """What word overlap and length make of an example; higher means that the quality rather holds."""
    match quality:
        case "context_relevance":
            overlap = word_overlap(example.question, [example.document])
            return {"word overlap": overlap, "length": float(len(example.document))}
        case "answer_faithfulness":
            overlap = word_overlap(example.answer, [example.document])
            return {"word overlap": overlap, "length": -float(len(example.answer))}
        case "answer_relevance":
            overlap = word_overlap(example.question, [example.answer])
            return {"word overlap": overlap, "length": float(len(example.answer))}


def cuts_of(quality: AresQuality, examples: Sequence[Example]) -> dict[str, float]:
    """For each trivial baseline the threshold that parts these examples best; the judge's is chosen on the same."""
    values = [trivial(quality, example) for example in examples]
    truth = [example.holds for example in examples]
    found = {name: best_cut(roc([each[name] for each in values], truth)) for name in values[0]}
    return {name: cut.threshold for name, cut in found.items() if cut}


def score(
    on: str,
    quality: AresQuality,
    examples: Sequence[Example],
    probabilities: Sequence[float],
    cuts: Mapping[str, float],
    *,
    threshold: float,
) -> ScoreSet | None:
    """Judge and baselines on these examples; None where they are all of one class."""
    truth = [example.holds for example in examples]
    if not any(truth) or all(truth):
        return None
    groups = [example.cluster for example in examples]
    ours = list(probabilities)
    others = {name: [trivial(quality, example)[name] for example in examples] for name in cuts}
    judge = _scorer("judge", ours, truth, groups, threshold)
    trivials = (_scorer(name, values, truth, groups, cuts[name], ours) for name, values in others.items())
    return ScoreSet(
        on=on, n=len(examples), positive=sum(truth), clusters=len(set(groups)), contenders=(judge, *trivials)
    )


def _scorer(
    name: str,
    values: list[float],
    truth: list[bool],
    groups: list[str],
    threshold: float,
    judge: list[float] | None = None,
) -> ScorerResult:
    """What these values are worth, and how far the judge's are better where they are given."""
    return ScorerResult(
        name=name,
        auroc=Estimate(value=auroc(values, truth), interval=clustered_auroc(values, truth, groups)),
        balanced_accuracy=_balanced([each >= threshold for each in values], truth, groups),
        judge_better_by=None
        if judge is None
        else Estimate(
            value=auroc(judge, truth) - auroc(values, truth), interval=auroc_difference(judge, values, truth, groups)
        ),
    )


def _balanced(said: Sequence[bool], truth: Sequence[bool], groups: Sequence[str]) -> Estimate:
    def of(rows: Rows) -> float:
        share = binary_agreement([said[row] for row in rows], [truth[row] for row in rows]).balanced_accuracy
        if share is None:
            raise ValueError("balanced accuracy needs both classes")
        return share

    return Estimate(value=of(np.arange(len(truth))), interval=clustered_interval(of, groups))
