"""Tests of the sample data: its scripts reproduce it, ragboard reads it, and labels match the texts."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ragboard import read_runs, sample_runs
from ragboard.readers.ares import read_ares
from ragboard.sample_files import sample_folder

SAMPLE = Path(__file__).parents[1] / "sample_data"
TABLES = sorted([*(SAMPLE / "runs").glob("*.jsonl"), *(SAMPLE / "questions").glob("*.jsonl")])
LABELS = sorted((SAMPLE / "labels").glob("*.jsonl"))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("script", ["retrieve.py", "labels.py", "verdicts.py"])
def test_what_is_on_disk_is_what_the_script_writes(python: str, script: str) -> None:
    assert subprocess.run([python, str(SAMPLE / script), "--check"], check=False).returncode == 0


@pytest.mark.parametrize("script", ["retrieve.py", "labels.py", "verdicts.py"])
def test_a_changed_answer_is_noticed(python: str, script: str, tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(SAMPLE, tmp_path / "sample_data")
    for path in (copy / "runs").glob("*.jsonl"):
        path.write_text(path.read_text(encoding="utf-8").replace("the", "teh"), encoding="utf-8", newline="\n")
    assert subprocess.run([python, str(copy / script), "--check"], check=False).returncode != 0


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_table_loads_without_a_complaint(path: Path) -> None:
    report = read_runs(path).report
    assert (report.dropped, report.coerced, report.duplicated) == ((), (), ())


@pytest.mark.parametrize("path", LABELS, ids=lambda path: path.stem)
def test_every_label_file_loads_by_naming_its_columns(path: Path) -> None:
    mapping = {"pairs": {"answer": "a"}, "wikieval": {"answer": "grounded_answer", "contexts": "context_v1"}}
    result = read_runs(path, mapping=mapping.get(path.stem, {}), skip_bad=path.stem == "pairs")
    bad = len(result.report.dropped)
    assert bad == (sum(isinstance(row["a"], list) for row in rows(path)) if path.stem == "pairs" else 0)


def test_the_two_runs_answer_the_same_sixty_questions() -> None:
    first, second = sample_runs()
    assert [sample.id for sample in first.samples] == [f"q{n:02}" for n in range(1, 61)]
    assert [sample.question for sample in first.samples] == [sample.question for sample in second.samples]
    assert all(
        sample.answer and sample.contexts and sample.reference for run in (first, second) for sample in run.samples
    )
    assert first.config != second.config
    assert first.tags == second.tags == ("sample",)


def test_the_questions_are_of_the_kinds_that_the_readme_counts() -> None:
    kinds = Counter(row["kind"] for part in (1, 2) for row in rows(SAMPLE / "questions" / f"part{part}.jsonl"))
    assert kinds == {"factual": 22, "multi-hop": 10, "numeric": 10, "time-bound": 6, "unanswerable": 8, "ambiguous": 4}


def test_every_document_is_as_long_as_the_readme_says_and_every_question_names_one_that_is_there() -> None:
    documents = {path.stem: path.read_text(encoding="utf-8") for path in (SAMPLE / "documents").glob("*.md")}
    assert len(documents) == 40
    for name, text in documents.items():
        title, _, body = text.partition("\n")
        assert title.startswith("# "), name
        assert 150 <= len(body.split()) <= 260, name
    for part in (1, 2):
        for row in rows(SAMPLE / "questions" / f"part{part}.jsonl"):
            assert set(row["documents"]) <= set(documents)
            assert bool(row["documents"]) == (row["kind"] != "unanswerable")


def test_statement_labels_match_the_spans_of_the_answer() -> None:
    answers = {(run.name, sample.id): sample for run in sample_runs() for sample in run.samples}
    found = rows(SAMPLE / "labels" / "statements.jsonl")
    assert len(found) >= 40
    for row in found:
        sample = answers[row["run"], row["sample"]]
        assert row["answer"] == sample.answer
        assert row["contexts"] == [passage.text for passage in sample.contexts or ()]
        end = 0
        for said in row["statements"]:
            assert said["start"] >= end
            end = said["end"]
            assert row["answer"][said["start"] : end] == said["text"]
            assert said["label"] == int(said["verdict"] == "supported")
            assert bool(said["passages"]) == (said["verdict"] != "unsupported")
            assert all(1 <= rank <= len(row["contexts"]) for rank in said["passages"])


def test_sentence_labels_cover_their_passages() -> None:
    found = rows(SAMPLE / "labels" / "sentences.jsonl")
    assert len(found) >= 30
    for row in found:
        (text,) = row["contexts"]
        assert "".join(text[part["start"] : part["end"]] for part in row["sentences"]).replace(" ", "") == text.replace(
            " ", ""
        )
        assert {part["label"] for part in row["sentences"]} <= {0, 1}


def test_there_are_enough_preferences_and_no_side_gives_them_away() -> None:
    found = rows(SAMPLE / "labels" / "pairs.jsonl")
    kinds = Counter(row["dimension"] for row in found)
    assert kinds["faithfulness"] + kinds["answer_relevance"] >= 40
    assert kinds["context_relevance"] >= 30
    assert 0.35 < sum(row["preferred"] == "a" for row in found) / len(found) < 0.65


def test_the_sample_comes_with_the_package() -> None:
    assert (sample_folder() / "runs" / "bm25-k3.jsonl").exists()


def test_an_answer_is_called_faithful_where_the_authors_find_every_statement_supported() -> None:
    rows_of_answers = read_ares(SAMPLE / "labels" / "answers.tsv")
    runs = {run.name: {(sample.question, sample.answer) for sample in run.samples} for run in sample_runs()}
    said = {(row.run, row.question, row.answer): row.answer_faithfulness for row in rows_of_answers}
    judged = rows(SAMPLE / "labels" / "statements.jsonl")
    assert said == {
        (row["run"], row["question"], row["answer"]): all(each["label"] for each in row["statements"]) for row in judged
    }
    assert all((question, answer) in runs[run] for run, question, answer in said)
    assert Counter(said.values()) == {True: 39, False: 27}


def test_passages_and_answers_are_labelled_by_what_the_authors_chose_and_wrote() -> None:
    found = read_ares(SAMPLE / "labels" / "qualities.tsv")
    relevant = {(row.question, row.document): row.context_relevance for row in found if not row.answer}
    assert relevant == {
        (row["question"], row["contexts"][0]): any(each["label"] for each in row["sentences"])
        for row in rows(SAMPLE / "labels" / "sentences.jsonl")
    }
    answers = {row.answer: row.answer_relevance for row in found if row.answer}
    for row in rows(SAMPLE / "labels" / "wikieval.jsonl"):
        assert (answers[row["grounded_answer"]], answers[row["poor_answer"]]) == (True, False)


def test_the_readme_gives_the_agreement_of_the_two_readings(
    python: str,
) -> None:
    command = [python, str(SAMPLE / "verdicts.py"), "--second"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed in (SAMPLE / "verdicts" / "README.md").read_text(encoding="utf-8")


def test_every_answer_has_a_recorded_verdict_and_two_thirds_have_a_second() -> None:
    recorded = {(row["run"], row["sample"]) for row in rows(SAMPLE / "verdicts" / "answers.jsonl")}
    assert recorded == {(run.name, sample.id) for run in sample_runs() for sample in run.samples}
    assert len(rows(SAMPLE / "verdicts" / "authors" / "second.jsonl")) == 40
