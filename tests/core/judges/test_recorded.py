"""Tests of recorded verdicts: found by the judged texts, and returned unchanged."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from ragboard import Store, evaluate_run, sample_runs
from ragboard.analysis import SampleReport, leaderboard, sample_report
from ragboard.errors import RunFileError
from ragboard.human.agree import agree
from ragboard.judges import JudgeOptions, panel_named
from ragboard.judges.recorded import RecordedJudge
from ragboard.metrics import metrics_named
from ragboard.readers.labels import read_labels
from ragboard.records import Score
from ragboard.sample_files import sample_folder
from ragboard.tasks import Failure, Prefer, Preference, Rate, Rating, Verify

RECORDING = sample_folder() / "verdicts"
Reports: TypeAlias = list[tuple[dict[str, Any], SampleReport]]
METRICS = ("faithfulness", "answer_relevance(method=direct)", "context_relevance", "ragchecker", "gpt_score")


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDING / "answers.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Both sample runs, evaluated by the recorded verdicts."""
    store = Store(tmp_path_factory.mktemp("recorded") / "store")
    for added in store.add_runs(sample_runs()):
        evaluate_run(store, added.id, metrics_named(METRICS), panel_named(JudgeOptions(judge="recorded")))
    return store


@pytest.fixture(scope="module")
def reports(store: Store) -> Reports:
    """Each recorded row with the report of its sample."""
    return [(row, sample_report(store, store.resolve(row["run"]), row["sample"])) for row in rows()]


def test_nothing_fails_and_the_judge_is_named(store: Store) -> None:
    for run in leaderboard(store):
        assert not any(summary.unscored.get("failed") for summary in run.metrics.values())
        assert run.judged
        assert run.judged.in_words == "the authors of this sample, recorded"


def test_every_verdict_quote_and_reason_of_an_answer_is_the_recorded_one(reports: Reports) -> None:
    for row, report in reports:
        shown = [one for one in report.statements if one.statement.side == "response"]
        assert [one.statement.text for one in shown] == [said["statement"] for said in row["statements"]]
        for one, said in zip(shown, row["statements"], strict=True):
            assert one.verdict
            assert (one.verdict.label, one.verdict.reason) == (said["verdict"], said["note"])
            assert one.statement.span
            assert row["answer"][one.statement.span.start : one.statement.span.end] == said["text"]
            marked = {(mark.rank, mark.start, mark.end) for mark in one.verdict.evidence}
            assert marked == {(quote["rank"], quote["start"], quote["end"]) for quote in said["quotes"]}
            supporting = [
                rank for rank, verdict in one.single.items() if verdict.label == said["verdict"] != "unsupported"
            ]
            assert sorted(supporting) == said["passages"]


def test_scores_are_what_one_counts_by_hand(reports: Reports) -> None:
    for row, report in reports:
        labels = [said["verdict"] for said in row["statements"]]
        counted = report.scores["ragas.faithfulness"]
        if isinstance(counted, Score):
            assert counted.value == pytest.approx(labels.count("supported") / len(labels))
        else:
            assert not labels
        claims = row["reference_statements"]
        recall = report.scores["ragchecker.claim_recall"]
        if isinstance(recall, Score):
            assert recall.value == pytest.approx(sum(bool(claim["passages"]) for claim in claims) / len(claims))
        relevance = report.scores["ragas.answer_relevance(method=direct)"]
        assert isinstance(relevance, Score)
        assert relevance.value == row["ratings"]["answer_relevance"] / 10


def test_a_recording_is_a_label_file(tmp_path: Path) -> None:
    labels = read_labels(str(RECORDING / "answers.jsonl"))
    assert len(labels.items) == sum(len(row["statements"]) for row in rows())
    recorded = panel_named(JudgeOptions(judge="recorded"))
    kept = agree(Store(tmp_path / "store"), labels, recorded)
    assert kept.items == len(labels.items)


def test_other_texts_have_no_verdict() -> None:
    judge = RecordedJudge.from_folder(RECORDING)
    (row,) = [row for row in rows() if row["id"] == "bm25-k3/q01"]
    asked = Verify(
        question=row["question"],
        statements=(row["statements"][0]["statement"],),
        passages=tuple(row["contexts"]),
        joint=True,
        single=True,
    )
    known, unknown = asyncio.run(judge.answer([asked, replace(asked, passages=("Another passage.",))]))
    assert not isinstance(known, Failure)
    assert unknown == Failure(detail="the recording has no verdict on these texts (Verify)")


def test_ratings_are_those_of_the_row() -> None:
    judge = RecordedJudge.from_folder(RECORDING)
    for row in rows()[:5]:
        tasks = [
            Rate(quality=quality, question=row["question"], answer=row["answer"], contexts=tuple(row["contexts"]))
            for quality in ("faithfulness", "answer_relevance", "context_relevance")
        ]
        replies = asyncio.run(judge.answer(tasks))
        assert [reply.value for reply in replies if isinstance(reply, Rating)] == list(row["ratings"].values())


def test_a_preference_is_the_same_from_both_sides_and_a_tie_is_a_tie() -> None:
    judge = RecordedJudge.from_folder(RECORDING)
    pairs = [json.loads(line) for line in (RECORDING / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {pair["preferred"] for pair in pairs} == {"a", "b", "tie"}
    for pair in pairs:
        task = Prefer(quality=pair["dimension"], question=pair["question"], a=pair["a"], b=pair["b"], contexts=())
        first, second = asyncio.run(judge.answer([task, replace(task, a=task.b, b=task.a)]))
        assert isinstance(first, Preference)
        assert isinstance(second, Preference)
        chosen = {("a", "b"): "a", ("b", "a"): "b", ("a", "a"): "tie"}[first.better, second.better]
        assert chosen == pair["preferred"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"question": "Q?"}', "answers.jsonl:1: not a recorded verdict: contexts: Field required"),
        ("nonsense", "answers.jsonl:1: not a recorded verdict"),
    ],
)
def test_a_line_that_is_no_verdict_is_rejected_with_its_place(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(RunFileError, match=said):
        RecordedJudge.from_folder(tmp_path)


def test_a_folder_without_a_recording_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="contains no recording"):
        RecordedJudge.from_folder(tmp_path)
