"""The tasks that judges answer. To add a task, write a module and a prompt, and add the task to `TASKS`.

Prompts are Markdown files in `prompts/1/`. Users can replace them by files with the same names.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from ragboard.tasks.base import (
    DRAW_STEP,
    Exchange,
    Failure,
    NotSent,
    OnCall,
    Reply,
    ReplySizes,
    Role,
    Task,
    ignore_call,
    is_valid_reply,
    reply_or_failure,
)
from ragboard.tasks.bert_score import BertScore, BertScores
from ragboard.tasks.classify import AresQuality, Classification, Classify
from ragboard.tasks.codec import adapter, encode, task_json, task_key
from ragboard.tasks.critique import Critique, CritiqueVerdict
from ragboard.tasks.examples import WritingExample
from ragboard.tasks.extract_entities import Entities, ExtractEntities
from ragboard.tasks.extract_statements import ExtractedStatement, Extraction, ExtractStatements
from ragboard.tasks.generate_questions import GenerateQuestions, Questions
from ragboard.tasks.grade_passages import GradePassages, PassageGrades
from ragboard.tasks.grade_support import GradeSupport, Support, SupportGrade
from ragboard.tasks.judge_passages import JudgePassages, Usefulness
from ragboard.tasks.match_reference import MatchReference, ReferenceMatch
from ragboard.tasks.nuggets import AssignNuggets, NuggetLabels, Nuggets, WeighNuggets, WriteNuggets
from ragboard.tasks.prefer import Prefer, Preference
from ragboard.tasks.rate import Quality, Rate, Rating
from ragboard.tasks.rate_answer import AnswerRating, RateAnswer
from ragboard.tasks.rate_turn import RateTurn
from ragboard.tasks.replies import ReplyFormatError
from ragboard.tasks.rewrite_question import RewriteQuestion
from ragboard.tasks.select_sentences import Selection, SelectSentences
from ragboard.tasks.similarity import Similarities, Similarity
from ragboard.tasks.verify import Verification, VerifiedAgainst, Verify
from ragboard.tasks.write_answer import AnswerKind, WriteAnswer, WrittenText
from ragboard.tasks.write_questions import WriteQuestions

__all__ = [
    "DRAW_STEP",
    "PROMPTED_TASKS",
    "TASKS",
    "TASKS_BY_NAME",
    "AnswerKind",
    "AnswerRating",
    "AresQuality",
    "AssignNuggets",
    "BertScore",
    "BertScores",
    "Classification",
    "Classify",
    "Critique",
    "CritiqueVerdict",
    "Entities",
    "Exchange",
    "ExtractEntities",
    "ExtractStatements",
    "ExtractedStatement",
    "Extraction",
    "Failure",
    "GenerateQuestions",
    "GradePassages",
    "GradeSupport",
    "JudgePassages",
    "MatchReference",
    "NotSent",
    "NuggetLabels",
    "Nuggets",
    "OnCall",
    "PassageGrades",
    "Prefer",
    "Preference",
    "Quality",
    "Questions",
    "Rate",
    "RateAnswer",
    "RateTurn",
    "Rating",
    "ReferenceMatch",
    "Reply",
    "ReplyFormatError",
    "ReplySizes",
    "RewriteQuestion",
    "Role",
    "SelectSentences",
    "Selection",
    "Similarities",
    "Similarity",
    "Support",
    "SupportGrade",
    "Task",
    "Usefulness",
    "Verification",
    "VerifiedAgainst",
    "Verify",
    "WeighNuggets",
    "WriteAnswer",
    "WriteNuggets",
    "WriteQuestions",
    "WritingExample",
    "WrittenText",
    "decode_reply",
    "encode",
    "ignore_call",
    "is_valid_reply",
    "reply_or_failure",
    "task_json",
    "task_key",
]

TASKS: tuple[type[Task], ...] = (
    ExtractStatements,
    Verify,
    GenerateQuestions,
    SelectSentences,
    Similarity,
    Critique,
    Rate,
    Prefer,
    GradePassages,
    JudgePassages,
    ExtractEntities,
    RateAnswer,
    WriteQuestions,
    WriteAnswer,
    Classify,
    AssignNuggets,
    WriteNuggets,
    WeighNuggets,
    GradeSupport,
    MatchReference,
    RateTurn,
    RewriteQuestion,
    BertScore,
)
"""All task types."""

TASKS_BY_NAME: Mapping[str, type[Task]] = {task.__name__: task for task in TASKS}

PROMPTED_TASKS: tuple[type[Task], ...] = tuple(task for task in TASKS if task.prompts)
"""The task types that have a prompt; a chat model can answer them."""


def decode_reply(task: str, data: object) -> Reply:
    """Convert JSON data to a reply. `task` is the name of the task type.

    Raises ValueError for an unknown task type, or if the data is not a reply to it.
    """
    try:
        reply: Reply = adapter(TASKS_BY_NAME[task].reply).validate_python(data)
    except (KeyError, ValidationError) as error:
        raise ValueError(f"not a reply to {task}: {error}") from error
    return reply
