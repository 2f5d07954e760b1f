"""A judge that calls a chat model at OpenAI or an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ragboard.errors import SettingError
from ragboard.judges.base import LimitReachedError, RequestEstimate, RequestMeter
from ragboard.judges.llm.chat import Chat
from ragboard.judges.llm.dialogue import Dialogue, estimate_request
from ragboard.judges.llm.endpoint import Endpoint
from ragboard.judges.llm.prompts import Prompts
from ragboard.judges.llm.responses import CallFailedError, DeclinedError
from ragboard.records import JsonValue
from ragboard.tasks import PROMPTED_TASKS, Failure, NotSent, OnCall, Reply, Task, ignore_call

__all__ = ["VERSION", "LlmJudge"]

VERSION = "2"
"""The version of the parser, incremented when a change can change a reply."""

DRAW_TEMPERATURE = 1.0
"""The temperature instead of 0 for tasks with `draw` above 0, whose replies should differ."""

_NOT_PARAMETERS = frozenset({"model", "messages", "response_format", "stream", "n", "extra_headers", "api_key"})


class LlmJudge:
    """Answers every task that has a prompt by calling a chat model.

    `parameters` are sent with every request (`temperature`, `max_tokens`, `reasoning_effort`, ...). The default
    temperature is 0. A temperature of 0 is replaced by 1 for tasks with `draw` above 0. `prompts` is a folder with
    files that replace the package's prompts. `examples` is a TSV file in ARES's format with few-shot examples for
    `Classify`. Raises SettingError for invalid prompts or parameters, RunFileError for invalid examples.
    """

    heuristic = False
    is_metered = True
    answers: frozenset[type[Task]] = frozenset(PROMPTED_TASKS)

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        *,
        parameters: Mapping[str, JsonValue] | None = None,
        prompts: Path | None = None,
        examples: Path | None = None,
    ) -> None:
        self.model = model
        self.endpoint = endpoint
        self.parameters = dict(parameters or {})
        if reserved := sorted(_NOT_PARAMETERS & self.parameters.keys()):
            raise SettingError(f"{reserved[0]} cannot be a parameter of a judge, because ragboard sets it")
        self.prompts = Prompts.read(prompts, examples)
        self._chat = Chat(endpoint, model)

    @property
    def name(self) -> str:
        """The name that users see: `openai:MODEL`."""
        return f"openai:{self.model}"

    def __repr__(self) -> str:
        return f"LlmJudge({self.model!r}, {self.endpoint!r})"

    def identity(self, task: type[Task]) -> str:
        """Return the model, the address, the parameters, and a digest of the prompts and examples."""
        parameters = json.dumps(self.parameters, sort_keys=True)
        prompts = self.prompts.digest(task)
        return f"llm/{VERSION}/{self.model}/{self.endpoint.identity}/{parameters}/{prompts}/{task.__name__}"

    def request(self, task: Task) -> RequestEstimate | None:
        """Return the prompt that would be sent, without the schema of the reply; None if the reply needs no call."""
        return (
            estimate_request(self.endpoint.redaction.mask_task(task), self.prompts)
            if type(task) in self.answers
            else None
        )

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order. Tasks run concurrently.

        A single task is not wrapped in an asyncio task, so the caller gets its reply before the next waiting request
        starts. Raises JudgeError if no call can succeed, for example because of an invalid key or an unknown model.
        """
        if len(tasks) == 1:
            return [await self._answer(tasks[0], on_call)]
        futures = [asyncio.ensure_future(self._answer(task, on_call)) for task in tasks]
        try:
            return await asyncio.gather(*futures)
        finally:
            for future in futures:
                future.cancel()

    async def _answer(self, task: Task, on_call: OnCall) -> Reply | Failure:
        if type(task) not in self.answers:
            return Failure(detail=f"{self.name} does not answer {type(task).__name__}")
        dialogue = Dialogue(self.endpoint.redaction.mask_task(task), self.prompts)
        first, meter = task.runs_first, partial(RequestMeter, task, on_call)
        key = self.endpoint.request_key(task, self.identity)
        while dialogue.result is None:
            messages, schema, parameters = dialogue.messages, task.schema(), self._sampling(task)
            try:
                exchange = await self._chat.complete(messages, schema, parameters, first=first, meter=meter, key=key)
            except LimitReachedError as error:
                return NotSent(detail=str(error))
            except CallFailedError as error:
                if isinstance(error, DeclinedError):
                    on_call(task, error.exchange)
                dialogue.fail(str(error))
            else:
                on_call(task, exchange)
                dialogue.receive(exchange.text, truncated=exchange.truncated)
        return dialogue.result

    def _sampling(self, task: Task) -> dict[str, Any]:
        """Return the parameters for a task. With `draw` above 0, the temperature is never 0."""
        temperature = self.parameters.get("temperature", 0.0)
        if task.draw and temperature == 0:
            temperature = DRAW_TEMPERATURE
        return self.parameters | {"temperature": temperature}
