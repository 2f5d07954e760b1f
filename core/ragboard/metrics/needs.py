"""What a metric needs to know of a sample before it can count: values, each with its typed finding.

A metric names its needs; the evaluation asks the judges for their union, once; the metric then
counts without asking anybody. A need that could not be met is an `Unscored` with its reason, and so
is the metric's outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from ragboard.records import Side, Statement, Unscored, Verdict

__all__ = [
    "Findings",
    "GeneratedQuestions",
    "JointVerdicts",
    "Judged",
    "Need",
    "QuestionsFound",
    "SelectedSentences",
    "Sentence",
    "SentencesFound",
    "Statements",
    "StatementsFound",
]

T = TypeVar("T")


@dataclass(frozen=True)
class Need(Generic[T]):
    """Something to find out about a sample; `T` is what is found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatementsFound:
    """The statements of one side, and whether that text refuses to answer."""

    statements: tuple[Statement, ...]
    refuses: bool


@dataclass(frozen=True)
class Statements(Need[StatementsFound]):
    """The statements of a side, without verdicts."""

    side: Side = "response"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """Statements with one verdict each, in the same order."""

    statements: tuple[Statement, ...]
    verdicts: tuple[Verdict, ...]
    refuses: bool


@dataclass(frozen=True)
class JointVerdicts(Need[Judged]):
    """What the passages together say of each statement of a side."""

    side: Side = "response"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionsFound:
    """Questions generated from the answer and their cosine to the user's question, in the same order."""

    questions: tuple[str, ...]
    similarities: tuple[float, ...]


@dataclass(frozen=True)
class GeneratedQuestions(Need[QuestionsFound]):
    """`n` questions that the answer answers, each compared with the question asked."""

    n: int = 3


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
