"""Tests of finding judges by name, and of their requirements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragboard import JudgeError, SettingError
from ragboard.judges import JudgeOptions, LlmJudge, OpenAiEmbedder, embedder_named, judge_named, panel_named
from ragboard.judges.llm import openai_endpoint
from ragboard.judges.options import options_from_json, options_to_json
from ragboard.tasks import ExtractStatements, Rate, Similarity, Verify


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    return monkeypatch


def test_openai_and_a_model_is_an_llm_judge() -> None:
    judge = judge_named("openai:gpt-x")
    assert isinstance(judge, LlmJudge)
    assert judge.name == "openai:gpt-x"
    assert "https://api.openai.com/v1" in judge.identity(Rate)


def test_the_address_is_taken_from_the_environment(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1/")
    environment.delenv("OPENAI_API_KEY")
    assert "http://localhost:11434/v1/" in judge_named("openai:qwen:7b").identity(Rate)
    assert judge_named("openai:qwen:7b").name == "openai:qwen:7b"


def test_without_a_key_openai_is_rejected_in_one_line(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("OPENAI_API_KEY")
    with pytest.raises(JudgeError, match="OPENAI_API_KEY is not set; set it, or OPENAI_BASE_URL"):
        judge_named("openai:gpt-x")


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000",
        "ftp://x/v1",
        "http://",
        "me:secret@host",
        "http://[::1/v1",
        "http://localhost:secret/v1",
        "http://localhost:99999/v1",
    ],
)
def test_an_address_that_is_none_is_rejected_without_repeating_it(address: str) -> None:
    with pytest.raises(SettingError, match=r"\(OPENAI_BASE_URL\) is not an http") as caught:
        openai_endpoint(environment={"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "k"})
    assert "secret" not in str(caught.value)


def test_an_address_with_a_password_is_rejected_without_repeating_it() -> None:
    with pytest.raises(SettingError, match="contains a user or password") as caught:
        openai_endpoint(environment={"OPENAI_BASE_URL": "http://me:secret@localhost:8000/v1", "OPENAI_API_KEY": "k"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-a\nsk-b", "sk-a b", "sk-\u00e4"])
def test_a_key_that_is_none_is_rejected_without_repeating_it(key: str) -> None:
    with pytest.raises(SettingError, match="OPENAI_API_KEY contains") as caught:
        openai_endpoint(environment={"OPENAI_API_KEY": key})
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("name", ["openai:", "openai", "gpt-x", "replay:"])
def test_another_name_is_rejected_with_what_there_is(name: str) -> None:
    with pytest.raises(SettingError, match="openai:MODEL"):
        judge_named(name)
    with pytest.raises(SettingError, match="openai:MODEL"):
        embedder_named(name)


def test_a_panel_has_its_embedder_apart() -> None:
    panel = panel_named(JudgeOptions(judge="openai:gpt-x", embed="openai:embedding-x"))
    assert isinstance(panel.for_task(Similarity), OpenAiEmbedder)
    assert isinstance(panel.for_task(Verify), LlmJudge)
    assert panel.name == "openai:gpt-x + openai:embedding-x"
    with pytest.raises(JudgeError, match="does not answer Similarity tasks; use an embedder: --embed"):
        panel_named(JudgeOptions(judge="openai:gpt-x")).for_task(Similarity)


def test_roles_share_an_endpoint_and_a_name_is_one_judge() -> None:
    panel = panel_named(
        JudgeOptions(judge="openai:a", extract="openai:b", verify="openai:b", embed="openai:e", parameters={"seed": 1})
    )
    judge, extract, verify = (panel.for_task(kind) for kind in (Rate, ExtractStatements, Verify))
    embed = panel.for_task(Similarity)
    assert isinstance(judge, LlmJudge)
    assert isinstance(extract, LlmJudge)
    assert isinstance(embed, OpenAiEmbedder)
    assert extract is verify
    assert (judge.model, extract.model) == ("a", "b")
    assert judge.endpoint is extract.endpoint is embed.endpoint
    assert judge.parameters == extract.parameters == {"seed": 1}


def test_parameters_and_prompts_are_part_of_the_identity(tmp_path: Path) -> None:
    (tmp_path / "rate.md").write_text("$quality $material", encoding="utf-8")
    plain, seeded, reworded = (
        panel_named(JudgeOptions(judge="openai:a", parameters=parameters, prompts=prompts)).identity()["Rate"]
        for parameters, prompts in (({}, None), ({"seed": 1}, None), ({}, tmp_path))
    )
    assert len({plain, seeded, reworded}) == 3


def test_examples_are_part_of_the_identity_where_they_are_shown_and_are_kept_with_the_options(tmp_path: Path) -> None:
    few = tmp_path / "few.tsv"
    few.write_text("Query\tDocument\tContext_Relevance_Label\nq\td\tYes\n", encoding="utf-8")
    options = JudgeOptions(judge="openai:a", prompts=None, examples=few, device="cuda:1", threads=2, backend="onnx")
    plain, shown = panel_named(JudgeOptions(judge="openai:a")).identity(), panel_named(options).identity()
    assert [task for task, said in plain.items() if shown[task] != said] == ["Classify"]
    assert options_from_json(json.loads(json.dumps(options_to_json(options)))) == options
    newer = ("examples", "backend")
    older = {name: value for name, value in options_to_json(JudgeOptions()).items() if name not in newer}
    assert options_from_json(older) == JudgeOptions()


def test_no_key_is_asked_for_where_no_model_is_named(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("OPENAI_API_KEY")
    assert panel_named(JudgeOptions(parameters={"seed": 1})).name == "embedded"
