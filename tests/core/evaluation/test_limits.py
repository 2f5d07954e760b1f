"""Tests of stopping at a limit, and of resuming with the same command."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.chat_server import ChatServer, chat_server, status
from tests.core.conftest import PlainJudge, make_run

from ragboard import Panel, Store, evaluate_run
from ragboard.analysis import SampleQuery, sample_rows
from ragboard.cli import main
from ragboard.evaluation.engine import FinishedEvaluation
from ragboard.evaluation.options import EvaluationOptions
from ragboard.evaluation.progress import Progress, read_progress, stop_file
from ragboard.judges.llm import Endpoint, LlmJudge
from ragboard.metrics import metrics_named
from ragboard.prices import Price
from ragboard.records import Outcome, Score, Unscored
from ragboard.store import RunRef
from ragboard.tasks import Failure, SelectSentences, Task, Verify

FAITHFULNESS = metrics_named(["ragas.faithfulness"])
BOTH = metrics_named(["ragas.faithfulness", "ragas.context_relevance"])
PRICES = {"m": Price(prompt=1.0, completion=10.0)}
"""A call of 100 and 10 tokens costs $0.0002."""


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


async def no_pause(_: float) -> None:
    return None


def panel(server: ChatServer) -> Panel:
    return Panel(judge=LlmJudge("m", Endpoint(server.url, "key", sleep=no_pause)))


def kept(store: Store, samples: int = 20) -> str:
    """A run of samples that share no task."""
    run = make_run(samples=samples)
    own = [replace(sample, answer=f"It is red {sample.id}. It is old.") for sample in run.samples]
    return store.add_runs([replace(run, samples=tuple(own))])[0].id


def found(store: Store, done: FinishedEvaluation) -> dict[str, dict[str, Outcome]]:
    ref = RunRef(run_id=done.evaluation.run_id, name="run", evaluation_id=done.evaluation.id)
    rows = sample_rows(store, ref, SampleQuery(limit=1000)).rows
    return {row.sample_id: dict(row.scores) for row in rows if row.scores}


def test_calls_are_never_more_than_allowed_and_the_rest_comes_later(store: Store, server: ChatServer) -> None:
    run_id = kept(store)
    options = EvaluationOptions(max_calls=15, concurrency=4)
    first = evaluate_run(store, run_id, FAITHFULNESS, panel(server), options)
    assert (len(server.asked), first.asked) == (15, 15)
    assert first.stopped == "the limit of 15 calls is reached"
    scored = {name for name, row in found(store, first).items() if isinstance(row["ragas.faithfulness"], Score)}
    assert 0 < len(scored) <= 7
    second = evaluate_run(store, run_id, FAITHFULNESS, panel(server))
    assert (len(server.asked), second.asked, second.stopped) == (40, 25, "")
    assert len({str(asked) for asked in server.asked}) == 40
    assert len(found(store, second)) == 20


def test_nothing_is_sent_if_the_limit_allows_no_call(store: Store, server: ChatServer) -> None:
    done = evaluate_run(store, kept(store), FAITHFULNESS, panel(server), EvaluationOptions(max_calls=0))
    assert (done.samples, done.asked, server.asked) == (0, 0, [])


def test_cost_stops_it_once_it_is_reached(store: Store, server: ChatServer) -> None:
    """The server counts 100 tokens of every prompt, so a longer prompt than those before is expected to cost more."""
    options = EvaluationOptions(max_cost=0.002, prices=PRICES, concurrency=1)
    done = evaluate_run(store, kept(store), FAITHFULNESS, panel(server), options)
    assert done.stopped == "the limit of $0.002 is reached"
    assert 0.0018 <= (done.spent[0].cost or 0) <= 0.002
    assert done.samples == 4


def test_minutes_that_are_over_stop_it(store: Store, server: ChatServer) -> None:
    done = evaluate_run(store, kept(store), FAITHFULNESS, panel(server), EvaluationOptions(max_minutes=0))
    assert (done.stopped, server.asked) == ("the limit of 0 minutes is reached", [])


def test_an_evaluation_stopped_before_its_first_task_is_still_its_judges(store: Store, server: ChatServer) -> None:
    done = evaluate_run(store, kept(store), FAITHFULNESS, panel(server), EvaluationOptions(max_minutes=0))
    assert (done.asked, done.evaluation.judge) == (0, "openai:m")


def test_what_was_covered_before_stays_when_a_later_metric_is_cut_short(store: Store, server: ChatServer) -> None:
    run_id = kept(store)
    whole = evaluate_run(store, run_id, FAITHFULNESS, panel(server))
    done = evaluate_run(store, run_id, BOTH, panel(server), EvaluationOptions(max_calls=5))
    rows = found(store, done)
    assert {name: row["ragas.faithfulness"] for name, row in rows.items()} == {
        name: row["ragas.faithfulness"] for name, row in found(store, whole).items()
    }
    missing = [row["ragas.context_relevance"] for row in rows.values()]
    assert sum(isinstance(outcome, Score) for outcome in missing) == 5
    assert sum(outcome == Unscored(reason="skipped", detail=done.stopped) for outcome in missing) == 15


def test_samples_that_lack_a_column_do_not_count_as_reached(store: Store, server: ChatServer) -> None:
    """Without references RAGChecker's recall is skipped of itself; that is no reason to say a sample was done."""
    metrics = metrics_named(["ragas.faithfulness", "ragchecker.recall"])
    done = evaluate_run(store, kept(store), metrics, panel(server), EvaluationOptions(max_calls=4, concurrency=1))
    assert done.samples == 2
    assert len(found(store, done)) == 2


def test_failures_stay_in_what_is_covered_when_a_retry_is_cut_short(store: Store) -> None:
    def refuse(task: Task) -> Failure | None:
        return Failure(detail="silent") if isinstance(task, Verify) else None

    run_id = kept(store, 6)
    evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=PlainJudge(before=refuse)))
    done = evaluate_run(
        store, run_id, FAITHFULNESS, Panel(judge=PlainJudge()), EvaluationOptions(retry=True, max_calls=0)
    )
    assert done.samples == 6
    assert {row["ragas.faithfulness"] for row in found(store, done).values()} == {
        Unscored(reason="failed", detail="silent")
    }
    again = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=PlainJudge()), EvaluationOptions(retry=True))
    assert all(isinstance(row["ragas.faithfulness"], Score) for row in found(store, again).values())


def test_a_retry_makes_no_calls_for_samples_that_were_not_evaluated(store: Store) -> None:
    run_id = kept(store, 12)
    evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=PlainJudge()), EvaluationOptions(sample=4))
    judge = PlainJudge()
    done = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge), EvaluationOptions(retry=True))
    assert (done.samples, judge.asked) == (4, [])


@pytest.mark.parametrize("number", [1, 7, 20, 25])
def test_exactly_the_samples_drawn_are_evaluated_and_a_seed_draws_the_same(store: Store, number: int) -> None:
    done = evaluate_run(
        store, kept(store), FAITHFULNESS, Panel(judge=PlainJudge()), EvaluationOptions(sample=number, seed=3)
    )
    wanted = random.Random(3).sample(range(20), 20)[:number]
    assert set(found(store, done)) == {f"s{position}" for position in wanted}
    assert done.samples == len(wanted) == min(number, 20)


def test_another_seed_draws_others(store: Store) -> None:
    run_id, judge = kept(store), PlainJudge()
    first = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge), EvaluationOptions(sample=7, seed=3))
    both = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge), EvaluationOptions(sample=7, seed=4))
    assert 7 == first.samples < both.samples <= 14


def test_a_later_evaluation_of_all_asks_only_the_rest(store: Store) -> None:
    run_id, judge = kept(store), PlainJudge()
    first = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge), EvaluationOptions(sample=5, seed=1))
    more = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge), EvaluationOptions(sample=8, seed=1))
    assert (first.samples, more.samples) == (5, 8)
    assert set(found(store, first)) <= set(found(store, more))
    whole = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge))
    assert (whole.samples, len(judge.asked)) == (20, 40)
    assert len(set(judge.asked)) == 40


def test_a_breaker_ends_what_only_fails_and_says_why(store: Store, server: ChatServer) -> None:
    server.faults = [status(400, "out of order")] * 500
    done = evaluate_run(store, kept(store, 300), FAITHFULNESS, panel(server), EvaluationOptions(concurrency=8))
    assert done.stopped.startswith("the last 50 tasks all failed; last error: status 400")
    assert 50 <= len(server.asked) <= 50 + 8
    assert done.samples == len(server.asked)


def test_a_stop_file_ends_it_with_what_is_done_kept(store: Store) -> None:
    run_id = kept(store)

    def stop(progress: Progress) -> None:
        if progress.asked >= 1:
            stop_file(status_path(store)).touch()

    judge = PlainJudge()
    done = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge), EvaluationOptions(concurrency=1), watch=stop)
    assert done.stopped == "stopped by the user; run the same command to resume"
    last = read_progress(status_path(store))
    assert last is not None
    assert (last.state, last.message) == ("stopped", done.stopped)
    again = evaluate_run(store, run_id, FAITHFULNESS, Panel(judge=judge), EvaluationOptions(concurrency=1))
    assert (again.stopped, again.samples) == ("", 20)
    assert len(judge.asked) == len(set(judge.asked)) == 40


def status_path(store: Store) -> Path:
    (journal,) = (store.folder / "journals").glob("*.jsonl")
    return journal.with_suffix(".status.json")


def command(store: Store, server: ChatServer, *given: str) -> Result:
    fixed = ["--judge", "openai:m", "--base-url", server.url, "--embed", "embedded", "--metrics", "ragas.faithfulness"]
    return CliRunner(env={"OPENAI_API_KEY": "key"}).invoke(
        main, ["evaluate", "run", "--store", str(store.folder), *fixed, *given]
    )


def prices(folder: Path) -> str:
    path = folder / "prices.toml"
    path.write_text("[m]\nprompt = 1.0\ncompletion = 10.0\n", encoding="utf-8")
    return str(path)


def test_a_limit_on_the_command_line_ends_with_exit_code_3(store: Store, server: ChatServer, tmp_path: Path) -> None:
    kept(store)
    stopped = command(store, server, "--max-calls", "6")
    assert stopped.exit_code == 3
    assert "stopped: the limit of 6 calls is reached; replies so far are saved" in stopped.stderr
    by_cost = command(store, server, "--max-cost", "0.001", "--prices", prices(tmp_path), "--concurrency", "1")
    assert by_cost.exit_code == 3
    assert 6 + 4 <= len(server.asked) <= 6 + 5
    whole = command(store, server)
    assert whole.exit_code == 0
    assert len(server.asked) == 40


def test_an_unknown_price_is_one_line_before_anything_is_asked(store: Store, server: ChatServer) -> None:
    kept(store)
    refused = command(store, server, "--max-cost", "1")
    assert refused.exit_code == 2
    assert refused.stderr.endswith("\nragboard: --max-cost needs a price for m: pass it with --prices FILE\n")
    assert server.asked == []


def test_a_refused_key_ends_at_once_with_one_line(store: Store, server: ChatServer) -> None:
    """Those under way are under way; nobody who waits is sent after them."""
    kept(store, 60)
    server.faults = [status(401)] * 500
    three = "ragas.faithfulness,ragas.answer_relevance,ragas.context_relevance"
    refused = command(store, server, "--concurrency", "4", "--metrics", three)
    assert refused.exit_code == 6
    assert refused.stderr.count("\n") - refused.stderr.count("sent to ") == 1
    assert "the key is refused" in refused.stderr
    assert 1 <= len(server.asked) <= 4


def test_a_request_that_is_rejected_for_what_it_says_is_sent_once(store: Store, server: ChatServer) -> None:
    run_id = kept(store, 5)
    server.faults = [status(400, "the prompt is too long")] * 5
    done = evaluate_run(store, run_id, FAITHFULNESS, panel(server))
    assert (done.failed, len(server.asked)) == (5, 5)
    outcomes = [row["ragas.faithfulness"] for row in found(store, done).values()]
    assert all(isinstance(one, Unscored) and "the prompt is too long" in one.detail for one in outcomes)


def test_a_metric_added_later_and_a_rerun_ask_the_server_only_what_is_new(store: Store, server: ChatServer) -> None:
    run_id = kept(store, 6)
    evaluate_run(store, run_id, FAITHFULNESS, panel(server), EvaluationOptions(cache=False))
    assert len(server.asked) == 12
    evaluate_run(store, run_id, BOTH, panel(server), EvaluationOptions(cache=False))
    assert len(server.asked) == 18
    assert all("Choose the sentences" in _prompt(asked) for asked in server.asked[12:])
    done = evaluate_run(store, run_id, BOTH, panel(server), EvaluationOptions(cache=False))
    assert (len(server.asked), done.asked) == (18, 0)
    assert SelectSentences.__name__ in done.evaluation.identity


def _prompt(asked: dict[str, Any]) -> str:
    return str(asked["messages"][0]["content"])
