"""Tests of renaming, tagging and deleting runs, and of `ragboard hallucinations`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from tests.conftest import Once
from tests.core.conftest import PlainJudge, make_run, make_sample

from ragboard import DEFAULT_METRICS, Panel, Run, Store, evaluate_run
from ragboard.analysis import leaderboard
from ragboard.cli import main
from ragboard.metrics import METRICS


def ragboard(store: Store, *words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(store.folder)], input=typed, catch_exceptions=False)


@pytest.fixture
def runs(store: Store) -> Store:
    store.add_runs([make_run("first"), make_run("second", samples=2)])
    return store


def names(store: Store) -> set[str]:
    return {run.name for run in leaderboard(store)}


def test_a_run_is_renamed(runs: Store) -> None:
    assert ragboard(runs, "rename", "first", "baseline").exit_code == 0
    assert names(runs) == {"baseline", "second"}
    said = ragboard(runs, "rename", "baseline", "second")
    assert (said.exit_code, said.stderr) == (2, "ragboard: another run is already called 'second'\n")


def test_tags_are_given_and_taken(runs: Store) -> None:
    assert ragboard(runs, "tag", "first", "+baseline", "+k 3", "-absent").stdout == "first: baseline, k 3\n"
    assert ragboard(runs, "tag", "first", "-baseline").stdout == "first: k 3\n"
    assert "tags: k 3" in ragboard(runs, "show", "first").stdout
    said = ragboard(runs, "tag", "first", "+ok", "bare")
    assert (said.exit_code, said.stderr) == (2, "ragboard: 'bare': expected +TAG or -TAG\n")
    assert ragboard(runs, "tag", "first", "-k 3").stdout == "first: no tag\n"


def test_a_run_is_deleted_once_confirmed(runs: Store) -> None:
    kept = ragboard(runs, "rm", "first", typed="n\n")
    assert kept.exit_code == 130
    assert names(runs) == {"first", "second"}
    assert ragboard(runs, "rm", "first", typed="y\n").exit_code == 0
    assert names(runs) == {"second"}
    assert ragboard(runs, "rm", "second", "second", "--yes").stdout.endswith("1 run deleted\n")
    assert names(runs) == set()


def test_deleting_an_evaluation_by_a_runs_command_is_rejected(runs: Store) -> None:
    evaluate_run(runs, runs.resolve("first").run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    said = ragboard(runs, "rm", f"first@{runs.resolve('first').evaluation_id}", "--yes")
    assert said.exit_code == 2
    assert "is an evaluation; give the name of its run: 'first'" in said.stderr
    assert names(runs) == {"first", "second"}


def keep_judged(store: Store) -> None:
    samples = (make_sample(0, answer="It is red. =old()."), make_sample(1, answer="It is \x1b[31mbig."))
    run_id = store.add_runs([Run(name="run", samples=samples)])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


@pytest.fixture
def judged(store: Store, once: Once) -> Store:
    return once(keep_judged, store)


def test_made_up_statements_are_listed_without_steering_the_terminal(judged: Store) -> None:
    said = ragboard(judged, "hallucinations").stdout
    assert said.startswith("2 of 3 statements are not supported\n")
    assert "? unsupported: =old()" in said
    assert "run s0: What is thing 0?" in said
    assert "\x1b" not in said
    assert (
        ragboard(judged, "hallucinations", "run", "--verdict", "contradicted").stdout
        == "0 of 3 statements are contradicted\n"
    )
    assert "... 1 of 2" in ragboard(judged, "hallucinations", "--limit", "1").stderr
    assert "1           0             What is thing 1?" in ragboard(judged, "hallucinations", "--by", "question").stdout


def test_made_up_statements_are_json_for_programs(judged: Store) -> None:
    found = json.loads(ragboard(judged, "hallucinations", "--text", "old", "--json").stdout)
    assert (found["total"], found["rows"][0]["judged_statement"]["statement"]["text"]) == (1, "=old()")
    groups = json.loads(ragboard(judged, "hallucinations", "--by", "judge", "--json").stdout)
    assert [(group["key"], group["statements"]) for group in groups["groups"]] == [("plain", 2)]


def test_made_up_statements_are_exported_with_formulas_defused(judged: Store, tmp_path: Path) -> None:
    assert ",'=old()," in ragboard(judged, "hallucinations", "--format", "csv").stdout
    out = tmp_path / "found.parquet"
    assert ragboard(judged, "hallucinations", "-o", str(out)).exit_code == 0
    assert list(pd.read_parquet(out)["number"]) == [1, 2]


def test_the_settings_files_judge_is_no_filter(judged: Store, tmp_path: Path) -> None:
    settings = tmp_path / "ragboard.toml"
    settings.write_text('judge = "openai:other"\n', encoding="utf-8")
    words = ["--settings", str(settings), "hallucinations", "--store", str(judged.folder)]
    assert CliRunner().invoke(main, words).stdout.startswith("2 of 3")


def test_many_metrics_have_a_line_each_and_runs_a_column(store: Store) -> None:
    for name in ("first", "second"):
        sample = replace(make_sample(0), reference="It is red.")
        run_id = store.add_runs([Run(name=name, samples=(sample,))])[0].id
        metrics = [metric for spec, metric in METRICS.items() if spec.startswith("ragchecker.")]
        evaluate_run(store, run_id, metrics, Panel(judge=PlainJudge()))
    lines = ragboard(store, "runs").stdout.splitlines()
    assert lines[0].split() in (["run", "first", "second"], ["run", "second", "first"])
    assert sum(line.startswith("Faithfulness") for line in lines) == 1
    assert max(map(len, lines)) <= 120


def test_the_list_of_metrics_is_short_and_their_names_explain_them() -> None:
    head = CliRunner().invoke(main, ["metrics"]).stdout.splitlines()[0]
    assert head.split() == ["metric", "title", "range", "better", "needs"]
    assert "judge calls" in CliRunner().invoke(main, ["metrics", "ragas.faithfulness"]).stdout
