"""Tests of another tool's scores, and of counting claims by their source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.core.cli.test_checked_files import ITEM
from tests.core.conftest import PlainJudge

from ragboard import DEFAULT_METRICS, Panel, RunRef, Score, Store, Unscored, evaluate_run, read_runs
from ragboard.analysis import (
    SampleQuery,
    columns,
    distribution,
    leaderboard,
    metric_descriptions,
    run_summary,
    sample_report,
    sample_rows,
    scatter,
)
from ragboard.cli import main
from ragboard.metrics import metrics_named
from ragboard.readers.objects import read_samples

OURS, THEIRS = "ragas.faithfulness", "ragas-file.faithfulness"
ROWS = "user_input,response,retrieved_contexts,faithfulness\nA?,It is red.,['p'],0.25\nB?,It is old.,['p'],\n"


@pytest.fixture
def scored(store: Store, tmp_path: Path) -> Store:
    """Two samples with one score of ragas, not evaluated here."""
    path = tmp_path / "scored.csv"
    path.write_text(ROWS, encoding="utf-8")
    store.add_runs(read_runs(path).runs)
    return store


def evaluated(store: Store) -> RunRef:
    evaluate_run(store, store.resolve("scored").run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    return store.resolve("scored")


def test_before_an_evaluation_only_the_tools_scores_exist(scored: Store) -> None:
    (run,) = leaderboard(scored)
    assert (run.judged, run.metrics) == (None, {})
    (theirs,) = run.file_scores.values()
    assert (theirs.metric, theirs.scored, theirs.total, theirs.mean) == (THEIRS, 1, 2, 0.25)
    assert theirs.unscored == {"skipped": 1}
    assert columns(scored, scored.resolve("scored")).metrics == (THEIRS,)


def test_theirs_are_an_evaluation_that_says_it_was_imported(scored: Store) -> None:
    with scored.database.read() as connection:
        (row,) = connection.execute(
            "SELECT evaluation_id, judge, heuristic, imported, identity FROM evaluations"
        ).fetchall()
    assert row[1:4] == ("ragas (file)", False, True)
    assert json.loads(row[4]) == {
        "imported": {"tool": "ragas", "format": "ragas 0.2 or later (CSV)", "columns": {THEIRS: "faithfulness"}}
    }
    shown = run_summary(scored, scored.resolve(f"scored@{row[0]}"))
    assert shown.judged is not None
    assert (shown.judged.judge, set(shown.metrics), shown.file_scores) == ("ragas (file)", {THEIRS}, {})


def test_our_scores_are_the_newest_evaluation_and_the_tools_remain(scored: Store) -> None:
    summary = run_summary(scored, evaluated(scored))
    assert summary.judged is not None
    assert summary.judged.judge == "plain"
    assert set(summary.metrics) == {metric.spec for metric in DEFAULT_METRICS}
    assert (summary.metrics[OURS].mean, summary.file_scores[THEIRS].mean) == (0.5, 0.25)


def test_a_sample_has_both_scores_under_separate_names(scored: Store) -> None:
    ref = evaluated(scored)
    first, second = sample_rows(scored, ref, SampleQuery()).rows
    assert THEIRS not in first.scores
    assert first.file_scores == {THEIRS: Score(value=0.25, counted="as the file has it")}
    assert second.file_scores == {THEIRS: Unscored(reason="skipped", detail="the file has no value")}
    assert sample_report(scored, ref, first.sample_id).file_scores == first.file_scores


def test_the_tools_scores_can_be_plotted_with_and_without_ours(scored: Store) -> None:
    ref = evaluated(scored)
    assert columns(scored, ref).metrics[-1] == THEIRS
    found = distribution(scored, ref, THEIRS)
    assert (found.scored, found.total, found.mean, found.unscored) == (1, 2, 0.25, {"skipped": 1})
    (point,) = scatter(scored, ref, OURS, THEIRS).points
    assert (point.x, point.y) == (1.0, 0.25)


def test_other_scores_make_another_run(scored: Store, tmp_path: Path) -> None:
    path = tmp_path / "scored.csv"
    (same,) = scored.add_runs(read_runs(path).runs)
    path.write_text(ROWS.replace("0.25", "0.5"), encoding="utf-8")
    (other,) = scored.add_runs(read_runs(path, name="other").runs)
    assert not same.added
    assert other.id != same.id


def test_removing_the_run_removes_them(scored: Store) -> None:
    scored.remove_runs([scored.resolve("scored").run_id])
    with scored.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM scores").fetchone() == (0,)


def invoke(store: Store, *words: str) -> str:
    said = CliRunner().invoke(main, [*words, "--store", str(store.folder)])
    assert said.exit_code == 0, said.output
    return said.stdout


def test_the_command_line_says_whose_they_are(scored: Store) -> None:
    ref = evaluated(scored)
    assert "Faithfulness (ragas file)" in invoke(scored, "runs")
    assert f"{THEIRS}: 0.25 1/2 (from the run file)" in invoke(scored, "show", "scored")
    sample = sample_rows(scored, ref, SampleQuery()).rows[0].sample_id
    assert f"{THEIRS}: 0.25 (as the file has it)" in invoke(scored, "show", "scored", sample)
    assert f",{THEIRS},0.25,as the file has it," in invoke(scored, "export", "scored")
    shown = json.loads(invoke(scored, "show", "scored", "--json"))
    assert (shown["metrics"][OURS]["mean"], shown["file_scores"][THEIRS]["mean"]) == (0.5, 0.25)


@pytest.mark.parametrize(
    ("spec", "label", "direction"),
    [
        ("ragas-file.faithfulness", "Faithfulness (ragas file)", "higher"),
        ("ragas-file.noise_sensitivity(mode=relevant)", "Noise sensitivity (mode=relevant) (ragas file)", "lower"),
        ("ragas-file.correctness", "Correctness (ragas file)", "neutral"),
    ],
)
def test_the_store_describes_them(store: Store, spec: str, label: str, direction: str) -> None:
    row = {"user_input": "A?", spec.removeprefix("ragas-file."): 0.5}
    store.add_runs(read_samples([row], name="one").runs)
    found = metric_descriptions(store)[spec]
    assert (found.label, found.direction, found.low, found.high) == (label, direction, None, None)
    assert "ragboard did not compute it" in found.text


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("RAGAS Faithfulness", "RAGAS Faithfulness"),
        ("ragas_faithfulness", "ragas faithfulness"),
        ("Answer Relevancy", "Answer Relevancy"),
        ("llm_context_precision", "LLM context precision"),
        ("citation_f1_score", "Citation F1 score"),
        ("ndcg@10", "NDCG@10"),
        ("validity", "Validity"),
        ("Correctness [GEval]", "Correctness GEval"),
        ("<b>**x**</b> (strict)", "B x b (strict)"),
        ("***", "Score"),
    ],
)
def test_a_metric_is_called_as_its_tool_writes_it(tmp_path: Path, written: str, label: str) -> None:
    result = {"name": "q", "input": "Q", "actual_output": "A", "metrics_data": [{"name": written, "score": 0.5}]}
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"test_results": [result]}), encoding="utf-8")
    (run,) = read_runs(path).runs
    assert run.scores
    assert [metric.label for metric in run.scores.metrics] == [f"{label} (DeepEval file)"]


SIX: dict[str, Any] = ITEM | {
    "response": "One. Two. Three. Four. Five. Six.",
    "retrieved_context": [{"doc_id": "a", "text": "Relevant."}, {"doc_id": "b", "text": "Not."}],
    "response_claims": ["One.", "Two.", "Three.", "Four.", "Five.", "Six."],
    "answer2response": ["Entailment"] * 3 + ["Neutral", "Contradiction", "Neutral"],
    "retrieved2response": [
        ["Entailment", "Entailment"],
        ["Neutral", "Entailment"],
        ["Neutral", "Contradiction"],
        ["Entailment", "Neutral"],
        ["Contradiction", "Entailment"],
        ["Neutral", "Neutral"],
    ],
    "retrieved2answer": [["Entailment", "Neutral"]],
}
CLASSES = [
    "right_relevant",
    "right_irrelevant",
    "self_knowledge",
    "wrong_relevant",
    "wrong_irrelevant",
    "hallucination",
]


def checked(store: Store, tmp_path: Path, item: dict[str, Any], names: str = "ragchecker") -> RunRef:
    path = tmp_path / "six.json"
    path.write_text(json.dumps({"results": [item]}), encoding="utf-8")
    run_id = store.add_runs(read_runs(path).runs)[0].id
    evaluate_run(store, run_id, metrics_named([names]), Panel(judge=PlainJudge()))
    return store.resolve("six")


def test_each_claim_is_kept_with_its_class(store: Store, tmp_path: Path) -> None:
    ref = checked(store, tmp_path, SIX)
    assert [said.origin for said in sample_report(store, ref, "1").statements] == CLASSES
    assert run_summary(store, ref).origins == dict.fromkeys(CLASSES, 1)
    with store.database.read() as connection:
        rows = connection.execute("SELECT origin, count(*) FROM statements GROUP BY ALL").fetchall()
    assert dict(rows) == dict.fromkeys(CLASSES, 1) | {None: 1}
    shown = json.loads(invoke(store, "show", "six", "--json"))
    assert shown["origins"] == dict.fromkeys(CLASSES, 1)
    assert "not in the reference, from an irrelevant passage" in invoke(store, "show", "six")
    assert ",self_knowledge," in invoke(store, "export", "six", "--what", "statements")


@pytest.mark.parametrize(
    ("item", "names"),
    [
        (SIX, "ragchecker.hallucination"),
        (SIX | {"gt_answer_claims": [], "response2answer": [], "retrieved2answer": []}, "ragchecker"),
        ({key: value for key, value in SIX.items() if key != "gt_answer"} | {"answer2response": None}, "ragchecker"),
    ],
)
def test_without_all_three_tables_no_claim_has_a_class(
    store: Store, tmp_path: Path, item: dict[str, Any], names: str
) -> None:
    ref = checked(store, tmp_path, item, names)
    assert {said.origin for said in sample_report(store, ref, "1").statements} == {None}
    assert run_summary(store, ref).origins == {}


def test_verdicts_on_single_passages_are_separate_from_joint_verdicts(store: Store, tmp_path: Path) -> None:
    ref = checked(store, tmp_path, SIX)
    said = sample_report(store, ref, "1").statements
    assert [one.verdict for one in said] == [None] * 6
    assert [one.separate_verdict for one in said] == [
        "supported",
        "supported",
        "contradicted",
        "supported",
        "supported",
        "unsupported",
    ]
    assert [one.separate_verdicts_text for one in said] == [
        f"{words} (each passage judged separately)"
        for words in (
            "supported by passages 1 and 2",
            "supported by passage 2",
            "contradicted by passage 2",
            "supported by passage 1",
            "supported by passage 2; contradicted by passage 1",
            "supported by no single passage",
        )
    ]
    shown = invoke(store, "show", "six", "1")
    assert (
        "  2 ✓ supported by one passage: Two.\n      supported by passage 2 (each passage judged separately)" in shown
    )
    assert "not judged:" not in shown
