"""Tests of how far labels confirm a judge: labels of the run first, then labels of other answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import EvaluatedSamples
from tests.core.conftest import PlainJudge

from ragboard import DEFAULT_METRICS, EmbeddedJudge, NotFoundError, Panel, Run, Store, evaluate_run
from ragboard.human.agree import agree
from ragboard.human.agreement import find_agreement, load_agreement
from ragboard.human.baselines import compare_with_baselines
from ragboard.human.grades import grade_report
from ragboard.human.judge_validation import (
    load_run_label_agreement,
    run_label_agreement,
    run_label_agreements,
    validate_judge,
)
from ragboard.human.labels import label_statement
from ragboard.metrics import DEFAULT_METRICS_BY_RULES
from ragboard.readers.labels import read_labels
from ragboard.sample_files import sample_folder
from ragboard.store import RunRef
from ragboard.store.queries.labels import LabelQueue

FAITHFULNESS = "ragas.faithfulness"


@pytest.fixture
def store(tmp_path: Path, evaluated_samples: EvaluatedSamples) -> Store:
    return evaluated_samples(tmp_path / "store")


@pytest.fixture
def run(store: Store) -> RunRef:
    return store.resolve("bm25-k3")


def label(
    store: Store, run: RunRef, queue: LabelQueue, count: int, *, annotator: str = "ada", flipped: int = 0
) -> None:
    """Label the first statements as the judge does, the first `flipped` of them the other way round."""
    with store.database.read() as connection:
        said = connection.execute(
            "SELECT sample_id, statement + 1, label FROM verdicts JOIN samples s USING (position)"
            " WHERE evaluation_id = ? AND s.run_id = ? AND side = 'response' AND target = 'joint'"
            " ORDER BY position, statement LIMIT ?",
            [run.evaluation_id, run.run_id, count],
        ).fetchall()
    for place, (sample_id, number, verdict) in enumerate(said):
        supported = (verdict == "supported") == (place >= flipped)
        given = "supported" if supported else "unsupported"
        label_statement(store, run, sample_id, number, given, annotator=annotator, queue=queue)


def test_without_labels_there_is_no_validation(store: Store, run: RunRef) -> None:
    assert validate_judge(store, run, FAITHFULNESS) is None
    assert run_label_agreements(store) == ()
    label(store, run, "browsing", 40)
    label(store, run, "disagreement", 40)
    assert validate_judge(store, run, FAITHFULNESS) is None, (
        "these saw the verdicts, or were chosen because they differ"
    )
    with pytest.raises(NotFoundError, match="open the Annotate page"):
        load_run_label_agreement(store, f"run:{run.name}")


def test_labels_of_the_run_say_how_its_judge_agrees(store: Store, run: RunRef) -> None:
    label(store, run, "random", 40)
    found = validate_judge(store, run, FAITHFULNESS)
    assert found
    assert (found.agreement, found.source, found.comparison.n) == (f"run:{run.name}", "", 40)
    assert found.comparison.value.value == 1.0, "the labels are the judge's own"
    assert found.in_words.startswith("checked against 40 labels: balanced accuracy 1.00 (its score 1.00) vs ")
    label(store, run, "random", 40, flipped=20)
    again = validate_judge(store, run, FAITHFULNESS)
    assert again
    assert again.comparison.n == 40
    assert again.comparison.value.value < 0.8, "the same person says otherwise now"
    assert validate_judge(store, run, "ragas.answer_relevance") is None, (
        "labels of statements are about faithfulness alone"
    )
    assert [one.agreement.id for one in run_label_agreements(store)] == [f"run:{run.name}"]


def test_two_people_on_one_statement_are_one_item_with_two_ratings(store: Store, run: RunRef) -> None:
    label(store, run, "random", 10)
    label(store, run, "random", 10, annotator="bob", flipped=10)
    data = run_label_agreement(store, run)
    assert data
    assert len(data.ids) == 10
    assert all(set(one["supported"]) == {0.0, 1.0} for one in data.human_labels)


def test_the_agreement_with_a_runs_labels_is_that_of_the_same_labels_in_a_file(
    store: Store, run: RunRef, tmp_path: Path
) -> None:
    label(store, run, "random", 60, flipped=7)
    data = run_label_agreement(store, run)
    assert data
    samples = {sample.id: sample for _, sample in store.samples(run.run_id)}
    rows: dict[str, list[dict[str, object]]] = {}
    with store.database.read() as connection:
        said = connection.execute(
            "SELECT sample_id, statement, human FROM statement_verdicts WHERE run_id = ? AND human IS NOT NULL"
            " ORDER BY position, number",
            [run.run_id],
        ).fetchall()
    for sample_id, text, human in said:
        rows.setdefault(sample_id, []).append({"text": text, "label": int(human == "supported")})
    file = tmp_path / "same.jsonl"
    file.write_text(
        "".join(
            json.dumps(
                {
                    "question": samples[name].question,
                    "contexts": [one.text for one in samples[name].contexts or ()],
                    "statements": statements,
                }
            )
            + "\n"
            for name, statements in rows.items()
        ),
        encoding="utf-8",
    )
    agree(store, read_labels(str(file)), Panel(judge=EmbeddedJudge()))
    ours = {one.scorer.name: one.agreement.auroc.value for one in grade_report(data).lines}
    trust = validate_judge(store, run, FAITHFULNESS)
    assert trust
    assert trust.source == "", "labels of the run come before those of a file"
    filed = load_agreement(store, find_agreement(store, "same"))
    theirs = {one.scorer.name: one.agreement.auroc.value for one in grade_report(filed).lines}
    assert {name: round(value or 0, 9) for name, value in ours.items()} == {
        name: round(value or 0, 9) for name, value in theirs.items()
    }
    again = compare_with_baselines(filed, "supported")
    assert again
    assert trust.comparison.difference.value == pytest.approx(again.difference.value)


def test_grades_of_the_runs_own_answers_come_before_labels_of_other_answers(
    store: Store, run: RunRef, tmp_path: Path
) -> None:
    rows = [
        {
            "question": sample.question,
            "contexts": [one.text for one in sample.contexts or ()],
            "answer": sample.answer,
            "grades": {"faithfulness": 1 + at % 4},
        }
        for at, (_, sample) in enumerate(store.samples(run.run_id))
        if sample.answer
    ]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    agree(store, read_labels(str(file)), Panel(judge=EmbeddedJudge()))
    agree(store, read_labels(str(sample_folder() / "labels" / "statements.jsonl")), Panel(judge=EmbeddedJudge()))
    found = validate_judge(store, run, FAITHFULNESS)
    assert found
    assert (found.source, found.about_this_run) == ("own", True)
    assert "of other answers" not in found.in_words


def test_labels_of_other_answers_count_only_for_the_same_judge(store: Store, run: RunRef) -> None:
    for name in ("statements", "pairs"):
        agree(store, read_labels(str(sample_folder() / "labels" / f"{name}.jsonl")), Panel(judge=EmbeddedJudge()))
    found = validate_judge(store, run, FAITHFULNESS)
    assert found
    assert (found.source, found.comparison.n) == ("statements", 288)
    assert found.in_words.startswith("checked against 288 labels (statements): balanced accuracy 0.77")
    evaluate_run(store, run.run_id, DEFAULT_METRICS_BY_RULES, Panel(judge=EmbeddedJudge()))
    run = store.resolve(run.name)
    assert validate_judge(store, run, "ragas.answer_relevance") is None, "the agreement is on the rated relevance"
    pairs = validate_judge(store, run, "ragas.answer_relevance(method=direct)")
    assert pairs
    assert (pairs.source, pairs.comparison.measured, pairs.comparison.n) == ("pairs", "accuracy", 30)
    evaluate_run(store, run.run_id, DEFAULT_METRICS, Panel(judge=PlainJudge()))
    assert validate_judge(store, store.resolve(run.name), FAITHFULNESS) is None


def test_labels_of_only_one_kind_give_no_validation(store: Store, run: RunRef) -> None:
    with store.database.read() as connection:
        row = connection.execute(
            "SELECT sample_id FROM samples WHERE run_id = ? ORDER BY position LIMIT 1", [run.run_id]
        ).fetchone()
    assert row
    label_statement(store, run, row[0], 1, "supported", annotator="ada", queue="random")
    assert validate_judge(store, run, FAITHFULNESS) is None


def test_labels_of_the_runs_own_answers_come_before_newer_labels_of_others(
    store: Store, run: RunRef, tmp_path: Path
) -> None:
    """Grades of exactly these answers, and preferences between them, are labels of the run."""
    samples = [sample for _, sample in store.samples(run.run_id)]
    rows = [
        {
            "question": sample.question,
            "contexts": [one.text for one in sample.contexts or ()],
            "answer": sample.answer,
            "grades": {"faithfulness": [4 if number % 2 else 1]},
        }
        for number, sample in enumerate(samples[:40])
    ]
    pairs = [
        {
            "question": row["question"],
            "contexts": row["contexts"],
            "a": row["answer"],
            "b": "It was in 1066.",
            "preferred": "a",
            "dimension": "faithfulness",
        }
        for row in rows
    ]
    others = [{**row, "answer": f"{row['answer']} Or not."} for row in rows]
    for name, written in (("graded", rows), ("between", pairs), ("others", others)):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in written), encoding="utf-8")
    agree(store, read_labels(str(tmp_path / "graded.jsonl")), Panel(judge=EmbeddedJudge()))
    agree(store, read_labels(str(tmp_path / "others.jsonl")), Panel(judge=EmbeddedJudge()))
    found = validate_judge(store, run, FAITHFULNESS)
    assert found
    assert (found.source, found.about_this_run) == ("graded", True)
    assert found.in_words.startswith(f"checked against {found.comparison.n} graded answers (graded): AUROC ")
    agree(store, read_labels(str(tmp_path / "between.jsonl")), Panel(judge=EmbeddedJudge()))
    newest = validate_judge(store, run, FAITHFULNESS)
    assert newest
    assert (newest.source, newest.about_this_run, newest.comparison.measured) == ("between", True, "accuracy")
    (added,) = store.add_runs([Run(name="else", samples=tuple(replace(one, answer="It was.") for one in samples[:5]))])
    evaluate_run(store, added.id, DEFAULT_METRICS, Panel(judge=EmbeddedJudge()))
    elsewhere = validate_judge(store, store.resolve("else"), FAITHFULNESS)
    assert elsewhere
    assert not elsewhere.about_this_run
    assert elsewhere.in_words.split(":")[0].endswith(f" of other answers ({elsewhere.source})")
