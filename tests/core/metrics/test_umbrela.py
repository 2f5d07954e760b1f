"""Tests of graded relevance: by hand, and on cases of Open RAG Eval's code."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path

import pytest
from tests.core.conftest import PlainJudge, make_run
from tests.core.metrics.asked import SAMPLE, outcome_of

from ragboard import (
    EmbeddedJudge,
    JudgeError,
    Panel,
    Passage,
    RunRef,
    Sample,
    Score,
    SettingError,
    Store,
    Unscored,
    evaluate,
    evaluate_run,
)
from ragboard.analysis.samples import sample_report
from ragboard.metrics import metrics_named
from ragboard.metrics.umbrela import NDCG, AveragePrecision, Precision
from ragboard.records import PASSAGE_GRADE
from ragboard.tasks import Failure, GradePassages, OnCall, PassageGrades, Reply, Task, ignore_call


def listed(*grades: int) -> tuple[Sample, Callable[[Task], Reply | Failure]]:
    """A sample with a passage for each grade, and a judge that gives it."""
    passages = tuple(Passage(id=f"p{rank}", text=f"Text {rank}.", rank=rank) for rank in range(1, len(grades) + 1))
    by_text = {passage.text: grade for passage, grade in zip(passages, grades, strict=True)}

    def reply(task: Task) -> PassageGrades:
        assert isinstance(task, GradePassages)
        return PassageGrades(grades=tuple(by_text[text] for text in task.passages), reasons=("",) * len(task.passages))

    return Sample(id="s", question="q?", contexts=passages), reply


def test_ndcg_is_the_gain_of_the_grades_over_that_of_the_best_order() -> None:
    found, asked = outcome_of(NDCG(), *listed(1, 3, 0))
    best = 3 + 1 / log2(3)
    assert found == Score(value=pytest.approx((1 + 3 / log2(3)) / best), counted="grades 1, 3, 0")
    assert asked == [GradePassages(question="q?", passages=("Text 1.", "Text 2.", "Text 3."))]
    assert outcome_of(NDCG(), *listed(3, 1, 0))[0] == Score(value=1.0, counted="grades 3, 1, 0")


def test_the_best_order_at_k_is_of_all_retrieved_passages() -> None:
    found, _ = outcome_of(NDCG(k=1), *listed(1, 3))
    assert found == Score(value=pytest.approx(1 / 3), counted="grades 1")
    assert outcome_of(NDCG(k=5), *listed(1, 3))[0] == outcome_of(NDCG(), *listed(1, 3))[0]


def test_an_exponential_gain_weighs_high_grades_more() -> None:
    found, _ = outcome_of(NDCG(gain="exponential"), *listed(1, 3))
    assert isinstance(found, Score)
    assert found.value == pytest.approx((1 + 7 / log2(3)) / (7 + 1 / log2(3)))


def test_only_grades_of_0_leave_ndcg_undefined() -> None:
    found, _ = outcome_of(NDCG(), *listed(0, 0))
    assert found == Unscored(reason="undefined", detail="all passages have grade 0, so no order is better than another")
    assert outcome_of(NDCG(compat=True), *listed(0, 0))[0] == Score(value=0.0, counted="grades 0, 0")
    assert outcome_of(Precision(), *listed(0, 0))[0] == Score(value=0.0, counted="0 in the top 2")
    assert outcome_of(AveragePrecision(), *listed(0, 0))[0] == Score(value=0.0, counted="none of 2 relevant")


def test_precision_counts_grades_from_2_or_from_the_one_that_is_set() -> None:
    assert outcome_of(Precision(), *listed(1, 2, 3))[0] == Score(value=2 / 3, counted="2 in the top 3")
    assert outcome_of(Precision(k=2), *listed(1, 2, 3))[0] == Score(value=1 / 2, counted="1 in the top 2")
    assert outcome_of(Precision(at_least=1), *listed(1, 2, 3))[0] == Score(value=1.0, counted="3 in the top 3")
    assert outcome_of(Precision(at_least=3), *listed(1, 2, 3))[0] == Score(value=1 / 3, counted="1 in the top 3")


def test_average_precision_divides_by_the_relevant_passages_of_the_list() -> None:
    found, _ = outcome_of(AveragePrecision(), *listed(0, 3, 1, 2))
    assert found == Score(value=(1 / 2 + 2 / 4) / 2, counted="relevant at rank 2, 4 of 4")
    found, _ = outcome_of(AveragePrecision(k=3), *listed(0, 3, 1, 2))
    assert found == Score(value=1 / 2, counted="relevant at rank 2 of 3")


def test_fewer_passages_than_k_count_as_k_and_are_undefined_in_open_rag_eval() -> None:
    assert outcome_of(Precision(k=4), *listed(3, 3))[0] == Score(value=0.5, counted="2 in the top 4")
    for metric in (Precision(k=4, compat=True), AveragePrecision(k=4, compat=True)):
        found, _ = outcome_of(metric, *listed(3, 3))
        assert found == Unscored(reason="undefined", detail="only 2 of k = 4 passages were retrieved")


def test_with_compat_each_passage_is_graded_in_its_own_call() -> None:
    found, asked = outcome_of(Precision(compat=True), *listed(3, 0))
    assert found == Score(value=0.5, counted="1 in the top 2")
    assert asked == [GradePassages(question="q?", passages=(text,)) for text in ("Text 1.", "Text 2.")]


def test_a_failed_reply_is_no_grade_of_0() -> None:
    def broken(task: Task) -> Reply | Failure:
        assert isinstance(task, GradePassages)
        if "One is here. Two is here." in task.passages:
            return Failure(detail="no JSON")
        return PassageGrades(grades=(3,), reasons=("",))

    for metric in (NDCG(), Precision(), AveragePrecision(), NDCG(compat=True), Precision(compat=True)):
        assert outcome_of(metric, SAMPLE, broken)[0] == Unscored(reason="failed", detail="no JSON")


def test_without_passages_there_is_no_call() -> None:
    for metric in (NDCG(), Precision(k=3), AveragePrecision(compat=True)):
        found, asked = outcome_of(metric, *listed())
        assert (found, asked) == (Unscored(reason="undefined", detail="no passage was retrieved"), [])
    found, asked = outcome_of(NDCG(), replace(SAMPLE, contexts=None), listed()[1])
    assert (found, asked) == (Unscored(reason="skipped", detail="the run file has no contexts for this sample"), [])


@pytest.mark.parametrize(
    ("name", "message"),
    [("umbrela.ndcg(k=0)", "k, the cutoff rank"), ("umbrela.precision(at_least=0)", "at_least, the lowest grade")],
)
def test_a_setting_out_of_range_is_rejected(name: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        metrics_named([name])


def test_all_three_share_one_call_a_sample() -> None:
    judge = PlainJudge()
    found = evaluate(make_run(), judge=Panel(judge=judge), metrics=["umbrela", "umbrela.precision(k=1)"])
    assert [type(task) for task in judge.asked] == [GradePassages] * 3
    assert found.outcomes("umbrela.precision(k=1)")[0] == Score(value=1.0, counted="1 in the top 1")


def test_the_embedded_judge_refuses_in_one_line() -> None:
    with pytest.raises(JudgeError) as caught:
        evaluate(make_run(), judge=Panel(judge=EmbeddedJudge()), metrics=["umbrela.ndcg"])
    message = str(caught.value)
    assert message == (
        "umbrela.ndcg needs a chat model: --judge openai:MODEL (embedded does not answer GradePassages tasks)"
    )


def test_grades_are_stored_by_passage(store: Store) -> None:
    run_id = store.add_runs([make_run(samples=1)])[0].id
    metrics = metrics_named(["umbrela.ndcg", "umbrela.ndcg(compat=True)"])
    done = evaluate_run(store, run_id, metrics, Panel(judge=PlainJudge()))
    report = sample_report(store, RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id), "s0")
    assert [(one.about, one.number, one.says, one.value) for one in report.judgements] == [
        (PASSAGE_GRADE, 1, "3", 3.0),
        (PASSAGE_GRADE, 2, "3", 3.0),
        (f"{PASSAGE_GRADE}, each passage alone", 1, "3", 3.0),
        (f"{PASSAGE_GRADE}, each passage alone", 2, "3", 3.0),
    ]


@dataclass
class GivenGrades:
    """A judge that grades each passage by the number at its end."""

    name: str = "given"
    heuristic: bool = False
    answers: frozenset[type[Task]] = frozenset({GradePassages})

    def identity(self, task: type[Task]) -> str:
        return f"given/1/{task.__name__}"

    async def answer(self, tasks: Sequence[Task], _hear: OnCall = ignore_call) -> Sequence[Reply | Failure]:
        grades = [[int(text.rpartition(" ")[2]) for text in task.passages] for task in tasks]  # type: ignore[attr-defined]
        return [PassageGrades(grades=tuple(each), reasons=("",) * len(each)) for each in grades]


def test_precision_and_average_precision_are_those_of_open_rag_eval(data: Path) -> None:
    folder = data / "oracles" / "open_rag_eval_retrieval"
    cases = json.loads((folder / "inputs.json").read_text("utf-8"))["cases"]
    expected = json.loads((folder / "expected.json").read_text("utf-8"))["cases"]
    rows = [
        {
            "id": str(case["id"]),
            "question": f"Question {case['id']}?",
            "contexts": [
                f"Passage {rank} has grade {grade}" for rank, grade in enumerate(case["scores_in_rank_order"])
            ],
        }
        for case in cases
    ]
    cuts = {k for case in cases for k in case["k_values"]}
    names = {"precision": "precision", "AP": "average_precision"}
    specs = {(name, k): f"umbrela.{ours}(k={k},compat=True)" for name, ours in names.items() for k in sorted(cuts)}
    found = evaluate(rows, judge=Panel(judge=GivenGrades()), metrics=list(specs.values()))
    for (name, k), spec in specs.items():
        for outcome, case in zip(found.outcomes(spec), expected, strict=True):
            theirs = case[name].get(str(k))
            assert (outcome.value if isinstance(outcome, Score) else None) == pytest.approx(theirs), (spec, case["id"])
