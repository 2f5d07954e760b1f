"""Tests of Haystack's reports, evaluator results and pipeline outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.core.readers.formats.broken import check_broken, written

from ragboard import Passage, RunFileError, Score, Store, Unscored, read_runs
from ragboard.analysis import sample_report

INPUTS = {
    "questions": ["Who painted it?", "When?"],
    "contexts": [["Painted by Ines.", "Oil on wood."], []],
    "predicted_answers": ["Ines. It is oil.", "No idea."],
    "ground_truth_answers": ["Ines", "1888"],
    "topic": ["art", "time"],
}
EVALUATION: dict[str, Any] = {
    "inputs": INPUTS,
    "results": {
        "faithful": {
            "results": [
                {
                    "statements": ["Ines.", "It is oil."],
                    "statement_scores": [1, 0],
                    "status": "evaluated",
                    "score": 0.5,
                },
                {"statements": [], "statement_scores": [], "status": "error", "score": None},
            ],
            "meta": [{"model": "some-model"}, {"model": "some-model"}],
            "individual_scores": [0.5, None],
            "score": 0.5,
        },
        "relevance": {
            "results": [{"relevant_statements": ["Painted by Ines."], "score": 1}, {"relevant_statements": []}],
            "individual_scores": [1, 0],
        },
    },
}
PIPELINE = [
    {
        "retriever": {"documents": [{"id": "a", "content": "A.", "score": 0.9}, {"id": "b", "content": "B."}]},
        "ranker": {"documents": [{"id": "b", "content": "B.", "score": 0.7, "page": 2}]},
        "builder": {
            "answers": [
                {
                    "data": "B it is.",
                    "query": "Which?",
                    "documents": [{"id": "b", "content": "B.", "meta": {"page": 2}, "score": 0.7}],
                    "meta": {"model": "m", "all_messages": [{"role": "assistant"}]},
                }
            ]
        },
    },
    {"builder": {"answers": [{"data": "Nothing.", "query": "What?", "documents": [], "meta": {}}]}},
]


def test_statements_and_relevant_sentences_of_the_evaluators_are_kept(tmp_path: Path) -> None:
    result = read_runs(written(tmp_path / "e.json", EVALUATION))
    (run,) = result.runs
    first, second = run.samples
    assert (first.question, first.answer, first.reference) == ("Who painted it?", "Ines. It is oil.", "Ines")
    assert (second.contexts, second.metadata) == ((), {"topic": "time"})
    assert run.scores is not None
    assert run.scores.judge == "some-model"
    assert run.scores.outcomes[0]["haystack-file.faithful"] == Score(value=0.5, counted="1 of 2 statements")
    assert run.scores.outcomes[1]["haystack-file.faithful"] == Unscored(
        reason="failed", detail="Haystack's evaluator: error"
    )
    assert run.scores.equivalent_metrics == {"haystack-file.faithful": "ragas.faithfulness"}
    recorded = run.scores.recorded[0]
    assert [(one.text, verdict and verdict.label) for one, verdict in recorded.statements] == [
        ("Ines.", "supported"),
        ("It is oil.", "unsupported"),
    ]
    assert [one.says for one in recorded.judgements] == ["Painted by Ines."]


def test_the_verdicts_are_shown_with_the_sample(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (added,) = store.add_runs(read_runs(written(tmp_path / "e.json", EVALUATION)).runs)
    (_, sample), _ = store.samples(added.id)
    report = sample_report(store, store.resolve("e@some-model (Haystack file)"), sample.id)
    assert [one.verdict.label for one in report.statements if one.verdict] == ["supported", "unsupported"]
    assert report.judged is not None


def test_results_of_evaluators_without_their_inputs_are_rejected(tmp_path: Path) -> None:
    for value in (EVALUATION["results"], EVALUATION["results"]["faithful"]):
        with pytest.raises(RunFileError, match="Haystack's evaluators without the questions and answers; save json"):
            read_runs(written(tmp_path / "e.json", value))


def test_lists_of_different_length_are_rejected_with_their_place(tmp_path: Path) -> None:
    short = {**EVALUATION, "inputs": {**INPUTS, "topic": ["art"]}}
    with pytest.raises(RunFileError, match=r"inputs\.topic: has 1 values, expected 2, one for each question$"):
        read_runs(written(tmp_path / "e.json", short))


def test_the_last_columns_of_a_report_are_its_scores(tmp_path: Path) -> None:
    report = {
        "question": ["Q"],
        "tokens": [12],
        "answer": ["gold"],
        "predicted_answer": ["A"],
        "source": ["s"],
        "doc_recall": [0.5],
        "match": [None],
    }
    (run,) = read_runs(written(tmp_path / "r.json", report)).runs
    assert run.scores is not None
    assert run.samples[0].metadata == {"tokens": 12, "source": "s"}
    assert list(run.scores.columns) == ["haystack-file.doc_recall", "haystack-file.match"]


def test_a_pipelines_passages_are_what_its_last_ranker_passed_on(tmp_path: Path) -> None:
    result = read_runs(written(tmp_path / "p.jsonl", PIPELINE))
    first, second = result.runs[0].samples
    assert (first.question, first.answer) == ("Which?", "B it is.")
    assert first.contexts == (Passage(id="b", text="B.", rank=1, score=0.7),)
    assert first.metadata == {"model": "m"}
    assert second.contexts is None, "no retriever ran as far as the file tells"


def test_replies_without_their_question_are_rejected(tmp_path: Path) -> None:
    rows = [{"llm": {"replies": ["A"], "meta": [{}]}, "retriever": {"documents": []}}]
    with pytest.raises(RunFileError, match="has no answer with its query; add an AnswerBuilder to the pipeline"):
        read_runs(written(tmp_path / "p.jsonl", rows))


@pytest.mark.parametrize(("name", "value"), [("e.json", EVALUATION), ("p.jsonl", PIPELINE), ("p.json", PIPELINE)])
def test_a_file_with_a_part_missing_or_wrong_is_read_or_refused(tmp_path: Path, name: str, value: Any) -> None:
    check_broken(tmp_path / name, value)


def test_real_files_have_what_a_careful_reader_finds(data: Path) -> None:
    folder = data / "tools" / "haystack"
    runs = {path.stem: read_runs(path).runs[0] for path in folder.glob("*.json*")}
    questions = {tuple(sample.question for sample in run.samples) for run in runs.values()}
    assert len(questions) == 1
    assert {tuple(sample.answer for sample in run.samples) for run in runs.values()} == {
        tuple(sample.answer for sample in runs["evaluator_results"].samples)
    }
    assert runs["pipeline_outputs"].samples[1].contexts is not None
    assert [passage.id for passage in runs["pipeline_outputs"].samples[1].contexts] == ["d3", "d4", "d5"]
    assert runs["pipeline_outputs"].samples[2].contexts == ()
    scores = runs["evaluator_results"].scores
    assert scores is not None
    assert scores.judge == "gpt-4o-mini"
    assert [len(one.statements) for one in scores.recorded] == [2, 1, 1, 1]
    assert scores.equivalent_metrics == {"haystack-file.faithfulness": "ragas.faithfulness"}
