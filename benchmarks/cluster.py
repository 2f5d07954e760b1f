"""Measure how much faster two nodes of a Ray cluster are than one, with a judge that mostly waits.

    python benchmarks/cluster.py --samples 400 --latency-ms 200 --concurrency 16 --pairs 3

Evaluates a run with a model that answers after a constant time, on clusters of one and of two nodes with the same
`--concurrency`, in alternation. Both nodes are on this machine. Times are from the first request to the last response
in the server's log. `whole_command` also includes the start of Ray.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from ray.cluster_utils import Cluster
from tests.chat_server import ChatServer, chat_server

from ragboard import Passage, Run, Sample, Store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--latency-ms", type=float, default=200.0)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--pairs", type=int, default=3)
    args = parser.parse_args()
    os.environ |= {"OPENAI_API_KEY": "key", "PYTHONPATH": os.pathsep.join(sys.path)}
    ratios: list[float] = []
    for _ in range(args.pairs):
        one, two = (measure(args, nodes) for nodes in (1, 2))
        ratios.append(two["seconds"] / one["seconds"])
        print(json.dumps({"one": one, "two": two, "ratio": round(ratios[-1], 3)}), flush=True)
    print(f"median ratio: {median(ratios):.3f}")


def measure(args: argparse.Namespace, nodes: int) -> dict[str, float]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    for _ in range(nodes - 1):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    try:
        with chat_server() as server, TemporaryDirectory() as folder:
            server.delay = lambda: args.latency_ms / 1000
            server.forgetful = True
            return evaluate(args, cluster.address, server, Store(folder))
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]


def evaluate(args: argparse.Namespace, address: str, server: ChatServer, store: Store) -> dict[str, float]:
    store.add_runs([make_run(args.samples)])
    command = [sys.executable, "-m", "ragboard", "evaluate", "run", "--store", str(store.folder), "--no-cache"]
    command += ["--judge", "openai:m", "--embed", "openai:e", "--base-url", server.url, "--ray", address]
    start = time.monotonic()
    subprocess.run([*command, "--concurrency", str(args.concurrency)], check=True, capture_output=True)
    whole, asked = time.monotonic() - start, server.last - server.first
    return {"seconds": round(asked, 2), "whole_command": round(whole, 2), "requests": server.count}


def make_run(samples: int) -> Run:
    passage = Passage(id="p", rank=1, text="Thing is red. It was bought in 1998.")
    sample = Sample(id="", question="", contexts=(passage,), answer="")
    made = (
        replace(sample, id=f"s{number}", question=f"What is thing {number}?", answer=f"Thing {number} is red.")
        for number in range(samples)
    )
    return Run(name="run", samples=tuple(made))


if __name__ == "__main__":
    main()
