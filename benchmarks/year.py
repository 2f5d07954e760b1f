"""Measure how long the Trends page takes for a year of traffic, compared with an empty page.

    python benchmarks/year.py --store FOLDER --days 365 --samples 10000 --repeats 5

The store is made by SQL if it does not exist. It has a run for each month, and four metrics and two judged statements
for each sample. The page is opened in the same ways as in `pages.py`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pages
from playwright.sync_api import sync_playwright

from ragboard import METRICS, Evaluation, Store
from ragboard.analysis import new_statements, series_states, traffic_columns, traffic_groups, traffic_trend
from ragboard.metrics import describe
from ragboard.store.score_hours import update_score_hours
from ragboard.store.writing import growing_id, put_evaluation

SPECS = ("ragas.faithfulness", "ragas.answer_relevance", "ragas.context_relevance", "ragchecker.faithfulness")
DATASET = "chat (production)"
MONTHS = 12
CONTENT = ["#trend path.mean"]

SAMPLES = """
INSERT INTO samples BY NAME SELECT $run AS run_id, i AS position, 'q' || i AS sample_id,
    'Question ' || hash(i, $month) % 100000 || ': how do I return a parcel?' AS question,
    'A parcel is returned within ' || hash(i, $month, 1) % 90 || ' days. The label is in the parcel.' AS answer,
    true AS has_contexts, '[]' AS history, md5($month || ' ' || i) AS answer_key,
    {'topic': 'topic ' || hash(i) % 8, 'model': 'm' || hash(i, 3) % 2, 'latency': (hash(i) % 4000) / 1000.0}
    AS metadata,
    $start::TIMESTAMP + to_seconds(i * 86400.0 / $samples) AS time
FROM range($total) t(i)
"""
SCORES = """
INSERT INTO scores BY NAME SELECT $evaluation AS evaluation_id, i AS position, m AS metric,
    CASE WHEN h % 100 >= 3 THEN least(1.0, (h // 100) % 8 / 5.0) END AS value,
    CASE WHEN h % 100 < 3 THEN 'failed' END AS reason, CASE WHEN h % 100 < 3 THEN 'no usable reply' END AS detail
FROM (SELECT i, m, hash(i, m, $month) AS h FROM range($total) t(i), (SELECT unnest($specs) AS m)) ORDER BY m, i
"""
STATEMENTS = """
INSERT INTO statements BY NAME SELECT $evaluation AS evaluation_id, i AS position, 'response' AS side, s AS statement,
    CASE s WHEN 0 THEN 'A parcel is returned within ' || hash(i, $month, 1) % 90 || ' days.'
    ELSE 'The label is in the parcel.' END AS text
FROM range($total) t(i), range(2) p(s)
"""
VERDICTS = """
INSERT INTO verdicts BY NAME SELECT $evaluation AS evaluation_id, i AS position, 'response' AS side, s AS statement,
    'joint' AS target, CASE WHEN hash(i, s, $month) % 100 < 90 THEN 'supported' ELSE 'unsupported' END AS label,
    '' AS reason, '[]' AS evidence
FROM range($total) t(i), range(2) p(s)
"""


def make_store(folder: Path, days: int, samples: int) -> Store:
    """Return a store with a year of traffic. An existing store is not changed."""
    store = Store(folder)
    if store.database.path.exists():
        return store
    for month in range(MONTHS):
        first, stop = days * month // MONTHS, days * (month + 1) // MONTHS
        run = growing_id(f"chat 1.{month} (production)")
        given: dict[str, Any] = {
            "run": run,
            "month": month,
            "samples": samples,
            "total": (stop - first) * samples,
            "evaluation": f"watch{month}",
            "specs": list(SPECS),
        }
        with store.database.write() as connection:
            start = connection.execute("SELECT '2025-12-01'::TIMESTAMP + to_days(?)", [first]).fetchone()
            given["start"] = start[0] if start else None
            connection.execute(
                "INSERT INTO runs BY NAME SELECT $run AS run_id, $name AS name, {'version': $name} AS config,"
                " $dataset AS dataset, $run AS dataset_key, 'made' AS source, []::VARCHAR[] AS tags,"
                " $total AS samples, $start::TIMESTAMP AS imported, '' AS notes",
                {
                    "run": run,
                    "name": f"chat 1.{month} (production)",
                    "dataset": DATASET,
                    "total": given["total"],
                    "start": given["start"],
                },
            )
            evaluation = Evaluation(
                id=f"watch{month}",
                run_id=run,
                judge="made",
                heuristic=False,
                identity={"made": "by SQL"},
                metrics=SPECS,
            )
            put_evaluation(connection, evaluation, [describe(METRICS[spec]) for spec in SPECS])
            for sql in (SAMPLES, SCORES, STATEMENTS, VERDICTS):
                connection.execute(sql, {name: value for name, value in given.items() if f"${name}" in sql})
            connection.execute("UPDATE evaluations SET has_statements = true WHERE evaluation_id = ?", [evaluation.id])
            update_score_hours(connection, evaluation.id)
    return store


def main() -> None:
    """Make the store, read it, and open the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="Folder of the store, which is made if missing.")
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--samples", type=int, default=10_000, help="Samples a day.")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chromium", default=os.environ.get("CHROMIUM", "/usr/bin/chromium"))
    args = parser.parse_args()
    start = time.perf_counter()
    store = make_store(args.store, args.days, args.samples)
    size = store.database.path.stat().st_size / 1e9
    taken = time.perf_counter() - start
    print(f"store: {args.days * args.samples:,} samples, {size:.1f} GB, made or found in {taken:.0f} s", flush=True)
    reads: dict[str, Callable[[], object]] = {
        "state of every series": lambda: series_states(store),
        "one metric": lambda: traffic_trend(store, DATASET),
        "columns to group by": lambda: traffic_columns(store, DATASET),
        "groups": lambda: traffic_groups(store, DATASET, "topic"),
        "new unsupported statements": lambda: new_statements(store, DATASET),
    }
    for name, read in reads.items():
        start = time.perf_counter()
        read()
        print(f"{name}: {time.perf_counter() - start:.2f} s", flush=True)
    pages.PATHS = {"Trends": "trend"}
    pages.CONTENT["Trends"] = CONTENT
    with sync_playwright() as playwright, TemporaryDirectory() as scratch:
        script = Path(scratch) / "empty.py"
        script.write_text(pages.SCRIPT, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=args.chromium, args=pages.ARGUMENTS)
        times: pages.Times = defaultdict(list)
        stores = {f"{args.days * args.samples:,}": args.store}
        with pages.servers(stores, script) as running:
            contexts = {name: browser.new_context(viewport={"width": 1440, "height": 900}) for name in running}
            for repeat in range(-1, args.repeats):
                found: pages.Times = times if repeat >= 0 else defaultdict(list)
                for name, (address, _) in running.items():
                    shown = "Trends" if name else "Empty"
                    pages.twice(contexts[name], address, stores.get(name), name, shown, found)
            memory = {name: pages.memory_of(pid) for name, (_, pid) in running.items()}
    print(pages.report(times, memory, list(stores)))


if __name__ == "__main__":
    main()
