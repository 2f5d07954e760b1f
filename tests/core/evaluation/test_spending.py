"""Tests of usage read from the journal: after failures, after a resume, and without a price."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import pytest
from tests.chat_server import ChatServer, chat_server, replies
from tests.core.conftest import make_run

from ragboard import EmbeddedJudge, Panel, Store, evaluate_run
from ragboard.analysis import run_summary
from ragboard.analysis.runs import total_usage
from ragboard.evaluation.options import EvaluationOptions, ModelEstimate
from ragboard.evaluation.plan import plan_run
from ragboard.judges.llm import Endpoint, LlmJudge, OpenAiEmbedder
from ragboard.metrics import metrics_named
from ragboard.prices import Price
from ragboard.records import ModelUsage
from ragboard.store import RunRef

FAITHFULNESS = metrics_named(["ragas.faithfulness"])
PRICES = {"m": Price(prompt=1.0, completion=10.0)}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def panel(server: ChatServer) -> Panel:
    endpoint = Endpoint(server.url, "key")
    return Panel(judge=LlmJudge("m", endpoint), roles={"embed": OpenAiEmbedder("e", endpoint)})


def kept(store: Store, samples: int = 2) -> str:
    return store.add_runs([make_run(samples=samples)])[0].id


def test_the_spend_is_what_the_server_counted(store: Store, server: ChatServer) -> None:
    run_id = kept(store)
    done = evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(prices=PRICES))
    (spend,) = done.spent
    assert (spend.model, spend.embedding, spend.calls, spend.uncounted) == ("m", False, 4, 0)
    assert (spend.prompt_tokens, spend.completion_tokens) == (400, 40)
    assert spend.cost == pytest.approx((400 * 1 + 40 * 10) / 1e6)


def test_repairs_failures_and_second_attempts_are_paid_too(store: Store, server: ChatServer) -> None:
    run_id = kept(store, 1)
    server.faults = [replies("no")] * 3
    first = evaluate_run(store, run_id, FAITHFULNESS, panel(server))
    assert (first.failed, first.spent[0].calls) == (1, 3)
    second = evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(retry=True))
    assert (second.failed, second.spent[0].calls) == (0, 5)
    assert len(server.asked) == 5


def test_a_rerun_spends_nothing_and_still_knows_what_was_spent(store: Store, server: ChatServer) -> None:
    run_id = kept(store)
    first = evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(prices=PRICES))
    again = evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(prices=PRICES))
    assert again.asked == 0
    assert again.spent == first.spent


def test_tokens_that_a_server_does_not_say_make_the_cost_unknown(store: Store, server: ChatServer) -> None:
    """The server says how many tokens a reply took, and does not for embeddings."""
    metrics = metrics_named(["ragas.answer_relevance"])
    done = evaluate_run(
        store, kept(store), metrics, panel(server), EvaluationOptions(prices=PRICES | {"e": Price(prompt=1)})
    )
    by_model = {spend.model: spend for spend in done.spent}
    assert (by_model["e"].calls, by_model["e"].uncounted, by_model["e"].cost) == (2, 2, None)
    assert by_model["m"].cost is not None


def test_judges_that_ask_no_model_leave_no_spend(store: Store) -> None:
    assert evaluate_run(store, kept(store), FAITHFULNESS, Panel(judge=EmbeddedJudge())).spent == ()


def test_the_report_says_how_near_the_plan_was(store: Store, server: ChatServer) -> None:
    run_id = kept(store)
    expected = plan_run(store, run_id, FAITHFULNESS, panel(server)).models
    done = evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(expected=expected, prices=PRICES))
    ref = RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id)
    usage = run_summary(store, ref).usage
    assert usage is not None
    assert usage.models == done.spent
    assert usage.calls_to_plan_ratio == 1.0
    assert usage.tokens_to_plan_ratio == pytest.approx(440 / expected[0].tokens)
    assert str(usage).startswith("4 calls, 440 tokens, $0.0008; 100% of the calls and")


def test_a_model_that_was_planned_and_never_answered_is_named(store: Store, server: ChatServer) -> None:
    expected = (ModelEstimate(model="other", embedding=False, calls=4, tokens=100),)
    done = evaluate_run(store, kept(store), FAITHFULNESS, panel(server), EvaluationOptions(expected=expected))
    other, asked = done.spent
    assert (other.model, other.calls, other.cost, other.planned_calls) == ("other", 0, 0.0, 4)
    assert (asked.model, asked.planned_calls) == ("m", None)


def test_removing_a_run_removes_its_spend(store: Store, server: ChatServer) -> None:
    run_id = kept(store)
    evaluate_run(store, run_id, FAITHFULNESS, panel(server))
    store.remove_runs([run_id])
    with store.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM spending").fetchone() == (0,)


def spend(**given: object) -> ModelUsage:
    usual: dict[str, object] = {
        "model": "m",
        "embedding": False,
        "calls": 10,
        "uncounted": 0,
        "prompt_tokens": 900,
        "cached_tokens": 0,
        "completion_tokens": 100,
        "cost": 0.5,
        "planned_calls": 8,
        "planned_tokens": 2000,
    }
    return ModelUsage(**(usual | given))  # type: ignore[arg-type]


def test_models_are_summed() -> None:
    both = total_usage([spend(), spend(model="e", embedding=True, calls=6, cost=0.25)])
    assert (both.calls, both.prompt_tokens, both.completion_tokens, both.cost) == (16, 1800, 200, 0.75)
    assert (both.calls_to_plan_ratio, both.tokens_to_plan_ratio) == (1.0, 0.5)
    assert str(both) == "16 calls, 2,000 tokens, $0.7500; 100% of the calls and 50% of the tokens planned"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cost": None}, "10 calls, 1,000 tokens, cost unknown (m); 125% of the calls and 50% of the tokens"),
        ({"uncounted": 3}, "10 calls, 1,000 tokens (unknown for 3 calls), $0.5000; 125% of the calls planned"),
        ({"planned_calls": None, "planned_tokens": None}, "10 calls, 1,000 tokens, $0.5000"),
    ],
    ids=["no price", "no count", "no plan"],
)
def test_what_is_not_known_is_reported(given: dict[str, object], said: str) -> None:
    assert str(total_usage([spend(**given)])).startswith(said)


def test_a_sum_with_a_part_unknown_is_unknown() -> None:
    total = total_usage([spend(), spend(model="x", cost=None, planned_calls=None)])
    assert (total.cost, total.unpriced, total.planned_calls, total.calls_to_plan_ratio) == (None, ("x",), None, None)
    assert asdict(total)["models"][1]["model"] == "x"
