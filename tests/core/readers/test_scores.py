"""Tests of scores in result files of ragas and RAGChecker."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.readers.conftest import Write

from ragboard import Run, Score, Unscored, read_runs
from ragboard.readers.formats import format_of
from ragboard.readers.objects import read_samples

MISSING = Unscored(reason="skipped", detail="the file has no value")


def theirs(value: float) -> Score:
    return Score(value=value, counted="as the file has it")


def outcomes(run: Run) -> list[dict[str, Any]]:
    assert run.scores is not None
    return [dict(row) for row in run.scores.outcomes]


@pytest.mark.parametrize(
    ("columns", "metrics"),
    [
        (
            ("question", "contexts", "ground_truths", "faithfulness", "context_ recall"),
            ("faithfulness", "context_recall"),
        ),
        (("question", "contexts", "answer", "context_relavency"), ("context_relevancy",)),
        (("question", "contexts", "answer", "context_ relevancy"), ("context_relevancy",)),
        (("question", "contexts", "answer", "answer_relevancy", "harmfulness"), ("answer_relevancy", "harmfulness")),
        (("question", "contexts", "ground_truth", "answer_similarity"), ("answer_similarity",)),
        (
            ("user_input", "retrieved_contexts", "noise_sensitivity(mode=relevant)", "factual_correctness(mode=f1)"),
            ("noise_sensitivity(mode=relevant)", "factual_correctness(mode=f1)"),
        ),
        (
            ("user_input", "nv_context_relevance", "semantic_similarity"),
            ("nv_context_relevance", "semantic_similarity"),
        ),
    ],
)
def test_the_score_columns_of_every_ragas_are_known(
    write: Write, columns: tuple[str, ...], metrics: tuple[str, ...]
) -> None:
    row = {name: ["p"] if "context" in name and name.endswith("s") else "text" for name in columns}
    row |= dict.fromkeys(columns[-len(metrics) :], 0.25)
    result = read_runs(write("out.jsonl", json.dumps(row)))
    (run,) = result.runs
    assert outcomes(run) == [{f"ragas-file.{name}": theirs(0.25) for name in metrics}]
    assert run.scores is not None
    assert run.scores.tool == "ragas"
    assert run.samples[0].metadata == {}
    assert (
        f"scores by ragas, kept next to ragboard's scores: {', '.join(columns[-len(metrics) :])}" in result.report.notes
    )
    assert not any(note.startswith("kept as metadata") for note in result.report.notes)


def test_a_missing_score_says_so_and_is_never_zero(write: Write) -> None:
    rows = "user_input,response,faithfulness,latency\nA?,a,0.5,3\nB?,b,NaN,4\nC?,c,,5\nD?,d,0,6\nE?,e,inf,7\n"
    (run,) = read_runs(write("out.csv", rows)).runs
    found = [row["ragas-file.faithfulness"] for row in outcomes(run)]
    assert found == [theirs(0.5), MISSING, MISSING, theirs(0.0), MISSING]
    assert [sample.metadata for sample in run.samples] == [{"latency": number} for number in (3, 4, 5, 6, 7)]


@pytest.mark.parametrize("null", ["NaN", "null", '""', "Infinity"])
def test_every_way_to_write_no_score_is_none(write: Write, null: str) -> None:
    text = '{"user_input": "A?", "faithfulness": 1}\n{"user_input": "B?", "faithfulness": %s}\n{"user_input": "C?"}\n'
    (run,) = read_runs(write("out.jsonl", text % null)).runs
    assert [row["ragas-file.faithfulness"] for row in outcomes(run)] == [theirs(1.0), MISSING, MISSING]


@pytest.mark.parametrize(
    "row",
    [
        {"user_input": "A?", "faithfulness": "good"},
        {"user_input": "A?", "faithfulness": True},
        {"user_input": "A?", "faithfulness": 10**400},
        {"user_input": "A?", "quality": 0.5},
        {"user_input": "A?", "my_faithfulness": 0.5},
        {"user_input": "A?", "faithfulness(<b>\u202e)": 0.5},
        {"question": "A?", "contexts": ["p"], "answer": "a", "faithfulness": 0.5},
        {"query": "A?", "faithfulness": 0.5},
    ],
)
def test_what_is_no_score_of_a_known_tool_stays_metadata(write: Write, row: dict[str, Any]) -> None:
    (run,) = read_runs(write("out.jsonl", json.dumps(row))).runs
    assert run.scores is None
    (name, value) = list(row.items())[-1]
    assert run.samples[0].metadata == {name: value}


def test_a_file_of_our_own_has_no_scores_of_others(write: Write) -> None:
    text = '{"run": {"name": "mine"}}\n{"question": "A?", "contexts": [], "answer_relevancy": 0.5}\n'
    (run,) = read_runs(write("out.jsonl", text)).runs
    assert (run.scores, run.samples[0].metadata) == (None, {"answer_relevancy": 0.5})


def test_a_column_that_is_mapped_or_tells_runs_apart_is_no_score(write: Write) -> None:
    rows = [{"user_input": "A?", "faithfulness": k, "correctness": 1} for k in (1, 2)]
    path = write("out.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    first, second = read_runs(path, run_column="faithfulness").runs
    assert outcomes(first) == outcomes(second) == [{"ragas-file.correctness": theirs(1.0)}]
    (run,) = read_runs(path, mapping={"id": "faithfulness"}).runs
    assert [sample.id for sample in run.samples] == ["1", "2"]
    assert set(outcomes(run)[0]) == {"ragas-file.correctness"}


def item(number: int, metrics: Any) -> dict[str, Any]:
    return {
        "query_id": str(number),
        "query": "Q?",
        "retrieved_context": [],
        "response_claims": None,
        "metrics": metrics,
    }


@pytest.mark.parametrize("groups", [("overall", "generator"), ("overall_metrics", "generator_metrics")])
def test_ragcheckers_items_keep_their_metrics(write: Write, groups: tuple[str, str]) -> None:
    table = {groups[0]: {"precision": 50.0}, groups[1]: {"faithfulness": 90.0}}
    items = [item(1, {"precision": 0.75, "faithfulness": 0.5, "own": 3}), item(2, {"precision": 0.25}), item(3, None)]
    result = read_runs(write("out.json", json.dumps({"results": items, "metrics": table})))
    (run,) = result.runs
    assert outcomes(run) == [
        {"ragchecker-file.precision": theirs(0.75), "ragchecker-file.faithfulness": theirs(0.5)},
        {"ragchecker-file.precision": theirs(0.25), "ragchecker-file.faithfulness": MISSING},
        {"ragchecker-file.precision": MISSING, "ragchecker-file.faithfulness": MISSING},
    ]
    assert [sample.metadata.get("metrics") for sample in run.samples] == [{"own": 3}, None, None]
    assert "these means in the file differ from the means of its scores: faithfulness" in result.report.notes


def test_a_table_of_means_without_scores_of_samples_is_left_out_and_reported(write: Write) -> None:
    file = {"results": [item(1, None)], "metrics": {"overall": {"precision": 50.0}}}
    result = read_runs(write("out.json", json.dumps(file)))
    assert result.runs[0].scores is None
    assert "the means in the file were dropped, because it has no scores of samples" in result.report.notes


def test_rows_left_out_take_their_scores_with_them(write: Write) -> None:
    text = '{"user_input": "A?", "faithfulness": 1}\n{"user_input": "", "faithfulness": 0}\n'
    (run,) = read_runs(write("out.jsonl", text), skip_bad=True).runs
    assert (len(run.samples), outcomes(run)) == (1, [{"ragas-file.faithfulness": theirs(1.0)}])


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.just(""), min_size=1))
def test_as_many_scores_come_out_as_there_are_numbers(cells: list[Any]) -> None:
    rows = [{"faithfulness": cell} for cell in cells]
    ragas = format_of(["user_input"])
    assert ragas is not None
    found = ragas.scores(["faithfulness"], rows)
    assert found is not None
    values = [outcome.value for row in rows for outcome in found.outcomes(row).values() if isinstance(outcome, Score)]
    assert values == [cell for cell in cells if isinstance(cell, float)]
    assert all(found.without_scores(row) == {} for row in rows)


def test_a_frame_of_ragas_keeps_its_scores_too() -> None:
    frame = pd.DataFrame({"user_input": ["A?", "B?"], "faithfulness": [0.5, math.nan]})
    (run,) = read_samples(frame, name="frame").runs
    assert outcomes(run) == [{"ragas-file.faithfulness": theirs(0.5)}, {"ragas-file.faithfulness": MISSING}]


def test_results_as_ragas_prints_them_are_scores(write: Write) -> None:
    row = "Q,MetricResult(value=0.5),MetricResult(value=pass),0.5)\n"
    path = write("e.csv", f"user_input,faithfulness,context_recall,answer_accuracy\n{row}")
    (run,) = read_runs(path).runs
    assert outcomes(run) == [{"ragas-file.faithfulness": theirs(0.5)}]
    assert run.samples[0].metadata == {"context_recall": "MetricResult(value=pass)", "answer_accuracy": "0.5)"}
