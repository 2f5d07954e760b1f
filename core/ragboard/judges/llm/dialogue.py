"""The conversation with a model about one task: the prompt, its reply, and at most two repair requests.

The parser finds the requested JSON value in the model's text. It ignores markdown fences, prose and a closed block of
thoughts (`<think>`, `<reasoning>`, `[THINK]`) around the value, and a comma before a closing bracket. It repairs
nothing else: a value that is truncated, repeats a key or contains NaN is malformed, and no part of it is used.

A model may continue after its reply, with code or with invented questions and answers. So only the first candidate
counts: if it is invalid, later ones are not tried.
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

__all__ = ["MAX_QUOTED_CHARS", "REPAIRS", "Dialogue", "Line", "first_fitting", "first_request", "read_reply"]

T = TypeVar("T")

REPAIRS = 2
"""Maximum number of repair requests per task."""

MAX_QUOTED_CHARS = 8_000
"""Maximum characters of a reply that a repair request quotes."""

MAX_FAILURE_CHARS = 2_000
"""Maximum characters of a reply that a failure quotes."""

ASSUMED_PROBLEM_CHARS = 250
"""Length of the error in a repair request that cost estimates assume, in characters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One message of the conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass
class Dialogue:
    """The messages so far and the next prompt, until there is a result."""

    task: Task
    prompts: Prompts
    lines: list[Line] = field(default_factory=list[Line])
    result: Reply | Failure | None = None
    repairs: int = 0

    def __post_init__(self) -> None:
        self.result = self.task.trivial_reply()
        if self.result is None:
            self.lines.append(Line(role="user", text=self.prompts.render(self.task)))

    def receive(self, text: str, *, truncated: bool = False) -> None:
        """Read a reply; `truncated` if it was cut off at the token limit."""
        text = text.encode("utf-8", "replace").decode()
        try:
            self.result = read_reply(self.task, text, self.lines[0].text, self.prompts.instructions(self.task))
        except ReplyFormatError as error:
            self._repair(text, f"{error}; it was cut off at the token limit" if truncated else str(error))

    def fail(self, detail: str) -> None:
        """End the conversation with a failure."""
        self.result = Failure(detail=detail)

    def as_text(self) -> str:
        """Return all messages as one prompt, for a model that takes only one."""
        first, *later = self.lines
        messages = (f"{'Your reply was:' if line.role == 'assistant' else 'But:'}\n{line.text}" for line in later)
        return "\n\n".join((first.text, *messages))

    def _repair(self, text: str, problem: str) -> None:
        if self.repairs == REPAIRS:
            times = f"after {REPAIRS} repair requests"
            self.fail(f"the reply is still invalid {times}: {problem}; reply: {text[:MAX_FAILURE_CHARS]}")
            return
        self.repairs += 1
        self.lines += (
            Line(role="assistant", text=text.strip()[:MAX_QUOTED_CHARS] or "(nothing)"),
            Line(role="user", text=self.prompts.repair(problem)),
        )


def read_reply(task: Task, text: str, prompt: str = "", instructions: str = "") -> Reply:
    """Parse the reply to a prompt; `instructions` is the prompt without the texts to judge.

    Raises ReplyFormatError, whose message says what is wrong.
    """
    return first_fitting(text, task.parse, task.reply_model.key, prompt=prompt, instructions=instructions)


def first_request(task: Task, prompts: Prompts) -> RequestEstimate | None:
    """Return the first request of a dialogue about the task, or None if the reply is known without a call."""
    lines = Dialogue(task, prompts).lines
    return RequestEstimate(text=lines[0].text, repair=prompts.repair("." * ASSUMED_PROBLEM_CHARS)) if lines else None


MIN_COPY_CHARS = 30
"""Minimum length, in characters, at which a value that also occurs in the instructions counts as a copy of them."""

MAX_THOUGHT_ENDS = 10
"""Maximum number of end tags after which the next value is located, to recognise end tags inside a value."""

_THINKING = re.compile(r"\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\])", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}"]|,(?=\s*[\]}])', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_UNREADABLE = object()


def first_fitting(
    text: str, read: Callable[[Any], T], key: str | None, *, prompt: str = "", instructions: str = ""
) -> T:
    """Apply `read` to the first JSON object in the text with the key; if `key` is None, to the first list.

    A copy of an example in the `instructions` of the prompt is not a reply. A copy from the rest of the `prompt` counts
    as a reply if there is no other candidate, because a judged text can contain a valid reply by chance. Raises
    ReplyFormatError if `read` does, or if no candidate counts.
    """
    only = _only_value(text.strip(), key)
    answer = text if only else _without_thoughts(text, key)
    candidates = iter([only]) if only else _candidates(answer, key)
    for _, raw, value in candidates:
        if value is _UNREADABLE:
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


def _only_value(text: str, key: str | None) -> tuple[int, str, Any] | None:
    """Return the whole text as the only candidate if it is one JSON value, as most replies are; else None."""
    value: Any = _loaded(text) if text.startswith("[" if key is None else "{") else _UNREADABLE
    return (0, text, value) if value is not _UNREADABLE and (key is None or key in value) else None


def _without_thoughts(text: str, key: str | None) -> str:
    """Return the text after the thoughts; empty if the thoughts never end.

    An end tag inside a value does not end the thoughts: a reply may quote a tag.
    """
    begin, ended, value = 0, not _THINKING.match(text), _first_value(text, 0, key)
    thoughts = 0
    for mark in _THOUGHT.finditer(text):
        if mark.start() not in value:
            begin, ended, thoughts = mark.end(), True, thoughts + 1
            value = _first_value(text, begin, key) if thoughts < MAX_THOUGHT_ENDS else range(0)
    return text[begin:] if ended else ""


def _first_value(text: str, begin: int, key: str | None) -> range:
    """Return the range of the first candidate after `begin`; empty if there is none."""
    place, raw, _ = next(_candidates(text[begin:], key), (0, "", None))
    return range(begin + place, begin + place + len(raw))


def _candidates(text: str, key: str | None) -> Iterator[tuple[int, str, Any]]:
    """Yield the start, text and value of every outermost value that can be the reply."""
    opening = "[" if key is None else "{"
    for start, raw, plain in _outermost(text, opening):
        value = _loaded(plain)
        if key is None or (f'"{key}"' in raw if value is _UNREADABLE else key in value):
            yield start, raw, value


def _outermost(text: str, opening: str) -> Iterator[tuple[int, str, str]]:
    """Yield every outermost bracketed part: its start, its text, and its text without trailing commas."""
    start = text.find(opening)
    while start >= 0:
        whole = _balanced(text, start)
        if whole is None:
            return
        end, plain = whole
        yield start, text[start:end], plain
        start = text.find(opening, end)


def _loaded(plain: str) -> Any:
    """Parse the value; `_UNREADABLE` if it is invalid JSON or cannot be encoded as UTF-8."""
    try:
        value = _DECODER.decode(plain)
        plain.encode()
        if "\\u" in plain:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return _UNREADABLE
    return value


def _balanced(text: str, start: int) -> tuple[int, str] | None:
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


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key twice")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, strict=False)
