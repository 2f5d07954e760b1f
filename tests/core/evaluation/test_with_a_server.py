"""Tests of whole evaluations by a chat model and an embedder on a faulty server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.chat_server import ChatServer, chat_server, closes_midway, refuses, replies, spoils, status
from tests.core.conftest import make_run

from ragboard import DEFAULT_METRICS, METRICS, JudgeError, Panel, Store, evaluate_run
from ragboard.analysis import SampleQuery, sample_rows
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.llm import Endpoint, Limits, LlmJudge, OpenAiEmbedder
from ragboard.records import Score, Unscored
from ragboard.store import RunRef

ALL = DEFAULT_METRICS


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


async def no_pause(_: float) -> None:
    return None


def panel(server: ChatServer) -> Panel:
    endpoint = Endpoint(server.url, "key", sleep=no_pause)
    return Panel(judge=LlmJudge("m", endpoint), roles={"embed": OpenAiEmbedder("e", endpoint)})


def scores(store: Store, server: ChatServer, samples: int = 3) -> list[dict[str, Score | Unscored]]:
    run_id = store.add_runs([make_run(samples=samples)])[0].id
    done = evaluate_run(store, run_id, ALL, panel(server))
    ref = RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id)
    return [dict(row.scores) for row in sample_rows(store, ref, SampleQuery(limit=100)).rows]


def test_a_sample_costs_at_most_four_chat_calls_and_one_of_embeddings(store: Store, server: ChatServer) -> None:
    """The samples have the same answer, so the questions that it answers are asked for once."""
    found = scores(store, server, samples=3)
    chat = [asked for asked in server.asked if "messages" in asked]
    assert (len(chat), len(server.asked) - len(chat)) == (3 * 3 + 1, 3)
    assert set(found[0]) <= set(METRICS)
    assert all(isinstance(score, Score) for row in found for score in row.values())
    assert found[0]["ragas.context_relevance"] == Score(value=1.0, counted="2 of 2 sentences")


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_evaluation_opens_no_more_connections_than_requests_run_at_a_time(
    store: Store, server: ChatServer, concurrency: int
) -> None:
    server.delay = lambda: 0.01
    run_id = store.add_runs([make_run(samples=6)])[0].id
    endpoint = Endpoint(server.url, "key", limits=Limits(concurrency=concurrency))
    judges = Panel(judge=LlmJudge("m", endpoint), roles={"embed": OpenAiEmbedder("e", endpoint)})
    evaluate_run(store, run_id, ALL, judges, options=EvaluationOptions(concurrency=concurrency))
    assert len(server.asked) > 20
    assert 1 <= len(server.connections) <= concurrency


def test_after_any_fault_a_score_is_right_or_has_a_reason(store: Store, server: ChatServer) -> None:
    well = scores(store, server, samples=6)
    server.faults = [
        status(429, Retry_After="2"),
        replies("no"),
        status(500),
        spoils(lambda good: good[:-9], "length"),
        closes_midway,
        *[replies('{"verdicts": [], "statements": [], "chosen": [99], "questions": [""]}')] * 40,
        *[status(503)] * 20,
    ]
    server.rules = [refuses("json_schema", "response_format is not supported")]
    run = make_run(name="again", samples=6)
    run_id = store.add_runs([run])[0].id
    endpoint = Endpoint(server.url, "key", sleep=no_pause)
    judges = Panel(judge=LlmJudge("other", endpoint), roles={"embed": OpenAiEmbedder("e", endpoint)})
    done = evaluate_run(store, run_id, ALL, judges)
    ref = RunRef(run_id=run_id, name="again", evaluation_id=done.evaluation.id)
    found = [dict(row.scores) for row in sample_rows(store, ref, SampleQuery(limit=100)).rows]
    outcomes = [
        (metric, score, right[metric]) for row, right in zip(found, well, strict=True) for metric, score in row.items()
    ]
    assert all(score == right for _, score, right in outcomes if isinstance(score, Score))
    failed = [score for _, score, _ in outcomes if isinstance(score, Unscored)]
    assert failed
    assert all(score.reason == "failed" and score.detail for score in failed)


def test_a_refused_key_ends_the_evaluation_with_one_line(store: Store, server: ChatServer) -> None:
    server.faults = [status(401)] * 200
    with pytest.raises(JudgeError, match="the key is refused"):
        scores(store, server)
