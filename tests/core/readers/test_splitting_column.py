"""Tests of suggesting a column that splits a file into runs."""

from __future__ import annotations

import json

import pytest
from tests.core.readers.conftest import Write

from ragboard.readers import read_runs
from ragboard.readers.runs import splitting_column
from ragboard.records import JsonValue, Run, Sample


def runs(*rows: tuple[str, dict[str, JsonValue]]) -> list[Run]:
    samples = [
        Sample(id=str(number), question=question, answer="A", metadata=metadata)
        for number, (question, metadata) in enumerate(rows)
    ]
    return [Run(name="run", samples=tuple(samples))]


@pytest.mark.parametrize(
    ("metadata", "column"),
    [
        (
            [
                {"model": "x", "turn": 1},
                {"model": "y", "turn": 1},
                {"model": "x", "turn": 2},
                {"model": "y", "turn": 2},
            ],
            "model",
        ),
        ([{"k": 3}, {"k": 5}, {"k": 3}, {"k": 5}], "k"),
        ([{"model": "x"}, {"model": "x"}, {"model": "x"}, {"model": "y"}], None),
        ([{"model": "x"}, {"model": ""}, {"model": "x"}, {"model": "y"}], None),
        ([{"model": "x"}, {}, {"model": "x"}, {"model": "y"}], None),
        ([{"parts": ["x"]}, {"parts": ["y"]}, {"parts": ["x"]}, {"parts": ["y"]}], None),
    ],
)
def test_each_value_answers_each_question_at_most_once(
    metadata: list[dict[str, JsonValue]], column: str | None
) -> None:
    questions = ("When?", "When?", "Where?", "Where?")
    assert splitting_column(runs(*zip(questions, metadata, strict=True))) == column


def test_questions_that_are_asked_once_need_no_column() -> None:
    assert (
        splitting_column(runs(("When?", {"topic": "a"}), ("Where?", {"topic": "b"}), ("Why?", {"topic": "a"}))) is None
    )
    assert splitting_column(runs()) is None


def test_the_report_says_how_to_split_the_file(write: Write) -> None:
    rows = [{"question": "When?", "answer": model, "model": model} for model in ("x", "y")]
    path = write("both.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    (suggestion,) = read_runs(path).report.suggestions
    assert suggestion.endswith("--run-column model")
    split = read_runs(path, run_column="model")
    assert [run.name for run in split.runs] == ["x", "y"]
    assert not split.report.suggestions
