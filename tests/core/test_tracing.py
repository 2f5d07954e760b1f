"""Tests of `@ragboard.trace`: the function is logged in the background and not affected."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ragboard import Sample, Store, flush, trace, tracing

PASSAGES = [{"id": "p1", "text": "It closed in 1931.", "score": 0.5}]


@pytest.fixture(autouse=True)
def background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_background", tracing._Background())


def samples(store: Store, run: str = "chat") -> list[Sample]:
    assert flush(60)
    return [sample for _, sample in store.samples(store.resolve(run).run_id)]


def test_question_answer_and_time_are_logged(store: Store) -> None:
    @trace(run="chat", config={"k": 1}, dataset="live", store=store)
    def answer(question: str, style: str = "short") -> str:  # noqa: ARG001
        """Answer a question."""
        return f"{style}: in 1931"

    assert answer("When did it close?", style="long") == "long: in 1931"
    assert (answer.__name__, answer.__doc__) == ("answer", "Answer a question.")
    (sample,) = samples(store)
    assert (sample.question, sample.answer, sample.contexts) == ("When did it close?", "long: in 1931", None)
    assert sample.time is not None
    latency = sample.metadata["latency_ms"]
    assert isinstance(latency, float)
    assert latency >= 0


@dataclass
class Response:
    response: str = "In 1931."
    source_nodes: list[Any] = field(default_factory=lambda: PASSAGES)


@pytest.mark.parametrize(
    "result",
    [
        ("In 1931.", PASSAGES),
        {"answer": "In 1931.", "contexts": PASSAGES},
        {"result": "In 1931.", "source_documents": PASSAGES},
        Response(),
    ],
)
def test_passages_are_in_what_is_returned(store: Store, result: Any) -> None:
    @trace("chat", store=store)
    def answer(query: str) -> Any:  # noqa: ARG001
        return result

    assert answer(query="When?") is result
    (sample,) = samples(store)
    assert sample.answer == "In 1931."
    assert [(one.id, one.text, one.score) for one in sample.contexts or ()] == [("p1", "It closed in 1931.", 0.5)]


def test_metadata_and_history_are_kept(store: Store) -> None:
    class Bot:
        @trace("chat", store=store)
        def answer(self, history: list[dict[str, str]], question: str) -> dict[str, Any]:  # noqa: ARG002
            return {"answer": "In 1931.", "metadata": {"model": "small"}}

    talk = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    Bot().answer(talk, "When?")
    talk.append({"role": "user", "content": "added later"})
    (sample,) = samples(store)
    assert [turn.text for turn in sample.history] == ["Hello", "Hi"]
    assert sample.metadata["model"] == "small"


def test_coroutines_and_parts_of_answers(store: Store) -> None:
    @trace("chat", store=store)
    async def wait(question: str) -> str:  # noqa: ARG001
        await asyncio.sleep(0)
        return "waited"

    @trace("chat", store=store)
    def parts(question: str) -> Iterator[Any]:  # noqa: ARG001
        yield from ("In ", "1931.")
        yield {"contexts": PASSAGES}

    @trace("chat", store=store)
    async def later(question: str) -> AsyncIterator[str]:  # noqa: ARG001
        for part in ("In ", "1932."):
            yield part

    async def all_parts() -> list[str]:
        return [part async for part in later("c")]

    assert asyncio.iscoroutinefunction(wait)
    assert asyncio.run(wait("a")) == "waited"
    assert [*parts("b")][:2] == ["In ", "1931."]
    assert asyncio.run(all_parts()) == ["In ", "1932."]
    found = samples(store)
    assert [(sample.question, sample.answer) for sample in found] == [
        ("a", "waited"),
        ("b", "In 1931."),
        ("c", "In 1932."),
    ]
    assert [len(sample.contexts or ()) for sample in found] == [0, 1, 0]


def test_exceptions_pass_through_and_are_logged(store: Store) -> None:
    @trace("chat", store=store)
    def answer(question: str) -> str:
        raise KeyError(question)

    with pytest.raises(KeyError):
        answer("When?")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        answer()  # type: ignore[call-arg]
    (sample,) = samples(store)
    assert (sample.question, sample.answer, sample.metadata["error"]) == ("When?", None, "KeyError")


def test_what_cannot_be_logged_is_reported_once(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    in_file = trace("chat", store=tmp_path / "file")(lambda _: "yes")
    unreadable = trace("chat", store=store)(lambda _: object)
    with caplog.at_level(logging.WARNING, "ragboard.trace"):
        for number in range(3):
            assert in_file(f"q{number}") == "yes"
            unreadable(object())
            assert flush(60)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert all(message.endswith("(logged only once)") and "\n" not in message for message in messages)
    caplog.clear()
    monkeypatch.setattr(tracing, "MAX_WAITING", 0)
    in_file("dropped")
    assert "not logged" in caplog.text


def test_the_caller_does_not_wait_for_the_store(store: Store) -> None:
    answer = trace("chat", store=store)(lambda _: "yes")
    held = threading.Event()
    with store.database.write():
        for number in range(100):
            answer(f"q{number}")
        held.set()
        assert not flush(0.01)
    assert len(samples(store)) == 100


def questions_logged_by(program: str, folder: Path) -> list[str]:
    """Run a program in a folder, in which it logs to run `chat` of the store `store`. Return the logged questions."""
    ended = subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True)
    assert "not logged" not in ended.stderr
    store = Store(folder / "store")
    return sorted(sample.question for _, sample in store.samples(store.resolve("chat").run_id))


@pytest.mark.plain_database
def test_an_answer_given_just_before_the_process_ends_is_stored(tmp_path: Path) -> None:
    program = """
import ragboard
@ragboard.trace("chat", store="store")
def answer(question): return "yes"
answer("the last question")
"""
    assert questions_logged_by(program, tmp_path) == ["the last question"]


@pytest.mark.plain_database
def test_the_process_waits_at_exit_and_a_fork_starts_with_an_empty_queue(tmp_path: Path) -> None:
    program = """
import os, ragboard
@ragboard.trace("chat", store="store")
def answer(question): return "yes"
answer("parent")
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        answer("child")
        ragboard.flush()
        os._exit(0)
    os.waitpid(child, 0)
answer("parent again")
"""
    expected = ["child", "parent", "parent again"] if hasattr(os, "fork") else ["parent", "parent again"]
    assert questions_logged_by(program, tmp_path) == expected
