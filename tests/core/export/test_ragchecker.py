"""Tests of exporting a run in RAGChecker's format and importing it again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.core.cli.test_checked_files import ITEM, TABLE
from tests.core.conftest import PlainJudge, make_run

from ragboard import EmbeddedJudge, Panel, Sample, SettingError, Store, evaluate_run, read_runs, sample_runs
from ragboard.analysis import run_summary
from ragboard.cli import main
from ragboard.export import ragchecker_bytes
from ragboard.metrics import Metric, metrics_named

TABLES = ("answer2response", "response2answer", "retrieved2response", "retrieved2answer")
CLAIMS = ("response_claims", "gt_answer_claims")
ELEVEN = metrics_named(["ragchecker"])


def written(store: Store, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ragchecker_bytes(store, store.resolve(name)))
    return found


def again(store: Store, written: bytes, path: Path) -> dict[str, float | None]:
    """Read what was written and count again, without a judge: the means by metric."""
    path.write_bytes(written)
    (run,) = read_runs(path).runs
    judge = PlainJudge()
    run_id = store.add_runs([replace(run, name="again")])[0].id
    evaluate_run(store, run_id, ELEVEN, Panel(judge=judge))
    assert judge.asked == []
    return means(store, "again")


def means(store: Store, name: str) -> dict[str, float | None]:
    return {spec: found.mean for spec, found in run_summary(store, store.resolve(name)).metrics.items()}


def test_the_sample_comes_back_with_the_same_claims_and_numbers(store: Store, tmp_path: Path) -> None:
    run = sample_runs()[0]
    run = replace(run, samples=run.samples[:25])
    evaluate_run(store, store.add_runs([run])[0].id, ELEVEN, Panel(judge=EmbeddedJudge()))
    first = ragchecker_bytes(store, store.resolve(run.name))
    assert again(store, first, tmp_path / "checked.json") == pytest.approx(means(store, run.name))
    second, first_items = written(store, "again"), json.loads(first)["results"]
    assert [{key: item[key] for key in (*TABLES, *CLAIMS)} for item in second["results"]] == [
        {key: item[key] for key in (*TABLES, *CLAIMS)} for item in first_items
    ]
    assert second["metrics"] == json.loads(first)["metrics"]
    assert {label for item in first_items for label in item["answer2response"]} >= {"Entailment", "Neutral"}


def test_ragcheckers_own_example_comes_out_as_it_came_in(data: Path, store: Store, tmp_path: Path) -> None:
    path = data / "ragchecker" / "checking_outputs.json"
    came = json.loads(path.read_text(encoding="utf-8"))
    (run,) = read_runs(path).runs
    evaluate_run(store, store.add_runs([run])[0].id, ELEVEN, Panel(judge=PlainJudge()))
    went = written(store, run.name)
    for ours, theirs in zip(went["results"], came["results"], strict=True):
        assert {key: ours[key] for key in theirs if key != "metrics"} == {
            key: value for key, value in theirs.items() if key != "metrics"
        }
        assert ours["metrics"] == pytest.approx(theirs["metrics"], abs=1e-12)
    assert {name: value for group in went["metrics"].values() for name, value in group.items()} == TABLE
    assert list(went["metrics"]) == ["overall_metrics", "retriever_metrics", "generator_metrics"]
    assert again(store, json.dumps(went).encode(), tmp_path / "again.json") == means(store, run.name)


def kept(store: Store, tmp_path: Path, *items: dict[str, Any], metrics: tuple[Metric, ...] = ELEVEN) -> dict[str, Any]:
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"results": items}), encoding="utf-8")
    (run,) = read_runs(path).runs
    evaluate_run(store, store.add_runs([run])[0].id, metrics, Panel(judge=PlainJudge()))
    return written(store, run.name)


def test_what_was_never_judged_is_null(store: Store, tmp_path: Path) -> None:
    only = metrics_named(["ragchecker.precision"])
    (item,) = kept(store, tmp_path, ITEM | dict.fromkeys((*TABLES[1:], "gt_answer_claims")), metrics=only)["results"]
    assert (item["answer2response"], item["response_claims"]) == (ITEM["answer2response"], ITEM["response_claims"])
    assert [item[key] for key in (*TABLES[1:], "gt_answer_claims")] == [None] * 4
    assert item["metrics"] == {"precision": 0.5}


def test_no_claims_and_no_passages_are_empty_tables(store: Store, tmp_path: Path) -> None:
    bare = ITEM | {"response_claims": [], "answer2response": [], "retrieved2response": []}
    alone = ITEM | {"query_id": "2", "retrieved_context": [], "retrieved2response": [[], []], "retrieved2answer": [[]]}
    went = kept(store, tmp_path, bare, alone)["results"]
    assert [went[0][key] for key in ("response_claims", "answer2response", "retrieved2response")] == [[], [], []]
    assert (went[1]["retrieved2response"], went[1]["retrieved2answer"]) == ([[], []], [[]])
    assert "hallucination" not in went[0]["metrics"]


def test_an_answer_without_statements_differs_from_an_unjudged_answer(store: Store) -> None:
    sample = Sample(id="s", question="q?", answer="...", contexts=(), reference="It is red.")
    run_id = store.add_runs([replace(make_run(), samples=(sample,))])[0].id
    evaluate_run(
        store, run_id, metrics_named(["ragchecker.recall", "ragchecker.hallucination"]), Panel(judge=PlainJudge())
    )
    (item,) = written(store, "run")["results"]
    assert (item["response_claims"], item["answer2response"], item["retrieved2response"]) == ([], [], [])
    assert (item["gt_answer_claims"], item["retrieved2answer"]) == (["It is red"], [[]])


def test_a_run_without_ragcheckers_metrics_says_what_to_do(store: Store) -> None:
    store.add_runs([make_run()])
    with pytest.raises(SettingError, match="run: no sample has a metric of RAGChecker; evaluate it first: --metrics"):
        ragchecker_bytes(store, store.resolve("run"))


def test_the_command_writes_it(store: Store, tmp_path: Path) -> None:
    kept(store, tmp_path, ITEM)
    out = tmp_path / "out.json"
    said = CliRunner().invoke(
        main, ["export", "in", "--format", "ragchecker", "-o", str(out), "--store", str(store.folder)]
    )
    assert said.exit_code == 0, said.output
    assert json.loads(out.read_text(encoding="utf-8"))["results"][0]["answer2response"] == ["Entailment", "Neutral"]


def test_of_several_evaluations_the_one_with_most_of_ragcheckers_metrics_is_written(
    store: Store, tmp_path: Path
) -> None:
    run_id = store.add_runs([replace(make_run(), samples=tuple(map(with_reference, make_run().samples)))])[0].id
    evaluate_run(store, run_id, ELEVEN, Panel(judge=PlainJudge(version="1")))
    first = exported(store, tmp_path)
    evaluate_run(store, run_id, metrics_named(["ragchecker.claim_recall"]), Panel(judge=PlainJudge(version="2")))
    assert len(store.resolve("run").evaluations) == 2
    assert exported(store, tmp_path) == first


def with_reference(sample: Sample) -> Sample:
    return replace(sample, reference="It is red.")


def exported(store: Store, tmp_path: Path) -> dict[str, Any]:
    out = tmp_path / "out.json"
    words = ("export", "run", "--format", "ragchecker", "-o", str(out), "--force", "--store", str(store.folder))
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 0, said.output
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found
