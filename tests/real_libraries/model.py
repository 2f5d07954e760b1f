"""A local OpenAI-compatible server that answers any JSON schema.

The judges of other libraries request structured replies by `response_format`, in the Responses API, or with a schema in
the prompt. The replies are meaningless, but different for each prompt and always the same for one prompt.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from zlib import crc32

__all__ = ["fake_openai"]

Schema = dict[str, Any]
ITEMS = 2
"""Items of every list: verdicts are then as many as the statements they are about."""


@contextmanager
def fake_openai() -> Iterator[str]:
    """The base URL of a server that answers as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Say nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/embeddings"):
            body = _embeddings(asked)
        else:
            body = _response(asked) if self.path.endswith("/responses") else _completion(asked)
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _embeddings(asked: dict[str, Any]) -> dict[str, Any]:
    texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
    data = [
        {"index": place, "object": "embedding", "embedding": [1.0, crc32(str(text).encode()) / 2**32]}
        for place, text in enumerate(texts)
    ]
    return {"object": "list", "model": "e", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def _completion(asked: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": _reply(asked)}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": asked["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _response(asked: dict[str, Any]) -> dict[str, Any]:
    content = [{"type": "output_text", "text": _reply(asked), "annotations": []}]
    message = {"type": "message", "id": "m", "status": "completed", "role": "assistant", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": asked["model"],
        "status": "completed",
        "output": [message],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage | details,
    }


def _reply(asked: dict[str, Any]) -> str:
    """A value of the schema; without one, the sentences of the last message, one a line."""
    messages = asked.get("messages") or asked["input"]
    texts = [str(message["content"]) for message in messages] if isinstance(messages, list) else [str(messages)]
    schema = _schema(asked, "\n".join(texts))
    if schema is None:
        return re.sub(r"(?<=\.) ", "\n", texts[-1])
    return json.dumps(_value(schema, schema, crc32("".join(texts).encode())))


def _schema(asked: dict[str, Any], prompt: str) -> Schema | None:
    """The schema that is asked for, or the first that stands in the prompt."""
    formats = (asked.get("response_format"), (asked.get("text") or {}).get("format"))
    for wanted in formats:
        if wanted and wanted["type"] == "json_schema":
            found: Schema = wanted.get("json_schema", wanted)["schema"]
            return found
    for start in re.finditer(r"\{", prompt):
        try:
            value, _ = json.JSONDecoder().raw_decode(prompt, start.start())
        except ValueError:
            continue
        if isinstance(value, dict) and "properties" in value:
            return value
    return None


def _value(schema: Schema, root: Schema, seed: int) -> Any:
    if "$ref" in schema:
        return _value(root["$defs"][schema["$ref"].rpartition("/")[2]], root, seed)
    if "anyOf" in schema:
        return _value(schema["anyOf"][0], root, seed)
    if "enum" in schema:
        return schema["enum"][seed % len(schema["enum"])]
    match schema.get("type"):
        case "object":
            return {key: _value(one, root, seed) for key, one in schema.get("properties", {}).items()}
        case "array":
            return [_value(schema.get("items", {}), root, seed // (place + 1)) for place in range(ITEMS)]
        case "integer":
            return seed % 2
        case "number":
            return seed % 5 / 4
        case "boolean":
            return False
        case _:
            return f"Text {seed % 97}."
