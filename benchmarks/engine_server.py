"""The server for `engine.py`, in a separate process.

    python benchmarks/engine_server.py --latency-ms 200 --tail --faults

Prints its port, then answers like the test server, with latency. `GET /clock` returns the number of requests and the
time from the first to the last; `POST /clock` resets both. `GET /kept` returns the requests since `POST
/clock?keep=yes`. `GET /drawn` returns the sample, call and fault of each request.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import socket
import sys
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.chat_server import ChatServer, Fault, never, replies, status


def main() -> None:
    args = arguments()
    rng = random.Random(1)
    state = ChatServer(forgetful=True)
    seconds = args.latency_ms / 1000
    state.delay = (lambda: seconds * rng.lognormvariate(-0.5, 1.0)) if args.tail else (lambda: seconds)
    drawn: list[tuple[str, str, str, str]] = []

    def draw(body: Mapping[str, Any]) -> Fault | None:
        kind = draw_fault(rng) if args.faults else ""
        drawn.append((*identify_call(body), kind))
        return FAULTS.get(kind)

    state.chance = draw
    config = uvicorn.Config(app(state, drawn), port=0, log_level="critical", lifespan="off", ws="none", backlog=4096)
    server = uvicorn.Server(config)
    # If asyncio knows the protocol, it sends small segments at once; otherwise responses wait 40 ms for an ACK.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(4096)
    print(listening.getsockname()[1], flush=True)
    server.run([listening])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--tail", action="store_true", help="Log-normal latency with that mean and sigma 1.")
    parser.add_argument("--faults", action="store_true", help="5%% 429, 5%% 500, 5%% malformed, 2%% hung.")
    return parser.parse_args()


FAULTS: Mapping[str, Fault] = {
    "429": status(429, "slow down", Retry_After="1"),
    "500": status(500, "broken"),
    "malformed": replies('{"verdicts": ['),
    "hung": never,
}


def draw_fault(rng: random.Random) -> str:
    """Draw a fault: 5% are told to retry after a second, 5% fail, 5% are malformed, 2% hang."""
    drawn = rng.random()
    limits = {"429": 0.05, "500": 0.10, "malformed": 0.15, "hung": 0.17}
    return next((kind for kind, limit in limits.items() if drawn < limit), "")


def identify_call(body: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return a request's sample, the title of its prompt, and a digest that is the same for repairs and retries."""
    text = body["messages"][0]["content"] if "messages" in body else json.dumps(body["input"])
    texts = text.partition("## Now")[2] or text
    sample = re.search(r"[Ii]tem (\d+)", texts)
    title = text.split("\n", 1)[0] if "messages" in body else "embeddings"
    return sample[1] if sample else "", title, blake2b(text.encode(), digest_size=8).hexdigest()


def app(state: ChatServer, drawn: list[tuple[str, str, str, str]]) -> Any:
    async def clock(request: Request) -> Response:
        if request.method == "POST":
            state.count, state.first, state.last = 0, 0.0, 0.0
            state.asked.clear()
            state.headers.clear()
            drawn.clear()
            state.forgetful = request.query_params.get("keep") != "yes"
        return JSONResponse({"requests": state.count, "seconds": max(0.0, state.last - state.first)})

    async def kept(_request: Request) -> Response:
        return JSONResponse({"bodies": state.asked, "headers": state.headers[0]})

    async def fates(_request: Request) -> Response:
        return JSONResponse(drawn)

    made = state.app()
    made.router.routes += [
        Route("/clock", clock, methods=["GET", "POST"]),
        Route("/kept", kept),
        Route("/drawn", fates),
    ]
    return made


if __name__ == "__main__":
    main()
