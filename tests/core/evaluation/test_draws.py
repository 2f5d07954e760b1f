"""Tests of repeated judgements (`--draws`): scores are those of the first draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import Response
from tests.chat_server import ChatServer, answer, chat_server, completion
from tests.core.conftest import PlainJudge

from ragboard import EmbeddedJudge, Panel, Passage, Run, RunRef, Sample, SettingError, Store, evaluate_run
from ragboard.analysis import SampleQuery, sample_report, sample_rows, self_agreement
from ragboard.evaluation.calls import sample_calls
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.plan import plan_run
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.metrics import metrics_named

FAITHFULNESS = metrics_named(["ragas.faithfulness"])
THREE = EvaluationOptions(draws=3)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def panel(server: ChatServer) -> Panel:
    return Panel(judge=LlmJudge("m", Endpoint(server.url, "key")), roles={"embed": EmbeddedJudge()})


def towers(count: int) -> Run:
    made = tuple(
        Sample(
            id=str(number),
            question=f"What is tower {number}?",
            answer=f"The tower {number} is red. It opened in the year {number}.",
            contexts=(Passage(id="1", text=f"The tower {number} is red and has a door.", rank=1),),
        )
        for number in range(count)
    )
    return Run(name="towers", samples=made)


def doubts(tower: int) -> Any:
    """A rule by which the model no longer supports the statements about one tower, above temperature 0."""

    def rule(asked: dict[str, Any]) -> Response | None:
        if "messages" not in asked or not asked["temperature"]:
            return None
        prompt = asked["messages"][-1]["content"]
        if f"tower {tower} is red" not in prompt:
            return None
        return completion(answer(prompt).replace('"supported"', '"unsupported"'))

    return rule


def verdict_requests(server: ChatServer) -> list[dict[str, Any]]:
    return [asked for asked in server.asked if '"verdicts"' in str(asked["messages"])]


def test_draws_ask_for_verdicts_again_and_for_statements_once(store: Store, server: ChatServer) -> None:
    server.rules.append(doubts(1))
    (run,) = store.add_runs([towers(4)])
    planned = plan_run(store, run.id, FAITHFULNESS, panel(server), draws=3).total
    done = evaluate_run(store, run.id, FAITHFULNESS, panel(server), THREE)
    assert planned.expected.chat_calls == len(server.asked) == done.asked == 4 + 3 * 4
    ref = RunRef(run_id=run.id, name=run.name, evaluation_id=done.evaluation.id)
    scores = {
        row.sample_id: row.scores["ragas.faithfulness"].value for row in sample_rows(store, ref, SampleQuery()).rows
    }
    assert scores == dict.fromkeys("0123", 0.5)  # one of two statements, in the first draw


def test_the_share_of_draws_of_each_verdict(store: Store, server: ChatServer) -> None:
    server.rules.append(doubts(1))
    (run,) = store.add_runs([towers(12)])
    done = evaluate_run(store, run.id, FAITHFULNESS, panel(server), THREE)
    ref = RunRef(run_id=run.id, name=run.name, evaluation_id=done.evaluation.id)
    doubted, sure = (sample_report(store, ref, sample).statements for sample in ("1", "2"))
    assert [one.draws_in_words for one in doubted] == [
        "unsupported in 2 of 3 draws, supported in 1",
        "unsupported in 3 of 3 draws",
    ]
    assert [one.draws_in_words for one in sure] == ["supported in 3 of 3 draws", "unsupported in 3 of 3 draws"]
    assert doubted[0].verdict
    assert doubted[0].verdict.label == "supported"  # the first draw
    found = self_agreement(store, ref)
    assert found
    (verdicts,), (metric,) = found.replies, found.metrics
    assert (verdicts.kind, verdicts.items, verdicts.flips) == ("verdicts on statements", 24, 1)
    assert verdicts.agreement == pytest.approx((23 + 1 / 3) / 24)  # of the three pairs of draws one is equal
    assert (metric.draws, metric.samples, metric.changed) == (3, 12, pytest.approx(1 / 12))
    assert metric.means == pytest.approx((0.5, 0.5 - 0.5 / 12, 0.5 - 0.5 / 12))
    assert metric.spread == pytest.approx(((0.5**2 / 3) / 12) ** 0.5)  # the variance of 0.5, 0 and 0 is 1/12
    rows = sample_rows(store, ref, SampleQuery(order="unsure")).rows
    assert [(row.sample_id, row.flips) for row in rows[:2]] == [("1", (1, 2)), ("0", (0, 2))]
    assert "differ between draws" in rows[0].flips_in_words


def test_an_evaluation_keeps_its_draws(store: Store, server: ChatServer) -> None:
    (run,) = store.add_runs([towers(3)])
    evaluate_run(store, run.id, FAITHFULNESS, panel(server), THREE)
    asked = len(server.asked)
    done = evaluate_run(store, run.id, FAITHFULNESS, panel(server))
    assert store.draw_counts(done.evaluation.id) == {"ragas.faithfulness": 3}
    more = evaluate_run(store, run.id, metrics_named(["ragas.context_relevance"]), panel(server))
    assert len(server.asked) == asked + 3  # the new metric is asked for once
    assert store.draw_counts(more.evaluation.id) == {"ragas.faithfulness": 3}


def test_further_draws_cost_nothing_twice(store: Store, server: ChatServer) -> None:
    (run,) = store.add_runs([towers(3)])
    evaluate_run(store, run.id, FAITHFULNESS, panel(server))
    asked = len(server.asked)
    planned = plan_run(store, run.id, FAITHFULNESS, panel(server), draws=3).total.expected.chat_calls
    evaluate_run(store, run.id, FAITHFULNESS, panel(server), THREE)
    assert planned == len(server.asked) - asked == 2 * 3


def test_each_draw_is_among_the_calls_of_a_sample(store: Store, server: ChatServer) -> None:
    (run,) = store.add_runs([towers(1)])
    done = evaluate_run(store, run.id, FAITHFULNESS, panel(server), THREE)
    ref = RunRef(run_id=run.id, name=run.name, evaluation_id=done.evaluation.id)
    tasks = [one.task for one in sample_calls(store, ref, "0").tasks]
    assert len(tasks) == 4
    assert [name[name.find("(draw") :] for name in tasks if "(draw" in name] == ["(draw 2)", "(draw 3)"]


def test_a_metric_that_draws_several_replies_draws_each_of_them_again(store: Store, server: ChatServer) -> None:
    (run,) = store.add_runs([towers(1)])
    (metric,) = metrics_named(["ragas.context_relevancy(n=2)"])
    done = evaluate_run(store, run.id, [metric], panel(server), THREE)
    assert len(server.asked) == 3 * 2
    ref = RunRef(run_id=run.id, name=run.name, evaluation_id=done.evaluation.id)
    names = [one.task.partition("(")[2].rstrip(")") for one in sample_calls(store, ref, "0").tasks]
    assert sorted(names) == ["", "draw 2", "draw 2, reply 2", "draw 3", "draw 3, reply 2", "reply 2"]


@pytest.mark.parametrize("judge", [EmbeddedJudge(), PlainJudge()])
def test_a_judge_that_always_replies_the_same_has_no_draws(store: Store, judge: Any) -> None:
    (run,) = store.add_runs([towers(1)])
    with pytest.raises(SettingError, match="--draws has no effect"):
        evaluate_run(store, run.id, FAITHFULNESS, Panel(judge=judge), THREE)
    assert self_agreement(store, RunRef(run_id=run.id, name=run.name, evaluation_id=None)) is None
