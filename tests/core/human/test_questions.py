"""Tests of labelling questions as answerable or unanswerable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.core.conftest import PlainJudge

from ragboard import (
    EmbeddedJudge,
    NotFoundError,
    Panel,
    Passage,
    Run,
    RunFileError,
    Sample,
    Score,
    SettingError,
    Store,
    Turn,
    evaluate_run,
)
from ragboard.analysis import refusal_report
from ragboard.analysis.refusals import stated_answerability
from ragboard.cli import main
from ragboard.datasets import datasets
from ragboard.human.questions import (
    export_question_labels,
    find_question_label,
    has_question_labels,
    import_question_labels,
    label_question,
    label_question_of_sample,
)
from ragboard.metrics import metrics_named
from ragboard.readers.tables import read_table
from ragboard.store.queries.scores import sample_outcomes

REFUSES = "I cannot answer this question from the given passages."
STATES = "The tower is red."
BEFORE = (Turn(role="user", text="Hello"),)


def towers(*rows: tuple[Mapping[str, Any], str], name: str = "towers") -> Run:
    passages = (Passage(id="p", text="The tower is red.", rank=1),)
    return Run(
        name=name,
        dataset="towers",
        samples=tuple(
            Sample(id=str(n), question=f"Is tower {n} red?", answer=answer, contexts=passages, metadata=metadata)
            for n, (metadata, answer) in enumerate(rows)
        ),
    )


def added(store: Store, run: Run) -> str:
    return store.add_runs([run])[0].id


def ragboard(store: Store, *arguments: str) -> Result:
    result = CliRunner().invoke(main, [*arguments, "--store", str(store.folder)])
    assert result.exit_code == 0, result.output
    return result


def test_a_label_counts_before_the_run_file_and_in_every_run(store: Store) -> None:
    rows: tuple[tuple[Mapping[str, Any], str], ...] = (({"answerable": True}, REFUSES), ({"answerable": True}, STATES))
    for name in ("towers", "others"):
        run_id = added(store, towers(*rows, name=name))
        evaluate_run(store, run_id, metrics_named(["ragas.faithfulness"]), Panel(judge=EmbeddedJudge()))
    assert refusal_report(store, store.resolve("others")).counts["answerable"]["refused"] == 1
    label_question_of_sample(store, store.resolve("towers"), "0", "unanswerable", annotator="Ann")
    found = refusal_report(store, store.resolve("others"))
    assert found.sources == {"labels": 1, "file": 1}
    assert found.counts["unanswerable"]["refused"] == 1
    assert found.wrong == ()
    only = refusal_report(store, store.resolve("others"), source="labels")
    assert (only.unknown, only.sources) == (1, {"labels": 1})
    assert refusal_report(store, store.resolve("others"), source="file").counts["answerable"]["refused"] == 1
    assert datasets(store)[0].labels == 1


def test_diagnosis_reads_the_labels_too(store: Store) -> None:
    run_id = added(store, towers(({"answerable": True}, STATES), ({}, STATES)))
    for sample in ("0", "1"):
        label_question_of_sample(store, store.resolve("towers"), sample, "unanswerable", annotator="Ann")
    with store.database.read() as connection:
        assert stated_answerability(connection, run_id) == {0: "unanswerable", 1: "unanswerable"}


def test_the_same_words_after_other_turns_are_another_question(store: Store) -> None:
    label_question(store, "Is it red?", BEFORE, "partial", annotator="Ann")
    found = find_question_label(store, "Is it red?", BEFORE)
    assert found is not None
    assert (found.answerability, found.annotator) == ("partial", "Ann")
    assert find_question_label(store, "Is it red?", ()) is None


def test_the_newest_label_counts_and_can_be_taken_back(store: Store) -> None:
    for given, annotator in (("answerable", "Ann"), ("unanswerable", "Ben"), ("unanswerable", "Ben")):
        label_question(store, "Is it red?", (), given, annotator=annotator)  # type: ignore[arg-type]
    found = find_question_label(store, "Is it red?", ())
    assert found is not None
    assert (found.answerability, found.annotator) == ("unanswerable", "Ben")
    with store.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM question_labels").fetchone() == (2,)
    label_question(store, "Is it red?", (), None, annotator="Ben")
    assert find_question_label(store, "Is it red?", ()) is None
    with pytest.raises(SettingError, match="annotator's name is missing"):
        label_question(store, "Is it red?", (), "partial", annotator=" ")


def test_the_scores_of_mtrag_follow_without_a_further_call(store: Store) -> None:
    run_id, judge = added(store, towers(({"answerable": True}, "It is red."))), PlainJudge()
    metrics = metrics_named(["mtrag.faithfulness"])
    done = evaluate_run(store, run_id, metrics, Panel(judge=judge))
    asked = len(judge.asked)
    label_question_of_sample(store, store.resolve("towers"), "0", "unanswerable", annotator="Ann")
    evaluate_run(store, run_id, metrics, Panel(judge=judge))
    with store.database.read() as connection:
        scores, _ = sample_outcomes(connection, store.resolve("towers"), [0])
    assert scores[0]["mtrag.faithfulness"] == Score(
        value=0.0, counted="the question is unanswerable and the answer does not refuse"
    )
    assert len(judge.asked) == asked
    assert done.failed == 0


def test_the_run_stays_the_same_run(store: Store) -> None:
    run = towers(({}, STATES))
    first = store.add_runs([run])[0]
    label_question_of_sample(store, store.resolve("towers"), "0", "unanswerable", annotator="Ann")
    again = store.add_runs([run])[0]
    assert (again.id, again.added) == (first.id, False)
    assert store.sample(store.resolve("towers"), "0")[1].answerability == "unanswerable"


def test_the_commands_label_export_and_import(store: Store, tmp_path: Path) -> None:
    added(store, towers(({}, STATES), ({}, REFUSES)))
    said = ragboard(store, "labels", "question", "towers", "1", "unanswerable", "--annotator", "Ann").stdout
    assert said == "Is tower 1 red?: labelled unanswerable by Ann\n"
    exported = ragboard(store, "labels", "export", "towers", "--questions").stdout
    row = json.loads(exported)
    assert {name: row[name] for name in ("question", "answerability", "annotator")} == {
        "question": "Is tower 1 red?", "answerability": "unanswerable", "annotator": "Ann",
    }  # fmt: skip
    (tmp_path / "labels.jsonl").write_text(exported, encoding="utf-8")
    other = Store(tmp_path / "other")
    for added_now in (1, 0):
        said = ragboard(other, "labels", "import", str(tmp_path / "labels.jsonl")).stdout
        assert said.startswith(f"{added_now} labels of questions imported from 1 rows; {1 - added_now} already")
    assert next(iter(export_question_labels(other))).startswith('{"question": "Is tower 1 red?"')
    ragboard(store, "labels", "question", "towers", "1", "none")
    assert list(export_question_labels(store)) == []
    with pytest.raises(NotFoundError, match="has no sample '9'"):
        label_question_of_sample(store, store.resolve("towers"), "9", "partial", annotator="Ann")


def test_a_table_labels_questions_and_a_bad_row_imports_nothing(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("question,answerable\nIs it red?,0.0\nIs it blue?,\nIs it old?,partial\n", encoding="utf-8")
    table = read_table(path)
    assert has_question_labels(table)
    counts = import_question_labels(store, path, table, annotator="Ann")
    assert (counts.rows, counts.added, counts.without_a_run) == (3, 2, 2)
    found = find_question_label(store, "Is it red?", ())
    assert found is not None
    assert found.answerability == "unanswerable"
    path.write_text("question,answerable\nIs it new?,yes\nIs it?,perhaps\n", encoding="utf-8")
    with pytest.raises(RunFileError, match=r"labels\.csv:3: answerable is 'perhaps'"):
        import_question_labels(store, path, read_table(path))
    assert find_question_label(store, "Is it new?", ()) is None


def test_labels_of_questions_go_with_a_copied_run(store: Store, tmp_path: Path) -> None:
    added(store, towers(({}, STATES), ({}, STATES)))
    label_question_of_sample(store, store.resolve("towers"), "0", "partial", annotator="Ann")
    other = Store(tmp_path / "other")
    other.copy_run(store, store.resolve("towers"))
    found = find_question_label(other, "Is tower 0 red?", ())
    assert found is not None
    assert (found.answerability, found.annotator) == ("partial", "Ann")
