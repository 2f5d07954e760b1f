"""An HTTP server with the chat and embeddings API, which answers well and can fail on demand.

It recognises the task by the title of the prompt, and reads the texts in the tags after `## Now`.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

__all__ = [
    "ChatServer",
    "chat_server",
    "closes_midway",
    "completion",
    "never",
    "refuses",
    "replies",
    "serving",
    "spoils",
    "status",
]

Asked = dict[str, Any]
Fault = Callable[[Request, Asked, str], Awaitable[Response]]


@dataclass
class ChatServer:
    """What was asked, and what is to go wrong."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list[Asked])
    """Bodies of the requests, in order of arrival."""
    keys: list[str] = field(default_factory=list[str])
    paths: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    queries: list[str] = field(default_factory=list[str])
    """The query of each request's address."""
    connections: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    """Host and port of the client's end of each connection that a request came over."""
    faults: list[Fault] = field(default_factory=list[Fault])
    """One for each of the next requests; afterwards all is well."""
    rules: list[Callable[[Asked], Response | None]] = field(default_factory=list[Callable[[Asked], Response | None]])
    """Held against every request; the first response that one gives is sent."""
    delay: Callable[[], float] = lambda: 0.0
    """Seconds before a response."""
    chance: Callable[[Asked], Fault | None] = lambda _: None
    """What is to go wrong with a request that no other fault was meant for."""
    forgetful: bool = False
    """Counts requests without keeping them."""
    count: int = 0
    first: float = 0.0
    """When the first request came, and the last response went; seconds of a monotonic clock."""
    last: float = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/embeddings", self._embeddings, methods=["POST"]),
                Route("/openai/deployments/{name}/chat/completions", self._chat, methods=["POST"]),
                Route("/openai/deployments/{name}/embeddings", self._embeddings, methods=["POST"]),
            ]
        )

    async def _chat(self, request: Request) -> Response:
        return await self._respond(request, lambda asked: answer(asked["messages"][0]["content"]), completion)

    async def _embeddings(self, request: Request) -> Response:
        return await self._respond(request, lambda asked: json.dumps([vector(text) for text in asked["input"]]), _data)

    async def _respond(
        self, request: Request, good: Callable[[Asked], str], wrap: Callable[[str], Response]
    ) -> Response:
        self.first = self.first or time.monotonic()
        asked = json.loads(await request.body())
        self.count += 1
        if not self.forgetful:
            self.asked.append(asked)
            self.keys.append(request.headers.get("authorization", ""))
            self.queries.append(request.url.query)
            self.paths.append(request.url.path)
            self.headers.append(dict(request.headers))
            if request.client:
                self.connections.add((request.client.host, request.client.port))
        response = await self._response(request, asked, good, wrap)
        await anyio.sleep(self.delay())
        self.last = time.monotonic()
        return response

    async def _response(
        self, request: Request, asked: Asked, good: Callable[[Asked], str], wrap: Callable[[str], Response]
    ) -> Response:
        for rule in self.rules:
            refused = rule(asked)
            if refused is not None:
                return refused
        if self.faults:
            return await self.faults.pop(0)(request, asked, good(asked))
        fault = self.chance(asked)
        return await fault(request, asked, good(asked)) if fault else wrap(good(asked))


def chat_server() -> AbstractContextManager[ChatServer]:
    """A server on a free port, for as long as the block lasts."""
    return serving(ChatServer())


S = TypeVar("S", bound=ChatServer)


@contextmanager
def serving(state: S) -> Iterator[S]:
    """Run a server of this state on a free port, for as long as the block lasts."""
    config = uvicorn.Config(
        state.app(), port=0, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    waiting = threading.Event()
    while not server.started:
        waiting.wait(0.01)
    state.port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def completion(text: str, finish: str = "stop") -> Response:
    """A chat completion that says this."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return JSONResponse(
        {"id": "c", "object": "chat.completion", "model": "m", "usage": usage}
        | {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    )


def _data(text: str) -> Response:
    rows = [{"index": place, "embedding": row} for place, row in enumerate(json.loads(text))]
    return JSONResponse({"object": "list", "model": "e", "data": rows[::-1]})


def replies(text: str, finish: str = "stop") -> Fault:
    """Says this in place of the good reply."""

    async def fault(_request: Request, _asked: Asked, _good: str) -> Response:
        return completion(text, finish)

    return fault


def spoils(change: Callable[[str], str], finish: str = "stop") -> Fault:
    """Says the good reply, changed."""

    async def fault(_request: Request, _asked: Asked, good: str) -> Response:
        return completion(change(good), finish)

    return fault


def status(code: int, message: str = "no", *, raw: str | None = None, **headers: str) -> Fault:
    """Responds with an error (or with `raw` as it is)."""

    async def fault(_request: Request, _asked: Asked, _good: str) -> Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if raw is not None:
            return PlainTextResponse(raw, code, given)
        return JSONResponse({"error": {"message": message, "type": "e", "code": None, "param": None}}, code, given)

    return fault


async def never(request: Request, _asked: Asked, _good: str) -> Response:
    """Lets the client wait until it goes."""
    while not await request.is_disconnected():
        await anyio.sleep(0.02)
    return Response()


class _Midway(Response):
    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"5000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"choices": [{"mess', "more_body": False})


async def closes_midway(_request: Request, _asked: Asked, _good: str) -> Response:
    """Closes the connection in the middle of the body."""
    return _Midway()


def refuses(
    named: str, message: str, *, param: str | None = None, code: int = 400
) -> Callable[[Asked], Response | None]:
    """A rule: requests whose body holds `named` anywhere but in their messages are refused."""

    def rule(asked: Asked) -> Response | None:
        if named not in json.dumps({key: value for key, value in asked.items() if key not in ("messages", "input")}):
            return None
        return JSONResponse({"error": {"message": message, "type": "e", "code": "c", "param": param}}, code)

    return rule


def vector(text: str) -> list[float]:
    """Counts of letters: the same letters give the same direction."""
    return [float(text.casefold().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"]


def answer(prompt: str) -> str:
    """A good reply to a prompt of ours."""
    title = prompt.split("\n", 1)[0]
    return json.dumps(_ANSWERS[title.removeprefix("# ")](_now(prompt)), ensure_ascii=False)


def _now(prompt: str) -> str:
    """What follows the last heading; where tags are marked, those without the mark are read as text."""
    marked = re.search(r"^## Now \[(\w+)\]$", prompt, re.MULTILINE)
    if not marked:
        return prompt.rpartition("## Now")[2]
    mark, now = f"-{marked[1]}", prompt.rpartition(marked[0])[2]
    return re.sub(rf"<(?!/?\w+{mark})", "(", now).replace(mark, "")


def _tag(now: str, name: str) -> str:
    found = re.search(rf"<{name}(?: name=\"B\")?>\n(.*?)\n</{name}>", now, re.DOTALL)
    return found.group(1) if found else ""


def _numbered(now: str, name: str) -> list[str]:
    return [text.strip() for text in re.findall(rf"<{name} number=\"\d+\">(.*?)</{name}>", now, re.DOTALL)]


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+", text.strip()) if part]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _extract(now: str) -> Any:
    said = [part for part in _sentences(_tag(now, "answer")) if "sorry" not in part]
    refuses = "sorry" in now
    return {"statements": [{"statement": part, "quote": part} for part in said], "refuses": refuses}


def _label(statement: str, passage: str) -> str:
    missing = _words(statement) - _words(passage)
    if not missing:
        return "supported"
    return "contradicted" if all(word.isdecimal() for word in missing) else "unsupported"


def _verify(now: str) -> Any:
    passages = _numbered(now, "passage")
    verdicts = []
    for number, statement in enumerate(_numbered(now, "statement"), 1):
        cells = [
            {"passage": rank, "label": _label(statement, text), "quote": _sentences(text)[0]}
            for rank, text in enumerate(passages, 1)
        ]
        best = min(cells, key=lambda cell: ("supported", "contradicted", "unsupported").index(str(cell["label"])))
        quotes = [{"passage": best["passage"], "quote": best["quote"]}]
        together = {"label": best["label"], "reason": f"So says passage {best['passage']}.", "quotes": quotes}
        verdicts.append({"statement": number, "passages": cells, "together": together})
    return {"verdicts": verdicts}


def _support(now: str) -> Any:
    said, given = _words(_tag(now, "sentence")), _words(_tag(now, "passage"))
    return {"support": "full" if said <= given else "partial" if said & given else "none"}


def _questions(now: str) -> Any:
    count = int(re.findall(r"this many questions: (\d+)", now)[0])
    return {"questions": [f"Question {number} to: {_tag(now, 'answer')[:20]}?" for number in range(1, count + 1)]}


def _write_nuggets(now: str) -> Any:
    """The first sentence of each passage, after the nuggets that are there already; the first two are vital."""
    texts = [*_numbered(now, "nugget"), *(_sentences(text)[0] for text in _numbered(now, "passage"))]
    most = int(re.findall(r"At most (\d+) nuggets", now)[0])
    unique = list(dict.fromkeys(text.rstrip(".") for text in texts))[:most]
    return {
        "nuggets": [{"text": text, "importance": "vital" if place < 2 else "okay"} for place, text in enumerate(unique)]
    }


def _weigh_nuggets(now: str) -> Any:
    rows = enumerate(_numbered(now, "nugget"), 1)
    return {
        "nuggets": [
            {"nugget": number, "reason": "By its words.", "importance": "vital" if "open" in text else "okay"}
            for number, text in rows
        ]
    }


def _assign_nuggets(now: str) -> Any:
    """All words of a nugget in the answer: support; more than half of them: partial support."""
    said = _words(_tag(now, "answer"))

    def label(text: str) -> str:
        share = len(_words(text) & said) / len(_words(text))
        return "support" if share == 1 else "partial_support" if share > 0.5 else "not_support"

    rows = enumerate(_numbered(now, "nugget"), 1)
    return {"nuggets": [{"nugget": number, "reason": "By its words.", "label": label(text)} for number, text in rows]}


def _select(now: str) -> Any:
    asked = {word for word in _words(_tag(now, "question")) if len(word) > 3}
    sentences = enumerate(_numbered(now, "sentence"), 1)
    return {"chosen": [number for number, text in sentences if asked & _words(text)]}


def _useful(now: str) -> Any:
    said = _words(_tag(now, "answer"))
    rows = enumerate(_numbered(now, "passage"), 1)
    return {
        "passages": [
            {"passage": rank, "reason": "r", "useful": "yes" if said <= _words(text) else "no"} for rank, text in rows
        ]
    }


def _grades(now: str) -> Any:
    """A grade for the longer words that passage and question share: 0 to 3."""
    asked = {word for word in _words(_tag(now, "question")) if len(word) > 3}
    rows = enumerate(_numbered(now, "passage"), 1)
    return {
        "passages": [
            {"passage": rank, "reason": "r", "grade": min(3, len(asked & _words(text)))} for rank, text in rows
        ]
    }


def _verdict(wanted: set[str], given: set[str], *, every: bool = False) -> Any:
    """Yes where one of the longer words wanted is given, or every word is."""
    yes = wanted <= given if every else any(len(word) > 3 for word in wanted & given)
    return {"reason": "r", "verdict": "yes" if yes else "no"}


def _questions_to_passage(now: str) -> Any:
    count = int(re.findall(r"this many questions: (\d+)", now)[0])
    said = _sentences(_tag(now, "passage"))
    return {"questions": [f"What of this: {sentence}" for sentence in said[:count]]}


_ANSWERS: dict[str, Callable[[str], Any]] = {
    "Write the nuggets of a question": _write_nuggets,
    "Say which nuggets are vital": _weigh_nuggets,
    "Say which nuggets an answer has": _assign_nuggets,
    "Grade how far a passage supports a sentence": _support,
    "Break an answer into statements": _extract,
    "Hold statements against passages": _verify,
    "Write the questions that an answer answers": _questions,
    "Choose the sentences that help to answer a question": _select,
    "Say whether a description fits an answer": lambda now: {
        "reason": "r",
        "verdict": "yes" if "rude" in _tag(now, "answer") else "no",
    },
    "Rate from 0 to 10": lambda now: {"reason": "r", "rating": min(10, len(_words(_tag(now, "answer"))))},
    "Rate an answer in its conversation": lambda now: {
        "reason": "r",
        "rating": max(1, min(10, len(_words(_tag(now, "answer"))))),
    },
    "Say whether an answer agrees with its reference": lambda now: _verdict(
        _words(_tag(now, "reference")), _words(_tag(now, "answer")), every=True
    ),
    "Rewrite a question to be understood alone": lambda now: {"question": f"Alone: {_tag(now, 'question')}"},
    "Choose the better of two": lambda now: {
        "reason": "r",
        "better": "B" if "good" in now.split('name="B"')[1] else "A",
    },
    "Say which passages are useful": _useful,
    "Grade how relevant passages are to a question": _grades,
    "List what a text names": lambda now: {"entities": re.findall(r"[A-Z]\w+", _tag(now, "text"))},
    "Write questions that a passage answers": _questions_to_passage,
    "Answer a question from a passage": lambda now: {"answer": _sentences(_tag(now, "passage"))[0]},
    "Answer a question against a passage": lambda now: {"answer": f"Not so: {_tag(now, 'question')}"},
    "Answer a question without help": lambda now: {"answer": f"I would say so: {_tag(now, 'question')}"},
    "Answer a question incompletely": lambda now: {"answer": f"In part: {_tag(now, 'question')}"},
    "Say whether passages help to answer a question": lambda now: _verdict(
        _words(_tag(now, "question")), _words(" ".join(_numbered(now, "passage")))
    ),
    "Say whether passages bear an answer out": lambda now: _verdict(
        _words(_tag(now, "answer")), _words(" ".join(_numbered(now, "passage"))), every=True
    ),
    "Say whether an answer answers its question": lambda now: _verdict(
        _words(_tag(now, "question")), _words(_tag(now, "answer"))
    ),
    "Rate how well an answer answers its question": lambda _: {"reason": "r", "rating": 7},
}
