"""Tests of DeepEval's test runs in every form."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import broken_versions, read_or_refused

from ragboard import Passage, RunFileError, Score, Store, Turn, Unscored, from_deepeval, read_runs
from ragboard.analysis.samples import sample_report
from ragboard.records import RecordedJudgement

TRUTHS = 'Truths (limit=None):\n[\n    "A truth, "quoted", of two\nlines"\n]'
CLAIMS = 'Claims:\n[\n    "The mill is "old".",\n    "It grinds rye."\n]'
VERDICTS = 'Verdicts:\n[{"verdict": "yes", "reason": null}, {"verdict": "%s", "reason": "The passage says wheat."}]'
LOG = " \n \n".join((TRUTHS, CLAIMS, VERDICTS))


def metric(name: str = "Faithfulness", **given: Any) -> dict[str, Any]:
    return {"name": name, "score": 0.5, "threshold": 0.7, "success": False, "evaluationModel": "judge-1"} | given


def case(**given: Any) -> dict[str, Any]:
    return {
        "name": "mill",
        "input": "Which mill?",
        "actualOutput": 'The mill is "old". It grinds rye.',
        "expectedOutput": "The old mill.",
        "context": ["The mill is old."],
        "retrievalContext": ["The old mill | the new mill", "It grinds wheat."],
        "order": 0,
        "metricsData": [metric(verboseLogs=LOG % "no", reason="Half.")],
        "metadata": {"topic": "mills"},
    } | given


def test_run(*cases: dict[str, Any], **given: Any) -> dict[str, Any]:
    return {"testCases": list(cases), "conversationalTestCases": [], "hyperparameters": {"k": "3"}} | given


test_run.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrap", [lambda run: run, lambda run: {"testRunData": run}])
def test_a_test_run_gives_samples_scores_statements_and_reasons(
    write: Write, wrap: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    result = read_runs(write("run.json", json.dumps(wrap(test_run(case(), identifier="nightly")))))
    (run,) = result.runs
    (sample,) = run.samples
    assert (run.name, run.config) == ("nightly", {"k": "3"})
    assert (sample.id, sample.question, sample.reference) == ("mill", "Which mill?", "The old mill.")
    assert sample.contexts == (
        Passage(id="1", text="The old mill | the new mill", rank=1),
        Passage(id="2", text="It grinds wheat.", rank=2),
    )
    assert (sample.reference_contexts, sample.metadata) == (("The mill is old.",), {"topic": "mills"})
    assert run.scores is not None
    assert (run.scores.tool, run.scores.judge) == ("DeepEval", "judge-1")
    (recorded,) = run.scores.recorded
    assert [
        (one.text, verdict and verdict.label, verdict and verdict.reason) for one, verdict in recorded.statements
    ] == [
        ('The mill is "old".', "supported", ""),
        ("It grinds rye.", "contradicted", "The passage says wheat."),
    ]
    assert all(one.span for one, _ in recorded.statements)
    assert recorded.judgements == (
        RecordedJudgement(about="Faithfulness", number=1, says="fail, threshold 0.7", value=0.5, reason="Half."),
    )
    assert result.report.format == "DeepEval test run (JSON)"


def test_faithfulness_is_ours_only_where_it_is_the_share_of_supported_statements(write: Write) -> None:
    def equivalent_metrics(verdict: str, score: float) -> dict[str, str]:
        judged = case(metricsData=[metric(score=score, verboseLogs=LOG % verdict)])
        (run,) = read_runs(write("run.json", json.dumps(test_run(judged)))).runs
        assert run.scores is not None
        return dict(run.scores.equivalent_metrics)

    assert equivalent_metrics("no", 0.5) == {"deepeval-file.faithfulness": "ragas.faithfulness"}
    assert equivalent_metrics("borderline", 1.0) == {}, "DeepEval counts what is unclear as faithful"
    assert equivalent_metrics("idk", 1.0) == {}


def test_a_metric_that_failed_is_unscored_with_its_error(write: Write) -> None:
    failed = metric(score=None, success=False, error="timed out")
    (run,) = read_runs(write("run.json", json.dumps(test_run(case(metricsData=[failed]))))).runs
    assert run.scores is not None
    assert run.scores.outcomes == ({"deepeval-file.faithfulness": Unscored(reason="failed", detail="timed out")},)


def test_verdicts_of_other_metrics_are_judgements(write: Write) -> None:
    logs = {
        "Contextual Precision": 'Verdicts:\n[{"verdict": "yes", "reason": "It names it."}, {"verdict": "no"}]',
        "Answer Relevancy": 'Statements:\n[\n    "It grinds rye."\n] \n \nVerdicts:\n[{"verdict": "idk"}]',
        "Contextual Relevancy": 'Verdicts:\n[{"verdicts": [{"statement": "Old.", "verdict": "no", "reason": "Off."}]}]',
        "Tone [GEval]": "Criteria:\nIs it polite? \n \nScore: 0.5",
    }
    judged = case(metricsData=[metric(name, success=None, verboseLogs=log) for name, log in logs.items()])
    result = read_runs(write("run.json", json.dumps(test_run(judged))))
    (run,) = result.runs
    assert run.scores is not None
    assert [(one.about, one.number, one.says, one.reason) for one in run.scores.recorded[0].judgements] == [
        ("useful for the reference", 1, "yes", "It names it."),
        ("useful for the reference", 2, "no", ""),
        ("statement is relevant to the question", 1, "idk", '"It grinds rye."'),
        ("verdict of Contextual Relevancy", 1, "no", '"Old." Off.'),
    ]
    assert run.samples[0].metadata == {"topic": "mills"}, "criteria and steps are not of the sample"


def test_a_log_with_fewer_verdicts_than_statements_is_kept_as_text(write: Write) -> None:
    log = 'Claims:\n[\n    "One.",\n    "Two."\n] \n \nVerdicts:\n[{"verdict": "yes"}]'
    result = read_runs(write("run.json", json.dumps(test_run(case(metricsData=[metric(verboseLogs=log)])))))
    (run,) = result.runs
    assert run.scores is not None
    assert all(not one.statements for one in run.scores.recorded)
    assert run.samples[0].metadata["Faithfulness log"] == log
    assert [one.what for one in result.report.coerced] == ["Faithfulness log: could not be parsed, kept as metadata"]


def test_cases_keep_their_order_and_get_ids_from_questions(write: Write) -> None:
    cases = [case(name=f"test_case_{order}", input=f"Question {order}?", order=order) for order in (2, 0, 1)]
    (run,) = read_runs(write("run.json", json.dumps(test_run(*cases)))).runs
    assert [sample.question for sample in run.samples] == ["Question 0?", "Question 1?", "Question 2?"]
    assert not any(sample.id.startswith("test_case") for sample in run.samples)


@pytest.mark.parametrize("name", ["run.json", "result.json"])
def test_metrics_of_the_first_versions_are_scores(write: Write, name: str) -> None:
    older = {key: value for key, value in case().items() if key != "metricsData"}
    older["metricsMetadata"] = [{"metric": "Faithfulness", "score": 0.5, "minimumScore": 0.7, "success": False}]
    whole = test_run(older) if name == "run.json" else {"test_results": [older]}
    (run,) = read_runs(write(name, json.dumps(whole))).runs
    assert run.scores
    assert run.scores.outcomes[0] == {"deepeval-file.faithfulness": Score(value=0.5, counted="as the file has it")}
    assert run.scores.recorded[0].judgements[0].says == "fail, threshold 0.7"
    assert run.samples[0].metadata == {"topic": "mills"}


def test_an_evaluation_result_is_read_like_a_test_run(write: Write) -> None:
    snake = {
        "name": "mill",
        "input": "Which mill?",
        "actual_output": "It grinds rye.",
        "retrieval_context": None,
        "index": 0,
        "success": True,
        "metrics_data": [{"name": "Bias", "score": 0, "threshold": 0.5, "success": True, "evaluation_model": "j"}],
    }
    result = read_runs(write("result.json", json.dumps({"test_results": [snake], "test_run_id": None})))
    (run,) = result.runs
    assert run.samples[0].contexts is None
    assert run.scores is not None
    assert run.scores.outcomes == ({"deepeval-file.bias": Score(value=0, counted="as the file has it")},)
    assert run.scores.metrics[0].direction == "lower"
    assert "samples without passages: 1; DeepEval writes no passages if none were retrieved" in result.report.notes


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_list_of_test_cases_is_read_with_its_metrics(write: Write, ending: str) -> None:
    text = json.dumps(case())
    result = read_runs(write(f"cases.{ending}", f"[{text}]" if ending == "json" else text))
    (run,) = result.runs
    assert run.scores is not None
    assert len(run.scores.recorded[0].statements) == 2
    assert result.report.format == f"DeepEval test cases ({ending.upper()})"


def test_a_name_that_is_given_is_the_name_of_the_one_run(write: Write) -> None:
    path = write("run.json", json.dumps(test_run(case(), identifier="nightly")))
    assert [run.name for run in read_runs(path, name="mine").runs] == ["mine"]


def test_each_reply_of_a_conversation_is_a_sample(write: Write) -> None:
    turns = [
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "Which mill?"},
        {"role": "assistant", "content": "The old one.", "retrievalContext": ["The old mill."]},
        {"role": "user", "content": "How old?"},
        {"role": "assistant", "content": "Very."},
    ]
    talk = {"name": "talk", "scenario": "A visit", "turns": turns, "metricsData": [metric("Role Adherence")]}
    (run,) = read_runs(write("run.json", json.dumps(test_run(conversationalTestCases=[talk])))).runs
    first, second = run.samples
    assert (first.id, first.question, first.answer) == ("talk turn 3", "Which mill?", "The old one.")
    assert first.history == (Turn(role="assistant", text="Welcome."),)
    assert first.contexts == (Passage(id="1", text="The old mill.", rank=1),)
    assert (second.question, len(second.history)) == ("How old?", 3)
    assert second.metadata == {"scenario": "A visit"}
    assert run.scores is not None
    assert [isinstance(next(iter(one.values())), Score) for one in run.scores.outcomes] == [False, True]


def test_every_run_of_the_store_is_a_run(tmp_path: Path) -> None:
    path = tmp_path / "deepeval.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE test_runs (id TEXT, payload_json TEXT)")
        payloads = [json.dumps(test_run(case(), identifier=name)) for name in ("one", "one")]
        database.executemany("INSERT INTO test_runs VALUES (?, ?)", enumerate(payloads))
    database.close()
    result = read_runs(path)
    assert [run.name for run in result.runs] == ["one 1", "one 2"]
    assert all(run.config == {"k": "3"} and run.samples[0].id == "mill" for run in result.runs)
    assert result.report.format == "DeepEval store (SQLite)"


def test_a_store_with_a_damaged_run_is_rejected_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "deepeval.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE test_runs (payload_json TEXT)")
        database.execute("INSERT INTO test_runs VALUES ('{')")
    database.close()
    with pytest.raises(RunFileError, match="test_runs row 1: payload_json is not JSON"):
        read_runs(path)


def test_the_cache_is_rejected_with_the_file_to_bring(write: Write) -> None:
    with pytest.raises(RunFileError, match=r"is DeepEval's cache.*import the test run in the same folder"):
        read_runs(write(".deepeval-cache.json", json.dumps({"test_cases_lookup_map": {}})))


def test_a_bad_value_is_rejected_with_its_place(write: Write) -> None:
    path = write("run.json", json.dumps(test_run(case(), case(input={"a": 1}, order=1)), indent=1))
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if '"a": 1' in text) - 3
    with pytest.raises(RunFileError, match=rf"run.json:{line}: testCases\[1\].question: got an object, expected text"):
        read_runs(path)


def test_broken_files_are_read_or_refused(write: Write) -> None:
    talk = {"name": "talk", "turns": [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "A."}]}
    for broken in broken_versions(test_run(case(), conversationalTestCases=[talk])):
        read_or_refused(write("run.json", json.dumps(broken)))


def test_statements_and_verdicts_are_shown_with_the_sample(write: Write, tmp_path: Path) -> None:
    result = read_runs(write("run.json", json.dumps(test_run(case()))))
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(result.runs)
    report = sample_report(store, store.resolve(added.name), "mill")
    assert report.judged is not None
    assert report.judged.judge == "judge-1 (DeepEval file)"
    assert [(one.statement.text, one.verdict and one.verdict.label) for one in report.statements] == [
        ('The mill is "old".', "supported"),
        ("It grinds rye.", "contradicted"),
    ]
    assert [str(one) for one in report.judgements] == ["Faithfulness: fail, threshold 0.7 (0.50)"]


@pytest.mark.parametrize("name", ["test_run", "latest_test_run", "evaluation_result"])
def test_files_written_by_deepeval(data: Path, name: str) -> None:
    result = read_runs(data / f"tools/deepeval/{name}.json")
    (run,) = result.runs
    assert [(sample.id, sample.contexts and len(sample.contexts)) for sample in run.samples] == [
        ("q1", 2),
        ("q2", 3),
        ("q3", None),
        ("q4", 1),
    ]
    assert run.samples[1].contexts
    assert run.samples[1].contexts[0].text == "The design is by Ada Moreno.\nShe worked from 1994, in Lyon."
    assert run.scores is not None
    assert run.scores.judge == "gpt-4o-mini"
    labels = [[verdict and verdict.label for _, verdict in one.statements] for one in run.scores.recorded]
    assert labels == [["contradicted", "supported"], ["contradicted"], ["supported"], ["supported"]]
    assert run.scores.equivalent_metrics == {"deepeval-file.faithfulness": "ragas.faithfulness"}


def test_the_cache_of_deepeval_is_rejected(data: Path) -> None:
    with pytest.raises(RunFileError, match="is DeepEval's cache"):
        read_runs(data / "tools/deepeval/cache.deepeval-cache.json")


def test_a_result_in_memory_is_read_like_its_file(write: Write) -> None:
    snake = {
        "test_results": [
            {
                "name": "mill",
                "input": "Which mill?",
                "actual_output": "It grinds rye.",
                "retrieval_context": ["It grinds wheat."],
                "metrics_data": [{"name": "Faithfulness", "score": 0.5, "verbose_logs": LOG % "no"}],
            }
        ]
    }
    result = SimpleNamespace(test_results=[], model_dump=lambda **_: snake)
    (filed,) = read_runs(write("result.json", json.dumps(snake))).runs
    run = from_deepeval(result, name="mine")
    assert (run.name, run.samples) == ("mine", filed.samples)
    assert run.scores
    assert filed.scores
    assert run.scores.recorded == filed.scores.recorded
    with pytest.raises(TypeError, match=r"got int, expected the result of deepeval\.evaluate"):
        from_deepeval(3)
