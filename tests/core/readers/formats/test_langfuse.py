"""Tests of Langfuse: requests of its SDK, observations, and experiments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.conftest import Write
from tests.core.readers.formats.broken import check_broken_at_random
from tests.core.readers.formats.traces import request, span

from ragboard import Passage, Run, RunFileError, Turn, read_runs
from ragboard.records import Score, Unscored

QUESTION, ANSWER = "When did the mill close?", "In 1931."
DOCUMENTS = [
    {"page_content": "The mill closed in 1931.", "metadata": {"score": 0.5, "page": 3}, "id": "p0"},
    {"page_content": 'It made flour, "and\nfeed".', "metadata": {"chunk_id": "p1"}},
]
PASSAGES = (
    Passage(id="p0", text="The mill closed in 1931.", rank=1, score=0.5),
    Passage(id="p1", text='It made flour, "and\nfeed".', rank=2),
)


def one_run(path: Path) -> Run:
    (run,) = read_runs(path).runs
    return run


def observation(trace: str, span: str, parent: str | None, kind: str, minute: int, **of: Any) -> dict[str, Any]:
    return {
        "id": span,
        "traceId": trace,
        "parentObservationId": parent,
        "isRootObservation": parent is None,
        "type": kind,
        "startTime": f"2026-05-01T10:{minute:02}:00Z",
        "endTime": f"2026-05-01T10:{minute:02}:02Z",
        "sessionId": "s",
        "userId": "kim@example.org",
        "level": "DEFAULT",
        "input": None,
        "output": None,
        **of,
    }


OBSERVATIONS = [
    observation("t2", "d", None, "AGENT", 2, input='{"args": [], "kwargs": {"question": "Why?"}}'),
    observation("t2", "e", "d", "RETRIEVER", 2, input='"Why?"', output="[]"),
    observation("t2", "f", "d", "GENERATION", 2, output='{"role": "assistant", "content": "No idea."}'),
    observation("t1", "a", None, "CHAIN", 1, input=json.dumps({"query": QUESTION}), output=json.dumps(ANSWER)),
    observation("t1", "b", "a", "RETRIEVER", 1, input=json.dumps(QUESTION), output=json.dumps(DOCUMENTS)),
    observation(
        "t1",
        "c",
        "a",
        "GENERATION",
        1,
        input='[{"role": "user", "content": "PROMPT"}]',
        output=json.dumps(ANSWER),
        model="small",
        modelParameters={"temperature": 0},
        usageDetails={"input": 30, "output": 4, "total": 34},
    ),
]


def as_blob() -> str:
    """The blob export: snake case, `input` and `output` always a text, a line each."""
    lines: list[str] = []
    for one in OBSERVATIONS:
        snake = {re.sub(r"(?=[A-Z])", "_", key).lower(): "" if cell is None else cell for key, cell in one.items()}
        snake["provided_model_name"] = snake.pop("model", "")
        del snake["is_root_observation"]
        lines.append(json.dumps(snake))
    return "\n".join(lines)


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_a_trace_of_observations_is_a_sample(write: Write, kind: str) -> None:
    text = as_blob() if kind == "jsonl" else json.dumps({"data": OBSERVATIONS, "meta": {}})
    result = read_runs(write(f"observations.{kind}", text))
    (run,) = result.runs
    first, second = run.samples
    assert run.config == {"model": "small", "temperature": 0}
    assert (first.id, first.question, first.answer, first.contexts) == ("t1", QUESTION, ANSWER, PASSAGES)
    assert (second.question, second.answer, second.contexts) == ("Why?", "No idea.", ())
    assert second.history == (Turn(role="user", text=QUESTION), Turn(role="assistant", text=ANSWER))
    assert [str(sample.time) for sample in run.samples] == ["2026-05-01 10:01:00", "2026-05-01 10:02:00"]
    assert first.metadata == {"session_id": "s", "latency_ms": 2000.0, "prompt_tokens": 30, "completion_tokens": 4}
    assert "kim" not in repr(result)
    assert result.report.format.startswith("Langfuse observations")


def test_what_the_sdk_posts_is_read_with_its_version(write: Write) -> None:
    def step(number: int, parent: int, kind: str, **of: str) -> dict[str, Any]:
        named = {f"langfuse.observation.{key.replace('__', '.')}": cell for key, cell in of.items()}
        named |= {} if parent else {"langfuse.experiment.item.expected_output": '"1931"'}
        return span(1, number, parent, at=number, **{"langfuse.observation.type": kind, "session.id": "s"}, **named)

    given = request(
        step(1, 0, "span", input=QUESTION, output=ANSWER),
        step(2, 1, "retriever", input=QUESTION, output=json.dumps(DOCUMENTS)),
        step(3, 1, "generation", output=ANSWER, model__name="small", usage_details='{"input": 30, "output": 4}'),
        scope="langfuse-sdk",
    )
    result = read_runs(write("spans.json", json.dumps(given)))
    (sample,) = result.runs[0].samples
    assert result.report.format == "Langfuse SDK traces 1.2 (JSON)"
    assert (sample.question, sample.answer, sample.contexts) == (QUESTION, ANSWER, PASSAGES)
    assert (sample.reference, sample.metadata["prompt_tokens"]) == ("1931", 30)


def test_results_of_an_experiment_have_references_and_evaluations(write: Write) -> None:
    row = {
        "item": {"id": "i1", "input": {"question": QUESTION}, "expected_output": "1931"},
        "output": {"answer": ANSWER, "contexts": ["The mill closed in 1931."]},
        "evaluations": [
            {"name": "exact", "value": False, "comment": "Not the same."},
            {"name": "tone", "value": 1, "string_value": "calm", "data_type": "CATEGORICAL"},
        ],
        "trace_id": "t1",
    }
    run = one_run(write("experiment.jsonl", json.dumps(row)))
    (sample,) = run.samples
    assert (sample.id, sample.question, sample.answer, sample.reference) == ("i1", QUESTION, ANSWER, "1931")
    assert [one.text for one in sample.contexts or ()] == ["The mill closed in 1931."]
    assert run.scores is not None
    assert run.scores.outcomes[0] == {
        "langfuse-file.exact": Score(value=0.0, counted="no"),
        "langfuse-file.tone": Unscored(reason="skipped", detail="the file has 'calm', not a number"),
    }
    items = {
        "data": [
            {
                "experimentItemId": "i1",
                "experimentName": "march",
                "input": QUESTION,
                "output": ANSWER,
                "expectedOutput": "1931",
                "scores": [{"name": "exact", "value": 0.5}, {"name": "thumbs", "value": 1, "source": "ANNOTATION"}],
            }
        ]
    }
    run = one_run(write("items.json", json.dumps(items)))
    assert (run.name, run.samples[0].id, run.samples[0].reference) == ("march", "i1", "1931")
    assert run.samples[0].metadata == {"human_feedback": [{"name": "thumbs", "value": 1}]}
    assert run.scores is not None
    assert list(run.scores.columns.values()) == ["exact"]


def test_a_file_with_only_scores_is_rejected_and_names_the_needed_file(write: Write) -> None:
    row = {"trace_id": "t", "name": "tone", "value": 1.0, "data_type": "NUMERIC", "source": "EVAL", "comment": None}
    with pytest.raises(RunFileError, match=r"has scores of Langfuse without the answers; import the observations"):
        read_runs(write("scores.jsonl", json.dumps(row)))


def test_half_broken_observations_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    check_broken_at_random(tmp_path / "observations.json", {"data": OBSERVATIONS})
    check_broken_at_random(tmp_path / "observations.jsonl", [json.loads(line) for line in as_blob().splitlines()])


def test_the_real_observations_are_the_samples_of_the_spans(data: Path) -> None:
    folder = data / "tools" / "langfuse"
    spans = one_run(folder / "sdk_spans.otlp.json")
    for name in ("api_observations_v2.json", "blob_observations_v2.jsonl"):
        run = one_run(folder / name)
        assert run.config == spans.config
        assert [(s.question, s.answer, s.contexts, s.history) for s in run.samples] == [
            (s.question, s.answer, s.contexts, s.history) for s in spans.samples
        ]
    assert [[one.id for one in s.contexts or ()] for s in spans.samples] == [
        ["d1", "d2"],
        ["d3", "d4", "d5"],
        [],
        ["d6"],
    ]
    with pytest.raises(RunFileError, match="import the observations of the same traces"):
        read_runs(folder / "blob_scores.jsonl")
