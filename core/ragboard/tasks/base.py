"""What a question to a judge is: a value that can be hashed, journalled, cached, replayed and sent elsewhere.

A task is a frozen dataclass that holds all that the question is made of, and its reply another. `draw` tells apart
several independent answers to one question; `history` holds the earlier turns of the conversation that the question
belongs to, the oldest first. All that there is to say of one kind of task is in its module: the prompt, the JSON that
a model replies with, whether a reply fits, how both are described, and what a reply would be.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias

from typing_extensions import TypeVar

from ragboard.records import Sample
from ragboard.tasks.examples import LabelledExample
from ragboard.tasks.replies import Json, ReplyModel, schema_of
from ragboard.text.sentences import sentence_spans

__all__ = [
    "AnyTask",
    "Exchange",
    "Failure",
    "NotAsked",
    "OnCall",
    "PromptFiles",
    "PromptTexts",
    "R",
    "Reply",
    "Role",
    "Sizes",
    "Task",
    "as_json",
    "count_of",
    "fits",
    "fitting",
    "ignore_call",
    "side_of",
    "with_reason",
    "wrong_count",
]

Role = Literal["extract", "verify", "ask", "embed"]
"""Who does what in an evaluation; one judge may fill several."""

MOST_TOKENS = 10**9
"""No call has more: a larger number of tokens is none."""

CONTINUES = (
    "The question continues a conversation. Its earlier turns, the oldest first, show what the question and the texts "
    "below refer to. They are no evidence, and they are not judged."
)
"""Replies to tasks with history depend on these words; identities do not hold them."""


class Reply(ABC):
    """What a judge replies. Its subclasses are frozen dataclasses; their names and fields are in journals."""

    __slots__ = ()

    @abstractmethod
    def describe(self) -> str:
        """In words, for a person: `3 statements: 2 supported, 1 contradicted`."""


R = TypeVar("R", bound=Reply)
R_co = TypeVar("R_co", bound=Reply, covariant=True, default=Reply)


PromptFiles: TypeAlias = Mapping[str, tuple[str, ...]]
"""Prompt files by name, each with its fields; one with a question mark may be left out."""


class PromptTexts(Protocol):
    """A set of prompts, and a person's few-shot examples."""

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of the files, by their names without `.md`."""
        ...

    @property
    def examples(self) -> Mapping[str, tuple[LabelledExample, ...]]:
        """By quality."""
        ...


class Task(ABC, Generic[R_co]):
    """One question to a judge; its subclasses are frozen dataclasses. Their names and fields are part of task keys."""

    __slots__ = ()

    role: ClassVar[Role]
    reply: ClassVar[type[Reply]]
    runs_first: ClassVar[bool] = False
    """Whether other tasks wait for its reply."""
    reply_model: ClassVar[type[ReplyModel]]
    """The JSON that a model is to reply with; nothing for a task without a prompt."""
    prompts: ClassVar[PromptFiles] = {}
    """Those that it may be asked with."""
    instruction_fields: ClassVar[frozenset[str]] = frozenset({"n", "quality", "examples"})
    """Fields that hold instructions, not texts that are judged."""
    tags: ClassVar[tuple[str, ...]] = ()
    """The tags that its prompts put around texts."""
    history_note: ClassVar[str] = CONTINUES
    """What a prompt says before the earlier turns of a conversation."""

    draw: int

    def prompt_file(self) -> str:
        """The file that this task is asked with."""
        return next(iter(self.prompts))

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """The text of each field; `mark` ends the name of every tag."""
        del prompts, mark
        raise NotImplementedError(f"{type(self).__name__} has no prompt")

    def shown_examples(self, prompts: PromptTexts) -> tuple[LabelledExample, ...] | None:
        """A person's examples that the prompt shows; None where it has no place for such."""
        del prompts
        return None

    def without_asking(self) -> R_co | None:
        """The reply where there is nothing to ask about."""
        return None

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the reply; counts and numbers are checked when the reply is read."""
        return schema_of(self.reply_model)

    def parse(self, value: Json) -> R_co:
        """The reply in a model's JSON. Raises ReplyFormatError that says what is wrong with it."""
        del value
        raise NotImplementedError(f"{type(self).__name__} is not asked of a chat model")

    def check(self, reply: Any, /) -> str | None:
        """How the reply deviates from what was asked, or None."""
        del reply
        return None

    @abstractmethod
    def describe(self, sample: Sample) -> str:
        """In words, for a person: `Hold 3 statements against 5 passages`."""

    @abstractmethod
    def simulate(self, sizes: Sizes) -> tuple[R_co, str]:
        """A reply of the kind and size that this task would get, and the text in which a model would give it."""


AnyTask: TypeAlias = Task[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """The judge gave no usable answer to this one task, and why."""

    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NotAsked(Failure):
    """Nobody was asked: a limit was reached before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One call to a model that was answered: what it said, and its tokens as the server counted them."""

    said: str = ""
    """The raw text; empty for embeddings."""
    prompt_tokens: int | None = None
    """None where the server does not say."""
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Those of the prompt that the server had kept from earlier calls."""
    cut: bool = False
    """Whether the reply was cut off at the token limit."""

    def __post_init__(self) -> None:
        """What cannot be a count of tokens is as if the server had not said it."""
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            value = getattr(self, name)
            if not (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS):
                object.__setattr__(self, name, None)


OnCall: TypeAlias = Callable[[Task, Exchange], None]
"""Told of every call as soon as it is answered; one that served several tasks is told with the first."""


def ignore_call(_task: Task, _exchange: Exchange) -> None:
    """For who does not count calls."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large replies are taken to be, and how often one is asked for again. Lengths are in characters."""

    statements: int | None = None
    """Statements of an answer; None: as many as `split` finds in it."""
    reference_statements: int | None = None
    """Statements of a reference; None: as many as `split` finds in it."""
    at_least: bool = False
    """Whether these are least numbers: more where the text holds more, each as long as the longest in it."""
    question: int = 60
    reason: int = 80
    quote: int = 60
    answer: int = 150
    repairs: int = 0
    """Requests to repair, for every task."""

    def split(self, text: str) -> tuple[list[str], bool]:
        """The statements of a text, and whether it declines to answer: each sentence is one."""
        return [text[start:end] for start, end in sentence_spans(text)], False


def fitting(task: Task, reply: Reply | Failure) -> Reply | Failure:
    """The reply, or a Failure that says how it deviates from what was asked."""
    if isinstance(reply, Failure):
        return reply
    problem = _misfit(task, reply)
    return reply if problem is None else Failure(detail=f"the judge's reply does not fit the task: {problem}")


def fits(task: Task, reply: Reply | Failure) -> bool:
    """Whether what was kept as the answer to a task can be one; a failure always can."""
    return isinstance(reply, Failure) or _misfit(task, reply) is None


def _misfit(task: Task, reply: Reply) -> str | None:
    if type(reply) is not task.reply:
        return f"{type(reply).__name__} in answer to {type(task).__name__}"
    return task.check(reply)


def wrong_count(what: str, got: int, asked: int) -> str | None:
    """The complaint where these numbers differ."""
    return None if got == asked else f"{got} {what}, {asked} were asked for"


def as_json(value: object) -> str:
    """The text in which a model would give this value."""
    return json.dumps(value, ensure_ascii=False)


def count_of(things: Sequence[object], name: str) -> str:
    """`1 statement`, `2 statements`."""
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"


def side_of(text: str, sample: Sample) -> str:
    """Whether a text is the sample's reference or its answer."""
    return "reference" if text == sample.reference and text != sample.answer else "answer"


def with_reason(said: str, reason: str) -> str:
    """`yes: it is short`."""
    return f"{said}: {reason}" if reason else said
