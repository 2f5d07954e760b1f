"""Offer the default metrics that a judge setup can score on given samples, with the expected cost and time."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from ragboard.evaluation.defaults import default_metrics
from ragboard.evaluation.plan import Assumptions, Plan, plan_in_words, plan_samples
from ragboard.evaluation.runner import wait_for
from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.panel import ROLE_NAMES, Panel
from ragboard.metrics import Metric
from ragboard.metrics.base import resolve, tasks_for
from ragboard.metrics.ragchecker import Recall
from ragboard.metrics.retrieval import NO_IDS, compare_with_gold
from ragboard.prices import Prices
from ragboard.records import Sample, Turn, Unscored
from ragboard.store import Store
from ragboard.store.queries.contents import count_parts
from ragboard.tasks import Failure, Reply, Task

__all__ = [
    "Contents",
    "Offer",
    "count_contents",
    "duration_in_words",
    "expected_seconds",
    "make_offer",
    "run_contents",
    "scorable_defaults",
    "unscorable",
    "unscorable_message",
    "why_unscorable",
]

TIMED_SAMPLES = 5
"""Maximum number of samples that are judged to measure the time per sample."""
PLANNED_SAMPLES = 100
"""Maximum number of samples from which calls and cost are estimated."""
MAX_TIMING_SECONDS = 0.5
"""Seconds of judging after which no further sample is judged to measure the time."""
STARTUP_SECONDS = 5.0
"""Seconds until the process of an evaluation starts judging, as measured on two busy cores."""

REFERENCE_METRIC = Recall()
"""The metric that is also offered if samples have references."""

COLUMNS: Mapping[str, str] = {
    "answer": "an answer",
    "contexts": "passages",
    "reference": "a reference",
    "reference_contexts": "gold passages",
    "nuggets": "nuggets",
}
"""The columns that metrics may need, with their names in messages."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """Counts of the parts of samples, such as answers, passages and references."""

    samples: int
    questions: int
    """Number of different questions. Questions with different earlier turns are different."""
    columns: Mapping[str, int]
    """The number of samples that have each column of `COLUMNS`."""
    passages: int
    """Number of passages in all samples."""
    histories: int
    """Number of samples with earlier turns."""
    gold: int
    """Number of samples whose retrieved passages can be compared with gold passages."""
    gold_without_ids: bool
    """Whether a sample has gold passages by id, but retrieved passages without ids."""
    examples: tuple[Sample, ...]
    """At most `TIMED_SAMPLES` random samples."""

    def __str__(self) -> str:
        """`60 questions with answers, 4.8 passages each and references`; `294 answers to 98 questions, with ...`."""
        with_passages = self.columns["contexts"]
        mean = f"{self.passages / with_passages:.2g}" if with_passages else ""
        passages_each = f"{mean} passage{'' if mean == '1' else 's'} each"
        repeated = self.questions < self.samples
        all_answered = self.columns["answer"] == self.samples
        counts = {
            "answers": 0 if repeated and all_answered else self.columns["answer"],
            passages_each: with_passages,
            "references": self.columns["reference"],
            "gold passages": self.gold,
            "earlier turns": self.histories,
        }
        parts = [f"{noun}{self._of(count)}" for noun, count in counts.items() if count]
        contents = " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
        questions = f"{self.questions:,} question{'' if self.questions == 1 else 's'}"
        if repeated:
            rows = f"{self.samples:,} {'answers to' if all_answered else 'rows about'} {questions}"
            return f"{rows}, with {contents}" if contents else rows
        return f"{questions} with {contents}" if contents else f"{questions} and nothing else"

    def _of(self, count: int) -> str:
        return "" if count == self.samples else f" (for {count:,})"


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The default metrics that a judge setup can score on given samples, with their expected cost and time."""

    metrics: tuple[Metric, ...]
    plan: Plan
    seconds: float | None
    """Expected duration; None if unknown."""

    @property
    def names(self) -> str:
        """The metrics: `Faithfulness and Answer relevance`."""
        *first, last = (metric.title for metric in self.metrics)
        return f"{', '.join(first)} and {last}" if first else last

    @property
    def cost(self) -> str:
        """Cost and time as text: `no calls to models, no cost, about 10 s`."""
        return ", ".join(filter(None, (plan_in_words(self.plan), duration_in_words(self.seconds))))


def count_contents(samples: Iterable[Sample]) -> Contents:
    """Count the contents of samples, in one pass."""
    columns = dict.fromkeys(COLUMNS, 0)
    count = passages = histories = gold = 0
    questions = set[tuple[str, tuple[Turn, ...]]]()
    without_ids = False
    examples: list[Sample] = []
    rng = random.Random(0)  # noqa: S311
    for sample in samples:
        count += 1
        questions.add((sample.question, sample.history))
        for column in columns:
            columns[column] += getattr(sample, column) is not None
        passages += len(sample.contexts or ())
        histories += bool(sample.history)
        ranked = compare_with_gold(sample)
        gold += not (isinstance(ranked, Unscored) and ranked.reason == "skipped")
        without_ids = without_ids or (isinstance(ranked, Unscored) and ranked.detail == NO_IDS)
        index = rng.randrange(count)
        if len(examples) < TIMED_SAMPLES:
            examples.append(sample)
        elif index < TIMED_SAMPLES:
            examples[index] = sample
    return Contents(
        samples=count,
        questions=len(questions),
        columns=columns,
        passages=passages,
        histories=histories,
        gold=gold,
        gold_without_ids=without_ids,
        examples=tuple(examples),
    )


def run_contents(store: Store, run_id: str) -> Contents:
    """Count the contents of a run's samples."""
    with store.database.read() as connection:
        parts = count_parts(connection, run_id)
    positions = store.positions(run_id)
    drawn = random.Random(0).sample(positions, min(TIMED_SAMPLES, len(positions)))  # noqa: S311
    return Contents(
        samples=parts.samples,
        questions=parts.questions,
        columns=parts.columns,
        passages=parts.passages,
        histories=parts.histories,
        gold=parts.gold,
        gold_without_ids=parts.gold_without_ids > 0,
        examples=tuple(sample for _, sample in store.samples_at(run_id, drawn)),
    )


def why_unscorable(metric: Metric, contents: Contents, panel: Panel) -> str:
    """Return why a metric cannot score any of these samples with these judges: `needs a chat model`.

    Empty if it can score some of them.
    """
    for column in metric.requires:
        if not contents.columns[column]:
            return f"needs {COLUMNS[column]}: the file has none"
    if metric.needs_gold and not contents.gold:
        if contents.gold_without_ids:
            return "needs ids of the retrieved passages: the file has only ids of the gold passages"
        return "needs gold passages: the file has none"
    missing = [kind for kind in tasks_for(metric.needs()) if panel.find_judge(kind) is None]
    first = min(missing, key=lambda kind: [*ROLE_NAMES].index(kind.role), default=None)
    return f"needs {first.suggested_judge or ROLE_NAMES[first.role]}" if first else ""


def unscorable(metrics: Iterable[Metric], contents: Contents, panel: Panel) -> dict[str, str]:
    """Return why metrics cannot score any of these samples with these judges, by metric name."""
    return {metric.spec: why for metric in metrics if (why := why_unscorable(metric, contents, panel))}


def unscorable_message(metrics: Iterable[Metric], refused: Mapping[str, str]) -> str:
    """Return a message about those of the metrics that are in `refused`; empty if there are none.

    `refused` has the reason why a metric cannot be scored, by metric name.
    """
    unscorable_metrics = [metric for metric in metrics if metric.spec in refused]
    if not unscorable_metrics:
        return ""
    first = f"{unscorable_metrics[0].label} {refused[unscorable_metrics[0].spec]}"
    if len(unscorable_metrics) == 1:
        return f"{first}. Remove it, or choose another judge or run."
    others = "1 other metric" if len(unscorable_metrics) == 2 else f"{len(unscorable_metrics) - 1} other metrics"
    return f"{first}, and {others} cannot be scored either. Remove them, or choose another judge or run."


def scorable_defaults(contents: Contents, panel: Panel, judged: Collection[str] = ()) -> tuple[Metric, ...]:
    """Return the default metrics for these judges, and `REFERENCE_METRIC` if there are references.

    Metrics that cannot score any of these samples, and metrics in `judged`, are left out.
    """
    metrics = default_metrics(panel, judged)
    if contents.columns["reference"] and REFERENCE_METRIC.spec not in judged:
        metrics = (*metrics, REFERENCE_METRIC)
    return tuple(metric for metric in metrics if not why_unscorable(metric, contents, panel))


def make_offer(
    samples: Sequence[Sample], panel: Panel, prices: Prices | None = None, judged: Collection[str] = ()
) -> Offer | None:
    """Return the default metrics that these judges can score on samples that are not stored yet, with cost and time.

    None if no default metric can be scored. Metrics in `judged`, for which the run file has verdicts, are left out.
    """
    contents = count_contents(samples)
    metrics = scorable_defaults(contents, panel, judged)
    if not metrics:
        return None
    plan = plan_samples(samples, metrics, panel, Assumptions(samples=PLANNED_SAMPLES), prices=prices)
    return Offer(metrics=metrics, plan=plan, seconds=expected_seconds(contents, metrics, panel))


def expected_seconds(contents: Contents, metrics: Sequence[Metric], panel: Panel) -> float | None:
    """Return the expected seconds of an evaluation by the embedded judge; None for other judges.

    A few samples are judged to measure the time.
    """
    if not contents.examples or not all(isinstance(judge, EmbeddedJudge) for judge in panel.members):
        return None
    needs = tuple(dict.fromkeys(need for metric in metrics for need in metric.needs()))

    async def ask(task: Task) -> Reply | Failure:
        (reply,) = await panel.for_task(type(task)).answer([task])
        return reply

    async def judge() -> float:
        await resolve(contents.examples[0], needs, ask)  # loads the word lists
        seconds: list[float] = []
        for sample in contents.examples:
            start = time.perf_counter()
            await resolve(sample, needs, ask)
            seconds.append(time.perf_counter() - start)
            if sum(seconds) > MAX_TIMING_SECONDS:
                break
        return sum(seconds) / len(seconds)

    return STARTUP_SECONDS + contents.samples * wait_for(judge())


def duration_in_words(seconds: float | None) -> str:
    """Return the duration as text, such as `about 10 s`; empty if it is unknown."""
    if seconds is None:
        return ""
    if seconds < 100:
        return f"about {ceil(seconds / 5) * 5} s"
    return f"about {ceil(seconds / 60):,} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
