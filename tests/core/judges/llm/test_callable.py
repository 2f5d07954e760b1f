"""Tests of a judge from a Python function."""

from __future__ import annotations

import asyncio

import pytest
from tests.chat_server import answer
from tests.core.judges.llm.test_judge import RATE, VERIFY, WELL, ask

from ragboard.errors import JudgeError, SettingError
from ragboard.judges import judge_from
from ragboard.tasks import Failure, Rate, Rating, Similarity


def test_every_task_is_answered_and_a_batch_is_one_call() -> None:
    calls: list[int] = []

    def mine(prompts: list[str]) -> list[str]:
        calls.append(len(prompts))
        return [answer(prompt) for prompt in prompts]

    judge = judge_from(mine, version="1")
    assert ask(judge, *(task for task, _ in WELL)) == [reply for _, reply in WELL]
    assert calls == [len(WELL)]


def test_the_function_may_be_async() -> None:
    async def mine(prompts: list[str]) -> list[str]:
        await asyncio.sleep(0)
        return [answer(prompt) for prompt in prompts]

    assert ask(judge_from(mine, version="1"), RATE) == [Rating(value=3, reason="r")]


def test_only_what_does_not_fit_is_asked_again_with_what_was_wrong() -> None:
    rounds: list[list[str]] = []

    def mine(prompts: list[str]) -> list[str]:
        rounds.append(prompts)
        first = len(rounds) == 1
        return ["nonsense" if first and "# Rate" in prompt else answer(prompt) for prompt in prompts]

    replies = ask(judge_from(mine, version="1"), VERIFY, RATE)
    assert [len(prompts) for prompts in rounds] == [2, 1]
    assert replies[1] == Rating(value=3, reason="r")
    assert "nonsense" in rounds[1][0]
    assert "no whole JSON object" in rounds[1][0]


def test_after_two_repairs_it_is_a_failure_with_the_reply() -> None:
    calls: list[int] = []

    def mine(prompts: list[str]) -> list[str]:
        calls.append(len(prompts))
        return ["nonsense"] * len(prompts)

    (reply,) = ask(judge_from(mine, version="1"), RATE)
    assert isinstance(reply, Failure)
    assert reply.detail.endswith("reply: nonsense")
    assert calls == [1, 1, 1]


def test_none_fails_only_this_task() -> None:
    judge = judge_from(lambda prompts: [None, *map(answer, prompts[1:])], version="1", name="lab")
    assert ask(judge, RATE, RATE) == [Failure(detail="lab returned no reply"), Rating(value=3, reason="r")]


def test_half_a_surrogate_pair_in_a_text_does_no_harm() -> None:
    (reply,) = ask(judge_from(lambda prompts: ["\ud800"] * len(prompts), version="1"), RATE)
    assert isinstance(reply, Failure)
    assert reply.detail.encode()


@pytest.mark.parametrize(("given", "why"), [([], "0 texts"), (["a", "b"], "2 texts"), ("a", "one text")])
def test_another_number_of_texts_is_an_error(given: list[str] | str, why: str) -> None:
    with pytest.raises(JudgeError, match=why):
        ask(judge_from(lambda _: given, version="1"), RATE)


def test_identity_tells_name_version_and_prompts() -> None:
    def mine(_: list[str]) -> list[str]:
        return []

    judges = [judge_from(mine, version="1"), judge_from(mine, version="2"), judge_from(mine, version="1", name="b")]
    assert len({judge.identity(Rate) for judge in judges}) == 3


def test_a_version_must_be_given() -> None:
    with pytest.raises(SettingError, match="needs a version"):
        judge_from(lambda _: [], version=" ")


def test_it_does_not_compare_texts() -> None:
    (reply,) = ask(judge_from(lambda _: [], version="1"), Similarity(text="a", others=("b",)))
    assert isinstance(reply, Failure)
