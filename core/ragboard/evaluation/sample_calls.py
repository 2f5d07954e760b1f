"""What judges were asked for one sample: each task in words, the prompt, the raw replies, what became of it, the cost.

The journal keeps replies and no prompts. The sample's tasks are found by gathering it once more from the answers
in the journal, and a prompt is written again from its task. It is shown only where the prompts installed now are
those that were used: the evaluation's identity holds a digest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragboard.errors import RunFileError, SettingError, StoreError
from ragboard.evaluation.calls import Call, Message, Origin, SampleCalls
from ragboard.evaluation.gather import gather
from ragboard.evaluation.journal import Heard, Kept, read_kept
from ragboard.evaluation.loop import wait_for
from ragboard.judges.llm import judge as llm
from ragboard.judges.llm.dialogue import Dialogue
from ragboard.judges.llm.prompts import Prompts
from ragboard.judges.options import JudgeOptions
from ragboard.metrics import METRICS, Metric, metric_of
from ragboard.prices import Price, cost
from ragboard.records import Evaluation, Sample
from ragboard.store import RunRef, Store
from ragboard.tasks import PROMPTED, TASK_NAMED, Exchange, Failure, NotAsked, Reply, Task, fits, task_key

__all__ = ["sample_calls"]


def sample_calls(store: Store, run: RunRef, sample_id: str, *, known: Mapping[str, Metric] = METRICS) -> SampleCalls:
    """What judges were asked for a sample, in the order in which answers came.

    `known` are the metrics whose code is at hand: the tasks of others have no prompt. Raises NotFoundError where
    the run has no such sample.
    """
    position, sample = store.sample(run, sample_id)
    if not run.evaluations:
        return SampleCalls(tasks=(), missing="this run was never evaluated")
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
        return "these scores came with the run file: nobody here was asked"
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

    def calls(self, kept: Sequence[Kept]) -> tuple[Call, ...]:
        tasks = self._tasks(kept)
        return tuple(self._call(line, tasks.get(line.key)) for line in kept)

    def _tasks(self, kept: Sequence[Kept]) -> dict[str, Task]:
        """The tasks by key, as they come up when the sample is gathered from these answers alone."""
        answers = {line.key: line.answer for line in kept}
        found: dict[str, Task] = {}

        async def answer(task: Task) -> Reply | Failure:
            key = self._key(task)
            found[key] = task
            kept = answers.get(key)
            return kept if kept and fits(task, kept) else NotAsked(detail="not asked")

        needs = dict.fromkeys(need for metric in self.known for need in metric.needs())
        wait_for(gather(self.sample, needs, answer, lambda task: self._key(task) in answers))
        return found

    def _key(self, task: Task) -> str:
        kind = type(task).__name__
        return task_key(task, self.identity.get(kind, ""))

    def _call(self, line: Kept, task: Task | None) -> Call:
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
            **self._taken(identity, line.heard),
        )

    def _described(self, task: Task) -> str:
        """The second and later draws are numbered."""
        said = task.describe(self.sample)
        return f"{said} (draw {task.draw + 1})" if task.draw else said

    def _origin(self, identity: str, line: Kept, task: Task | None) -> Origin:
        if not identity.startswith(_MODELS):
            return "nobody"
        if line.sample != self.sample.id:
            return "shared"
        if line.heard or isinstance(line.answer, Failure):
            return "asked"
        plain = task is not None and isinstance(self.prompts, Prompts) and _is_plain(task, self.prompts)
        return "nobody" if plain else "elsewhere"

    def _messages(self, identity: str, line: Kept, task: Task | None) -> tuple[tuple[Message, ...], str]:
        """Prompts and replies, and why no prompt is among them."""
        replies = tuple(Message(role="reply", text=one.said) for one in line.heard if one.said)
        reason = self._no_prompt(identity, line.task, task)
        if reason or task is None or isinstance(self.prompts, str):
            return replies, reason
        lines = [one.text for one in _dialogue(task, self.prompts, line.heard).lines if one.role == "user"]
        if not lines:
            return replies, "The answer is plain without asking."
        prompts = [Message(role="prompt", text=text) for text in lines]
        turns = [prompts[0], *replies[:1]]
        for number, prompt in enumerate(prompts[1:], 1):
            turns += [prompt, *replies[number : number + 1]]
        return tuple(turns), ""

    def _no_prompt(self, identity: str, kind: str, task: Task | None) -> str:
        if not identity.startswith(_PROMPTED):
            return _RULES.get(identity.partition("/")[0], "This judge is asked without a prompt.")
        if task is None:
            return "The task cannot be found again without the metric that asked it."
        if isinstance(self.prompts, str):
            return self.prompts
        if not _same(identity, TASK_NAMED[kind], self.prompts):
            return "The prompts installed now are not those that were used, so that none is shown."
        return ""

    def _taken(self, identity: str, exchanges: Iterable[Exchange]) -> dict[str, Any]:
        heard = Heard()
        for exchange in exchanges:
            heard.add(exchange)
        price = self.prices.get(_named(identity, self.prices))
        prompt, said, kept = heard.prompt_tokens, heard.completion_tokens, heard.cached_tokens
        dollars = cost(price, prompt=prompt, completion=said, cached=kept) if heard.calls else 0.0
        return {
            "calls": heard.calls,
            "uncounted": heard.uncounted,
            "prompt_tokens": prompt,
            "completion_tokens": said,
            "cost": None if heard.uncounted else dollars,
        }


_PROMPTED = ("llm/", "own/")
_MODELS = (*_PROMPTED, "embedding/")
_RULES = {
    "embedded": "No prompt: the built-in judge answers by rules and word weights on this machine.",
    "embedding": "No prompt: the texts were sent to an embedding model, which answers with vectors.",
    "nli": "No prompt: a model for entailment read passages and statements on this machine.",
    "st": "No prompt: a model on this machine compared the texts.",
    "ce": "No prompt: a model on this machine compared the texts.",
    "replay": "No prompt: the answer was replayed from a file.",
}


def _prompts(judging: JudgeOptions) -> Prompts | str:
    try:
        return Prompts.read(judging.prompts, judging.examples)
    except (RunFileError, SettingError) as error:
        return f"The prompts that were used are not there: {error}"


def _same(identity: str, kind: type[Task], prompts: Prompts) -> bool:
    """Whether these prompts, read as they are read now, are those of an identity."""
    version = identity.startswith(tuple(f"{start}{llm.VERSION}/" for start in _PROMPTED))
    return version and kind in PROMPTED and identity.endswith(f"/{prompts.digest(kind)}/{kind.__name__}")


def _dialogue(task: Task, prompts: Prompts, heard: Iterable[Exchange]) -> Dialogue:
    """The dialogue on this task as it went."""
    dialogue = Dialogue(task, prompts)
    for exchange in heard:
        if dialogue.result is None:
            dialogue.hear(exchange.said, cut=exchange.cut)
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
