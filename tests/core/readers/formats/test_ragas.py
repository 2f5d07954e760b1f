"""Tests of ragas's traces: samples, scores, statements and verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import check_broken_at_random

from ragboard import Run, RunFileError, Score, Store, Unscored, evaluate, from_ragas, read_runs
from ragboard.analysis import compare_runs, run_summary, sample_report
from ragboard.records import FileScores

PASSAGES = ["The mill closed in 1931.", "Its wheel is oak."]
ROW = {
    "user_input": "When did the mill close?",
    "retrieved_contexts": PASSAGES,
    "response": "It closed in 1931. Its wheel is iron.",
    "reference": "In 1931.",
    "reference_contexts": PASSAGES[:1],
    "rubrics": None,
}
STATEMENTS = [
    {"statement": "It closed in 1931.", "reason": "The first passage says so.", "verdict": 1},
    {"statement": "Its wheel is iron.", "reason": "The wheel is oak.", "verdict": 0},
]
PROMPTS: dict[str, list[tuple[str, Any, Any]]] = {
    "faithfulness": [
        ("statement_generator_prompt", {}, {"statements": [one["statement"] for one in STATEMENTS]}),
        ("n_l_i_statement_prompt", {"context": "\n".join(PASSAGES)}, {"statements": STATEMENTS}),
    ],
    "context_recall": [
        (
            "context_recall_classification_prompt",
            {},
            {"classifications": [{"statement": "In 1931.", "reason": "As said.", "attributed": 1}]},
        )
    ],
    "context_precision": [
        ("context_precision_prompt", {"context": PASSAGES[0]}, {"reason": "It has the year.", "verdict": 1}),
        ("context_precision_prompt", {"context": PASSAGES[1]}, {"reason": "No year.", "verdict": 0}),
    ],
    "answer_relevancy": [("response_relevance_prompt", {}, {"question": "What closed?", "noncommittal": 1})],
}
SCORES = {"faithfulness": 0.5, "context_recall": 1.0, "context_precision": 1.0, "answer_relevancy": None}


def run_tree(rows: list[Mapping[str, Any]], scores: Mapping[str, Any] = SCORES) -> list[dict[str, Any]]:
    """The flat list that `ragas_traces` is."""
    found: list[dict[str, Any]] = [run("e", None, "ragas evaluation", {"type": "evaluation"}, {}, {})]
    for at, row in enumerate(rows):
        found.append(run(f"r{at}", "e", f"row {at}", {"type": "row", "row_index": at}, row, scores))
        for metric, prompts in PROMPTS.items():
            found.append(
                run(f"m{at}{metric}", f"r{at}", metric, {"type": "metric"}, row, {"output": scores.get(metric)})
            )
            for number, (name, given, said) in enumerate(prompts):
                ids = (f"p{at}{metric}{number}", f"m{at}{metric}")
                found.append(run(*ids, name, {"type": "ragas_prompt"}, {"data": given}, {"output": [said]}))
    return found


def run(run_id: str, parent: str | None, name: str, metadata: Any, inputs: Any, outputs: Any) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "parent_run_id": parent,
        "name": name,
        "metadata": metadata,
        "inputs": inputs,
        "outputs": outputs,
        "children": [],
    }


def scores_of(run: Run) -> FileScores:
    assert run.scores
    return run.scores


def traces(write: Write, rows: list[Mapping[str, Any]] | None = None) -> Path:
    return write("traces.json", json.dumps(run_tree(rows or [ROW])))


def test_traces_are_samples_with_their_scores(write: Write) -> None:
    result = read_runs(traces(write, [ROW, {**ROW, "user_input": "And again?"}]))
    (read,) = result.runs
    first, second = read.samples
    assert (first.question, first.answer, first.reference) == (ROW["user_input"], ROW["response"], ROW["reference"])
    assert [passage.text for passage in first.contexts or ()] == PASSAGES
    assert (first.reference_contexts, first.metadata) == ((PASSAGES[0],), {})
    assert second.question == "And again?"
    outcomes = scores_of(read).outcomes[0]
    assert outcomes["ragas-file.faithfulness"] == Score(value=0.5, counted="1 of 2 statements")
    assert isinstance(outcomes["ragas-file.answer_relevancy"], Unscored)
    assert result.report.format == "ragas traces (JSON)"
    assert {use.column: use.field for use in result.report.columns}["row.inputs.retrieved_contexts"] == "contexts"


def test_statements_verdicts_and_reasons_are_those_of_ragas_judge(write: Write, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (read,) = read_runs(traces(write)).runs
    store.add_runs([read])
    report = sample_report(store, store.resolve("traces"), read.samples[0].id)
    said = [(one.statement.text, one.verdict.label, one.verdict.reason) for one in report.statements if one.verdict]
    assert said == [
        ("It closed in 1931.", "supported", "The first passage says so."),
        ("Its wheel is iron.", "unsupported", "The wheel is oak."),
    ]
    spans = [one.statement.span for one in report.statements]
    assert [ROW["response"][one.start : one.end] for one in spans if one] == [
        "It closed in 1931.",
        "Its wheel is iron.",
    ]
    judged = {(one.about, one.number): (one.says, one.reason) for one in report.judgements}
    assert judged["useful for the reference", 2] == ("no", "No year.")
    assert judged["question generated from the answer", 1] == ("What closed?", "the judge called the answer evasive")
    assert run_summary(store, store.resolve("traces")).judged.judge == "ragas (file)"


def test_scores_that_our_formula_gives_for_the_verdicts_count_as_ours(write: Write, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.add_runs(read_runs(traces(write)).runs)
    metrics = run_summary(store, store.resolve("traces")).metrics
    assert {spec: summary.mean for spec, summary in metrics.items()} == {
        "ragas.faithfulness": 0.5,
        "ragas.context_recall": 1.0,
        "ragas-file.context_precision": 1.0,
        "ragas-file.answer_relevancy": None,
    }


def test_scores_that_the_verdicts_do_not_explain_stay_those_of_the_tool(write: Write) -> None:
    path = write("traces.json", json.dumps(run_tree([ROW], {**SCORES, "faithfulness": 0.25})))
    assert scores_of(read_runs(path).runs[0]).equivalent_metrics == {
        "ragas-file.context_recall": "ragas.context_recall"
    }


@pytest.mark.parametrize("shape", ["object by id", "under evaluation_run"])
def test_the_other_shapes_of_a_trace_are_the_same(write: Write, shape: str) -> None:
    tree = run_tree([ROW])
    by_id = {one["run_id"]: one for one in tree}
    value = by_id if shape == "object by id" else {"evaluation_run": tree}
    assert read_runs(write("other.json", json.dumps(value))).runs[0].samples == read_runs(traces(write)).runs[0].samples


def test_samples_and_traces_in_one_file(write: Write) -> None:
    kept = {
        metric: {name: {"input": given, "output": said} for name, given, said in prompts}
        for metric, prompts in PROMPTS.items()
    }
    path = write("kept.json", json.dumps([{"sample": ROW, "scores": SCORES, "traces": kept}]))
    (read,) = read_runs(path).runs
    assert scores_of(read).equivalent_metrics == {
        "ragas-file.faithfulness": "ragas.faithfulness",
        "ragas-file.context_recall": "ragas.context_recall",
    }
    assert [one.text for one, _ in scores_of(read).recorded[0].statements] == [
        "It closed in 1931.",
        "Its wheel is iron.",
        "In 1931.",
    ]


def test_an_experiment_that_kept_its_calls(write: Write) -> None:
    calls = [{"output_model": "NLIStatementOutput", "output": {"statements": STATEMENTS}}]
    rows = [
        {**ROW, "faithfulness": 0.5, "faithfulness_calls": calls, "error": None},
        {**ROW, "faithfulness": None, "faithfulness_calls": [], "error": "no passages"},
    ]
    (read,) = read_runs(write("kept.jsonl", "\n".join(map(json.dumps, rows)))).runs
    assert scores_of(read).outcomes[1]["ragas-file.faithfulness"] == Unscored(reason="failed", detail="no passages")
    assert [verdict.label for _, verdict in scores_of(read).recorded[0].statements if verdict] == [
        "supported",
        "unsupported",
    ]


@pytest.mark.parametrize(
    ("said", "what"),
    [({"statements": ["a"]}, "traces without samples"), ("statements=['a']", r"the repr\(\) of traces")],
)
def test_a_file_with_only_traces_names_the_needed_file(write: Write, said: object, what: str) -> None:
    alone = [{"faithfulness": {"statement_generator_prompt": {"input": {}, "output": said}}}]
    with pytest.raises(RunFileError, match=rf"has {what}.*use json\.dump\(.*ragas_traces"):
        read_runs(write("alone.json", json.dumps(alone)))


def test_broken_traces_are_read_or_refused(tmp_path: Path) -> None:
    check_broken_at_random(tmp_path / "traces.json", run_tree([ROW]))
    kept = {metric: {name: {"input": {}, "output": said} for name, _, said in PROMPTS[metric]} for metric in PROMPTS}
    check_broken_at_random(tmp_path / "kept.json", [{"sample": ROW, "scores": SCORES, "traces": kept}])


def test_a_result_in_memory_is_read_like_its_file(write: Write) -> None:
    tree = {one["run_id"]: SimpleNamespace(model_dump=lambda one=one: one) for one in run_tree([ROW])}
    run = from_ragas(SimpleNamespace(ragas_traces=tree), name="mine", config={"k": 2})
    (filed,) = read_runs(traces(write)).runs
    assert (run.name, run.config, run.samples) == ("mine", {"k": 2}, filed.samples)
    assert scores_of(run).recorded == scores_of(filed).recorded
    with pytest.raises(TypeError, match=r"got dict, expected the result of ragas\.evaluate"):
        from_ragas({})


def test_our_judge_evaluates_in_a_separate_evaluation(write: Write, tmp_path: Path) -> None:
    (read,) = read_runs(traces(write)).runs
    store = Store(tmp_path / "store")
    store.add_runs([read])
    evaluate(read, metrics="ragas.faithfulness", store=store)
    for judge in ("embedded", "ragas (file)"):
        ref = store.resolve(f"traces@{judge}")
        assert "ragas.faithfulness" in run_summary(store, ref).metrics
    a, b = (store.resolve(f"traces@{judge}") for judge in ("ragas (file)", "embedded"))
    found = compare_runs(store, a, b)
    assert [metric.metric for metric in found.metrics] == ["ragas.faithfulness"]
    assert not any("definition" in caution for caution in found.cautions)


def test_the_files_that_ragas_wrote(data: Path, tmp_path: Path) -> None:
    """Four questions; the third retrieved nothing. The means are those that ragas itself gives."""
    store = Store(tmp_path / "store")
    for name in ("evaluate_ragas_traces_0.4", "evaluate_sample_traces_0.4"):
        (read,) = read_runs(data / "tools" / "ragas" / f"{name}.json").runs
        store.add_runs([read])
        assert [len(sample.contexts or ()) for sample in read.samples] == [2, 3, 0, 1]
        metrics = run_summary(store, store.resolve(name)).metrics
        given = [row["faithfulness"] for row in json.loads(_own_scores(data))]
        assert metrics["ragas.faithfulness"].mean == pytest.approx(sum(given) / 4, abs=1e-9)
        assert metrics["ragas.context_recall"].mean == 1.0


def _own_scores(data: Path) -> str:
    lines = (data / "tools" / "ragas" / "evaluate_scores_0.4.jsonl").read_text().splitlines()
    return f"[{','.join(lines)}]"
