"""GPT Ranking, the second baseline of the RAGAS paper: a judge is shown two candidates and names the better.

Every pair is asked in both orders. Where the answers agree one side wins; where they do not, the order
decided and nobody does. Es et al. 2023, arXiv 2309.15217, section 4.
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
from ragboard.metrics.base import AnswerTask
from ragboard.records import Sample
from ragboard.stats import Interval, Moments, NoInterval, mean_interval, moments, wilson_interval
from ragboard.store import RunRef, Store
from ragboard.store.queries.pairs import paired_runs
from ragboard.tasks import Failure, Prefer, Preference, Quality

__all__ = ["PairChoice", "PairShare", "Preferences", "choose_better", "comparable", "compared_text", "prefer_runs"]

Choice: TypeAlias = Literal["a", "b"]

TOGETHER = 32
"""Pairs under way at a time."""


@dataclass(frozen=True, kw_only=True)
class PairChoice:
    """What a judge said of one pair."""

    question: str
    sample_a: str
    sample_b: str
    a_first: Choice | None
    """The better one where A was shown first; None where the judge gave no usable answer."""
    b_first: Choice | None
    problem: str = ""
    """Why there is no choice."""

    @property
    def winner(self) -> Choice | None:
        """The side chosen in both orders, or None."""
        return self.a_first if self.a_first == self.b_first else None


@dataclass(frozen=True, kw_only=True)
class PairShare:
    """A share of pairs, from 0 to 1."""

    share: float
    interval: Interval | NoInterval
    """Clustered where pairs are of one conversation or question; else Wilson's where each pair is a yes or a no."""


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """How often each run was preferred over the questions they share."""

    quality: Quality
    judge: str
    run_a: str
    run_b: str
    choices: tuple[PairChoice, ...]
    a: int
    """Pairs in which A was chosen in both orders."""
    b: int
    by_order: int
    """Pairs in which the order decided."""
    failed: int
    """Pairs without a usable answer in both orders."""
    only_a: int
    """Samples of A without a partner in B."""
    only_b: int
    ambiguous: int
    """Samples whose question is there several times, so that no partner is certain."""
    left_out: int
    """Pairs of which one side lacks what the quality is about."""
    alike: int
    """Pairs of the same text on both sides, of which neither can be the better."""
    share_a: PairShare | None
    """A's share of the pairs that one side won. None where no side won any."""
    first_chosen: PairShare | None
    """How often the one shown first was chosen; 0.5 is no order bias. The two answers to a pair depend on each other:
    each pair counts once, with the share of its answers."""


def prefer_runs(store: Store, a: RunRef, b: RunRef, quality: Quality, panel: Panel) -> Preferences:
    """Ask, in both orders, which of two runs is better on each question they share.

    For faithfulness both answers are held against the passages of both. What was asked before is taken
    from the journal. Raises JudgeError before anything is asked where the judge does not compare.
    """
    judge = panel.for_task(Prefer)
    ours, theirs = ([sample for _, sample in store.samples(run.run_id)] for run in (a, b))
    with store.database.read() as connection:
        paired = paired_runs(connection, a.run_id, b.run_id)
    both = [(ours[one], theirs[other]) for one, other in zip(paired.a.tolist(), paired.b.tolist(), strict=True)]
    whole = [pair for pair in both if comparable(quality, *pair)]
    unlike = [pair for pair in whole if compared_text(quality, pair[0]) != compared_text(quality, pair[1])]
    identity = [a.run_id, b.run_id, quality, judge.identity(Prefer)]
    key = blake2b(json.dumps(identity).encode(), digest_size=6).hexdigest()
    clusters = store.clusters(a.run_id)
    with open_journal(
        store.journal_path(f"prefer-{key}"), {"runs": [a.run_id, b.run_id], "quality": quality}
    ) as journal:
        asker = TaskRunner(panel, journal, Budget.of(EvaluationOptions(), panel))
        asked = [partial(choose_better, quality, one, other, asker.for_sample(one.id)) for one, other in unlike]
        choices = tuple(wait_for(run_all(asked, TOGETHER)))
    return Preferences(
        quality=quality,
        judge=judge.name,
        run_a=a.name,
        run_b=b.name,
        choices=choices,
        a=sum(choice.winner == "a" for choice in choices),
        b=sum(choice.winner == "b" for choice in choices),
        by_order=sum(bool(one.a_first and one.b_first and not one.winner) for one in choices),
        failed=sum(choice.a_first is None or choice.b_first is None for choice in choices),
        only_a=len(paired.only_a),
        only_b=len(paired.only_b),
        ambiguous=len(paired.ambiguous_a) + len(paired.ambiguous_b),
        left_out=len(both) - len(whole),
        alike=len(whole) - len(unlike),
        share_a=_pair_share({one.sample_a: float(one.winner == "a") for one in choices if one.winner}, clusters),
        first_chosen=_pair_share(
            {one.sample_a: mean(said) for one in choices if (said := _first_chosen(one))}, clusters
        ),
    )


async def choose_better(quality: Quality, a: Sample, b: Sample, ask: AnswerTask) -> PairChoice:
    """Ask in both orders which of two is better."""
    first, second = await asyncio.gather(ask(_task(quality, a, b)), ask(_task(quality, b, a)))
    problems = [said.detail for said in (first, second) if isinstance(said, Failure)]
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
        contexts=_of_both(first, second) if quality == "faithfulness" else (),
        history=first.history,
    )


def compared_text(quality: str, sample: Sample) -> str:
    """What two sides are compared by: the passages or the answer."""
    if quality == "context_relevance":
        return "\n\n".join(passage.text for passage in sample.contexts or ())
    return sample.answer or ""


def _of_both(first: Sample, second: Sample) -> tuple[str, ...]:
    """The passages of both, each once, in an order that does not depend on which is shown first."""
    texts = (passage.text for sample in (first, second) for passage in sample.contexts or ())
    return tuple(sorted(set(texts)))


def comparable(quality: Quality, a: Sample, b: Sample) -> bool:
    """Whether both have what the quality is about."""
    answers = quality == "context_relevance" or all((sample.answer or "").strip() for sample in (a, b))
    contexts = quality == "answer_relevance" or all(sample.contexts for sample in (a, b))
    return answers and contexts


def _first_chosen(choice: PairChoice) -> list[bool]:
    """Of each order that was answered, whether the one shown first was chosen."""
    orders = ((choice.a_first, "a"), (choice.b_first, "b"))
    return [chosen == first for chosen, first in orders if chosen is not None]


def _pair_share(values: Mapping[str, float], clusters: Mapping[str, str]) -> PairShare | None:
    """Of values from 0 to 1, by the sample of A that each is of."""
    if not values:
        return None
    known = moments(list(values.values()), [clusters.get(sample, sample) for sample in values])
    if isinstance(known, Moments) and set(values.values()) <= {0.0, 1.0}:
        return PairShare(share=known.mean, interval=wilson_interval(known.mean, known.n))
    return PairShare(share=known.mean, interval=mean_interval(known, bounds=(0.0, 1.0)))
