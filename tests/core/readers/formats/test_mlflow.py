"""Tests of MLflow: traces and assessments, as JSON and as tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import check_broken_at_random

from ragboard import Passage, Run, RunFileError, Store, Turn, read_runs
from ragboard.cli import main
from ragboard.records import Score, Unscored

QUESTION, ANSWER = "When did the mill close?", "In 1931."
DOCUMENTS = [
    {"page_content": "The mill closed in 1931.", "metadata": {"doc_uri": "mill.md", "score": 0.5}, "id": "p0"},
    {"page_content": 'It made flour, "and\nfeed".', "metadata": {"chunk_id": "p1"}},
]
PASSAGES = (
    Passage(id="p0", text="The mill closed in 1931.", rank=1, score=0.5),
    Passage(id="p1", text='It made flour, "and\nfeed".', rank=2),
)


def one_run(path: Path) -> Run:
    (run,) = read_runs(path).runs
    return run


def span(name: str, parent: str | None, kind: str, at: int, given: Any, said: Any, **attributes: Any) -> dict[str, Any]:
    return {
        "trace_id": "AAAA",
        "span_id": name,
        "parent_span_id": parent,
        "name": name,
        "start_time_unix_nano": 1_790_000_000_000_000_000 + at * 10**6,
        "end_time_unix_nano": 1_790_000_000_000_000_000 + (at + 4) * 10**6,
        "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {
            "mlflow.spanType": json.dumps(kind),
            "mlflow.spanInputs": json.dumps(given),
            "mlflow.spanOutputs": json.dumps(said),
            **{f"mlflow.{key.replace('__', '.')}": json.dumps(cell) for key, cell in attributes.items()},
        },
    }


def assessment(name: str, kind: str = "LLM_JUDGE", **of: Any) -> dict[str, Any]:
    return {"assessment_name": name, "source": {"source_type": kind, "source_id": f"{kind} kim"}, "valid": True, **of}


def trace(number: int, question: str, answer: str, documents: list[Any], *assessments: Any) -> dict[str, Any]:
    usage = {"usage": {"prompt_tokens": 30, "completion_tokens": 4}}
    return {
        "info": {
            "trace_id": f"tr-{number}",
            "state": "OK",
            "trace_metadata": {
                "mlflow.user": "kim",
                "mlflow.trace.session": "s",
                "mlflow.source.name": "/home/kim/a.py",
            },
            "tags": {"mlflow.traceName": "rag", "release": "k3"},
            "assessments": list(assessments),
        },
        "data": {
            "spans": [
                span("a", None, "CHAIN", number, {"question": question}, answer),
                span("b", "a", "RETRIEVER", number, {"query": question}, documents),
                span(
                    "c",
                    "a",
                    "CHAT_MODEL",
                    number,
                    {"messages": [{"role": "user", "content": "PROMPT"}]},
                    {"choices": [{"message": {"role": "assistant", "content": answer}}], **usage},
                    llm__model="small",
                ),
            ]
        },
    }


TRACES = [
    trace(
        2, "Why?", "No idea.", [], assessment("grounded", feedback={"value": None, "error": {"error_message": "busy"}})
    ),
    trace(
        1,
        QUESTION,
        ANSWER,
        DOCUMENTS,
        assessment("grounded", feedback={"value": "yes"}, rationale="The first passage."),
        assessment("grounded", feedback={"value": "no"}, valid=False),
        assessment("length", "CODE", feedback={"value": 8}),
        assessment("clear", feedback={"value": "unknown"}),
        assessment("thumbs", "HUMAN", feedback={"value": True}, rationale="Good."),
        assessment("expected_response", "HUMAN", expectation={"value": "1931"}),
    ),
]


def as_table(traces: list[Any]) -> list[dict[str, Any]]:
    """The table of `search_traces`."""
    return [
        {
            "trace_id": one["info"]["trace_id"],
            "trace": json.dumps(one),
            "state": "OK",
            "request": json.loads(one["data"]["spans"][0]["attributes"]["mlflow.spanInputs"]),
            "response": "cut",
            "trace_metadata": one["info"]["trace_metadata"],
            "tags": one["info"]["tags"],
            "spans": one["data"]["spans"],
            "assessments": one["info"]["assessments"],
        }
        for one in traces
    ]


@pytest.mark.parametrize("kind", ["list", "lines", "table", "csv", "spans lost"])
def test_a_trace_is_a_sample_with_its_assessments(write: Write, kind: str) -> None:
    table = as_table(TRACES)
    if kind == "spans lost":
        table = [{**row, "spans": "[<Span>]"} for row in table]
    texts = {
        "list": ("a.json", json.dumps(TRACES)),
        "lines": ("a.jsonl", "\n".join(map(json.dumps, TRACES))),
        "table": ("a.json", json.dumps(table)),
        "csv": ("a.csv", pd.DataFrame(table).to_csv(index=False)),
        "spans lost": ("a.csv", pd.DataFrame(table).to_csv(index=False)),
    }
    result = read_runs(write(*texts[kind]))
    (run,) = result.runs
    first, second = run.samples
    assert run.config == {"model": "small"}
    assert [str(sample.time) for sample in run.samples] == [f"2026-09-21 14:13:20.00{trace}000" for trace in (1, 2)]
    assert (first.id, first.question, first.answer, first.reference) == ("tr-1", QUESTION, ANSWER, "1931")
    assert (first.contexts, second.contexts) == (PASSAGES, ())
    assert second.history == (Turn(role="user", text=QUESTION), Turn(role="assistant", text=ANSWER))
    assert first.metadata == {
        "session_id": "s",
        "latency_ms": 4.0,
        "prompt_tokens": 30,
        "completion_tokens": 4,
        "release": "k3",
        "human_feedback": [{"name": "thumbs", "value": True, "comment": "Good."}],
    }
    assert run.scores is not None
    assert run.scores.judge == "LLM_JUDGE kim"
    assert run.scores.outcomes[0] == {
        "mlflow-file.grounded": Score(value=1.0, counted="yes"),
        "mlflow-file.length": Score(value=8.0, counted="as the file has it"),
        "mlflow-file.clear": Unscored(reason="skipped", detail="the file has 'unknown', not a number"),
    }
    assert run.scores.outcomes[1]["mlflow-file.grounded"] == Unscored(reason="failed", detail="busy")
    assert "/home/kim" not in repr(result)
    assert "HUMAN kim" not in repr(result)


def test_one_trace_is_one_sample(write: Write) -> None:
    (sample,) = one_run(write("trace.json", json.dumps(TRACES[1]))).samples
    assert (sample.question, sample.contexts) == (QUESTION, PASSAGES)


def test_the_artifact_of_a_trace_has_only_its_spans(write: Write) -> None:
    (sample,) = one_run(write("traces.json", json.dumps(TRACES[1]["data"]))).samples
    assert (sample.question, sample.answer, sample.contexts) == (QUESTION, ANSWER, PASSAGES)


def test_expected_facts_are_the_reference_where_there_is_no_expected_response(write: Write) -> None:
    facts = {"serialized_value": {"serialization_format": "JSON", "value": '["It closed.", "In 1931."]'}}
    given = trace(1, QUESTION, ANSWER, [], assessment("expected_facts", "HUMAN", expectation=facts))
    (sample,) = one_run(write("trace.json", json.dumps(given))).samples
    assert sample.reference == "It closed.\nIn 1931."


def test_traces_that_are_not_finished_are_left_out(write: Write) -> None:
    half = {
        "info": {"trace_id": "tr-9", "state": "IN_PROGRESS"},
        "data": {"spans": [span("x", None, "CHAIN", 9, None, None)]},
    }
    result = read_runs(write("traces.json", json.dumps([half, TRACES[0]])))
    assert [sample.question for sample in result.runs[0].samples] == ["Why?"]
    assert "1 traces without a question dropped" in result.report.notes
    with pytest.raises(RunFileError, match="has 1 traces of MLflow, but none has a question"):
        read_runs(write("traces.json", json.dumps(half)))


def test_half_broken_traces_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    check_broken_at_random(tmp_path / "traces.json", TRACES)
    check_broken_at_random(tmp_path / "table.json", as_table(TRACES))


def test_what_judges_said_is_shown_with_the_sample(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store(tmp_path / "store").add_runs(read_runs(write("mill.json", json.dumps(TRACES))).runs)
    with pytest.raises(SystemExit, match="0"):
        main(["show", "mill", "tr-1", "--store", str(tmp_path / "store")])
    shown = capsys.readouterr().out
    assert "mlflow-file.grounded: 1.00 (yes)" in shown
    assert "grounded: yes (1.00): The first passage." in shown


def test_the_real_traces_are_the_same_samples_in_every_form(data: Path) -> None:
    found = [
        one_run(data / "tools" / "mlflow" / name)
        for name in ("traces_list.json", "search_traces.json", "eval_results.csv")
    ]
    (alone,) = one_run(data / "tools" / "mlflow" / "trace_one.json").samples
    first = found[0]
    assert (alone.question, alone.contexts) == (first.samples[3].question, first.samples[3].contexts)
    for run in found:
        assert run.scores is not None
        assert first.scores is not None
        assert [(s.id, s.question, s.answer, s.reference, s.contexts, s.history) for s in run.samples] == [
            (s.id, s.question, s.answer, s.reference, s.contexts, s.history) for s in first.samples
        ]
        assert (run.scores.outcomes, run.scores.recorded) == (first.scores.outcomes, first.scores.recorded)
        assert run.scores.judge == "openai:/gpt-4o-mini"
    assert [[one.id for one in s.contexts or ()] for s in first.samples] == [
        ["d1", "d2"],
        ["d3", "d4", "d5"],
        [],
        ["d6"],
    ]
