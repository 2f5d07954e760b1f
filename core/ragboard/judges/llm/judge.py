"""A judge that asks a chat model at OpenAI or an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ragboard.errors import SettingError
from ragboard.judges.base import NotAskedError, Request, RequestMeter
from ragboard.judges.llm.chat import Chat, DeclinedError
from ragboard.judges.llm.dialogue import Dialogue, first_request
from ragboard.judges.llm.endpoint import CallFailedError, Endpoint
from ragboard.judges.llm.prompts import Prompts
from ragboard.records import JsonValue
from ragboard.tasks import PROMPTED, Failure, NotAsked, OnCall, Reply, Task, ignore_call

__all__ = ["VERSION", "LlmJudge"]

VERSION = "2"
"""Changes when a change in how replies are read can change an answer."""

DRAW_TEMPERATURE = 1.0
"""The temperature of the second and later draws of a task, which should differ; that of the first is 0."""

_NOT_PARAMETERS = frozenset({"model", "messages", "response_format", "stream", "n", "extra_headers", "api_key"})


class LlmJudge:
    """Answers every task except Similarity by asking a chat model.

    `parameters` go to the model as they are (`temperature`, `max_tokens`, `reasoning_effort`, ...);
    without a temperature it is 0, and 1 for the second and later draws. `prompts` is a folder whose
    files stand in place of the package's, `examples` a tab-separated file of ARES whose labels it is shown
    when it says whether a quality holds. Raises SettingError for prompts or parameters that cannot be,
    RunFileError for examples that cannot be read.
    """

    heuristic = False
    is_metered = True
    answers: frozenset[type[Task]] = frozenset(PROMPTED)

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
        if wrong := sorted(_NOT_PARAMETERS & self.parameters.keys()):
            raise SettingError(f"{wrong[0]} is no parameter of a judge; ragboard sets it itself")
        self.prompts = Prompts.read(prompts, examples)
        self._chat = Chat(endpoint, model)

    @property
    def name(self) -> str:
        """`openai:MODEL`."""
        return f"openai:{self.model}"

    def __repr__(self) -> str:
        return f"LlmJudge({self.model!r}, {self.endpoint!r})"

    def identity(self, task: type[Task]) -> str:
        """Return model, address, parameters, and a digest of the prompts and examples, without the key."""
        parameters = json.dumps(self.parameters, sort_keys=True)
        asked = self.prompts.digest(task)
        return f"llm/{VERSION}/{self.model}/{self.endpoint.address}/{parameters}/{asked}/{task.__name__}"

    def request(self, task: Task) -> Request | None:
        """Return the prompt that would be sent, without the schema of the reply."""
        return first_request(task, self.prompts) if type(task) in self.answers else None

    async def answer(self, tasks: Sequence[Task], on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """Return one reply or failure per task, in order; tasks are asked concurrently.

        The reply to a single task is handed on in the same step in which its request leaves its place to
        another, so that it can be kept before that one is sent.

        Raises JudgeError where no call can succeed: the key is refused, the model is not there.
        """
        if len(tasks) == 1:
            return [await self._answer(tasks[0], on_call)]
        asked = [asyncio.ensure_future(self._answer(task, on_call)) for task in tasks]
        try:
            return await asyncio.gather(*asked)
        finally:
            for one in asked:
                one.cancel()

    async def _answer(self, task: Task, on_call: OnCall) -> Reply | Failure:
        if type(task) not in self.answers:
            return Failure(detail=f"{self.name} does not answer {type(task).__name__}")
        dialogue, first, meter = Dialogue(task, self.prompts), task.runs_first, partial(RequestMeter, task, on_call)
        while dialogue.result is None:
            lines, schema, parameters = dialogue.lines, task.schema(), self._sampling(task)
            try:
                said = await self._chat.complete(lines, schema, parameters, first=first, meter=meter)
            except NotAskedError as error:
                return NotAsked(detail=str(error))
            except CallFailedError as error:
                if isinstance(error, DeclinedError):
                    on_call(task, error.exchange)
                dialogue.fail(str(error))
            else:
                on_call(task, said)
                dialogue.receive(said.said, cut=said.cut)
        return dialogue.result

    def _sampling(self, task: Task) -> dict[str, Any]:
        """Return the parameters of a task; draws after the first need a temperature above 0 to differ."""
        given = dict(self.parameters)
        temperature = given.get("temperature", 0.0)
        if task.draw and temperature == 0:
            temperature = DRAW_TEMPERATURE
        return given | {"temperature": temperature}
