"""Tests of `ragboard label`: overrule a verdict, and remove the label."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Once
from tests.core.cli.test_managing import ragboard
from tests.core.conftest import PlainJudge, make_sample

from ragboard import DEFAULT_METRICS, EmbeddedJudge, Panel, Run, Store, evaluate_run, sample_runs

HOSTILE = "\x1b[31mred\u202e"


def keep(store: Store) -> None:
    run_id = store.add_runs([Run(name="run", samples=(make_sample(),))])[0].id
    evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))


@pytest.fixture
def run(store: Store, once: Once) -> Store:
    return once(keep, store)


def test_a_verdict_is_overruled_and_taken_back(run: Store) -> None:
    words = ("label", "run", "s0", "2", "supported", "--annotator", "ada", "--note", HOSTILE)
    assert ragboard(run, *words).stdout == "run s0, statement 2: labelled supported by ada\n"
    shown = ragboard(run, "show", "run", "s0").stdout
    assert (
        "ragas.faithfulness: 0.50 (1 of 2 statements)\n    with annotators' labels: 1.00 (2 of 2 statements)" in shown
    )
    assert "supported, label by ada: \N{REPLACEMENT CHARACTER}[31mred" in shown
    assert "with 1 overruled verdict: 1.00 1/1" in ragboard(run, "show", "run").stdout
    assert json.loads(ragboard(run, "show", "run", "--json").stdout)["people"]["overruled"] == 1
    assert "supported, label by ada" in ragboard(run, "hallucinations", "--human", "overruled").stdout
    assert ragboard(run, "label", "run", "s0", "2", "none", "--annotator", "ada").stdout.endswith("2: label removed\n")
    assert ragboard(run, "label", "run", "s0", "2", "none", "--annotator", "ada").stdout.endswith("no label by ada\n")
    assert "overruled" not in ragboard(run, "show", "run").stdout


def test_a_statement_is_shown_with_the_number_it_is_labelled_by(run: Store) -> None:
    shown = ragboard(run, "show", "run", "s0").stdout.splitlines()
    assert [line[:5] for line in shown if "supported" in line and "ragas" not in line] == ["  1 ✓", "  2 ?"]
    said = ragboard(run, "show", "run", "q7")
    assert said.stderr == "ragboard: run 'run' has no sample 'q7'; it has s0\n"


def test_the_example_of_the_help_works_on_the_sample(store: Store) -> None:
    added = store.add_runs(sample_runs())[0]
    evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    examples = [line.split() for line in ragboard(store, "label", "--help").stdout.splitlines() if " bm25-k3 " in line]
    for _, command, run, sample, statement, verdict, *_ in examples:
        assert ragboard(store, command, run, sample, statement, verdict, "--annotator", "ada").exit_code == 0
    assert len(examples) == 2


def test_what_cannot_be_labelled_is_one_line(run: Store) -> None:
    said = ragboard(run, "label", "run", "s0", "9", "supported", "--annotator", "ada")
    assert (said.exit_code, said.stderr) == (5, "ragboard: sample 's0' of run 'run' has no statement 9\n")
    assert ragboard(run, "label", "run", "s0", "0", "supported").exit_code == 2
    assert ragboard(run, "label", "run", "s0", "1", "true").exit_code == 2


def test_labels_are_drawn_for_exported_and_imported(run: Store, tmp_path: Path) -> None:
    assert ragboard(run, "labels", "draw", "run", "--seed", "7").stdout == (
        "1 of 1 samples with statements, drawn with seed 7\n"
    )
    ragboard(run, "label", "run", "s0", "2", "supported", "--annotator", "ada")
    file = tmp_path / "labels.jsonl"
    assert ragboard(run, "labels", "export", "-o", str(file)).exit_code == 0
    assert file.read_text(encoding="utf-8") == ragboard(run, "labels", "export", "run").stdout
    fresh = Store(tmp_path / "fresh")
    said = ragboard(fresh, "labels", "import", str(file), "--design", "not random")
    assert said.stdout == "1 labels imported from 1 rows; 0 already imported\n"
    assert "without a matching answer in the store" in said.stderr
    found = json.loads(ragboard(fresh, "labels", "import", str(file), "--design", "not random", "--json").stdout)
    assert found["unchanged"] == 1
    (line,) = ragboard(fresh, "labels", "export").stdout.splitlines()
    assert (json.loads(line)["design"], json.loads(line)["annotator"]) == ("not random", "ada")
