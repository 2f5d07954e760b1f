"""Needs of one sample: what several needs share is done once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from ragboard import Sample
from ragboard.metrics.base import Ask, Need, resolve
from ragboard.tasks import Failure, GenerateQuestions, Questions, Reply, Task

SAMPLE = Sample(id="s1", question="q", answer="a", contexts=(), reference=None)


@dataclass(frozen=True)
class Inner(Need[str]):
    """Asks one task and counts how often it is resolved."""

    def tasks(self) -> tuple[type[Task], ...]:
        return (GenerateQuestions,)

    async def resolve(self, sample: Sample, ask: Ask) -> Any:
        RESOLVED.append(sample)
        reply = await ask(GenerateQuestions(answer="a", n=1))
        return reply if not isinstance(reply, Questions) else reply.questions[0]


@dataclass(frozen=True)
class Outer(Need[str]):
    """Is computed from `Inner`."""

    number: int

    def tasks(self) -> tuple[type[Task], ...]:
        return (GenerateQuestions,)

    async def resolve(self, sample: Sample, ask: Ask) -> Any:
        assert sample is SAMPLE
        return await ask.resolve(Inner())


RESOLVED: list[object] = []
NEEDS = (Outer(1), Inner(), Outer(2))


@pytest.fixture(autouse=True)
def _nothing_resolved() -> None:
    RESOLVED.clear()


def test_a_need_that_others_are_computed_from_is_resolved_once() -> None:
    sent: list[Task] = []

    async def send(task: Task) -> Reply | Failure:
        sent.append(task)
        await asyncio.sleep(0)
        return Questions(questions=("why?",))

    results = asyncio.run(resolve(SAMPLE, NEEDS, send))
    assert [results.value(need) for need in NEEDS] == ["why?"] * 3
    assert len(RESOLVED) == len(sent) == 1


def test_an_error_of_a_shared_task_is_raised_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def send(_task: Task) -> Reply | Failure:
        await asyncio.sleep(0)
        raise RuntimeError("no judge")

    for needs in (NEEDS, (Inner(),)):
        with pytest.raises(RuntimeError, match="no judge"):
            asyncio.run(resolve(SAMPLE, needs, send))
    assert not caplog.records


def test_a_sample_whose_tasks_wait_can_be_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    async def send(_task: Task) -> Reply | Failure:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:  # the reply arrives in the moment of the cancellation
            return Questions(questions=("why?",))
        raise AssertionError

    async def cancel() -> None:
        waiting = asyncio.ensure_future(resolve(SAMPLE, NEEDS, send))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancel())
    assert not caplog.records
