"""Measure appends and evaluations of new samples in a large run, relative to a small run.

    python benchmarks/traffic.py [SAMPLES]

Prints the time for a batch of 100 samples in a run of SAMPLES (default: 200,000), relative to a run of 1,000, and the
time of `ragboard evaluate` with nothing to do, relative to `ragboard runs`. Figures are medians of repetitions in
alternation.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from ragboard import EvaluationOptions, Passage, Run, Sample, Store, evaluate_run
from ragboard.judges import JudgeOptions, panel_named
from ragboard.metrics import Metric, metrics_named

BATCH, REPETITIONS, SMALL = 100, 5, 1_000
METRICS: tuple[Metric, ...] = metrics_named(["overlap.length_ratio", "overlap.context_overlap", "overlap.token_f1"])
START = datetime.fromisoformat("2026-01-01")


def samples(first: int, count: int) -> tuple[Sample, ...]:
    return tuple(
        Sample(
            id=f"t{number:x}",
            question=f"When did station {number} open, and who built it?",
            answer=f"Station {number} opened in 2000. It was built by the city.",
            reference=f"Station {number} opened in 2000.",
            contexts=(Passage(id=f"p{number}", text=f"Station {number} opened in 2000. " * 5, rank=1),),
            time=START + timedelta(seconds=30 * number),
        )
        for number in range(first, first + count)
    )


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(size: int) -> None:
    with TemporaryDirectory() as folder:
        sizes = {"small": SMALL, "large": size}
        stores = {name: Store(Path(folder) / name) for name in sizes}
        panel = panel_named(JudgeOptions())
        appended: dict[str, list[float]] = {name: [] for name in stores}
        evaluated: dict[str, list[float]] = {name: [] for name in stores}
        for name, store in stores.items():
            for first in range(0, sizes[name], 50_000):
                store.append(Run(name="chat", samples=samples(first, min(50_000, sizes[name] - first))))
            evaluate_run(store, store.resolve("chat").run_id, METRICS, panel)
        for repetition in range(REPETITIONS):
            for name, store in stores.items():
                batch = samples(sizes[name] + repetition * BATCH, BATCH)
                appended[name].append(timed(partial(store.append, Run(name="chat", samples=batch))))
                run_id = store.resolve("chat").run_id
                new = store.positions(run_id, sizes[name] + repetition * BATCH)
                options = EvaluationOptions(only=new)
                evaluated[name].append(timed(partial(evaluate_run, store, run_id, METRICS, panel, options)))
        for what, times in (("append", appended), ("evaluate", evaluated)):
            large, small = median(times["large"]), median(times["small"])
            print(f"{what} {BATCH} samples: {large:.2f} s in {size:,}, {large / small:.2f} times that in {SMALL:,}")
        store = stores["large"]
        evaluate_run(store, store.resolve("chat").run_id, METRICS, panel)
        commands = {
            "evaluate": ["evaluate", "chat", "--metrics", ",".join(metric.spec for metric in METRICS)],
            "runs": ["runs"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(REPETITIONS):
            for name, words in commands.items():
                command = [sys.executable, "-m", "ragboard", *words, "--store", str(store.folder)]
                seconds[name].append(timed(partial(subprocess.run, command, check=True, capture_output=True)))
        ratio = median(seconds["evaluate"]) / median(seconds["runs"])
        print(f"evaluate with nothing to do: {ratio:.2f} times `ragboard runs` ({median(seconds['runs']):.2f} s)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
