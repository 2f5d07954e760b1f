"""Tests of the embedded judge on every task: valid replies, independent of other tasks in the call."""

from __future__ import annotations

import asyncio
import random

import pytest

from ragboard.judges import EmbeddedJudge, Judge
from ragboard.tasks import (
    TASKS,
    Classify,
    ExtractEntities,
    ExtractStatements,
    GenerateQuestions,
    JudgePassages,
    RateAnswer,
    SelectSentences,
    Similarity,
    Task,
    Verify,
    WriteAnswer,
    WriteQuestions,
    reply_or_failure,
)

TEXT = "The Forth Bridge was built in 1890 by Arrol. It carries two tracks."
EXAMPLES: tuple[Task, ...] = (
    ExtractStatements(question="When?", text=TEXT),
    Verify(question="When?", statements=(TEXT,), passages=(TEXT, ""), joint=True, single=True),
    GenerateQuestions(answer=TEXT, n=3),
    SelectSentences(question="When was it built?", sentences=(TEXT,)),
    Similarity(text=TEXT, others=("", TEXT)),
    RateAnswer(question="When was it built?", answer=TEXT),
    WriteQuestions(passage=TEXT, n=2),
    WriteAnswer(question="When was it built?", passage=TEXT, kind="grounded"),
    JudgePassages(question="When was it built?", answer=TEXT, passages=(TEXT, "It rains.", "")),
    ExtractEntities(text=TEXT),
    Classify(quality="answer_faithfulness", question="When was it built?", contexts=(TEXT,), answer=TEXT),
)


def test_it_is_a_judge_of_each_of_these_tasks() -> None:
    judge: Judge = EmbeddedJudge()
    assert judge.answers == frozenset(type(task) for task in EXAMPLES)
    assert (judge.name, judge.heuristic) == ("embedded", True)


def test_its_identity_tells_version_and_task() -> None:
    assert len({EmbeddedJudge().identity(kind) for kind in TASKS}) == len(TASKS)


@pytest.mark.parametrize("task", EXAMPLES, ids=lambda task: type(task).__name__)
def test_a_reply_fits_its_task(task: Task) -> None:
    (reply,) = asyncio.run(EmbeddedJudge().answer([task]))
    assert reply_or_failure(task, reply) is reply
    assert isinstance(reply, task.reply)


def test_answers_do_not_depend_on_order_or_company() -> None:
    alone = {task: asyncio.run(EmbeddedJudge().answer([task]))[0] for task in EXAMPLES}
    chance = random.Random(1)
    for order in (chance.sample(EXAMPLES, len(EXAMPLES)) for _ in range(8)):
        assert list(asyncio.run(EmbeddedJudge().answer(order))) == [alone[task] for task in order]
