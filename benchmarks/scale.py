"""Measure time, CPU time and peak memory of large imports and evaluations, as ratios within one run.

    python benchmarks/scale.py import FOLDER --samples 100000 --pairs 3
    python benchmarks/scale.py workers FOLDER --samples 2000 --pairs 3
    python benchmarks/scale.py rerun FOLDER --samples 100000 --pairs 5
    python benchmarks/scale.py memory FOLDER --samples 10000 --pairs 1

- `import`: `ragboard import` of a JSONL file (5.3 kB per sample), compared with DuckDB's `CREATE TABLE AS SELECT * FROM
  read_json` with the same memory limit.
- `workers`: the embedded judge with two workers, compared with two processes that have half of the samples each.
- `rerun`: an evaluation with nothing left to do, compared with `ragboard runs`.
- `memory`: the embedded judge on ten times as many samples, compared with `--samples`.

Each measurement has its own process; those of a pair run one after the other. Figures are medians of pairs. If other
programs are running, use CPU time. Memory is that of the process and its children (Linux).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from ragboard import Store, sample_runs
from ragboard.database import LOAD_MEMORY

METRICS = "ragas.faithfulness,ragchecker"
OVERLAP = "overlap.rouge_l,overlap.token_f1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["import", "workers", "rerun", "memory"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=3)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    compare = {"import": imports, "workers": workers, "rerun": reruns, "memory": memories}[args.what]
    print(json.dumps({"samples": args.samples, **compare(args.folder, args.samples, args.pairs)}, indent=2))


def imports(folder: Path, samples: int, pairs: int) -> dict[str, Any]:
    file, database, store = write_samples(folder, samples), folder / "ctas.duckdb", folder / "import-store"
    create = (
        f"import duckdb; c = duckdb.connect({str(database)!r}); c.execute(\"SET memory_limit = '{LOAD_MEMORY}'\");"
        f" c.execute('CREATE TABLE t AS SELECT * FROM read_json(?)', [{str(file)!r}]); c.close()"
    )
    ragboard, reference = [], []
    for _ in range(pairs):
        reference.append(measure([[sys.executable, "-c", create]]))
        database.unlink()
        ragboard.append(measure([command("import", str(file), store=store)]))
        subprocess.run(["rm", "-r", str(store)], check=True)
    return ratios(ragboard, reference)


def workers(folder: Path, samples: int, pairs: int) -> dict[str, Any]:
    both, reference = [], []
    files = [
        write_samples(folder, samples),
        write_samples(folder, samples // 2),
        write_samples(folder, samples // 2, first=samples // 2),
    ]
    for pair in range(pairs):
        stores = [folder / f"workers-{pair}-{number}" for number in range(3)]
        for store, file in zip(stores, files, strict=True):
            Store(store).import_file(file, name="run")
        judged = ("evaluate", "run", "--metrics", METRICS)
        both.append(measure([command(*judged, "--workers", "2", store=stores[0])]))
        reference.append(measure([command(*judged, "--workers", "1", store=store) for store in stores[1:]]))
    return ratios(both, reference)


def reruns(folder: Path, samples: int, pairs: int) -> dict[str, Any]:
    store = folder / f"rerun-{samples}"
    if not store.exists():
        Store(store).import_file(write_samples(folder, samples), name="run")
        measure([command("evaluate", "run", "--metrics", OVERLAP, store=store)])
    again, listed = [], []
    for _ in range(pairs):
        listed.append(measure([command("runs", store=store)]))
        again.append(measure([command("evaluate", "run", "--metrics", OVERLAP, store=store)]))
    return ratios(again, listed)


def memories(folder: Path, samples: int, pairs: int) -> dict[str, Any]:
    measured: dict[int, list[dict[str, float]]] = {10 * samples: [], samples: []}
    for pair in range(pairs):
        for size, found in measured.items():
            store = folder / f"memory-{size}-{pair}"
            Store(store).import_file(write_samples(folder, size), name="run")
            found.append(measure([command("evaluate", "run", "--metrics", METRICS, store=store)]))
    return ratios(measured[10 * samples], measured[samples])


def command(*words: str, store: Path) -> list[str]:
    return [sys.executable, "-m", "ragboard", *words, "--store", str(store)]


def ratios(ragboard: list[dict[str, float]], reference: list[dict[str, float]]) -> dict[str, Any]:
    """Return the medians of both, and the median ratio of the pairs, by measure."""
    return {
        name: {
            "ragboard": round(median(one[name] for one in ragboard), 2),
            "reference": round(median(one[name] for one in reference), 2),
            "ratio": round(median(a[name] / b[name] for a, b in zip(ragboard, reference, strict=True)), 2),
        }
        for name in ragboard[0]
    }


def measure(commands: list[list[str]]) -> dict[str, float]:
    """Run commands at the same time; return their total wall time, CPU time and peak memory."""
    before, began = os.times(), time.perf_counter()
    running = [subprocess.Popen(one, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for one in commands]
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            peak[0] = max(peak[0], sum(memory(process.pid) for process in running))

    watcher = threading.Thread(target=watch)
    watcher.start()
    codes = [process.wait() for process in running]
    wall, after = time.perf_counter() - began, os.times()
    done.set()
    watcher.join()
    if any(codes):
        raise SystemExit(f"{commands}: exit codes {codes}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall_s": wall, "cpu_s": cpu, "memory_mb": peak[0]}


def memory(pid: int) -> float:
    """Return the memory of a process and its descendants in MB. Shared pages are divided among processes."""
    total = 0.0
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
        for thread in Path(f"/proc/{pid}/task").iterdir():
            total += sum(memory(int(child)) for child in (thread / "children").read_text().split())
    return total


def write_samples(folder: Path, samples: int, first: int = 0) -> Path:
    """Write a file of `samples` samples with random combinations of sentences from the sample runs' passages."""
    file = folder / f"samples-{first}-{samples}.jsonl"
    if file.exists():
        return file
    passages = {passage.text for run in sample_runs() for sample in run.samples for passage in sample.contexts or ()}
    sentences = sorted({one.strip() for text in passages for one in text.split(". ") if 40 < len(one.strip()) < 240})
    drawn = random.Random(first)
    pool = [". ".join(drawn.choices(sentences, k=8)) + "." for _ in range(20_000)]
    part = file.with_suffix(".part")
    with part.open("w", encoding="utf-8") as target:
        for number in range(first, first + samples):
            chosen = drawn.sample(range(len(pool)), 5)
            row = {
                "id": f"q{number}",
                "question": f"Question {number}: what follows from this? {drawn.choice(sentences)[:90]}",
                "contexts": [
                    {"id": f"doc-{one}", "text": pool[one], "score": round(1 / rank, 4)}
                    for rank, one in enumerate(chosen, 1)
                ],
                "answer": ". ".join(drawn.choices(sentences, k=4)) + ".",
                "reference": f"{drawn.choice(sentences)}.",
                "topic": f"topic {number % 12}",
                "latency": round(drawn.random() * 4, 3),
            }
            target.write(f"{json.dumps(row, ensure_ascii=False)}\n")
    return part.replace(file)


if __name__ == "__main__":
    main()
