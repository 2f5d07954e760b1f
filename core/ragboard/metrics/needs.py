"""The built-in needs, and the types of their results. Import them in your own metrics.

A metric returns its needs from `needs()`. In `score()`, `results.value(need)` returns the result of a need.

- `Statements(side)`: `ExtractedStatements`, the statements of the answer or reference, and whether the text refuses.
- `JointVerdicts(side)`: `JudgedStatements`, a verdict on each statement, against all passages together.
- `SeparateVerdicts(side, target)`: `VerdictTable`, a verdict on each statement, against each passage or the other text.
- `GeneratedQuestions(n)`: `QuestionSimilarities`, questions generated from the answer, with cosines to the question.
- `DirectRating()`: `AnswerRating`, how well the answer answers the question, in [0, 1].
- `ReferenceSimilarity()`: `float`, the cosine of answer and reference, in [-1, 1].
- `CitedSentences(by)`: `CitationSupport`, the answer's sentences, and how far the cited passages support each.
- `SelectedSentences()`: `SentenceSelection`, the passages' sentences, and which of them help to answer.
- `DrawnSentences(n, agreement)`: `SentenceDraws`, the passages' sentences, and which were selected in each draw.
- `UsefulPassages(target)`: `Usefulness`, whether each passage is useful for the reference or the answer.
- `UsedSentences()`: `SentenceUse`, the passages' sentences, and which of them the answer uses.
- `GradedPassages(separately)`: `PassageGrades`, how relevant each passage is to the question, from 0 to 3.
- `NamedEntities()`: `EntityLists`, the people, places, things, dates and amounts that reference and passages name.
- `CritiqueVerdicts(...)`: `tuple[CritiqueVerdict, ...]`, n answers to a yes-or-no question about the answer.
- `QualityRating(quality)`: `Rating`, a rating of one quality from 0 to 10.
- `QualityVerdict(quality)`: `Classification`, whether an ARES quality holds.
"""

from __future__ import annotations

from ragboard.metrics.ares import QualityVerdict
from ragboard.metrics.base import Ask, Need, NeedResults
from ragboard.metrics.citations import CitationSupport, CitedSentences, JudgedCitation, SentenceSupport
from ragboard.metrics.critique import CritiqueVerdicts
from ragboard.metrics.gpt_score import QualityRating
from ragboard.metrics.ragas import DirectRating, GeneratedQuestions, QuestionSimilarities
from ragboard.metrics.ragas_contexts import EntityLists, NamedEntities, UsefulPassages
from ragboard.metrics.ragas_library import ReferenceSimilarity
from ragboard.metrics.sentences import (
    Agreement,
    DrawnSentences,
    SelectedSentences,
    Sentence,
    SentenceDraws,
    SentenceSelection,
)
from ragboard.metrics.statements import (
    ExtractedStatements,
    JointVerdicts,
    JudgedStatements,
    SeparateVerdicts,
    Statements,
    VerdictTable,
)
from ragboard.metrics.trace import SentenceUse, UsedSentences
from ragboard.metrics.umbrela import GradedPassages
from ragboard.tasks import AnswerRating, Classification, CritiqueVerdict, PassageGrades, Rating, Usefulness

__all__ = [
    "Agreement",
    "AnswerRating",
    "Ask",
    "CitationSupport",
    "CitedSentences",
    "Classification",
    "CritiqueVerdict",
    "CritiqueVerdicts",
    "DirectRating",
    "DrawnSentences",
    "EntityLists",
    "ExtractedStatements",
    "GeneratedQuestions",
    "GradedPassages",
    "JointVerdicts",
    "JudgedCitation",
    "JudgedStatements",
    "NamedEntities",
    "Need",
    "NeedResults",
    "PassageGrades",
    "QualityRating",
    "QualityVerdict",
    "QuestionSimilarities",
    "Rating",
    "ReferenceSimilarity",
    "SelectedSentences",
    "Sentence",
    "SentenceDraws",
    "SentenceSelection",
    "SentenceSupport",
    "SentenceUse",
    "SeparateVerdicts",
    "Statements",
    "UsedSentences",
    "UsefulPassages",
    "Usefulness",
    "VerdictTable",
]
