"""Calls to a chat model, adapted to the reply formats and parameters that the server accepts."""

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
"""Formats of replies, the strictest first."""

_OF_MODE = re.compile(
    r"response_?format|json_?schema|json_?object|json mode|structured output|guided|grammar|\bschema\b", re.I
)

_TOO_LONG = re.compile(r"context[ _](?:length|window)", re.I)
"""Matches the error of a request that is too long, in which servers also name `max_tokens`."""


FRAME = 16
"""An upper bound of the tokens around a message."""


@dataclass
class Chat:
    """A model at an endpoint, with the formats and parameters that it refused."""

    endpoint: Endpoint
    model: str
    mode: int = 0
    """The index of the format in use in MODES."""
    dropped: set[str] = field(default_factory=set[str])
    """Parameters that the model refused."""
    renamed: dict[str, str] = field(default_factory=dict[str, str])

    async def complete(
        self,
        lines: Sequence[Line],
        schema: Mapping[str, Any],
        parameters: Mapping[str, Any],
        *,
        first: bool = False,
        meter: Callable[[RequestSize], RequestMeter] | None = None,
    ) -> Exchange:
        """Return the model's reply; `first` goes before waiting requests.

        `meter` makes the meter of a request of a given size. Raises CallFailedError without a reply (DeclinedError if
        the model declined), NotAskedError if the meter admits no more requests.
        """
        about = _about_tokens(lines)
        while True:
            mode = self.mode
            sent = {self.renamed.get(key, key): value for key, value in parameters.items() if key not in self.dropped}
            extra = sent | _response_format(mode, schema)
            metered = meter(_size(lines, extra)) if meter else None
            try:
                reply = await self.endpoint.call(partial(self._ask, lines, extra), about, first=first, meter=metered)
            except RefusedError as error:
                if not self._give_way(error, sent, mode):
                    raise
            else:
                self.endpoint.record_tokens((reply.prompt_tokens or about) + (reply.completion_tokens or 0) - about)
                return reply

    def _give_way(self, error: RefusedError, sent: Mapping[str, Any], mode: int) -> bool:
        """Drop the refused parameter or format; return whether there was one to drop."""
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
        """Send the request. The SDK's own method would validate every part, which doubles the time."""
        messages = [{"role": line.role, "content": line.text} for line in lines]
        body = {"model": self.model, "messages": messages, **extra}
        return _parse_response(await client.post("/chat/completions", body=body, cast_to=str), self.endpoint.masked)


class DeclinedError(CallFailedError):
    """The model declined to answer, or a content filter withheld its answer. The call is still billed."""

    def __init__(self, message: str, answered: Exchange) -> None:
        self.exchange = answered
        super().__init__(message)


def _size(lines: Sequence[Line], extra: Mapping[str, Any]) -> RequestSize:
    """Return an upper bound of the size: a token has at least one byte."""
    limits = [extra[name] for name in ("max_completion_tokens", "max_tokens") if type(extra.get(name)) is int]
    form = len(json.dumps(extra.get("response_format", "")))
    prompt = sum(len(line.text.encode(errors="replace")) + FRAME for line in lines)
    return RequestSize(prompt_bytes=prompt + form, reply_tokens=min(limits, default=None))


def _about_tokens(lines: Sequence[Line]) -> int:
    """Estimate the tokens: four characters each, which is about right for Latin text."""
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
    """Return the refused parameter: from the field of the error, else from the first words of its message."""
    if error.param in sent:
        return error.param
    if error.param and _OF_MODE.search(error.param):
        return None
    return next((key for key in sent if re.search(rf"\b{re.escape(key)}\b", str(error))), None)


def _parse_response(body: str, masked: Callable[[str], str]) -> Exchange:
    """Return the reply in a response body, with secrets masked.

    Raises DeclinedError or MalformedResponseError if there is none.
    """
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
        text = masked(content) if isinstance(content, str) else ""
        raise DeclinedError("the server's content filter stopped the reply", exchange(text, answer.get("usage")))
    if not isinstance(content, str | None):
        raise MalformedResponseError(f"the server's response has no text: {masked(body)[:200]!r}")
    return exchange(masked(content or ""), answer.get("usage"), truncated=choice.get("finish_reason") == "length")


def exchange(text: str, usage: object, *, truncated: bool = False) -> Exchange:
    """Combine the text with the tokens in a response's `usage`, which a server can leave out."""
    counted: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    details = counted.get("prompt_tokens_details")
    return Exchange(
        text=text,
        prompt_tokens=_count(counted.get("prompt_tokens")),
        completion_tokens=_count(counted.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else None,
        truncated=truncated,
    )


def _count(value: object) -> int | None:
    """Return a number of tokens; None if the server sent something else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
