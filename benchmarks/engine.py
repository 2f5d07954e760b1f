"""Measure how close the engine is to the bound by concurrency and latency, and its CPU time in the client.

    python benchmarks/engine.py --samples 200 --latency-ms 200 --concurrency 64 --pairs 3 --json

Evaluates 15 metrics (three of RAGAS, ranked context precision, eleven of RAGChecker: 9 calls and an embedding call for
each sample) with the test server in another process. The bound is the larger of calls x latency / concurrency and the
longest chain of calls. `ratio_to_bound` is the time from the first request to the last response, divided by the bound.
As references, the same requests are sent through the SDK, and as prepared bytes through an HTTP client that does not
parse replies, in alternation. `--faults` repeats the evaluation with a faulty server and compares the scores.
Each measurement is a separate process. Figures are medians of `--pairs` repetitions.

    python benchmarks/engine.py --samples 2000 --faults --virtual --deadline 2 --pairs 5 --json

measures only the order and the pauses of requests: the server is a function, and the clock of the event loop jumps to
the next event, which excludes CPU time and other programs. Each repetition has other faults.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from pathlib import Path
from selectors import DefaultSelector
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).parents[1]))

T = TypeVar("T")

METRICS = ["ragas.faithfulness", "ragas.answer_relevance", "ragas.context_relevance", "ragas.context_precision"]
CHAIN = 2
"""Length of the longest chain of calls: statements, then verdicts; questions, then their embeddings."""


def main() -> None:
    args = arguments()
    if args.measure:
        print(json.dumps({"engine": engine, "sdk": bare_sdk, "http": bare_http}[args.measure](args)))
        return
    found = virtual_report(args) if args.virtual else report(args)
    print(json.dumps(found, indent=2) if args.json else "\n".join(f"{key}: {value}" for key, value in found.items()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--latency-ms", type=float, default=200.0)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument(
        "--tail", action="store_true", help="Heavy-tailed latency (log-normal, sigma 1) with that mean."
    )
    parser.add_argument("--faults", action="store_true", help="Also measure with a faulty server.")
    parser.add_argument("--virtual", action="store_true", help="Faults in virtual time, without a server.")
    parser.add_argument("--deadline", type=float, default=120.0, help="Seconds for one request.")
    parser.add_argument("--pairs", type=int, default=1, help="Number of repetitions; figures are their medians.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", choices=["engine", "sdk", "http"], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    return parser.parse_args()


def report(args: argparse.Namespace) -> dict[str, Any]:
    with server(args, faults=False) as url:
        rounds = [{what: measure(args, what, url) for what in ("engine", "http", "sdk")} for _ in range(args.pairs)]
    ours = rounds[-1]["engine"]
    calls = ours["requests"]
    seconds = args.latency_ms / 1000
    bound = max(calls * seconds / args.concurrency, CHAIN * seconds)

    def median_of(figure: Callable[[dict[str, Any]], float]) -> float:
        return round(median(map(figure, rounds)), 3)

    def cpu(round_: dict[str, Any], what: str) -> float:
        return float(1000 * round_[what]["cpu_s"] / round_[what]["requests"])

    found = {
        "samples": args.samples,
        "calls": calls,
        "calls_per_sample": round(calls / args.samples, 2),
        "bound_s": round(bound, 3),
        "wall_s": median_of(lambda round_: round_["engine"]["seconds"]),
        "ratio_to_bound": median_of(lambda round_: round_["engine"]["seconds"] / bound) if bound else None,
        "sdk_ratio_to_bound": median_of(
            lambda round_: round_["sdk"]["seconds"] / (round_["sdk"]["requests"] * seconds / args.concurrency)
        )
        if seconds
        else None,
        "cpu_ms_per_call": median_of(lambda round_: cpu(round_, "engine")),
        "sdk_cpu_ms_per_call": median_of(lambda round_: cpu(round_, "sdk")),
        "http_cpu_ms_per_call": median_of(lambda round_: cpu(round_, "http")),
        "cpu_ratio_to_sdk": median_of(lambda round_: cpu(round_, "engine") / cpu(round_, "sdk")),
        "cpu_ratio_to_http": median_of(lambda round_: cpu(round_, "engine") / cpu(round_, "http")),
        "peak_memory_mb": round(ours["memory_mb"], 1),
        "scored": ours["scored"],
    }
    return found | (measure_faults(args, ours) if args.faults else {})


def measure_faults(args: argparse.Namespace, without_faults: dict[str, Any]) -> dict[str, Any]:
    """Compare the same evaluation with a faulty server and with a server without faults."""
    rounds = [measure_faults_once(args, without_faults) for _ in range(args.pairs)]
    worst = {"faults_scored_share": min, "faults_changed_scores": max}
    return {name: worst.get(name, median)([round_[name] for round_ in rounds]) for name in rounds[0]}


def measure_faults_once(args: argparse.Namespace, without_faults: dict[str, Any]) -> dict[str, float]:
    with server(args, faults=True) as url:
        with_faults = measure(args, "engine", url)
        drawn = fetch_json(f"{url}/drawn")
    return compare_with_ideal(args, without_faults, with_faults, drawn) | {
        "faults_time_ratio": round(with_faults["wall_s"] / without_faults["wall_s"], 3)
    }


def compare_with_ideal(
    args: argparse.Namespace, without_faults: dict[str, Any], with_faults: dict[str, Any], drawn: list[list[str]]
) -> dict[str, float]:
    """Compare an evaluation with faults with one without, and with the ideal schedule for the same faults."""
    ideal, foreseen = ideal_seconds(drawn, args), ideal_seconds(drawn, args, knows_faults=True)
    whole = sum(1 for scores in with_faults["scores"].values() if all(value is not None for value in scores.values()))
    changed = sum(
        value is not None and value != without_faults["scores"][sample][metric]
        for sample, scores in with_faults["scores"].items()
        for metric, value in scores.items()
    )
    return {
        "faults_scored_share": round(whole / args.samples, 4),
        "faults_changed_scores": changed,
        "faults_requests": with_faults["requests"],
        "faults_ideal_s": round(ideal, 3),
        "faults_s": round(with_faults["seconds"], 3),
        "faults_ratio_to_ideal": round(with_faults["seconds"] / ideal, 3),
        "faults_ratio_to_foreseen": round(with_faults["seconds"] / foreseen, 3),
    }


def virtual_report(args: argparse.Namespace) -> dict[str, Any]:
    """Compare evaluations in virtual time with and without faults."""
    without_faults, _ = evaluate_virtually(args, None)
    rounds: list[dict[str, float]] = []
    for round_ in range(args.pairs):
        with_faults, drawn = evaluate_virtually(args, round_ + 1)
        rounds.append(compare_with_ideal(args, without_faults, with_faults, drawn))
    worst = {"faults_scored_share": min, "faults_changed_scores": max}
    found = {name: worst.get(name, median)([round_[name] for round_ in rounds]) for name in rounds[0]}
    return found | {"faults_ratios_to_ideal": [round_["faults_ratio_to_ideal"] for round_ in rounds]}


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next event instead of waiting."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = DefaultSelector()
        select = selector.select

        def jump(timeout: float | None = None) -> Any:
            events = select(None if timeout is None else 0)
            self.now += 0 if events else timeout or 0
            return events

        selector.select = jump  # type: ignore[method-assign]
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def evaluate_virtually(args: argparse.Namespace, seed: int | None) -> tuple[dict[str, Any], list[list[str]]]:
    """Evaluate in virtual time; return the result of `engine` and all requests. If `seed` is None, without faults."""
    from engine_server import draw_fault, identify_call
    from tests.chat_server import answer, vector

    from ragboard.judges.llm.transport import RawResponse, Transport

    rng = random.Random(seed)
    drawn: list[list[str]] = []
    ends: list[float] = []

    async def post(_transport: Transport, _route: str, body: dict[str, Any]) -> RawResponse:
        kind = "" if seed is None else draw_fault(rng)
        drawn.append([*identify_call(body), kind])
        await asyncio.sleep(1e9 if kind == "hung" else args.latency_ms / 1000)
        ends.append(asyncio.get_running_loop().time())
        if kind in ("429", "500"):
            return RawResponse(int(kind), {"retry-after": "1"} if kind == "429" else {}, "{}")
        if "input" in body and kind != "malformed":
            rows = [{"index": place, "embedding": vector(text)} for place, text in enumerate(body["input"])]
            return RawResponse(200, {}, json.dumps({"data": rows}))
        text = '{"verdicts": [' if kind == "malformed" else answer(body["messages"][0]["content"])
        choices = [{"message": {"content": text}, "finish_reason": "stop"}]
        return RawResponse(200, {}, json.dumps({"choices": choices}))

    def run(work: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(work)

    args = argparse.Namespace(**{**vars(args), "url": "http://127.0.0.1"})
    with patch.object(Transport, "post", post), patch("asyncio.run", run):
        found = engine(args)
    return found | {"requests": len(drawn), "seconds": max(ends)}, drawn


EXTRACTS, VERIFIES, WRITES = (
    "# Break an answer into statements",
    "# Hold statements against passages",
    "# Write the questions that an answer answers",
)
DEPENDS = {VERIFIES: EXTRACTS, "embeddings": WRITES}
"""Calls that start after all calls of another kind for the same sample are answered."""


def ideal_seconds(drawn: list[list[str]], args: argparse.Namespace, *, knows_faults: bool = False) -> float:
    """Return the time of a scheduler that never idles and sends the call with the longest remaining work first.

    `drawn` has the sample, title, call and fault of each request to the server. An attempt takes the latency, or the
    deadline if it hangs. After a 429 the call pauses for a second, and other calls use its slot. With `knows_faults`,
    the scheduler knows the faults in advance and starts long calls early.
    """
    latency = args.latency_ms / 1000
    attempts: dict[tuple[str, str, str], list[str]] = {}
    for sample, title, digest, fault in drawn:
        attempts.setdefault((sample, title, digest), []).append(fault)
    lasts = {
        call: sum(args.deadline if fault == "hung" else latency + (fault == "429") for fault in faults)
        if knows_faults
        else latency
        for call, faults in attempts.items()
    }
    by_kind: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for call in attempts:
        by_kind.setdefault(call[:2], []).append(call)
    next_kinds = {kind: dependent for dependent, kind in DEPENDS.items()}
    left = {
        call: lasts[call]
        + max((lasts[next_] for next_ in by_kind.get((call[0], next_kinds.get(call[1], "")), ())), default=0.0)
        for call in attempts
    }
    open_calls = {kind: len(calls) for kind, calls in by_kind.items()}
    ready = [(-left[call], call, 0) for call in attempts if (call[0], DEPENDS.get(call[1], "")) not in by_kind]
    heapify(ready)
    events: list[
        tuple[float, int, tuple[str, str, str], int]
    ] = []  # the time, and 0 if a slot is free or 1 if a pause ends
    now, free = 0.0, args.concurrency
    while ready or events:
        while ready and free:
            _, call, number = heappop(ready)
            fault = attempts[call][number]
            heappush(events, (now + (args.deadline if fault == "hung" else latency), 0, call, number))
            free -= 1
        now, paused, call, number = heappop(events)
        if paused:
            heappush(ready, (-left[call], call, number))
            continue
        free += 1
        if number + 1 < len(attempts[call]):
            if attempts[call][number] == "429":
                heappush(events, (now + 1.0, 1, call, number + 1))
            else:
                heappush(ready, (-left[call], call, number + 1))
            continue
        kind = call[:2]
        open_calls[kind] -= 1
        if not open_calls[kind]:
            for next_call in by_kind.get((call[0], next_kinds.get(call[1], "")), ()):
                heappush(ready, (-left[next_call], next_call, 0))
    return now


@contextmanager
def server(args: argparse.Namespace, *, faults: bool) -> Generator[str]:
    command = [sys.executable, str(Path(__file__).with_name("engine_server.py")), "--latency-ms", str(args.latency_ms)]
    command += ["--tail"] * args.tail + ["--faults"] * faults
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def measure(args: argparse.Namespace, what: str, url: str) -> dict[str, Any]:
    """Return the output of a separate process and what the server counted meanwhile."""
    fetch_json(f"{url}/clock", "POST")
    command = [sys.executable, __file__, "--measure", what, "--url", url]
    command += ["--samples", str(args.samples), "--concurrency", str(args.concurrency)]
    command += ["--deadline", str(args.deadline)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(output)
    counted: dict[str, Any] = fetch_json(f"{url}/clock")
    return counted | found


def fetch_json(url: str, method: str = "GET") -> Any:
    with urlopen(Request(url, method=method)) as response:
        return json.load(response)


def engine(args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate, and return the resources that this process used."""
    import openai  # noqa: F401 - imported before the measurement for both sides

    from ragboard import EvaluationOptions, Panel, RunRef, Store, evaluate_run
    from ragboard.analysis import SampleQuery, sample_rows
    from ragboard.judges.llm import Endpoint, Limits, LlmJudge, OpenAiEmbedder
    from ragboard.metrics import metrics_named

    endpoint = Endpoint(f"{args.url}/v1", "key", limits=Limits(concurrency=args.concurrency), timeout=args.deadline)
    panel = Panel(judge=LlmJudge("m", endpoint), roles={"embed": OpenAiEmbedder("e", endpoint)})
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        (run,) = store.add_runs([make_run(args.samples)])
        metrics = metrics_named([*METRICS, "ragchecker"])
        cpu, clock = time.process_time(), time.perf_counter()
        done = evaluate_run(store, run.id, metrics, panel, EvaluationOptions(concurrency=args.concurrency))
        cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
        ref = RunRef(run_id=run.id, name=run.name, evaluation_id=done.evaluation.id)
        rows = sample_rows(store, ref, SampleQuery(limit=2000)).rows
    scores = {
        row.sample_id: {spec: getattr(outcome, "value", None) for spec, outcome in row.scores.items()} for row in rows
    }
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cpu_s": cpu,
        "wall_s": clock,
        "memory_mb": memory,
        "scored": f"{args.samples - done.unscored} of {args.samples}",
        "scores": scores,
    }


def make_run(samples: int) -> Any:
    """Return samples with 4 statements in answer and reference, and 5 different passages of about 120 words."""
    from ragboard import Passage, Run, Sample

    def sample(number: int) -> Sample:
        facts = [f"Item {number} part {part} weighs {number + part} grams." for part in range(8)]
        padding = " ".join(f"Shelf {number} row {row} holds tools of many kinds." for row in range(10))
        passages = tuple(
            Passage(id=f"{number}-{rank}", text=f"{facts[rank]} {facts[rank + 1]} {padding}", rank=rank)
            for rank in range(1, 6)
        )
        answer = " ".join((*facts[:3], f"Item {number} is green."))
        return Sample(
            id=f"s{number}",
            question=f"What does item {number} weigh?",
            answer=answer,
            contexts=passages,
            reference=" ".join(facts[1:5]),
        )

    return Run(name="made", samples=tuple(map(sample, range(samples))))


def bare_sdk(args: argparse.Namespace) -> dict[str, Any]:
    """Send the requests of an evaluation through the SDK with the same concurrency, and read the replies."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    async def send() -> float:
        async with AsyncOpenAI(api_key="key", base_url=f"{args.url}/v1", http_client=DefaultAioHttpClient()) as client:

            async def one(body: dict[str, Any]) -> None:
                if "input" in body:
                    await client.embeddings.create(**body)
                else:
                    reply = await client.chat.completions.create(**body)
                    json.loads(reply.choices[0].message.content or "")

            return await measure_cpu(args, one, record_requests(args)["bodies"])

    return {"cpu_s": asyncio.run(send())}


def bare_http(args: argparse.Namespace) -> dict[str, Any]:
    """Send the bytes of an evaluation through an HTTP client with the same concurrency, and discard the replies."""
    import aiohttp

    kept = record_requests(args)
    headers = {name: value for name, value in kept["headers"].items() if name not in ("host", "content-length")}
    chat, embeddings = (f"{args.url}/v1/{operation}" for operation in ("chat/completions", "embeddings"))
    ready = [
        (embeddings if "input" in body else chat, json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())
        for body in kept["bodies"]
    ]

    async def send() -> float:
        connector = aiohttp.TCPConnector(limit=args.concurrency)
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session:

            async def one(request: tuple[str, bytes]) -> None:
                url, body = request
                async with session.post(url, data=body) as response:
                    await response.read()

            return await measure_cpu(args, one, ready)

    return {"cpu_s": asyncio.run(send())}


async def measure_cpu(args: argparse.Namespace, one: Callable[[T], Awaitable[None]], requests: list[T]) -> float:
    """Send all requests with the same concurrency, and return the CPU time in seconds."""
    waiting = iter(requests)

    async def work() -> None:
        for request in waiting:
            await one(request)

    fetch_json(f"{args.url}/clock", "POST")
    cpu = time.process_time()
    await asyncio.gather(*(work() for _ in range(args.concurrency)))
    return time.process_time() - cpu


def record_requests(args: argparse.Namespace) -> dict[str, Any]:
    """Return the request bodies of an evaluation of at most 200 samples, and the headers of one request."""
    fetch_json(f"{args.url}/clock?keep=yes", "POST")
    engine(argparse.Namespace(url=args.url, samples=min(args.samples, 200), concurrency=256, deadline=120.0))
    kept: dict[str, Any] = fetch_json(f"{args.url}/kept")
    return kept


if __name__ == "__main__":
    main()
