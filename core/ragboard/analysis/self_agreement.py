"""How often a judge agrees with itself if it makes the same judgement several times (in several draws)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragboard.analysis.metrics import in_order, read_descriptions
from ragboard.stats import Interval, NoInterval, cluster_moments, estimate_text, mean_interval
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters, sample_clusters
from ragboard.store.queries.draws import ComparedReplies, DrawnScores, compared_replies, draw_counts, drawn_scores

__all__ = ["DrawnMetric", "ReplyAgreement", "SelfAgreement", "self_agreement"]

KINDS = {
    "verdicts": "verdicts on statements",
    "assignments": "verdicts on nuggets",
    "sentences": "selections of sentences",
    "judgements": "other judgements",
}
"""The kinds of reply in words, in the order of pages."""

SAME_SCORE = 1e-9
"""Scores that differ by less than this count as equal."""


@dataclass(frozen=True, kw_only=True)
class DrawnMetric:
    """The scores of one metric in several draws."""

    metric: str
    label: str
    """The name of the metric on pages."""
    draws: int
    samples: int
    """Number of samples with a score in every draw. `means`, `changed` and `spread` are over these."""
    means: tuple[float, ...]
    """The mean of each draw. Pages show the scores of the first draw."""
    changed: float | None
    """Share of samples whose scores differ between draws; None without samples."""
    spread: float | None
    """Standard deviation between the draws of a sample (root of the mean variance); None without samples."""

    def __str__(self) -> str:
        """`Faithfulness, 3 draws: means 0.810, 0.800, 0.820; scores of 12% of 60 samples differ, ...`."""
        means = ", ".join(f"{mean:.3f}" for mean in self.means)
        if self.changed is None:
            return f"{self.label}, {self.draws} draws: no sample has a score in every draw"
        return (
            f"{self.label}, {self.draws} draws: means {means}; scores of {self.changed:.0%} of {self.samples:,} samples"
            f" differ, SD between draws {self.spread:.3f}"
        )


@dataclass(frozen=True, kw_only=True)
class ReplyAgreement:
    """How often the draws of an item have the same reply."""

    kind: str
    """The kind of reply, in words: `verdicts on statements`."""
    items: int
    """Number of items (statements, nuggets, sentences, ...) with at least two draws."""
    flips: int
    """Number of items whose replies differ between draws."""
    agreement: float
    """The share of pairs of draws with the same reply, as a mean over items, in [0, 1]."""
    interval: Interval | NoInterval
    """The 95% CI of `agreement`, over samples or clusters of samples."""

    def __str__(self) -> str:
        """`verdicts on statements: share of equal draws 0.940 (0.910 to 0.970); 21 of 240 flip`."""
        return (
            f"{self.kind}: share of equal draws {estimate_text(self.agreement, self.interval)};"
            f" {self.flips:,} of {self.items:,} flip"
        )


@dataclass(frozen=True, kw_only=True)
class SelfAgreement:
    """How often a judge agrees with itself, by kind of reply and by metric."""

    replies: tuple[ReplyAgreement, ...]
    metrics: tuple[DrawnMetric, ...]


def self_agreement(store: Store, run: RunRef) -> SelfAgreement | None:
    """Compare the draws of a run's evaluation; None if every judgement has one draw.

    By default, a chat model has temperature 0 in the first draw and 1 in further draws.
    """
    evaluation = run.evaluation_id
    if evaluation is None:
        return None
    with store.database.read() as connection:
        counts = draw_counts(connection, evaluation)
        if not counts:
            return None
        clusters = sample_clusters(connection, run.run_id)
        descriptions = read_descriptions(connection)
        replies = {
            compared.kind: _compare_replies(compared, clusters) for compared in compared_replies(connection, evaluation)
        }
        metrics = [
            _compare_draws(
                spec,
                descriptions[spec].label if spec in descriptions else spec,
                drawn_scores(connection, evaluation, spec),
            )
            for spec in in_order(counts)
        ]
    return SelfAgreement(replies=tuple(replies[kind] for kind in KINDS if kind in replies), metrics=tuple(metrics))


def _compare_replies(compared: ComparedReplies, clusters: SampleClusters | None) -> ReplyAgreement:
    groups = compared.positions if clusters is None else clusters.ids[compared.positions]
    _, group = np.unique(groups, return_inverse=True)
    items, agreement = (np.bincount(group, sums).astype(np.float64) for sums in (compared.items, compared.agreement))
    moments = cluster_moments(items, agreement)
    return ReplyAgreement(
        kind=KINDS[compared.kind],
        items=int(compared.items.sum()),
        flips=int(compared.flips.sum()),
        agreement=moments.mean,
        interval=mean_interval(moments, bounds=(0.0, 1.0)),
    )


def _compare_draws(metric: str, label: str, drawn: DrawnScores) -> DrawnMetric:
    draws = int(drawn.draws.max()) + 1
    _, first, counts = np.unique(drawn.positions, return_index=True, return_counts=True)
    complete = first[counts == draws]
    scores = drawn.values[complete[:, None] + np.arange(draws)]
    if not complete.size:
        return DrawnMetric(metric=metric, label=label, draws=draws, samples=0, means=(), changed=None, spread=None)
    return DrawnMetric(
        metric=metric,
        label=label,
        draws=draws,
        samples=int(complete.size),
        means=tuple(scores.mean(axis=0).tolist()),
        changed=float(np.mean(np.ptp(scores, axis=1) > SAME_SCORE)),
        spread=float(np.sqrt(scores.var(axis=1, ddof=1).mean())),
    )
