"""Tests of embeddings from a server: cosines, batches, and failures."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from tests.chat_server import ChatServer, closes_midway, status
from tests.core.judges.llm.conftest import Pauses
from tests.core.judges.llm.test_judge import RATE, ask, failure

from ragboard.errors import JudgeError
from ragboard.judges.llm import Endpoint, OpenAiEmbedder
from ragboard.tasks import Failure, Similarities, Similarity

TASK = Similarity(text="ab", others=("ab", "a", "c"))


@pytest.fixture
def embedder(endpoint: Endpoint) -> OpenAiEmbedder:
    return OpenAiEmbedder("some-embedding", endpoint)


def test_a_similarity_is_the_cosine(embedder: OpenAiEmbedder, server: ChatServer) -> None:
    (reply,) = ask(embedder, TASK)
    assert isinstance(reply, Similarities)
    assert reply.values == pytest.approx((1.0, math.sqrt(0.5), 0.0))
    assert max(reply.values) <= 1.0
    assert server.asked[0]["encoding_format"] == "float"


def test_a_batch_is_one_call_that_holds_each_text_once(embedder: OpenAiEmbedder, server: ChatServer) -> None:
    ask(embedder, TASK, Similarity(text="c", others=("ab", "d")))
    assert [request["input"] for request in server.asked] == [["ab", "a", "c", "d"]]


def test_many_texts_go_in_several_calls(embedder: OpenAiEmbedder, server: ChatServer) -> None:
    (reply,) = ask(embedder, Similarity(text="a", others=tuple("a" * n for n in range(1, 301))))
    assert isinstance(reply, Similarities)
    assert reply.values == pytest.approx((1.0,) * 300)
    assert [len(request["input"]) for request in server.asked] == [256, 44]


def test_an_empty_text_has_no_similarity(embedder: OpenAiEmbedder, server: ChatServer) -> None:
    replies = ask(embedder, Similarity(text=" ", others=("a",)), Similarity(text="a", others=("a",)))
    assert replies[0] == Failure(detail="an empty text has no embedding")
    assert replies[1] == Similarities(values=(1.0,))
    assert server.asked[0]["input"] == ["a"]


def test_nothing_to_compare_with_makes_no_calls(embedder: OpenAiEmbedder, server: ChatServer) -> None:
    assert ask(embedder, Similarity(text="a", others=())) == [Similarities(values=())]
    assert server.asked == []


def rows(*vectors: list[Any]) -> str:
    return json.dumps({"data": [{"index": place, "embedding": row} for place, row in enumerate(vectors)]})


BAD = (
    (rows([1.0], [1.0]), "2 embeddings for 3 texts"),
    (rows([1.0], [1.0], [1.0, 2.0]), "different lengths"),
    (rows([0.0], [1.0], [1.0]), "zero or not finite"),
    (rows([1.0], [1.0], ["x"]), "contains no embeddings"),
    (rows([1.0], [1.0], [math.nan]), "zero or not finite"),
    (rows([1e300], [1e300], [1e300]), "zero or not finite"),
    ("{}", "contains no embeddings"),
    ("no json", "contains no embeddings"),
    ('{"data": [{"index": 0}]}', "contains no embeddings"),
    (json.dumps({"data": [{"index": 0, "embedding": [1.0]}] * 3}), "3 embeddings for 3 texts"),
)


@pytest.mark.parametrize(("body", "why"), BAD)
def test_embeddings_that_cannot_be_are_a_failure(
    embedder: OpenAiEmbedder, server: ChatServer, body: str, why: str
) -> None:
    server.faults = [status(200, raw=body)] * 6
    assert why in failure(embedder, TASK)


def test_faults_pass_or_end_as_failures(embedder: OpenAiEmbedder, server: ChatServer, pauses: Pauses) -> None:
    server.faults = [status(429, Retry_After="3"), closes_midway]
    assert isinstance(ask(embedder, TASK)[0], Similarities)
    assert pauses.seconds == [3.0, 0.2]
    server.faults = [status(500)] * 6
    assert "status 500" in failure(embedder, TASK)


def test_a_refused_key_stops_everything(embedder: OpenAiEmbedder, server: ChatServer) -> None:
    server.faults = [status(401)]
    with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
        ask(embedder, TASK)


def test_it_answers_nothing_else(embedder: OpenAiEmbedder) -> None:
    assert "does not answer Rate" in failure(embedder, RATE)
    assert "some-embedding" in embedder.identity(Similarity)
    assert "secret" not in repr(embedder) + embedder.identity(Similarity)
