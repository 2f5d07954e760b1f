"""Measure the speed of the embedded judge and of imports, as ratios within one process.

    python benchmarks/first_light.py --samples 300 --rows 20000 --json

The judge is compared with one pass of `re.findall(r"\\w+", text)` over the same text, imports with DuckDB's `read_json`
of the same rows. Unlike absolute times, ratios can be compared between machines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from ragboard import METRICS, EmbeddedJudge, Passage, Run, Sample, Store, sample_runs
from ragboard.metrics.base import resolve
from ragboard.tasks import Failure, Reply, Task


def make_samples(count: int, seed: int = 1) -> list[Sample]:
    """Return samples with 5 passages of about 120 words and an answer of 4 sentences, with text of the sample runs."""
    rng = random.Random(seed)
    runs = sample_runs()
    sentences = [
        sentence
        for run in runs
        for sample in run.samples
        for passage in sample.contexts or ()
        for sentence in re.split(r"(?<=\.) ", passage.text)
    ]
    return [
        Sample(
            id=str(number),
            question=rng.choice(runs[0].samples).question,
            answer=" ".join(rng.choices(sentences, k=4)),
            contexts=tuple(
                Passage(id=str(rank), text=" ".join(rng.choices(sentences, k=6)), rank=rank) for rank in range(1, 6)
            ),
        )
        for number in range(count)
    ]


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest time of several repetitions."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


async def judge_all(samples: list[Sample]) -> None:
    judge = EmbeddedJudge()

    async def ask(task: Task) -> Reply | Failure:
        return (await judge.answer([task]))[0]

    needs = [need for metric in METRICS.values() for need in metric.needs()]
    for sample in samples:
        await resolve(sample, needs, ask)


def judge_benchmark(count: int) -> dict[str, float]:
    samples = make_samples(count)
    texts = [
        text
        for sample in samples
        for text in (sample.answer or "", *(passage.text for passage in sample.contexts or ()))
    ]
    judged = seconds(lambda: asyncio.run(judge_all(samples)), repeats=1)
    plain = seconds(lambda: [re.findall(r"\w+", text) for text in texts])
    return {"judge_samples_per_second": count / judged, "judge_to_plain_pass": judged / plain}


def store_benchmark(rows: int) -> dict[str, float]:
    few = make_samples(200)
    samples = tuple(
        Sample(id=str(n), question=few[n % 200].question, answer=few[n % 200].answer, contexts=few[n % 200].contexts)
        for n in range(rows)
    )
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "rows.jsonl"
        with file.open("w", encoding="utf-8") as out:
            for sample in samples:
                passages = [passage.text for passage in sample.contexts or ()]
                row = {"id": sample.id, "question": sample.question, "answer": sample.answer, "contexts": passages}
                out.write(json.dumps(row) + "\n")
        stored = seconds(lambda: Store(folder / "store").add_runs([Run(name="bench", samples=samples)]), repeats=1)

        def plain() -> None:
            with duckdb.connect(folder / f"plain-{time.perf_counter_ns()}.duckdb") as connection:
                connection.execute(f"CREATE TABLE t AS SELECT * FROM read_json('{file}')")

        reference = seconds(plain)
    return {"store_rows_per_second": rows / stored, "store_to_read_json": stored / reference}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = judge_benchmark(args.samples) | store_benchmark(args.rows)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        for name, value in found.items():
            print(f"{name:<28}{value:>12,.1f}")


if __name__ == "__main__":
    main()
