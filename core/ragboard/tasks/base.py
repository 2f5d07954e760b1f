"""Base classes of tasks. A task is a question to a judge.

A task is a frozen dataclass with all texts of the question, so it can be hashed, journalled, cached and replayed. Its
reply is another frozen dataclass. Each module of `ragboard.tasks` has one task: its fields, how its prompt is filled,
how a reply is parsed and checked, its description for people, and the reply that a cost estimate assumes.
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
    "NotSent",
    "OnCall",
    "PromptFiles",
    "PromptTexts",
    "Reply",
    "ReplySizes",
    "ReplyT",
    "Role",
    "Task",
    "answer_or_reference",
    "as_json",
    "count_in_words",
    "ignore_call",
    "is_valid_reply",
    "reply_or_failure",
    "with_reason",
    "wrong_count",
]

Role = Literal["extract", "verify", "embed", "other"]
"""The roles of judges in an evaluation: split texts into statements, verify statements, compare texts (`embed`), and
all other tasks, most of which need a chat model."""

DRAW_STEP = 1000
"""In draw k of an evaluation, counted from 0, the `draw` of each task is increased by k times this number."""

MAX_TOKENS = 10**9
"""Maximum plausible number of tokens of a call. A larger count is treated as missing."""

HISTORY_NOTE = (
    "The question continues a conversation. Its earlier turns, the oldest first, show what the question and the texts "
    "below refer to. They are no evidence, and they are not judged."
)
"""The text before the earlier turns in a prompt. If it is changed, replies can change, but the judge's identity and the
task keys stay the same."""


class Reply(ABC):
    """A judge's reply. Subclasses are frozen dataclasses. Journals store their fields, so do not rename these."""

    __slots__ = ()

    @abstractmethod
    def describe(self) -> str:
        """Return a description of the reply for people: `together: 2 supported, 1 contradicted`."""


ReplyT = TypeVar("ReplyT", bound=Reply)
R_co = TypeVar("R_co", bound=Reply, covariant=True, default=Reply)


PromptFiles: TypeAlias = Mapping[str, tuple[str, ...]]
"""The fields that each prompt file contains, by file name. A question mark after a field means that it is optional."""


class PromptTexts(Protocol):
    """A set of prompts and the user's few-shot examples."""

    @property
    def texts(self) -> Mapping[str, str]:
        """The text of each prompt file, by its name without `.md`."""
        ...

    @property
    def examples(self) -> Mapping[str, tuple[LabelledExample, ...]]:
        """The user's labelled examples, by ARES quality."""
        ...


class Task(ABC, Generic[R_co]):
    """A question to a judge. Subclasses are frozen dataclasses. Task keys depend on their names and fields."""

    __slots__ = ()

    role: ClassVar[Role]
    """The role of the judge that answers the task."""
    is_judgement: ClassVar[bool] = True
    """Whether the reply is a judgement; False if it only splits, writes or compares texts."""
    suggested_judge: ClassVar[str] = ""
    """The judge that errors suggest, with its option. If empty, errors suggest a judge for the role."""
    reply: ClassVar[type[Reply]]
    """The type of the reply."""
    runs_first: ClassVar[bool] = False
    """Whether the task overtakes others in the queue, because other tasks wait for its reply."""
    reply_model: ClassVar[type[ReplyModel]]
    """The pydantic model of a chat model's JSON reply. Tasks without a prompt have none."""
    prompts: ClassVar[PromptFiles] = {}
    """The prompt files that the task type can use, the default first. Empty if it has no prompt."""
    instruction_fields: ClassVar[frozenset[str]] = frozenset({"n", "quality", "examples"})
    """Prompt fields with instructions. All other fields contain texts to judge."""
    tags: ClassVar[tuple[str, ...]] = ()
    """The tags around the texts to judge in the prompts."""
    history_note: ClassVar[str] = HISTORY_NOTE
    """The text that introduces the earlier turns of a conversation in the prompt."""

    draw: int
    """The number of the reply, from 0. Tasks that differ only in `draw` ask the same question again."""

    def prompt_file(self) -> str:
        """Return the name of the prompt file of this task. Raises NotImplementedError if it has no prompt."""
        if not self.prompts:
            raise NotImplementedError(f"{type(self).__name__} has no prompt")
        return next(iter(self.prompts))

    def prompt_fields(self, prompts: PromptTexts, mark: str) -> dict[str, str]:
        """Return the text of each prompt field. `mark` is appended to the name of every tag (see `markup`).

        Raises NotImplementedError if the task has no prompt.
        """
        del prompts, mark
        raise NotImplementedError(f"{type(self).__name__} has no prompt")

    def examples_in_prompt(self, prompts: PromptTexts) -> tuple[LabelledExample, ...] | None:
        """Return the user's examples for the prompt; None if the prompt has no examples."""
        del prompts
        return None

    def trivial_reply(self) -> R_co | None:
        """Return the reply if no judge is needed, for example for an empty text; else None."""
        return None

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a reply. It does not limit counts and numbers; `parse` and `check` do."""
        return schema_of(self.reply_model)

    def parse(self, value: Json) -> R_co:
        """Convert a model's JSON to the reply.

        Raises ReplyFormatError if the JSON is not a reply; its message is sent to the model. Raises NotImplementedError
        if the task has no prompt.
        """
        del value
        raise NotImplementedError(f"{type(self).__name__} cannot be sent to a chat model")

    def check(self, reply: Any, /) -> str | None:
        """Return what is wrong if the reply does not fit the task, such as a wrong number of verdicts; else None."""
        del reply
        return None

    @abstractmethod
    def describe(self, sample: Sample) -> str:
        """Return a description of the task for people: `Check 3 statements against 5 passages, together`."""

    @abstractmethod
    def simulate(self, sizes: ReplySizes) -> tuple[R_co, str]:
        """Return a reply of the assumed size and the JSON text that a model would write, for cost estimates.

        The JSON text can have other labels than the reply, because it has the longest labels.
        """


AnyTask: TypeAlias = Task[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """There is no usable reply to a task."""

    detail: str
    """The reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NotSent(Failure):
    """The task was not sent, because a limit of cost, calls or time was reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One answered call to a model: the text of the reply, and the tokens that the server counted."""

    text: str = ""
    """The raw reply; empty for embeddings."""
    prompt_tokens: int | None = None
    """None if the server does not report it."""
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """The part of `prompt_tokens` that the server read from its cache."""
    truncated: bool = False
    """Whether the reply was cut off at the token limit."""
    batch: bool = False
    """Whether the request was in a batch, which is charged at another price."""

    def __post_init__(self) -> None:
        """Replace values that cannot be token counts with None."""
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and 0 <= value <= MAX_TOKENS):
                object.__setattr__(self, name, None)


OnCall: TypeAlias = Callable[[Task, Exchange], None]
"""A callback after every call to a model. If the call answers several tasks, it gets the first of them."""


def ignore_call(_task: Task, _exchange: Exchange) -> None:
    """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class ReplySizes:
    """The sizes of replies that a cost estimate assumes. Lengths are in characters."""

    statements: int | None = None
    """Statements per answer; None: as many as `split` returns."""
    reference_statements: int | None = None
    """Statements per reference; None: as many as `split` returns."""
    worst_case: bool = False
    """Whether to assume the longest replies. Every statement is then as long as the longest, and there are at least as
    many as `split` returns."""
    question: int = 60
    reason: int = 80
    quote: int = 60
    answer: int = 150
    repairs: int = 0
    """Number of repair requests per task."""

    def split(self, text: str) -> tuple[list[str], bool]:
        """Return the assumed statements of a text, one per sentence, and whether it is a refusal (always False)."""
        return [text[start:end] for start, end in sentence_spans(text)], False


def reply_or_failure(task: Task, reply: Reply | Failure) -> Reply | Failure:
    """Return the reply if it fits the task, else a Failure with the reason."""
    if isinstance(reply, Failure):
        return reply
    problem = _mismatch(task, reply)
    return reply if problem is None else Failure(detail=f"the judge's reply does not fit the task: {problem}")


def is_valid_reply(task: Task, reply: Reply | Failure) -> bool:
    """Return whether a stored reply fits the task. A Failure always does."""
    return isinstance(reply, Failure) or _mismatch(task, reply) is None


def _mismatch(task: Task, reply: Reply) -> str | None:
    if type(reply) is not task.reply:
        return f"{type(reply).__name__} is not a reply to {type(task).__name__}"
    return task.check(reply)


def wrong_count(plural: str, got: int, expected: int) -> str | None:
    """Return a message with both numbers; None if they are equal."""
    return None if got == expected else f"expected {expected} {plural}, got {got}"


def as_json(value: object) -> str:
    """Return the value as JSON text, as a model would write it."""
    return json.dumps(value, ensure_ascii=False)


def count_in_words(items: Sequence[object], noun: str) -> str:
    """Return the number of items with a noun: `1 statement`, `2 statements`."""
    return f"{len(items):,} {noun}{'' if len(items) == 1 else 's'}"


def answer_or_reference(text: str, sample: Sample) -> str:
    """Return `reference` if the text is the sample's reference and not also its answer, else `answer`."""
    return "reference" if text == sample.reference and text != sample.answer else "answer"


def with_reason(verdict: str, reason: str) -> str:
    """Join a verdict and its reason: `yes: it is short`."""
    return f"{verdict}: {reason}" if reason else verdict
