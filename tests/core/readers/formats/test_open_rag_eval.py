"""Tests of Open RAG Eval's answers and evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.formats.broken import check_broken, written

from ragboard import Passage, RunFileError, Score, Store, read_runs
from ragboard.analysis import sample_report

ROW = {"query_id": "q1", "query": "Which?", "query_run": "1", "passage_id": "[1]", "passage": "It is red."}
ANSWERS = [
    {**ROW, "generated_answer": "Red [1]."},
    {**ROW, "passage_id": "[2]", "passage": "It was new.", "generated_answer": None},
    {**ROW, "query_run": "2", "generated_answer": "Dark red [1]."},
    {**ROW, "query_id": "q2", "query": "Why?", "passage": None, "generated_answer": "NO_ANSWER"},
]
CLAIMS = [{"claim": "It is red", "verdict": "entailment"}, {"claim": "It is old", "verdict": "contradiction"}]
EVALUATED: dict[str, Any] = {
    "query_id": "q1",
    "query": "Which?",
    "run_1_retrieved_passages": {"[1]": "It is red.", "[2]": "It was new."},
    "run_1_generated_answer": [{"text": "Red", "citations": ["[1]"]}, {"text": ", and old", "citations": []}],
    "run_1_retrieval_score_umbrela_scores": {"[1]": 3, "[2]": 0},
    "run_1_retrieval_score_precision_metrics": {"precision@": {"1": 1.0}, "MRR": 0.5},
    "run_1_generation_score_autonugget_scores": {
        "nuggetizer_scores": {"All": 0.5},
        "nuggets": ["red"],
        "labels": ["vital"],
        "assignments": ["partial_support"],
        "assignment_scores": [0.5],
    },
    "run_1_generation_score_citation_scores": {"citation_score_[1]": 1.0, "weighted_precision": 0.75, "f1": 0.8},
    "run_1_generation_score_citation_f1_score": 0.8,
    "run_1_generation_score_precision_verdicts": CLAIMS,
    "run_1_generation_score_expected_answer": "Red",
    "run_1_generation_score_no_answer_score": {"query_answered": "yes"},
    "run_1_generation_score_token_usage": {"total_tokens": 3},
    "run_1_total_tokens": 3,
}
TWO_RUNS = {**EVALUATED, "run_2_generated_answer": [{"text": "Blue", "citations": []}]}


def test_rows_of_one_query_are_one_sample_of_its_run(tmp_path: Path) -> None:
    result = read_runs(written(tmp_path / "a.csv", ANSWERS))
    first, second = result.runs
    assert (first.name, first.config, second.config) == ("run_1", {"query_run": "1"}, {"query_run": "2"})
    sample, unanswered = first.samples
    assert (sample.id, sample.answer) == ("q1", "Red [1].")
    assert sample.contexts == (
        Passage(id="[1]", text="It is red.", rank=1),
        Passage(id="[2]", text="It was new.", rank=2),
    )
    assert (unanswered.answer, unanswered.contexts) == (None, None)
    assert second.samples[0].answer == "Dark red [1]."
    assert "4 rows, one for each passage, read as 3 samples" in result.report.notes


QUERIES = "query_id,query,expected_answer\nq1,Which?,Red\nq2,Why?,\nq9,Where?,Here\n"


def test_references_come_from_the_queries_file_next_to_the_answers_or_above_results(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for place in (tmp_path, tmp_path / "results"):
        (place / "queries.csv").write_text(QUERIES, encoding="utf-8")
        result = read_runs(written(tmp_path / "results" / "answers.csv", ANSWERS))
        assert [sample.reference for run in result.runs for sample in run.samples] == ["Red", None, "Red"]
        assert "references are from queries.csv, matched by query_id" in result.report.notes
        (place / "queries.csv").unlink()


def test_queries_that_ask_something_else_give_no_references(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text(QUERIES.replace("Why?", "How?"), encoding="utf-8")
    result = read_runs(written(tmp_path / "answers.csv", ANSWERS))
    assert {sample.reference for run in result.runs for sample in run.samples} == {None}
    assert "queries.csv is ignored: it has other queries with the same query_id" in result.report.notes
    (tmp_path / "queries.csv").write_bytes(b"query_id,query,expected_answer\nq1,Which?,R\xf6t\n")
    with pytest.raises(RunFileError, match=r"queries\.csv:2: byte 0xf6 is not utf-8"):
        read_runs(written(tmp_path / "answers.csv", ANSWERS))


def test_two_answers_to_one_query_of_one_run_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r":3: generated_answer: column 'generated_answer' has several values"):
        read_runs(written(tmp_path / "a.csv", [ANSWERS[0], {**ANSWERS[1], "generated_answer": "Blue"}]))


def test_an_evaluation_has_its_scores_nuggets_and_verdicts(tmp_path: Path) -> None:
    (run,) = read_runs(written(tmp_path / "e.csv", [EVALUATED])).runs
    (sample,) = run.samples
    assert (sample.answer, sample.reference) == ("Red, and old", "Red")
    assert [passage.id for passage in sample.contexts or ()] == ["[1]", "[2]"]
    assert sample.metadata == {"citations": EVALUATED["run_1_generated_answer"]}
    assert run.scores is not None
    assert {name: outcome.value for name, outcome in run.scores.outcomes[0].items() if isinstance(outcome, Score)} == {
        "open-rag-eval-file.citation_f1_score": 0.8,
        "open-rag-eval-file.precision_1": 1.0,
        "open-rag-eval-file.mrr": 0.5,
        "open-rag-eval-file.nuggets_all": 0.5,
        "open-rag-eval-file.citation_weighted_precision": 0.75,
    }
    said = {(one.about, one.number): (one.says, one.value, one.reason) for one in run.scores.recorded[0].judgements}
    assert said == {
        ("UMBRELA relevance of passage (0-3)", 1): ("3", 3.0, ""),
        ("UMBRELA relevance of passage (0-3)", 2): ("0", 0.0, ""),
        ("passage supports the text that cites it", 1): ("1", 1.0, ""),
        ("nugget in the answer", 1): ("partial_support", 0.5, "vital: red"),
        ("answer claim, checked against the reference", 1): ("entailment", None, "It is red"),
        ("answer claim, checked against the reference", 2): ("contradiction", None, "It is old"),
        ("query answered", 1): ("yes", None, ""),
    }


def test_the_columns_of_each_run_are_a_run(tmp_path: Path) -> None:
    runs = read_runs(written(tmp_path / "e.csv", [TWO_RUNS])).runs
    assert [(run.name, run.samples[0].answer) for run in runs] == [("run_1", "Red, and old"), ("run_2", "Blue")]
    assert runs[1].config == {"query_run": "2"}


def test_nuggets_and_verdicts_are_shown_with_the_sample(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.add_runs(read_runs(written(tmp_path / "e.csv", [EVALUATED])).runs)
    report = sample_report(store, store.resolve("e@Open RAG Eval (file)"), "q1")
    assert ("nugget in the answer", "partial_support") in [(one.about, one.says) for one in report.judgements]


def test_a_cell_that_is_no_json_is_rejected_with_its_column(tmp_path: Path) -> None:
    cut = {**EVALUATED, "run_1_generated_answer": '[{"text": "Red'}
    with pytest.raises(RunFileError, match=r"e\.csv:2: run_1_generated_answer: not JSON"):
        read_runs(written(tmp_path / "e.csv", [cut]))


@pytest.mark.parametrize(("name", "value"), [("a.csv", ANSWERS), ("e.csv", [EVALUATED]), ("e.jsonl", [TWO_RUNS])])
def test_a_file_with_a_part_missing_or_wrong_is_read_or_refused(tmp_path: Path, name: str, value: Any) -> None:
    check_broken(tmp_path / name, value)


def test_real_files_have_what_a_careful_reader_finds(data: Path) -> None:
    folder = data / "tools" / "openrageval"
    runs = {path.stem: read_runs(path).runs[0] for path in folder.glob("*.csv")}
    assert [sample.id for sample in runs["answers"].samples] == ["q1", "q2", "q3", "q4"]
    assert runs["answers"].samples[2].answer is None
    assert [sample.reference for sample in runs["answers"].samples] == [
        "It opened in July 2000.",
        "Ada Moreno",
        "40 million",
        "Four",
    ]
    for name in ("eval_trec", "eval_golden"):
        assert [sample.answer for sample in runs[name].samples] == [
            "The Harrow Bridge opened in July 2000. It is made of steel",
            "Ada Moreno designed the bridge in 1990",
            "There are four lanes",
        ]
    assert [sample.reference for sample in runs["queries"].samples][1] == "Ada Moreno"
    assert runs["eval_golden"].samples[1].reference == "Ada Moreno"
    assert runs["eval_trec"].scores is not None
    assert len(runs["eval_trec"].scores.recorded[1].judgements) == 6
