"""Tests of claims and verdicts in RAGChecker files: read completely, or rejected with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.core.readers.conftest import Write

from ragboard import Passage, RunFileError, Sample, read_runs
from ragboard.readers.formats.ragchecker import UnusableError, read_file_verdicts

WHOLE: dict[str, Any] = {
    "response_claims": [["Nile", "is", "long"], "The Amazon is wet."],
    "gt_answer_claims": [["Nile", "length", "6,650 km"]],
    "answer2response": ["Entailment", "Neutral"],
    "response2answer": ["Contradiction"],
    "retrieved2response": [["Entailment", "Neutral"], ["Neutral", "Contradiction"]],
    "retrieved2answer": [["Neutral", "Entailment"]],
}
PASSAGES = (Passage(id="a", text="One.", rank=1), Passage(id="b", text="Two.", rank=2))


def sample(**changes: Any) -> Sample:
    metadata = {key: value for key, value in (WHOLE | changes).items() if value is not None}
    return Sample(id="s", question="q?", contexts=PASSAGES, metadata=metadata)


def labels(found: Any) -> list[list[str]]:
    return [[verdict.label for verdict in row] for row in found]


def test_claims_are_texts_or_triplets_and_labels_become_ours() -> None:
    found = read_file_verdicts(sample())
    assert found.claims == {
        "response": ("Nile is long", "The Amazon is wet."),
        "reference": ("Nile length 6,650 km",),
    }
    assert {key: labels(rows) for key, rows in found.verdicts.items()} == {
        ("response", "reference"): [["supported"], ["unsupported"]],
        ("reference", "response"): [["contradicted"]],
        ("response", "passages"): [["supported", "unsupported"], ["unsupported", "contradicted"]],
        ("reference", "passages"): [["unsupported", "supported"]],
    }
    assert found.verdicts["response", "reference"][0][0].reason == "The run file says Entailment."


def test_what_is_missing_or_null_is_not_there() -> None:
    found = read_file_verdicts(sample(retrieved2answer=None, response2answer=None, gt_answer_claims=None))
    assert set(found.claims) == {"response"}
    assert set(found.verdicts) == {("response", "reference"), ("response", "passages")}
    assert not read_file_verdicts(Sample(id="s", question="q?")).claims


def test_no_claims_and_no_passages_are_empty_tables() -> None:
    found = read_file_verdicts(sample(response_claims=[], answer2response=[], retrieved2response=[]))
    assert found.claims["response"] == ()
    assert found.verdicts["response", "passages"] == ()
    nothing = Sample(
        id="s", question="q?", contexts=(), metadata={"response_claims": ["a"], "retrieved2response": [[]]}
    )
    assert read_file_verdicts(nothing).verdicts["response", "passages"] == ((),)


UNUSABLE = [
    ({"answer2response": ["Entailment"]}, "answer2response", "1 verdicts for 2 claims"),
    ({"retrieved2response": [["Entailment", "Neutral"]]}, "retrieved2response", "1 verdicts for 2 claims"),
    ({"retrieved2answer": [["Neutral"]]}, "retrieved2answer", "claim 1: 1 verdicts for 2 passages"),
    ({"response2answer": ["entailed"]}, "response2answer", "claim 1: got 'entailed', expected one of Entailment"),
    ({"response2answer": [True]}, "response2answer", "claim 1: got 'True'"),
    ({"retrieved2answer": [["Neutral", None]]}, "retrieved2answer", "claim 1: got 'None'"),
    ({"retrieved2answer": ["Neutral"]}, "retrieved2answer", "is not a list of labels"),
    ({"response_claims": "Nile is long"}, "response_claims", "is not a list of claims"),
    ({"response_claims": ["a", 3]}, "response_claims", "claim 2 is not a text or a list of texts"),
    ({"response_claims": [["a", 3], "b"]}, "response_claims", "claim 1 is not a text or a list of texts"),
    ({"response_claims": ["a", []]}, "response_claims", "claim 2 is empty"),
    ({"response_claims": None}, "answer2response", "has verdicts, but the sample has no response_claims"),
]


@pytest.mark.parametrize(("changes", "column", "message"), UNUSABLE)
def test_what_does_not_fit_together_is_reported(changes: dict[str, Any], column: str, message: str) -> None:
    with pytest.raises(UnusableError) as caught:
        read_file_verdicts(sample(**changes))
    assert caught.value.column == column
    assert message in str(caught.value)


def item(**changes: Any) -> dict[str, Any]:
    contexts = [{"doc_id": "a", "text": "One."}, {"doc_id": "b", "text": "Two."}]
    return {"query_id": "1", "query": "q?", "gt_answer": "g", "response": "r", "retrieved_context": contexts} | (
        WHOLE | changes
    )


def test_a_file_with_them_is_read_and_keeps_them(write: Write) -> None:
    (run,) = read_runs(write("out.json", json.dumps({"results": [item()]}))).runs
    assert run.samples[0].metadata["retrieved2response"] == WHOLE["retrieved2response"]


@pytest.mark.parametrize(("changes", "column", "message"), UNUSABLE)
def test_a_file_with_unfitting_ones_is_rejected_at_its_line(
    write: Write, changes: dict[str, Any], column: str, message: str
) -> None:
    path = write("out.json", '{"results": [\n' + json.dumps(item()) + ",\n" + json.dumps(item(**changes)) + "\n]}")
    with pytest.raises(RunFileError, match=rf"out\.json:3: results\[1\]\.{column}: ") as caught:
        read_runs(path)
    assert message in str(caught.value)
    assert len(read_runs(path, skip_bad=True).runs[0].samples) == 1
