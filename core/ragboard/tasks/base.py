"""Base classes of tasks. A task is a question to a judge.

A task is a frozen dataclass with everything that the question consists of, so it can be hashed, journalled, cached and
replayed. Its reply is another frozen dataclass. `draw` numbers independent replies to the same question. `history` has
the earlier turns of the conversation, oldest first. The module of a task defines its prompt fields, how a reply is
parsed and checked, its description for people, and the reply that a cost estimate assumes.
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
"""The roles of judges in an evaluation. `ask` is for tasks that need a chat model. A judge can have several roles."""

DRAW_STEP = 1000
"""An evaluation adds this to `draw` for each of its further draws. The draws of a single metric are below it."""

MAX_TOKENS = 10**9
"""Maximum plausible number of tokens of a call; a larger count is treated as missing."""

HISTORY_NOTE = (
    "The question continues a conversation. Its earlier turns, the oldest first, show what the question and the texts "
    "below refer to. They are no evidence, and they are not judged."
)
"""Introduces the earlier turns in a prompt. Replies depend on this text, but a judge's identity does not include it."""


class Reply(ABC):
    """A judge's reply. Subclasses are frozen dataclasses. Do not rename them or their fields: journals store both."""

    __slots__ = ()

    @abstractmethod
    def describe(self) -> str:
        """Return a description of the reply for people: `together: 2 supported, 1 contradicted`."""


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
        """Labelled examples, by ARES quality."""
        ...


class Task(ABC, Generic[R_co]):
    """A question to a judge. Subclasses are frozen dataclasses. Their names and fields are part of task keys."""

    __slots__ = ()

    role: ClassVar[Role]
    """The role of the judge that answers the task."""
    is_judgement: ClassVar[bool] = True
    """Whether the reply is a judgement; False if it only splits, writes or compares texts."""
    judge_needed: ClassVar[str] = ""
    """The judge to suggest in errors, with its option. Empty if any judge for the role may be suggested."""
    reply: ClassVar[type[Reply]]
    """The type of the reply."""
    runs_first: ClassVar[bool] = False
    """Whether the task goes before others in the queue, because other tasks need its reply."""
    reply_model: ClassVar[type[ReplyModel]]
    """The pydantic model of a chat model's JSON reply; not set for a task without a prompt."""
    prompts: ClassVar[PromptFiles] = {}
    """The prompt files that the task type can use, the default first. Empty if it has no prompt."""
    instruction_fields: ClassVar[frozenset[str]] = frozenset({"n", "quality", "examples"})
    """Prompt fields with instructions; all other fields contain texts to judge."""
    tags: ClassVar[tuple[str, ...]] = ()
    """The tags around the texts to judge in the prompts."""
    history_note: ClassVar[str] = HISTORY_NOTE
    """The text that introduces the earlier turns of a conversation in the prompt."""

    draw: int
    """The number of the draw; tasks that differ only in this ask the same question independently."""

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
        """Return the reply if it is known without asking the judge (an empty text, no passages), else None."""
        return None

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the reply. Limits for counts and numbers are only in `parse` and `check`."""
        return schema_of(self.reply_model)

    def parse(self, value: Json) -> R_co:
        """Convert a model's JSON to the reply.

        Raises ReplyFormatError with a message that tells the model what is wrong, NotImplementedError if the task has
        no prompt.
        """
        del value
        raise NotImplementedError(f"{type(self).__name__} cannot be sent to a chat model")

    def check(self, reply: Any, /) -> str | None:
        """Return a message if the reply does not fit the task, such as a wrong number of verdicts; else None."""
        del reply
        return None

    @abstractmethod
    def describe(self, sample: Sample) -> str:
        """Return a description of the task for people: `Check 3 statements against 5 passages, together`."""

    @abstractmethod
    def simulate(self, sizes: Sizes) -> tuple[R_co, str]:
        """Return, for cost estimates, a reply of the assumed size and the JSON text that a model would write.

        The JSON text may differ from the reply: it contains the longest words that a model may write.
        """


AnyTask: TypeAlias = Task[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """The judge gave no usable reply to this task; `detail` says why."""

    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NotAsked(Failure):
    """The judge was not asked, because a limit for cost, calls or time was reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One answered call to a model: the text of the reply, and the tokens that the server counted."""

    text: str = ""
    """The raw reply; empty for embeddings."""
    prompt_tokens: int | None = None
    """None if the server does not report it."""
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """The prompt tokens that the server read from its cache."""
    truncated: bool = False
    """Whether the reply was cut off at the token limit."""
    batch: bool = False
    """Whether the request was in a batch, which has a different price."""

    def __post_init__(self) -> None:
        """Replace values that cannot be token counts with None."""
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            value = getattr(self, name)
            if not (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS):
                object.__setattr__(self, name, None)


OnCall: TypeAlias = Callable[[Task, Exchange], None]
"""A callback after every call to a model. For a call that answers several tasks, it gets the first of these tasks."""


def ignore_call(_task: Task, _exchange: Exchange) -> None:
    """Do nothing; the `OnCall` for callers that do not count calls."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of replies that a cost estimate assumes. Lengths are in characters."""

    statements: int | None = None
    """Statements per answer; None: the number that `split` returns."""
    reference_statements: int | None = None
    """Statements per reference; None: the number that `split` returns."""
    at_least: bool = False
    """Whether to assume the worst case. The numbers of statements are then minimums: `split` can return more. All
    statements are as long as the longest."""
    question: int = 60
    reason: int = 80
    quote: int = 60
    answer: int = 150
    repairs: int = 0
    """Number of repair requests per task."""

    def split(self, text: str) -> tuple[list[str], bool]:
        """Return the assumed statements of a text, one per sentence, and whether it declines to answer (never)."""
        return [text[start:end] for start, end in sentence_spans(text)], False


def reply_or_failure(task: Task, reply: Reply | Failure) -> Reply | Failure:
    """Return the reply, or a Failure that says why it does not fit the task."""
    if isinstance(reply, Failure):
        return reply
    problem = _mismatch(task, reply)
    return reply if problem is None else Failure(detail=f"the judge's reply does not fit the task: {problem}")


def is_valid_reply(task: Task, reply: Reply | Failure) -> bool:
    """Return whether a stored reply fits the task; a Failure always fits."""
    return isinstance(reply, Failure) or _mismatch(task, reply) is None


def _mismatch(task: Task, reply: Reply) -> str | None:
    if type(reply) is not task.reply:
        return f"{type(reply).__name__} is not a reply to {type(task).__name__}"
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
    """Return `reference` if the text is the sample's reference and differs from its answer, else `answer`."""
    return "reference" if text == sample.reference and text != sample.answer else "answer"


def with_reason(verdict: str, reason: str) -> str:
    """Join a verdict and its reason: `yes: it is short`."""
    return f"{verdict}: {reason}" if reason else verdict
