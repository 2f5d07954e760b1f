"""One call to a chat model, in the form of reply that this server and model will have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ragboard.judges.base import RequestMeter, RequestSize
from ragboard.judges.llm.dialogue import Line
from ragboard.judges.llm.endpoint import CallFailedError, Endpoint, MalformedResponseError, RefusedError
from ragboard.tasks import Exchange

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Chat", "DeclinedError", "exchange"]

MODES = ("json_schema", "json_object", "text")
"""Forms of reply, the strictest first."""

_OF_MODE = re.compile(
    r"response_?format|json_?schema|json_?object|json mode|structured output|guided|grammar|\bschema\b", re.I
)

_TOO_LONG = re.compile(r"context[ _](?:length|window)", re.I)
"""Of a request that is too long it is no parameter's fault, though servers name `max_tokens` in saying so."""


FRAME = 16
"""Tokens, more than enough, that stand around a line."""


@dataclass
class Chat:
    """A model at an endpoint, and what it turned out to refuse; that is remembered here, nowhere else."""

    endpoint: Endpoint
    model: str
    mode: int = 0
    """The place in MODES that is used."""
    dropped: set[str] = field(default_factory=set[str])
    """Parameters that the model refuses."""
    renamed: dict[str, str] = field(default_factory=dict[str, str])

    async def say(
        self,
        lines: Sequence[Line],
        schema: Mapping[str, Any],
        parameters: Mapping[str, Any],
        *,
        first: bool = False,
        meter: Callable[[RequestSize], RequestMeter] | None = None,
    ) -> Exchange:
        """The model's reply; `first` is asked before others that wait. Raises CallFailedError where there is none.

        Where that call was answered all the same, it is a DeclinedError. `meter` makes the meter for a request of
        a size; raises NotAskedError where it admits no more.
        """
        about = _about_tokens(lines)
        while True:
            mode = self.mode
            sent = {self.renamed.get(key, key): given for key, given in parameters.items() if key not in self.dropped}
            extra = sent | _response_format(mode, schema)
            metered = meter(_size(lines, extra)) if meter else None
            try:
                said = await self.endpoint.call(partial(self._ask, lines, extra), about, first=first, meter=metered)
            except RefusedError as error:
                if not self._give_way(error, sent, mode):
                    raise
            else:
                self.endpoint.record_tokens((said.prompt_tokens or about) + (said.completion_tokens or 0) - about)
                return said

    def _give_way(self, error: RefusedError, sent: Mapping[str, Any], mode: int) -> bool:
        """Drop what was refused, and whether there was such a thing."""
        if _TOO_LONG.search(str(error)):
            return False
        named = _named(error, sent)
        if named:
            self._drop(named, str(error))
            return True
        if mode + 1 < len(MODES) and _OF_MODE.search(f"{error.param or ''} {error}"):
            self.mode = max(self.mode, mode + 1)
            return True
        return False

    def _drop(self, named: str, message: str) -> None:
        if named == "max_tokens" and "max_completion_tokens" in message:
            self.renamed[named] = "max_completion_tokens"
            return
        own = {new: old for old, new in self.renamed.items()}
        self.dropped.add(own.get(named, named))

    async def _ask(self, lines: Sequence[Line], extra: Mapping[str, Any], client: AsyncOpenAI) -> Exchange:
        """The body goes as it is: the SDK's own method holds each part against its types, which doubles the cost."""
        messages = [{"role": line.role, "content": line.text} for line in lines]
        body = {"model": self.model, "messages": messages, **extra}
        return _said(await client.post("/chat/completions", body=body, cast_to=str), self.endpoint.masked)


class DeclinedError(CallFailedError):
    """The model will not answer, or its answer was held back. The call is paid for all the same."""

    def __init__(self, message: str, answered: Exchange) -> None:
        self.exchange = answered
        super().__init__(message)


def _size(lines: Sequence[Line], extra: Mapping[str, Any]) -> RequestSize:
    """A token is at least one byte of what is sent."""
    limits = [extra[name] for name in ("max_completion_tokens", "max_tokens") if type(extra.get(name)) is int]
    form = len(json.dumps(extra.get("response_format", "")))
    prompt = sum(len(line.text.encode(errors="replace")) + FRAME for line in lines)
    return RequestSize(prompt_bytes=prompt + form, reply_tokens=min(limits, default=None))


def _about_tokens(lines: Sequence[Line]) -> int:
    """Four characters a token, which is about right for Latin text."""
    return sum(len(line.text) for line in lines) // 4


def _response_format(mode: int, schema: Mapping[str, Any]) -> dict[str, Any]:
    match MODES[mode]:
        case "json_schema":
            given = {"name": "reply", "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": given}}
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case _:
            return {}


def _named(error: RefusedError, sent: Mapping[str, Any]) -> str | None:
    """The parameter that the server refuses, by its own field for that, else by its first words."""
    if error.param in sent:
        return error.param
    if error.param and _OF_MODE.search(error.param):
        return None
    return next((key for key in sent if re.search(rf"\b{re.escape(key)}\b", str(error))), None)


def _said(body: str, masked: Callable[[str], str]) -> Exchange:
    """The reply in a response's body, masked. Raises DeclinedError or MalformedResponseError without one."""
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedResponseError(
            f"the server's response is not a chat completion: {masked(body)[:200]!r}"
        ) from error
    if isinstance(refusal, str) and refusal and not content:
        refusal = masked(refusal)
        raise DeclinedError(f"the model refuses: {refusal[:300]}", exchange(refusal, answer.get("usage")))
    if choice.get("finish_reason") == "content_filter":
        said = masked(content) if isinstance(content, str) else ""
        raise DeclinedError("the server's content filter stopped the reply", exchange(said, answer.get("usage")))
    if not isinstance(content, str | None):
        raise MalformedResponseError(f"the server's response has no text: {masked(body)[:200]!r}")
    return exchange(masked(content or ""), answer.get("usage"), cut=choice.get("finish_reason") == "length")


def exchange(said: str, usage: object, *, cut: bool = False) -> Exchange:
    """What was said, and the tokens of a response's `usage`, which a server may leave out."""
    counted: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    details = counted.get("prompt_tokens_details")
    return Exchange(
        said=said,
        prompt_tokens=_count(counted.get("prompt_tokens")),
        completion_tokens=_count(counted.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        cut=cut,
    )


def _count(value: object) -> int | None:
    """A number of tokens; None where a server sent something else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
