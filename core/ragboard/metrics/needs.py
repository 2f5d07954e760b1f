"""What a metric needs to know of a sample before it can count: values, each with its typed finding.

A metric names its needs; the evaluation asks the judges for their union, once; the metric then
counts without asking anybody. A need that could not be met is an `Unscored` with its reason, and so
is the metric's outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, cast

from ragboard.records import Side, Statement, Target, Unscored, Verdict
from ragboard.tasks import AresQuality, Classified, Quality

__all__ = [
    "Agreement",
    "AnswerSimilarity",
    "CellVerdicts",
    "Cells",
    "DirectRating",
    "DirectlyRated",
    "DrawnSentences",
    "DrawsFound",
    "EntitiesFound",
    "EntitiesNamed",
    "Findings",
    "Fits",
    "FitsDescription",
    "GeneratedQuestions",
    "Held",
    "JointVerdicts",
    "Judged",
    "Need",
    "PassagesJudged",
    "QualityHolds",
    "QualityRated",
    "QualityRating",
    "QuestionsFound",
    "SelectedSentences",
    "Sentence",
    "SentencesFound",
    "Statements",
    "StatementsFound",
    "UsefulPassages",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Need(Generic[T]):
    """Something to find out about a sample; `T` is what is found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatementsFound:
    """The statements of one side, and whether that text refuses to answer."""

    side: Side
    statements: tuple[Statement, ...]
    refuses: bool | None
    """None where the run file brought the statements: it does not say."""


@dataclass(frozen=True)
class Statements(Need[StatementsFound]):
    """The statements of a side, without verdicts."""

    side: Side = "response"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """Statements with one verdict each, in the same order."""

    side: Side
    statements: tuple[Statement, ...]
    verdicts: tuple[Verdict, ...]
    refuses: bool | None


@dataclass(frozen=True)
class JointVerdicts(Need[Judged]):
    """What the passages together say of each statement of a side."""

    side: Side = "response"


Held = Literal["passages", "reference", "response"]
"""What statements are held against, cell by cell: each passage by itself, the reference, the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cells:
    """A table of verdicts: a row for each statement, in order, and in it one cell for each target."""

    side: Side
    statements: tuple[Statement, ...]
    targets: tuple[Target, ...]
    rows: tuple[tuple[Verdict, ...], ...]
    refuses: bool | None

    @property
    def supported(self) -> tuple[tuple[bool, ...], ...]:
        """The same table: whether each target says so. Contradicted and unsupported are both no."""
        return tuple(tuple(verdict.label == "supported" for verdict in row) for row in self.rows)


@dataclass(frozen=True)
class CellVerdicts(Need[Cells]):
    """What each single target says of each statement of a side."""

    side: Side = "response"
    target: Held = "passages"

    def __post_init__(self) -> None:
        """Raise ValueError for a side held against itself."""
        if self.side == self.target:
            raise ValueError(f"the statements of the {self.side} cannot be held against the {self.target} itself")


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionsFound:
    """Questions generated from the answer and their cosine to the user's question, in the same order."""

    questions: tuple[str, ...]
    similarities: tuple[float, ...]


@dataclass(frozen=True)
class GeneratedQuestions(Need[QuestionsFound]):
    """`n` questions that the answer answers, each compared with the question asked."""

    n: int = 3


@dataclass(frozen=True)
class AnswerSimilarity(Need[float]):
    """The cosine between the answer and the reference; not met where one of them is empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence of a passage: `passage.text[start:end]` of the passage at `rank`."""

    rank: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SentencesFound:
    """All sentences of the passages, and the places of the chosen ones among them."""

    sentences: tuple[Sentence, ...]
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class SelectedSentences(Need[SentencesFound]):
    """The sentences of the passages that help to answer the question."""


Agreement = Literal["jaccard", "similarity"]
"""How alike two selections are: sentences shared over sentences chosen, or nearness in meaning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawsFound:
    """All sentences of the passages, and the places of the chosen ones in each of several draws."""

    sentences: tuple[Sentence, ...]
    draws: tuple[tuple[int, ...], ...]
    alike: tuple[float, ...]
    """How alike each pair of draws is, in [-1, 1]; pairs (1, 2), (1, 3), ... (2, 3), ..."""


@dataclass(frozen=True)
class DrawnSentences(Need[DrawsFound]):
    """The sentences that help to answer the question, asked `n` times over, and how far the draws agree."""

    n: int = 2
    agreement: Agreement = "jaccard"


@dataclass(frozen=True, kw_only=True, slots=True)
class PassagesJudged:
    """For each passage, in order, whether it is useful, and why."""

    useful: tuple[bool, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class UsefulPassages(Need[PassagesJudged]):
    """Whether each passage is useful to arrive at the reference, or at the answer."""

    toward: Side = "reference"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fits:
    """Whether a description fits the answer, in each of several draws, and why."""

    draws: tuple[bool, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class FitsDescription(Need[Fits]):
    """Whether a description fits the answer, asked `n` times over."""

    definition: str
    n: int = 1
    with_passages: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class EntitiesFound:
    """The people, places, things, dates and amounts that two texts name, each once."""

    reference: tuple[str, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True)
class EntitiesNamed(Need[EntitiesFound]):
    """What the reference names, and what the passages name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QualityRated:
    """A whole number from 0 to 10, and why."""

    value: int
    reason: str


@dataclass(frozen=True)
class QualityRating(Need[QualityRated]):
    """A quality rated from 0 to 10 at once, without steps between."""

    quality: Quality


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectlyRated:
    """How well the answer answers the question, in [0, 1], and why."""

    score: float
    reason: str


@dataclass(frozen=True)
class DirectRating(Need[DirectlyRated]):
    """How well the answer answers the question, said by a judge at once; not met for an empty answer."""


@dataclass(frozen=True)
class QualityHolds(Need[Classified]):
    """Whether a quality of ARES holds; not met without what the quality is about."""

    quality: AresQuality
    after_contexts: bool = False
    """Ask whether the passages are relevant first: where they are not, no answer to them holds either."""


@dataclass(frozen=True)
class Findings:
    """What was found for each need, or why nothing was."""

    found: Mapping[Need[object], object]

    def of(self, need: Need[T]) -> T:
        """The finding; only to be asked for once `missing` said None."""
        return cast("T", self.found[cast("Need[object]", need)])

    def missing(self, need: Need[T]) -> Unscored | None:
        """Why the need was not met, or None where it was."""
        found = self.found[cast("Need[object]", need)]
        return found if isinstance(found, Unscored) else None
