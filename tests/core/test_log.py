"""Tests of `ragboard.log`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.core.conftest import PlainJudge, make_run

from ragboard import (
    DEFAULT_METRICS,
    Panel,
    RunExistsError,
    RunFileError,
    RunFileWarning,
    Sample,
    SettingError,
    Store,
    evaluate_run,
    log,
)
from ragboard.analysis import leaderboard
from ragboard.tasks import ExtractStatements


def samples(store: Store, run: str = "chat") -> list[Sample]:
    return [sample for _, sample in store.samples(store.resolve(run).run_id)]


def test_the_first_sample_begins_the_run_and_its_configuration_is_the_runs(store: Store) -> None:
    log("chat", question="What is red?", answer="It is.", contexts=["It is red."], config={"k": 1}, store=store)
    log("chat", question="And old?", answer="It is old.", contexts=[], metadata={"seconds": 2.5}, store=store.folder)
    (run,) = leaderboard(store)
    assert (run.name, run.samples, run.config, run.dataset, run.source) == ("chat", 2, {"k": 1}, "logged", "logged")
    first, second = samples(store)
    assert [passage.text for passage in first.contexts or ()] == ["It is red."]
    assert (second.question, second.contexts, second.metadata) == ("And old?", (), {"seconds": 2.5})


def test_what_is_logged_as_something_else_is_warned_of(store: Store) -> None:
    with pytest.warns(RunFileWarning, match=r"contexts: single text read as a list \(row 1\)$") as caught:
        log("chat", question="What is red?", contexts="It is red.", store=store)
    assert caught[0].filename == __file__
    with pytest.raises(RunFileError, match="answer: got an object of type object, expected text"):
        log("chat", question="q", answer=object(), store=store)  # type: ignore[arg-type]


def test_an_id_that_is_taken_gets_a_number_and_so_does_a_question_asked_again(store: Store) -> None:
    given = [log("chat", question="q", sample_id="a", store=store) for _ in range(3)]
    assert given == ["a", "a#2", "a#3"]
    derived = [log("chat", question="the same", store=store) for _ in range(2)]
    assert derived[1] == f"{derived[0]}#2"
    assert [sample.id for sample in samples(store)] == [*given, *derived]


def test_evaluating_again_asks_only_for_what_was_logged_since(store: Store) -> None:
    for number in range(3):
        log("chat", question=f"q{number}", answer=f"{number} is red.", contexts=["All is red."], store=store)
    run = store.resolve("chat")
    first = evaluate_run(store, run.run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    for number in range(3, 5):
        log("chat", question=f"q{number}", answer=f"{number} is red.", contexts=["All is red."], store=store)
    (between,) = leaderboard(store)
    assert between.judged
    assert between.judged.part == "3 of 5 samples evaluated"
    assert between.metrics["ragas.faithfulness"].total == 3
    judge = PlainJudge()
    again = evaluate_run(store, run.run_id, DEFAULT_METRICS, Panel(judge=judge))
    assert again.evaluation.id == first.evaluation.id
    asked = [task.text for task in judge.asked if isinstance(task, ExtractStatements)]
    assert asked == ["3 is red.", "4 is red."]
    (after,) = leaderboard(store)
    assert after.judged
    assert (after.judged.covered, after.judged.part) == (5, "")


def test_another_configuration_is_another_run(store: Store) -> None:
    log("chat", question="q", config={"k": 1}, store=store)
    log("chat", question="q", config={"k": 1}, store=store)
    with pytest.raises(SettingError, match="log another configuration under another name"):
        log("chat", question="q", config={"k": 2}, store=store)
    assert len(samples(store)) == 2


def test_a_run_from_a_file_does_not_grow(store: Store) -> None:
    store.add_runs([make_run("whole")])
    with pytest.raises(RunExistsError, match="does not grow"):
        log("whole", question="q", store=store)
    log("chat", question="q", store=store)
    with pytest.raises(RunExistsError):
        store.add_runs([make_run("chat")])


def test_what_cannot_be_read_is_rejected_and_nothing_is_kept(store: Store) -> None:
    with pytest.raises(RunFileError, match="contexts"):
        log("chat", question="q", contexts=5, store=store)  # type: ignore[arg-type]
    assert leaderboard(store) == ()


def test_several_processes_may_log_at_once(python: str, store: Store, tmp_path: Path) -> None:
    script = tmp_path / "pipeline.py"
    script.write_text(
        "import sys, ragboard\n"
        "for n in range(5):\n"
        "    ragboard.log('chat', question=f'q{n}', sample_id=f's{n}', config={'k': 1}, store=sys.argv[1])\n",
        encoding="utf-8",
    )
    path = os.pathsep.join(str(Path(part).resolve()) for part in sys.path if part)
    command = [python, str(script), str(store.folder)]
    both = [subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    ids = [sample.id for sample in samples(store)]
    assert len(ids) == len(set(ids)) == 10
    assert store.sample_count(store.resolve("chat").run_id) == 10
