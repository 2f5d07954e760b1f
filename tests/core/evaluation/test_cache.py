"""Tests of the cache: replies are reused by later evaluations if nothing relevant differs."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.chat_server import ChatServer, chat_server, status
from tests.core.conftest import PlainJudge, make_run

from ragboard import Panel, Score, Store, StoreError, evaluate_run
from ragboard.analysis import SampleQuery, sample_rows
from ragboard.evaluation.cache import cache_contents, open_cache, prune_cache
from ragboard.evaluation.engine import FinishedEvaluation
from ragboard.evaluation.journal import open_journal
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.embedded import EmbeddedJudge
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.metrics import metrics_named
from ragboard.store import RunRef
from ragboard.tasks import ExtractStatements, GenerateQuestions, Questions, encode, task_key

TASK = GenerateQuestions(answer="a", n=1)
REPLY = Questions(questions=("é?",))
FAITHFULNESS = metrics_named(["ragas.faithfulness"])
ROOT = Path(__file__).parents[3]


def key(number: int = 0) -> str:
    return task_key(TASK, str(number))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


async def no_pause(_: float) -> None:
    return None


def judge(server: ChatServer, model: str = "m", **given: Any) -> LlmJudge:
    return LlmJudge(model, Endpoint(server.url, "key", sleep=no_pause), **given)


def evaluate(store: Store, name: str, panel: Panel, **options: Any) -> FinishedEvaluation:
    """A run of the same samples under a name of its own."""
    run_id = store.add_runs([make_run(name=name)])[0].id
    return evaluate_run(store, run_id, FAITHFULNESS, panel, EvaluationOptions(**options))


def test_an_answer_is_found_at_once_and_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with open_cache(path) as cache:
        cache.put(key(), "j", TASK, REPLY)
        assert cache.get(key()) == REPLY
        cache.put(key(1), "j", TASK, REPLY)
    with open_cache(path) as cache:
        assert (cache.get(key(1)), cache.get(key(2))) == (REPLY, None)


def test_what_was_put_is_kept_when_the_evaluation_ends_in_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with open_cache(tmp_path / "a.sqlite") as cache:
            cache.put(key(), "j", TASK, REPLY)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with open_cache(tmp_path / "a.sqlite") as cache:
        assert cache.get(key()) == REPLY


def test_new_replies_are_written_together_and_their_claims_are_released_then(tmp_path: Path) -> None:
    path, journals = tmp_path / "a.sqlite", [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    with open_cache(path, journals[0]) as mine, open_cache(path, journals[1]) as other, open_journal(journals[0], {}):
        assert mine.claim(key())
        mine.put(key(), "j", TASK, REPLY)
        mine.release(key())
        assert mine.get(key()) == REPLY
        assert mine.has(key())
        assert not mine.claim(key())
        mine.write()
        assert other.get(key()) == REPLY
        assert not other.claim(key())
        other.discard(key())
        assert other.claim(key())


def test_a_reply_that_cannot_be_used_is_asked_for_again(store: Store, server: ChatServer) -> None:
    first = evaluate(store, "one", Panel(judge=judge(server)))
    with closing(sqlite3.connect(store.cache_path)) as connection, connection:
        connection.execute("UPDATE answers SET reply = '{}' WHERE task = 'Verify'")
        connection.execute(
            "UPDATE answers SET task = 'GenerateQuestions', reply = ? WHERE task = 'ExtractStatements'", [encode(REPLY)]
        )
    second = evaluate(store, "two", Panel(judge=judge(server)))
    assert (second.asked, second.cached, second.failed) == (first.asked, 0, 0)
    assert evaluate(store, "three", Panel(judge=judge(server))).cached == first.asked


def test_its_contents_are_counted_and_pruned_by_judge_and_age(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    assert (cache_contents(path), prune_cache(path)) == ((), 0)
    with open_cache(path) as cache:
        for number in range(3):
            cache.put(key(number), "one", TASK, REPLY)
        cache.put(key(9), "two", TASK, REPLY)
    assert [(row.judge, row.task, row.answers) for row in cache_contents(path)] == [
        ("one", "GenerateQuestions", 3),
        ("two", "GenerateQuestions", 1),
    ]
    assert prune_cache(path, older_than=3600) == 0
    assert prune_cache(path, judge="one") == 3
    assert [row.judge for row in cache_contents(path)] == ["two"]
    assert prune_cache(path) == 1


def test_the_same_samples_in_another_run_cost_nothing(store: Store, server: ChatServer) -> None:
    first = evaluate(store, "one", Panel(judge=judge(server)))
    asked = len(server.asked)
    second = evaluate(store, "two", Panel(judge=judge(server)))
    assert len(server.asked) == asked == first.asked
    assert (second.asked, second.cached) == (0, first.asked)
    shown = [_scores(store, done) for done in (first, second)]
    assert shown[0] == shown[1]


def _scores(store: Store, done: FinishedEvaluation) -> list[Any]:
    ref = RunRef(run_id=done.evaluation.run_id, name="run", evaluation_id=done.evaluation.id)
    return [row.scores for row in sample_rows(store, ref, SampleQuery(limit=100)).rows]


def test_without_the_cache_it_is_asked_and_paid_again(store: Store, server: ChatServer) -> None:
    first = evaluate(store, "one", Panel(judge=judge(server)))
    again = evaluate(store, "two", Panel(judge=judge(server)), cache=False)
    assert (again.asked, again.cached) == (first.asked, 0)


@pytest.mark.parametrize("changed", ["model", "parameters", "prompt", "endpoint"])
def test_what_could_change_an_answer_is_asked_again(
    store: Store, server: ChatServer, tmp_path: Path, changed: str
) -> None:
    first = evaluate(store, "one", Panel(judge=judge(server)))
    other = {
        "model": lambda: judge(server, "m2"),
        "parameters": lambda: judge(server, parameters={"seed": 7}),
        "prompt": lambda: judge(server, prompts=_prompts(tmp_path, judge(server))),
        "endpoint": lambda: LlmJudge("m", Endpoint(server.url.replace("127.0.0.1", "localhost"), "key")),
    }[changed]()
    second = evaluate(store, "two", Panel(judge=other))
    asked_again = 3 if changed == "prompt" else first.asked
    assert (second.asked, second.cached) == (asked_again, first.asked - asked_again)


def _prompts(folder: Path, usual: LlmJudge) -> Path:
    """A folder with one prompt changed: that of extraction."""
    (name,) = ExtractStatements.prompts
    text = usual.prompts.texts[name].replace("\n\n", "\n\nBe thorough.\n\n", 1)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def test_another_version_of_the_embedded_judge_is_asked_again(
    store: Store, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answers are in no cache, and what a model says of its statements is kept under these statements."""
    first = evaluate(store, "one", Panel(judge=judge(server), roles={"extract": EmbeddedJudge()}))
    usual = EmbeddedJudge.identity
    monkeypatch.setattr(EmbeddedJudge, "identity", lambda self, task: f"{usual(self, task)}+1")
    second = evaluate(store, "one", Panel(judge=judge(server), roles={"extract": EmbeddedJudge()}))
    assert second.evaluation.id != first.evaluation.id
    assert (second.asked, second.cached) == (3, 3)


def test_a_failure_is_not_kept_for_others(store: Store, server: ChatServer) -> None:
    server.faults = [status(400, "no such thing")] * 3
    assert evaluate(store, "one", Panel(judge=judge(server))).failed == 3
    second = evaluate(store, "two", Panel(judge=judge(server)))
    assert (second.failed, second.cached) == (0, 0)


def test_a_judge_without_a_server_creates_no_cache(store: Store) -> None:
    evaluate(store, "one", Panel(judge=PlainJudge()))
    assert not store.cache_path.exists()


WRITER = """
import sys
from pathlib import Path
from ragboard.evaluation.cache import open_cache
from ragboard.tasks import task_key
from ragboard.tasks import GenerateQuestions, Questions
task = GenerateQuestions(answer="a", n=1)
with open_cache(Path(sys.argv[1])) as cache:
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        cache.put(task_key(task, str(number)), "j", task, Questions(questions=(str(number),)))
"""


def test_two_processes_write_at_once(python: str, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    command = [python, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, *span], cwd=ROOT) for span in (["0", "150"], ["100", "250"])]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    with open_cache(path) as cache:
        assert all(cache.get(key(number)) == Questions(questions=(str(number),)) for number in range(250))


def test_a_damaged_file_is_one_line_with_the_way_around_it(store: Store, server: ChatServer) -> None:
    store.cache_path.parent.mkdir(parents=True, exist_ok=True)
    store.cache_path.write_bytes(b"this is no database " * 500)
    with pytest.raises(
        StoreError, match=r"answers\.sqlite: cannot use the cache: .*; evaluate without it with --no-cache$"
    ):
        evaluate(store, "one", Panel(judge=judge(server)))
    assert server.asked == []
    assert evaluate(store, "one", Panel(judge=judge(server)), cache=False).failed == 0


def test_damage_that_shows_while_answers_are_looked_up_is_the_same_one_line(store: Store, server: ChatServer) -> None:
    evaluate(store, "one", Panel(judge=judge(server)))
    with open_cache(store.cache_path) as cache:
        for number in range(2000):
            cache.put(key(number), "j", TASK, REPLY)
    _spoil_pages(store.cache_path)
    with pytest.raises(StoreError, match=r"^[^\n]*cannot use the cache: [^\n]*$"):
        evaluate(store, "two", Panel(judge=judge(server)))


def _spoil_pages(path: Path) -> None:
    """Everything after the first page, which holds the schema."""
    whole = path.read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    path.write_bytes(whole[:page] + b"\xff" * (len(whole) - page))


def test_the_journal_has_what_came_from_the_cache(store: Store, server: ChatServer) -> None:
    evaluate(store, "one", Panel(judge=judge(server)))
    second = evaluate(store, "two", Panel(judge=judge(server)))
    prune_cache(store.cache_path)
    third = evaluate_run(store, second.evaluation.run_id, FAITHFULNESS, Panel(judge=judge(server)))
    assert (third.asked, third.cached) == (0, 0)
    assert all(isinstance(score, Score) for row in _scores(store, third) for score in row.values())
