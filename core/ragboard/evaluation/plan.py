"""Estimate the calls, tokens and cost of an evaluation before anything is sent.

A plan resolves the needs of samples as an evaluation does, but with simulated replies, and counts the tasks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import Any, TypeVar

from ragboard.errors import SettingError, StoreError
from ragboard.evaluation.batches import batched_models, prices_in_batches
from ragboard.evaluation.cache import ReplyCache, read_cache
from ragboard.evaluation.defaults import LIKELY, WORST
from ragboard.evaluation.draws import Draws
from ragboard.evaluation.engine import check_roles, with_earlier_metrics
from ragboard.evaluation.identity import choose_evaluation
from ragboard.evaluation.journal import JournalReader, open_reader
from ragboard.evaluation.options import ModelEstimate
from ragboard.evaluation.runner import wait_for
from ragboard.evaluation.unchanged import NOTHING_LOADED, loaded_state
from ragboard.judges.base import ModelJudge, RequestEstimate
from ragboard.judges.embedded.statements import extract
from ragboard.judges.llm.dialogue import MAX_QUOTED_CHARS
from ragboard.judges.panel import Panel
from ragboard.metrics import METRICS, Metric
from ragboard.metrics.base import Need, resolve_draws
from ragboard.prices import Prices, cost, read_prices
from ragboard.records import Sample
from ragboard.store import Store
from ragboard.tasks import ExtractStatements, Failure, Reply, ReplySizes, Task, is_valid_reply, task_key

__all__ = [
    "Assumptions",
    "Plan",
    "PlannedTasks",
    "UsageEstimate",
    "estimate_tokens",
    "plan_in_words",
    "plan_notes",
    "plan_run",
    "plan_samples",
]


class EmbeddedSizes(ReplySizes):
    """Assumed sizes of replies, with the statements that the embedded judge finds."""

    def split(self, text: str) -> tuple[list[str], bool]:
        """Return the statements of the text, and whether the text refuses to answer."""
        extraction = extract(text)
        return [statement.text for statement in extraction.statements], extraction.refuses


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """The assumptions of a plan."""

    expected: ReplySizes = LIKELY
    worst: ReplySizes = WORST
    characters_per_token: float = 4.0
    dense_characters_per_token: float = 1.5
    """For scripts such as Chinese, Japanese, Korean and Thai."""
    samples: int = 200
    """Maximum number of samples to simulate. Of a larger run, a random subset is simulated and extrapolated."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise SettingError for values out of range."""
        counts = (self.samples, self.expected.statements, self.expected.reference_statements)
        if any(count is not None and count < 1 for count in counts):
            raise SettingError("the number of samples and the numbers of statements must be at least 1")
        if min(self.characters_per_token, self.dense_characters_per_token) <= 0:
            raise SettingError(f"{self.characters_per_token:g} characters per token: expected more than 0")


@dataclass(frozen=True, kw_only=True)
class UsageEstimate:
    """The estimated number of calls to models, with their tokens and cost."""

    chat_calls: int
    embedding_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars; 0 if no model is called, None if a model has no known price."""


@dataclass(frozen=True, kw_only=True)
class PlannedTasks:
    """The tasks that one or several metrics would send."""

    tasks: int
    """Number of tasks without a stored reply, for models and local judges."""
    answered: int
    """Number of tasks with a stored reply or failure, which are not sent again."""
    expected: UsageEstimate
    worst: UsageEstimate


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The estimated tasks, calls and cost of an evaluation."""

    samples: int
    looked_at: int
    """Number of simulated samples. If it is less than `samples`, all figures are extrapolated."""
    metrics: Mapping[str, PlannedTasks]
    """The tasks of each metric. A task that several metrics share counts for each of them."""
    total: PlannedTasks
    """The tasks of all metrics. A task that several metrics share counts once."""
    models: tuple[ModelEstimate, ...]
    """The expected calls and tokens of each model, for all metrics together."""
    batched: Mapping[str, float]
    """The models with requests in batches, with the price of a batch as a share of the normal price."""
    unpriced: tuple[str, ...]
    """Models that would be called but have no known price."""
    local_judges: tuple[str, ...]
    """Judges that run on this machine and cost nothing."""
    assumptions: Assumptions


SCRIPTS_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def estimate_tokens(text: str, latin: float, dense: float) -> float:
    """Estimate the tokens of a text, with `dense` characters per token in scripts such as Chinese, else `latin`."""
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
    ignore_stored: bool = False,
    sample: int | None = None,
    draws: int | None = None,
) -> Plan:
    """Estimate the calls and cost of evaluating a run in the store. Nothing is sent.

    Tasks with a reply or failure in the evaluation's journal cost nothing. With `cache`, this includes replies in the
    store's cache. With `ignore_stored`, they are planned again. `sample`, `draws` and `known` are as in
    `EvaluationOptions`. Raises JudgeError if no judge can answer a task.
    """
    assumed = assumptions or Assumptions()
    priced = read_prices() if prices is None else prices
    evaluation = choose_evaluation(store, run_id, panel, metrics, known)
    everything = with_earlier_metrics(store, evaluation, metrics, known)
    check_roles(panel, everything)
    draws_to_plan = Draws.for_evaluation(
        panel, metrics, everything, draws, {} if ignore_stored else store.draw_counts(evaluation.id)
    )
    with ExitStack() as stack:
        positions = store.positions(run_id)
        drawn = _random_subset(positions, assumed)
        journal = None if ignore_stored else stack.enter_context(_open_journal(store, evaluation.id, drawn))
        shared = stack.enter_context(read_cache(store.cache_path)) if cache and not ignore_stored else None
        answers = StoredReplies(journal, shared)
        subset = [sample_of_run for _, sample_of_run in store.samples_at(run_id, drawn)]
        tallies = wait_for(_simulate_samples(subset, len(positions), metrics, draws_to_plan, assumed, answers))
    tallies = replace(tallies, samples=min(tallies.samples, sample or tallies.samples))
    return tallies.plan(panel, priced, assumed)


@contextmanager
def _open_journal(store: Store, evaluation_id: str, positions: Sequence[int]) -> Generator[JournalReader | None]:
    """Open the journal of an evaluation to find the replies to the tasks of the samples at these positions.

    Lines whose results the store has are read only for these samples, because a journal can have millions of lines.
    Yields None if there is no journal yet.
    """
    loaded, path = loaded_state(store, evaluation_id) or NOTHING_LOADED, store.journal_path(evaluation_id)
    with ExitStack() as stack:
        journal = stack.enter_context(open_reader(path, loaded.journal))
        if journal is not None and loaded.journal:
            try:
                journal.index_lines(store.journal_offsets(evaluation_id, positions))
            except StoreError:  # the journal was edited, so that the offsets are wrong, or a line is damaged
                journal = stack.enter_context(open_reader(path))
        yield journal


def plan_samples(
    samples: Sequence[Sample],
    metrics: Sequence[Metric],
    panel: Panel,
    assumptions: Assumptions | None = None,
    *,
    prices: Prices | None = None,
) -> Plan:
    """Estimate the calls and cost of evaluating samples that are not stored. Nothing is sent.

    Raises SettingError if there are no metrics, JudgeError if no judge can answer a task.
    """
    assumed = assumptions or Assumptions()
    check_roles(panel, metrics)
    subset = _random_subset(samples, assumed)
    answers = StoredReplies(None, None)
    draws_to_plan = Draws(tuple(metrics), {}, panel)
    tallies = wait_for(_simulate_samples(subset, len(samples), metrics, draws_to_plan, assumed, answers))
    return tallies.plan(panel, read_prices() if prices is None else prices, assumed)


T = TypeVar("T")

Needs = tuple[tuple[Need[Any], ...], ...]
"""The needs of each draw."""


@dataclass
class _Count:
    """The number of calls to one model, and their tokens."""

    calls: float = 0
    prompt: float = 0
    completion: float = 0

    def add(self, other: _Count) -> None:
        self.calls += other.calls
        self.prompt += other.prompt
        self.completion += other.completion


Model = tuple[str, bool]
"""A model's name, and whether it is called for embeddings."""


@dataclass(frozen=True)
class StoredReplies:
    """The replies in this evaluation's journal, and in the cache that all evaluations share."""

    journal: JournalReader | None
    cache: ReplyCache | None

    def get(self, key: str, *, shared: bool) -> tuple[Reply | Failure | None, bool]:
        """Return the stored reply to the task with this key, and whether it is from this evaluation's journal.

        With `shared`, look in the cache too.
        """
        recorded = self.journal.get(key) if self.journal else None
        if recorded is not None:
            return recorded, True
        return (self.cache.get(key) if self.cache and shared else None), False


@dataclass(frozen=True)
class TaskEstimate:
    """A task's stored or simulated reply, and its estimated calls and tokens."""

    key: bytes
    reply: Reply | Failure
    known: bool
    """Whether the reply is stored."""
    in_journal: bool = False
    """Whether the reply is in this evaluation's journal. Needs send such a task, to reuse its reply."""
    model: Model | None = None
    count: _Count = field(default_factory=_Count)


@dataclass
class _Tally:
    """The number of different tasks that a group of needs sends, and their calls."""

    seen: set[bytes] = field(default_factory=set[bytes])
    tasks: int = 0
    answered: int = 0
    counts: dict[Model, _Count] = field(default_factory=dict[Model, _Count])

    def add(self, estimate: TaskEstimate) -> None:
        """Count a task, unless it was counted before."""
        if estimate.key in self.seen:
            return
        self.seen.add(estimate.key)
        self.answered += estimate.known
        self.tasks += not estimate.known
        if estimate.model:
            self.counts.setdefault(estimate.model, _Count()).add(estimate.count)


@dataclass
class Estimator:
    """Answers the tasks of samples with stored or simulated replies, and counts them, one sample at a time."""

    draws: Draws
    sizes: ReplySizes
    reference_sizes: ReplySizes
    assumed: Assumptions
    known: StoredReplies
    tallies: dict[Needs, _Tally]
    sample: Sample = field(default_factory=lambda: Sample(id="", question=""))
    _estimates: dict[Task, TaskEstimate] = field(default_factory=dict["Task", TaskEstimate])
    _judges: dict[type[Task], tuple[str, ModelJudge | None]] = field(
        default_factory=dict["type[Task]", "tuple[str, ModelJudge | None]"]
    )
    """By task type: the identity of the judge that answers, and this judge if it calls a model."""

    async def count_sample(self, sample: Sample) -> None:
        """Count the tasks of a sample in every tally."""
        self.sample = sample
        self._estimates.clear()
        for needs, tally in self.tallies.items():
            await self._count(needs, tally)

    async def _count(self, needs: Needs, tally: _Tally) -> None:
        async def ask(task: Task) -> Reply | Failure:
            estimate = self._estimate(task)
            tally.add(estimate)
            return estimate.reply

        await resolve_draws(self.sample, needs, ask, lambda task: self._estimate(task).in_journal, self.draws.redraws)

    def _estimate(self, task: Task) -> TaskEstimate:
        if task not in self._estimates:
            self._estimates[task] = self._simulate(task)
        return self._estimates[task]

    def _simulate(self, task: Task) -> TaskEstimate:
        if type(task) not in self._judges:
            judge = self.draws.panel.for_task(type(task))
            self._judges[type(task)] = judge.identity(type(task)), judge if isinstance(judge, ModelJudge) else None
        identity, model_judge = self._judges[type(task)]
        key = task_key(task, identity)
        stored, in_journal = self.known.get(key, shared=model_judge is not None)
        if stored is not None and is_valid_reply(task, stored):
            return TaskEstimate(bytes.fromhex(key), stored, known=True, in_journal=in_journal)
        reply, reply_text = task.simulate(self._sizes(task))
        request = model_judge.request(task) if model_judge else None
        if model_judge is None or request is None:
            return TaskEstimate(bytes.fromhex(key), reply, known=False)
        embeds = task.role == "embed"
        count = self._count_tokens(request, "" if embeds else reply_text)
        return TaskEstimate(bytes.fromhex(key), reply, known=False, model=(model_judge.model, embeds), count=count)

    def _sizes(self, task: Task) -> ReplySizes:
        """Return the assumed sizes for a task. Answers and references can have different numbers of statements."""
        of_reference = isinstance(task, ExtractStatements) and task.text == self.sample.reference
        return self.reference_sizes if of_reference else self.sizes

    def _count_tokens(self, request: RequestEstimate, reply: str) -> _Count:
        """Count the call, and one call for each repair. The prompt of a repair repeats all earlier messages."""
        prompt, completion = self._tokens(request.text), self._tokens(reply)
        repairs = self.sizes.repairs if request.repair else 0
        added_per_repair = self._tokens(reply[:MAX_QUOTED_CHARS]) + self._tokens(request.repair)
        rounds = 1 + repairs
        return _Count(
            calls=request.calls * rounds,
            prompt=prompt * rounds + added_per_repair * repairs * rounds / 2,
            completion=completion * rounds,
        )

    def _tokens(self, text: str) -> float:
        return ceil(estimate_tokens(text, self.assumed.characters_per_token, self.assumed.dense_characters_per_token))


@dataclass(frozen=True)
class _RunTallies:
    """The tallies of the simulated samples, and the number of samples to extrapolate to."""

    samples: int
    looked_at: int
    metrics: Mapping[str, Needs]
    everything: Needs
    expected: Mapping[Needs, _Tally]
    worst: Mapping[Needs, _Tally]

    def plan(self, panel: Panel, prices: Prices, assumed: Assumptions) -> Plan:
        """Return the plan for the whole run."""
        counts = self.expected[self.everything].counts
        batched = {name: prices[name].batch for name in batched_models(panel) if name in prices}
        prices = prices_in_batches(panel, prices)
        return Plan(
            samples=self.samples,
            looked_at=self.looked_at,
            metrics={spec: self._planned(needs, prices) for spec, needs in self.metrics.items()},
            total=self._planned(self.everything, prices),
            models=tuple(self._expected(model, count) for model, count in counts.items()),
            batched=batched,
            unpriced=tuple(dict.fromkeys(name for name, _ in counts if name not in prices)),
            local_judges=tuple(_local_judges(panel)),
            assumptions=assumed,
        )

    def _planned(self, needs: Needs, prices: Prices) -> PlannedTasks:
        expected, worst = self.expected[needs], self.worst[needs]
        return PlannedTasks(
            tasks=self._scaled(expected.tasks),
            answered=self._scaled(expected.answered),
            expected=self._usage(expected.counts, prices),
            worst=self._usage(worst.counts, prices),
        )

    def _expected(self, model: Model, count: _Count) -> ModelEstimate:
        name, embedding = model
        tokens = self._scaled(count.prompt + count.completion)
        return ModelEstimate(model=name, embedding=embedding, calls=self._scaled(count.calls), tokens=tokens)

    def _usage(self, counts: Mapping[Model, _Count], prices: Prices) -> UsageEstimate:
        costs = [
            cost(prices.get(name), prompt=count.prompt, completion=count.completion)
            for (name, _), count in counts.items()
        ]
        scale = self.samples / max(1, self.looked_at)
        known = [dollars for dollars in costs if dollars is not None]
        return UsageEstimate(
            chat_calls=self._scaled(sum(count.calls for (_, embeds), count in counts.items() if not embeds)),
            embedding_calls=self._scaled(sum(count.calls for (_, embeds), count in counts.items() if embeds)),
            prompt_tokens=self._scaled(sum(count.prompt for count in counts.values())),
            completion_tokens=self._scaled(sum(count.completion for count in counts.values())),
            cost=sum(known) * scale if len(known) == len(costs) else None,
        )

    def _scaled(self, number: float) -> int:
        return round(number * self.samples / max(1, self.looked_at))


async def _simulate_samples(
    samples: Iterable[Sample],
    count: int,
    metrics: Sequence[Metric],
    draws: Draws,
    assumed: Assumptions,
    answers: StoredReplies,
) -> _RunTallies:
    """Count the tasks of the samples for each of `metrics`, and for all metrics of `draws` together.

    `count` is the number of samples in the run.
    """
    needs_by_metric = {metric.spec: tuple(draws.needs_of([metric])) for metric in metrics}
    everything = tuple(draws.needs())
    groups = dict.fromkeys((*needs_by_metric.values(), everything))
    calls_models = any(isinstance(judge, ModelJudge) for judge in draws.panel.members)
    estimators = [
        Estimator(
            draws,
            EmbeddedSizes(**asdict(sizes)),
            EmbeddedSizes(**asdict(replace(sizes, statements=sizes.reference_statements))),
            assumed,
            answers,
            {needs: _Tally() for needs in groups},
        )
        for sizes in ([assumed.expected, assumed.worst] if calls_models else [assumed.expected])
    ]
    simulated = 0
    for sample in samples:
        simulated += 1
        for estimator in estimators:
            await estimator.count_sample(sample)
    expected, worst = estimators[0].tallies, estimators[-1].tallies  # without calls, the worst case is free, too
    return _RunTallies(count, simulated, needs_by_metric, everything, expected, worst)


def _random_subset(samples: Sequence[T], assumed: Assumptions) -> list[T]:
    """Return a random subset of at most `assumed.samples` samples, in their order."""
    drawn = random.Random(assumed.seed).sample(range(len(samples)), min(len(samples), assumed.samples))  # noqa: S311
    return [samples[index] for index in sorted(drawn)]


def _local_judges(panel: Panel) -> Iterator[str]:
    return iter(dict.fromkeys(judge.name for judge in panel.members if not isinstance(judge, ModelJudge)))


def plan_in_words(plan: Plan) -> str:
    """Return the expected calls, tokens and cost as text: `240 calls, 139,755 tokens, $0.03`."""
    usage = plan.total.expected
    calls = usage.chat_calls + usage.embedding_calls
    if not calls:
        known = f"; {plan.total.answered:,} tasks are already answered" if plan.total.answered else ""
        return f"no calls to models, no cost{known}"
    tokens = usage.prompt_tokens + usage.completion_tokens
    unknown = f"cost unknown (no price for {', '.join(plan.unpriced)})"
    return f"{calls:,} calls, {tokens:,} tokens, {unknown if usage.cost is None else _dollars(usage.cost)}"


def _dollars(cost: float) -> str:
    return f"${cost:,.2f}" if cost >= 0.01 or not cost else "less than $0.01"


def plan_notes(plan: Plan) -> tuple[str, ...]:
    """Return notes on the plan's figures, one line each, such as assumptions and missing prices."""
    assumed = plan.assumptions
    likely, worst = assumed.expected, assumed.worst
    notes = [
        "each metric is planned on its own; the total counts shared tasks once",
        f"assumed: statements per answer {_count(likely.statements)}, per reference"
        f" {_count(likely.reference_statements)};"
        f" {assumed.characters_per_token:g} characters per token ({assumed.dense_characters_per_token:g} in scripts"
        f" such as Chinese); reasons of {likely.reason} characters, quotes of {likely.quote}; no repairs",
        f"worst case: {worst.statements} or more statements per answer and reference, reasons of {worst.reason}"
        f" characters, a quote of {worst.quote} for every verdict, {worst.repairs} repairs per reply",
    ]
    if plan.looked_at < plan.samples:
        notes.append(f"extrapolated from {plan.looked_at:,} samples drawn at random (seed {assumed.seed})")
    if plan.local_judges:
        notes.append(f"{', '.join(plan.local_judges)}: runs on this machine and costs nothing")
    notes += [f"in batches: {share:.0%} of the price of {model}" for model, share in plan.batched.items()]
    if plan.unpriced:
        notes.append(f"no price for {', '.join(plan.unpriced)}: pass one with --prices or RAGBOARD_PRICES")
    return tuple(notes)


def _count(statements: int | None) -> str:
    return "as the embedded judge finds" if statements is None else str(statements)
