"""Parse response bodies: a completion as JSON or as a stream of events, and the message of an error.

Compatible servers differ: the text may be in parts, in the arguments of a tool call, or in a stream that was not
requested. The message of an error may be in any of several fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ragboard.tasks import Exchange

__all__ = [
    "CallFailedError",
    "DeclinedError",
    "MalformedResponseError",
    "error_fields",
    "error_message",
    "exchange",
    "read_completion",
]


class CallFailedError(Exception):
    """A call failed, after all useful retries. The message contains no secret."""


class MalformedResponseError(CallFailedError):
    """The response does not follow the protocol; another try can succeed."""


class DeclinedError(CallFailedError):
    """There is no answer: the model declined, the server withheld it, or the tokens ran out. The call is billed."""

    def __init__(self, message: str, answered: Exchange) -> None:
        self.exchange = answered
        super().__init__(message)


def read_completion(body: str, masked: Callable[[str], str]) -> Exchange:
    """Return the reply in a response body, with secrets masked.

    Raises DeclinedError or MalformedResponseError if there is none.
    """
    try:
        answer = _from_events(body) if body.lstrip().startswith(_EVENTS) else json.loads(body)
        if not answer.get("choices") and (problem := _message_in(answer.get("error"))):
            raise MalformedResponseError(f"the server's response is an error: {masked(problem)[:200]}")
        choice = answer["choices"][0]
        message = choice["message"]
        refusal, finish = message.get("refusal"), choice.get("finish_reason")
        text = _text_in(message)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedResponseError(
            f"the server's response is not a chat completion: {masked(body)[:200]!r}"
        ) from error
    if isinstance(refusal, str) and refusal and not text:
        refusal = masked(refusal)
        raise DeclinedError(f"the model declined to answer: {refusal[:300]}", exchange(refusal, answer.get("usage")))
    if finish == "content_filter":
        filtered = exchange(masked(text or ""), answer.get("usage"))
        raise DeclinedError("the server's content filter stopped the reply", filtered)
    if text is None:
        raise MalformedResponseError(f"the server's response has no text: {masked(body)[:200]!r}")
    thoughts = message.get("reasoning_content") or message.get("reasoning")
    if not text and isinstance(thoughts, str) and thoughts:
        text = f"<think>{thoughts}</think>"
        if finish == "length":
            raise DeclinedError(
                "the model reached its token limit while it was still reasoning, before any answer: raise max_tokens, "
                "or lower reasoning_effort (--judge-param)",
                exchange(masked(text), answer.get("usage"), truncated=True),
            )
    return exchange(masked(text), answer.get("usage"), truncated=finish == "length")


def _text_in(message: Mapping[str, Any]) -> str | None:
    """Return the text of a message: its content or, if that is empty, the arguments of its first tool call.

    None if the content is neither a string nor a list of parts. A server that emulates a reply format may return the
    object as the arguments of a tool call.
    """
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(map(_part_text, content))
    if not isinstance(content, str | None):
        return None
    calls = message.get("tool_calls")
    called = calls[0]["function"] if calls else message.get("function_call")
    if content or not called:
        return content or ""
    arguments = called.get("arguments")
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _part_text(part: Any) -> str:
    if isinstance(part, dict):
        part = part.get("text") if part.get("type", "text") in ("text", "output_text") else ""
    return part if isinstance(part, str) else ""


_EVENTS = ("data:", "event:", "id:", "retry:", ":")


def _from_events(body: str) -> dict[str, Any]:
    """Combine the chunks of a stream into one completion. Raises ValueError if the stream ends early."""
    texts = dict.fromkeys(("content", "reasoning_content", "reasoning", "refusal"), "")
    arguments, usage, finish, done = "", None, None, False
    for line in body.split("\n"):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == "[DONE]":
            done = True
        if not data or done:
            continue
        chunk = json.loads(data)
        if not chunk.get("choices") and chunk.get("error"):
            return {"error": chunk["error"]}
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices", ())[:1]:
            delta = choice.get("delta") or choice.get("message") or {}
            for name in texts:
                given = delta.get(name)
                texts[name] += "".join(map(_part_text, given)) if isinstance(given, list) else given or ""
            for call in delta.get("tool_calls") or ():
                arguments += (call["function"].get("arguments") or "") if call.get("index", 0) == 0 else ""
            finish = choice.get("finish_reason") or finish
    if not (done or finish):
        raise ValueError("the stream ended early")
    calls = [{"function": {"arguments": arguments}}] if arguments else []
    return {"choices": [{"message": {**texts, "tool_calls": calls}, "finish_reason": finish}], "usage": usage}


def exchange(text: str, usage: object, *, truncated: bool = False) -> Exchange:
    """Return the exchange of a text and the token counts in a response's `usage`, which a server can leave out."""
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


_MESSAGE_FIELDS = ("message", "msg", "detail", "details", "error", "errors", "error_description", "reason", "title")


def error_message(body: str) -> str:
    """Return the message in the body of an error: from a message field if it is JSON, else its text. May be empty."""
    try:
        return _message_in(json.loads(body))
    except ValueError:
        return re.sub(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]+>", " ", body).strip()
    except RecursionError:
        return ""


def error_fields(body: str) -> tuple[str | None, str | None]:
    """Return the code of an error and the parameter that it is about; None for what its body does not have."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None, None
    error = answer.get("error", answer) if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return None, None
    code, param = error.get("code"), error.get("param")
    return None if code is None else str(code), param if isinstance(param, str) else None


def _message_in(value: Any) -> str:
    """Return the messages in an error, each with its location if that is given: `body.stream: Field required`."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(_message_in, value)))
    if not isinstance(value, dict):
        return value.strip() if isinstance(value, str) else ""
    message = next((text for name in _MESSAGE_FIELDS if (text := _message_in(value.get(name)))), "")
    place, metadata = value.get("loc"), value.get("metadata")
    if isinstance(place, list):
        message = f"{'.'.join(map(str, place))}: {message}"
    raw = metadata.get("raw") if isinstance(metadata, dict) else None  # the provider's error, passed on by a gateway
    return f"{message}: {error_message(raw)}" if isinstance(raw, str) else message
