"""The needs there are, each with what is found for it, by the names that metrics of one's own import."""

from __future__ import annotations

from ragboard.metrics.ares import QualityHolds
from ragboard.metrics.base import Ask, Findings, Need
from ragboard.metrics.critique import FitsDescription
from ragboard.metrics.gpt_score import QualityRating
from ragboard.metrics.ragas import DirectRating, GeneratedQuestions, QuestionsFound
from ragboard.metrics.ragas_contexts import EntitiesFound, EntitiesNamed, UsefulPassages
from ragboard.metrics.ragas_library import ReferenceSimilarity
from ragboard.metrics.sentences import (
    Agreement,
    DrawnSentences,
    DrawsFound,
    SelectedSentences,
    Sentence,
    SentencesFound,
)
from ragboard.metrics.statements import Cells, CellVerdicts, Held, JointVerdicts, Judged, Statements, StatementsFound
from ragboard.tasks import AnswerRated, Classified, Critiqued, Rating, Usefulness

__all__ = [
    "Agreement",
    "AnswerRated",
    "AnswerSimilarity",
    "Ask",
    "CellVerdicts",
    "Cells",
    "Classified",
    "Critiqued",
    "DirectRating",
    "DrawnSentences",
    "DrawsFound",
    "EntitiesFound",
    "EntitiesNamed",
    "Findings",
    "FitsDescription",
    "GeneratedQuestions",
    "Held",
    "JointVerdicts",
    "Judged",
    "Need",
    "QualityHolds",
    "QualityRating",
    "QuestionsFound",
    "Rating",
    "SelectedSentences",
    "Sentence",
    "SentencesFound",
    "Statements",
    "StatementsFound",
    "UsefulPassages",
    "Usefulness",
]

AnswerSimilarity = ReferenceSimilarity
