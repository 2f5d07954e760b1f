"""What judges were asked for one sample: each task in words, the prompt, the raw replies, what became of it, the cost.

The journal keeps replies and no prompts. The sample's tasks are found by gathering it once more from the answers
in the journal, and a prompt is written again from its task. It is shown only where the prompts installed now are
those that were used: the evaluation's identity holds a digest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragboard.errors import RunFileError, SettingError, StoreError
from ragboard.evaluation.journal import KeptAnswer, Usage, read_kept
from ragboard.evaluation.runner import wait_for
from ragboard.judges.llm import judge as llm
from ragboard.judges.llm.dialogue import Dialogue
from ragboard.judges.llm.prompts import Prompts
from ragboard.judges.options import JudgeOptions
from ragboard.judges.registry import asks_server, no_prompt
from ragboard.metrics import METRICS, Metric, metric_of
from ragboard.metrics.base import resolve
from ragboard.prices import Price
from ragboard.records import Evaluation, Sample
from ragboard.store import RunRef, Store
from ragboard.tasks import PROMPTED, TASK_NAMED, Exchange, Failure, NotAsked, Reply, Task, fits, task_key

__all__ = ["Call", "Message", "Origin", "SampleCalls", "sample_calls"]

Origin = Literal["asked", "shared", "elsewhere", "nobody"]
"""asked: a model was, for this sample; shared: for another sample with the same task, which paid for it;
elsewhere: another evaluation of the store paid, and the answer was taken from the cache; nobody: no model was
asked."""


_ORIGINS: dict[Origin, str] = {
    "asked": "asked for this sample",
    "shared": "shared with another sample that asked the same and counts the cost",
    "elsewhere": "from the cache: another evaluation asked, and its journal has the raw reply",
    "nobody": "no call to a model",
}


@dataclass(frozen=True, kw_only=True)
class Message:
    """What one side said, whole."""

    role: Literal["prompt", "reply"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """One task and what became of it."""

    task: str
    """In words: `Check 3 statements against 5 passages, together`."""
    judge: str
    """Who answered: a model, or by which rules."""
    origin: Origin
    messages: tuple[Message, ...]
    """Prompts and raw replies, in turn; those after the first two are requests to repair a reply, and their replies."""
    no_prompt: str
    """Why no prompt is among them; empty where one is."""
    outcome: str
    """What was read from the reply, in words; of a failure why."""
    failed: bool
    calls: int
    """Calls that were answered; 0 where no model was asked for this."""
    uncounted: int
    """How many of them without the server's word on tokens."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars, at the prices that the evaluation was counted by; None where these or tokens are not known."""

    @property
    def repairs(self) -> int:
        """How often the model was told what was wrong with its reply."""
        return sum(message.role == "prompt" for message in self.messages[1:])

    @property
    def facts(self) -> str:
        """In one line: `openai:gpt-4o-mini; asked for this sample; 2 calls, 1 to repair; 840 tokens; $0.0002`."""
        if not self.calls:
            return f"{self.judge}; {_ORIGINS[self.origin]}"
        counted = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        tokens = "tokens unknown" if self.uncounted else counted
        dollars = "cost unknown" if self.cost is None else f"${self.cost:,.6f}"
        repairs = f", {self.calls - 1} to repair the reply" if self.calls > 1 and self.messages else ""
        calls = f"{self.calls} call{'' if self.calls == 1 else 's'}{repairs}"
        return f"{self.judge}; {_ORIGINS[self.origin]}; {calls}; {tokens}; {dollars}"


@dataclass(frozen=True, kw_only=True)
class SampleCalls:
    """All tasks that a sample's results were made of, and what those took that were asked for it."""

    tasks: tuple[Call, ...]
    missing: str
    """Why they cannot be shown; empty where they are."""

    @property
    def paid(self) -> tuple[Call, ...]:
        """Those for which a model was asked on behalf of this sample."""
        return tuple(one for one in self.tasks if one.origin == "asked")

    @property
    def cost(self) -> float | None:
        """US dollars; None where that of one is not known."""
        known = [one.cost for one in self.paid]
        return None if None in known else sum(dollars or 0.0 for dollars in known)

    def __str__(self) -> str:
        """In one line: `9 tasks, 4 calls, 2,310 tokens, $0.0004`."""
        paid = self.paid
        tokens = sum(one.prompt_tokens + one.completion_tokens for one in paid)
        unknown = sum(one.uncounted for one in paid)
        said = f"{tokens:,} tokens" + (f" (unknown for {unknown})" if unknown else "")
        dollars = "cost unknown" if self.cost is None else f"${self.cost:,.4f}"
        calls = sum(one.calls for one in paid)
        return f"{len(self.tasks)} tasks, {calls} calls to models" + (f", {said}, {dollars}" if calls else "")


def sample_calls(store: Store, run: RunRef, sample_id: str, *, known: Mapping[str, Metric] = METRICS) -> SampleCalls:
    """What judges were asked for a sample, in the order in which answers came.

    `known` are the metrics whose code is at hand: the tasks of others have no prompt. Raises NotFoundError where
    the run has no such sample.
    """
    position, sample = store.sample(run, sample_id)
    if not run.evaluations:
        return SampleCalls(tasks=(), missing="this run is not evaluated yet")
    found = [_calls_of(store, store.evaluation(one), position, sample, known) for one in run.evaluations]
    tasks = tuple(task for one in found for task in one.tasks)
    return SampleCalls(tasks=tasks, missing="" if tasks else found[0].missing)


def _calls_of(
    store: Store, evaluation: Evaluation, position: int, sample: Sample, known: Mapping[str, Metric]
) -> SampleCalls:
    places = store.answer_places(evaluation.id, position)
    if not places:
        return SampleCalls(tasks=(), missing=_nothing(store, evaluation, position))
    try:
        kept = read_kept(store.journal_path(evaluation.id), places)
    except StoreError as error:
        return SampleCalls(tasks=(), missing=f"the journal of this evaluation cannot be read: {error}")
    return SampleCalls(tasks=_Reader.of(store, evaluation, sample, known).calls(kept), missing="")


def _nothing(store: Store, evaluation: Evaluation, position: int) -> str:
    if evaluation.imported:
        return "these scores come from the run file: no judge was asked"
    if position not in store.covered(evaluation.id):
        return "this evaluation does not cover this sample"
    return (
        "nobody had to be asked for this sample, or it was evaluated before calls could be found again:"
        " evaluate it once more, and what was answered is not asked again"
    )


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """Makes calls of a sample's journal lines."""

    sample: Sample
    judges: Sequence[str]
    """As a person names them."""
    identity: Mapping[str, str]
    """By the name of a task's type, who answered it."""
    prices: Mapping[str, Price]
    prompts: Prompts | str
    """Those that the evaluation was asked with as far as they are there, or why they are not."""
    known: tuple[Metric, ...]

    @classmethod
    def of(cls, store: Store, evaluation: Evaluation, sample: Sample, known: Mapping[str, Metric]) -> _Reader:
        judging = store.judging(evaluation.id)
        return cls(
            sample=sample,
            judges=evaluation.judge.split(" + "),
            identity={kind: str(who) for kind, who in evaluation.identity.items()},
            prices=store.prices_used(evaluation.id),
            prompts=_prompts(judging or JudgeOptions()),
            known=tuple(metric for spec in evaluation.metrics if (metric := metric_of(spec, known)) is not None),
        )

    def calls(self, kept: Sequence[KeptAnswer]) -> tuple[Call, ...]:
        tasks = self._tasks(kept)
        return tuple(self._call(line, tasks.get(line.key)) for line in kept)

    def _tasks(self, kept: Sequence[KeptAnswer]) -> dict[str, Task]:
        """The tasks by key, as they come up when the sample is gathered from these answers alone."""
        answers = {line.key: line.answer for line in kept}
        found: dict[str, Task] = {}

        async def answer(task: Task) -> Reply | Failure:
            key = self._key(task)
            found[key] = task
            kept = answers.get(key)
            return kept if kept and fits(task, kept) else NotAsked(detail="not asked")

        needs = dict.fromkeys(need for metric in self.known for need in metric.needs())
        wait_for(resolve(self.sample, needs, answer, lambda task: self._key(task) in answers))
        return found

    def _key(self, task: Task) -> str:
        kind = type(task).__name__
        return task_key(task, self.identity.get(kind, ""))

    def _call(self, line: KeptAnswer, task: Task | None) -> Call:
        identity = self.identity.get(line.task, "")
        messages, reason = self._messages(identity, line, task)
        return Call(
            task=self._described(task) if task else f"{line.task} (of a metric that is not installed here)",
            judge=_named(identity, self.judges),
            origin=self._origin(identity, line, task),
            messages=messages,
            no_prompt=reason,
            outcome=line.answer.detail if isinstance(line.answer, Failure) else line.answer.describe(),
            failed=isinstance(line.answer, Failure),
            **self._taken(identity, line.exchanges),
        )

    def _described(self, task: Task) -> str:
        """The second and later draws are numbered."""
        said = task.describe(self.sample)
        return f"{said} (draw {task.draw + 1})" if task.draw else said

    def _origin(self, identity: str, line: KeptAnswer, task: Task | None) -> Origin:
        if not asks_server(identity):
            return "nobody"
        if line.sample != self.sample.id:
            return "shared"
        if line.exchanges or isinstance(line.answer, Failure):
            return "asked"
        plain = task is not None and isinstance(self.prompts, Prompts) and _is_plain(task, self.prompts)
        return "nobody" if plain else "elsewhere"

    def _messages(self, identity: str, line: KeptAnswer, task: Task | None) -> tuple[tuple[Message, ...], str]:
        """Prompts and replies, and why no prompt is among them."""
        replies = tuple(Message(role="reply", text=one.said) for one in line.exchanges if one.said)
        reason = self._no_prompt(identity, line.task, task)
        if reason or task is None or isinstance(self.prompts, str):
            return replies, reason
        lines = [one.text for one in _dialogue(task, self.prompts, line.exchanges).lines if one.role == "user"]
        if not lines:
            return replies, "The answer is plain without asking."
        prompts = [Message(role="prompt", text=text) for text in lines]
        turns = [prompts[0], *replies[:1]]
        for number, prompt in enumerate(prompts[1:], 1):
            turns += [prompt, *replies[number : number + 1]]
        return tuple(turns), ""

    def _no_prompt(self, identity: str, kind: str, task: Task | None) -> str:
        if reason := no_prompt(identity):
            return reason
        if task is None:
            return "The task cannot be found again without the metric that asked it."
        if isinstance(self.prompts, str):
            return self.prompts
        if not _same(identity, TASK_NAMED[kind], self.prompts):
            return "The prompts installed now are not those that were used, so that none is shown."
        return ""

    def _taken(self, identity: str, exchanges: Iterable[Exchange]) -> dict[str, Any]:
        usage = Usage()
        for exchange in exchanges:
            usage.add(exchange)
        return {
            "calls": usage.calls,
            "uncounted": usage.uncounted,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost": usage.cost(self.prices.get(_named(identity, self.prices))),
        }


def _prompts(judging: JudgeOptions) -> Prompts | str:
    try:
        return Prompts.read(judging.prompts, judging.examples)
    except (RunFileError, SettingError) as error:
        return f"The prompts that were used are not there: {error}"


def _same(identity: str, kind: type[Task], prompts: Prompts) -> bool:
    """Whether these prompts, read as they are read now, are those of an identity."""
    version = identity.startswith((f"llm/{llm.VERSION}/", f"own/{llm.VERSION}/"))
    return version and kind in PROMPTED and identity.endswith(f"/{prompts.digest(kind)}/{kind.__name__}")


def _dialogue(task: Task, prompts: Prompts, exchanges: Iterable[Exchange]) -> Dialogue:
    """The dialogue on this task as it went."""
    dialogue = Dialogue(task, prompts)
    for exchange in exchanges:
        if dialogue.result is None:
            dialogue.receive(exchange.said, cut=exchange.cut)
    return dialogue


def _is_plain(task: Task, prompts: Prompts) -> bool:
    return type(task) in PROMPTED and not Dialogue(task, prompts).lines


def _named(identity: str, names: Iterable[str]) -> str:
    """Which of these judges or models an identity is of; the longest where one name is part of another."""
    there = f"/{identity}/"
    return max((name for name in names if _without_kind(name) in there or f"/{name}/" in there), key=len, default="")


def _without_kind(judge: str) -> str:
    """The model of `openai:llama3:8b`, which may hold a colon itself, as it stands in an identity."""
    return f"/{judge.partition(':')[2] or judge}/"
