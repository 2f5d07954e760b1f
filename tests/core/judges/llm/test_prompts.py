"""Tests of prompt files: strict filling, and your own prompts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template
from typing import Any

import pytest
from tests.core.judges.llm.test_judge import WELL

from ragboard.errors import SettingError
from ragboard.judges.llm.dialogue import read_reply
from ragboard.judges.llm.prompts import Prompts
from ragboard.tasks import (
    PROMPTED_TASKS,
    ExtractStatements,
    GenerateQuestions,
    Prefer,
    Rate,
    RateAnswer,
    ReplyFormatError,
    Task,
)

TASKS = [task for task, _ in WELL]


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is as the few words of JSON schema that we use say."""
    if "enum" in schema:
        return value in schema["enum"]
    match schema["type"]:
        case "object":
            return isinstance(value, dict) and all(
                name in schema["properties"] and fits(part, schema["properties"][name]) for name, part in value.items()
            )
        case "array":
            return isinstance(value, list) and all(fits(item, schema["items"]) for item in value)
        case kind:
            return isinstance(value, {"string": str, "integer": int, "boolean": bool}[kind])


def test_a_prompt_is_filled_as_a_template() -> None:
    texts = {"extract_statements": "${question}? $answer costs $$5, $history.", "repair": "$problem"}
    prompts = Prompts({**Prompts.read().texts, **texts})
    filled = prompts.render(ExtractStatements(question="Who", text="$answer \\g<0>"))
    assert filled == Template(texts["extract_statements"]).substitute(
        question="Who", answer="$answer \\g<0>", history=""
    )
    assert prompts.repair("$x") == "$x"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_every_text_of_a_task_is_in_its_prompt_and_no_field_is_left(task: Task) -> None:
    prompt = Prompts.read().render(task)
    assert prompt.startswith("# ")
    assert not re.search(r"\$\w", prompt)
    now = " ".join(prompt.split("## Now")[1].split())
    shown = [value for name in ("text", "answer", "a", "b", "definition") if (value := getattr(task, name, None))]
    assert all(text in now for text in shown)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_the_example_in_a_prompt_is_as_the_schema_and_the_reader_want(task: Task) -> None:
    example = re.findall(r"^\{.*\}$", Prompts.read().render(task).split("## Example")[1], re.MULTILINE)
    assert len(example) == 1
    assert fits(json.loads(example[0]), task.schema())
    assert task.reply_model.key in json.loads(example[0])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_the_form_shown_in_a_prompt_is_as_the_schema(task: Task) -> None:
    before = Prompts.read().render(task).split("## Example")[0]
    (form,) = re.findall(r"^\{.*\}$", before, re.MULTILINE)
    assert fits(json.loads(form), task.schema())


def test_text_that_looks_like_a_field_is_not_changed() -> None:
    prompt = Prompts.read().render(RateAnswer(question="What costs $answer?", answer="$$5, ${question}"))
    assert "What costs $answer?" in prompt
    assert "$$5, ${question}" in prompt


def test_the_questions_asked_for_are_so_many() -> None:
    assert "Write this many questions: 4" in Prompts.read().render(GenerateQuestions(answer="a", n=4))


def test_your_own_prompt_file_replaces_only_the_file_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "rate_answer.md").write_text("Bewerte für 5 $$: $question / $answer", encoding="utf-8")
    own, ours = Prompts.read(tmp_path), Prompts.read()
    assert own.render(RateAnswer(question="Q", answer="A")) == "Bewerte für 5 $: Q / A"
    assert own.digest(RateAnswer) != ours.digest(RateAnswer)
    assert [kind for kind in PROMPTED_TASKS if own.digest(kind) != ours.digest(kind)] == [RateAnswer]


def test_the_definition_of_a_quality_belongs_to_what_is_asked(tmp_path: Path) -> None:
    (tmp_path / "quality_faithfulness.md").write_text("Wie treu?", encoding="utf-8")
    own, ours = Prompts.read(tmp_path), Prompts.read()
    assert [kind for kind in PROMPTED_TASKS if own.digest(kind) != ours.digest(kind)] == [Rate, Prefer]
    rate = Rate(quality="faithfulness", question="q", answer="a", contexts=())
    assert "Wie treu?" in own.render(rate)


WRONG = (
    ("rate_answer.md", "$question", r"\$answer is missing"),
    (
        "rate_answer.md",
        "$question $answer $context",
        r"unknown field \$context; available: \$answer, \$history, \$question",
    ),
    ("rate_answer.md", "$question $answer costs $5", "no field name follows; write"),
    ("rate_answer.md", " \n", "the prompt is empty"),
    ("quality_faithfulness.md", "$answer", "available: none"),
    ("rates.md", "x", "unknown prompt; available: extract_statements"),
)


@pytest.mark.parametrize(("name", "text", "why"), WRONG)
def test_a_wrong_prompt_file_is_rejected_by_name(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SettingError, match=why) as caught:
        Prompts.read(tmp_path)
    assert name in str(caught.value)


def test_a_folder_without_prompts_or_none_at_all_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="contains no prompt file"):
        Prompts.read(tmp_path)
    with pytest.raises(SettingError, match="expected prompt files"):
        Prompts.read(tmp_path / "nowhere")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_a_copy_of_the_prompt_is_not_a_reply(task: Task) -> None:
    prompt = Prompts.read().render(task)
    with pytest.raises(ReplyFormatError):
        read_reply(task, prompt, prompt)
