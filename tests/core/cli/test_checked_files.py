"""Tests of evaluating files with verdicts: the judge is not called for what they contain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.core.readers.formats.test_ragas import ROW, run_tree

from ragboard import RunRef, Score, Store
from ragboard.analysis import SampleQuery, sample_rows
from ragboard.cli import main

TABLE = {
    "precision": 76.4,
    "recall": 62.5,
    "f1": 68.3,
    "claim_recall": 61.4,
    "context_precision": 87.5,
    "context_utilization": 87.5,
    "noise_sensitivity_in_relevant": 19.1,
    "noise_sensitivity_in_irrelevant": 0.0,
    "hallucination": 4.5,
    "self_knowledge": 27.3,
    "faithfulness": 68.2,
}
"""Means in percent of the two items of RAGChecker's own example."""


def evaluated(tmp_path: Path, file: dict[str, Any], names: str = "ragchecker") -> tuple[dict[str, Any], Store]:
    path = tmp_path / "checking_outputs.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    store = tmp_path / "store"
    said = CliRunner().invoke(main, ["evaluate", str(path), "--metrics", names, "--json", "--store", str(store)])
    assert said.exit_code == 0, said.output
    return json.loads(said.stdout), Store(store)


def values(done: dict[str, Any], store: Store) -> list[dict[str, float]]:
    evaluation = done["evaluations"][0]["evaluation"]
    ref = RunRef(run_id=evaluation["run_id"], name="run", evaluation_id=evaluation["id"])
    rows = sample_rows(store, ref, SampleQuery()).rows
    return [
        {
            metric.removeprefix("ragchecker."): found.value
            for metric, found in row.scores.items()
            if isinstance(found, Score)
        }
        for row in rows
    ]


def test_ragcheckers_own_example_gives_its_own_numbers(data: Path, tmp_path: Path) -> None:
    file = json.loads((data / "ragchecker" / "checking_outputs.json").read_text(encoding="utf-8"))
    stored = [item.pop("metrics") for item in file["results"]]
    del file["metrics"]
    done, store = evaluated(tmp_path, file)
    assert done["evaluations"][0]["asked"] == 0
    for ours, theirs in zip(values(done, store), stored, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)
    means = done["runs"][0]["metrics"]
    assert {name: round(100 * means[f"ragchecker.{name}"]["mean"], 1) for name in TABLE} == TABLE


ITEM: dict[str, Any] = {
    "query_id": "1",
    "query": "Where does the Danube end?",
    "response": "The Danube ends in the Black Sea. It is blue.",
    "gt_answer": "In the Black Sea.",
    "retrieved_context": [{"doc_id": "a", "text": "The Danube flows into the Black Sea."}],
    "response_claims": [["Danube", "ends in", "the Black Sea"], ["Danube", "is", "blue"]],
    "gt_answer_claims": [["Danube", "ends in", "the Black Sea"]],
    "answer2response": ["Entailment", "Neutral"],
    "response2answer": ["Entailment"],
    "retrieved2response": [["Entailment"], ["Neutral"]],
    "retrieved2answer": [["Entailment"]],
}


def test_an_item_with_all_verdicts_needs_no_judge(tmp_path: Path) -> None:
    done, store = evaluated(tmp_path, {"results": [ITEM]})
    (end,) = done["evaluations"]
    assert (end["asked"], end["evaluation"]["judge"], end["evaluation"]["heuristic"]) == (0, "none", False)
    assert values(done, store) == [
        {
            "precision": 0.5,
            "recall": 1.0,
            "f1": pytest.approx(2 / 3),
            "claim_recall": 1.0,
            "context_precision": 1.0,
            "context_utilization": 1.0,
            "noise_sensitivity_in_relevant": 0.0,
            "noise_sensitivity_in_irrelevant": 0.0,
            "hallucination": 0.5,
            "self_knowledge": 0.0,
            "faithfulness": 0.5,
        }
    ]


def test_a_table_that_the_file_lacks_is_asked_for_its_claims(tmp_path: Path) -> None:
    done, store = evaluated(tmp_path, {"results": [ITEM | {"retrieved2response": None}]})
    assert done["evaluations"][0]["asked"] == 1
    with store.database.read() as connection:
        texts = connection.execute("SELECT text FROM statements WHERE side = 'response' ORDER BY statement").fetchall()
    assert texts == [("Danube ends in the Black Sea",), ("Danube is blue",)]


def test_faithfulness_to_the_passages_together_waits_for_a_judge(tmp_path: Path) -> None:
    done, _ = evaluated(tmp_path, {"results": [ITEM]}, "ragchecker,ragas.faithfulness")
    assert done["evaluations"][0]["asked"] == 1
    assert done["evaluations"][0]["evaluation"]["judge"] == "embedded"


def test_compat_gives_numbers_where_there_are_none(tmp_path: Path) -> None:
    empty = ITEM | {"response_claims": [], "answer2response": [], "retrieved2response": []}
    done, store = evaluated(tmp_path, {"results": [empty]}, "ragchecker(compat=True),ragchecker.precision")
    metrics = done["runs"][0]["metrics"]
    assert metrics["ragchecker.hallucination(compat=True)"]["mean"] == 0
    assert metrics["ragchecker.precision"]["mean"] is None
    assert metrics["ragchecker.precision"]["unscored"] == {"undefined": 1}
    assert len(values(done, store)[0]) == 11


def test_a_metric_that_the_verdicts_in_the_file_score_is_asked_again_only_by_name(tmp_path: Path) -> None:
    path, store = tmp_path / "traces.json", tmp_path / "store"
    path.write_text(json.dumps(run_tree([ROW])), encoding="utf-8")

    def said(*words: str) -> tuple[str, set[str]]:
        done = CliRunner().invoke(main, ["evaluate", *words, "--store", str(store), "--json"])
        assert done.exit_code == 0, done.output
        return done.stderr, set(json.loads(done.stdout)["evaluations"][0]["evaluation"]["metrics"])

    note = "traces: ragas.faithfulness is scored from the file's verdicts"
    noted, metrics = said(str(path))
    assert note in noted
    assert metrics == {"ragas.answer_relevance(method=direct)", "ragas.context_relevance"}
    planned = CliRunner().invoke(main, ["plan", "traces", "--store", str(store)])
    assert note in planned.stderr
    assert "ragas.faithfulness " not in planned.stdout
    noted, metrics = said("traces", "--metrics", "ragas.faithfulness")
    assert note not in noted
    assert "ragas.faithfulness" in metrics
    kept = Store(store)
    run = kept.resolve("traces")
    judges = {one.judge for one in kept.evaluations(run.run_id) if "ragas.faithfulness" in one.metrics}
    assert judges == {"ragas (file)", "embedded"}
