"""Fixtures of the core tests: a store in a temporary folder, samples, and judges with predictable replies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ragboard import Passage, Run, Sample, Store, Verdict
from ragboard.tasks import (
    TASKS,
    AnswerRating,
    AssignNuggets,
    BertScore,
    BertScores,
    Classification,
    Classify,
    Critique,
    CritiqueVerdict,
    Entities,
    ExtractedStatement,
    ExtractEntities,
    Extraction,
    ExtractStatements,
    Failure,
    GenerateQuestions,
    GradePassages,
    JudgePassages,
    MatchReference,
    NuggetLabels,
    OnCall,
    PassageGrades,
    Questions,
    Rate,
    RateAnswer,
    RateTurn,
    Rating,
    ReferenceMatch,
    Reply,
    Selection,
    SelectSentences,
    Similarities,
    Similarity,
    Task,
    Usefulness,
    Verification,
    Verify,
    ignore_call,
)


def make_sample(number: int = 0, *, answer: str | None = "It is red. It is old.", contexts: int = 2) -> Sample:
    passages = tuple(
        Passage(id=f"p{rank}", text=f"The thing {number} is red, says passage {rank}.", rank=rank)
        for rank in range(1, contexts + 1)
    )
    return Sample(id=f"s{number}", question=f"What is thing {number}?", answer=answer, contexts=passages)


def make_run(name: str = "run", samples: int = 3) -> Run:
    return Run(name=name, samples=tuple(make_sample(number) for number in range(samples)), config={"k": 2})


@dataclass
class PlainJudge:
    """Splits at full stops, supports what holds the word "red", and counts what it is asked."""

    name: str = "plain"
    heuristic: bool = False
    version: str = "1"
    answers: frozenset[type[Task]] = field(default_factory=lambda: frozenset(TASKS))
    asked: list[Task] = field(default_factory=list[Task])
    before: Callable[[Task], Failure | None] = lambda _: None

    def identity(self, task: type[Task]) -> str:
        return f"plain/{self.version}/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        self.asked.extend(tasks)
        return [self.before(task) or _plain(task) for task in tasks]


def _plain(task: Task) -> Reply:
    match task:
        case ExtractStatements():
            said = [part.strip() for part in task.text.split(".") if part.strip()]
            return Extraction(statements=tuple(ExtractedStatement(text=text) for text in said), refuses=False)
        case Verify():
            verdicts = tuple(Verdict(label="supported" if "red" in text else "unsupported") for text in task.statements)
            rows = tuple((verdict,) * len(task.passages) for verdict in verdicts)
            return Verification(joint=verdicts if task.joint else (), single=rows if task.single else ())
        case GenerateQuestions():
            return Questions(questions=tuple(f"question {n}" for n in range(task.n)))
        case SelectSentences():
            return Selection(chosen=(0,))
        case Similarity():
            return Similarities(values=(0.5,) * len(task.others))
        case BertScore():
            return BertScores(precision=(0.5,) * len(task.others), recall=(0.5,) * len(task.others))
        case _:
            return _opinion(task)


def _opinion(task: Task) -> Reply:
    match task:
        case JudgePassages():
            useful = tuple("red" in text for text in task.passages)
            return Usefulness(useful=useful, reasons=("",) * len(useful))
        case GradePassages():
            grades = tuple(3 if "red" in text else 1 for text in task.passages)
            return PassageGrades(grades=grades, reasons=("",) * len(grades))
        case AssignNuggets():
            count = len(task.nuggets)
            return NuggetLabels(labels=("support",) * count, reasons=("",) * count)
        case Critique():
            return CritiqueVerdict(yes="red" in task.answer)
        case ExtractEntities():
            return Entities(names=tuple(dict.fromkeys(word for word in task.text.split() if word.istitle())))
        case MatchReference():
            return ReferenceMatch(matches="red" in task.answer)
        case Rate() | RateTurn():
            return Rating(value=7)
        case RateAnswer():
            return AnswerRating(score=0.7)
        case Classify():
            return Classification(holds="red" in f"{task.contexts}{task.answer}", probability=0.75)
        case _:
            raise NotImplementedError(type(task).__name__)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")
