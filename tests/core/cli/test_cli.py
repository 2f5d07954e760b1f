"""Tests of the main commands: output as text and JSON, and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from click import Context
from click.testing import CliRunner, Result
from starlette.responses import PlainTextResponse
from tests.chat_server import chat_server, status

from ragboard import Store, sample_runs
from ragboard.cli import main
from ragboard.human.agreement import list_agreements

ROWS = [
    {
        "question": "When did the bridge open?",
        "answer": "The bridge opened in July 2000. It cost 9 million euros.",
        "contexts": ["The bridge opened to traffic on 1 July 2000.", "A toll is paid at the western end."],
    },
    {"question": "Who owns the mill?", "answer": "I don't know.", "contexts": ["The mill stands by the river."]},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def ragboard(folder: Path, *words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words] + ["--store", str(folder)], catch_exceptions=False)


def test_a_file_becomes_verdicts(folder: Path, file: Path) -> None:
    done = ragboard(folder, "evaluate", file, "--name", "first", "--config", "k=2", "--json")
    assert done.exit_code == 0
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["name"], run["config"], run["samples"]) == ("first", {"k": 2}, 2)
    faithfulness = run["metrics"]["ragas.faithfulness"]
    assert (faithfulness["mean"], faithfulness["scored"], faithfulness["total"]) == (0.5, 1, 2)
    assert faithfulness["unscored"] == {"refusal": 1}
    assert run["judged"]["heuristic"] is True


def test_show_names_the_statement_that_nothing_supports(folder: Path, file: Path) -> None:
    ragboard(folder, "evaluate", file)
    sample = json.loads(ragboard(folder, "export", "answers", "--format", "json").stdout)[0]["sample_id"]
    said = ragboard(folder, "show", "answers", sample).stdout
    assert "? likely unsupported: It cost 9 million euros." in said
    assert "rule-based" in said


def test_evaluating_again_makes_no_calls(folder: Path, file: Path) -> None:
    first = json.loads(ragboard(folder, "evaluate", file, "--json").stdout)["evaluations"][0]
    again = json.loads(ragboard(folder, "evaluate", "answers", "--json").stdout)["evaluations"][0]
    assert (first["replayed"], again["asked"]) == (0, 0)
    assert again["evaluation"]["id"] == first["evaluation"]["id"]


def test_runs_lists_means_with_how_many_were_scored(folder: Path, file: Path) -> None:
    assert "ragboard demo" in ragboard(folder, "runs").stdout
    ragboard(folder, "evaluate", file)
    assert "0.50 1/2" in ragboard(folder, "runs").stdout


@pytest.mark.parametrize("what", ["samples", "statements"])
@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "parquet"])
def test_every_table_is_exported_in_every_format(
    folder: Path, file: Path, tmp_path: Path, what: str, kind: str
) -> None:
    ragboard(folder, "evaluate", file)
    out = tmp_path / f"out.{kind}"
    assert ragboard(folder, "export", "answers", "--what", what, "-o", out).exit_code == 0
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet, "json": pd.read_json}
    frame = pd.read_json(out, lines=True) if kind == "jsonl" else readers[kind](out)
    assert len(frame) == (6 if what == "samples" else 2)


def test_a_cell_that_a_spreadsheet_would_run_is_defused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps({"question": "=cmd()", "answer": "Tea is hot.", "contexts": []}), encoding="utf-8")
    ragboard(folder, "import", path)
    assert "'=cmd()" in ragboard(folder, "export", "f").stdout


def unreadable(folder: Path) -> dict[str, Path]:
    """One file of each kind that cannot be read."""
    contents: dict[str, bytes] = {
        "truncated.json": b'[{"question": "q", "answer": "a"}, {"question',
        "types.jsonl": b'{"question": ["a", "b"], "answer": "a"}\n',
        "empty.jsonl": b"",
        "blank.csv": b"\n\n",
        "column.csv": b"frage,antwort\na,b\n",
        "binary.jsonl": bytes(range(256)) * 40,
        "line.jsonl": b'{"question": "' + b"x" * 50_000_000 + b'"}\n',
        "number.json": b"42",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    with zipfile.ZipFile(folder / "zipped.csv", "w") as archive:
        archive.writestr("a.csv", "question,answer\nq,a\n")
        archive.writestr("b.csv", "question,answer\nq,a\n")
    (folder / "directory.jsonl").mkdir()
    return {path.name: path for path in [*folder.iterdir(), folder / "absent.jsonl"]}


def test_unreadable_files_end_in_one_clear_line_and_an_unchanged_store(
    tmp_path: Path, folder: Path, file: Path
) -> None:
    ragboard(folder, "import", file)
    before = Store(folder).version
    bad = tmp_path / "bad"
    bad.mkdir()
    for name, path in unreadable(bad).items():
        said = ragboard(folder, "import", path)
        assert said.exit_code == 2, name
        assert said.stdout == "", name
        assert len(said.stderr.strip().splitlines()) == 1, said.stderr
        assert name in said.stderr, said.stderr
    assert Store(folder).version == before


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="permissions do not bind this user")
def test_a_file_without_permission_is_one_clear_line(folder: Path, file: Path) -> None:
    file.chmod(0)
    said = ragboard(folder, "import", file)
    assert said.exit_code == 2
    assert "ermission" in said.stderr


def test_a_name_already_taken_is_reported_with_the_way_out(folder: Path, file: Path, tmp_path: Path) -> None:
    ragboard(folder, "import", file)
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(ROWS[0]), encoding="utf-8")
    said = ragboard(folder, "import", other, "--name", "answers")
    assert said.exit_code == 2
    assert "--name" in said.stderr


def test_an_unknown_run_judge_metric_or_pair_is_reported_with_what_there_is(folder: Path, file: Path) -> None:
    ragboard(folder, "import", file)
    assert "there are answers" in ragboard(folder, "show", "nope").stderr
    assert "embedded" in ragboard(folder, "evaluate", "answers", "--judge", "oracle").stderr
    assert "ragas.faithfulness" in ragboard(folder, "evaluate", "answers", "--metrics", "truth").stderr
    assert "KEY=VALUE" in ragboard(folder, "import", file, "--config", "k").stderr


def test_a_file_that_is_not_there_is_called_a_file(folder: Path) -> None:
    said = ragboard(folder, "evaluate", "absent.jsonl")
    assert said.exit_code == 2
    assert "absent.jsonl" in said.stderr


def test_several_configurations_in_one_file(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    rows = [ROWS[0] | {"model": model} for model in ("small", "large")]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = json.loads(ragboard(folder, "evaluate", path, "--run-column", "model", "--json").stdout)["runs"]
    assert [(run["name"], run["config"]) for run in found] == [
        ("small", {"model": "small"}),
        ("large", {"model": "large"}),
    ]


def test_the_demo_comes_and_goes_in_one_step_each(folder: Path) -> None:
    done = ragboard(folder, "demo", "--check")
    assert done.exit_code == 0, done.output
    assert "the dashboard answers" in done.output
    found = json.loads(ragboard(folder, "runs", "--json").stdout)["runs"]
    assert [run["tags"] for run in found] == [["sample"], ["sample"]]
    assert all(run["judged"] for run in found)
    store = Store(folder)
    assert [one.items for one in list_agreements(store)] == [492]
    assert ragboard(folder, "demo", "--remove").exit_code == 0
    assert not list_agreements(store)
    assert json.loads(ragboard(folder, "runs", "--json").stdout) == {"runs": []}


def test_taking_the_demo_out_leaves_runs_that_others_called_a_sample(folder: Path, file: Path) -> None:
    Store(folder).add_runs(sample_runs())
    assert ragboard(folder, "import", file, "--name", "mine").exit_code == 0
    assert ragboard(folder, "tag", "mine", "+sample").exit_code == 0
    assert "2 sample runs removed" in ragboard(folder, "demo", "--remove").stdout
    assert Store(folder).resolve("mine").name == "mine"


def test_doctor_looks_at_the_store(folder: Path) -> None:
    assert ", writable" in ragboard(folder, "doctor").stdout
    (folder / "ragboard.duckdb").write_text("not a database " * 100, encoding="utf-8")
    said = ragboard(folder, "doctor")
    assert said.exit_code == 6
    assert "WRONG store" in said.stdout


def test_text_of_others_does_not_steer_the_terminal(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    row = {"id": "x", "question": "q\u001b[31m\u202e", "answer": "Tea \u001b[2J is hot.", "contexts": []}
    path.write_text(json.dumps(row), encoding="utf-8")
    ragboard(folder, "evaluate", path)
    said = ragboard(folder, "show", "hostile", "x").stdout
    assert "\u001b" not in said
    assert "\u202e" not in said


@pytest.mark.parametrize("name", ["ragchecker/checking_inputs.json", "ragchecker/checking_outputs.json"])
def test_files_of_ragchecker_end_with_scores_or_reasons(folder: Path, data: Path, name: str) -> None:
    found = json.loads(ragboard(folder, "evaluate", data / name, "--json").stdout)["runs"]
    assert [run["samples"] for run in found] == [2]
    for run in found:
        for metric in run["metrics"].values():
            assert metric["scored"] + sum(metric["unscored"].values()) == metric["total"] == 2


def test_a_real_file_of_three_systems_becomes_three_runs(folder: Path, data: Path) -> None:
    path = data / "mtrag" / "mtrag_human_eval_12conv.jsonl"
    found = json.loads(ragboard(folder, "evaluate", path, "--run-column", "model", "--json").stdout)["runs"]
    assert len(found) == 3
    assert sum(run["samples"] for run in found) == 294
    for run in found:
        for metric in run["metrics"].values():
            assert metric["scored"] + sum(metric["unscored"].values()) == metric["total"] == run["samples"]


@pytest.mark.slow
def test_ten_random_kills_lose_nothing(folder: Path, tmp_path: Path) -> None:
    """SIGKILL at ten moments of one evaluation; the last run completes, no journalled task is asked again."""
    path = tmp_path / "long.jsonl"
    rows = [ROWS[0] | {"answer": f"The bridge number {n} opened in July 2000. It cost {n} euros."} for n in range(1500)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ragboard(folder, "import", path)
    command = [sys.executable, "-m", "ragboard", "evaluate", "long", "--store", str(folder), "--json"]
    kept = 0
    journal = folder / "journals"
    for _ in range(10):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            goal = kept + 200
            while (
                process.poll() is None
                and sum(file.read_bytes().count(b"\n") for file in journal.glob("*.jsonl")) < goal
            ):
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        lines = [line for file in journal.glob("*.jsonl") for line in file.read_bytes().splitlines(keepends=True)]
        whole = [line for line in lines if line.endswith(b"\n")]
        assert len(whole) >= kept
        kept = len(whole)
    end = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    keys = [json.loads(line)["key"] for file in journal.glob("*.jsonl") for line in file.read_bytes().splitlines()]
    assert len(keys) == len(set(keys))
    assert end["evaluations"][0]["asked"] == len(keys) - kept
    untouched = tmp_path / "untouched"
    ragboard(untouched, "import", path)
    whole_end = json.loads(ragboard(untouched, "evaluate", "long", "--json").stdout)
    ours, whole_ones = (
        {spec: {**one, "judged": None} for spec, one in said["runs"][0]["metrics"].items()} for said in (end, whole_end)
    )
    assert ours == whole_ones, "all but when it was judged"


def test_a_file_is_judged_by_a_model_behind_a_server(folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
        done = ragboard(folder, "evaluate", file, "--judge", "openai:m", "--embed", "openai:e", "--json")
    assert done.exit_code == 0
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["judged"]["judge"], run["judged"]["heuristic"]) == ("openai:m + openai:e", False)
    assert run["metrics"]["ragas.faithfulness"]["scored"] == 2
    assert "very-secret" not in done.output
    assert not any(b"very-secret" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_judge_without_its_key_or_embedder_is_one_line_and_stores_nothing_judged(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    done = ragboard(folder, "evaluate", file, "--judge", "openai:m")
    assert (done.exit_code, done.stderr.count("\n")) == (6, 1)
    assert "OPENAI_API_KEY is not set" in done.stderr
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    done = ragboard(folder, "evaluate", file, "--judge", "openai:m")
    assert done.exit_code == 6
    assert "needs an embedder: --embed embedded" in done.stderr


def test_a_plan_is_printed_and_nothing_is_sent(
    folder: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[m]\nprompt = 1\ncompletion = 2\n", encoding="utf-8")
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        asked = ("--judge", "openai:m", "--embed", "embedded")
        said = ragboard(folder, "plan", file, *asked).stdout
        priced = json.loads(ragboard(folder, "plan", "answers", *asked, "--prices", prices, "--json").stdout)
        assert server.asked == []
    assert "2 samples; nothing was sent" in said
    assert "no price for m: pass one with --prices" in said
    assert "embedded: runs on this machine and costs nothing" in said
    total = priced["plans"]["answers"]["total"]
    assert total["expected"]["cost"] < total["worst"]["cost"]
    assert priced["plans"]["answers"]["assumptions"]["characters_per_token"] == 4.0


def test_a_drawn_part_is_held_against_the_plan_of_that_part(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        words = ("evaluate", file, "--judge", "openai:m", "--metrics", "ragas.context_relevance", "--json")
        part, whole = (
            json.loads(ragboard(folder, *words, *limit).stdout)["evaluations"][0]["spent"][0]
            for limit in (("--sample", 1), ())
        )
    assert (part["calls"], part["planned_calls"]) == (1, 1)
    assert (whole["calls"], whole["planned_calls"]) == (2, 2)


def test_an_evaluation_in_which_nothing_could_be_scored_is_no_success(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.faults = [status(400, "this server is out of order")] * 20
        words = ("evaluate", file, "--judge", "openai:m", "--metrics", "ragas.context_relevance")
        done = ragboard(folder, *words)
        server.faults = []
        mended = ragboard(folder, "retry", "answers")
    assert (done.exit_code, "out of order" in done.stderr) == (6, True)
    assert mended.exit_code == 0, mended.stderr


def test_of_several_evaluations_with_failures_one_is_retried_and_the_others_are_named(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = ("# Hold statements", "# Choose the sentences")
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.rules = [
            lambda asked: PlainTextResponse("", 400) if asked["messages"][0]["content"].startswith(failing) else None
        ]
        for model, metric in (("first", "ragas.faithfulness"), ("second", "ragas.context_relevance")):
            ragboard(folder, "evaluate", file, "--name", "a", "--judge", f"openai:{model}", "--metrics", metric)
        server.rules = []
        done: list[Result] = []
        asked: list[set[str]] = []
        for _ in range(3):
            server.asked = []
            done.append(ragboard(folder, "retry", "a"))
            asked.append({one["model"] for one in server.asked})
    first = Store(folder).resolve("a").evaluation_of("ragas.faithfulness")
    assert [one.exit_code for one in done] == [0, 0, 0]
    assert asked == [{"second"}, {"first"}, set()]
    named = f"another evaluation also has failures: ragboard retry a@{first}\n"
    assert [named in one.stderr for one in done] == [True, False, False]


def test_a_failure_that_a_later_evaluation_replaced_is_not_retried_before_one_that_is_shown(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = {"first": "ragas.faithfulness,ragas.context_relevance", "second": "ragas.context_relevance"}
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        server.rules = [
            lambda asked: PlainTextResponse("", 400) if "# Choose the sent" in asked["messages"][0]["content"] else None
        ]
        for model, names in metrics.items():
            ragboard(folder, "evaluate", file, "--name", "a", "--judge", f"openai:{model}", "--metrics", names)
        server.rules, server.asked = [], []
        done = ragboard(folder, "retry", "a")
    assert {asked["model"] for asked in server.asked} == {"second"}
    assert "another evaluation" not in done.stderr


def test_the_help_lists_every_command_with_its_whole_sentence() -> None:
    said = CliRunner().invoke(main, ["--help"]).stdout
    listed = said.partition("\nStart:")[2]
    assert "..." not in listed
    for name in main.list_commands(Context(main)):
        assert f"\n  {name} " in listed


def test_a_plan_needs_no_key(folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    done = ragboard(folder, "plan", file, "--judge", "openai:gpt-4o-mini", "--embed", "embedded")
    assert (done.exit_code, "nothing was sent" in done.stdout) == (0, True), done.stderr


def test_what_an_evaluation_took_is_reported_and_shown(
    folder: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[m]\nprompt = 1\ncompletion = 2\n", encoding="utf-8")
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        words = ("evaluate", file, "--judge", "openai:m", "--embed", "embedded", "--prices", prices, "--json")
        done = json.loads(ragboard(folder, *words).stdout)
        made = len(server.asked)
    (spend,) = done["evaluations"][0]["spent"]
    assert (spend["calls"], spend["prompt_tokens"], spend["planned_calls"] is not None) == (made, 100 * made, True)
    assert done["runs"][0]["usage"]["cost"] == pytest.approx(made * (100 + 2 * 10) / 1e6)
    assert f"cost: {made} calls, {110 * made} tokens, $" in ragboard(folder, "show", "answers").stdout
