"""The dialogue with a chat model about one task: the prompt, the reply, and at most two repair requests.

The parser finds the requested JSON value in the model's text. It ignores markdown fences and prose around the value,
thoughts before it (`<think>`, `<reasoning>`, `[THINK]`), and a comma before a closing bracket. It repairs nothing else:
a value that is truncated, repeats a key or contains NaN is invalid.

Only the first value with the expected key can be the reply, because a model may add code or invented questions and
answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ragboard.judges.base import RequestEstimate
from ragboard.judges.llm.prompts import Prompts
from ragboard.tasks import Failure, Reply, ReplyFormatError, Task

__all__ = [
    "MAX_QUOTED_CHARS",
    "REPAIRS",
    "ChatMessage",
    "Dialogue",
    "estimate_request",
    "parse_first_json",
    "read_reply",
]

T = TypeVar("T")

REPAIRS = 2
"""Maximum number of repair requests per task."""

MAX_QUOTED_CHARS = 8_000
"""Maximum characters of a reply that a repair request quotes."""

MAX_FAILURE_CHARS = 2_000
"""Maximum characters of a reply that a Failure quotes."""

ASSUMED_PROBLEM_CHARS = 250
"""The length, in characters, that cost estimates assume for the error in a repair request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatMessage:
    """One message of a dialogue."""

    role: Literal["user", "assistant"]
    text: str


@dataclass
class Dialogue:
    """The dialogue about a task."""

    task: Task
    prompts: Prompts
    messages: list[ChatMessage] = field(default_factory=list[ChatMessage])
    """The messages so far, ending with the one to send next; empty if the task needs no call."""
    result: Reply | Failure | None = None
    """The result; None until there is one."""
    repairs: int = 0
    """Number of repair requests so far."""

    def __post_init__(self) -> None:
        self.result = self.task.trivial_reply()
        if self.result is None:
            self.messages.append(ChatMessage(role="user", text=self.prompts.render(self.task)))

    def receive(self, text: str, *, truncated: bool = False) -> None:
        """Read the model's reply, and set the result or add a repair request. `truncated`: it was cut off."""
        text = text.encode("utf-8", "replace").decode()
        try:
            self.result = read_reply(self.task, text, self.messages[0].text, self.prompts.instructions(self.task))
        except ReplyFormatError as error:
            self._repair(text, f"{error}; it was cut off at the token limit" if truncated else str(error))

    def fail(self, detail: str) -> None:
        """Set the result to a Failure."""
        self.result = Failure(detail=detail)

    def as_text(self) -> str:
        """Return all messages as one prompt."""
        first, *later = self.messages
        messages = (
            f"{'Your reply was:' if message.role == 'assistant' else 'But:'}\n{message.text}" for message in later
        )
        return "\n\n".join((first.text, *messages))

    def _repair(self, text: str, problem: str) -> None:
        if self.repairs == REPAIRS:
            times = f"after {REPAIRS} repair requests"
            self.fail(f"the reply is still invalid {times}: {problem}; reply: {text[:MAX_FAILURE_CHARS]}")
            return
        self.repairs += 1
        self.messages += (
            ChatMessage(role="assistant", text=text.strip()[:MAX_QUOTED_CHARS] or "(nothing)"),
            ChatMessage(role="user", text=self.prompts.repair(problem)),
        )


def read_reply(task: Task, text: str, prompt: str = "", instructions: str = "") -> Reply:
    """Parse the reply to a prompt. `instructions` is the prompt without the texts to judge.

    Raises ReplyFormatError if there is no valid reply.
    """
    return parse_first_json(text, task.parse, task.reply_model.key, prompt=prompt, instructions=instructions)


def estimate_request(task: Task, prompts: Prompts) -> RequestEstimate | None:
    """Return the request for the task, and the request after an invalid reply; None if the task needs no call."""
    messages = Dialogue(task, prompts).messages
    return (
        RequestEstimate(text=messages[0].text, repair=prompts.repair("." * ASSUMED_PROBLEM_CHARS)) if messages else None
    )


MIN_COPY_CHARS = 30
"""Minimum characters at which a value that also occurs in the instructions counts as a copy of an example."""

MAX_THOUGHT_ENDS = 10
"""Maximum number of end tags of thoughts for which the parser checks whether they are inside a value."""

_THINKING = re.compile(r"\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\])", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}"]|,(?=\s*[\]}])', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_INVALID = object()


def parse_first_json(
    text: str, read: Callable[[Any], T], key: str | None, *, prompt: str = "", instructions: str = ""
) -> T:
    """Find the first JSON object in the text with the key, and return what `read` returns for it.

    If `key` is None, find the first list. Raises ReplyFormatError if there is none, if `read` raises it, or if the
    value is a copy of an example in the `instructions`. A copy of another part of the `prompt` counts as the reply only
    if the text has no other value, because a judged text can contain a valid reply by chance.
    """
    only = _whole_text_value(text.strip(), key)
    answer = text if only else _without_thoughts(text, key)
    candidates = iter([only]) if only else _find_candidates(answer, key)
    for _, raw, value in candidates:
        if value is _INVALID:
            raise ReplyFormatError("it holds JSON that cannot be read")
        if raw in instructions and len(raw) >= MIN_COPY_CHARS:
            raise ReplyFormatError("it repeats the example")
        if (raw in instructions or raw in prompt) and any(other != raw for _, other, _ in candidates):
            copied = "the example" if raw in instructions else "a text that it was given"
            raise ReplyFormatError(f"it repeats {copied}")
        return read(value)
    what = "list" if key is None else f"JSON object with the key `{key}`"
    if text.strip() and not answer.strip():
        raise ReplyFormatError("it holds only thoughts, and no answer")
    raise ReplyFormatError(f"it holds no whole {what}" if text.strip() else "it is empty")


def _whole_text_value(text: str, key: str | None) -> tuple[int, str, Any] | None:
    """Return (0, text, value) if the whole text is a JSON value with the key, as most replies are; else None."""
    value: Any = _parse_json(text) if text.startswith("[" if key is None else "{") else _INVALID
    return (0, text, value) if value is not _INVALID and (key is None or key in value) else None


def _without_thoughts(text: str, key: str | None) -> str:
    """Return the text after the model's thoughts; empty if the thoughts never end.

    An end tag inside a JSON value does not end the thoughts, because a reply may quote a tag.
    """
    begin, ended, value = 0, not _THINKING.match(text), _first_value(text, 0, key)
    thoughts = 0
    for mark in _THOUGHT.finditer(text):
        if mark.start() not in value:
            begin, ended, thoughts = mark.end(), True, thoughts + 1
            value = _first_value(text, begin, key) if thoughts < MAX_THOUGHT_ENDS else range(0)
    return text[begin:] if ended else ""


def _first_value(text: str, begin: int, key: str | None) -> range:
    """Return the range of the first value with the key after `begin`; empty if there is none."""
    place, raw, _ = next(_find_candidates(text[begin:], key), (0, "", None))
    return range(begin + place, begin + place + len(raw))


def _find_candidates(text: str, key: str | None) -> Iterator[tuple[int, str, Any]]:
    """Yield the start, text and value of every outermost JSON value with the key. Invalid JSON has `_INVALID`."""
    opening = "[" if key is None else "{"
    for start, raw, plain in _find_outermost(text, opening):
        value = _parse_json(plain)
        if key is None or (f'"{key}"' in raw if value is _INVALID else key in value):
            yield start, raw, value


def _find_outermost(text: str, opening: str) -> Iterator[tuple[int, str, str]]:
    """Yield the start and text of every outermost bracketed part, and its text without trailing commas."""
    start = text.find(opening)
    while start >= 0:
        whole = _end_of_value(text, start)
        if whole is None:
            return
        end, plain = whole
        yield start, text[start:end], plain
        start = text.find(opening, end)


def _parse_json(plain: str) -> Any:
    """Parse JSON. Return `_INVALID` if it is invalid or cannot be encoded as UTF-8."""
    try:
        value = _DECODER.decode(plain)
        plain.encode()
        if "\\u" in plain:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return _INVALID
    return value


def _end_of_value(text: str, start: int) -> tuple[int, str] | None:
    """Return the end of the value at `start`, and its text without trailing commas; None if the value is incomplete."""
    open_brackets: list[str] = []
    parts, copied = [], start
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark == ",":
            parts.append(text[copied : token.start()])
            copied = token.end()
        elif mark in _CLOSING:
            open_brackets.append(_CLOSING[mark])
        elif mark in "]}":
            if open_brackets.pop() != mark:
                return None
            if not open_brackets:
                return token.end(), "".join((*parts, text[copied : token.end()]))
        elif mark == '"':
            return None
    return None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key twice")
    return value


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_reject_constant, strict=False)
