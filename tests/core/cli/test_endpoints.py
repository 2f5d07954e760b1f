"""Tests of unusual model servers: each gives scores or one line of error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from tests.chat_server import ChatServer, Fault, chat_server, refuses, status

from ragboard.cli import main
from ragboard.errors import ExitCode

METRIC = "ragas.answer_relevance(method=direct)"
ROWS = [{"id": f"q{n}", "question": f"How high is tower {n}?", "answer": "It is 30 m high."} for n in range(3)]
KEY = "sk-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
def evaluate(tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`ragboard evaluate` of three answers, asking the server one question about each."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)) + "\n")

    def evaluated(*options: str, url: str = "", key: str = KEY, judge: str = "openai:m") -> Result:
        words = ["evaluate", str(file), "--judge", judge, "--metrics", METRIC, "--store", str(tmp_path / "s"), *options]
        environment = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": url or server.url}
        return CliRunner().invoke(main, words, env=environment, catch_exceptions=False)

    return evaluated


def scored(done: Result) -> int:
    """How many of the samples have a score."""
    assert done.exit_code == 0, done.output
    return int(done.output.split("/3")[0].rpartition(" ")[2])


def always(fault: Fault) -> Callable[[dict[str, Any]], Fault]:
    return lambda _: fault


def message(change: Callable[[str], dict[str, Any]], finish: str = "stop", **more: Any) -> Fault:
    """The good reply in another shape of message."""

    async def fault(_request: Request, _asked: dict[str, Any], good: str) -> Response:
        choice = {"index": 0, "message": {"role": "assistant", **change(good)}, "finish_reason": finish}
        return JSONResponse({"object": "chat.completion", "choices": [choice], **more})

    return fault


def events(good: str, *, end: str = "data: [DONE]\n\n", delta: str = "content") -> str:
    parts = [good[:5], good[5:]]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", delta: part}}]} for part in parts
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 5}})
    lines = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
    return f": PROCESSING\n\n{lines}{end}"


async def streams(_request: Request, _asked: dict[str, Any], good: str) -> Response:
    """A stream that nobody asked for."""
    return PlainTextResponse(events(good), media_type="text/event-stream")


async def streams_without_end(_request: Request, _asked: dict[str, Any], good: str) -> Response:
    return PlainTextResponse(events(good, end=""), media_type="text/event-stream")


READ: dict[str, Fault] = {
    "parts": message(lambda good: {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": good}]}),
    "texts": message(lambda good: {"content": [good[:4], good[4:]]}),
    "tool call": message(
        lambda good: {"content": None, "tool_calls": [{"function": {"name": "reply", "arguments": good}}]}, "tool_calls"
    ),
    "tool call, an object": message(
        lambda good: {"content": "", "tool_calls": [{"function": {"arguments": json.loads(good)}}]}, "tool_calls"
    ),
    "function call": message(lambda good: {"content": None, "function_call": {"name": "f", "arguments": good}}),
    "reasoning beside": message(lambda good: {"content": good, "reasoning_content": '{"rating": 0}'}),
    "a stream": streams,
    "a stream without end mark": streams_without_end,
}


@pytest.mark.parametrize("fault", READ.values(), ids=READ)
def test_a_reply_in_another_shape_is_read_at_the_first_request(
    evaluate: Callable[..., Result], server: ChatServer, fault: Fault
) -> None:
    server.chance = always(fault)
    assert scored(evaluate()) == 3
    assert len(server.asked) == 3


NAMED: dict[str, tuple[int, str]] = {
    "detail": (422, '{"detail": "response_format is not supported"}'),
    "detail, listed": (
        422,
        '{"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs are not permitted", "input": {}}]}',
    ),
    "a list": (400, '[{"error": {"code": 400, "message": "Unknown name response_format", "status": "INVALID"}}]'),
    "a text": (400, '{"error": "json_schema is not supported by this model"}'),
    "nested": (
        400,
        '{"error": {"message": "Provider returned error", "code": 400,'
        ' "metadata": {"raw": "{\\"detail\\": \\"guided decoding is off\\"}"}}}',
    ),
    "plain text": (400, "invalid response_format"),
    "500": (500, '{"error": {"message": "failed to parse grammar"}}'),
    "404": (404, '{"error": {"message": "No endpoints found that support response_format", "code": 404}}'),
    "unexplained": (400, '{"error": {"message": "Bad Request"}}'),
    "nothing": (400, ""),
    "a page": (400, "<html><head><title>400</title></head><body><h1>Bad Request</h1></body></html>"),
}


@pytest.mark.parametrize(("code", "body"), NAMED.values(), ids=NAMED)
def test_a_server_without_response_format_is_asked_without_it(
    evaluate: Callable[..., Result], server: ChatServer, code: int, body: str
) -> None:
    server.rules = [lambda asked: PlainTextResponse(body, code) if "response_format" in asked else None]
    assert scored(evaluate("--concurrency", "1")) == 3
    assert ["response_format" in asked for asked in server.asked].count(False) == 3
    assert len(server.asked) <= 5


def test_an_unexplained_400_is_tried_once_without_format_and_then_said(
    evaluate: Callable[..., Result], server: ChatServer
) -> None:
    server.faults = [status(400, raw="{}")] * 2
    done = evaluate("--concurrency", "1")
    assert "status 400: no reason given" in done.output
    assert scored(done) == 2
    assert ["response_format" in asked for asked in server.asked] == [True, False, True, True]


def test_a_server_that_only_streams_is_asked_for_streams(evaluate: Callable[..., Result], server: ChatServer) -> None:
    said = "This model only support stream mode, please enable the stream parameter to access the model."
    server.rules = [
        lambda asked: None if asked.get("stream") else JSONResponse({"error": {"message": said}}, 400),
        refuses("stream_options", "Unrecognized request argument supplied: stream_options"),
    ]
    server.chance = always(streams)
    assert scored(evaluate("--concurrency", "1")) == 3
    assert [asked.get("stream", False) for asked in server.asked] == [False, True, True, True, True]


SAID: dict[str, tuple[Fault, str]] = {
    "only reasoning, cut off": (
        message(lambda good: {"content": None, "reasoning_content": f"Hm: {good}"}, "length"),
        "the model reached its token limit while it was still reasoning, before any answer: raise max_tokens",
    ),
    "only reasoning": (
        message(lambda good: {"content": "", "reasoning": f"Hm: {good}"}),
        "it holds only thoughts, and no answer",
    ),
    "an error with status 200": (
        status(200, raw='{"error": {"message": "Upstream is on fire", "code": 502}}'),
        "the server's response is an error: Upstream is on fire",
    ),
    "an error within a stream": (
        status(200, raw='data: {"error": {"message": "Upstream is on fire"}}\n\n'),
        "the server's response is an error: Upstream is on fire",
    ),
    "half a stream": (
        status(200, raw='data: {"choices": [{"delta": {"content": "{"}}]}\n\n'),
        "is not a chat completion",
    ),
    "detail": (
        status(422, raw='{"detail": [{"loc": ["body", "n"], "msg": "must be 1"}]}'),
        "status 422: body.n: must be 1",
    ),
    "OpenRouter, no provider": (
        status(404, "No endpoints found matching your data policy (Free model publication)."),
        "no provider for this model (status 404: No endpoints found matching your data policy",
    ),
    "OpenRouter, no credit": (
        status(402, "This request requires more credits, or fewer max_tokens."),
        "the account has no credit, or too little (status 402: This request requires more credits",
    ),
}


@pytest.mark.parametrize(("fault", "line"), SAID.values(), ids=SAID)
def test_what_cannot_be_scored_is_reported_in_one_line(
    evaluate: Callable[..., Result], server: ChatServer, fault: Fault, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragboard.judges.llm.endpoint.FIRST_PAUSE", 0.0)
    server.chance = always(fault)
    done = evaluate("--concurrency", "1")
    assert done.exit_code == ExitCode.ERROR
    assert sum(line in one for one in done.output.split("\n")) == 1, done.output


@pytest.mark.parametrize("suffix", ["", "/chat/completions"])
def test_a_classic_azure_address_gets_its_key_version_and_deployments(
    evaluate: Callable[..., Result], server: ChatServer, suffix: str
) -> None:
    url = server.url.replace("/v1", f"/openai/deployments/my-chat{suffix}?api-version=2024-10-21")
    assert scored(evaluate(url=url)) == 3
    assert set(server.paths) == {"/openai/deployments/my-chat/chat/completions"}
    assert set(server.queries) == {"api-version=2024-10-21"}
    assert {one["api-key"] for one in server.headers} == {KEY}
    assert not any("authorization" in one for one in server.headers)


def test_embeddings_of_azure_go_to_their_own_deployment(evaluate: Callable[..., Result], server: ChatServer) -> None:
    url = server.url.replace("/v1", "/openai/deployments/my-chat?api-version=2024-10-21")
    done = evaluate("--metrics", "ragas.answer_relevance", "--embed", "openai:my-embedder", url=url)
    assert done.exit_code == 0, done.output
    assert set(server.paths) == {
        "/openai/deployments/my-chat/chat/completions",
        "/openai/deployments/my-embedder/embeddings",
    }


@pytest.mark.parametrize(
    "url",
    [
        "https://x.openai.azure.com",
        "https://x.openai.azure.com/openai/deployments/d",
        "https://x.openai.azure.com/openai/deployments?api-version=2024-10-21",
    ],
)
def test_half_an_azure_address_is_rejected_with_both_forms(evaluate: Callable[..., Result], url: str) -> None:
    done = evaluate(url=url)
    assert done.exit_code == 2
    assert "expected https://NAME.openai.azure.com/openai/v1, or" in done.output


def test_headers_are_sent_and_secret_ones_kept_nowhere(
    evaluate: Callable[..., Result], server: ChatServer, tmp_path: Path
) -> None:
    server.faults = [status(400, "no: 12-abc-key and search")]
    done = evaluate("--header", "X-Team=search", "--header", "x-portkey-api-key=12-abc-key")
    assert {(one["x-team"], one["x-portkey-api-key"]) for one in server.headers} == {("search", "12-abc-key")}
    assert "no: *** and search" in done.output
    kept = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert b"12-abc-key" not in kept + done.output.encode()
    assert b"X-Team" in kept
    server.asked.clear()
    assert scored(evaluate("--header", "X-Team=search", "--header", "x-portkey-api-key=new-key-1")) == 2
    assert server.asked == [], "a new key asks nothing again"
    assert scored(evaluate("--header", "X-Team=other")) == 3
    assert len(server.asked) == 3, "another route may be another model"


@pytest.mark.parametrize("given", ["X-Team", "=x", "X Team=a", "X-Key=", "X-Key=a\nb"])
def test_a_wrong_header_is_rejected_without_its_value(evaluate: Callable[..., Result], given: str) -> None:
    done = evaluate("--header", given)
    assert done.exit_code == 2
    assert done.output.startswith("ragboard: --header")
    assert "a\nb" not in done.output


def test_headers_have_a_place_in_the_settings_file(
    evaluate: Callable[..., Result], server: ChatServer, tmp_path: Path
) -> None:
    (tmp_path / "ragboard.toml").write_text('[header]\nX-Title = "our evals"\n')
    assert scored(evaluate()) == 3
    assert {one["x-title"] for one in server.headers} == {"our evals"}
    (tmp_path / "ragboard.toml").write_text('[header]\nx-api-key = "abcdefgh"\n')
    done = evaluate()
    assert done.exit_code == 2
    assert "the header x-api-key is a key or password. Remove it and pass it with --header" in done.output
    assert "abcdefgh" not in done.output


@pytest.mark.parametrize("key", ["a", "no", "ollama", "EMPTY", "lm-studio", "not-needed"])
def test_a_word_as_key_leaves_errors_readable(evaluate: Callable[..., Result], server: ChatServer, key: str) -> None:
    said = f"a model that {key} has not loaded; bearer token ignored"
    server.chance = always(status(400, said))
    assert said in evaluate(key=key).output
