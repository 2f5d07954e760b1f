"""Where the loss of a run sits: questions, passages, and topics that lag behind the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ragboard.analysis.diagnosis.nouns import Breakdown, PassageLoss, QuestionLoss, TopicLoss, TopicsLookedAt
from ragboard.analysis.diagnosis.quantities import FAITHFULNESS, RECALL, Columns
from ragboard.analysis.hallucinations import hallucination_groups
from ragboard.stats import GroupDifference, Interval, group_difference, holm
from ragboard.store import RunRef, Store
from ragboard.store.queries.clusters import SampleClusters
from ragboard.store.queries.statements import HallucinationQuery
from ragboard.store.queries.statements import wrong_passages as most_wrong

__all__ = ["LOSS_METRICS", "question_losses", "topic_losses", "wrong_passages"]

LISTED = 5
"""Questions and passages that are listed."""
FEWEST_IN_GROUP = 5
"""A group of fewer scored samples, or with fewer outside it, is not looked at."""
SIGNIFICANT = 0.05
LOSS_METRICS = ("ragchecker.f1", RECALL, FAITHFULNESS)
"""Metrics, all better high, by which topics are held against the rest."""


def question_losses(store: Store, run: RunRef) -> tuple[QuestionLoss, ...]:
    """The questions with most statements that the passages do not support."""
    query = HallucinationQuery(runs=(run,), limit=LISTED)
    return tuple(
        QuestionLoss(
            question=group.title,
            statements=group.statements,
            contradicted=group.contradicted,
            look=HallucinationQuery(runs=(run,), question=group.key),
        )
        for group in hallucination_groups(store, query, "question").groups
    )


def wrong_passages(store: Store, run: RunRef) -> tuple[PassageLoss, ...]:
    """The passages that supply most wrong statements; where that was not judged, those that contradict most."""
    with store.database.read() as connection:
        wrong = most_wrong(connection, run, LISTED)
    supplied = (
        PassageLoss(
            passage_id=one.passage_id,
            text=one.text,
            wrong=one.wrong,
            contradicted=0,
            sample_id=one.sample_id,
            look=None,
        )
        for one in wrong
    )
    return tuple(supplied) or tuple(_contradicts(store, run))


def _contradicts(store: Store, run: RunRef) -> Iterator[PassageLoss]:
    query = HallucinationQuery(runs=(run,), verdict="contradicted", limit=LISTED)
    for group in hallucination_groups(store, query, "passage").groups:
        if group.contradicted:
            yield PassageLoss(
                passage_id=group.passage_id,
                text=group.title,
                wrong=0,
                contradicted=group.contradicted,
                sample_id="",
                look=HallucinationQuery(runs=(run,), verdict="contradicted", passage=group.key),
            )


def topic_losses(
    scores: Columns, by_column: Mapping[str, NDArray[np.object_]], clusters: SampleClusters | None = None
) -> tuple[tuple[TopicLoss, ...], TopicsLookedAt]:
    """The groups whose mean lies below that of the rest, adjusted for all groups looked at; the worst first."""
    looked_at = [
        (by, value, spec, found)
        for spec in LOSS_METRICS
        if spec in scores
        for by, values in by_column.items()
        for value, found in _groups(scores[spec], values, clusters)
    ]
    adjusted = holm([found.p for *_, found in looked_at])
    worse = (
        TopicLoss(by=by, value=value, metric=spec, found=found, p=p, look=Breakdown(column=spec, by=by))
        for (by, value, spec, found), p in zip(looked_at, adjusted, strict=True)
        if p < SIGNIFICANT and isinstance(found.interval, Interval) and found.interval.high < 0
    )
    return tuple(sorted(worse, key=lambda one: one.found.difference)), TopicsLookedAt(
        groups=len(looked_at),
        metrics=tuple(dict.fromkeys(spec for _, _, spec, _ in looked_at)),
        columns=tuple(dict.fromkeys(by for by, _, _, _ in looked_at)),
    )


def _groups(
    scores: NDArray[np.float64], values: NDArray[np.object_], clusters: SampleClusters | None
) -> Iterator[tuple[str, GroupDifference]]:
    """Each value's samples against all others that have a value, where both are enough."""
    known = ~np.isnan(scores) & np.array([value is not None for value in values], dtype=np.bool_)
    for name in sorted(set(values[known])):
        inside, outside = known & (values == name), known & (values != name)
        if min(inside.sum(), outside.sum()) >= FEWEST_IN_GROUP:
            ours, others = (clusters.of[side].tolist() if clusters else None for side in (inside, outside))
            found = group_difference(
                scores[inside], scores[outside], bounds=(0.0, 1.0), clusters=ours, other_clusters=others
            )
            yield name, found
