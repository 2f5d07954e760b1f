"""What the rules speak of: quantities of a run, each measured over the values of its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragboard.stats import Interval, NoInterval, group_difference, mean_interval, moments
from ragboard.stats.intervals import Floats
from ragboard.store import RunRef
from ragboard.store.queries.clusters import SampleClusters
from ragboard.store.queries.evaluations import evaluated_metrics
from ragboard.store.queries.quantities import sample_values
from ragboard.store.queries.query import Connection

__all__ = ["QUANTITIES", "Columns", "Quantity", "measure", "metric_for", "read_columns"]

Columns = Mapping[str, Floats]
"""By name, a value for each sample of the run; NaN stands for none and never leaves here."""

SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
FOUND = 0.5
"""The passages are taken to hold the answer where they hold at least this share of the reference's claims."""

RECALL, UTILIZATION = "ragchecker.claim_recall", "ragchecker.context_utilization"
NOISE = ("ragchecker.noise_sensitivity_in_relevant", "ragchecker.noise_sensitivity_in_irrelevant")
MADE_UP, KNOWN = "ragchecker.hallucination", "ragchecker.self_knowledge"
FAITHFULNESS = "ragas.faithfulness"

COUNTED_WITH = {
    "refuses": FAITHFULNESS,
    "statements": FAITHFULNESS,
    "contradicted": FAITHFULNESS,
    "late evidence": FAITHFULNESS,
    "early less late use": NOISE[0],
}
"""What is counted of samples beside metrics, and a metric whose evaluation finds it out."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A value for each sample, of which the mean is looked at."""

    label: str
    """How pages call it."""
    text: str
    """What it is, of one sample."""
    takes: tuple[str, ...]
    """Metrics, and what `COUNTED_WITH` names, that it is counted from."""
    of: Callable[..., Floats]
    bounds: tuple[float, float] = SHARE
    apart: bool = False
    """Whether `of` gives two rows, of two groups of samples, and the difference of their means is looked at."""


def metric_for(name: str) -> str:
    """What to evaluate for a column: the metric itself, or one for which it is found out."""
    return COUNTED_WITH.get(name, name)


def read_columns(connection: Connection, run: RunRef, samples: int, names: Iterable[str]) -> Columns:
    """The columns of these names that were evaluated, be it without any value."""
    evaluated = {metric for _, metric in evaluated_metrics(connection, run.evaluations)}
    found = {name: sample_values(connection, run, run.evaluation_of(metric_for(name)), name, samples) for name in names}
    return {
        name: values for name, values in found.items() if metric_for(name) in evaluated or not np.isnan(values).all()
    }


def measure(quantity: Quantity, columns: Columns, clusters: SampleClusters | None = None) -> Interval | NoInterval:
    """The mean over the samples that have a value, or the difference of two groups, with its 95% interval.

    `clusters` says which samples depend on each other.
    """
    values = quantity.of(*(columns[name] for name in quantity.takes))
    rows = values if quantity.apart else [values]
    known = [row[~np.isnan(row)] for row in rows]
    together = [clusters.of[~np.isnan(row)].tolist() if clusters else None for row in rows]
    if quantity.apart:
        first, second = known
        if not first.size or not second.size:
            return NoInterval(reason="there are no two groups of samples to compare", n=first.size + second.size)
        return group_difference(first, second, bounds=SHARE, clusters=together[0], other_clusters=together[1]).interval
    if not known[0].size:
        return NoInterval(reason="no sample has a value", n=0)
    return mean_interval(moments(known[0], together[0]), bounds=quantity.bounds)


def _same(values: Floats) -> Floats:
    return values


def _lost_in_generation(recall: Floats, utilization: Floats) -> Floats:
    """Of a reference's claims the share that is found and not said; nothing can be lost where nothing is found."""
    return np.where(recall == 0, 0.0, recall * (1 - utilization))


def _retrieval_less_generation(recall: Floats, utilization: Floats) -> Floats:
    return (1 - recall) - _lost_in_generation(recall, utilization)


def _where(values: Floats, condition: NDArray[np.bool_]) -> Floats:
    return np.where(condition, values, np.nan)


def _refused_though_found(refuses: Floats, recall: Floats) -> Floats:
    return _where(refuses, recall >= FOUND)


def _answered_without(refuses: Floats, recall: Floats) -> Floats:
    return _where(1 - refuses, recall == 0)


def _long_and_short(faithfulness: Floats, statements: Floats) -> Floats:
    """The values of answers with more statements than the median, and those of the others."""
    known = ~np.isnan(faithfulness + statements)
    middle = np.median(statements[known]) if known.any() else 0.0
    return np.stack([_where(faithfulness, known & long) for long in (statements > middle, statements <= middle)])


QUANTITIES: dict[str, Quantity] = {
    "claim recall": Quantity(
        label="Claim recall",
        text="share of the reference's claims that some passage supports",
        takes=(RECALL,),
        of=_same,
    ),
    "context precision": Quantity(
        label="Context precision",
        text="share of the passages that support some claim of the reference",
        takes=("ragchecker.context_precision",),
        of=_same,
    ),
    "retrieval less generation": Quantity(
        label="Lost in retrieval less lost in generation",
        text="share of the reference's claims that no passage supports, less the share that some passage supports "
        "and the answer does not say",
        takes=(RECALL, UTILIZATION),
        of=_retrieval_less_generation,
        bounds=DIFFERENCE,
    ),
    "context utilization": Quantity(
        label="Context utilization",
        text="of the reference's claims that some passage supports, the share that the answer says",
        takes=(UTILIZATION,),
        of=_same,
    ),
    "noise": Quantity(
        label="Noise sensitivity, both kinds",
        text="share of the answer's claims that are wrong and that some passage supports",
        takes=NOISE,
        of=np.add,
    ),
    "irrelevant less relevant noise": Quantity(
        label="Noise from irrelevant less from relevant passages",
        text="share of the answer's claims that are wrong and that only irrelevant passages support, less the share "
        "that relevant ones support",
        takes=(NOISE[1], NOISE[0]),
        of=np.subtract,
        bounds=DIFFERENCE,
    ),
    "hallucination": Quantity(
        label="Hallucination",
        text="share of the answer's claims that neither the reference nor a passage supports",
        takes=(MADE_UP,),
        of=_same,
    ),
    "hallucination less self-knowledge": Quantity(
        label="Hallucination less self-knowledge",
        text="of the answer's claims that no passage supports: the wrong ones less the right ones, as shares of all",
        takes=(MADE_UP, KNOWN),
        of=np.subtract,
        bounds=DIFFERENCE,
    ),
    "faithfulness": Quantity(
        label="Faithfulness",
        text="share of the answer's statements that the passages support together",
        takes=(FAITHFULNESS,),
        of=_same,
    ),
    "contradicted": Quantity(
        label="Contradicted statements",
        text="share of the answer's statements that the passages contradict",
        takes=("contradicted",),
        of=_same,
    ),
    "context relevance": Quantity(
        label="Context relevance",
        text="share of the passages' sentences that help to answer",
        takes=("ragas.context_relevance",),
        of=_same,
    ),
    "refusals": Quantity(
        label="Refusals", text="1 where the answer declines to answer, at least in part", takes=("refuses",), of=_same
    ),
    "refusals though found": Quantity(
        label="Refusals though the passages hold the answer",
        text="the same, of samples whose passages hold at least half of the reference's claims",
        takes=("refuses", RECALL),
        of=_refused_though_found,
    ),
    "answers without passages": Quantity(
        label="Answers though nothing was found",
        text="1 where the answer does not decline, of samples whose passages hold no claim of the reference",
        takes=("refuses", RECALL),
        of=_answered_without,
    ),
    "long less short": Quantity(
        label="Faithfulness of long answers less that of short ones",
        text="answers with more statements than the median against the others",
        takes=(FAITHFULNESS, "statements"),
        of=_long_and_short,
        bounds=DIFFERENCE,
        apart=True,
    ),
    "late evidence": Quantity(
        label="Evidence in the later half of the passages",
        text="share of the supported statements whose first evidence stands in the later half of the passages",
        takes=("late evidence",),
        of=_same,
    ),
    "early less late use": Quantity(
        label="Use of early less of late relevant passages",
        text="share of the relevant passages in the earlier half that the answer says something from, less the same "
        "share in the later half",
        takes=("early less late use",),
        of=_same,
        bounds=DIFFERENCE,
    ),
}
"""By key; every one is measured over the samples that have a value."""
