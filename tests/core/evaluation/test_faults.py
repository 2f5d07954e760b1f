"""Tests against a faulty server: nearly every sample is scored, the others have a reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from random import Random

import pytest
from tests.chat_server import Asked, ChatServer, Fault, chat_server, never, replies, status
from tests.core.conftest import make_run

from ragboard import DEFAULT_METRICS, Panel, Store, evaluate_run
from ragboard.analysis import SampleQuery, sample_rows
from ragboard.evaluation.options import EvaluationOptions
from ragboard.judges.llm import Endpoint, Limits, LlmJudge, OpenAiEmbedder
from ragboard.records import Outcome, Score, Unscored
from ragboard.store import RunRef

CONCURRENCY = 32


class Faults:
    """5% 429, 5% 500, 5% malformed, 2% hung: by what is asked and how often it was, whatever the order."""

    def __init__(self) -> None:
        self.came: Counter[str] = Counter()
        self._times: Counter[bytes] = Counter()

    def __call__(self, asked: Asked) -> Fault | None:
        body = json.dumps(asked, sort_keys=True).encode()
        self._times[body] += 1
        drawn = Random(blake2b(body + bytes([self._times[body]]), digest_size=8).hexdigest()).random()
        for most, name, fault in (
            (0.05, "429", status(429, Retry_After="0.01")),
            (0.10, "500", status(500)),
            (0.15, "malformed", replies('{"verdicts": [')),
            (0.17, "hung", never),
        ):
            if drawn < most:
                self.came[name] += 1
                return fault
        return None


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


async def no_pause(_: float) -> None:
    return None


def outcomes(store: Store, server: ChatServer, samples: int, deadline: float) -> dict[str, dict[str, Outcome]]:
    run = make_run(samples=samples)
    own = [replace(sample, answer=f"It is red {sample.id}. It is {sample.id}.") for sample in run.samples]
    run_id = store.add_runs([replace(run, samples=tuple(own))])[0].id
    endpoint = Endpoint(server.url, "key", timeout=deadline, limits=Limits(concurrency=CONCURRENCY), sleep=no_pause)
    panel = Panel(judge=LlmJudge("m", endpoint), roles={"embed": OpenAiEmbedder("e", endpoint)})
    done = evaluate_run(store, run_id, DEFAULT_METRICS, panel, EvaluationOptions(concurrency=CONCURRENCY))
    ref = RunRef(run_id=run_id, name="run", evaluation_id=done.evaluation.id)
    rows = sample_rows(store, ref, SampleQuery(limit=samples)).rows
    return {row.sample_id: dict(row.scores) for row in rows}


def check(store: Store, server: ChatServer, samples: int, deadline: float) -> Counter[str]:
    well = outcomes(Store(store.folder / "well"), server, samples, 60.0)
    assert all(isinstance(one, Score) for row in well.values() for one in row.values())
    server.chance = faults = Faults()
    ill = outcomes(Store(store.folder / "ill"), server, samples, deadline)
    assert len(ill) == samples
    scored = [name for name, row in ill.items() if all(isinstance(one, Score) for one in row.values())]
    assert len(scored) >= 0.99 * samples
    for name, row in ill.items():
        for metric, one in row.items():
            assert one == well[name][metric] or (isinstance(one, Unscored) and one.reason == "failed" and one.detail)
    return faults.came


def test_a_small_run(store: Store, server: ChatServer) -> None:
    came = check(store, server, samples=60, deadline=3.0)
    assert set(came) == {"429", "500", "malformed", "hung"}


@pytest.mark.slow
def test_a_run_of_500_samples(store: Store, server: ChatServer) -> None:
    came = check(store, server, samples=500, deadline=5.0)
    assert min(came[name] for name in ("429", "500", "malformed")) > 50
    assert came["hung"] > 20
