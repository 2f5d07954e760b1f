"""Rebuild the judge tasks of one sample, with prompts, raw replies, outcomes and cost.

The journal has replies but no prompts. So the needs of the sample's metrics are resolved again with the journal's
replies, which gives the tasks, and the prompts are rebuilt from the tasks. Prompts that have changed since the
evaluation are not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragboard.errors import RunFileError, SettingError, StoreError
from ragboard.evaluation.draws import is_redrawn
from ragboard.evaluation.journal import JournalEntry, Usage, read_entries
from ragboard.evaluation.runner import wait_for
from ragboard.judges.llm import judge as llm
from ragboard.judges.llm.dialogue import Dialogue
from ragboard.judges.llm.prompts import Prompts
from ragboard.judges.options import JudgeOptions
from ragboard.judges.redact import Redaction, compile_redaction
from ragboard.judges.registry import is_remote, no_prompt_text
from ragboard.metrics import METRICS, Metric, find_metric
from ragboard.metrics.base import resolve_draws
from ragboard.prices import Price
from ragboard.records import Evaluation, Sample
from ragboard.store import RunRef, Store
from ragboard.tasks import (
    DRAW_STEP,
    PROMPTED_TASKS,
    TASKS_BY_NAME,
    Exchange,
    Failure,
    NotSent,
    Reply,
    Task,
    is_valid_reply,
    task_key,
)

__all__ = ["Message", "ReplySource", "SampleCalls", "TaskCalls", "sample_calls"]

ReplySource = Literal["asked", "shared", "elsewhere", "nobody"]
"""Where a reply is from. `asked`: a model was called for this sample. `shared`: it was called for another sample with
the same task. `elsewhere`: another evaluation stored it in the cache. `nobody`: no model was needed."""


_SOURCES: dict[ReplySource, str] = {
    "asked": "called for this sample",
    "shared": "shared with another sample, which counts the cost",
    "elsewhere": "from the cache; the raw reply is in the journal of the evaluation that made the call",
    "nobody": "no model call",
}


@dataclass(frozen=True, kw_only=True)
class Message:
    """A prompt or a raw reply, in full."""

    role: Literal["prompt", "reply"]
    text: str


@dataclass(frozen=True, kw_only=True)
class TaskCalls:
    """A judge task with its calls to a model."""

    task: str
    """A description: `Check 3 statements against 5 passages, together`."""
    judge: str
    """The judge's name: a model or a rule-based judge."""
    origin: ReplySource
    messages: tuple[Message, ...]
    """Prompts and raw replies, alternating: the prompt and its reply, then repair requests and their replies."""
    no_prompt: str
    """Why `messages` has no prompts; empty if it has prompts."""
    outcome: str
    """The parsed reply as text, or the reason for the failure."""
    failed: bool
    calls: int
    """Number of requests for this task that a model answered."""
    uncounted: int
    """Calls for which the server reported no token usage."""
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars, at the prices of the evaluation; None if a price or token count is unknown."""

    @property
    def repairs(self) -> int:
        """The number of repair requests."""
        return sum(message.role == "prompt" for message in self.messages[1:])

    @property
    def facts(self) -> str:
        """Judge, source of the reply, calls, prompt + completion tokens, and cost, as text.

        For example: `openai:m; called for this sample; 2 calls, 1 to repair the reply; 600 + 240 tokens; $0.000200`.
        """
        if not self.calls:
            return f"{self.judge}; {_SOURCES[self.origin]}"
        usage = f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens"
        tokens = "tokens unknown" if self.uncounted else usage
        dollars = "cost unknown" if self.cost is None else f"${self.cost:,.6f}"
        repairs = f", {self.calls - 1} to repair the reply" if self.calls > 1 and self.messages else ""
        calls = f"{self.calls} call{'' if self.calls == 1 else 's'}{repairs}"
        return f"{self.judge}; {_SOURCES[self.origin]}; {calls}; {tokens}; {dollars}"


@dataclass(frozen=True, kw_only=True)
class SampleCalls:
    """The judge tasks behind a sample's results, with the calls made for this sample."""

    tasks: tuple[TaskCalls, ...]
    missing: str
    """Why the tasks cannot be shown; empty if they can be shown."""

    @property
    def sent(self) -> tuple[TaskCalls, ...]:
        """The tasks for which a model was called for this sample."""
        return tuple(task for task in self.tasks if task.origin == "asked")

    @property
    def cost(self) -> float | None:
        """US dollars; None if the cost of a call is unknown."""
        costs = [task.cost for task in self.sent]
        return None if None in costs else sum(dollars or 0.0 for dollars in costs)

    def __str__(self) -> str:
        """`9 tasks, 4 calls to models, 2,310 tokens, $0.0004`."""
        tokens = sum(task.prompt_tokens + task.completion_tokens for task in self.sent)
        unknown = sum(task.uncounted for task in self.sent)
        usage = f"{tokens:,} tokens" + (f" (unknown for {unknown})" if unknown else "")
        dollars = "cost unknown" if self.cost is None else f"${self.cost:,.4f}"
        calls = sum(task.calls for task in self.sent)
        if not calls:
            return f"{len(self.tasks)} tasks, answered without calling a model"
        return f"{len(self.tasks)} tasks, {calls} calls to models, {usage}, {dollars}"


def sample_calls(store: Store, run: RunRef, sample_id: str, *, known: Mapping[str, Metric] = METRICS) -> SampleCalls:
    """Return the judge tasks of a sample, in the order in which they were answered.

    `known` has the installed metrics. Tasks of other metrics are listed without prompts. Raises NotFoundError if the
    run has no such sample.
    """
    position, sample = store.sample(run, sample_id)
    if not run.evaluations:
        return SampleCalls(tasks=(), missing="this run has not been evaluated yet")
    evaluations = map(store.evaluation, run.evaluations)
    calls = [_evaluation_calls(store, evaluation, position, sample, known) for evaluation in evaluations]
    tasks = tuple(task for call in calls for task in call.tasks)
    return SampleCalls(tasks=tasks, missing="" if tasks else calls[0].missing)


def _evaluation_calls(
    store: Store, evaluation: Evaluation, position: int, sample: Sample, known: Mapping[str, Metric]
) -> SampleCalls:
    offsets = store.journal_offsets(evaluation.id, [position])
    if not offsets:
        return SampleCalls(tasks=(), missing=_why_missing(store, evaluation, position))
    try:
        entries = read_entries(store.journal_path(evaluation.id), offsets)
    except StoreError as error:
        return SampleCalls(tasks=(), missing=f"the journal of this evaluation cannot be read: {error}")
    return SampleCalls(tasks=_CallsBuilder.for_sample(store, evaluation, sample, known).build(entries), missing="")


def _why_missing(store: Store, evaluation: Evaluation, position: int) -> str:
    if "imported" in evaluation.identity:
        return "these scores and verdicts come from the run file; it has no record of calls"
    if not store.covered(evaluation.id, position, position):
        return "this evaluation does not cover this sample"
    return (
        "no judge calls are recorded for this sample: no call was needed, or an older version of ragboard evaluated it;"
        " evaluate the run again to record them (recorded replies are reused)"
    )


@dataclass(frozen=True, kw_only=True)
class _CallsBuilder:
    """Builds the `TaskCalls` of a sample from its journal entries."""

    sample: Sample
    judges: Sequence[str]
    """The judges' names, as in `--judge`."""
    identity: Mapping[str, str]
    """The judge's identity by name of the task type."""
    prices: Mapping[str, Price]
    prompts: Prompts | str
    """The prompts of the evaluation, or the reason why they cannot be read."""
    redaction: Redaction
    known: tuple[Metric, ...]
    draws: int
    """The largest number of draws of a metric."""

    @classmethod
    def for_sample(
        cls, store: Store, evaluation: Evaluation, sample: Sample, known: Mapping[str, Metric]
    ) -> _CallsBuilder:
        judge_options = store.judge_options(evaluation.id)
        return cls(
            sample=sample,
            judges=evaluation.judge.split(" + "),
            identity={kind: str(judge) for kind, judge in evaluation.identity.items()},
            prices=store.prices_used(evaluation.id),
            prompts=_read_prompts(judge_options or JudgeOptions()),
            redaction=compile_redaction(judge_options.redact if judge_options else ()),
            known=tuple(metric for spec in evaluation.metrics if (metric := find_metric(spec, known)) is not None),
            draws=max(store.draw_counts(evaluation.id).values(), default=1),
        )

    def build(self, entries: Sequence[JournalEntry]) -> tuple[TaskCalls, ...]:
        tasks = self._tasks(entries)
        return tuple(self._task_calls(entry, tasks.get(entry.key)) for entry in entries)

    def _tasks(self, entries: Sequence[JournalEntry]) -> dict[str, Task]:
        """Resolve the needs of the sample's metrics with these replies, and return the tasks by key."""
        replies = {entry.key: entry.answer for entry in entries}
        tasks: dict[str, Task] = {}

        async def answer(task: Task) -> Reply | Failure:
            key = self._key(task)
            tasks[key] = task
            reply = replies.get(key)
            return reply if reply and is_valid_reply(task, reply) else NotSent(detail="not asked")

        needs = tuple(dict.fromkeys(need for metric in self.known for need in metric.needs()))
        wait_for(
            resolve_draws(
                self.sample,
                [needs] * self.draws,
                answer,
                lambda task: self._key(task) in replies,
                lambda task: is_redrawn(type(task)),
            )
        )
        return tasks

    def _key(self, task: Task) -> str:
        kind = type(task).__name__
        return task_key(task, self.identity.get(kind, ""))

    def _task_calls(self, entry: JournalEntry, task: Task | None) -> TaskCalls:
        identity = self.identity.get(entry.task, "")
        messages, reason = self._messages(identity, entry, task)
        return TaskCalls(
            task=self._describe(task) if task else f"{entry.task} (of a metric that is not installed here)",
            judge=_matching_name(identity, self.judges),
            origin=self._source(identity, entry, task),
            messages=messages,
            no_prompt=reason,
            outcome=entry.answer.detail if isinstance(entry.answer, Failure) else entry.answer.describe(),
            failed=isinstance(entry.answer, Failure),
            **self._usage(identity, entry.exchanges),
        )

    def _describe(self, task: Task) -> str:
        """Return the task's description. From the second draw or reply on, it has their numbers."""
        description = task.describe(self.sample)
        draw_number, reply_number = divmod(task.draw, DRAW_STEP)
        numbers = [f"draw {draw_number + 1}"] * (draw_number > 0) + [f"reply {reply_number + 1}"] * (reply_number > 0)
        return f"{description} ({', '.join(numbers)})" if numbers else description

    def _source(self, identity: str, entry: JournalEntry, task: Task | None) -> ReplySource:
        if not is_remote(identity):
            return "nobody"
        if entry.sample != self.sample.id:
            return "shared"
        if entry.exchanges or isinstance(entry.answer, Failure):
            return "asked"
        trivial = task is not None and isinstance(self.prompts, Prompts) and _is_trivial(task, self.prompts)
        return "nobody" if trivial else "elsewhere"

    def _messages(self, identity: str, entry: JournalEntry, task: Task | None) -> tuple[tuple[Message, ...], str]:
        """Return the prompts and replies, and the reason if there are no prompts."""
        replies = tuple(Message(role="reply", text=exchange.text) for exchange in entry.exchanges if exchange.text)
        reason = self._no_prompt_text(identity, entry.task, task)
        if reason or task is None or isinstance(self.prompts, str):
            return replies, reason
        replayed = _replay(self.redaction.mask_task(task), self.prompts, entry.exchanges)
        texts = [message.text for message in replayed.messages if message.role == "user"]
        if not texts:
            return replies, "No model call was needed: the result follows from the input."
        prompts = [Message(role="prompt", text=text) for text in texts]
        turns = [prompts[0], *replies[:1]]
        for number, prompt in enumerate(prompts[1:], 1):
            turns += [prompt, *replies[number : number + 1]]
        return tuple(turns), ""

    def _no_prompt_text(self, identity: str, kind: str, task: Task | None) -> str:
        if reason := no_prompt_text(identity):
            return reason
        if task is None:
            return "The metric of this task is not installed, so its prompt cannot be rebuilt."
        if isinstance(self.prompts, str):
            return self.prompts
        if not _prompts_match(identity, TASKS_BY_NAME[kind], self.prompts):
            return "The prompts have changed since the evaluation, so they are not shown."
        return ""

    def _usage(self, identity: str, exchanges: Iterable[Exchange]) -> dict[str, Any]:
        usage = Usage()
        for exchange in exchanges:
            usage.add(exchange)
        return {
            "calls": usage.calls,
            "uncounted": usage.uncounted,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost": usage.cost(self.prices.get(_matching_name(identity, self.prices))),
        }


def _read_prompts(judge_options: JudgeOptions) -> Prompts | str:
    try:
        return Prompts.read(judge_options.prompts, judge_options.examples)
    except (RunFileError, SettingError) as error:
        return f"The prompts of the evaluation cannot be read: {error}"


def _prompts_match(identity: str, kind: type[Task], prompts: Prompts) -> bool:
    """Return whether the identity has the digest of these prompts, and the version of the code that parses replies."""
    version = identity.startswith((f"llm/{llm.VERSION}/", f"own/{llm.VERSION}/"))
    return version and kind in PROMPTED_TASKS and identity.endswith(f"/{prompts.digest(kind)}/{kind.__name__}")


def _replay(task: Task, prompts: Prompts, exchanges: Iterable[Exchange]) -> Dialogue:
    """Return the dialogue of a task, with the recorded replies."""
    dialogue = Dialogue(task, prompts)
    for exchange in exchanges:
        if dialogue.result is None:
            dialogue.receive(exchange.text, truncated=exchange.truncated)
    return dialogue


def _is_trivial(task: Task, prompts: Prompts) -> bool:
    """Return whether the result follows from the input without a model call."""
    return type(task) in PROMPTED_TASKS and not Dialogue(task, prompts).messages


def _matching_name(identity: str, names: Iterable[str]) -> str:
    """Return the longest judge or model name that the identity contains; empty if it contains none."""
    path = f"/{identity}/"
    return max((name for name in names if _model_part(name) in path or f"/{name}/" in path), key=len, default="")


def _model_part(judge: str) -> str:
    """Return the model as it occurs in identities: `/llama3:8b/` for `openai:llama3:8b`."""
    return f"/{judge.partition(':')[2] or judge}/"
