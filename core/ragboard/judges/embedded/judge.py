"""The embedded judge: which of its modules answers which task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragboard.judges.embedded.answering import rate
from ragboard.judges.embedded.entities import entities
from ragboard.judges.embedded.passages import usefulness
from ragboard.judges.embedded.qualities import classify
from ragboard.judges.embedded.questions import questions_of
from ragboard.judges.embedded.select import helping
from ragboard.judges.embedded.similarity import similarities
from ragboard.judges.embedded.statements import extract
from ragboard.judges.embedded.verify import verify
from ragboard.judges.embedded.writing import questions_to, write_answer
from ragboard.tasks import (
    AnswerRated,
    Classify,
    Entities,
    ExtractEntities,
    ExtractStatements,
    Failure,
    GenerateQuestions,
    JudgePassages,
    OnCall,
    Questions,
    RateAnswer,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Verify,
    WriteAnswer,
    WriteQuestions,
    ignore_call,
)

__all__ = ["VERSION", "WRITING", "EmbeddedJudge"]

VERSION = "4"
"""Changes with every change of rules that could change an answer."""
WRITING = "3"
"""The same for questions and answers that are written, which no metric reads."""


@dataclass(frozen=True)
class EmbeddedJudge:
    """Answers tasks by rules over words, numbers, names and negations, and by weights one can read.

    English and German by their grammar; French, Spanish, Hindi and Chinese by their words.

    The same task gets the same answer, alone or in a batch. It knows no paraphrase without shared
    words: its verdicts are a first look, and `heuristic` says so wherever they are shown.
    """

    name: str = "embedded"
    heuristic: bool = True
    answers: frozenset[type[Task]] = frozenset(
        {
            ExtractStatements,
            Verify,
            GenerateQuestions,
            SelectSentences,
            Similarity,
            RateAnswer,
            JudgePassages,
            ExtractEntities,
            WriteQuestions,
            WriteAnswer,
            Classify,
        }
    )

    def identity(self, task: type[Task]) -> str:
        """The version of its rules."""
        version = f"{VERSION}.{WRITING}" if task in {WriteQuestions, WriteAnswer} else VERSION
        return f"embedded/{version}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _on_call: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        """One reply for each task, in order; it fails only a task that it does not answer."""
        return [_reply(task) for task in tasks]


def _reply(task: Task) -> Reply | Failure:
    match task:
        case ExtractStatements():
            return extract(task.text)
        case Verify():
            return verify(task)
        case GenerateQuestions():
            return Questions(questions=questions_of(task.answer, task.n))
        case SelectSentences():
            chosen, scores = helping(task.question, task.sentences)
            return Selection(chosen=chosen, scores=scores)
        case Similarity():
            return Similarities(values=similarities(task.text, task.others))
        case RateAnswer():
            score, reason = rate(task.question, task.answer)
            return AnswerRated(score=score, reason=reason)
        case JudgePassages():
            return usefulness(task)
        case ExtractEntities():
            return Entities(names=entities(task.text))
        case Classify():
            return classify(task)
        case _:
            return _written(task)


def _written(task: Task) -> Reply | Failure:
    match task:
        case WriteQuestions():
            return Questions(questions=questions_to(task.passage, task.n))
        case WriteAnswer():
            return write_answer(task)
        case _:
            return Failure(detail=f"the embedded judge does not answer {type(task).__name__}")
