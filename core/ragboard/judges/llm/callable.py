"""A judge that calls a function of the user with prompts."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from ragboard.errors import JudgeError, SettingError
from ragboard.judges.base import LimitReachedError, RequestEstimate, RequestMeter, RequestSize
from ragboard.judges.llm.dialogue import Dialogue, estimate_request
from ragboard.judges.llm.judge import VERSION
from ragboard.judges.llm.prompts import Prompts
from ragboard.tasks import PROMPTED_TASKS, Exchange, Failure, NotSent, OnCall, Reply, Task, ignore_call

__all__ = ["CallableJudge", "Texts", "judge_from"]

Texts: TypeAlias = Sequence[str | None]
"""The replies to a list of prompts, in order; None for a failed task."""
Function: TypeAlias = Callable[[list[str]], Texts | Awaitable[Texts]]

BATCH_SIZE = 64
"""Maximum number of prompts in one call of the function."""


def judge_from(
    function: Function,
    *,
    version: str,
    name: str = "own",
    prompts: Path | None = None,
    examples: Path | None = None,
    batch_size: int = BATCH_SIZE,
) -> CallableJudge:
    """Make a judge that calls `function` with a list of prompts. The function returns a reply to each, in order.

    The function gets at most `batch_size` prompts per call. Calls do not overlap, and run in a separate thread. An
    async function runs in the event loop. A reply of None is a failed task. An exception ends the evaluation. Replies
    are stored under `version`: change it when replies may change, for example with another model. `prompts` and
    `examples` are as in `LlmJudge`. Raises SettingError for an empty version or a batch size below 1.

    >>> judge_from(lambda prompts: [my_model(prompt) for prompt in prompts], version="my-model-7b")
    """
    if not version.strip():
        raise SettingError("judge_from needs a version: a text that you change whenever the judge's replies may change")
    if batch_size < 1:
        raise SettingError(f"batch_size is {batch_size}, expected at least 1")
    return CallableJudge(
        function, version=version, name=name, prompts=Prompts.read(prompts, examples), batch_size=batch_size
    )


class CallableJudge:
    """Answers every task that has a prompt, with the prompts and checks of `LlmJudge`."""

    heuristic = False
    answers: frozenset[type[Task]] = frozenset(PROMPTED_TASKS)

    def __init__(
        self, function: Function, *, version: str, name: str, prompts: Prompts, batch_size: int = BATCH_SIZE
    ) -> None:
        self.name = name
        self.batch_size = batch_size
        self.version = version
        self.prompts = prompts
        self._function = function

    def __repr__(self) -> str:
        return f"CallableJudge({self.name!r}, version={self.version!r})"

    def identity(self, task: type[Task]) -> str:
        """Return name, version, and a digest of the prompts and examples."""
        return f"own/{VERSION}/{self.name}/{self.version}/{self.prompts.digest(task)}/{task.__name__}"

    @property
    def model(self) -> str:
        """The judge's name, by which its price is looked up."""
        return self.name

    def request(self, task: Task) -> RequestEstimate | None:
        """Return the prompt that the function would get; None if the reply needs no call."""
        return estimate_request(task, self.prompts) if type(task) in self.answers else None

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order.

        The function is called once with the prompts of all tasks, and again with the repair requests, if there are any.
        """
        results: list[Reply | Failure | None] = [self._unsupported(task) for task in tasks]
        dialogues = {index: Dialogue(task, self.prompts) for index, task in enumerate(tasks) if results[index] is None}
        while waiting := [dialogue for dialogue in dialogues.values() if dialogue.result is None]:
            await self._send_prompts(waiting, on_call)
        return [results[index] or dialogues[index].result or Failure(detail="no reply") for index in range(len(tasks))]

    def _unsupported(self, task: Task) -> Failure | None:
        """Return a failure if the judge does not answer this type of task, else None."""
        known = type(task) in self.answers
        return None if known else Failure(detail=f"{self.name} does not answer {type(task).__name__}")

    async def _call(self, prompts: list[str]) -> Texts:
        """Call the function. A function that is not async runs in a thread, so it does not block the event loop."""
        call = partial(self._function, prompts)
        texts: Texts | Awaitable[Texts]
        texts = call() if inspect.iscoroutinefunction(self._function) else await asyncio.to_thread(call)
        return await texts if inspect.isawaitable(texts) else texts

    async def _send_prompts(self, waiting: Sequence[Dialogue], on_call: OnCall) -> None:
        """Send the next prompt of each dialogue in one call of the function."""
        waiting = [dialogue for dialogue in waiting if await _admitted(dialogue, on_call)]
        if not waiting:
            return
        texts = await self._call([dialogue.as_text() for dialogue in waiting])
        if isinstance(texts, str) or len(texts) != len(waiting):
            got = "one text" if isinstance(texts, str) else f"{len(texts)} texts"
            raise JudgeError(f"{self.name}: the function returned {got} for a list of {len(waiting)} prompts")
        for dialogue, text in zip(waiting, texts, strict=True):
            if text is None:
                dialogue.fail(f"{self.name} returned no reply")
            else:
                on_call(dialogue.task, Exchange(text=text))
                dialogue.receive(text)


async def _admitted(dialogue: Dialogue, on_call: OnCall) -> bool:
    """Return whether the dialogue's next prompt may be sent. The evaluation has already admitted the first prompt."""
    size = RequestSize(prompt_bytes=len(dialogue.as_text().encode(errors="replace")), reply_tokens=None)
    try:
        if dialogue.repairs:
            await RequestMeter(dialogue.task, on_call, size).admit()
    except LimitReachedError as error:
        dialogue.result = NotSent(detail=str(error))
    return dialogue.result is None
