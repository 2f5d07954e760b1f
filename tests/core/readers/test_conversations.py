"""Tests of columns that look like a conversation history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragboard.readers import preview, read_runs
from ragboard.records import JsonValue

BEFORE: list[JsonValue] = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "The red one."}]
ROW: dict[str, JsonValue] = {"question": "And when?", "answer": "In 2000."}


@pytest.mark.parametrize(
    ("column", "cell", "field"),
    [
        ("messages", BEFORE, "history"),
        ("messages", json.dumps(BEFORE), "history"),
        ("earlier", BEFORE, "history"),
        ("previous_turns", ["Which?", "The red one."], "history"),
        ("messages", [*BEFORE, {"role": "user", "content": "And when?"}], "question"),
        ("tags", ["red", "old"], None),
        ("messages", [], None),
        ("conversation_id", "c7", None),
        ("history", BEFORE, None),
    ],
)
def test_what_looks_like_a_conversation_is_pointed_out(
    tmp_path: Path, column: str, cell: JsonValue, field: str | None
) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps(ROW | {column: cell}), encoding="utf-8")
    assert preview(file).suggested == ({column: field} if field else {})
    suggestions = read_runs(file).report.suggestions
    assert any(one.endswith(f"--map {field}={column}") for one in suggestions) == bool(field)


def test_a_conversation_that_is_mapped_is_pointed_out_no_more(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps(ROW | {"messages": BEFORE}), encoding="utf-8")
    read = read_runs(file, mapping={"history": "messages"})
    assert [turn.text for turn in read.runs[0].samples[0].history] == ["Which?", "The red one."]
    assert read.report.suggestions == ()


def test_without_a_question_a_conversation_is_offered_as_one(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"messages": [*BEFORE, {"role": "user", "content": "And when?"}]}), encoding="utf-8")
    assert preview(file).suggested == {"messages": "question"}
    (sample,) = read_runs(file, mapping={"question": "messages"}).runs[0].samples
    assert (sample.question, len(sample.history)) == ("And when?", 2)
