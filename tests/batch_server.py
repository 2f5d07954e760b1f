"""The chat server with a batch API that can fail on demand.

The chat server answers the requests of a batch, so its counts, rules and faults apply to them too.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

from tests.chat_server import ChatServer, serving

__all__ = ["NEVER", "BatchServer", "batch_server"]

Batch = dict[str, Any]

NEVER = 10**9


@dataclass
class BatchServer(ChatServer):
    """What was submitted, and what is to become of it."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    batches: list[Batch] = field(default_factory=list[Batch])
    """In order of submission."""
    holds: int = NEVER
    """Batches from this number on stay in progress."""
    expires_after: list[int] = field(default_factory=list[int])
    """For each of the next batches: how many of its requests are answered before it expires."""
    cancelled_after: list[int] = field(default_factory=list[int])
    """The same of batches that somebody cancels."""
    refusals: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Errors with which the next batches fail."""
    most_requests: int = NEVER
    """More requests in a batch are too many tokens."""
    lost_responses: int = 0
    """How many batches are accepted without a response that says so."""
    failing_looks: int = 0
    """How many looks at a batch are answered with an error."""
    loses: set[int] = field(default_factory=set[int])
    """Numbers of the requests, over all batches, that no file mentions."""
    looks: int = 0
    lines: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The lines of all batches that were run."""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                *super().app().routes,
                Route("/v1/files", self._upload, methods=["POST"]),
                Route("/v1/files/{file}/content", self._content),
                Route("/v1/batches", self._create, methods=["POST"]),
                Route("/v1/batches", self._list),
                Route("/v1/batches/{batch}", self._retrieve),
            ]
        )

    def submitted(self, number: int) -> list[dict[str, Any]]:
        """The lines of a batch."""
        content = self.files[self.batches[number]["input_file_id"]]
        return [json.loads(line) for line in content.splitlines()]

    def _keep(self, content: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name

    async def _upload(self, request: Request) -> Response:
        async with request.form() as form:
            upload: Any = form["file"]
            assert form["purpose"] == "batch"
            content = await upload.read()
        self.headers.append(dict(request.headers))
        name = self._keep(content)
        return JSONResponse(
            {"id": name, "object": "file", "bytes": len(content), "created_at": 0, "filename": "r", "purpose": "batch"}
        )

    async def _content(self, request: Request) -> Response:
        return PlainTextResponse(self.files[request.path_params["file"]])

    async def _create(self, request: Request) -> Response:
        asked = json.loads(await request.body())
        assert asked["completion_window"] == "24h"
        batch = {
            "id": f"batch_{len(self.batches)}",
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "completion_window": "24h",
            "created_at": len(self.batches),
            "status": "validating",
            "output_file_id": None,
            "error_file_id": None,
            "errors": None,
        }
        self.batches.append(batch)
        if self.lost_responses:
            self.lost_responses -= 1
            return PlainTextResponse("bad gateway", 502)
        return JSONResponse(batch)

    async def _list(self, request: Request) -> Response:
        after, newest = request.query_params.get("after"), self.batches[::-1]
        first = next((at + 1 for at, batch in enumerate(newest) if batch["id"] == after), 0)
        page = newest[first : first + 2]
        return JSONResponse({"object": "list", "data": page, "has_more": first + 2 < len(newest)})

    async def _retrieve(self, request: Request) -> Response:
        self.looks += 1
        if self.failing_looks:
            self.failing_looks -= 1
            return PlainTextResponse("overloaded", 503)
        batch = next((one for one in self.batches if one["id"] == request.path_params["batch"]), None)
        if batch is None:
            return JSONResponse({"error": {"message": "No batch found"}}, 404)
        await self._move_on(batch)
        return JSONResponse(batch)

    async def _move_on(self, batch: Batch) -> None:
        if batch["status"] == "validating":
            self._validate(batch)
        elif batch["status"] == "in_progress" and self.batches.index(batch) < self.holds:
            await self._run(batch)
            batch["final"] = batch["status"]
            batch["status"] = "finalizing"
        elif batch["status"] == "finalizing":
            batch["status"] = batch["final"]

    def _validate(self, batch: Batch) -> None:
        lines = self.files[batch["input_file_id"]].splitlines()
        names = [json.loads(line)["custom_id"] for line in lines]
        models = {json.loads(line)["body"]["model"] for line in lines}
        urls = {json.loads(line)["url"] for line in lines}
        assert len(set(names)) == len(names)
        assert (len(models), urls) == (1, {batch["endpoint"]})
        assert all(len(name) <= 64 for name in names)
        error = self.refusals.pop(0) if self.refusals else None
        if len(lines) > self.most_requests:
            error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None}
        batch["status"] = "failed" if error else "in_progress"
        batch["errors"] = {"object": "list", "data": [error]} if error else None

    async def _run(self, batch: Batch) -> None:
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        batch["status"], done, code = "completed", len(lines), ""
        for status, code_of, given in (
            ("expired", "batch_expired", self.expires_after),
            ("cancelled", "batch_cancelled", self.cancelled_after),
        ):
            if given:
                batch["status"], done, code = status, given.pop(0), code_of
        rows = [await self._answer(line) for line in lines[:done]]
        answered = [row for row in rows if row and row["response"]["status_code"] < 400]
        failed = [row for row in rows if row and row not in answered]
        failed += [
            {"custom_id": line["custom_id"], "response": None, "error": {"code": code, "message": "not run"}}
            for line in lines[done:]
        ]
        for entry, found in (("output_file_id", answered[::-1]), ("error_file_id", failed)):
            if found:
                batch[entry] = self._keep(b"".join(json.dumps(row).encode() + b"\n" for row in found))

    async def _answer(self, line: dict[str, Any]) -> dict[str, Any] | None:
        """The row of a request, answered as if it had come alone; None if it is to be lost."""
        self.lines.append(line)
        body = json.dumps(line["body"]).encode()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        scope = {"type": "http", "method": "POST", "path": line["url"], "query_string": b"", "headers": []}
        chat = self._chat if line["url"].endswith("completions") else self._embeddings
        response = await chat(Request(scope, receive))
        if len(self.lines) in self.loses:
            return None
        try:
            said = json.loads(bytes(response.body))
        except ValueError:
            said = bytes(response.body).decode()
        answer = {"status_code": response.status_code, "request_id": "r", "body": said}
        return {"id": "b", "custom_id": line["custom_id"], "response": answer, "error": None}


def batch_server() -> AbstractContextManager[BatchServer]:
    """A server on a free port, for as long as the block lasts."""
    return serving(BatchServer())
