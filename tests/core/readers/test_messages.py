"""Tests of chat messages: the last user message, the reply, and the earlier turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.core.readers.conftest import Write

from ragboard import RunFileError, Sample, Turn, read_runs
from ragboard.readers.objects import read_samples

OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hi,"}, {"type": "image_url", "image_url": {"url": "x"}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Where?"},
]
BEFORE = (
    Turn(role="system", text="Be brief."),
    Turn(role="user", text="Hi,"),
    Turn(role="assistant", text=""),
    Turn(role="assistant", text="Hello"),
)
FORMS: dict[str, Any] = {
    "openai": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}],
    "ragas": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Yes?"}],
    "langchain dict": [{"type": "human", "data": {"content": "Hi"}}, {"type": "ai", "data": {"content": "Yes?"}}],
    "langchain dumps": [
        {"lc": 1, "type": "constructor", "id": ["x"], "kwargs": {"type": kind, "content": text}}
        for kind, text in (("human", "Hi"), ("ai", "Yes?"))
    ],
    "anthropic": [
        {"role": role, "content": [{"type": "text", "text": text}]}
        for role, text in (("user", "Hi"), ("assistant", "Yes?"))
    ],
    "haystack": [
        {"role": role, "content": [{"text": text}], "meta": {}}
        for role, text in (("user", "Hi"), ("assistant", "Yes?"))
    ],
    "llamaindex": [
        {"role": role, "blocks": [{"block_type": "text", "text": text}]}
        for role, text in (("user", "Hi"), ("assistant", "Yes?"))
    ],
    "genai": [
        {"role": role, "parts": [{"type": "text", "content": text}]}
        for role, text in (("user", "Hi"), ("assistant", "Yes?"))
    ],
}


def read(write: Write, row: dict[str, Any], ending: str = "jsonl") -> Sample:
    text = json.dumps(row) if ending == "jsonl" else pd.DataFrame([row]).to_csv(index=False)
    (sample,) = read_runs(write(f"talk.{ending}", text)).runs[0].samples
    return sample


@pytest.mark.parametrize("column", ["user_input", "question", "input"])
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
@pytest.mark.parametrize("as_text", [False, True])
def test_the_last_message_of_the_user_is_the_question(write: Write, column: str, ending: str, as_text: bool) -> None:
    messages = json.dumps(OPENAI) if as_text else OPENAI
    sample = read(write, {column: messages, "response": "Here."}, ending)
    assert (sample.question, sample.answer, sample.history) == ("Where?", "Here.", BEFORE)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("as_text", [False, True])
def test_messages_of_every_tool_are_history_and_answer(write: Write, form: str, as_text: bool) -> None:
    messages = json.dumps(FORMS[form]) if as_text else FORMS[form]
    sample = read(write, {"question": "Q", "history": messages, "answer": messages})
    assert sample.history == (Turn(role="user", text="Hi"), Turn(role="assistant", text="Yes?"))
    assert sample.answer == "Yes?"


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "content": "Here."},
        [{"type": "text", "text": "Here."}, {"type": "tool_use", "name": "x"}],
        [{"type": "output_text", "text": "Here.", "annotations": []}],
        [{"type": "text", "text": {"value": "Here.", "annotations": []}}],
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_parts_of_a_message_are_its_text(write: Write, answer: Any, as_text: bool) -> None:
    row = {"question": answer, "answer": answer, "reference": answer}
    if as_text:
        row = {name: json.dumps(value) for name, value in row.items()}
    else:
        row["question"] = "Q"
    sample = read(write, row)
    assert (sample.answer, sample.reference) == ("Here.", "Here.")


def test_what_was_taken_from_messages_is_reported(write: Write) -> None:
    row = {"question": json.dumps(OPENAI), "answer": [{"type": "text", "text": "a"}, {"type": "image"}]}
    report = read_runs(write("talk.jsonl", json.dumps(row))).report
    assert [change.what for change in report.coerced] == [
        "question: messages parsed from text",
        "question: non-text message parts dropped",
        "answer: non-text message parts dropped",
    ]


@pytest.mark.parametrize("written", [str, json.dumps])
def test_a_message_in_pythons_spelling_is_read_as_in_that_of_json(write: Write, written: Any) -> None:
    message = {"role": "assistant", "content": "It's Paris", "refusal": None, "final": True}
    asked = {"role": "user", "content": "Where?"}
    row = {"question": [asked], "answer": message, "reference": message, "history": asked}
    sample = read(write, {name: written(value) for name, value in row.items()})
    assert (sample.question, sample.answer, sample.reference) == ("Where?", "It's Paris", "It's Paris")
    assert sample.history == (Turn(role="user", text="Where?"),)
    assert read(write, {"question": "Q", "answer": written([asked, message])}).answer == "It's Paris"


@pytest.mark.parametrize(
    "text",
    ['["a", "b"]', '{"a": 1}', "[1] See above", '[{"price": 3}]', "{not json}", '[{"text": "x", "other": 1}]'],
)
def test_other_texts_that_look_like_json_are_not_changed(write: Write, text: str) -> None:
    sample = read(write, {"question": text, "answer": text})
    assert (sample.question, sample.answer) == (text, text)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"question": "Q", "answer": [{"role": "user", "content": "Hi"}]},
            "answer: got a list of messages without one by the assistant, expected an answer",
        ),
        ({"question": [{"role": "user"}]}, "question: got a list, expected text"),
        (
            {"question": "Q", "history": [{"role": "user", "value": "x"}]},
            "history: message 1 has no text, expected one of",
        ),
        ({"question": "Q", "answer": ["a", "b"]}, "answer: got a list, expected text"),
        ({"question": "Q", "answer": {"score": 1}}, "answer: got an object, expected text"),
    ],
)
def test_messages_without_what_is_needed_are_rejected(write: Write, row: dict[str, Any], message: str) -> None:
    with pytest.raises(RunFileError, match=rf"talk\.jsonl:1: {message}"):
        read(write, row)


def test_from_python_the_same_messages_are_read() -> None:
    row = {"question": OPENAI, "answer": json.dumps(FORMS["openai"])}
    (sample,) = read_samples([row], name="run").runs[0].samples
    assert (sample.question, sample.history, sample.answer) == ("Where?", BEFORE, "Yes?")


def test_a_real_multi_turn_file_of_ragas_is_read(data: Path) -> None:
    first, second = read_runs(data / "tools" / "ragas" / "dataset_multiturn_0.4.jsonl").runs[0].samples
    assert (first.question, first.answer, first.reference) == (
        "When did it open?",
        "It opened in July 2000.",
        "July 2000",
    )
    assert first.history[0] == Turn(role="user", text="Hi, where is the bridge?")
    assert (second.question, second.answer) == ("Thanks, bye", None)
