"""Base classes of questions to a judge. A task is a value: it can be hashed, journalled, cached and replayed.

A task is a frozen dataclass that holds everything the question is made of; its reply is another frozen dataclass.
`draw` numbers independent answers to the same question. `history` holds the earlier turns of the conversation, oldest
first. The module of a task defines everything about it: its prompt fields, how a reply is parsed and checked, its
description for people, and the reply that a cost estimate assumes.
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
    "DRAW_STEP",
    "AnyTask",
    "Exchange",
    "Failure",
    "NotAsked",
    "OnCall",
    "PromptFiles",
    "PromptTexts",
    "Reply",
    "ReplyT",
    "Role",
    "Sizes",
    "Task",
    "as_json",
    "count_of",
    "ignore_call",
    "is_valid_reply",
    "reply_or_failure",
    "side_of",
    "with_reason",
    "wrong_count",
]

Role = Literal["extract", "verify", "ask", "embed"]
"""What a judge does in an evaluation; one judge can have several roles."""

DRAW_STEP = 1000
"""Added to `draw` for each further draw of an evaluation; the draws of one metric are below it."""

MOST_TOKENS = 10**9
"""The most tokens that a call can have; a larger count is treated as missing."""

HISTORY_NOTE = (
    "The question continues a conversation. Its earlier turns, the oldest first, show what the question and the texts "
    "below refer to. They are no evidence, and they are not judged."
)
"""Introduces the earlier turns. Replies depend on these words, but identities of judges do not include them."""


class Reply(ABC):
    """A judge's reply. Subclasses are frozen dataclasses; their names and fields are stored in journals."""

    __slots__ = ()

    @abstractmethod
    def describe(self) -> str:
        """Describe the reply for people: `together: 2 supported, 1 contradicted`."""


ReplyT = TypeVar("ReplyT", bound=Reply)
R_co = TypeVar("R_co", bound=Reply, covariant=True, default=Reply)


PromptFiles: TypeAlias = Mapping[str, tuple[str, ...]]
"""The fields of each prompt file, by file name; a field that ends with a question mark is optional."""


class PromptTexts(Protocol):
    """A set of prompts and the user's few-shot examples."""

    @property
    def texts(self) -> Mapping[str, str]:
        """Text of each prompt file, by its name without `.md`."""
        ...

    @property
    def examples(self) -> Mapping[str, tuple[LabelledExample, ...]]:
        """Labelled examples, by quality of ARES."""
        ...


class Task(ABC, Generic[R_co]):
    """One question to a judge. Subclasses are frozen dataclasses; their names and fields are part of task keys."""

    __slots__ = ()

    role: ClassVar[Role]
    """The role of the judge that answers it."""
    is_judgement: ClassVar[bool] = True
    """False if the reply only splits, writes or compares texts."""
    judge_needed: ClassVar[str] = ""
    """Which judge answers it and how to name it, if another judge of its role does not; empty: as for the role."""
    reply: ClassVar[type[Reply]]
    """The type of its reply."""
    runs_first: ClassVar[bool] = False
    """Whether it is sent first, because other tasks need its reply."""
    reply_model: ClassVar[type[ReplyModel]]
    """The JSON that a model replies with; not set for a task without a prompt."""
    prompts: ClassVar[PromptFiles] = {}
    """The prompt files that it can use, the default first. Empty for a task without a prompt."""
    instruction_fields: ClassVar[frozenset[str]] = frozenset({"n", "quality", "examples"})
    """Prompt fields that hold instructions; all other fields hold texts to judge."""
    tags: ClassVar[tuple[str, ...]] = ()
    """The tags that its prompts put around the texts to judge."""
    history_note: ClassVar[str] = HISTORY_NOTE
    """The sentence that introduces the earlier turns of a conversation in the prompt."""

    draw: int

    def prompt_file(self) -> str:
        """Return the name of the prompt file of this task. Raises NotImplementedError if it has no prompt."""
        if not self.prompts:
            raise NotImplementedError(f"{type(self).__name__} has no prompt")
        return next(iter(self.prompts))

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """Return the text of each prompt field; `mark` is appended to the name of every tag (see `markup`).

        Raises NotImplementedError if the task has no prompt.
        """
        del prompts, mark
        raise NotImplementedError(f"{type(self).__name__} has no prompt")

    def shown_examples(self, prompts: PromptTexts) -> tuple[LabelledExample, ...] | None:
        """Return the user's examples that the prompt shows, or None if the prompt has no field for examples."""
        del prompts
        return None

    def trivial_reply(self) -> R_co | None:
        """Return the reply if it is known without asking (an empty text, no passage), else None."""
        return None

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the reply. It does not limit counts and numbers; `parse` and `check` do."""
        return schema_of(self.reply_model)

    def parse(self, value: Json) -> R_co:
        """Read the reply from a model's JSON.

        Raises ReplyFormatError, whose message tells the model what is wrong, and NotImplementedError if the task has no
        prompt.
        """
        del value
        raise NotImplementedError(f"{type(self).__name__} cannot be sent to a chat model")

    def check(self, reply: Any, /) -> str | None:
        """Return how the reply deviates from what was asked, in words; None if it does not."""
        del reply
        return None

    @abstractmethod
    def describe(self, sample: Sample) -> str:
        """Describe the task for people: `Check 3 statements against 5 passages, together`."""

    @abstractmethod
    def simulate(self, sizes: Sizes) -> tuple[R_co, str]:
        """Return a reply of the assumed size, and the JSON text that a model would write; for cost estimates."""


AnyTask: TypeAlias = Task[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """The judge gave no usable reply to this task; `detail` says why."""

    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NotAsked(Failure):
    """The judge was not asked, because a limit of cost, calls or time was reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One answered call to a model: the text of the reply, and the tokens that the server counted."""

    text: str = ""
    """The raw reply; empty for embeddings."""
    prompt_tokens: int | None = None
    """None if the server does not report it."""
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens that the server took from its cache."""
    truncated: bool = False
    """Whether the reply was cut off at the token limit."""
    batch: bool = False
    """Whether it was a request in a batch, which has a price of its own."""

    def __post_init__(self) -> None:
        """Replace values that cannot be token counts with None."""
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            value = getattr(self, name)
            if not (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS):
                object.__setattr__(self, name, None)


OnCall: TypeAlias = Callable[[Task, Exchange], None]
"""Called after every call to a model; a call that answers several tasks is passed with the first of them."""


def ignore_call(_task: Task, _exchange: Exchange) -> None:
    """Do nothing; the `OnCall` for callers that do not count calls."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of replies that a cost estimate assumes. Lengths are in characters."""

    statements: int | None = None
    """Statements per answer; None: as many as `split` finds."""
    reference_statements: int | None = None
    """Statements per reference; None: as many as `split` finds."""
    at_least: bool = False
    """Treat the numbers of statements as minimums: use more if `split` finds more, each as long as the longest."""
    question: int = 60
    reason: int = 80
    quote: int = 60
    answer: int = 150
    repairs: int = 0
    """Requests per task that ask the model to repair its reply."""

    def split(self, text: str) -> tuple[list[str], bool]:
        """Return the statements of a text, one per sentence, and whether it declines to answer (here always False)."""
        return [text[start:end] for start, end in sentence_spans(text)], False


def reply_or_failure(task: Task, reply: Reply | Failure) -> Reply | Failure:
    """Return the reply, or a Failure that says how it deviates from what was asked."""
    if isinstance(reply, Failure):
        return reply
    problem = _mismatch(task, reply)
    return reply if problem is None else Failure(detail=f"the judge's reply does not fit the task: {problem}")


def is_valid_reply(task: Task, reply: Reply | Failure) -> bool:
    """Return whether a stored reply fits the task; a failure always does."""
    return isinstance(reply, Failure) or _mismatch(task, reply) is None


def _mismatch(task: Task, reply: Reply) -> str | None:
    if type(reply) is not task.reply:
        return f"a {type(reply).__name__} is no reply to {type(task).__name__}"
    return task.check(reply)


def wrong_count(plural: str, got: int, expected: int) -> str | None:
    """Return a message that names both numbers, or None if they are equal."""
    return None if got == expected else f"expected {expected} {plural}, got {got}"


def as_json(value: object) -> str:
    """Return the value as JSON text, as a model would write it."""
    return json.dumps(value, ensure_ascii=False)


def count_of(items: Sequence[object], noun: str) -> str:
    """Return the number of items with its noun: `1 statement`, `2 statements`."""
    return f"{len(items):,} {noun}{'' if len(items) == 1 else 's'}"


def side_of(text: str, sample: Sample) -> str:
    """Return `reference` if the text is the sample's reference and not its answer, else `answer`."""
    return "reference" if text == sample.reference and text != sample.answer else "answer"


def with_reason(verdict: str, reason: str) -> str:
    """Join a verdict and its reason: `yes: it is short`."""
    return f"{verdict}: {reason}" if reason else verdict
