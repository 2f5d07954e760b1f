"""Tests of Phoenix: spans, experiments, evaluations, and tables of its helpers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import check_broken_at_random

from ragboard import Passage, Run, RunFileError, Turn, read_runs
from ragboard.records import Score, Unscored

QUESTION, ANSWER = "When did the mill close?", "In 1931."
DOCUMENTS = [
    {"document.id": "p0", "document.content": "The mill closed in 1931.", "document.score": 0.5},
    {"document.id": "p1", "document.content": 'It made flour, "and\nfeed".', "document.metadata": {"page": 2}},
]
PASSAGES = (
    Passage(id="p0", text="The mill closed in 1931.", rank=1, score=0.5),
    Passage(id="p1", text='It made flour, "and\nfeed".', rank=2),
)


def one_run(path: Path) -> Run:
    (run,) = read_runs(path).runs
    return run


def row(trace: str, span: str, parent: str | None, kind: str, minute: int, **attributes: Any) -> dict[str, Any]:
    """A row of the dataframe of spans; in names of attributes `__` stands for a full stop."""
    return {
        "name": span,
        "span_kind": kind,
        "parent_id": parent,
        "start_time": f"2026-05-01 10:{minute:02}:00.000001+00:00",
        "end_time": f"2026-05-01 10:{minute:02}:01.500001+00:00",
        "status_code": "OK",
        "status_message": "",
        "context.span_id": span,
        "context.trace_id": trace,
        **{f"attributes.{name.replace('__', '.')}": cell for name, cell in attributes.items()},
    }


def rows() -> list[dict[str, Any]]:
    """Two turns of a session, the newest first as Phoenix lists them; the second retrieved nothing."""
    return [
        row(
            "t2", "d", None, "CHAIN", 2, input__value="And what did it make?", output__value="No idea.", session__id="s"
        ),
        row("t2", "e", "d", "RETRIEVER", 2, input__value="And what did it make?"),
        row(
            "t1",
            "c",
            "a",
            "LLM",
            1,
            output__value=ANSWER,
            llm__model_name="small",
            llm__invocation_parameters='{"temperature": 0}',
            llm__token_count__prompt=30.0,
            llm__input_messages=[{"message.role": "user", "message.content": "PROMPT"}],
        ),
        row("t1", "b", "a", "RETRIEVER", 1, input__value=QUESTION, retrieval__documents=DOCUMENTS),
        row(
            "t1",
            "a",
            None,
            "CHAIN",
            1,
            input__value=json.dumps({"question": QUESTION}),
            input__mime_type="application/json",
            output__value=ANSWER,
            session__id="s",
            user__id="kim@example.org",
        ),
    ]


def rest() -> dict[str, Any]:
    """The same spans as the API has them: flat attributes."""
    data: list[dict[str, Any]] = []
    for one in rows():
        attributes: dict[str, Any] = {}
        for name, cell in one.items():
            if name == "attributes.retrieval.documents":
                for place, document in enumerate(cell):
                    attributes |= {f"retrieval.documents.{place}.{key}": part for key, part in document.items()}
            elif name.startswith("attributes.") and not isinstance(cell, list):
                attributes[name.removeprefix("attributes.")] = cell
        context = {"trace_id": one["context.trace_id"], "span_id": one["context.span_id"]}
        kept = {name: one[name] for name in ("name", "span_kind", "parent_id", "start_time", "end_time", "status_code")}
        data.append({**kept, "context": context, "attributes": attributes})
    return {"data": data, "next_cursor": None}


@pytest.mark.parametrize("kind", ["json", "csv", "parquet", "rest", "client"])
def test_a_trace_is_a_sample_in_every_form_of_the_spans(write: Write, tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame(rows())
    if kind == "parquet":
        path = tmp_path / "spans.parquet"
        frame.to_parquet(path)
    elif kind == "csv":
        path = write("spans.csv", frame.to_csv(index=False))
    else:
        texts = {"rest": json.dumps(rest()), "client": json.dumps(rest()["data"])}
        path = write("spans.json", texts.get(kind) or json.dumps(frame.to_dict("records")))
    result = read_runs(path)
    (run,) = result.runs
    first, second = run.samples
    assert (run.config["model"], run.config["temperature"]) == ("small", 0)
    assert (first.id, first.question, first.answer, first.contexts) == ("t1", QUESTION, ANSWER, PASSAGES)
    assert (second.question, second.answer, second.contexts) == ("And what did it make?", "No idea.", ())
    assert second.history == (Turn(role="user", text=QUESTION), Turn(role="assistant", text=ANSWER))
    assert first.metadata == {"session_id": "s", "latency_ms": 1500.0, "prompt_tokens": 30}
    assert [str(sample.time) for sample in run.samples] == [f"2026-05-01 10:0{minute}:00.000001" for minute in (1, 2)]
    assert "kim" not in repr(result)


def test_spans_as_otlp_from_the_api_have_every_member_of_a_value(write: Write) -> None:
    empty = dict.fromkeys(("string_value", "int_value", "bool_value", "double_value", "array_value", "kvlist_value"))
    attributes = {"openinference.span.kind": "CHAIN", "input.value": QUESTION, "output.value": ANSWER}
    span = {
        "trace_id": "0" * 31 + "1",
        "span_id": "0" * 15 + "1",
        "parent_span_id": None,
        "start_time_unix_nano": 1_790_000_000_000_000_000,
        "attributes": [{"key": key, "value": {**empty, "string_value": text}} for key, text in attributes.items()],
    }
    (sample,) = one_run(write("spans.json", json.dumps({"data": [span]}))).samples
    assert (sample.question, sample.answer) == (QUESTION, ANSWER)


EXPERIMENT: list[dict[str, Any]] = [
    {
        "example_id": "e1",
        "repetition_number": 1,
        "input": {"question": QUESTION},
        "reference_output": {"answer": "1931", "contexts": ["The mill closed in 1931."]},
        "output": {"answer": ANSWER, "documents": [{"id": "p0", "content": "The mill closed in 1931.", "score": 0.5}]},
        "error": None,
        "latency_ms": 2.5,
        "trace_id": "t1",
        "annotations": [
            {
                "name": "exact",
                "annotator_kind": "CODE",
                "label": None,
                "score": 0.0,
                "explanation": None,
                "error": None,
            },
            {
                "name": "tone",
                "annotator_kind": "LLM",
                "label": "calm",
                "score": None,
                "explanation": "It is.",
                "error": None,
            },
            {"name": "broken", "annotator_kind": "LLM", "label": None, "score": None, "error": "no reply"},
            {"name": "thumbs", "annotator_kind": "HUMAN", "label": "up", "score": 1.0, "explanation": "Good."},
        ],
    },
    {
        "example_id": "e1",
        "repetition_number": 2,
        "input": {"question": QUESTION},
        "reference_output": {"answer": "1931"},
        "output": "It burnt.",
        "error": None,
        "annotations": [],
    },
]


def as_csv() -> str:
    """The experiment as Phoenix writes its CSV: objects as JSON, five columns for each annotation."""
    rows: list[dict[str, Any]] = []
    for one in EXPERIMENT:
        cells = {name: json.dumps(cell) if isinstance(cell, dict) else cell for name, cell in one.items()}
        for said in cells.pop("annotations"):
            cells |= {f"annotation_{said['name']}_{key}": cell for key, cell in said.items() if key != "name"}
        rows.append(cells)
    return pd.DataFrame(rows).to_csv(index=False)


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_an_experiment_has_answers_references_and_annotations(write: Write, kind: str) -> None:
    result = read_runs(write(f"experiment.{kind}", as_csv() if kind == "csv" else json.dumps(EXPERIMENT)))
    (run,) = result.runs
    first, second = run.samples
    assert (first.id, first.question, first.answer, first.reference) == ("e1", QUESTION, ANSWER, "1931")
    assert first.contexts == PASSAGES[:1]
    assert first.reference_contexts == ("The mill closed in 1931.",)
    assert (second.id, second.answer, second.contexts) == ("e1#2", "It burnt.", None)
    assert run.scores is not None
    scores = run.scores.outcomes[0]
    assert scores["phoenix-file.exact"] == Score(value=0.0, counted="as the file has it")
    assert scores["phoenix-file.broken"] == Unscored(reason="failed", detail="no reply")
    assert scores["phoenix-file.tone"] == Unscored(reason="skipped", detail="the file has 'calm', not a number")
    (said,) = run.scores.recorded[0].judgements
    assert (said.about, said.says, said.reason) == ("tone", "calm", "It is.")
    (person,) = cast("Any", first.metadata["human_feedback"])
    assert (person["name"], person["label"], person["comment"]) == ("thumbs", "up", "Good.")
    assert "phoenix-file.thumbs" not in scores


def test_evaluations_bring_scores_labels_and_the_judge(write: Write) -> None:
    said = {
        "name": "faithfulness",
        "score": 1.0,
        "label": "faithful",
        "explanation": "It says so.",
        "metadata": {"model": "big"},
        "kind": "llm",
        "direction": "maximize",
    }
    toxic = {"name": "toxicity", "score": 0.25, "direction": "minimize", "kind": "code"}
    fine, broken = {"status": "COMPLETED", "exceptions": []}, {"status": "FAILED", "exceptions": ["timeout", "again"]}
    rows = [
        {
            "input": QUESTION,
            "output": ANSWER,
            "context": "One.\n\nTwo.",
            "reference": "1931",
            "team": "a",
            "faithfulness_execution_details": fine,
            "faithfulness_score": said,
            "toxicity_execution_details": fine,
            "toxicity_score": toxic,
        },
        {
            "input": "Why?",
            "output": "So.",
            "context": None,
            "faithfulness_execution_details": broken,
            "faithfulness_score": None,
            "toxicity_execution_details": fine,
            "toxicity_score": toxic,
        },
    ]
    for name, text in (("a.json", json.dumps(rows)), ("a.csv", pd.DataFrame(rows).to_csv(index=False))):
        result = read_runs(write(name, text))
        (run,) = result.runs
        first, second = run.samples
        assert (first.reference, [one.text for one in first.contexts or ()]) == ("1931", ["One.\n\nTwo."])
        assert (second.contexts, first.metadata) == (None, {"team": "a"})
        assert run.scores is not None
        assert run.scores.judge == "big"
        assert run.scores.outcomes[1]["phoenix-file.faithfulness"] == Unscored(reason="failed", detail="timeout; again")
        assert {one.name: one.direction for one in run.scores.metrics} == {
            "faithfulness": "higher",
            "toxicity": "lower",
        }
        assert run.scores.recorded[0].judgements[0].reason == "It says so."
        assert any(note.startswith("the file has the passages") for note in result.report.notes)


def test_the_passages_that_phoenix_calls_reference_are_no_reference(write: Write) -> None:
    path = write("qa.csv", "context.span_id,input,output,reference,label\ns1,When?,In 2000.,It opened. It is red.,ok\n")
    result = read_runs(path)
    (sample,) = result.runs[0].samples
    assert sample.contexts == (Passage(id="1", text="It opened. It is red.", rank=1),)
    assert (sample.id, sample.reference, sample.metadata) == ("s1", None, {"label": "ok"})
    assert any(note.endswith("--map reference=reference") for note in result.report.notes)
    (sample,) = read_runs(path, mapping={"reference": "reference"}).runs[0].samples
    assert (sample.reference, sample.contexts) == ("It opened. It is red.", None)


def test_inputs_outputs_and_contexts_have_one_joined_passage(write: Write) -> None:
    cells = {"context.span_id": "a", "context.trace_id": "t", "input": QUESTION, "output": ANSWER, "metadata": None}
    result = read_runs(write("qa.csv", pd.DataFrame([{**cells, "context": "One.\n\n['Two']"}]).to_csv(index=False)))
    (sample,) = result.runs[0].samples
    assert (sample.id, sample.answer) == ("a", ANSWER)
    assert [one.text for one in sample.contexts or ()] == ["One.\n\n['Two']"]


def test_a_file_with_only_annotations_is_rejected_and_names_the_needed_file(write: Write) -> None:
    cells = {"span_id": "a", "annotation_name": "tone", "annotator_kind": "LLM", "result.score": 1.0}
    with pytest.raises(RunFileError, match=r"has annotations of Phoenix without their spans; import an experiment"):
        read_runs(write("annotations.csv", pd.DataFrame([cells]).to_csv(index=False)))


def test_half_broken_files_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    check_broken_at_random(tmp_path / "spans.json", rows())
    check_broken_at_random(tmp_path / "rest.json", rest())
    check_broken_at_random(tmp_path / "experiment.json", EXPERIMENT)


def test_the_real_spans_are_the_same_samples_in_every_form(data: Path) -> None:
    names = ("spans_dataframe.parquet", "spans_dataframe.json", "rest_spans.json")
    found = [one_run(data / "tools" / "phoenix" / name) for name in names]
    otel = one_run(data / "tools" / "otel" / "openinference.otlp.json")
    for run in found:
        assert run.config == {"model": "gpt-4o-mini", "temperature": 0}
        assert [(s.question, s.answer, s.history) for s in run.samples] == [
            (s.question, s.answer, s.history) for s in otel.samples
        ]
        for sample, other in zip(run.samples, otel.samples, strict=True):
            assert [(one.id, one.text) for one in sample.contexts or ()] == [
                (one.id, one.text) for one in other.contexts or ()
            ]
            assert [one.score for one in sample.contexts or ()] == pytest.approx(
                [one.score for one in other.contexts or ()]
            )


def test_the_real_experiment_and_evaluations_are_read(data: Path) -> None:
    experiment = one_run(data / "tools" / "phoenix" / "experiment.json")
    evaluated = one_run(data / "tools" / "phoenix" / "evals_dataframe.csv")
    assert [len(sample.contexts or ()) for sample in experiment.samples] == [2, 3, 0, 1]
    assert [(s.question, s.answer, s.reference) for s in experiment.samples] == [
        (s.question, s.answer, s.reference) for s in evaluated.samples
    ]
    assert evaluated.scores is not None
    assert evaluated.scores.judge == "gpt-4o-mini"
    assert [one.judgements[0].says for one in evaluated.scores.recorded] == ["faithful"] * 3 + ["unfaithful"]
