"""Parse the bodies of responses: completions and error messages.

Compatible servers differ. The text of a completion may be in parts, in the arguments of a tool call, or in a stream
that was not requested. The message of an error may be in any of several fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from ragboard.tasks import Exchange

__all__ = [
    "CallFailedError",
    "DeclinedError",
    "MalformedResponseError",
    "error_fields",
    "error_message",
    "make_exchange",
    "parse_completion",
    "parse_json",
]


class CallFailedError(Exception):
    """A call failed, after all useful retries. The message contains no secrets."""


class MalformedResponseError(CallFailedError):
    """The response does not follow the protocol. A retry can succeed."""


class DeclinedError(CallFailedError):
    """The call is billed but has no answer: the model declined, a filter stopped it, or the tokens ran out."""

    def __init__(self, message: str, answered: Exchange) -> None:
        self.exchange = answered
        super().__init__(message)


def parse_completion(body: str, mask_secrets: Callable[[str], str]) -> Exchange:
    """Return the reply in a response body. `mask_secrets` is applied to all texts.

    Raises DeclinedError or MalformedResponseError if there is no reply.
    """
    try:
        answer = _from_events(body) if body.lstrip().startswith(_EVENTS) else parse_json(body)
        if not answer.get("choices") and (problem := _message_in(answer.get("error"))):
            raise MalformedResponseError(f"the server's response is an error: {mask_secrets(problem)[:200]}")
        choice = answer["choices"][0]
        message = choice["message"]
        refusal, finish = message.get("refusal"), choice.get("finish_reason")
        text = _text_in(message)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedResponseError(
            f"the server's response is not a chat completion: {mask_secrets(body)[:200]!r}"
        ) from error
    if isinstance(refusal, str) and refusal and not text:
        refusal = mask_secrets(refusal)
        raise DeclinedError(
            f"the model declined to answer: {refusal[:300]}", make_exchange(refusal, answer.get("usage"))
        )
    if finish == "content_filter":
        filtered = make_exchange(mask_secrets(text or ""), answer.get("usage"))
        raise DeclinedError("the server's content filter stopped the reply", filtered)
    if text is None:
        raise MalformedResponseError(f"the server's response has no text: {mask_secrets(body)[:200]!r}")
    thoughts = message.get("reasoning_content") or message.get("reasoning")
    if not text and isinstance(thoughts, str) and thoughts:
        text = f"<think>{thoughts}</think>"
        if finish == "length":
            raise DeclinedError(
                "the model reached its token limit while it was still reasoning, before any answer: raise max_tokens, "
                "or lower reasoning_effort (--judge-param)",
                make_exchange(mask_secrets(text), answer.get("usage"), truncated=True),
            )
    return make_exchange(mask_secrets(text), answer.get("usage"), truncated=finish == "length")


def parse_json(body: str) -> Any:
    """Parse JSON like `json.loads`, but in less time unless it has a lone surrogate, NaN or an infinite number."""
    try:
        return orjson.loads(body)
    except ValueError:
        return json.loads(body)


def _text_in(message: Mapping[str, Any]) -> str | None:
    """Return the text of a message: its content or, if that is empty, the arguments of its first tool call.

    Servers that emulate a reply format may put the reply there. None if the content is not a string or list of parts.
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


def make_exchange(text: str, usage: object, *, truncated: bool = False) -> Exchange:
    """Return the Exchange for a reply. `usage` is that of the response; it may be missing or invalid."""
    counted: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    details = counted.get("prompt_tokens_details")
    return Exchange(
        text=text,
        prompt_tokens=counted.get("prompt_tokens"),
        completion_tokens=counted.get("completion_tokens"),
        cached_tokens=details.get("cached_tokens") if isinstance(details, dict) else None,
        truncated=truncated,
    )


_MESSAGE_FIELDS = ("message", "msg", "detail", "details", "error", "errors", "error_description", "reason", "title")


def error_message(body: str) -> str:
    """Return the message in the body of an error; empty if there is none. HTML tags are removed."""
    try:
        return _message_in(json.loads(body))
    except ValueError:
        return re.sub(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]+>", " ", body).strip()
    except RecursionError:
        return ""


def error_fields(body: str) -> tuple[str | None, str | None]:
    """Return the code of an error, and the parameter that it is about. Each is None if it is missing."""
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
    """Return the messages in an error, each with its location if it has one: `body.stream: Field required`."""
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
