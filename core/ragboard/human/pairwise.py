"""GPT Ranking, the second baseline of the RAGAS paper: a judge chooses the better of two candidates.

The judge sees every pair in both orders. A candidate wins if the judge chooses it both times. Es et al. 2023, arXiv
2309.15217, section 4.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from statistics import mean
from typing import Literal, TypeAlias

from ragboard.evaluation.budget import Budget
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.runner import TaskRunner, run_all, wait_for
from ragboard.judges.panel import Panel
from ragboard.metrics.base import SendTask
from ragboard.records import Sample
from ragboard.stats import Interval, Moments, NoInterval, mean_interval, moments, wilson_interval
from ragboard.store import RunRef, Store
from ragboard.store.queries.pairs import paired_runs
from ragboard.tasks import Failure, Prefer, Preference, Quality

__all__ = ["PairChoice", "PairShare", "Preferences", "choose_better", "comparable", "compared_text", "prefer_runs"]

Choice: TypeAlias = Literal["a", "b"]

CONCURRENCY = 32
"""Maximum number of pairs judged concurrently."""


@dataclass(frozen=True, kw_only=True)
class PairChoice:
    """A judge's choices for one pair."""

    question: str
    sample_a: str
    sample_b: str
    a_first: Choice | None
    """The choice when A is shown first; None without a usable reply."""
    b_first: Choice | None
    """The choice when B is shown first; None without a usable reply."""
    problem: str = ""
    """Why a choice is missing; empty if none is."""

    @property
    def winner(self) -> Choice | None:
        """The side chosen in both orders; None if the choices differ or one is missing."""
        return self.a_first if self.a_first == self.b_first else None


@dataclass(frozen=True, kw_only=True)
class PairShare:
    """A share of pairs, from 0 to 1."""

    share: float
    interval: Interval | NoInterval
    """The 95% CI: clustered if pairs share a conversation or question, else Wilson's if all values are 0 or 1."""


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """How often a judge prefers each run on the questions that both runs answer."""

    quality: Quality
    judge: str
    run_a: str
    run_b: str
    choices: tuple[PairChoice, ...]
    a: int
    """Number of pairs in which A was chosen in both orders."""
    b: int
    """Number of pairs in which B was chosen in both orders."""
    decided_by_order: int
    """Number of pairs in which the choice depended on the order."""
    failed: int
    """Number of pairs without a usable reply in one of the orders."""
    only_a: int
    """Number of samples of A without a counterpart in B."""
    only_b: int
    """Number of samples of B without a counterpart in A."""
    ambiguous: int
    """Number of samples without a clear counterpart, because their question occurs several times in a run."""
    without_text: int
    """Number of pairs that were not judged because the quality needs an answer or passages that are missing."""
    identical: int
    """Number of pairs that were not judged because both sides have the same text."""
    share_a: PairShare | None
    """A's share of the pairs with a winner; None if no pair has a winner."""
    first_chosen: PairShare | None
    """How often the candidate shown first was chosen; 0.5 means no order bias. Each pair counts once, with the mean of
    both orders, because they are not independent. None without a usable reply."""


def prefer_runs(store: Store, a: RunRef, b: RunRef, quality: Quality, panel: Panel) -> Preferences:
    """Let a judge choose the better of two runs, in both orders, on each question that both runs answer.

    For faithfulness, the judge sees the passages of both runs. Replies to an earlier comparison are reused from its
    journal. Raises JudgeError if the judge does not support this task.
    """
    judge = panel.for_task(Prefer)
    samples_a, samples_b = (dict(store.samples(run.run_id)) for run in (a, b))
    with store.database.read() as connection:
        paired = paired_runs(connection, a.run_id, b.run_id)
    both = [
        (samples_a[position_a], samples_b[position_b])
        for position_a, position_b in zip(paired.a.tolist(), paired.b.tolist(), strict=True)
    ]
    complete = [pair for pair in both if comparable(quality, *pair)]
    different = [pair for pair in complete if compared_text(quality, pair[0]) != compared_text(quality, pair[1])]
    identity = [a.run_id, b.run_id, quality, judge.identity(Prefer)]
    key = blake2b(json.dumps(identity).encode(), digest_size=6).hexdigest()
    clusters = store.clusters(a.run_id)
    with open_journal(
        store.journal_path(f"prefer-{key}"), {"runs": [a.run_id, b.run_id], "quality": quality}
    ) as journal:
        runner = TaskRunner(panel, journal, Budget.for_panel(EvaluationOptions(), panel))
        work = [
            partial(choose_better, quality, sample_a, sample_b, runner.for_sample(sample_a.id))
            for sample_a, sample_b in different
        ]
        choices = tuple(wait_for(run_all(work, CONCURRENCY)))
    return Preferences(
        quality=quality,
        judge=judge.name,
        run_a=a.name,
        run_b=b.name,
        choices=choices,
        a=sum(choice.winner == "a" for choice in choices),
        b=sum(choice.winner == "b" for choice in choices),
        decided_by_order=sum(bool(choice.a_first and choice.b_first and not choice.winner) for choice in choices),
        failed=sum(choice.a_first is None or choice.b_first is None for choice in choices),
        only_a=len(paired.only_a),
        only_b=len(paired.only_b),
        ambiguous=len(paired.ambiguous_a) + len(paired.ambiguous_b),
        without_text=len(both) - len(complete),
        identical=len(complete) - len(different),
        share_a=_pair_share(
            {choice.sample_a: float(choice.winner == "a") for choice in choices if choice.winner}, clusters
        ),
        first_chosen=_pair_share(
            {choice.sample_a: mean(shares) for choice in choices if (shares := _first_chosen(choice))}, clusters
        ),
    )


async def choose_better(quality: Quality, a: Sample, b: Sample, ask: SendTask) -> PairChoice:
    """Let the judge choose the better of two samples, in both orders."""
    first, second = await asyncio.gather(ask(_task(quality, a, b)), ask(_task(quality, b, a)))
    problems = [reply.detail for reply in (first, second) if isinstance(reply, Failure)]
    return PairChoice(
        question=a.question,
        sample_a=a.id,
        sample_b=b.id,
        a_first=first.better if isinstance(first, Preference) else None,
        b_first=("b" if second.better == "a" else "a") if isinstance(second, Preference) else None,
        problem=problems[0] if problems else "",
    )


def _task(quality: Quality, first: Sample, second: Sample) -> Prefer:
    return Prefer(
        quality=quality,
        question=first.question,
        a=compared_text(quality, first),
        b=compared_text(quality, second),
        contexts=_passages_of_both(first, second) if quality == "faithfulness" else (),
        history=first.history,
    )


def compared_text(quality: str, sample: Sample) -> str:
    """Return the text that the quality is about: the sample's passages or its answer."""
    if quality == "context_relevance":
        return "\n\n".join(passage.text for passage in sample.contexts or ())
    return sample.answer or ""


def _passages_of_both(first: Sample, second: Sample) -> tuple[str, ...]:
    """Return the distinct passages of both samples, sorted to hide which sample they come from."""
    texts = (passage.text for sample in (first, second) for passage in sample.contexts or ())
    return tuple(sorted(set(texts)))


def comparable(quality: Quality, a: Sample, b: Sample) -> bool:
    """Return whether both samples have the texts that are needed to judge the quality."""
    answers = quality == "context_relevance" or all((sample.answer or "").strip() for sample in (a, b))
    contexts = quality == "answer_relevance" or all(sample.contexts for sample in (a, b))
    return answers and contexts


def _first_chosen(choice: PairChoice) -> list[bool]:
    """Return, for each order with a reply, whether the candidate shown first was chosen."""
    orders = ((choice.a_first, "a"), (choice.b_first, "b"))
    return [chosen == first for chosen, first in orders if chosen is not None]


def _pair_share(values: Mapping[str, float], clusters: Mapping[str, str]) -> PairShare | None:
    """Return the mean of values in [0, 1], which are keyed by the id of A's sample; None without values."""
    if not values:
        return None
    summary = moments(list(values.values()), [clusters.get(sample, sample) for sample in values])
    if isinstance(summary, Moments) and set(values.values()) <= {0.0, 1.0}:
        return PairShare(share=summary.mean, interval=wilson_interval(summary.mean, summary.n))
    return PairShare(share=summary.mean, interval=mean_interval(summary, bounds=(0.0, 1.0)))
