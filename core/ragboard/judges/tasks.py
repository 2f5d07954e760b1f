"""What one can ask a judge, as values, and the typed replies.

A task is frozen and holds all that the question is made of, so that it can be hashed, journalled,
cached, replayed and sent elsewhere. `draw` tells apart several independent answers to one question;
`history` holds the earlier turns of the conversation that the question belongs to, the oldest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from ragboard.records import Span, Turn, Verdict

__all__ = [
    "LEADING",
    "AnswerKind",
    "AnswerRated",
    "AresQuality",
    "Batching",
    "Classified",
    "Classify",
    "Critique",
    "Critiqued",
    "Entities",
    "Example",
    "Exchange",
    "ExtractEntities",
    "ExtractStatements",
    "Extracted",
    "Extraction",
    "Failure",
    "GenerateQuestions",
    "Hear",
    "Judge",
    "JudgePassages",
    "Prefer",
    "Preference",
    "Quality",
    "Questions",
    "Rate",
    "RateAnswer",
    "Rating",
    "Reply",
    "Request",
    "Role",
    "SelectSentences",
    "Selection",
    "Sender",
    "Similarities",
    "Similarity",
    "Task",
    "Unasked",
    "Usefulness",
    "Verification",
    "Verify",
    "WriteAnswer",
    "WriteQuestions",
    "Written",
    "unheard",
]

Role = Literal["extract", "verify", "ask", "embed"]
"""Who does what in an evaluation; one judge may fill several."""

Quality = Literal["faithfulness", "answer_relevance", "context_relevance"]
"""What a judge may rate or compare directly: the three qualities of the RAGAS paper."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractStatements:
    """Break a text, the answer to a question, into atomic statements. Reply: `Extraction`."""

    role: ClassVar[Role] = "extract"
    question: str
    text: str
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Extracted:
    """One statement of the text and, where it could be found, its place there."""

    text: str
    span: Span | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Extraction:
    """The statements of a text in reading order; a refusal is not one of them."""

    statements: tuple[Extracted, ...]
    refuses: bool
    """Whether the text declines to answer, in whole or in part."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verify:
    """Hold each statement against texts. Reply: `Verification`."""

    role: ClassVar[Role] = "verify"
    question: str
    statements: tuple[str, ...]
    passages: tuple[str, ...]
    joint: bool
    """Ask what the passages say together."""
    single: bool
    """Ask what each passage says by itself."""
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """The table of cells that was asked for.

    `joint`: one verdict a statement, or empty where not asked. `single`: for each statement one
    verdict a passage, in order, or empty where not asked. Ranks in evidence count passages from 1.
    """

    joint: tuple[Verdict, ...] = ()
    single: tuple[tuple[Verdict, ...], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateQuestions:
    """Write `n` questions that the answer answers. Reply: `Questions`."""

    role: ClassVar[Role] = "ask"
    answer: str
    n: int
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Questions:
    """The questions (at most as many as asked for; none where the answer answers nothing)."""

    questions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectSentences:
    """Choose the sentences that help to answer the question. Reply: `Selection`."""

    role: ClassVar[Role] = "ask"
    question: str
    sentences: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Places of the chosen sentences in the offered list, from 0, ascending, each once."""

    chosen: tuple[int, ...]
    scores: tuple[float, ...] = ()
    """How much each offered sentence helps, in [0, 1]; empty where the judge only chooses."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Similarity:
    """How near in meaning `text` is to each of `others`. Reply: `Similarities`."""

    role: ClassVar[Role] = "embed"
    text: str
    others: tuple[str, ...]
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Similarities:
    """Cosines in [-1, 1], one for each of the task's `others`, in order."""

    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Critique:
    """Say whether an answer is as a definition says ("Is it harmful?"). Reply: `Critiqued`."""

    role: ClassVar[Role] = "ask"
    question: str
    answer: str
    contexts: tuple[str, ...]
    """Passages the definition may speak of; empty where it does not."""
    definition: str
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Critiqued:
    """Whether the definition holds of the answer."""

    yes: bool
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """Rate a quality from 0 to 10 at once, without steps between. Reply: `Rating`.

    Only what the quality is about is shown: faithfulness all; answer relevance no contexts; context
    relevance no answer.
    """

    role: ClassVar[Role] = "ask"
    quality: Quality
    question: str
    answer: str
    contexts: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Rating:
    """A whole number from 0 to 10; higher is better."""

    value: int
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prefer:
    """Say which of two is better in a quality. Reply: `Preference`.

    `a` and `b` are answers, or for context relevance the passages of either side as one text. The
    order they are asked in is the order they are shown in.
    """

    role: ClassVar[Role] = "ask"
    quality: Quality
    question: str
    a: str
    b: str
    contexts: tuple[str, ...]
    """What both answers are held against, for faithfulness."""
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Preference:
    """The better one."""

    better: Literal["a", "b"]
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgePassages:
    """Say of each passage whether it is useful to arrive at this answer. Reply: `Usefulness`."""

    role: ClassVar[Role] = "ask"
    question: str
    answer: str
    passages: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Usefulness:
    """For each passage, in order, whether it is useful, and why."""

    useful: tuple[bool, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractEntities:
    """Name the people, places, things, dates and amounts of a text. Reply: `Entities`."""

    role: ClassVar[Role] = "ask"
    text: str
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Entities:
    """The names as the text has them, in reading order, each once."""

    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RateAnswer:
    """Rate how well an answer answers its question, true or not. Reply: `AnswerRated`."""

    role: ClassVar[Role] = "ask"
    question: str
    answer: str
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerRated:
    """A score in [0, 1]; higher answers the question better."""

    score: float
    reason: str = ""


AnswerKind = Literal["grounded", "contradictory", "unaided", "incomplete"]
"""grounded: what the passage says; contradictory: something it denies; unaided: written without the passage;
incomplete: true to the passage, but not all that was asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A question to a passage and its answers, as a person wrote them; an empty text was not given."""

    passage: str
    question: str
    answer: str = ""
    contradictory: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteQuestions:
    """Write `n` questions that the passage answers and that are plain without it. Reply: `Questions`."""

    role: ClassVar[Role] = "ask"
    passage: str
    n: int
    examples: tuple[Example, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteAnswer:
    """Write an answer of that kind to a question. Reply: `Written`."""

    role: ClassVar[Role] = "ask"
    question: str
    passage: str
    """What the answer is to be true to, or to depart from; empty for an unaided one."""
    kind: AnswerKind
    examples: tuple[Example, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A text; empty where the writer has none to offer."""

    text: str


AresQuality: TypeAlias = Literal["context_relevance", "answer_faithfulness", "answer_relevance"]
"""The three qualities that ARES has judged, each of a whole text (Saad-Falcon et al. 2024, section 3)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Classify:
    """Say whether a quality holds of the passages, or of the answer. Reply: `Classified`.

    Context relevance looks at question and contexts, answer faithfulness at contexts and answer, answer relevance at
    question and answer; all are given, and a judge reads what it was taught on.
    """

    role: ClassVar[Role] = "verify"
    quality: AresQuality
    question: str
    contexts: tuple[str, ...]
    answer: str = ""
    """Empty for context relevance."""
    history: tuple[Turn, ...] = ()
    draw: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Classified:
    """Whether it holds."""

    holds: bool
    probability: float | None = None
    """That it holds, in [0, 1]; None where the judge says only yes or no."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """The judge gave no usable answer to this one task, and why."""

    detail: str


Task: TypeAlias = (
    ExtractStatements
    | Verify
    | GenerateQuestions
    | SelectSentences
    | Similarity
    | Critique
    | Rate
    | Prefer
    | JudgePassages
    | ExtractEntities
    | RateAnswer
    | WriteQuestions
    | WriteAnswer
    | Classify
)
LEADING: frozenset[type[Task]] = frozenset({ExtractStatements, GenerateQuestions, WriteQuestions})
"""Tasks whose reply other tasks wait for."""

Reply: TypeAlias = (
    Extraction
    | Verification
    | Questions
    | Selection
    | Similarities
    | Critiqued
    | Rating
    | Preference
    | Usefulness
    | Entities
    | AnswerRated
    | Written
    | Classified
)


MOST_TOKENS = 10**9
"""No call has more: a larger number of tokens is none."""


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
            if not _is_count(getattr(self, name)):
                object.__setattr__(self, name, None)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS


Hear: TypeAlias = Callable[[Task, Exchange], None]
"""Told of every call as soon as it is answered; one that served several tasks is told with the first."""


def unheard(_task: Task, _exchange: Exchange) -> None:
    """For who does not want to hear."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unasked(Failure):
    """Nobody was asked: a limit was reached before."""


class Judge(Protocol):
    """Answers tasks. One that can answer only some says so, and an evaluation composes several."""

    @property
    def name(self) -> str:
        """How a person names it: `embedded`."""
        ...

    @property
    def heuristic(self) -> bool:
        """Whether its answers are rules of thumb rather than a trained model's reading."""
        ...

    @property
    def answers(self) -> frozenset[type[Task]]:
        """The task types it can answer."""
        ...

    def identity(self, task: type[Task]) -> str:
        """All that could change its answer besides the task: code version, model, prompt text."""
        ...

    async def answer(self, tasks: Sequence[Task], hear: Hear = unheard, /) -> Sequence[Reply | Failure]:
        """Answer a batch: one reply or failure for each task, in order; `hear` is told of calls to models."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a judge would send to its model for one task."""

    text: str
    """All text of the first call, or of all calls where there are several."""
    calls: int = 1
    """Calls where every reply is as it should be."""
    repair: str = ""
    """What it would say to a reply that does not fit; empty where it asks no second time."""


@runtime_checkable
class Sender(Protocol):
    """A judge that sends texts to a model, and can say beforehand which. A judge that is none asks nobody outside."""

    @property
    def model(self) -> str:
        """The model, by the name that prices are listed under."""
        ...

    def request(self, task: Task, /) -> Request | None:
        """What it would send; None where the answer is plain without asking."""
        ...


@runtime_checkable
class Batching(Protocol):
    """A judge that answers many tasks at once better than one by one; it is given what waits, one batch at a time."""

    @property
    def together(self) -> int:
        """Tasks it is given at once, at most."""
        ...
