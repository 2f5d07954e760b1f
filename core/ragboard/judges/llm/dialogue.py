"""The conversation with a model about one task: the prompt, its reply, and at most two repair requests.

The JSON value that was asked for is found in whatever the model wrote: markdown fences, prose and a closed block of
thoughts (`<think>`, `<reasoning>`, `[THINK]`) around it do not matter, and a comma before a closing bracket is read
over. Nothing else is mended: a value that is cut off, that names a key twice, or that holds NaN is no value, and
nothing inside a broken value is looked at.

Models go on: with code, with questions of their own and answers to these. So the first value that
was meant counts, and where that one does not fit, none that comes later is taken in its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ragboard.judges.base import Request
from ragboard.judges.llm.prompts import Prompts
from ragboard.tasks import Failure, Reply, ReplyFormatError, Task

__all__ = ["ECHOED", "REPAIRS", "Dialogue", "Line", "first_fitting", "first_request", "read_reply"]

T = TypeVar("T")

REPAIRS = 2
"""The most repair requests per task."""

ECHOED = 8_000
"""The most characters of a reply in a repair request."""

RAW_SHOWN = 2_000
"""The most characters of a reply in a failure."""

PROBLEM = 250
"""The assumed characters of an error in a repair request, for estimates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One message of the conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass
class Dialogue:
    """Holds the messages so far and the next one, until there is a result."""

    task: Task
    prompts: Prompts
    lines: list[Line] = field(default_factory=list[Line])
    result: Reply | Failure | None = None
    repairs: int = 0

    def __post_init__(self) -> None:
        self.result = self.task.without_asking()
        if self.result is None:
            self.lines.append(Line(role="user", text=self.prompts.render(self.task)))

    def receive(self, text: str, *, cut: bool = False) -> None:
        """Read a reply; `cut` if it was cut off at the token limit."""
        text = text.encode("utf-8", "replace").decode()
        try:
            self.result = read_reply(self.task, text, self.lines[0].text, self.prompts.instructions(self.task))
        except ReplyFormatError as error:
            self._repair(text, f"{error}; it was cut off at the token limit" if cut else str(error))

    def fail(self, detail: str) -> None:
        """End the conversation with a failure."""
        self.result = Failure(detail=detail)

    def as_text(self) -> str:
        """Return all messages as one prompt, for a model that takes only one."""
        first, *later = self.lines
        said = (f"{'Your reply was:' if line.role == 'assistant' else 'But:'}\n{line.text}" for line in later)
        return "\n\n".join((first.text, *said))

    def _repair(self, text: str, problem: str) -> None:
        if self.repairs == REPAIRS:
            times = f"after {REPAIRS} requests to repair it"
            self.fail(f"the reply does not fit what was asked, {times}: {problem}; reply: {text[:RAW_SHOWN]}")
            return
        self.repairs += 1
        self.lines += (
            Line(role="assistant", text=text.strip()[:ECHOED] or "(nothing)"),
            Line(role="user", text=self.prompts.repair(problem)),
        )


def read_reply(task: Task, text: str, prompt: str = "", instructions: str = "") -> Reply:
    """The reply in the text to that prompt, of which the instructions are ours and the rest is judged.

    Raises ReplyFormatError saying what is wrong with it.
    """
    return first_fitting(text, task.parse, task.reply_model.key, prompt=prompt, instructions=instructions)


def first_request(task: Task, prompts: Prompts) -> Request | None:
    """Return the first request of a dialogue about the task, or None if the answer is known without asking."""
    lines = Dialogue(task, prompts).lines
    return Request(text=lines[0].text, repair=prompts.repair("." * PROBLEM)) if lines else None


ECHO = 30
"""Characters from which on a value that stands in the prompt is a copy from there and no reply."""

THOUGHTS = 10
"""How often a value is looked for after an end of thoughts; from then on every end of thoughts is one."""

_THINKING = re.compile(r"\s*(?:<(?:think|thinking|thought|reasoning)>|\[THINK\])", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}"]|,(?=\s*[\]}])', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_UNREADABLE = object()


def first_fitting(
    text: str, read: Callable[[Any], T], key: str | None, *, prompt: str = "", instructions: str = ""
) -> T:
    """What `read` makes of the first JSON object in the text that has the key; without one, of the first list.

    `prompt` is what was asked, and `instructions` the part of it that is ours: an example copied from there is no
    reply. A text that was judged may hold the very reply, so a copy from there is one unless another comes with it.
    Raises ReplyFormatError: what `read` says, or that nothing of the kind is there.
    """
    meant = _meant(_said(text, key), key)
    for _, raw, value in meant:
        if value is _UNREADABLE:
            raise ReplyFormatError("it holds JSON that cannot be read")
        if raw in instructions and len(raw) >= ECHO:
            raise ReplyFormatError("it repeats the example")
        if (raw in instructions or raw in prompt) and any(other != raw for _, other, _ in meant):
            copied = "the example" if raw in instructions else "a text that it was given"
            raise ReplyFormatError(f"it repeats {copied}")
        return read(value)
    what = "list" if key is None else f"JSON object with the key `{key}`"
    raise ReplyFormatError(f"it holds no whole {what}" if text.strip() else "it is empty")


def _said(text: str, key: str | None) -> str:
    """The text without thoughts before it; nothing where they never came to their end.

    The end of thoughts that stands inside a value is part of it: a reply may quote one.
    """
    begin, ended, value = 0, not _THINKING.match(text), _first_value(text, 0, key)
    thoughts = 0
    for mark in _THOUGHT.finditer(text):
        if mark.start() not in value:
            begin, ended, thoughts = mark.end(), True, thoughts + 1
            value = _first_value(text, begin, key) if thoughts < THOUGHTS else range(0)
    return text[begin:] if ended else ""


def _first_value(text: str, begin: int, key: str | None) -> range:
    """Where the first value that can be the reply stands, from `begin` on."""
    place, raw, _ = next(_meant(text[begin:], key), (0, "", None))
    return range(begin + place, begin + place + len(raw))


def _meant(text: str, key: str | None) -> Iterator[tuple[int, str, Any]]:
    """The place, text and value of everything outermost that can be the reply."""
    opening = "[" if key is None else "{"
    for start, raw, plain in _outermost(text, opening):
        value = _loaded(plain)
        if key is None or (f'"{key}"' in raw if value is _UNREADABLE else key in value):
            yield start, raw, value


def _outermost(text: str, opening: str) -> Iterator[tuple[int, str, str]]:
    """Every outermost stretch in brackets: its place, and as it is and without trailing commas, in order."""
    start = text.find(opening)
    while start >= 0:
        whole = _balanced(text, start)
        if whole is None:
            return
        end, plain = whole
        yield start, text[start:end], plain
        start = text.find(opening, end)


def _loaded(plain: str) -> Any:
    """The value, unreadable where this is no JSON or holds what cannot be kept as UTF-8."""
    try:
        value = json.loads(plain, object_pairs_hook=_unique, parse_constant=_no_constant, strict=False)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return _UNREADABLE
    return value


def _balanced(text: str, start: int) -> tuple[int, str] | None:
    """Where the value that opens at `start` ends, and its text without trailing commas."""
    open_brackets: list[str] = []
    kept, copied = [], start
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark == ",":
            kept.append(text[copied : token.start()])
            copied = token.end()
        elif mark in _CLOSING:
            open_brackets.append(_CLOSING[mark])
        elif mark in "]}":
            if open_brackets.pop() != mark:
                return None
            if not open_brackets:
                return token.end(), "".join((*kept, text[copied : token.end()]))
        elif mark == '"':
            return None
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
