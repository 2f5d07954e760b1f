"""Tests of limits on calls and cost: they hold for every request, also after faults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from tests.chat_server import Asked, ChatServer, Fault, chat_server, never, replies, status
from tests.core.conftest import make_run

from ragboard import Store
from ragboard.cli import main


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
def prices(tmp_path: Path) -> str:
    """A call of 100 and 10 tokens costs $1."""
    path = tmp_path / "prices.toml"
    path.write_text("[m]\nprompt = 0\ncompletion = 100_000\n", encoding="utf-8")
    return str(path)


def evaluate(store: Store, server: ChatServer, *given: str, samples: int = 60) -> Result:
    """The command, of a run of samples that share no task; two calls each."""
    run = make_run(samples=samples)
    own = [replace(sample, answer=f"It is red {sample.id}. It is old.") for sample in run.samples]
    store.add_runs([replace(run, samples=tuple(own))])
    fixed = ["--judge", "openai:m", "--base-url", server.url, "--embed", "embedded", "--metrics", "ragas.faithfulness"]
    return CliRunner(env={"OPENAI_API_KEY": "key"}).invoke(
        main, ["evaluate", "run", "--store", str(store.folder), *fixed, *given]
    )


def counts(tokens: int) -> Fault:
    """Says the good reply, and that prompt and reply had so many tokens each."""

    async def fault(_request: Request, _asked: Asked, good: str) -> Response:
        message = {"role": "assistant", "content": good}
        usage = {"prompt_tokens": tokens, "completion_tokens": tokens}
        return JSONResponse({"usage": usage, "choices": [{"message": message, "finish_reason": "stop"}]})

    return fault


def paid_calls(store: Store) -> int:
    """Calls that the store says were answered."""
    with store.database.read() as connection:
        row = connection.execute("SELECT sum(calls) FROM spending").fetchone()
    return int(row[0]) if row and row[0] else 0


def test_what_is_under_way_is_in_the_limit_of_cost(store: Store, server: ChatServer, prices: str) -> None:
    done = evaluate(store, server, "--max-cost", "3", "--prices", prices, "--concurrency", "32")
    assert (done.exit_code, server.count) == (3, 3)
    assert "stopped: the limit of $3 is reached" in done.stderr
    assert "exceeded" not in done.stderr


def test_so_it_is_with_an_output_limit_and_many_requests_at_once(store: Store, server: ChatServer, prices: str) -> None:
    most = ["--judge-param", "max_tokens=20"]
    done = evaluate(store, server, "--max-cost", "9", "--prices", prices, "--concurrency", "32", *most)
    assert done.exit_code == 3
    assert 8 <= server.count <= 9


def test_replies_longer_than_those_before_exceed_it_by_what_is_printed(
    store: Store, server: ChatServer, prices: str
) -> None:
    server.faults = [replies("no"), replies("no"), counts(25)]
    done = evaluate(store, server, "--max-cost", "3", "--prices", prices, "--concurrency", "1")
    assert (done.exit_code, server.count) == (3, 3)
    assert "the cost limit was exceeded by $1.5" in done.stderr


@pytest.mark.parametrize("limit", [7, 15, 31])
def test_requests_to_repair_malformed_replies_are_in_the_limit_of_calls(
    store: Store, server: ChatServer, limit: int
) -> None:
    server.faults = [replies("no")] * 500
    done = evaluate(store, server, "--max-calls", str(limit))
    assert (done.exit_code, server.count) == (3, limit)
    assert f"stopped: the limit of {limit} calls is reached" in done.stderr


def test_so_are_requests_that_no_reply_comes_to(store: Store, server: ChatServer) -> None:
    server.faults = [never] * 500
    done = evaluate(store, server, "--max-calls", "6", "--deadline", "0.5", samples=6)
    assert (done.exit_code, server.count) == (3, 6)
    assert "6 requests got no reply but may still be billed" in done.stderr


def test_so_are_requests_that_are_sent_again(store: Store, server: ChatServer) -> None:
    server.faults = [status(500), status(429), status(503)] * 100
    done = evaluate(store, server, "--max-calls", "9", samples=6)
    assert (done.exit_code, server.count) == (3, 9)
    assert "on the bill" not in done.stderr


def test_requests_without_a_reply_count_towards_the_limit_of_cost(
    store: Store, server: ChatServer, prices: str
) -> None:
    server.faults = [never] * 500
    most = ["--judge-param", "max_tokens=10"]
    given = ["--max-cost", "4", "--prices", prices, "--deadline", "0.5", *most]
    done = evaluate(store, server, *given, samples=8)
    assert (done.exit_code, server.count) == (3, 4)
    assert "4 requests got no reply but may still be billed, up to $4" in done.stderr


def test_malformed_replies_cost_at_most_the_limit_and_are_all_reported(
    store: Store, server: ChatServer, prices: str
) -> None:
    server.faults = [replies("no")] * 500
    done = evaluate(store, server, "--max-cost", "5", "--prices", prices)
    assert (done.exit_code, server.count) == (3, 5)
    assert paid_calls(store) == 5


def test_what_a_limit_cut_short_is_asked_later_and_its_calls_stay_on_the_bill(store: Store, server: ChatServer) -> None:
    server.faults = [replies("no")] * 5
    first = evaluate(store, server, "--max-calls", "2", samples=3)
    assert (first.exit_code, server.count, paid_calls(store)) == (3, 2, 2)
    server.faults = []
    second = evaluate(store, server, samples=3)
    assert second.exit_code == 0
    assert re.search("6 tasks run, 0 answered earlier", second.stderr)
    assert paid_calls(store) == server.count == 8


def test_a_limit_below_one_call_makes_no_calls_and_says_so(store: Store, server: ChatServer, prices: str) -> None:
    most = ["--judge-param", "max_tokens=20"]
    done = evaluate(store, server, "--max-cost", "0.5", "--prices", prices, *most)
    assert (done.exit_code, server.count) == (3, 0)
    assert "the limit of $0.5 is too low: a single call can cost up to $2" in done.stderr


def test_token_counts_that_no_number_of_tokens_can_be_leave_the_cost_unknown(store: Store, server: ChatServer) -> None:
    server.chance = lambda _: counts(2**62)
    assert evaluate(store, server, samples=3).exit_code == 0
    assert evaluate(store, server, samples=3).exit_code == 0
    (journal,) = store.folder.glob("journals/*.jsonl")
    heard = [line["heard"][0]["prompt_tokens"] for line in map(json.loads, journal.read_text("utf-8").splitlines())]
    assert heard == [None] * 6
    journal.write_text(journal.read_text("utf-8").replace('"prompt_tokens": null', f'"prompt_tokens": {2**62}'))
    assert evaluate(store, server, samples=3).exit_code == 0
    assert server.count == 6
