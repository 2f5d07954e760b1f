"""Tests of rewriting follow-up questions."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from tests.chat_server import ChatServer, chat_server, replies

from ragboard import EmbeddedJudge, JudgeError, Panel, Run, Sample, Store, Turn
from ragboard.analysis import sample_report
from ragboard.cli import main
from ragboard.datasets import load_dataset, rewrite_questions

TURNS = (Turn(role="user", text="When did the bridge open?"), Turn(role="assistant", text="In 2000."))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
def chats(store: Store) -> Store:
    """Two runs over three questions, two of which follow others."""
    samples = (
        Sample(id="1", question="When did the bridge open?", answer="In 2000."),
        Sample(id="2", question="And who built it?", answer="Ines Dahl.", history=TURNS),
        Sample(id="3", question="Is it long?", answer="Yes.", history=TURNS[:1], metadata={"rewritten_query": "Long?"}),
    )
    store.add_runs([Run(name=name, samples=samples, dataset="bridges", config={"k": name}) for name in ("a", "b")])
    return store


def command(store: Store, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(store.folder)], env={"OPENAI_API_KEY": "k"})


def rewrite(store: Store, server: ChatServer, *words: str) -> Result:
    return command(store, "rewrite", "a", "--judge", "openai:m", "--base-url", server.url, *words)


def test_each_follow_up_question_is_asked_about_once_for_all_runs(chats: Store, server: ChatServer) -> None:
    done = rewrite(chats, server)
    assert done.exit_code == 0, done.output
    assert done.stdout == "2 questions rewritten, 2 calls; 1 without earlier turns\n"
    assert len(server.asked) == 2
    assert all("When did the bridge open?" in asked["messages"][0]["content"] for asked in server.asked)
    assert (
        rewrite(chats, server).stdout
        == "0 questions rewritten, 0 calls; 2 already rewritten; 1 without earlier turns\n"
    )
    assert len(server.asked) == 2


def test_the_sample_shows_it_with_its_author_and_the_files_own_counts_first(chats: Store, server: ChatServer) -> None:
    rewrite(chats, server)
    reports = {name: sample_report(chats, chats.resolve("b"), name) for name in "123"}
    assert reports["1"].rewritten is None
    assert reports["2"].rewritten == ("Alone: And who built it?", "openai:m")
    assert reports["3"].rewritten == ("Long?", "run file")
    assert "  rewritten (openai:m): Alone: And who built it?" in command(chats, "show", "b", "2").stdout
    shown = json.loads(command(chats, "show", "b", "2", "--json").stdout)
    assert "Alone: And who built it?" in json.dumps(shown["rewritten"])


def test_what_a_limit_stopped_continues_where_it_was(chats: Store, server: ChatServer) -> None:
    stopped = rewrite(chats, server, "--max-calls", "1")
    assert stopped.exit_code == 3
    assert "run the same command to resume" in stopped.stderr
    assert rewrite(chats, server).exit_code == 0
    assert len(server.asked) == 2


def test_again_replaces_and_a_bad_reply_leaves_what_is_there(chats: Store, server: ChatServer) -> None:
    rewrite(chats, server)
    server.chance = lambda _: replies('{"question": "  "}')
    done = command(chats, "rewrite", "a", "--judge", "openai:other", "--base-url", server.url, "--again")
    assert done.stdout.startswith("0 questions rewritten")
    assert "2 questions without a usable reply" in done.stderr
    assert sample_report(chats, chats.resolve("a"), "2").rewritten == ("Alone: And who built it?", "openai:m")
    server.chance = lambda _: None
    command(chats, "rewrite", "a", "--judge", "openai:third", "--base-url", server.url, "--again")
    assert sample_report(chats, chats.resolve("a"), "2").rewritten == ("Alone: And who built it?", "openai:third")


def test_the_embedded_judge_refuses_in_one_line(chats: Store) -> None:
    with pytest.raises(JudgeError, match=r"^[^\n]*--judge openai:MODEL[^\n]*$"):
        rewrite_questions(chats, load_dataset(chats, "a"), Panel(judge=EmbeddedJudge()))
