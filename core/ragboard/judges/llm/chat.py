"""Call a chat model with the reply formats and parameters that its server accepts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ragboard.judges.base import RequestMeter, RequestSize
from ragboard.judges.llm.dialogue import ChatMessage
from ragboard.judges.llm.endpoint import FORMAT_NAMED, Endpoint, RefusedError, Send
from ragboard.judges.llm.responses import parse_completion
from ragboard.judges.llm.transport import to_json
from ragboard.tasks import Exchange

__all__ = ["Chat"]

MODES = ("json_schema", "json_object", "text")
"""Formats of replies, the strictest first."""

PLAIN = len(MODES) - 1
"""The index of `text`, which requests no format."""

_TOO_LONG = re.compile(r"context[ _](?:length|window)", re.I)
"""Matches the error of a request that is too long. Such an error often names `max_tokens`, which is not the cause."""

_ONLY_STREAMS = re.compile(
    r"\bnon-?stream|\b(?:only|must|enable|requires?)\b.{0,40}\bstream(?:ing)?\b"
    r"|\bstream(?:ing)?\b.{0,40}\b(?:only|must|true|required)\b",
    re.I,
)
"""Matches the error of a server that replies only with a stream."""
_UNEXPLAINED = re.compile(
    r"status \d+[\s.:]*(?:no reason given|bad request|invalid[ _]request(?:[ _]error)?|unprocessable (?:entity|content)"
    r"|validation error|(?:unknown |provider returned (?:an )?)?error)?[\s.:!]*",
    re.I,
)
"""Matches an error without a reason."""

MESSAGE_OVERHEAD = 16
"""Maximum number of tokens of a message in addition to its text."""


@dataclass
class Chat:
    """A chat model at an endpoint. It remembers which formats and parameters the server rejected."""

    endpoint: Endpoint
    model: str
    mode: int = 0
    """The reply format of the next request: an index into MODES."""
    dropped: set[str] = field(default_factory=set[str])
    """Rejected parameters, which are no longer sent."""
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    """The names under which parameters are sent, if they differ from the user's names."""
    streams: bool = False
    """Whether replies are requested as a stream, because the server supports nothing else."""
    trial: asyncio.Future[bool] | None = None
    """Whether the server accepts requests without a reply format. It is tried once, after the first error without a
    reason; None before."""

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        schema: Mapping[str, Any],
        parameters: Mapping[str, Any],
        *,
        first: bool = False,
        meter: Callable[[RequestSize], RequestMeter] | None = None,
        key: str = "",
    ) -> Exchange:
        """Return the model's reply. `first` and `key` are as in `Endpoint.call`.

        `meter` returns the meter for a request of a given size. Raises CallFailedError if there is no reply
        (DeclinedError if the model declined), LimitReachedError if the meter admits no more requests.
        """
        estimated = _estimate_tokens(messages)
        unexplained: RefusedError | None = None
        try:
            while True:
                mode = PLAIN if unexplained else self.mode
                sent = self._accepted(parameters)
                if self.streams and "stream_options" not in self.dropped:
                    sent["stream_options"] = {"include_usage": True}
                extra = sent | _response_format(mode, schema) | ({"stream": True} if self.streams else {})
                metered = meter(_size(messages, extra)) if meter else None
                ask = partial(self._ask, messages, extra)
                try:
                    reply = await self.endpoint.call(ask, estimated, first=first, meter=metered, key=key)
                except RefusedError as error:
                    if self._adapt(error, sent, mode):
                        continue
                    if unexplained or mode == PLAIN or not _UNEXPLAINED.fullmatch(str(error)):
                        raise unexplained or error from None
                    if self.trial is None:
                        unexplained, self.trial = error, asyncio.get_running_loop().create_future()
                    elif not await asyncio.shield(self.trial):
                        raise
                else:
                    self.mode = max(self.mode, mode)
                    used = (reply.prompt_tokens or estimated) + (reply.completion_tokens or 0)
                    self.endpoint.record_tokens(used - estimated)
                    return reply
        finally:
            if unexplained and self.trial:
                self.trial.set_result(self.mode == PLAIN)

    def _accepted(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that the model accepts, under the names that it accepts."""
        return {self.renamed.get(name, name): value for name, value in parameters.items() if name not in self.dropped}

    def _adapt(self, error: RefusedError, sent: Mapping[str, Any], mode: int) -> bool:
        """Adapt the next request to the error: drop a parameter, change the format, or request a stream.

        Return whether the next request differs.
        """
        if _TOO_LONG.search(str(error)):
            return False
        if not self.streams and _ONLY_STREAMS.search(str(error)):
            self.streams = True
            return True
        named = _rejected_parameter(error, sent)
        if named:
            self._drop(named, str(error))
            return True
        if mode < PLAIN and FORMAT_NAMED.search(f"{error.param or ''} {error}"):
            self.mode = max(self.mode, mode + 1)
            return True
        return False

    def _drop(self, named: str, message: str) -> None:
        if named == "max_tokens" and "max_completion_tokens" in message:
            self.renamed[named] = "max_completion_tokens"
            return
        original_names = {new: old for old, new in self.renamed.items()}
        self.dropped.add(original_names.get(named, named))

    async def _ask(self, messages: Sequence[ChatMessage], extra: Mapping[str, Any], send: Send) -> Exchange:
        data = [{"role": message.role, "content": message.text} for message in messages]
        response = await send(self.endpoint.route("chat/completions"), {"model": self.model, "messages": data, **extra})
        return parse_completion(response, self.endpoint.mask_secrets)


def _size(messages: Sequence[ChatMessage], extra: Mapping[str, Any]) -> RequestSize:
    """Return the maximum size of the request: bytes of the prompt, and tokens of the reply."""
    limits = [extra[name] for name in ("max_completion_tokens", "max_tokens") if type(extra.get(name)) is int]
    format_bytes = len(to_json(extra.get("response_format", "")))
    prompt = sum(len(message.text.encode(errors="replace")) + MESSAGE_OVERHEAD for message in messages)
    return RequestSize(prompt_bytes=prompt + format_bytes, reply_tokens=min(limits, default=None))


def _estimate_tokens(messages: Sequence[ChatMessage]) -> int:
    """Estimate the number of tokens as a quarter of the characters."""
    return sum(len(message.text) for message in messages) // 4


def _response_format(mode: int, schema: Mapping[str, Any]) -> dict[str, Any]:
    match MODES[mode]:
        case "json_schema":
            given = {"name": "reply", "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": given}}
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case _:
            return {}


def _rejected_parameter(error: RefusedError, sent: Mapping[str, Any]) -> str | None:
    """Return the error's `param`, or the first parameter that its message names; None if it was not sent."""
    if error.param in sent:
        return error.param
    if error.param and FORMAT_NAMED.search(error.param):
        return None
    return next((key for key in sent if re.search(rf"\b{re.escape(key)}\b", str(error))), None)
