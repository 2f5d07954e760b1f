"""Tests of redaction: matches of a pattern are never sent."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.chat_server import chat_server

from ragboard import SettingError
from ragboard.cli import main
from ragboard.judges.redact import compile_redaction
from ragboard.records import Turn
from ragboard.tasks import Prefer, Verify

SECRET = "Ines Halloran"
ROW = {
    "question": f"Did {SECRET} design the bridge?",
    "answer": f"{SECRET} designed it in 1994. It is red.",
    "contexts": [f"The design is by {SECRET}.", "It opened in 2000."],
    "reference": f"Yes, {SECRET} did.",
    "history": [{"role": "user", "content": f"Who is {SECRET}?"}, {"role": "assistant", "content": "An engineer."}],
}


@given(st.text())
def test_places_in_a_text_stay_the_same(text: str) -> None:
    hidden = compile_redaction([r"\d+", "[aeiou]", ""]).mask_text(text)
    assert len(hidden) == len(text)
    assert not any(sign in hidden for sign in "0123456789aeiou")


def test_every_text_of_a_task_is_redacted_and_what_the_metric_asks_is_not() -> None:
    turns = (Turn(role="user", text="I am Ada."),)
    task = Verify(question="Ada?", statements=("Ada.",), passages=("By Ada.",), joint=True, single=False, history=turns)
    hidden = compile_redaction(["Ada"]).mask_task(task)
    assert all("Ada" not in str(getattr(hidden, one.name)) for one in fields(hidden))
    assert (hidden.passages, hidden.joint, hidden.history[0].role) == (("By ███.",), True, "user")
    prefer = Prefer(quality="faithfulness", question="faith?", a="faith", b="", contexts=())
    assert compile_redaction(["faith"]).mask_task(prefer).quality == "faithfulness"


def test_without_patterns_nothing_changes() -> None:
    task = Verify(question="Ada?", statements=("Ada.",), passages=(), joint=True, single=False)
    assert compile_redaction([]).mask_task(task) is task
    assert compile_redaction([]).suffix == ""


def test_an_invalid_pattern_is_named() -> None:
    with pytest.raises(SettingError, match=r"--redact: '\(' is not a regular expression"):
        compile_redaction(["("])


@pytest.mark.parametrize("way", ["option", "file"])
def test_nothing_that_matches_is_sent_and_the_rest_is_judged(tmp_path: Path, way: str) -> None:
    run, store = tmp_path / "run.jsonl", str(tmp_path / "store")
    run.write_text(json.dumps(ROW))
    (tmp_path / "patterns").write_text(f"{SECRET}\n\n1994\n")
    given = ["--redact", SECRET, "--redact", "1994"] if way == "option" else ["--redact", f"@{tmp_path / 'patterns'}"]
    metrics = "ragas.faithfulness,ragas.answer_relevance,ragas.context_recall,gpt_score.faithfulness"
    with chat_server() as server:
        models = ["--judge", "openai:m", "--embed", "openai:e", "--base-url", server.url]
        asked = ["evaluate", str(run), "--store", store, "--metrics", metrics, *models]
        found = CliRunner().invoke(main, [*asked, *given], env={"OPENAI_API_KEY": "k"})
        sent = json.dumps(server.asked, ensure_ascii=False)
    assert found.exit_code == 0, found.output
    assert "matches of 2 patterns are hidden" in found.stderr
    assert server.asked
    assert SECRET not in sent
    assert "1994" not in sent
    assert "It is red." in sent


def test_a_redacted_evaluation_is_another_one(tmp_path: Path) -> None:
    run, store = tmp_path / "run.jsonl", str(tmp_path / "store")
    run.write_text(json.dumps(ROW))
    with chat_server() as server:
        asked = ["evaluate", str(run), "--store", store, "--metrics", "ragas.faithfulness", "--judge", "openai:m"]
        for given in ([], ["--redact", SECRET]):
            found = CliRunner().invoke(main, [*asked, "--base-url", server.url, *given], env={"OPENAI_API_KEY": "k"})
            assert found.exit_code == 0, found.output
        texts = [SECRET in json.dumps(request) for request in server.asked]
    assert any(texts)
    assert not all(texts)
