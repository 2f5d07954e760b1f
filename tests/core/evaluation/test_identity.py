"""Tests of the identity of evaluations, and of the newest complete evaluation of each metric."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.core.conftest import PlainJudge, make_run

from ragboard import NotFoundError, Panel, Score, Store, Turn, evaluate_run
from ragboard.analysis import SampleQuery, leaderboard, run_summary, sample_rows
from ragboard.cli import main
from ragboard.evaluation.engine import FinishedEvaluation
from ragboard.evaluation.options import EvaluationOptions
from ragboard.metrics import metrics_named
from ragboard.tasks import TASKS, Similarity

FAITHFULNESS, RELEVANCE = "ragas.faithfulness", "ragas.answer_relevance"


@pytest.fixture
def run_id(store: Store) -> str:
    return store.add_runs([make_run("run")])[0].id


def evaluated(
    store: Store,
    run_id: str,
    metrics: Sequence[str],
    judge: str = "plain",
    embed: str = "near",
    sample: int | None = None,
) -> FinishedEvaluation:
    panel = Panel(judge=PlainJudge(name=judge, version=judge), roles={"embed": PlainJudge(name=embed, version=embed)})
    return evaluate_run(store, run_id, metrics_named(metrics), panel, EvaluationOptions(sample=sample))


def command(store: Store, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--store", str(store.folder)])


def test_an_embedder_that_no_metric_asks_changes_nothing(store: Store, run_id: str) -> None:
    first = evaluated(store, run_id, ["faithfulness"], embed="near")
    second = evaluated(store, run_id, ["faithfulness"], embed="far")
    assert second.evaluation.id == first.evaluation.id
    assert (second.asked, second.replayed) == (0, first.asked)
    assert second.evaluation.judge == "plain"


def test_a_task_type_that_a_new_version_adds_changes_nothing(
    store: Store, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr("ragboard.judges.panel.TASKS", tuple(kind for kind in TASKS if kind is not Similarity))
        first = evaluated(store, run_id, ["faithfulness"])
    second = evaluated(store, run_id, ["faithfulness"])
    assert second.evaluation.id == first.evaluation.id
    assert second.asked == 0


def test_a_metric_added_later_joins_the_evaluation_of_its_judges(store: Store, run_id: str) -> None:
    first = evaluated(store, run_id, ["faithfulness"])
    second = evaluated(store, run_id, ["answer_relevance"])
    assert second.evaluation.id == first.evaluation.id
    assert second.evaluation.metrics == (FAITHFULNESS, RELEVANCE)
    assert run_summary(store, store.resolve("run")).metrics.keys() == {FAITHFULNESS, RELEVANCE}


def test_another_embedder_makes_another_evaluation_of_the_metrics_that_ask_it(store: Store, run_id: str) -> None:
    first = evaluated(store, run_id, ["faithfulness", "answer_relevance"], embed="near")
    second = evaluated(store, run_id, ["answer_relevance"], embed="far")
    assert second.evaluation.id != first.evaluation.id
    shown = run_summary(store, store.resolve("run")).metrics
    by_judge = {spec: metric.judged and metric.judged.evaluation_id for spec, metric in shown.items()}
    assert by_judge == {FAITHFULNESS: first.evaluation.id, RELEVANCE: second.evaluation.id}
    again = evaluated(store, run_id, ["answer_relevance"], embed="far")
    assert (again.evaluation.id, again.asked) == (second.evaluation.id, 0)


def test_an_evaluation_extended_by_a_metric_with_other_judges_keeps_its_id(store: Store, run_id: str) -> None:
    first = evaluated(store, run_id, ["faithfulness"], embed="near")
    evaluated(store, run_id, ["answer_relevance"], embed="near")
    second = evaluated(store, run_id, ["faithfulness"], embed="far")
    assert second.evaluation.id != first.evaluation.id
    assert run_summary(store, store.resolve(f"run@{first.evaluation.id}")).metrics.keys() == {FAITHFULNESS, RELEVANCE}


def test_metrics_scored_before_are_still_shown_after_another_evaluation(store: Store, run_id: str) -> None:
    evaluated(store, run_id, ["faithfulness"])
    evaluated(store, run_id, ["answer_relevance"], judge="other")
    assert leaderboard(store)[0].metrics.keys() == {FAITHFULNESS, RELEVANCE}
    (row, *_) = sample_rows(store, store.resolve("run"), SampleQuery(column=FAITHFULNESS)).rows
    assert all(isinstance(row.scores[spec], Score) for spec in (FAITHFULNESS, RELEVANCE))
    checked = command(store, "check", "run", "--min", "faithfulness=0.0")
    assert checked.exit_code == 0 or "no metric '" not in checked.output


def test_an_evaluation_without_statements_does_not_hide_those_there_are(store: Store, run_id: str) -> None:
    first = evaluated(store, run_id, ["faithfulness"])
    evaluated(store, run_id, ["answer_relevance"], judge="other")
    assert store.resolve("run").evaluation_id == first.evaluation.id
    assert sum(leaderboard(store)[0].labels.values()) > 0


def test_a_partial_evaluation_is_shown_only_where_there_is_no_other_and_marked(store: Store, run_id: str) -> None:
    whole = evaluated(store, run_id, ["faithfulness"])
    evaluated(store, run_id, ["faithfulness", "answer_relevance"], judge="other", sample=1)
    metrics = run_summary(store, store.resolve("run")).metrics
    judged = metrics[FAITHFULNESS].judged
    assert judged is not None
    assert judged.evaluation_id == whole.evaluation.id
    shown = command(store, "runs")
    assert "judge other + near, 1 of 3 samples evaluated" in shown.output


def test_an_evaluation_can_still_be_named(store: Store, run_id: str) -> None:
    first = evaluated(store, run_id, ["faithfulness"])
    second = evaluated(store, run_id, ["faithfulness"], judge="other")
    named = store.resolve(f"run@{first.evaluation.id}")
    assert [one.judged and one.judged.judge for one in run_summary(store, named).metrics.values()] == ["plain"]
    assert f"run@{second.evaluation.id}: other" in command(store, "show", "run").output
    with pytest.raises(NotFoundError, match=first.evaluation.id):
        store.resolve("run@nothing")


def test_an_interrupted_evaluation_continues_under_its_id(store: Store, run_id: str) -> None:
    done = evaluated(store, run_id, ["faithfulness"])
    with store.database.write() as connection:
        connection.execute("DELETE FROM evaluations")
    again = evaluated(store, run_id, ["faithfulness"], embed="far")
    assert (again.evaluation.id, again.asked) == (done.evaluation.id, 0)


def comparable(store: Store, judges: str, *more: str) -> Result:
    """Two runs, each evaluated by the judges named `a` and `b` in this string of pairs, oldest first."""
    ids = {"a": "", "b": ""}
    for name in ids:
        ids[name] = store.add_runs([replace(make_run(name, samples=12), config={"name": name})])[0].id
    for side, judge in zip(judges[::2], judges[1::2], strict=True):
        evaluated(store, ids[side], ["faithfulness"], judge={"p": "plain", "o": "other", "s": "strict"}[judge])
    return command(store, "compare", "a", "b", *more)


def test_two_runs_are_compared_on_the_newest_judge_that_both_have(store: Store) -> None:
    found = comparable(store, "apbpaoboas", "--json")
    assert found.exit_code == 0, found.output
    compared = json.loads(found.stdout)["comparison"]
    assert [compared[side]["metrics"][FAITHFULNESS]["judged"]["judge"] for side in "ab"] == ["other", "other"]
    assert compared["metrics"][0]["change"] == "no significant difference"


def test_a_comparison_across_judges_gives_no_verdict_and_ends_with_2(store: Store) -> None:
    found = comparable(store, "apbo")
    assert found.exit_code == 2
    assert "not comparable: different judges" in found.output
    assert "different judges (plain in A, other in B): Faithfulness" in found.output
    assert "p = " not in found.output


def test_a_gate_across_judges_gives_no_verdict_and_ends_with_2(store: Store) -> None:
    found = comparable(store, "apbo", "--fail-if", "faithfulness < -0.9")
    assert found.exit_code == 2
    assert "pass" not in found.stdout
    assert "--allow-different-judges" in found.output


def test_different_judges_can_be_allowed(store: Store) -> None:
    found = comparable(store, "apbo", "--fail-if", "faithfulness < -0.9", "--allow-different-judges")
    assert found.exit_code in (0, 4)
    assert "all differences are 0" in found.output
    assert "not comparable" not in found.output


def test_a_named_evaluation_is_compared_with_the_same_judge_of_the_other_run(store: Store) -> None:
    comparable(store, "apaobpbo")
    plain = next(one.id for one in store.evaluations(store.resolve("a").run_id) if one.judge == "plain")
    found = command(store, "compare", f"a@{plain}", "b", "--json")
    compared = json.loads(found.stdout)["comparison"]
    assert compared["b"]["metrics"][FAITHFULNESS]["judged"]["judge"] == "plain"


def test_the_exported_comparison_and_its_pairs_are_of_the_judge_that_both_have(store: Store, tmp_path: Path) -> None:
    comparable(store, "apbpas")
    file = tmp_path / "comparison.json"
    assert (
        command(store, "export", "a", "b", "--what", "comparison", "-o", str(file), "--format", "json").exit_code == 0
    )
    assert [row["change"] for row in json.loads(file.read_text("utf-8"))] == ["no significant difference"]


def test_turns_judged_without_their_conversation_by_an_older_version_are_not_comparable(store: Store) -> None:
    for name in ("a", "b"):
        run = make_run(name, samples=12)
        turns = (Turn(role="user", text="Before?"), Turn(role="assistant", text="Yes."))
        run = replace(run, samples=tuple(replace(sample, history=turns) for sample in run.samples))
        evaluated(store, store.add_runs([run])[0].id, ["faithfulness"])
    older = store.evaluations(store.resolve("a").run_id)[0].id
    with store.database.write() as connection:
        connection.execute(
            "UPDATE evaluations SET reads_history = false, loaded = NULL WHERE evaluation_id = ?", [older]
        )
    found = command(store, "compare", "a", "b")
    assert found.exit_code == 2
    assert "different judges (plain in both, but with different prompts, settings or versions)" in found.output
    evaluated(store, store.resolve("a").run_id, ["faithfulness"])
    assert command(store, "compare", "a", "b").exit_code == 0


def test_metrics_without_judge_tasks_add_no_judge_tasks(store: Store, run_id: str) -> None:
    first = evaluate_run(store, run_id, metrics_named(["context_overlap"]), Panel(judge=PlainJudge()))
    second = evaluated(store, run_id, ["faithfulness"], sample=1)
    assert (first.evaluation.judge, second.evaluation.judge) == ("none", "plain")
    assert second.samples == 1
    again = evaluate_run(store, run_id, metrics_named(["context_overlap"]), Panel(judge=PlainJudge(name="other")))
    assert again.evaluation.id == first.evaluation.id


def test_refusals_found_by_different_judges_are_not_compared(store: Store) -> None:
    found = comparable(store, "apbo", "--json")
    assert found.exit_code in (0, 2)
    compared = json.loads(found.stdout)["comparison"]
    assert (compared["refusals"], compared["statements_a"]) == (None, None)


def test_statements_are_compared_from_the_judge_that_split_both(store: Store) -> None:
    comparable(store, "apbp")
    for side, judge in (("a", "other"), ("b", "strict")):
        evaluated(store, store.resolve(side).run_id, ["faithfulness"], judge=judge)
        evaluated(store, store.resolve(side).run_id, ["context_overlap"], judge=judge)
    compared = json.loads(command(store, "compare", "a", "b", "--json").stdout)["comparison"]
    assert [compared[side]["judged"]["judge"] for side in "ab"] == ["plain", "plain"]
