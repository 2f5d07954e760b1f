"""Tests of promptfoo's results: a run for each provider and prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import broken_versions, read_or_refused

from ragboard import Passage, Score, Store, Unscored, read_runs
from ragboard.analysis.samples import sample_report

VARIABLES = {"query": "Which mill?", "context": "['old'] The old mill.\nIt grinds wheat.", "expected": "The old mill."}


def result(prompt: int = 0, output: Any = "The mill is old.", **given: Any) -> dict[str, Any]:
    assertion = {"type": "llm-rubric", "metric": "correct", "threshold": 0.5}
    parts = [
        {"assertion": assertion, "pass": True, "score": 0.75, "reason": "Near."},
        {"assertion": {"type": "icontains"}, "pass": False, "score": 0, "reason": "Not in it."},
    ]
    return {
        "vars": VARIABLES | {"tone": "dry"},
        "provider": {"id": "house:small", "label": ""},
        "promptIdx": prompt,
        "prompt": {"raw": "Say: Which mill?", "label": "Say: {{query}}"},
        "response": {"output": output},
        "success": False,
        "score": 0.375,
        "error": "Not in it.",
        "failureReason": 1,
        "namedScores": {"correct": 0.75},
        "gradingResult": {"pass": False, "componentResults": parts},
        "testCase": {"metadata": {"id": "mill", "topic": "mills"}, "options": {"provider": "house:judge"}},
    } | given


def results(*found: dict[str, Any], **config: Any) -> dict[str, Any]:
    prompts = [{"raw": "Say: {{query}}"}, {"raw": "Shout: {{query}}"}]
    return {
        "evalId": "eval-1",
        "results": {"version": 3, "prompts": prompts, "results": list(found)},
        "config": {"providers": [{"config": {"apiKey": "secret"}}]} | config,
        "metadata": {"promptfooVersion": "0.121.20"},
    }


def test_variables_output_scores_and_reasons_are_read(write: Write) -> None:
    read = read_runs(write("out.json", json.dumps(results(result(), description="Small model"))))
    (run,) = read.runs
    (sample,) = run.samples
    assert (run.name, run.config) == ("Small model", {"provider": "house:small", "prompt": "Say: {{query}}"})
    assert (sample.id, sample.question, sample.answer) == ("mill", "Which mill?", "The mill is old.")
    assert sample.contexts == (Passage(id="1", text=VARIABLES["context"], rank=1),)
    assert (sample.reference, sample.metadata) == ("The old mill.", {"tone": "dry", "topic": "mills"})
    assert run.scores is not None
    assert run.scores.judge == "house:judge"
    assert {spec: getattr(one, "value", None) for spec, one in run.scores.outcomes[0].items()} == {
        "promptfoo-file.score": 0.375,
        "promptfoo-file.correct": 0.75,
        "promptfoo-file.icontains": 0.0,
    }
    assert [(one.about, one.says, one.value, one.reason) for one in run.scores.recorded[0].judgements] == [
        ("correct", "pass, threshold 0.5", 0.75, "Near."),
        ("icontains", "fail", 0.0, "Not in it."),
    ]
    assert read.report.format == "promptfoo results 0.121.20 (JSON)"
    assert [one.what for one in read.report.coerced] == ["contexts: single text read as one passage"]


def test_lines_contain_only_the_results(write: Write) -> None:
    (run,) = read_runs(write("out.jsonl", json.dumps(result()))).runs
    assert (run.name, run.samples[0].id) == ("house:small", "mill")


def test_each_provider_and_prompt_is_a_run(write: Write) -> None:
    found = [result(0), result(1), result(2, provider="house:large")]
    runs = read_runs(write("out.json", json.dumps(results(*found)))).runs
    assert [(run.name, run.config["prompt"]) for run in runs] == [
        ("house:small Say: {{query}}", "Say: {{query}}"),
        ("house:small Shout: {{query}}", "Shout: {{query}}"),
        ("house:large", "Say: {{query}}"),
    ]


def test_an_error_is_no_score_of_0(write: Write) -> None:
    failed = result(output=None, score=0, failureReason=2, error="timed out", namedScores={}, gradingResult=None)
    (run,) = read_runs(write("out.json", json.dumps(results(result(), failed)))).runs
    assert run.samples[1].answer is None
    assert run.scores is not None
    assert set(run.scores.outcomes[1].values()) == {Unscored(reason="failed", detail="timed out")}
    assert isinstance(run.scores.outcomes[0]["promptfoo-file.icontains"], Score)


def test_what_a_provider_retrieved_counts_before_the_variable(write: Write) -> None:
    documents = [{"text": "Old.", "id": "d1", "score": 0.5}]
    found = [
        result(output={"answer": "It is old.", "documents": documents}),
        result(output={"rating": 3}, vars={"query": "Q?"}),
        result(response={"output": "It is.", "metadata": {"context": []}}),
    ]
    first, second, third = read_runs(write("out.json", json.dumps(results(*found)))).runs[0].samples
    assert (first.answer, first.contexts) == ("It is old.", (Passage(id="d1", text="Old.", rank=1, score=0.5),))
    assert (second.answer, second.contexts) == ('{"rating": 3}', None)
    assert third.contexts == ()


def test_the_context_of_an_assertion_is_read_where_there_is_no_variable(write: Write) -> None:
    graded = {
        "componentResults": [{"assertion": {"type": "context-recall"}, "metadata": {"context": ["Old.", "New."]}}]
    }
    (run,) = read_runs(write("out.json", json.dumps(results(result(vars={"q": "Q?"}, gradingResult=graded))))).runs
    assert run.samples[0].contexts
    assert [one.text for one in run.samples[0].contexts] == ["Old.", "New."]


def test_without_a_variable_for_the_question_the_prompt_is_the_question(write: Write) -> None:
    found = [result(vars={"animal": "cat"}), result(vars={"a": "1", "b": "2"})]
    (run,) = read_runs(write("out.json", json.dumps(results(*found)))).runs
    assert [one.question for one in run.samples] == ["cat", "Say: Which mill?"]


def test_a_table_has_its_columns_again_for_each_output(write: Write) -> None:
    outputs = '"[house:small] Say: {{query}}",Status,Score,Named Scores,Metric: correct,Grader Reason,Comment'
    rows = [
        f"query,context,{outputs},{outputs.replace('small', 'large')}",
        'Which mill?,The old mill.,Old.,PASS,0.75,"{""correct"":0.75}",0.75,Near.,,,ERROR,0.00,{},,timed out,',
    ]
    read = read_runs(write("out.csv", "\n".join(rows)))
    small, large = read.runs
    assert (small.name, large.name) == ("house:small", "house:large")
    assert (small.samples[0].answer, large.samples[0].answer) == ("Old.", None)
    assert (small.samples[0].id, small.samples[0].metadata) == (large.samples[0].id, {})
    assert small.scores is not None
    assert large.scores is not None
    assert small.scores.outcomes[0]["promptfoo-file.correct"] == Score(value=0.75, counted="as the file has it")
    assert set(large.scores.outcomes[0].values()) == {Unscored(reason="failed", detail="timed out")}
    assert read.report.format == "promptfoo table (CSV)"


def test_broken_results_are_read_or_refused(write: Write) -> None:
    for broken in broken_versions(results(result(output={"answer": "Old.", "documents": ["One."]}))):
        read_or_refused(write("out.json", json.dumps(broken)))
    for broken in broken_versions(result()):
        read_or_refused(write("out.jsonl", json.dumps(broken)))


def test_reasons_are_shown_with_the_sample(write: Write, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(read_runs(write("out.json", json.dumps(results(result())))).runs)
    report = sample_report(store, store.resolve(added.name), "mill")
    assert [str(one) for one in report.judgements] == ["correct: pass, threshold 0.5 (0.75)", "icontains: fail (0.00)"]


@pytest.mark.parametrize("name", ["results.json", "results.jsonl", "results.csv"])
def test_files_written_by_promptfoo(data: Path, name: str) -> None:
    (run,) = read_runs(data / "tools/promptfoo" / name).runs
    assert [one.answer for one in run.samples][1:] == [
        "Ada Moreno designed the bridge in 1990.",
        "I do not know.",
        "There are four lanes.",
    ]
    assert run.samples[0].reference == "It opened in July 2000."
    assert run.scores is not None
    values = [getattr(one["promptfoo-file.score"], "value", 0) for one in run.scores.outcomes]
    assert [round(value, 2) for value in values] == [0.67, 1.0, 0.67, 1.0]
    assert run.config["provider"] == "openai:chat:gpt-4o-mini"
