"""What an evaluation would ask and cost, told before anything is sent.

A plan is the evaluation itself, `resolve` over the samples, with simulated replies: the same
tasks, asked once and bundled in the same way, so that the two cannot drift apart.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import Any

from ragboard.errors import SettingError
from ragboard.evaluation.cache import AnswerCache, read_cache
from ragboard.evaluation.engine import check_roles, with_earlier
from ragboard.evaluation.identity import evaluation_of
from ragboard.evaluation.journal import Answers, read_answers
from ragboard.evaluation.options import Expected
from ragboard.evaluation.runner import wait_for
from ragboard.judges.base import ModelJudge, Request
from ragboard.judges.embedded.statements import extract
from ragboard.judges.llm.dialogue import ECHOED, REPAIRS
from ragboard.judges.panel import Panel
from ragboard.metrics import METRICS, Metric
from ragboard.metrics.base import Need, resolve
from ragboard.prices import Prices, cost, read_prices
from ragboard.records import Sample
from ragboard.store import Store
from ragboard.tasks import ExtractStatements, Failure, Reply, Sizes, Task, fits, task_key

__all__ = ["Assumptions", "Plan", "Planned", "Usage", "plan_notes", "plan_run", "tokens_of"]


LIKELY = Sizes()
WORST = Sizes(
    statements=30, reference_statements=30, at_least=True, question=200, reason=240, quote=180, repairs=REPAIRS
)


class EmbeddedSizes(Sizes):
    """Sizes by which a text has as many statements as the embedded judge finds in it."""

    def split(self, text: str) -> tuple[list[str], bool]:
        """The statements that the embedded judge finds, and whether the text declines to answer."""
        found = extract(text)
        return [statement.text for statement in found.statements], found.refuses


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What a plan takes for granted."""

    expected: Sizes = LIKELY
    worst: Sizes = WORST
    characters_per_token: float = 4.0
    dense_characters_per_token: float = 1.5
    """In scripts such as Chinese, Japanese, Korean, Thai."""
    samples: int = 200
    """A larger run is planned on that many of its samples, drawn at random, and the rest reckoned from them."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise SettingError for what cannot be."""
        counts = (self.samples, self.expected.statements, self.expected.reference_statements)
        if any(count is not None and count < 1 for count in counts):
            raise SettingError("a plan needs at least one sample, and one statement where their number is given")
        if min(self.characters_per_token, self.dense_characters_per_token) <= 0:
            raise SettingError(f"{self.characters_per_token:g} characters per token: expected more than 0")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Calls to models, their tokens and price."""

    chat_calls: int
    embedding_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; None where a model has no known price, 0 where nobody outside is asked."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What some metrics would ask, were they alone."""

    tasks: int
    """Tasks that nobody answered yet, by whomever they are answered."""
    answered: int
    """Tasks whose answer, or failure, is in this evaluation's journal or in the cache; none is asked again."""
    expected: Usage
    worst: Usage


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What an evaluation would ask."""

    samples: int
    looked_at: int
    """Samples that were gone through; where these are fewer, all figures are reckoned from them."""
    metrics: Mapping[str, Planned]
    """Each metric as if it were alone: what several need is in each of them."""
    total: Planned
    """All metrics together, what several need once: less than the sum."""
    models: tuple[Expected, ...]
    """What the total expects of each model."""
    unpriced: tuple[str, ...]
    """Models that would be asked and have no known price."""
    asks_nobody: tuple[str, ...]
    """Judges that answer by themselves and cost nothing."""
    assumptions: Assumptions


SCRIPTS_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def tokens_of(text: str, latin: float, dense: float) -> float:
    """Tokens of a text by its characters: `latin` of them to a token, `dense` in scripts such as Chinese."""
    if text.isascii():
        return len(text) / latin
    packed = len(text) - len(SCRIPTS_WITHOUT_SPACES.sub("", text))
    return packed / dense + (len(text) - packed) / latin


def plan_run(
    store: Store,
    run_id: str,
    metrics: Sequence[Metric],
    panel: Panel,
    assumptions: Assumptions | None = None,
    *,
    known: Mapping[str, Metric] = METRICS,
    prices: Prices | None = None,
    cache: bool = True,
    afresh: bool = False,
    sample: int | None = None,
) -> Plan:
    """What evaluating a run in the store would ask, and what that would cost; nothing is sent.

    Answers that the evaluation has already, and those of models in the store's cache (unless `cache` is
    False), cost nothing; a task that failed is not asked again either, as `evaluate_run` does not. `afresh`
    plans as if there were none of all these. Of a `sample` the share of the whole is told. `known` are the
    metrics among which those that it has already are looked up. Raises as `evaluate_run` does where a role
    is not filled.
    """
    assumed = assumptions or Assumptions()
    priced = read_prices() if prices is None else prices
    evaluation = evaluation_of(store, run_id, panel, metrics, known)
    everything = with_earlier(store, evaluation, metrics, known)
    check_roles(panel, everything)
    with ExitStack() as stack:
        kept = None if afresh else stack.enter_context(read_answers(store.journal_path(evaluation.id)))
        shared = stack.enter_context(read_cache(store.cache_path)) if cache and not afresh else None
        there = KnownAnswers(kept, shared)
        whole = wait_for(_planned(store, run_id, (metrics, everything), panel, assumed, there))
    found = replace(whole, samples=min(whole.samples, sample or whole.samples))
    return found.plan(panel, priced, assumed)


Needs = tuple[Need[Any], ...]


@dataclass
class _Count:
    """Calls to one model and their tokens."""

    calls: float = 0
    prompt: float = 0
    completion: float = 0

    def add(self, other: _Count) -> None:
        self.calls += other.calls
        self.prompt += other.prompt
        self.completion += other.completion


Model = tuple[str, bool]
"""A model's name, and whether it is asked for embeddings."""


@dataclass(frozen=True)
class KnownAnswers:
    """Answers that are there: those of this evaluation, and those that evaluations share."""

    journal: Answers | None
    cache: AnswerCache | None

    def get(self, key: str, *, shared: bool) -> tuple[Reply | Failure | None, bool]:
        """The answer kept under this key, and whether it is this evaluation's own."""
        own = self.journal.get(key) if self.journal else None
        if own is not None:
            return own, True
        return (self.cache.get(key) if self.cache and shared else None), False


@dataclass(frozen=True)
class TaskEstimate:
    """A simulated answer, or one that is known, and what it would take."""

    key: bytes
    reply: Reply | Failure
    known: bool
    """Whether it is known, so that nobody is asked."""
    own: bool = False
    """Whether it is in this evaluation's journal, which decides how the rest is asked."""
    model: Model | None = None
    count: _Count = field(default_factory=_Count)


@dataclass
class _Tally:
    """What was asked to meet some needs; each task once."""

    seen: set[bytes] = field(default_factory=set[bytes])
    tasks: int = 0
    answered: int = 0
    counts: dict[Model, _Count] = field(default_factory=dict[Model, _Count])

    def take(self, estimate: TaskEstimate) -> None:
        """Count a task, unless it was asked before."""
        if estimate.key in self.seen:
            return
        self.seen.add(estimate.key)
        self.answered += estimate.known
        self.tasks += not estimate.known
        if estimate.model:
            self.counts.setdefault(estimate.model, _Count()).add(estimate.count)


@dataclass
class Estimator:
    """Answers the tasks of one sample at a time with simulated replies of the sizes given."""

    panel: Panel
    sizes: Sizes
    reference_sizes: Sizes
    assumed: Assumptions
    known: KnownAnswers
    tallies: dict[Needs, _Tally]
    sample: Sample = field(default_factory=lambda: Sample(id="", question=""))
    _estimates: dict[Task, TaskEstimate] = field(default_factory=dict["Task", TaskEstimate])
    _identities: dict[type[Task], str] = field(default_factory=dict[type[Task], str])

    async def go_through(self, sample: Sample) -> None:
        """Count what this sample asks, for all needs."""
        self.sample = sample
        self._estimates.clear()
        for needs, tally in self.tallies.items():
            await self._count(needs, tally)

    async def _count(self, needs: Needs, tally: _Tally) -> None:
        async def ask(task: Task) -> Reply | Failure:
            estimate = self._estimate(task)
            tally.take(estimate)
            return estimate.reply

        await resolve(self.sample, needs, ask, lambda task: self._estimate(task).own)

    def _estimate(self, task: Task) -> TaskEstimate:
        if task not in self._estimates:
            self._estimates[task] = self._simulate(task)
        return self._estimates[task]

    def _simulate(self, task: Task) -> TaskEstimate:
        judge = self.panel.for_task(type(task))
        if type(task) not in self._identities:
            self._identities[type(task)] = judge.identity(type(task))
        key = task_key(task, self._identities[type(task)])
        kept, own = self.known.get(key, shared=isinstance(judge, ModelJudge))
        if kept is not None and fits(task, kept):
            return TaskEstimate(bytes.fromhex(key), kept, known=True, own=own)
        reply, said = task.simulate(self._sizes(task))
        sent = judge.request(task) if isinstance(judge, ModelJudge) else None
        if not isinstance(judge, ModelJudge) or sent is None:
            return TaskEstimate(bytes.fromhex(key), reply, known=False)
        model = (judge.model, task.role == "embed")
        said = "" if task.role == "embed" else said
        return TaskEstimate(bytes.fromhex(key), reply, known=False, model=model, count=self._costs(sent, said))

    def _sizes(self, task: Task) -> Sizes:
        """The reference has a number of statements of its own."""
        of_reference = isinstance(task, ExtractStatements) and task.text == self.sample.reference
        return self.reference_sizes if of_reference else self.sizes

    def _costs(self, sent: Request, said: str) -> _Count:
        """One call, and for each repair one more with all that was said before."""
        prompt, completion = self._tokens(sent.text), self._tokens(said)
        repairs = self.sizes.repairs if sent.repair else 0
        more = self._tokens(said[:ECHOED]) + self._tokens(sent.repair)
        rounds = 1 + repairs
        return _Count(
            calls=sent.calls * rounds,
            prompt=prompt * rounds + more * repairs * rounds / 2,
            completion=completion * rounds,
        )

    def _tokens(self, text: str) -> float:
        return ceil(tokens_of(text, self.assumed.characters_per_token, self.assumed.dense_characters_per_token))


@dataclass(frozen=True)
class _Found:
    """All tallies of a run, and from how many of its samples they are."""

    samples: int
    looked_at: int
    metrics: Sequence[Metric]
    everything: Needs
    expected: Mapping[Needs, _Tally]
    worst: Mapping[Needs, _Tally]

    def plan(self, panel: Panel, prices: Prices, assumed: Assumptions) -> Plan:
        """The figures of the whole run."""
        counts = self.expected[self.everything].counts
        return Plan(
            samples=self.samples,
            looked_at=self.looked_at,
            metrics={metric.spec: self._planned(metric.needs(), prices) for metric in self.metrics},
            total=self._planned(self.everything, prices),
            models=tuple(self._expected(model, count) for model, count in counts.items()),
            unpriced=tuple(dict.fromkeys(name for name, _ in counts if name not in prices)),
            asks_nobody=tuple(_silent(panel)),
            assumptions=assumed,
        )

    def _planned(self, needs: Needs, prices: Prices) -> Planned:
        expected, worst = self.expected[needs], self.worst[needs]
        return Planned(
            tasks=self._scaled(expected.tasks),
            answered=self._scaled(expected.answered),
            expected=self._usage(expected.counts, prices),
            worst=self._usage(worst.counts, prices),
        )

    def _expected(self, model: Model, count: _Count) -> Expected:
        name, embedding = model
        tokens = self._scaled(count.prompt + count.completion)
        return Expected(model=name, embedding=embedding, calls=self._scaled(count.calls), tokens=tokens)

    def _usage(self, counts: Mapping[Model, _Count], prices: Prices) -> Usage:
        costs = [
            cost(prices.get(name), prompt=count.prompt, completion=count.completion)
            for (name, _), count in counts.items()
        ]
        scale = self.samples / max(1, self.looked_at)
        known = [dollars for dollars in costs if dollars is not None]
        return Usage(
            chat_calls=self._scaled(sum(count.calls for (_, embeds), count in counts.items() if not embeds)),
            embedding_calls=self._scaled(sum(count.calls for (_, embeds), count in counts.items() if embeds)),
            prompt_tokens=self._scaled(sum(count.prompt for count in counts.values())),
            completion_tokens=self._scaled(sum(count.completion for count in counts.values())),
            cost=sum(known) * scale if len(known) == len(costs) else None,
        )

    def _scaled(self, number: float) -> int:
        return round(number * self.samples / max(1, self.looked_at))


async def _planned(
    store: Store,
    run_id: str,
    metrics: tuple[Sequence[Metric], Sequence[Metric]],
    panel: Panel,
    assumed: Assumptions,
    there: KnownAnswers,
) -> _Found:
    """Go through the samples; of the metrics, the first are planned each alone, the others together."""
    alone, everything = metrics
    union: Needs = tuple(dict.fromkeys(need for metric in everything for need in metric.needs()))
    groups = [*dict.fromkeys(metric.needs() for metric in alone), union]
    estimators = [
        Estimator(
            panel,
            EmbeddedSizes(**asdict(sizes)),
            EmbeddedSizes(**asdict(replace(sizes, statements=sizes.reference_statements))),
            assumed,
            there,
            {needs: _Tally() for needs in groups},
        )
        for sizes in (assumed.expected, assumed.worst)
    ]
    count, looked_at = store.sample_count(run_id), 0
    for sample in _drawn(store, run_id, count, assumed):
        looked_at += 1
        for estimator in estimators:
            await estimator.go_through(sample)
    expected, worst = (estimator.tallies for estimator in estimators)
    return _Found(count, looked_at, alone, union, expected, worst)


def _drawn(store: Store, run_id: str, count: int, assumed: Assumptions) -> Iterator[Sample]:
    """All samples, or as many as are to be looked at, in the order of the run."""
    wanted = set(random.Random(assumed.seed).sample(range(count), min(count, assumed.samples)))  # noqa: S311
    return (sample for position, sample in store.samples(run_id) if position in wanted)


def _silent(panel: Panel) -> Iterator[str]:
    judges = (panel.judge, *(panel.roles or {}).values())
    return iter(dict.fromkeys(judge.name for judge in judges if not isinstance(judge, ModelJudge)))


def plan_notes(found: Plan) -> tuple[str, ...]:
    """What goes with the figures, a line each: what was taken for granted, and what is not known."""
    assumed = found.assumptions
    likely, worst = assumed.expected, assumed.worst
    notes = [
        "each metric is planned on its own; the total counts shared tasks once",
        f"assumed: statements per answer {_count(likely.statements)}, per reference"
        f" {_count(likely.reference_statements)};"
        f" {assumed.characters_per_token:g} characters per token ({assumed.dense_characters_per_token:g} in scripts"
        f" such as Chinese); reasons of {likely.reason} characters, quotes of {likely.quote}; no repairs",
        f"worst case: {worst.statements} or more statements per side, reasons of {worst.reason} characters, quotes of"
        f" {worst.quote} in every cell, {worst.repairs} repairs per reply",
    ]
    if found.looked_at < found.samples:
        notes.append(f"extrapolated from {found.looked_at:,} samples drawn at random (seed {assumed.seed})")
    if found.asks_nobody:
        notes.append(f"{', '.join(found.asks_nobody)}: runs here and costs nothing")
    if found.unpriced:
        notes.append(f"no price for {', '.join(found.unpriced)}: pass one with --prices or RAGBOARD_PRICES")
    return tuple(notes)


def _count(statements: int | None) -> str:
    return "as the embedded judge finds" if statements is None else str(statements)
