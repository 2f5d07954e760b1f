"""Tests of earlier turns in prompts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from tests.core.judges.llm.test_judge import WELL, ask

from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.llm import LlmJudge
from ragboard.judges.llm.prompts import Prompts
from ragboard.judges.replay import RecordingJudge, ReplayJudge
from ragboard.records import Turn
from ragboard.tasks import GenerateQuestions, RateAnswer, decode_reply, encode, task_key
from ragboard.tasks.markup import MAX_HISTORY_CHARACTERS

TURNS = (Turn(role="user", text="Where is Fara?"), Turn(role="assistant", text="Off the northern coast."))
FOLLOWING: list[Any] = [task for task, _ in WELL if hasattr(task, "history")]

UNCHANGED = (
    ("de105f7edc1f745b", "d18c0b5672967910"),
    ("21511a9fec91124d", "9d9fcffbd87202aa"),
    ("3586f982184ad5f3", "243e87af96a5366e"),
    ("2a3349b7482d2729", "9503a3ed37507f26"),
    ("cd87fa985f7bdb3b", "3e9362c9ea1220c4"),
    ("56a8aec725812350", "dbc6254e138f1959"),
    ("32aabf10364d78c5", "c05ac8aec83bfaa3"),
    ("d21640c3119b0418", "36722b843704e5d1"),
    ("b93a1f93c7193b41", "ea39c4265ab753e4"),
    ("3afe5827ff5bf74d", "9e8c65a023e866f3"),
    ("08b3a376ae134fc0", "db0f6945f9e8b431"),
    ("54413820dfd8031b", "f01f6624bf1cd99c"),
    ("d8718cc1a755e3bc", "52a0a21578c3da01"),
    ("b87177e572c57c06", "71dc315f42eb6e66"),
    ("c02ef4dc4a6be0e6", "f88733eb9a5d4f85"),
    ("94ae621c063a1bce", "d51c95a24b4b903c"),
    ("d4616ef7e920bf73", "e0343f5df7ab5ddc"),
    ("251bd10687ccf3e8", "0101bd1a3020634d"),
    ("d115359ddf629536", "54eab0083d80c49e"),
    ("96999bc0607fb7ea", "5bf821dcf33df00b"),
    ("436be30f29180ac3", "eb5d122d727a332c"),
    ("07c274abb62dc3ef", "cbcfcc55a0ba3fcb"),
    ("b782a1ad53347a04", "dceaf89887cac28a"),
    ("dece6f72bb0614d3", "0a590523f04df288"),
    ("f3f466576f35a69c", "2bf5ecda523392c7"),
    ("08fc0ee31554bd7d", "3005ce63f26d47c1"),
    ("0747a633a55afbc3", "f8169dd65df6c29b"),
    ("d0c4ae1293cf7e18", "9a19184acfc259fa"),
)
"""The head of the key, and a digest of the prompt, of each task of `WELL`, without a history."""


def test_a_task_without_history_keeps_its_key_and_its_prompt() -> None:
    prompts = Prompts.read()
    found = (
        (task_key(task, "")[:16], blake2b(prompts.render(task).encode(), digest_size=8).hexdigest()) for task, _ in WELL
    )
    assert tuple(found) == UNCHANGED


@pytest.mark.parametrize("task", FOLLOWING, ids=lambda task: type(task).__name__)
def test_the_turns_are_part_of_the_task(task: Any) -> None:
    following = replace(task, history=TURNS)
    other = replace(task, history=TURNS[:1])
    assert b"history" not in encode(task)
    assert len({task_key(each, "") for each in (task, following, other)}) == 3


@pytest.mark.parametrize("task", FOLLOWING, ids=lambda task: type(task).__name__)
def test_the_turns_are_shown_in_order_before_the_texts_and_nothing_else_changes(task: Any) -> None:
    plain, following = (Prompts.read().render(each) for each in (task, replace(task, history=TURNS)))
    shown = re.search(
        r"(?:The question continues|The answer was given in) a conversation.*</turn>\n\n", following, re.S
    )
    assert shown
    assert following.replace(shown.group(), "") == plain
    assert following.index("## Now") < shown.start()
    assert re.match(r"<(?:question|answer)>", following[shown.end() :])
    assert re.findall(r'<turn number="(\d)" role="(\w+)">\n(.*)\n</turn>', shown.group()) == [
        ("1", "user", "Where is Fara?"),
        ("2", "assistant", "Off the northern coast."),
    ]


@pytest.mark.parametrize("task", FOLLOWING, ids=lambda task: type(task).__name__)
def test_the_judges_answer_with_history_as_well(judge: LlmJudge, task: Any) -> None:
    assert ask(judge, replace(task, history=TURNS)) == ask(judge, task)


def test_a_judge_by_rules_answers_as_without() -> None:
    judge = EmbeddedJudge()
    tasks: list[Any] = [task for task in FOLLOWING if type(task) in judge.answers]
    assert ask(judge, *(replace(task, history=TURNS) for task in tasks)) == ask(judge, *tasks)


def test_a_prompt_of_your_own_shows_the_turns_first_or_where_it_says(tmp_path: Path) -> None:
    task = RateAnswer(question="And who built it?", answer="Ines Dahl.", history=TURNS)
    file = tmp_path / "rate_answer.md"
    file.write_text("Rate this.\n\nQ: ${question}\nA: $answer", encoding="utf-8")
    said = Prompts.read(tmp_path).render(task)
    assert re.fullmatch(r"Rate this\.\n\nThe question .*</turn>\n\nQ: And who built it\?\nA: Ines Dahl\.", said, re.S)
    file.write_text("Q: $question\nA: $answer\n\nBefore:\n$history", encoding="utf-8")
    said = Prompts.read(tmp_path).render(task)
    assert re.fullmatch(r"Q: And who built it\?\nA: Ines Dahl\.\n\nBefore:\nThe question .*</turn>", said, re.S)
    assert Prompts.read(tmp_path).render(replace(task, history=())).endswith("Before:")


def test_a_question_that_is_to_be_guessed_is_asked_for_as_the_next_turn() -> None:
    said = Prompts.read().render(GenerateQuestions(answer="Ines Dahl.", n=2, history=TURNS))
    assert "Write questions that the user could have asked next." in said


def turns(*lengths: int) -> list[tuple[str, int]]:
    """What a prompt shows of turns of these lengths: numbers with lengths, or what it says of those left out."""
    history = tuple(Turn(role="user", text="x" * length) for length in lengths)
    said = Prompts.read().render(RateAnswer(question="q", answer="a", history=history)).split("## Now")[1]
    shown = re.findall(r'<turn number="(\d+)" role="user">\n(x*)\n</turn>|\((left out[^)]*)\)', said)
    return [(number or left, len(text)) for number, text, left in shown]


def test_turns_are_shown_whole_up_to_a_limit_and_the_prompt_says_which_are_not() -> None:
    assert turns(10, MAX_HISTORY_CHARACTERS - 10) == [("1", 10), ("2", MAX_HISTORY_CHARACTERS - 10)]
    assert turns(10, 10, MAX_HISTORY_CHARACTERS - 5) == [
        ("left out for length: turns 1 to 2", 0),
        ("3", MAX_HISTORY_CHARACTERS - 5),
    ]
    assert turns(10, MAX_HISTORY_CHARACTERS + 1, 10) == [("1", 10), ("left out for length: turn 2", 0), ("3", 10)]


def test_a_recording_is_replayed_by_history_too(tmp_path: Path) -> None:
    path, judge = tmp_path / "said.jsonl", EmbeddedJudge()
    plain = RateAnswer(question="And who built it?", answer="Ines Dahl.")
    following = replace(plain, history=TURNS)
    (reply,) = ask(RecordingJudge(judge, path), following)
    assert ask(ReplayJudge.from_file(path), following) == [reply]
    assert "no recorded reply" in str(ask(ReplayJudge.from_file(path), plain))
    assert decode_reply("RateAnswer", json.loads(path.read_text("utf-8"))["reply"]) == reply
