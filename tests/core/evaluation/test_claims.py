"""Tests of verdicts on claims: shared calls, and no calls for verdicts in the run file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.core.conftest import PlainJudge, make_run, make_sample

from ragboard import (
    DEFAULT_METRICS,
    METRICS,
    JudgeError,
    Nugget,
    Panel,
    Run,
    RunRef,
    Sample,
    Score,
    Store,
    Unscored,
    evaluate_run,
)
from ragboard.analysis import SampleQuery, sample_report, sample_rows
from ragboard.evaluation.options import EvaluationOptions
from ragboard.metrics import compute_outcome, metrics_named
from ragboard.metrics.base import resolve, tasks_for
from ragboard.metrics.needs import (
    JointVerdicts,
    JudgedStatements,
    Need,
    NeedResults,
    SeparateVerdicts,
    Statements,
    VerdictTable,
)
from ragboard.records import Outcome, Target
from ragboard.tasks import ExtractStatements, Failure, Reply, SelectSentences, Similarity, Task, Verify

SAMPLE = replace(make_sample(answer="It is red. It is old."), reference="It is red. It is big. It is new.")
WHOLE = replace(
    SAMPLE,
    answer="It is red [1]. It is old.",
    reference_contexts=("The thing 0 is red, says passage 1.",),
    nuggets=(Nugget(text="It is red", importance="vital"),),
    metadata={"answerable": True},
)
"""A sample that every metric can score."""
BOTH = (JointVerdicts(), SeparateVerdicts())
JOINT_ONLY: dict[str, bool] = {"joint": True, "single": False}
SINGLE_ONLY: dict[str, bool] = {"joint": False, "single": True}
TOGETHER: dict[str, bool] = {"joint": True, "single": True}


def found(
    sample: Sample, *needs: Need[Any], known: Callable[[Task], bool] = lambda _: False
) -> tuple[NeedResults, list[Task]]:
    """What the plain judge makes of the needs, and what it was asked."""
    judge = PlainJudge()

    async def ask(task: Task) -> Reply | Failure:
        (reply,) = await judge.answer([task])
        return reply

    made = asyncio.run(resolve(sample, needs, ask, known))
    return made, judge.asked


def asked_ways(tasks: list[Task]) -> list[dict[str, bool]]:
    return [{"joint": task.joint, "single": task.single} for task in tasks if isinstance(task, Verify)]


def test_cells_of_one_side_against_the_passages_are_asked_in_one_task() -> None:
    made, asked = found(SAMPLE, *BOTH)
    assert asked_ways(asked) == [TOGETHER]
    assert len(asked) == 2
    assert [verdict.label for verdict in made.value(JointVerdicts()).verdicts] == ["supported", "unsupported"]
    assert made.value(SeparateVerdicts()).supported == ((True, True), (False, False))


def test_only_the_cells_that_are_wanted_are_asked() -> None:
    assert asked_ways(found(SAMPLE, JointVerdicts())[1]) == [JOINT_ONLY]
    assert asked_ways(found(SAMPLE, SeparateVerdicts())[1]) == [SINGLE_ONLY]


def test_each_side_has_its_own_task() -> None:
    _, asked = found(SAMPLE, JointVerdicts("response"), SeparateVerdicts("reference"))
    assert sorted(map(str, asked_ways(asked))) == sorted(map(str, [JOINT_ONLY, SINGLE_ONLY]))


def test_what_was_answered_before_is_not_asked_again_for_the_rest() -> None:
    for way, rest in ((JOINT_ONLY, SINGLE_ONLY), (SINGLE_ONLY, JOINT_ONLY)):
        known = next(task for task in found(SAMPLE, *BOTH)[1] if isinstance(task, Verify))
        before = replace(known, **way)
        _, asked = found(SAMPLE, *BOTH, known=lambda task, before=before: task == before)
        assert sorted(map(str, asked_ways(asked))) == sorted(map(str, [way, rest]))


def test_the_answer_to_both_serves_one() -> None:
    _, asked = found(
        SAMPLE, JointVerdicts(), known=lambda task: isinstance(task, Verify) and task.joint and task.single
    )
    assert asked_ways(asked) == [TOGETHER]


@pytest.mark.parametrize(
    ("need", "statements", "texts"),
    [
        (SeparateVerdicts("response", "reference"), ("It is red", "It is old"), (SAMPLE.reference,)),
        (SeparateVerdicts("reference", "response"), ("It is red", "It is big", "It is new"), (SAMPLE.answer,)),
    ],
)
def test_statements_are_held_against_the_other_text(
    need: SeparateVerdicts, statements: tuple[str, ...], texts: tuple[str, ...]
) -> None:
    made, asked = found(SAMPLE, need)
    assert asked[-1] == Verify(
        question=SAMPLE.question,
        statements=statements,
        passages=texts,
        joint=True,
        single=False,
        against="answer" if need.target == "response" else "reference",
    )
    cells = made.value(need)
    assert cells.targets == (Target(kind=need.target if need.target != "passages" else "joint"),)
    assert [said.side for said in cells.statements] == [need.side] * len(statements)


def test_a_text_is_not_verified_against_itself() -> None:
    with pytest.raises(ValueError, match="cannot be checked against"):
        SeparateVerdicts("response", "response")


def test_the_eleven_and_faithfulness_are_six_tasks() -> None:
    """Two extractions; each side against the passages and against the other text."""
    needs = [need for metric in metrics_named(["ragchecker", "ragas.faithfulness"]) for need in metric.needs()]
    _, asked = found(SAMPLE, *needs)
    assert len(asked) == 6


@pytest.mark.parametrize(
    ("need", "changes", "reason", "tasks"),
    [
        (SeparateVerdicts(), {"contexts": ()}, None, 1),
        (SeparateVerdicts("response", "reference"), {"reference": " "}, "The reference is empty.", 1),
        (SeparateVerdicts("reference", "response"), {"answer": ""}, "The answer is empty.", 1),
        (SeparateVerdicts("response", "reference"), {"answer": ""}, None, 0),
    ],
)
def test_an_empty_text_says_nothing_and_is_not_asked_about(
    need: SeparateVerdicts, changes: dict[str, Any], reason: str | None, tasks: int
) -> None:
    made, asked = found(replace(SAMPLE, **changes), need)
    cells = made.value(need)
    assert len(asked) == tasks
    assert {verdict.label for row in cells.rows for verdict in row} <= {"unsupported"}
    assert {verdict.reason for row in cells.rows for verdict in row} == ({reason} if reason else set())


@pytest.mark.parametrize(
    ("need", "column"),
    [
        (SeparateVerdicts(), "contexts"),
        (SeparateVerdicts("response", "reference"), "reference"),
        (SeparateVerdicts("reference", "response"), "answer"),
        (Statements("reference"), "reference"),
    ],
)
def test_a_missing_column_is_named(need: Need[Any], column: str) -> None:
    made, asked = found(replace(SAMPLE, **{column: None}), need)
    assert made.missing(need) == Unscored(reason="skipped", detail=f"the run file has no {column} for this sample")
    assert asked == []


CHECKED: dict[str, Any] = {
    "response_claims": ["It is red", ["It", "was", "made"]],
    "answer2response": ["Entailment", "Contradiction"],
    "retrieved2response": [["Neutral", "Entailment"], ["Neutral", "Neutral"]],
}


def test_what_the_file_brings_is_taken_and_only_the_rest_asked() -> None:
    sample = replace(SAMPLE, metadata=CHECKED)
    needs = (*BOTH, SeparateVerdicts("response", "reference"), SeparateVerdicts("reference", "response"))
    made, asked = found(sample, *needs)
    assert made.value(SeparateVerdicts()).supported == ((False, True), (False, False))
    assert made.value(SeparateVerdicts("response", "reference")).supported == ((True,), (False,))
    assert sorted(type(task).__name__ for task in asked) == ["ExtractStatements", "Verify", "Verify"]
    joint = next(task for task in asked if isinstance(task, Verify) and "It was made" in task.statements)
    assert (joint.joint, joint.single) == (True, False)


def test_a_claim_of_the_file_has_its_place_where_the_answer_says_it_so() -> None:
    made, _ = found(replace(SAMPLE, metadata=CHECKED), SeparateVerdicts())
    first, second = made.value(SeparateVerdicts()).statements
    assert first.span is not None
    assert (SAMPLE.answer or "")[first.span.start : first.span.end] == "It is red"
    assert second.span is None


def test_claims_that_cannot_be_used_leave_a_reason_and_ask_nothing() -> None:
    made, asked = found(replace(SAMPLE, metadata=CHECKED | {"answer2response": []}), *BOTH)
    expected = Unscored(reason="failed", detail="answer2response of the run file: 0 verdicts for 2 claims")
    assert made.missing(JointVerdicts()) == made.missing(SeparateVerdicts()) == expected
    assert asked == []


def test_needs_say_which_tasks_they_can_lead_to() -> None:
    assert tasks_for(()) == frozenset()
    assert tasks_for([SeparateVerdicts()]) == {ExtractStatements, Verify}
    assert all(tasks_for(metric.needs()) is not None for metric in METRICS.values())


def test_a_judge_that_answers_only_what_the_metrics_lead_to_can_serve(store: Store) -> None:
    run_id = store.add_runs([make_run()])[0].id
    judge = PlainJudge(answers=frozenset({SelectSentences}))
    done = evaluate_run(store, run_id, metrics_named(["context_relevance"]), Panel(judge=judge))
    assert done.unscored == 0
    with pytest.raises(JudgeError, match="does not answer"):
        evaluate_run(store, run_id, DEFAULT_METRICS, Panel(judge=judge))


def scores(store: Store, run_id: str, evaluation_id: str) -> dict[str, Outcome]:
    ref = RunRef(run_id=run_id, name="run", evaluation_id=evaluation_id)
    (row,) = sample_rows(store, ref, SampleQuery()).rows
    return dict(row.scores)


def test_cells_are_rows_of_the_store(store: Store) -> None:
    run_id = store.add_runs([Run(name="run", samples=(SAMPLE,))])[0].id
    done = evaluate_run(store, run_id, metrics_named(["ragchecker", "ragas.faithfulness"]), Panel(judge=PlainJudge()))
    with store.database.read() as connection:
        rows = connection.execute(
            "SELECT side, target, count(*), count(*) FILTER (label = 'supported') FROM verdicts"
            " GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert rows == [
        ("reference", "passage:1", 3, 1),
        ("reference", "passage:2", 3, 1),
        ("reference", "response", 3, 1),
        ("response", "joint", 2, 1),
        ("response", "passage:1", 2, 1),
        ("response", "passage:2", 2, 1),
        ("response", "reference", 2, 1),
    ]
    report = sample_report(store, RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id), SAMPLE.id)
    assert [said.verdict is not None for said in report.statements] == [True, True]
    assert scores(store, run_id, done.evaluation.id)["ragchecker.recall"] == Score(
        value=1 / 3, counted="1 of 3 claims of the reference in the answer"
    )


def test_a_metric_added_later_asks_no_cell_again_and_changes_no_score(store: Store) -> None:
    run_id = store.add_runs([Run(name="run", samples=(SAMPLE,))])[0].id
    judge = PlainJudge()
    evaluate_run(store, run_id, metrics_named(["ragas.faithfulness"]), Panel(judge=judge))
    done = evaluate_run(store, run_id, metrics_named(["ragchecker.faithfulness"]), Panel(judge=judge))
    assert asked_ways(judge.asked) == [JOINT_ONLY, SINGLE_ONLY]
    assert set(scores(store, run_id, done.evaluation.id)) == {"ragas.faithfulness", "ragchecker.faithfulness"}
    again = evaluate_run(store, run_id, metrics_named(["ragas.faithfulness"]), Panel(judge=judge))
    assert again.asked == 0


def test_cells_that_failed_are_asked_again_together_with_the_rest(store: Store) -> None:
    run_id = store.add_runs([Run(name="run", samples=(SAMPLE,))])[0].id
    out = PlainJudge(before=lambda task: Failure(detail="out of order") if isinstance(task, Verify) else None)
    evaluate_run(store, run_id, metrics_named(["ragas.faithfulness"]), Panel(judge=out))
    judge = PlainJudge()
    metrics = metrics_named(["ragchecker.faithfulness"])
    evaluate_run(store, run_id, metrics, Panel(judge=judge), EvaluationOptions(retry=True))
    assert asked_ways(judge.asked) == [TOGETHER]


def test_settings_of_an_earlier_metric_are_kept(store: Store) -> None:
    sample = replace(SAMPLE, reference_contexts=("Another text.",))
    run_id = store.add_runs([Run(name="run", samples=(sample,))])[0].id
    evaluate_run(store, run_id, metrics_named(["retrieval.recall(k=1)"]), Panel(judge=PlainJudge()))
    done = evaluate_run(store, run_id, metrics_named(["retrieval.mrr"]), Panel(judge=PlainJudge()))
    assert set(scores(store, run_id, done.evaluation.id)) == {"retrieval.recall(k=1)", "retrieval.mrr"}


def test_without_a_task_there_is_no_judge(store: Store) -> None:
    run_id = store.add_runs([Run(name="run", samples=(SAMPLE,))])[0].id
    panel = Panel(judge=PlainJudge(heuristic=True))
    assert evaluate_run(store, run_id, metrics_named(["overlap"]), panel).evaluation.judge == "none"
    judged = evaluate_run(store, run_id, DEFAULT_METRICS, panel).evaluation
    assert (judged.judge, judged.heuristic) == ("plain", True)


def test_similarity_of_answer_and_reference_is_one_task() -> None:
    (metric,) = metrics_named(["answer_similarity"])
    made, asked = found(SAMPLE, *metric.needs())
    assert asked == [Similarity(text=SAMPLE.answer or "", others=(SAMPLE.reference or "",))]
    assert compute_outcome(metric, SAMPLE, made) == Score(value=0.5, counted="answer of 6 words")
    for column in ("answer", "reference"):
        empty = replace(SAMPLE, **{column: " "})
        made, asked = found(empty, *metric.needs())
        assert compute_outcome(metric, empty, made) == Unscored(reason="undefined", detail=f"the {column} is empty")
        assert asked == []


@pytest.mark.parametrize("spec", [spec for spec, metric in METRICS.items() if metric.needs()])
def test_a_judge_that_fails_leaves_no_number(spec: str, store: Store) -> None:
    metric = METRICS[spec]
    judge = PlainJudge(before=lambda _: Failure(detail="out of order"))
    run_id = store.add_runs([Run(name="run", samples=(WHOLE,))])[0].id
    done = evaluate_run(store, run_id, (metric,), Panel(judge=judge))
    assert scores(store, run_id, done.evaluation.id)[spec] == Unscored(reason="failed", detail="out of order")


@pytest.mark.parametrize("spec", METRICS)
def test_every_metric_names_the_column_it_misses(spec: str) -> None:
    metric = METRICS[spec]
    made, _ = found(WHOLE, *metric.needs())
    score = compute_outcome(metric, WHOLE, made)
    assert isinstance(score, Score) or "quotes no evidence" in score.detail  # this judge does not
    for column in metric.requires:
        lacking = replace(WHOLE, **{column: None})
        made, _ = found(lacking, *metric.needs())
        missing = compute_outcome(metric, lacking, made)
        assert isinstance(missing, Unscored)
        assert missing.reason == "skipped"
        assert f"has no {column}" in missing.detail


def test_findings_of_both_kinds_have_the_same_statements() -> None:
    made, _ = found(SAMPLE, *BOTH)
    joint, cells = made.value(JointVerdicts()), made.value(SeparateVerdicts())
    assert isinstance(joint, JudgedStatements)
    assert isinstance(cells, VerdictTable)
    assert joint.statements == cells.statements
