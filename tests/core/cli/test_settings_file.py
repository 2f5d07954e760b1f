"""Tests of `ragboard.toml`: the command line and the environment override it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.chat_server import ChatServer, chat_server
from tests.plugin_file import write_plugin

from ragboard.cli import main

ROW = {"question": "When did it open?", "answer": "It opened in 2000. It is red.", "contexts": ["It opened in 2000."]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a run file."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "RAGBOARD_JUDGE", "RAGBOARD_SETTINGS", "RAGBOARD_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.jsonl").write_text(json.dumps(ROW), encoding="utf-8")
    return tmp_path


def write(folder: Path, text: str, name: str = "ragboard.toml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def ragboard(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


def test_the_file_names_store_metrics_and_plugins(here: Path) -> None:
    write_plugin(here)
    write(here, 'store = "kept"\nmetrics = ["mine", "overlap.bleu"]\nplugins = ["my_metrics.py"]\n')
    done = ragboard("evaluate", "answers.jsonl", "--json")
    assert set(json.loads(done.stdout)["runs"][0]["metrics"]) == {"mine.brevity", "overlap.bleu"}
    assert (here / "kept" / "ragboard.duckdb").exists()
    assert "Brevity" in ragboard("runs").stdout


def test_relative_paths_are_relative_to_the_file(here: Path) -> None:
    (here / "team").mkdir()
    write_plugin(here / "team")
    file = write(here, 'store = "kept"\nplugins = ["my_metrics.py"]\nmetrics = ["mine"]\n', "team/usual.toml")
    assert ragboard("--settings", file, "evaluate", "answers.jsonl").exit_code == 0
    assert (here / "team" / "kept" / "ragboard.duckdb").exists()


def test_typed_comes_before_the_environment_before_the_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, 'judge = "nobody:file"\n')
    assert "'nobody:file'" in ragboard("evaluate", "answers.jsonl").stderr
    monkeypatch.setenv("RAGBOARD_JUDGE", "nobody:environment")
    assert "'nobody:environment'" in ragboard("evaluate", "answers.jsonl").stderr
    assert "'nobody:typed'" in ragboard("evaluate", "answers.jsonl", "--judge", "nobody:typed").stderr


def test_the_environment_names_the_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, 'judge = "nobody:here"\n')
    monkeypatch.setenv("RAGBOARD_SETTINGS", str(write(here, 'judge = "nobody:named"\n', "other.toml")))
    assert "'nobody:named'" in ragboard("evaluate", "answers.jsonl").stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('juge = "x"', "unknown setting 'juge'; known settings: store, judge, extract"),
        ("judge = 3", "judge is 3, expected a string"),
        ('metrics = "ragas"', "metrics is 'ragas', expected a list of strings"),
        ("judge-param = 3", "judge-param is 3, expected a table of parameters"),
        ("judge_param = 3", "judge_param is 3, expected a table of parameters"),
        ("judge = ", "invalid TOML"),
        ('api_key = "abc"', "api_key is a key or password. Remove it and keep keys in the environment"),
        ('OPENAI_API_KEY = "abc"', "OPENAI_API_KEY is a key or password"),
        ('judge = "sk-abcdef"', "judge is a key or password"),
        ('[judge-param]\napi_key = "abc"', "api_key is a key or password"),
        ('base_url = "https://me:abc@host/v1"', "base_url is a key or password"),
    ],
)
def test_a_file_that_cannot_be_is_rejected_in_one_line_without_its_secrets(here: Path, text: str, message: str) -> None:
    write(here, text)
    done = ragboard("runs")
    assert done.exit_code == 2
    assert message in done.stderr
    assert "ragboard.toml" in done.stderr
    assert "abc" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_doctor_says_which_file_is_in_force(here: Path) -> None:
    assert "settings file: none" in ragboard("doctor").stdout
    path = write(here, 'store = "kept"\n')
    assert f"settings file: {path}" in ragboard("doctor").stdout


def chat(server: ChatServer) -> list[dict[str, object]]:
    return [asked for asked in server.asked if "messages" in asked]


def test_a_reasoning_model_gets_its_parameters_from_file_or_command_line(here: Path) -> None:
    with chat_server() as server:
        write(
            here,
            f'judge = "openai:thinks"\nembed = "embedded"\nbase_url = "{server.url}"\n'
            '[judge_param]\nreasoning_effort = "low"\nmax_completion_tokens = 4000\n',
        )
        assert ragboard("evaluate", "answers.jsonl").exit_code == 0
        assert {(asked["reasoning_effort"], asked["max_completion_tokens"]) for asked in chat(server)} == {
            ("low", 4000)
        }
        server.asked.clear()
        ragboard("evaluate", "answers.jsonl", "--judge-param", "reasoning_effort=high", "--judge-param", "seed=7")
        assert {(asked["reasoning_effort"], asked["seed"]) for asked in chat(server)} == {("high", 7)}
        assert all("max_completion_tokens" not in asked for asked in chat(server))


@pytest.mark.usefixtures("here")
def test_each_role_has_its_own_model_at_one_address() -> None:
    words = ["evaluate", "answers.jsonl", "--judge", "openai:j", "--extract", "openai:x", "--verify", "openai:v"]
    with chat_server() as server:
        done = ragboard(*words, "--embed", "openai:e", "--base-url", server.url, "--json")
        assert done.exit_code == 0
        assert {asked["model"] for asked in server.asked} == {"j", "x", "v", "e"}
        assert json.loads(done.stdout)["runs"][0]["judged"]["judge"] == "openai:j + openai:x + openai:v + openai:e"


def test_own_prompts_are_sent(here: Path) -> None:
    write(here, "Teile die Antwort auf.\n$question\n$answer\n", "prompts/extract_statements.md")
    words = ["evaluate", "answers.jsonl", "--metrics", "faithfulness", "--judge", "openai:m", "--prompts", "prompts"]
    with chat_server() as server:
        ragboard(*words, "--base-url", server.url)
        assert any("Teile die Antwort auf." in str(asked["messages"]) for asked in chat(server))


def test_examples_are_sent_for_the_qualities_of_ares_and_for_no_other_task(here: Path) -> None:
    write(here, "Query\tDocument\tAnswer\tContext_Relevance_Label\nq\td\tAda\tNo\n", "team/few.tsv")
    write(here, 'examples = "few.tsv"\njudge = "openai:m"\n', "team/usual.toml")
    words = ["evaluate", "answers.jsonl", "--metrics", "ares,faithfulness"]
    with chat_server() as server:
        done = ragboard("--settings", here / "team" / "usual.toml", *words, "--base-url", server.url, "--json")
        asked = [str(asked["messages"]) for asked in chat(server)]
    assert done.exit_code == 0
    assert len(asked) == 5
    assert ["Say whether passages help" in text for text in asked if "\\nd\\n</passage>" in text] == [True]
    found = json.loads(done.stdout)["runs"][0]["metrics"]
    assert (found["ares.context_relevance"]["mean"], found["ares.context_relevance"]["scored"]) == (0.0, 1)
    refused = ragboard(*words, "--judge", "openai:m", "--base-url", server.url, "--examples", "answers.jsonl")
    assert refused.exit_code == 2
    assert "answers.jsonl: has the columns question, answer, contexts, expected one of Document" in refused.stderr


@pytest.mark.usefixtures("here")
def test_a_role_without_a_judge_is_an_error_before_anything_is_sent() -> None:
    with chat_server() as server:
        done = ragboard("evaluate", "answers.jsonl", "--judge", "openai:m", "--base-url", server.url)
        assert (done.exit_code, server.asked) == (6, [])
        assert "needs an embedder: --embed embedded or --embed openai:MODEL" in done.stderr
        assert "(openai:m does not answer Similarity tasks)\n" in done.stderr


@pytest.mark.parametrize("name", ["extract", "verify", "embed"])
def test_the_environment_names_a_role(here: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"RAGBOARD_{name.upper()}", "nobody:x")
    assert "'nobody:x'" in ragboard("evaluate", here / "answers.jsonl").stderr


def test_metrics_are_listed_explained_and_printed_as_json(here: Path) -> None:
    write_plugin(here)
    assert "ragas.faithfulness" in ragboard("metrics").stdout
    said = ragboard("metrics", "brevity", "--plugin", "my_metrics.py").stdout
    assert "formula       min(1, most / statements of the answer)" in said
    assert "settings      most = 1 (a whole number)" in said
    found = json.loads(ragboard("metrics", "ragchecker", "--json").stdout)["metrics"]
    assert len(found) == 11
    assert (found[0]["low"], found[0]["high"], found[0]["direction"]) == (0.0, 1.0, "higher")
    assert ragboard("metrics", "nonsense").exit_code == 2


def test_the_file_names_prices_that_a_plan_reckons_with(here: Path) -> None:
    write(here, "[m]\nprompt = 1\ncompletion = 2\n", "team/prices.toml")
    settings = write(
        here,
        'judge = "openai:m"\nembed = "embedded"\nbase_url = "http://localhost:1/v1"\nprices = "prices.toml"\n',
        "team/usual.toml",
    )
    done = json.loads(ragboard("--settings", settings, "plan", "answers.jsonl", "--json").stdout)
    assert done["plans"]["answers"]["unpriced"] == []
    assert done["plans"]["answers"]["total"]["expected"]["cost"] > 0
