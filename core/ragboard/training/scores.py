"""Compare a trained judge with two baselines, word overlap and length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragboard.human.scorers import ScorerFigures, compare_scorers, trivial_scores
from ragboard.stats import best_cut, roc
from ragboard.tasks import AresQuality
from ragboard.training.examples import TrainingExample

__all__ = ["HUMAN_LABELS", "ScoreSet", "baseline_scores", "baseline_thresholds", "score"]

HUMAN_LABELS = "human labels"
"""The name of the set of human-labelled examples."""


@dataclass(frozen=True, kw_only=True)
class ScoreSet:
    """Scores on a set of examples that were not used for training."""

    name: str
    n: int
    """Number of examples."""
    positive: int
    """Number of examples for which the quality holds."""
    clusters: int
    """Number of clusters. Examples in a cluster are not independent."""
    scorers: tuple[ScorerFigures, ...]
    """The figures of the judge (first) and of the baselines."""


def baseline_scores(quality: AresQuality, example: TrainingExample) -> dict[str, float]:
    """Return the scores of word overlap and length for an example. A higher score suggests that the quality holds."""
    match quality:
        case "context_relevance":
            return trivial_scores(example.question, example.document, None)
        case "answer_faithfulness":
            return trivial_scores(example.question, example.answer, [example.document])
        case "answer_relevance":
            return trivial_scores(example.question, example.answer, None)


def baseline_thresholds(quality: AresQuality, examples: Sequence[TrainingExample]) -> dict[str, float]:
    """Return, for each baseline, the threshold that separates these examples best."""
    values = [baseline_scores(quality, example) for example in examples]
    truth = [example.holds for example in examples]
    cuts = {name: best_cut(roc([value[name] for value in values], truth)) for name in values[0]}
    return {name: cut.threshold for name, cut in cuts.items() if cut}


def score(
    name: str,
    quality: AresQuality,
    examples: Sequence[TrainingExample],
    probabilities: Sequence[float],
    baselines: Mapping[str, float],
    *,
    threshold: float,
) -> ScoreSet | None:
    """Score the judge and the baselines on a set of examples. Return None if the examples are all of one class.

    `probabilities` and `threshold` are the judge's. `baselines` has the threshold of each baseline.
    """
    truth = [example.holds for example in examples]
    if not any(truth) or all(truth):
        return None
    groups = [example.cluster for example in examples]
    values = {baseline: [baseline_scores(quality, example)[baseline] for example in examples] for baseline in baselines}
    figures = compare_scorers(
        {"judge": list(probabilities), **values}, truth, groups, thresholds={"judge": threshold, **baselines}
    )
    return ScoreSet(name=name, n=len(examples), positive=sum(truth), clusters=len(set(groups)), scorers=figures)
