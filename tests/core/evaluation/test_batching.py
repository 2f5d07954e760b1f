"""Tests of the batcher: one batch of waiting tasks at a time, and each caller gets its reply."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chat_server import answer
from tests.core.conftest import PlainJudge, make_run

from ragboard import JudgeError, Panel, Score, SettingError, Store, evaluate_run
from ragboard.analysis import SampleQuery, sample_rows
from ragboard.evaluation.runner import Batcher
from ragboard.judges import judge_from
from ragboard.metrics import metrics_named
from ragboard.store import RunRef
from ragboard.tasks import Exchange, Failure, OnCall, Questions, Reply, Task, ignore_call
from ragboard.tasks import GenerateQuestions as Generate


@dataclass
class Batches(PlainJudge):
    """Answers with the task's own text, and writes down what it got, and how often at once."""

    batch_size: int = 3
    sizes: list[int] = field(default_factory=list[int])
    under_way: int = 0
    most: int = 0
    error: Exception | None = None

    async def answer(self, tasks: Sequence[Task], hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        self.sizes.append(len(tasks))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        for _ in range(5):
            await asyncio.sleep(0)
        self.under_way -= 1
        if self.error:
            raise self.error
        for task in reversed(tasks):
            hear(task, Exchange(text=_text(task)))
        return [Questions(questions=(_text(task),)) for task in tasks]


def _text(task: Task) -> str:
    assert isinstance(task, Generate)
    return task.answer


def ask_all(judge: Any, texts: Sequence[str]) -> tuple[list[Any], list[list[str]]]:
    """What was answered and heard, for each text, all asked at once."""
    heard: list[list[str]] = [[] for _ in texts]
    batcher = Batcher()

    async def ask(place: int, text: str) -> Any:
        def hear(_: Task, exchange: Exchange) -> None:
            heard[place].append(exchange.text)

        return await batcher.answer(judge, Generate(answer=text, n=1), hear)

    async def everything() -> list[Any]:
        return await asyncio.gather(*map(ask, range(len(texts)), texts), return_exceptions=True)

    return asyncio.run(everything()), heard


@given(st.lists(st.text(max_size=2), max_size=20), st.integers(1, 7))
def test_everybody_gets_and_hears_their_own_answer_in_full_batches_one_at_a_time(
    texts: list[str], batch_size: int
) -> None:
    judge = Batches(batch_size=batch_size)
    answers, heard = ask_all(judge, texts)
    assert answers == [Questions(questions=(text,)) for text in texts]
    assert heard == [[text] for text in texts]
    whole, rest = divmod(len(texts), batch_size)
    assert judge.sizes == [batch_size] * whole + [rest] * bool(rest)
    assert judge.most <= 1


def test_an_error_reaches_everybody_who_waits_and_nothing_more_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    judge = Batches(error=JudgeError("gone"))
    answers, _ = ask_all(judge, ["a"] * 8)
    gc.collect()
    assert [str(error) for error in answers] == ["gone"] * 8
    assert judge.sizes == [3]
    assert caplog.text == ""


def test_who_waits_no_longer_does_not_keep_the_others_from_their_answer() -> None:
    judge, batcher = Batches(), Batcher()

    async def work() -> list[Any]:
        asked = [
            asyncio.ensure_future(batcher.answer(judge, Generate(answer=str(n), n=1), ignore_call)) for n in range(5)
        ]
        await asyncio.sleep(0)
        asked[1].cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(work())
    assert isinstance(found[1], asyncio.CancelledError)
    assert [found[n] for n in (0, 2, 3, 4)] == [Questions(questions=(str(n),)) for n in (0, 2, 3, 4)]


def test_a_caller_that_asks_again_at_once_gets_an_answer_from_a_new_worker() -> None:
    judge, batcher = Batches(), Batcher()

    async def work() -> list[Any]:
        tasks = [Generate(answer=str(number), n=1) for number in range(3)]
        async with asyncio.timeout(60):
            return [await batcher.answer(judge, task, ignore_call) for task in tasks]

    assert asyncio.run(work()) == [Questions(questions=(str(number),)) for number in range(3)]
    assert judge.sizes == [1, 1, 1]


def test_a_judge_without_batches_is_asked_at_once() -> None:
    judge = PlainJudge()
    ask_all(judge, ["a", "b"])
    assert len(judge.asked) == 2


def test_an_own_judge_gets_batches_in_a_thread_of_its_own(store: Store) -> None:
    sizes: list[int] = []
    threads: set[int] = set()

    def mine(prompts: list[str]) -> list[str]:
        sizes.append(len(prompts))
        threads.add(threading.get_ident())
        return [answer(prompt) for prompt in prompts]

    run_id = store.add_runs([make_run(samples=40)])[0].id
    metrics = metrics_named(["ragas.faithfulness"])
    done = evaluate_run(store, run_id, metrics, Panel(judge=judge_from(mine, version="1", batch_size=16)))
    assert max(sizes) == 16
    assert sum(sizes) == done.asked
    assert threading.get_ident() not in threads
    ref = RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id)
    rows = sample_rows(store, ref, SampleQuery(limit=100)).rows
    assert all(isinstance(score, Score) for row in rows for score in row.scores.values())


def test_the_event_loop_continues_while_an_own_function_works() -> None:
    goes_on = threading.Event()

    def mine(prompts: list[str]) -> list[str]:
        assert goes_on.wait(60)
        return [answer(prompt) for prompt in prompts]

    async def work() -> Any:
        asking = asyncio.ensure_future(judge_from(mine, version="1").answer([Generate(answer="a", n=1)]))
        await asyncio.sleep(0)
        goes_on.set()
        return await asking

    assert asyncio.run(work()) == [Questions(questions=("Question 1 to: a?",))]


def test_an_exception_of_a_user_function_ends_the_evaluation_unchanged(store: Store) -> None:
    def mine(_: list[str]) -> list[str]:
        raise ZeroDivisionError("mine")

    run_id = store.add_runs([make_run()])[0].id
    with pytest.raises(ZeroDivisionError, match="mine"):
        evaluate_run(store, run_id, metrics_named(["ragas.faithfulness"]), Panel(judge=judge_from(mine, version="1")))


def test_batches_of_none_are_rejected() -> None:
    with pytest.raises(SettingError, match="batch_size is 0"):
        judge_from(lambda _: [], version="1", batch_size=0)
